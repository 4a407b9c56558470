"""`memcli work`: what a session holds, from the command line and from Python."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import CANARY, Box, environment, stamp

from memcli.base import errors
from memcli.store import working

S = ("--session", "s1")


def files(box: Box) -> list[Path]:
    return sorted((box.root / ".memcli/work").glob("*.json"))


def keys(box: Box, *options: str) -> list[str]:
    return [row["key"] for row in box.data("work", "list", *S, *options) if row["kind"] == "entry"]


def texts(box: Box, *options: str) -> list[str]:
    return [row["text"] for row in box.data("work", "list", *S, *options) if row["kind"] != "entry"]


def test_set_get_list_clear(box: Box) -> None:
    assert box.ok("work", "set", "branch", "main", *S).out.startswith("created ")
    assert box.ok("work", "get", "branch", *S).out == "main\n"
    box.ok("work", "add", "the webhook needs the raw body", *S)
    assert box.ok("work", "list", *S).out == "branch\tmain\n(note)\tthe webhook needs the raw body\n"
    assert box.ok("work", "clear", *S, "--yes").out == "cleared 2\n"
    assert box.ok("work", "list", *S).out == ""
    assert box.run("work", "get", "branch", *S).code == 3


def test_the_same_write_twice_touches_no_file(box: Box) -> None:
    box.ok("work", "set", "k", "v", *S, now=stamp())
    before = files(box)[0].stat().st_mtime_ns
    assert box.ok("work", "set", "k", "v", *S, now=stamp(hours=1)).out.startswith("unchanged ")
    assert files(box)[0].stat().st_mtime_ns == before
    assert box.ok("work", "set", "k", "w", *S, now=stamp(hours=1)).out.startswith("updated ")


def test_values_come_from_stdin(box: Box) -> None:
    box.ok("work", "set", "k", "-", *S, stdin="два\nслова\n".encode())
    assert box.ok("work", "get", "k", *S).out == "два\nслова\n"


def test_sessions_do_not_see_each_other(box: Box) -> None:
    box.ok("work", "set", "k", "one", "--session", "a")
    box.ok("work", "set", "k", "two", "--session", "b")
    assert box.ok("work", "get", "k", "--session", "a").out == "one\n"
    box.ok("work", "clear", "--session", "a", "--yes")
    assert box.ok("work", "get", "k", "--session", "b").out == "two\n"


ODD = [
    "../../etc/passwd",
    "/",
    "..",
    "a\nb",
    "a\x1b[31m",
    "нет",
    "🦉" * 100,
    "con",
    ".",
    "--x",
    "-",
    "a b",
    "x" * 1000,
    "a/b\\c",
]


@pytest.mark.parametrize("name", ODD, ids=range(len(ODD)))
def test_an_odd_session_id_is_kept_and_never_a_path(box: Box, name: str) -> None:
    state = box.root / ".memcli"
    before = {*box.root.rglob("*")}
    box.ok("work", "set", "k", "v", f"--session={name}")
    assert box.ok("work", "get", "k", f"--session={name}").out == "v\n"
    (file,) = files(box)
    assert file.name == working.file_name(name) + ".json"
    assert json.loads(file.read_bytes())["session"] == name
    assert {*box.root.rglob("*")} - before <= {state / "lock", state / "work", file, file.with_suffix(".seen")}


def test_a_session_must_be_named(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    assert box.run("work", "set", "k", "v").code == 2
    assert box.run("work", "set", "k", "v", "--session", "  ").code == 2
    assert box.run("work", "set", "k", "v", "--session", "x" * 1001).code == 2
    monkeypatch.setenv("MEMCLI_SESSION", "from the environment")
    box.ok("work", "set", "k", "v")
    assert box.ok("work", "get", "k", "--session", "from the environment").out == "v\n"


def test_past_a_hundred_keys_the_least_recently_written_goes_and_is_named(box: Box) -> None:
    m = box.memory
    for n in range(100):
        m.work_set("s1", f"k{n}", "v")
    m.work_set("s1", "k0", "written again")
    done = box.ok("work", "set", "k100", "v", *S)
    assert done.err == "made room: k1 is gone\n"
    assert len(keys(box)) == 100
    assert "k0" in keys(box)
    assert "k1" not in keys(box)
    assert len(box.data("work", "set", "k101", "v", *S)["evicted"]) == 1


def test_what_goes_is_not_named_when_it_is_withheld(box: Box) -> None:
    (box.root / "memcli.toml").write_text("format = 1\n[working]\nmax_entries = 1\n")
    box.ok("work", "set", CANARY, "v", *S, "--sensitivity", "sensitive")
    done = box.ok("work", "set", "k", "v", *S)
    assert CANARY not in done.out + done.err
    assert "is gone" in done.err


def test_the_window_holds_twenty_and_protects_what_matters(box: Box) -> None:
    m = box.memory
    m.work_add("s1", "what matters", importance=0.8)
    for n in range(20):
        m.work_add("s1", f"note {n}")
    done = box.data("work", "add", "one more", *S)
    assert len(done["evicted"]) == 1
    found = texts(box)
    assert "what matters" in found
    assert "note 0" not in found
    assert len(found) == 21


def test_search_by_text_and_modality_and_the_last_n(box: Box) -> None:
    m = box.memory
    m.work_add("s1", "The webhook needs its raw body", tags=("stripe",))
    m.work_add("s1", "Вебхуки подписаны", modality="audio")
    m.work_add("s1", "lunch")
    m.work_set("s1", "webhook url", "/hooks")
    assert texts(box, "--text", "webhooks") == ["The webhook needs its raw body"]
    assert keys(box, "--text", "webhook") == ["webhook url"]
    assert texts(box, "--text", "raw stripe") == ["The webhook needs its raw body"]
    assert texts(box, "--text", "raw lunch") == []
    assert texts(box, "--text", "вебхук") == ["Вебхуки подписаны"]
    assert texts(box, "--modality", "audio") == ["Вебхуки подписаны"]
    assert texts(box, "-n", "1") == ["lunch"]
    assert [i.text for i in m.work_list("s1", n=2).items] == ["Вебхуки подписаны", "lunch"]


def test_reading_is_counted_and_touches_nothing_tracked(box: Box) -> None:
    box.ok("work", "set", "k", "v", *S)
    before = box.tree()
    for _ in range(3):
        box.ok("work", "get", "k", *S)
    box.ok("work", "list", "--text", "k", *S)
    assert box.data("work", "list", *S)[0]["accesses"] == 4
    box.ok("work", "set", "other", "v", *S)  # folds the counts in
    assert {r["key"]: r["accesses"] for r in box.data("work", "list", *S)} == {"k": 4, "other": 0}
    assert box.tree() == before


def test_metadata_is_kept(box: Box) -> None:
    options = ["--importance", "0.7", "--confidence", "high", "--tag", "a", "--tag", "b", "--ttl", "2h"]
    box.ok("work", "add", "t", *S, *options, "--source", "tool:ruff", "--modality", "concept", "--role", "tool")
    (row,) = box.data("work", "list", *S)
    assert row["kind"] == "message"
    assert row["source"] == {"id": "ruff", "kind": "tool"}
    assert (row["importance"], row["confidence"], row["tags"], row["ttl_minutes"]) == (0.7, 0.9, ["a", "b"], 120)
    assert row["modality"] == "concept"


def test_what_has_expired_is_gone(box: Box) -> None:
    box.ok("work", "set", "k", "v", *S, "--ttl", "5")
    box.ok("work", "add", "t", *S, "--ttl", "5")
    assert box.ok("work", "get", "k", *S, now=stamp(minutes=4)).out == "v\n"
    assert box.run("work", "get", "k", *S, now=stamp(minutes=5)).code == 3
    assert box.ok("work", "list", *S, now=stamp(minutes=5)).out == ""


@pytest.mark.parametrize(
    "words",
    [
        ("add", "t", "--role", "robot"),
        ("add", "t", "--importance", "2"),
        ("add", "t", "--ttl", "-1"),
        ("add", "t", "--sensitivity", "secretish"),
        ("add", "t", "--source", "robot:x"),
        ("add", " "),
        ("add", "x" * 65_537),
        ("set", " ", "v"),
        ("set", "k" * 1001, "v"),
    ],
)
def test_bad_words_write_nothing(box: Box, words: tuple[str, ...]) -> None:
    assert box.run("work", *words, *S).code == 2
    assert files(box) == []


def test_a_credential_is_refused_and_personal_data_replaced(box: Box) -> None:
    done = box.run("work", "set", "k", "password: hunter2xyz", *S)
    assert done.code == 6
    assert "hunter2xyz" not in done.err
    assert box.run("work", "add", "t", "--session", "ghp_" + "a1B2" * 9).code == 6
    assert files(box) == []
    box.ok("work", "set", "k", "password: hunter2xyz", *S, "--allow-secret")
    assert box.run("work", "get", "k", *S).code == 6
    box.ok("work", "add", "ask anna@example.org", *S)
    assert texts(box) == ["ask [EMAIL]"]


def test_what_is_withheld_is_only_counted(box: Box) -> None:
    box.ok("work", "set", CANARY, f"{CANARY} value", *S, "--sensitivity", "sensitive")
    box.ok("work", "add", f"{CANARY} note", *S, "--sensitivity", "restricted", "--tag", CANARY)
    box.ok("work", "set", "open", "v", *S)
    for words in (("list",), ("list", "--json"), ("list", "--text", CANARY), ("list", "--jsonl")):
        done = box.ok("work", *words, *S)
        assert CANARY not in done.out + done.err
        assert "2 withheld" in done.err
    done = box.run("work", "get", CANARY, *S)
    assert done.code == 6
    assert CANARY not in done.err
    assert box.ok("work", "get", CANARY, *S, "--reveal").out == f"{CANARY} value\n"
    assert CANARY in box.ok("work", "list", *S, "--clearance", "restricted").out


def test_clearing_asks_or_needs_a_yes(box: Box) -> None:
    box.ok("work", "set", "k", "v", *S)
    assert box.run("work", "clear", *S).code == 6
    assert box.ok("work", "clear", *S, "--dry-run").out == "would clear 1\n"
    assert keys(box) == ["k"]
    assert box.ok("work", "clear", "--session", "nobody").out == "cleared 0\n"


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b'{"format":1}',
        b"\xff",
        b'{"format":1,"session":"s1","entries":[{}],"items":[]}',
        b'{"format":1,"session":"other","entries":[],"items":[]}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_session_is_one_clear_error_and_can_be_cleared(box: Box, damage: bytes) -> None:
    box.ok("work", "set", "k", "v", *S)
    files(box)[0].write_bytes(damage)
    for words in (("get", "k"), ("list",), ("set", "k", "w"), ("add", "t")):
        done = box.run("work", *words, *S)
        assert done.code == 4
        assert done.err.count("\n") == 1
    assert files(box)[0].read_bytes() == damage
    box.ok("work", "set", "k", "v", "--session", "another")
    box.ok("work", "clear", *S, "--yes")
    box.ok("work", "set", "k", "v", *S)


def test_a_newer_format_is_refused_by_name(box: Box) -> None:
    box.ok("work", "set", "k", "v", *S)
    raw = json.loads(files(box)[0].read_bytes())
    files(box)[0].write_text(json.dumps(raw | {"format": 2}))
    done = box.run("work", "list", *S, "--json")
    assert done.error["code"] == "newer_format"


def test_an_unknown_label_in_the_file_is_restricted(box: Box) -> None:
    box.ok("work", "set", "k", "v", *S)
    file = files(box)[0]
    file.write_bytes(file.read_bytes().replace(b'"internal"', b'"intern"'))
    assert box.run("work", "get", "k", *S).code == 6


def test_the_files_are_private_and_ignored_by_git(box: Box) -> None:
    old = os.umask(0)
    try:
        box.ok("work", "set", "k", "v", *S)
        box.ok("work", "get", "k", *S)
    finally:
        os.umask(old)
    for path in (box.root / ".memcli/work").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((box.root / ".memcli/work").stat().st_mode) == 0o700
    assert (box.root / ".gitignore").read_text() == "/.memcli/\n.*.tmp\n"


def test_writers_of_one_session_lose_nothing(box: Box) -> None:
    code = "import sys, memcli\nm = memcli.open(sys.argv[1])\nfor n in range(12):\n    m.work_set('s1', f'{sys.argv[2]}-{n}', 'v')\n"
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(box.root), str(w)], env=environment()) for w in range(8)
    ]
    assert [p.wait(timeout=120) for p in running] == [0] * 8
    assert len(keys(box)) == 96


def test_the_python_face(box: Box) -> None:
    m = box.memory
    kept: Any = m.work_set("s", "k", "v", importance=0.9, ttl_minutes=60)
    assert kept.how == "created"
    assert m.work_get("s", "k") == "v"
    with pytest.raises(errors.NotFound):
        m.work_get("s", "nope")
    m.work_set("s", "hidden", "v", sensitivity="sensitive")
    with pytest.raises(errors.Withheld):
        m.work_get("s", "hidden")
    assert m.work_get("s", "hidden", reveal=True) == "v"
    assert m.work_list("s").withheld == 1
    assert m.work_clear("s", dry_run=True) == 2
    assert m.work_clear("s") == 2
    assert m.work_list("s").entries == ()


def test_the_window_shrinks_only_when_the_store_says_so(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    from memcli.base import machine

    monkeypatch.setattr(machine, "ram_used", lambda: 0.9)
    m = box.memory
    for n in range(20):
        m.work_add("s1", f"note {n}")
    assert len(texts(box)) == 20
    (box.root / "memcli.toml").write_text("format = 1\n[working]\nram_aware = true\n")
    box.ok("work", "add", "one more", *S)
    assert len(texts(box)) == 10


def test_what_the_machine_says_of_its_ram() -> None:
    from memcli.base import machine

    assert machine.meminfo("MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 250 kB\n") == 0.75
    free = "".join(
        f"Pages {n}: {c}.\n" for n, c in (("free", 10), ("inactive", 20), ("speculative", 5), ("purgeable", 5))
    )
    text = "Mach Virtual Memory Statistics: (page size of 16384 bytes)\n" + free + '"Translation faults": 1.\n'
    assert machine.vm_stat(text, 16384 * 100) == pytest.approx(0.6)
    found = machine.ram_used()
    assert found is None or 0 < found < 1
