"""Lines of a JSON-lines file that are no records, or none that may be believed: each is counted, none stops the rest."""

import json
from pathlib import Path
from typing import Any

import pytest
from support import Box, at

from memcli.model import labels
from memcli.store import proposals

from .common import clean

NOW = "2026-11-15T09:00:00Z"
TOKEN = "ghp_" + "Ab3De6Gh9Jk2Mn5Pq8St1Vw4Yz7Bc0Df3Gh6"


def fact(**more: Any) -> str:
    return json.dumps({"kind": "fact", "key": "b", "text": "v", "sensitivity": "internal"} | more)


def raw_fact(more: str) -> str:
    return '{"kind":"fact","key":"b","text":"v","sensitivity":"internal",' + more + "}"


def episode(**more: Any) -> str:
    return json.dumps({"kind": "episode", "at": "2026-11-01T00:00:00Z", "text": "v", "sensitivity": "internal"} | more)


def procedure(**more: Any) -> str:
    base = {"kind": "procedure", "key": "p", "text": "v", "steps": [{"action": "a"}], "sensitivity": "internal"}
    return json.dumps(base | more)


def source(**more: Any) -> str:
    return json.dumps({"kind": "source", "id": "s", "source_kind": "user"} | more)


BAD = {
    "no JSON": "{",
    "null": "null",
    "list": "[]",
    "number": "5",
    "text": '"x"',
    "NaN": raw_fact('"x":NaN'),
    "1e400": raw_fact('"confidence":1e400'),
    "5,000 digits": raw_fact(f'"ttl_minutes":{"9" * 5000}'),
    "too deep": raw_fact(f'"header":{{"x":{"[" * 300}{"]" * 300}}}'),
    "much too deep": raw_fact(f'"x":{"[" * 100_000}{"]" * 100_000}'),
    "duplicate key": raw_fact('"key":"c"'),
    "no kind": "{}",
    "kind is a list": '{"kind":["fact"]}',
    "no key": '{"kind":"fact","text":"v"}',
    "key is a number": fact(key=5),
    "key is blank": fact(key=" "),
    "key with dots": fact(key="a/../b"),
    "key with NUL": fact(key="a\0b"),
    "key with a newline": fact(key="a\nb"),
    "key of 1,001": fact(key="k" * 1001),
    "key is a credential": fact(key=f"token {TOKEN}"),
    "no text": '{"kind":"fact","key":"b"}',
    "text is a list": fact(text=["v"]),
    "text with a surrogate": raw_fact('"domain":"\\ud800"'),
    "source of an unknown kind": fact(source={"id": "x", "kind": "root"}),
    "source kind a list": fact(source={"id": "x", "kind": ["user"]}),
    "source kind an object": fact(source={"id": "x", "kind": {}}),
    "source is text": fact(source="user:anna"),
    "source id a number": fact(source={"id": 5, "kind": "user"}),
    "header holds infinity": raw_fact('"header":{"x":[1e400]}'),
    "header too deep for a file": fact(header={"x": json.loads("[" * 30 + "]" * 30)}),
    "header holds a long number": fact(header={"x": 10**400}),
    "header too large": fact(header={"x": "y" * 70_000}),
    "relations are text": fact(relations="is_a"),
    "relation too deep": fact(relations=[{"a": json.loads("[" * 30 + "]" * 30)}]),
    "text over 1 MiB": fact(text="x" * 1_100_000),
    "sidecar over 1 MiB": fact(derived_from=["x" * 1_100_000]),
    "line over 4 MiB": fact(text="x" * 5_000_000),
    "ttl negative": fact(ttl_minutes=-1),
    "ttl a fraction": fact(ttl_minutes=1.5),
    "ttl true": fact(ttl_minutes=True),
    "ttl huge": fact(ttl_minutes=10**16),
    "confidence too high": fact(confidence=2),
    "confidence a word": fact(confidence="sure"),
    "confidence NaN as text": fact(confidence="nan"),
    "confidence a list": fact(confidence=[]),
    "importance true": fact(importance=True),
    "time without zone": fact(updated_at="2026-11-15T09:00:00"),
    "time a number": fact(created_at=0),
    "no such day": fact(created_at="2026-02-30"),
    "before year 1": fact(created_at="0001-01-01T00:00:00+14:00"),
    "archived without reason": fact(archived={"at": NOW}),
    "archived for a list": fact(archived={"reason": ["superseded"]}),
    "archived at a number": fact(archived={"reason": "superseded", "at": 5}),
    "tags are text": fact(tags="a"),
    "tags hold numbers": fact(tags=[1]),
    "episode without time": json.dumps({"kind": "episode", "text": "v"}),
    "episode at a number": episode(at=5),
    "episode of an odd outcome": episode(outcome="fine"),
    "episode over 1 MiB": episode(text="x y " * 300_000),
    "evidence is a number": episode(evidence=[5]),
    "evidence holds a surrogate": episode(evidence=[{"a": "\ud800"}]),
    "evidence holds infinity": '{"kind":"episode","at":"2026-11-01","text":"v","evidence":[{"a":1e400}]}',
    "procedure without steps": procedure(steps=[]),
    "procedure over 1 MiB": procedure(text="x" * 1_100_000),
    "procedure with a surrogate": procedure(title="\ud800"),
    "procedure with infinity": '{"kind":"procedure","key":"p","text":"v","steps":[{"action":"a","parameters":{"x":1e400}}]}',
    "source without kind": source(source_kind=None),
    "source kind is a list ": source(source_kind=["user"]),
    "source id with dots": source(id=".."),
    "source id with NUL": source(id="a\0b"),
    "source with a surrogate": source(note="\ud800"),
    "trust too high": source(trust=5),
    "not UTF-8": '{"kind":"fact","key":"b","text":"\udcff"}',
}


def write(path: Path, *lines: str) -> str:
    path.write_bytes(b"".join(line.encode("utf-8", "surrogateescape") + b"\n" for line in lines))
    return str(path)


@pytest.mark.parametrize("line", [pytest.param(line, id=name) for name, line in BAD.items()])
@pytest.mark.parametrize("options", [(), ("--trusted",), ("--dry-run",)], ids=" ".join)
def test_one_bad_line_is_named_and_stops_nothing(line: str, options: tuple[str, ...], box: Box, tmp_path: Path) -> None:
    path = write(tmp_path / "lines.jsonl", fact(key="first"), line, fact(key="last"), episode(text="good"))
    ran = clean(box.run("import", "jsonl", path, "--json", *options))
    assert ran.code == 0
    assert [bad["line"] for bad in ran.data["bad"]] == [2], ran
    trusted = "--trusted" in options
    assert (ran.data["created"], ran.data["proposed"]) == ((3, 0) if trusted else (1, 2))
    expected = [] if "--dry-run" in options else ["first", "last"]
    assert [row["key"] for row in box.data("fact", "list")] == (expected if trusted else [])
    assert sorted(box.kept()) == expected
    assert box.run("check").code == 0


def test_a_file_of_nothing_but_bad_lines_is_bad_data(box: Box, tmp_path: Path) -> None:
    path = write(tmp_path / "lines.jsonl", *BAD.values())
    ran = clean(box.run("import", "jsonl", path))
    assert ran.code == 4
    assert "more bad lines" in ran.err
    assert box.tree() == {
        k: v for k, v in box.tree().items() if not k.startswith(("facts", "episodes", "archive", "proposed"))
    }


def test_the_messages_repeat_no_value(box: Box, tmp_path: Path) -> None:
    lines = [line.replace('"v"', '"kingfisher"').replace('"x"', '"kingfisher"') for line in BAD.values()]
    ran = clean(box.run("import", "jsonl", write(tmp_path / "lines.jsonl", *lines), "--json"))
    assert "kingfisher" not in ran.out + ran.err
    assert TOKEN not in ran.out + ran.err


def test_a_line_without_end_is_no_trap(box: Box) -> None:
    ran = clean(box.run("import", "jsonl", "/dev/zero"))
    assert (ran.code, ran.out) == (2, "")


MIGHTY = {
    "source": {"id": "root", "kind": "system"},
    "run": "r",
    "confidence": 1.0,
    "importance": 1.0,
    "confirmations": [{"source": "a", "run": f"r{i}", "at": NOW} for i in range(50)],
    "id": "ffffffff-ffff-7fff-bfff-fffffffffff0",
    "updated_at": "9999-01-01T00:00:00Z",
}


@pytest.mark.parametrize("kind", ["fact", "proposal"])
@pytest.mark.parametrize("source", labels.KIND_TRUST)
def test_nobody_gains_by_saying_so(box: Box, tmp_path: Path, kind: str, source: str) -> None:
    """Whatever source, witnesses, time and id a stranger's records claim, and however many files say so: no fact."""
    if source == "tool":  # what a tool states is a fact at once here, but not what a file says that a tool has stated
        toml = box.root / "memcli.toml"
        toml.write_text(toml.read_text() + '\n[promotion]\ntool = "immediate"\n')
    for n in range(4):
        row = fact(**MIGHTY | {"kind": kind, "source": {"id": f"root{n}", "kind": source}, "run": f"r{n}"})
        box.ok("import", "jsonl", write(tmp_path / f"{n}.jsonl", row), now=f"2026-11-{15 + n}T09:00:00Z")
    for now in ("2026-11-19T09:00:00Z", "2027-01-01T00:00:00Z"):
        box.ok("sweep", now=now)
        assert box.data("fact", "list", now=now) == []
        assert box.run("fact", "get", "b", now=now).code == 3
    (held,) = box.kept().values()
    assert (proposals.observations(held), held.source.via, held.updated_at) == (1, "import", at(NOW))
    assert held.id < "f"


def test_nobody_gains_by_saying_so_where_imports_need_no_review(box: Box, tmp_path: Path) -> None:
    """Source, confidence, importance, time and id of a stranger's record are worth no more than a stranger's."""
    box.at_once()
    box.ok("import", "jsonl", write(tmp_path / "a.jsonl", fact(**MIGHTY)))
    got = box.data("fact", "get", "b")
    assert got["effective_confidence"] <= 0.6
    assert got["updated_at"] == box.now
    assert got["id"] < "f"
    made = box.set("b", "mine")
    assert made["how"] == "superseded"
    assert made["id"] > got["id"]


def test_an_imported_credential_is_masked_wherever_it_stands(box: Box, tmp_path: Path) -> None:
    holder = {"id": f"bot {TOKEN}", "kind": "tool"}
    lines = [
        fact(key="text", text=f"see {TOKEN}"),
        fact(key="tag", tags=[TOKEN]),
        fact(key="domain", domain=TOKEN),
        fact(key="from", derived_from=[TOKEN]),
        fact(key="run", run=TOKEN, agent=TOKEN),
        fact(key="source", source=holder),
        fact(key="header", header={"x": {"y": [TOKEN]}}),
        fact(key="relation", relations=[{"type": "is_a", "target": TOKEN}]),
        episode(text=TOKEN),
        episode(task=TOKEN, findings=[TOKEN], source=holder),
        episode(evidence=[{"modality": "image", "source": TOKEN}]),
        source(id="noted", note=TOKEN),
    ]
    box.ok("import", "jsonl", write(tmp_path / "a.jsonl", *lines))
    found = [name for name, data in box.tree(state=True).items() if TOKEN.encode() in data]
    assert found == []


def test_a_stricter_label_is_taken_over_whatever_the_way(box: Box, tmp_path: Path) -> None:
    made = "0199e4a0-5b00-7c3e-9a51-0d6a0f1b2c3d"
    box.at_once()
    for options in ((), ("--trusted",), ("--supersede",)):
        write(tmp_path / "a.jsonl", fact(), episode(id=made), procedure())
        box.ok("import", "jsonl", str(tmp_path / "a.jsonl"), *options)
        write(
            tmp_path / "b.jsonl",
            *(x(**{"sensitivity": "restricted"} | more) for x, more in ((fact, {}), (episode, {"id": made}))),
        )
        box.ok("import", "jsonl", str(tmp_path / "b.jsonl"), *options)
        write(tmp_path / "c.jsonl", fact(), fact(text="other"), episode(id=made))
        box.ok("import", "jsonl", str(tmp_path / "c.jsonl"), *options)
        assert box.run("fact", "get", "b").code == 6
        assert box.run("episode", "show", made).code == 6


def test_a_backup_survives_stdout_with_every_odd_character(box: Box, tmp_path: Path) -> None:
    """Hidden characters are escaped for the terminal in a way that JSON reads back."""
    odd = "".join(
        map(chr, [*range(1, 0x20), *range(0x7F, 0xA1), 0xAD, 0x200B, 0x202E, 0x2028, 0xFEFF, 0xE0041, 0x1F600])
    )
    odd = odd.replace("\r", "")
    box.ok("fact", "set", "odd", "-", stdin=odd.encode())
    (tmp_path / "backup.jsonl").write_text(box.ok("export", "jsonl", "-").out, "utf-8")
    other = Box(tmp_path / "other")
    other.ok("init")
    assert other.data("import", "jsonl", str(tmp_path / "backup.jsonl"), "--trusted")["bad"] == []
    assert other.fact("odd").text == box.fact("odd").text == odd.removesuffix("\n")
    assert [row["key"] for row in box.data("export", "jsonl", "-")] == ["odd"]
