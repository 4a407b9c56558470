"""What memcli writes is byte for byte what docs/format.md says, and what that page shows can be read."""

import json
import re
import tomllib
from datetime import UTC, datetime
from typing import Any

import pytest
from support import CHECKOUT, Box, at

from memcli.base import errors
from memcli.model import header, labels, settings, sidecar
from memcli.model.records import Episode, Fact, Opinion, Source, SourceRecord
from memcli.store import archive, episodes, facts, monthly, sources

FORMAT = (CHECKOUT / "docs" / "format.md").read_text()
FIRST = "0199e4a0-5b00-7c3e-9a51-0d6a0f1b2c3d"
SECOND = "0199f4a0-5b00-7c3e-9a51-0d6a0f1b2c3d"
T0 = datetime(2026, 10, 1, 8, 0, 5, tzinfo=UTC)

PLAIN = Fact(
    id=FIRST,
    key="deploy target",
    text="Production runs on Fly.io in region fra.",
    source=Source(id="anna", kind="user"),
    confidence=0.9,
    created_at=T0,
    updated_at=T0,
)
FULL = PLAIN.replace(
    id=SECOND,
    text="---\nA rule, ünïcode and a last line",
    sensitivity=labels.SENSITIVE,
    confidence=1.0,
    ttl_minutes=43200,
    importance=0.75,
    domain="infra",
    tags=("deploy", "two words", "yes"),
    relations=({"type": "is_a", "target": "hosting", "weight": 0.8},),
    modality="image",
    run="run-7",
    agent="coder",
    confirmed_at=at("2026-10-03T00:00:00Z"),
    confirmations=(
        Opinion(source="user:sam", run="r1", at=at("2026-10-02T00:00:00Z")),
        Opinion(source="user:mei", run="r2", at=at("2026-10-03T00:00:00Z")),
    ),
    denials=(Opinion(source="agent:x", run="r3", at=at("2026-10-04T00:00:00Z")),),
    valid_from=at("2026-01-01T00:00:00Z"),
    valid_to=at("2027-01-01T00:00:00Z"),
    supersedes=FIRST,
    renamed_from=("hosting",),
    derived_from=("database",),
    check="git:main",
    needs_review="denied",
    unknown={"colour": {"deep": [1, None]}, "weight": 2},
    header={"reviewed": "Anna"},
)
PLAIN_MD = f"""---
id: {FIRST}
key: deploy target
sensitivity: internal
---

Production runs on Fly.io in region fra.
"""
PLAIN_META = f"""{{
  "format": 1,
  "id": "{FIRST}",
  "key": "deploy target",
  "source": {{"id": "anna", "kind": "user"}},
  "confidence": 0.9,
  "ttl_minutes": 0,
  "sensitivity": "internal",
  "importance": 0.5,
  "modality": "text",
  "created_at": "2026-10-01T08:00:05Z",
  "updated_at": "2026-10-01T08:00:05Z",
  "body_sha256": "59ff93fed5e83c4ed0e4a2ee6ff2b2ab76a6aef1f6a9b0b9b3cbecc5f9c8b0e3"
}}
"""
FULL_MD = f"""---
id: {SECOND}
key: deploy target
sensitivity: sensitive
tags: [deploy, "two words", "yes"]
relations:
  - {{type: is_a, target: hosting, weight: 0.8}}
reviewed: Anna
---

---
A rule, ünïcode and a last line
"""
FULL_META = f"""{{
  "format": 1,
  "id": "{SECOND}",
  "key": "deploy target",
  "source": {{"id": "anna", "kind": "user"}},
  "run": "run-7",
  "agent": "coder",
  "confidence": 1,
  "ttl_minutes": 43200,
  "sensitivity": "sensitive",
  "importance": 0.75,
  "modality": "image",
  "domain": "infra",
  "created_at": "2026-10-01T08:00:05Z",
  "updated_at": "2026-10-01T08:00:05Z",
  "confirmed_at": "2026-10-03T00:00:00Z",
  "confirmations": [
    {{"source": "user:sam", "run": "r1", "at": "2026-10-02T00:00:00Z"}},
    {{"source": "user:mei", "run": "r2", "at": "2026-10-03T00:00:00Z"}}
  ],
  "denials": [
    {{"source": "agent:x", "run": "r3", "at": "2026-10-04T00:00:00Z"}}
  ],
  "valid_from": "2026-01-01T00:00:00Z",
  "valid_to": "2027-01-01T00:00:00Z",
  "supersedes": "{FIRST}",
  "renamed_from": ["hosting"],
  "derived_from": ["database"],
  "check": "git:main",
  "needs_review": "denied",
  "body_sha256": "BODY",
  "colour": {{"deep": [1, null]}},
  "weight": 2
}}
"""
ARCHIVED = (
    f'{{"format":1,"reason":"superseded","at":"2026-10-05T00:00:00Z","layer":"facts","name":"deploy-target--f5a86c7381d5",'
    f'"meta":{{"format":1,"id":"{FIRST}","key":"deploy target","source":{{"id":"anna","kind":"user"}},"confidence":0.9,'
    f'"ttl_minutes":0,"sensitivity":"internal","importance":0.5,"modality":"text","created_at":"2026-10-01T08:00:05Z",'
    f'"updated_at":"2026-10-01T08:00:05Z","body_sha256":"BODY"}},'
    f'"header":{{"id":"{FIRST}","key":"deploy target","sensitivity":"internal"}},'
    f'"text":"Production runs on Fly.io in region fra."}}\n'
)


def body(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()


PLAIN_META = re.sub(r'("body_sha256": )"\w+"', rf'\1"{body(PLAIN.text)}"', PLAIN_META)
FULL_META = FULL_META.replace("BODY", body(FULL.text))
ARCHIVED = ARCHIVED.replace("BODY", body(PLAIN.text))


@pytest.mark.parametrize(("fact", "md", "meta"), [(PLAIN, PLAIN_MD, PLAIN_META), (FULL, FULL_MD, FULL_META)])
def test_a_fact_is_written_byte_for_byte_as_the_format_says(box: Box, fact: Fact, md: str, meta: str) -> None:
    with box.store.writing() as w:
        facts.put(w, fact.replace(name="deploy-target--f5a86c7381d5"))
    assert box.md("deploy target").read_text() == md
    assert box.side("deploy target").read_text() == meta
    stored = box.fact("deploy target")
    assert stored.replace(digest="", name="") == fact


def test_a_superseded_value_is_one_compact_line_of_the_archive(box: Box) -> None:
    with box.store.writing() as w:
        old = facts.put(w, PLAIN)
        facts.put(w, PLAIN.replace(id=SECOND, text="new", supersedes=FIRST), old, at=at("2026-10-05T00:00:00Z"))
    assert (box.root / "archive" / "deploy-target--f5a86c7381d5.jsonl").read_text() == ARCHIVED


def test_an_episode_is_written_byte_for_byte_as_the_format_says(box: Box) -> None:
    episode = Episode(
        id="",
        at=datetime(2026, 10, 12, 9, 30, tzinfo=UTC),
        text="Moved the webhooks;\n## 2026-10-12T09:30:00Z {is no header",
        task="Move billing to the new queue",
        outcome="completed",
        session="s-12",
        source=Source(id="coder", kind="agent"),
        tags=("billing",),
        steps=4,
        evidence=({"modality": "image", "source": "shot.png"},),
    )
    with box.store.writing() as w:
        made = episodes.append(w, episode)
    text = "Moved the webhooks;\n\\## 2026-10-12T09:30:00Z {is no header"
    assert box.log("2026-10").read_text() == (
        "# Episodes 2026-10 (memcli format 1)\n"
        "\n"
        f'## 2026-10-12T09:30:00Z {{"id":"{made.id}","length":{len(text)},"digest":"{body(text)[:8]}",'
        '"sensitivity":"internal","task":"Move billing to the new queue","outcome":"completed","session":"s-12",'
        '"source":{"id":"coder","kind":"agent"},"confidence":0.6,"importance":0.5,"ttl_minutes":129600,"steps":4,'
        '"tags":["billing"],"evidence":[{"modality":"image","source":"shot.png"}]}\n'
        f"{text}\n"
        f"<!-- end {made.id} internal -->\n"
    )
    assert episodes.read(box.store, "2026-10").entries == (made,)


def test_a_source_is_written_byte_for_byte_as_the_format_says(box: Box) -> None:
    record = SourceRecord(
        id="anna", kind="user", trust=0.8, list="block", first_seen_at=T0, note="left in May", unknown={"x": [1]}
    )
    with box.store.writing() as w:
        assert sources.put(w, record)
        assert not sources.put(w, record)
    assert (box.root / "sources" / "anna.meta.json").read_text() == (
        '{\n  "format": 1,\n  "id": "anna",\n  "kind": "user",\n  "trust": 0.8,\n  "list": "block",\n'
        '  "first_seen_at": "2026-10-01T08:00:05Z",\n  "note": "left in May",\n  "x": [1]\n}\n'
    )
    assert list(sources.every(box.store)) == [record]


# The page itself.


def fenced(section: str, language: str = "") -> list[str]:
    """The code blocks of one section of the page."""
    part = FORMAT[FORMAT.index(f"\n{section} ") :]
    part = re.split(r"\n#{2,3} \d+\.", part[4:], maxsplit=1)[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", part, re.M | re.S)


def test_the_fact_on_the_page_is_read_as_it_stands() -> None:
    [example] = fenced("### 3.2")
    front, text = header.split(example)
    assert front == {
        "id": FIRST,
        "key": "deploy target",
        "sensitivity": "internal",
        "tags": ["deploy", "infra"],
        "relations": [{"type": "is_a", "target": "hosting", "weight": 0.8}],
    }
    assert text == "Production runs on Fly.io in region fra."
    assert header.join(front, text) == example


def test_the_entry_on_the_page_is_read_as_an_entry() -> None:
    [example] = fenced("## 4.")
    assert example.count("0199…") == 2
    [entry] = monthly.parse(example.replace("0199…", FIRST).encode(), "2026-10").entries
    assert (entry.id, entry.at) == (FIRST, datetime(2026, 10, 12, 9, 30, tzinfo=UTC))
    assert (entry.task, entry.outcome, entry.session) == ("Move billing to the new queue", "completed", "s-12")
    assert entry.text == "Moved the webhooks; replayed 214 of them."
    assert f'"length":{len(entry.text)},' in example


def test_the_settings_on_the_page_are_settings() -> None:
    [example] = fenced("## 8.", "toml")
    found = settings.read(tomllib.loads(example))
    assert found.unknown == ()
    assert found.given == {"defaults.sensitivity": "internal", "defaults.ttl_minutes": 0}


def test_the_order_of_fields_on_the_page_is_the_order_in_which_they_are_written() -> None:
    table = FORMAT[FORMAT.index("### 3.3") : FORMAT.index("### 3.4")]
    rows = re.findall(r"^\| (`.*?) \|", table, re.M)
    shown = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    written = list(json.loads(FULL_META))
    assert [n for n in written if n in shown] == shown
    assert [n for n in written if n not in shown] == ["colour", "weight"]


# Versions and unknown fields.


def test_a_newer_sidecar_is_refused_by_name_and_its_record_restricted(box: Box) -> None:
    box.set("k", "v")
    box.side("k").write_text(box.side("k").read_text().replace('"format": 1', '"format": 2'))
    with pytest.raises(errors.NewerFormat, match="format 2 is newer than this memcli knows"):
        sidecar.load(box.side("k").read_bytes())
    before = box.tree()
    assert box.fact("k").sensitivity == labels.RESTRICTED
    assert box.run("fact", "get", "k").code == 6
    assert box.run("fact", "set", "k", "w").code == 4
    assert [f["code"] for f in box.data("doctor")] == ["newer_format"]
    assert box.tree() == before


@pytest.mark.parametrize(
    "command", [("fact", "get", "k"), ("fact", "set", "k", "w"), ("context",), ("sweep",), ("doctor", "--fix")]
)
def test_a_newer_store_is_refused_by_name_and_untouched(box: Box, command: tuple[str, ...]) -> None:
    box.set("k", "v")
    marker = box.root / "memcli.toml"
    marker.write_text(marker.read_text().replace("format = 1", "format = 2"))
    before = box.tree(state=True)
    ran = box.run(*command, "--json")
    assert (ran.code, ran.out, ran.error["code"], ran.error["hint"]) == (4, "", "newer_format", "upgrade memcli")
    assert "format 2" in ran.error["message"]
    assert box.tree(state=True) == before


@pytest.mark.parametrize(
    "change", [("--ttl", "30d"), ("--tag", "new"), ("--sensitivity", "public"), ("another value",)]
)
def test_unknown_fields_are_kept_on_every_kind_of_rewrite(box: Box, change: tuple[str, ...]) -> None:
    box.set("k", "v")
    meta, md = box.side("k"), box.md("k")
    meta.write_text(meta.read_text().replace("\n}", ',\n  "colour": "red",\n  "deep": {"a": [1, 2.5, null, "ё"]}\n}'))
    md.write_text(md.read_text().replace("\n---\n\n", "\nreviewed_by: Anna\nscore: 3\n---\n\n"))
    box.ok("fact", "set", "k", *change)
    assert {n: box.meta("k")[n] for n in ("colour", "deep")} == {"colour": "red", "deep": {"a": [1, 2.5, None, "ё"]}}
    assert "\nreviewed_by: Anna\nscore: 3\n" in md.read_text()


def test_unknown_fields_of_an_entry_and_of_an_archived_value_are_kept(box: Box) -> None:
    made = box.add("text", "--task", "t")
    log = box.log()
    log.write_text(log.read_text().replace('"task":', '"colour":{"a":1},"task":'))
    [entry] = episodes.read(box.store, "2026-11").entries
    assert (entry.state, entry.unknown) == ("ok", {"colour": {"a": 1}})
    box.ok("forget", made, "--yes")
    box.ok("restore", made)
    assert '"colour":{"a":1}' in log.read_text()


EXACT: dict[str, Any] = {
    "number in quotes": ('"confidence": 0.6', '"confidence": "0.6"'),
    "number too large": ('"confidence": 0.6', '"confidence": 1.5'),
    "true for a number": ('"ttl_minutes": 0', '"ttl_minutes": false'),
    "half a minute": ('"ttl_minutes": 0', '"ttl_minutes": 0.5'),
    "not a number": ('"confidence": 0.6', '"confidence": NaN'),
    "infinite": ('"confidence": 0.6', '"confidence": 1e999'),
    "unknown label": ('"sensitivity": "internal"', '"sensitivity": "secret"'),
    "label in capitals": ('"sensitivity": "internal"', '"sensitivity": "Internal"'),
    "no label": ('  "sensitivity": "internal",\n', ""),
    "label twice": ('"sensitivity": "internal"', '"sensitivity": "public", "sensitivity": "internal"'),
    "unknown kind": ('"kind": "unknown"', '"kind": "god"'),
    "time without zone": ("09:00:00Z", "09:00:00"),
    "no format": ('  "format": 1,\n', ""),
    "format in quotes": ('"format": 1', '"format": "1"'),
    "true for the format": ('"format": 1', '"format": true'),
    "id is none": ('"id": "01', '"id": "zz'),
    "conflict markers": ('"key": "k"', '<<<<<<< HEAD\n"key": "k"\n=======\n"key": "j"\n>>>>>>> other'),
    "cut off": ("\n}\n", "\n"),
    "a list": ("{\n", "[{\n"),
    "deep": ('"format": 1', '"format": 1, "x": ' + "[" * 100_000 + "]" * 100_000),
    "lone surrogate": ('"key": "k"', '"key": "k", "domain": "\\ud800"'),
}


@pytest.mark.parametrize("fault", EXACT)
def test_a_sidecar_that_breaks_a_rule_makes_the_record_restricted_and_is_never_rewritten(box: Box, fault: str) -> None:
    box.set("k", f"{CHECKOUT.name} value")
    box.set("other", "whole")
    good, bad = EXACT[fault]
    side = box.side("k")
    text = side.read_text()
    assert good in text
    side.write_text(text.replace(good, bad))
    before = box.tree()
    found = box.fact("k")
    assert (found.state, found.sensitivity) == ("damaged", labels.RESTRICTED)
    assert box.run("fact", "get", "k").code == 6
    assert box.run("fact", "set", "k", "w").code == 4
    assert box.run("fact", "set", "k", "--ttl", "5").code == 4
    assert box.ok("fact", "list").out == "other\twhole\n"
    code = "conflict_markers" if fault == "conflict markers" else "damaged_sidecar"
    assert [f["code"] for f in box.data("doctor", "--fix")] == [code]
    assert box.tree() == before


def test_archived_lines_of_several_with_one_id_the_last_holds_and_torn_ones_are_passed_over(box: Box) -> None:
    meta = sidecar.encode({n: getattr(PLAIN, n) for n in ("key", "source", "confidence", "created_at", "updated_at")})
    lines = [
        archive.line("superseded", T0, "facts", "k", meta | {"id": FIRST}, {}, "one"),
        b'{"format":1,"reason":"supers\n',
        b'\n{"format":1}\n[]\nnull\n\xff\n',
        archive.line("superseded", T0, "facts", "k", meta | {"id": SECOND}, {}, "two"),
        archive.line("expired", T0, "facts", "k", meta | {"id": FIRST}, {}, "three"),
    ]
    (box.root / "archive").mkdir()
    (box.root / "archive" / "k.jsonl").write_bytes(b"".join(lines))
    found = archive.read(box.store, "facts", "k")
    assert [(r["meta"]["id"], r["text"]) for r in found] == [(SECOND, "two"), (FIRST, "three")]


def test_a_line_after_a_torn_one_begins_on_a_line_of_its_own(box: Box) -> None:
    (box.root / "archive").mkdir()
    (box.root / "archive" / "k.jsonl").write_bytes(b'{"torn')
    with box.store.writing() as w:
        archive.append(w, "facts", "k", archive.line("expired", T0, "facts", "k", {"id": FIRST}, {}, "whole"))
    assert [r["text"] for r in archive.read(box.store, "facts", "k")] == ["whole"]
