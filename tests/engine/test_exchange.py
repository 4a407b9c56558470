"""Export and import: a backup loses nothing, a foreign file gains nothing, one bad line stops nothing."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import CANARY, SHARED, Box, at, stamp

from memcli.engine import load
from memcli.model import labels, policy
from memcli.store import episodes, facts, procedures, sources

ID = "0199e4a0-5b00-7c3e-9a51-0d6a0f1b2c3d"
TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bD1fG3hJ5"


def fact(**fields: Any) -> dict[str, Any]:
    return {"kind": "fact", "key": "k", "text": "v", "sensitivity": "internal"} | fields


def episode(**fields: Any) -> dict[str, Any]:
    return {"kind": "episode", "at": "2026-11-01T00:00:00Z", "text": "v", "sensitivity": "internal"} | fields


def bring(box: Box, *rows: object, options: tuple[str, ...] = (), now: str | None = None) -> dict[str, Any]:
    data = b"".join(r if isinstance(r, bytes) else json.dumps(r, ensure_ascii=False).encode() + b"\n" for r in rows)
    ran = box.run("import", "jsonl", "-", *options, "--json", stdin=data, now=now)
    assert ran.code in (0, 4), ran
    found: dict[str, Any] = ran.data
    return found


@pytest.fixture(params=["proposed", "at once"])
def either(box: Box, request: pytest.FixtureRequest) -> Box:
    """A store in which an import that is not trusted proposes facts, and one in which it writes them."""
    return box.at_once() if request.param == "at once" else box


def export(box: Box, *options: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in box.ok("export", "jsonl", "-", *options).out.splitlines()]


def fresh(box: Box, name: str = "other") -> Box:
    made = Box(box.root.parent / name, now=box.now)
    made.ok("init")
    return made


def sorted_rows(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(r, sort_keys=True, ensure_ascii=False) for r in rows)


# A backup loses nothing.


def full_store(box: Box) -> None:
    """Something of everything that a store may hold."""
    box.set(
        "k",
        "one",
        "--source",
        "user:anna",
        "--confidence",
        "0.95",
        "--tag",
        "a",
        "--tag",
        "b c",
        "--domain",
        "infra",
        "--ttl",
        "99d",
    )
    box.set(
        "k",
        "two\n---\nünï",
        "--importance",
        "0.7",
        "--run",
        "r",
        "--agent",
        "x",
        "--derived-from",
        "j",
        "--modality",
        "image",
    )
    box.ok("fact", "confirm", "k", "--run", "r2", "--source", "user:sam")
    box.ok("fact", "deny", "k", "--run", "r3", "--source", "agent:coder")
    box.set("old name", "renamed")
    box.ok("fact", "rename", "old name", "new name")
    box.set("hidden", TOKEN, "--sensitivity", "restricted", "--allow-secret")
    box.set("raised", "v1")
    box.set("raised", "v2")
    box.ok("fact", "set", "raised", "--sensitivity", "sensitive")
    box.set("personal", "anna.keller@larder.example", "--allow-pii")
    box.set("empty", "")
    box.set("gone", "expired", "--ttl", "1", now=stamp(days=-1))
    box.set("again", "expired", "--ttl", "1", now=stamp(days=-1))
    box.add("ended", "--ttl", "1", now=stamp(days=-1))
    box.ok("sweep", "--yes")
    box.set("again", "anew")
    box.add(
        "happened\n## 2026-11-15T09:00:00Z {",
        "--task",
        "t",
        "--outcome",
        "failed",
        "--finding",
        "f",
        "--tool",
        "git",
        "--steps",
        "3",
    )
    box.add("secret", "--sensitivity", "restricted", "--evidence", "image:x.png", now=stamp(days=-40))
    box.ok("source", "set", "anna", "--kind", "user", "--trust", "0.9", "--note", "tech lead")
    box.ok("source", "block", "bad")
    side, md = box.side("k"), box.md("k")
    side.write_text(side.read_text().replace('"body_sha256"', '"colour": {"a": [1, null]},\n  "body_sha256"'))
    md.write_text(
        md.read_text().replace(
            "\n---\n\n", "\nreviewed: Anna\nrelations:\n  - {type: is_a, target: x, weight: 0.5}\n---\n\n", 1
        )
    )


def test_export_import_export_is_the_same(box: Box) -> None:
    full_store(box)
    first = export(box)
    other = fresh(box)
    done = bring(other, *first, options=("--trusted",), now=stamp(days=3))
    assert (done["bad"], done["conflicts"], done["restricted"]) == ([], [], 0)
    assert sorted_rows(export(other)) == sorted_rows(first)
    assert {r["kind"] for r in first} == {"fact", "episode", "source"}
    assert sum("archived" in r for r in first) >= 4
    assert [f["text"] for f in other.data("fact", "history", "k", "--reveal")] == ["two\n---\nünï", "one"]
    assert other.fact("k").unknown == {"colour": {"a": [1, None]}}
    assert other.fact("k").header == {"reviewed": "Anna"}
    assert [r["code"] for r in other.data("doctor") if r["severity"] == "error"] == []


def test_the_sample_store_goes_round_byte_for_byte(sample: Box) -> None:
    first = sample.ok("export", "jsonl", "-").out
    other = fresh(sample)
    other.ok("import", "jsonl", "-", "--trusted", stdin=first.encode())
    assert other.ok("export", "jsonl", "-").out == first
    assert {n: d for n, d in other.tree().items() if n.startswith("facts")} == {
        n: d for n, d in sample.tree().items() if n.startswith("facts")
    }


@pytest.mark.parametrize("trusted", [(), ("--trusted",)])
def test_importing_twice_is_importing_once(box: Box, trusted: tuple[str, ...]) -> None:
    full_store(box)
    rows = export(box)
    other = fresh(box)
    bring(other, *rows, options=trusted)
    before = other.touched()
    again = bring(other, *rows, options=trusted, now=stamp(days=1))
    assert (again["created"], again["superseded"], again["updated"], again["archived"]) == (0, 0, 0, 0)
    assert again["unchanged"] + again["left_out"] == len(rows)
    assert (again["proposed"], again["left_out"] > 0) == (0, not trusted)
    assert other.touched() == before


def test_rows_without_ids_get_the_same_ids_every_time(box: Box) -> None:
    rows = [fact(at="2026-10-01T00:00:00Z"), episode(), fact(key="j", text="w", updated_at="2026-10-02T00:00:00Z")]
    other = fresh(box)
    for each in (box, other):
        bring(each, *rows)
    assert sorted_rows(export(box)) == sorted_rows(export(other))
    assert bring(box, *rows)["unchanged"] == 3


@settings(max_examples=25)
@given(
    text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=60),
    tags=st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=9), max_size=3, unique=True),
    confidence=st.floats(0, 1),
    ttl=st.integers(0, 10**6),
)
def test_any_fact_goes_round(
    tmp_path_factory: pytest.TempPathFactory, text: str, tags: list[str], confidence: float, ttl: int
) -> None:
    one, two = (Box(tmp_path_factory.mktemp("round") / n) for n in "ab")
    for each in (one, two):
        each.ok("init")
    one.memory.set_fact(
        "k",
        text,
        tags=tuple(tags),
        confidence=confidence,
        ttl_minutes=ttl,
        sensitivity="restricted",
        allow_secret=True,
        allow_pii=True,
        now=at(),
    )
    bring(two, *export(one), options=("--trusted",))
    assert two.fact("k").replace(digest="") == one.fact("k").replace(digest="")


def test_an_export_to_a_file_is_private_and_whole(sample: Box) -> None:
    path = sample.root.parent / "backup.jsonl"
    said = sample.data("export", "jsonl", str(path))
    assert path.stat().st_mode & 0o777 == 0o600
    assert said["records"] == len(path.read_text().splitlines())
    assert path.read_text() == sample.ok("export", "jsonl", "-").out
    assert sample.run("export", "jsonl", str(sample.root.parent / "none" / "x")).code == 3


def test_an_export_below_a_clearance_leaves_the_rest_out_and_counts_it(box: Box) -> None:
    box.set("open", "v")
    for label in ("sensitive", "restricted"):
        box.set(f"{CANARY} {label}", CANARY, "--sensitivity", label, "--tag", CANARY)
        box.add(CANARY, "--sensitivity", label)
    ran = box.ok("export", "jsonl", "-", "--clearance", "internal")
    assert CANARY not in ran.out + ran.err
    assert "4 left out" in ran.err
    assert [json.loads(line)["key"] for line in ran.out.splitlines()] == ["open"]
    assert "keep it private" in box.ok("export", "jsonl", "-").err


# Bad lines.

BAD = [
    b"\n",
    b"{\n",
    b"[]\n",
    b"null\n",
    b"3\n",
    b'"text"\n',
    b"\xff\xfe\n",
    b"{}\n",
    b'{"kind": "fact"}\n',
    b'{"kind": "nothing", "key": "x"}\n',
    b'{"kind": "fact", "kind": "fact", "key": "dup", "text": "v"}\n',
    b'{"kind": "fact", "key": "nan", "text": "v", "confidence": NaN}\n',
    b'{"kind": "fact", "key": "x", "text": "' + b"x" * (5 << 20) + b'"}\n',
    b"[" * 100_000 + b"\n",
    *(
        json.dumps(fact(**{name: value})).encode() + b"\n"
        for name, value in [
            ("key", ""),
            ("key", "a/../b"),
            ("key", "a\nb"),
            ("key", "x" * 1001),
            ("key", 5),
            ("text", None),
            ("text", ["v"]),
            ("text", "\ud800"),
            ("text", "x" * (1 << 20)),
            ("confidence", 1.5),
            ("confidence", "sure"),
            ("confidence", True),
            ("importance", -1),
            ("ttl_minutes", -1),
            ("ttl_minutes", 1.5),
            ("ttl_minutes", "30d"),
            ("ttl_minutes", True),
            ("ttl_minutes", 10**30),
            ("created_at", "yesterday"),
            ("created_at", 5),
            ("updated_at", "2026-13-01T00:00:00Z"),
            ("source", "anna"),
            ("source", {"id": "anna", "kind": "god"}),
            ("source", {"id": 5, "kind": "user"}),
            ("tags", "a"),
            ("tags", [5]),
            ("tags", [f"tag {n}" for n in range(20_000)]),
            ("relations", [3]),
            ("relations", [{"type": {"a" * 2000: 1}}]),
            ("domain", 5),
            ("archived", 3),
            ("archived", {"reason": "because"}),
        ]
    ),
    *(
        json.dumps(episode(**{name: value})).encode() + b"\n"
        for name, value in [
            ("at", None),
            ("at", "now"),
            ("outcome", "great"),
            ("tags", 5),
            ("text", 5),
            ("evidence", [1]),
            ("source", {}),
        ]
        if (name, value) != ("source", {})
    ),
    b'{"kind": "procedure", "key": "p", "sensitivity": "internal"}\n',
    b'{"kind": "source", "id": "s"}\n',
    b'{"kind": "source", "id": "s", "source_kind": "user", "trust": 7}\n',
    b'{"kind": "source", "id": "", "source_kind": "user"}\n',
]


def test_bad_lines_are_named_by_number_and_never_stop_the_rest(either: Box) -> None:
    rows: list[object] = []
    for number, bad in enumerate(BAD):
        rows += [bad, fact(key=f"good {number}", text=f"{CANARY} {number}")]
    done = bring(either, *rows)
    held = {key: f.text for key, f in either.kept().items()}
    assert held == {f"good {n}": f"{CANARY} {n}" for n in range(len(BAD))}
    # The first of them is a blank line, which is none.
    assert [b["line"] for b in done["bad"]] == [2 * n + 1 for n in range(1, len(BAD))]
    assert all(b["why"] and CANARY not in b["why"] and "xxxx" not in b["why"] for b in done["bad"])
    assert (
        list(episodes.newest(either.store))
        == list(procedures.every(either.store))
        == list(sources.every(either.store))
        == []
    )
    assert [f["code"] for f in either.data("doctor")] == []


def test_a_bad_line_at_the_end_of_a_batch_does_not_take_the_batch_with_it(
    either: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "BATCH", 3)
    rows: list[object] = []
    for n in range(10):
        rows += [fact(key=f"k{n}"), BAD[-10 + n]]
    bring(either, *rows)
    assert len(either.kept()) == 10


def test_only_bad_lines_is_exit_4_and_some_good_ones_exit_0(box: Box) -> None:
    assert box.run("import", "jsonl", "-", stdin=b"{\n").code == 4
    assert box.run("import", "jsonl", "-", stdin=b"{\n" + json.dumps(fact()).encode()).code == 0
    assert box.run("import", "jsonl", "-", stdin=b"").code == 0
    assert box.run("import", "jsonl", str(box.root / "none.jsonl")).code == 3
    assert box.run("import", "csv", "-").code == 2


def test_dry_run_says_the_same_counts_and_writes_nothing(box: Box) -> None:
    full_store(box)
    rows = [*export(box), b"{\n", fact(key="more")]
    other = fresh(box)
    before = other.touched()
    would = bring(other, *rows, options=("--trusted", "--dry-run"))
    assert other.touched() == before
    did = bring(other, *rows, options=("--trusted",))
    assert {n: did[n] for n in ("created", "bad", "conflicts")} == {
        n: would[n] for n in ("created", "bad", "conflicts")
    }


def test_crlf_and_a_missing_last_newline_are_tolerated(either: Box) -> None:
    bring(either, json.dumps(fact()).encode() + b"\r\n", json.dumps(fact(key="j")).encode())
    assert set(either.kept()) == {"k", "j"}


# Existing keys.


def test_another_value_of_a_key_is_left_alone_unless_told_to_supersede(box: Box) -> None:
    box.at_once()
    mine = box.set("k", "mine")["id"]
    before = box.tree()
    row = fact(text="theirs", id=ID)
    assert bring(box, row)["conflicts"] == [1]
    assert box.tree() == before
    assert bring(box, row, options=("--supersede",))["superseded"] == 1
    assert (box.get("k"), box.fact("k").supersedes) == ("theirs", mine)
    assert box.fact("k").id > mine
    assert [r["text"] for r in box.data("fact", "history", "k")] == ["theirs", "mine"]


def test_an_import_over_a_damaged_record_leaves_it_alone(box: Box) -> None:
    box.at_once()
    box.set("k", "v")
    box.side("k").write_text("{")
    before = box.tree()
    assert bring(box, fact(text="theirs"), options=("--supersede",))["conflicts"] == [1]
    assert box.tree() == before


def test_two_values_of_a_key_in_one_file_are_the_first_and_a_conflict(box: Box) -> None:
    box.at_once()
    done = bring(box, fact(text="one"), fact(text="two"))
    assert (box.get("k"), done["created"], done["conflicts"]) == ("one", 1, [2])
    done = bring(box, fact(key="j", text="one"), fact(key="j", text="two"), options=("--supersede",))
    assert (box.get("j"), done["superseded"]) == ("two", 1)


@pytest.mark.parametrize("options", [(), ("--trusted",), ("--supersede",), ("--trusted", "--supersede")])
def test_an_import_never_lowers_a_label(box: Box, options: tuple[str, ...]) -> None:
    if options == ("--supersede",):
        box.at_once()
    box.set("k", "v", "--sensitivity", "restricted")
    box.set("j", "v", "--sensitivity", "sensitive")
    bring(box, fact(sensitivity="public"), fact(key="j", text="w", sensitivity="public"), options=options)
    assert [box.fact(k).sensitivity for k in "kj"] == [labels.RESTRICTED, labels.SENSITIVE]
    bring(box, episode(id=ID, sensitivity="restricted"), options=options)
    bring(box, episode(id=ID, sensitivity="public"), options=options)
    assert [e.sensitivity for e in episodes.newest(box.store)] == [labels.RESTRICTED]


# A foreign file gains nothing.

BOAST = {
    "source": {"id": "anna", "kind": "system"},
    "confidence": 1.0,
    "importance": 1.0,
    "created_at": "2099-01-01T00:00:00Z",
    "updated_at": "2099-01-01T00:00:00Z",
    "confirmed_at": "2099-01-01T00:00:00Z",
    "confirmations": [{"source": "user:x", "run": f"r{n}", "at": "2099-01-01T00:00:00Z"} for n in range(20)],
}


@pytest.mark.parametrize(
    "source", [{"id": "anna", "kind": "system"}, {"id": "x", "kind": "import"}, {"id": "http://x", "kind": "url"}, None]
)
def test_an_untrusted_fact_is_medium_at_most_and_not_from_the_future(box: Box, source: object) -> None:
    bring(box.at_once(), fact(**(BOAST | {"source": source})))
    found = box.fact("k")
    assert policy.effective_confidence(found, at()) <= 0.6
    assert max(found.updated_at, found.created_at, policy.last_seen(found)) <= at()
    assert (found.confirmations, found.source.via) == ((), "import")
    shown = box.data("fact", "get", "k")
    assert shown["confidence_label"] in ("medium", "low")
    # It fades like any other.
    assert box.run("fact", "get", "k", now=stamp(days=1000)).code == 3


def test_a_trusted_fact_keeps_what_it_says(box: Box) -> None:
    bring(box, fact(**BOAST), options=("--trusted",))
    found = box.fact("k")
    assert (str(found.source), found.source.via, found.confidence, found.importance) == ("system:anna", "", 1.0, 1.0)
    assert len(found.confirmations) == 20


def test_an_id_of_the_future_is_not_taken_from_a_stranger(either: Box) -> None:
    late = "ffffffff-ffff-7fff-bfff-ffffffffffff"
    bring(either, fact(id=late), episode(id=late))
    assert either.kept()["k"].id < late
    assert all(e.id < late for e in episodes.newest(either.store))
    fact_here = next(facts.every(either.store), None)
    assert either.set("k", "w")["how"] == ("created" if fact_here is None else "superseded")
    assert either.get("k") == "w"


@pytest.mark.parametrize("label", [None, "", "secret", "Public", 5, ["public"], "public "])
def test_a_label_that_is_none_is_restricted(either: Box, label: object) -> None:
    done = bring(either, fact(sensitivity=label), episode(sensitivity=label))
    assert done["restricted"] == 2
    assert either.kept()["k"].sensitivity == labels.RESTRICTED
    assert [e.sensitivity for e in episodes.newest(either.store)] == [labels.RESTRICTED]
    row = fact(key="j")
    del row["sensitivity"]
    bring(either, row, options=("--trusted",))
    assert either.fact("j").sensitivity == labels.RESTRICTED


def test_an_untrusted_procedure_is_pending_and_untried(box: Box) -> None:
    steps = [{"name": "Ship", "action": "make ship"}]
    row = {
        "kind": "procedure",
        "key": "release",
        "title": "Release",
        "sensitivity": "internal",
        "steps": steps,
        "state": "approved",
    }
    row |= {
        "runs": 99,
        "successes": 99,
        "rate": 1.0,
        "validated_by": {"id": "anna", "kind": "user"},
        "task_type": "release",
    }
    bring(box, row)
    [found] = procedures.every(box.store)
    assert (found.state, found.runs, found.successes, found.validated_by) == ("pending", 0, 0, None)
    assert "make ship" not in box.ok("context", "--task-type", "release").out
    bring(box, row | {"key": "mine"}, options=("--trusted",))
    mine = procedures.get(box.store, "mine")
    assert mine is not None
    assert (mine.state, mine.runs) == ("approved", 99)


def test_an_untrusted_source_raises_no_trust_and_takes_nobody_off_the_block_list(box: Box) -> None:
    box.ok("source", "block", "bad")
    box.ok("source", "set", "anna", "--kind", "user", "--trust", "0.3")
    rows = [
        {"kind": "source", "id": i, "source_kind": "user", "trust": 1.0, "list": "allow"}
        for i in ("bad", "anna", "new")
    ]
    bring(box, *rows)
    held = {s.id: s for s in sources.every(box.store)}
    assert held["bad"].list == "block"
    assert held["anna"].trust == 0.3
    assert (held["new"].trust <= 0.8, held["new"].list) == (True, "")
    box.set("by sam", "v", "--source", "user:sam")
    silencing = [
        {"kind": "source", "id": i, "source_kind": "user", "trust": 0.0, "list": "block"} for i in ("anna", "sam")
    ]
    bring(box, *silencing)
    assert {s.id: s.list for s in sources.every(box.store)} == {"bad": "block", "anna": "", "new": "", "sam": ""}
    assert next(s.trust for s in sources.every(box.store) if s.id == "sam") == 0.8
    assert "by sam" in box.ok("fact", "list").out
    bring(box, *rows, options=("--trusted",))
    assert next(s for s in sources.every(box.store) if s.id == "anna").trust == 1.0


@pytest.mark.parametrize("place", ["text", "tags", "domain", "run", "agent", "check", "source", "relations", "header"])
def test_a_credential_is_masked_wherever_it_stands(either: Box, place: str) -> None:
    value: dict[str, Any] = {
        "tags": [TOKEN],
        "source": {"id": TOKEN, "kind": "agent"},
        "relations": [{"type": TOKEN, "target": TOKEN}],
        "header": {"x": TOKEN},
    }
    done = bring(either, fact(**{place: value.get(place, TOKEN)}))
    assert done["created"] + done["proposed"] == 1
    assert [n for n, d in either.tree(state=True).items() if TOKEN.encode() in d] == []


def test_a_credential_as_a_key_is_refused_as_one_line(either: Box) -> None:
    done = bring(either, fact(key=TOKEN), fact(key="j"))
    assert TOKEN not in json.dumps(done)
    assert [n for n in either.tree() if TOKEN in n] == []
    assert either.kept()["j"].text == "v"
    for found in either.kept().values():
        assert found.key == "j" or found.sensitivity == labels.RESTRICTED


# In bulk.


def generated(tmp_path: Path, *words: str) -> Path:
    script = SHARED / "bench" / "gen_corpus.py"
    if not script.exists():
        pytest.skip("needs ../shared/bench")
    out = tmp_path / "corpus.jsonl"
    subprocess.run([sys.executable, str(script), str(out), *words], check=True, capture_output=True)
    return out


def test_a_generated_corpus_comes_in_whole(box: Box) -> None:
    path = generated(box.root.parent, "--facts", "300")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    box.at_once()
    done = box.data("import", "jsonl", str(path))
    assert (done["bad"], done["conflicts"]) == ([], [])
    assert done["created"] == len(rows)
    assert {f.key for f in facts.every(box.store)} == {r["key"] for r in rows if r["kind"] == "fact"}
    assert len(list(episodes.newest(box.store))) == sum(r["kind"] == "episode" for r in rows)
    assert box.data("import", "jsonl", str(path))["unchanged"] == len(rows)
    assert "zanzibarite" in box.ok("context", "zanzibarite", "--untrusted").out


def test_the_shape_of_locomo_comes_in_whole(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    script = SHARED / "bench" / "locomo" / "to_jsonl.py"
    if not script.exists():
        pytest.skip("needs ../shared/bench")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    spec = importlib.util.spec_from_file_location("to_jsonl", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    turns = [{"speaker": "Ann", "text": f"turn {n}", "dia_id": f"D1:{n}", "blip_caption": "a cat"} for n in range(40)]
    rows = list(module.records({"session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2023"}))
    done = bring(box, *rows)
    assert (done["created"], done["bad"]) == (40, [])
    listed = list(episodes.newest(box.store))
    assert [e.source.id for e in reversed(listed)] == [f"D1:{n}" for n in range(40)]
    assert {e.source.via for e in listed} == {"import"}


def test_former_values_come_before_their_successor_and_make_its_history(box: Box) -> None:
    rows = [
        fact(
            text="one",
            updated_at="2026-01-01T00:00:00Z",
            archived={"reason": "superseded", "at": "2026-02-01T00:00:00Z"},
        ),
        fact(
            text="two",
            updated_at="2026-02-01T00:00:00Z",
            archived={"reason": "superseded", "at": "2026-03-01T00:00:00Z"},
        ),
        fact(text="three", updated_at="2026-03-01T00:00:00Z"),
        fact(key="gone", text="old", archived={"reason": "expired", "at": "2026-03-01T00:00:00Z"}),
    ]
    bring(box, *rows, options=("--trusted",))
    history = box.data("fact", "history", "k")
    assert [(r["text"], r["reason"]) for r in history] == [
        ("three", "current"),
        ("two", "superseded"),
        ("one", "superseded"),
    ]
    assert [r.get("supersedes") for r in history] == [history[1]["id"], history[2]["id"], None]
    assert box.run("fact", "get", "gone").code == 3
    box.ok("restore", "gone")
    assert box.get("gone") == "old"


def way(**fields: Any) -> dict[str, Any]:
    steps = [{"name": "a", "action": "ship it"}]
    return {"kind": "procedure", "key": "release", "sensitivity": "internal", "steps": steps} | fields


def archived_ways(box: Box) -> list[dict[str, Any]]:
    folder = box.root / "archive" / "procedures"
    return [json.loads(line) for p in sorted(folder.glob("*.jsonl")) for line in p.read_text().splitlines()]


@pytest.mark.parametrize("option", ["--supersede", "--trusted"])
def test_another_way_supersedes_a_procedure_and_the_former_one_is_archived(box: Box, option: str) -> None:
    if option == "--supersede":
        box.at_once()
    box.ok("procedure", "propose", "release", "By hand", "--step", "copy it", "--source", "user:anna")
    old = procedures.get(box.store, "release")
    assert old is not None
    assert bring(box, way())["conflicts"] == [1]
    report = bring(box, way(text="By machine"), options=(option,))
    assert (report["superseded"], report["updated"]) == (1, 0)
    new = procedures.get(box.store, "release")
    assert new is not None
    assert (new.text, new.steps[0].action) == ("By machine", "ship it")
    assert new.id > old.id
    (row,) = archived_ways(box)
    assert (row["reason"], row["meta"]["id"], row["text"]) == ("superseded", old.id, "By hand")
    assert row["header"]["steps"] == [{"name": "", "action": "copy it"}]
    before = box.tree()
    assert bring(box, way(text="By machine"), options=(option,))["unchanged"] == 1
    assert box.tree() == before
    assert box.run("check").code == 0


def test_the_record_of_use_alone_makes_no_new_value(box: Box) -> None:
    box.ok("procedure", "propose", "release", "--step", "a: ship it", "--source", "user:anna")
    box.ok("procedure", "approve", "release", "--by", "user:ivan")
    path = box.root.parent / "x.jsonl"
    box.ok("export", "jsonl", str(path))
    box.ok("procedure", "record", "release", "--success")
    assert box.data("import", "jsonl", str(path), "--trusted")["updated"] == 1
    found = procedures.get(box.store, "release")
    assert found is not None
    assert (found.state, found.runs) == ("trial", 0)
    assert archived_ways(box) == []


def test_a_damaged_procedure_is_left_alone(box: Box) -> None:
    box.ok("procedure", "propose", "release", "--step", "copy it", "--source", "user:anna")
    (box.root / "procedures" / "release.meta.json").write_text("{")
    assert bring(box, way(), options=("--trusted",))["conflicts"] == [1]


def test_a_credential_in_any_field_of_a_procedure_is_masked(box: Box) -> None:
    steps = [{"name": TOKEN, "action": f"curl -H {TOKEN}", "expected": TOKEN, "parameters": {"key": TOKEN, TOKEN: "x"}}]
    texts = dict.fromkeys(("title", "text", "task_type", "trigger", "needs_review"), f"x {TOKEN}")
    report = bring(box, way(steps=steps, tags=[TOKEN], header={"mine": TOKEN}, **texts), options=("--trusted",))
    assert report["created"] == 1
    assert [name for name, data in box.tree(state=True).items() if TOKEN.encode() in data] == []


def test_an_import_that_fails_half_way_keeps_what_was_committed_and_leaves_no_temporary_file(box: Box) -> None:
    box.at_once()
    (box.root / "facts" / "b.meta.json" / "in the way").mkdir(parents=True)  # no sidecar can take this place
    rows = "".join(
        json.dumps({"kind": "fact", "key": k, "text": f"of {k}", "sensitivity": "internal"}) + "\n" for k in "abc"
    )
    assert box.run("import", "jsonl", "-", stdin=rows.encode()).code == 7
    assert [p.name for p in (box.root / "facts").iterdir() if p.name.endswith(".tmp")] == []
    assert box.get("a") == "of a"
    assert {f.state for f in box.memory.facts()} == {"ok"}
    (box.root / "facts" / "b.meta.json" / "in the way").rmdir()
    (box.root / "facts" / "b.meta.json").rmdir()
    box.ok("import", "jsonl", "-", stdin=rows.encode())
    assert [f.text for f in box.memory.facts()] == ["of a", "of b", "of c"]
