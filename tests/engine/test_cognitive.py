"""The memory of cognitive-core comes in: all that has a place here, once, without trust by its own word, read only."""

import json
import math
import os
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from support import CANARY, Box, at

from memcli.base import errors
from memcli.engine.cognitive_files import Brought
from memcli.model import labels
from memcli.model.records import Procedure
from memcli.store import procedures, sources

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bD1fG3hJ5"
BORN, SEEN = 1_789_000_000.123, 1_789_500_000.5  # 10 and 15 September 2026
BORN_AT, SEEN_AT = at("2026-09-10T00:26:40Z"), at("2026-09-15T19:20:00Z")

NODE: dict[str, Any] = {
    "concept": "neuron",
    "description": "A nerve cell",
    "tags": ["bio"],
    "confidence": 0.9,
    "importance": 0.7,
    "relations": [
        {"target": "brain", "weight": 0.8, "rel_type": "part_of", "confidence": 0.7, "source_ref": "a.txt", "ts": BORN},
        {"target": "cell", "weight": 7, "rel_type": "is_a"},
    ],
    "source_refs": ["books/bio.txt", "https://example.org/neuron", "brain"],
    "access_count": 4,
    "confirm_count": 3,
    "deny_count": 1,
    "created_ts": BORN,
    "updated_ts": SEEN,
}
BRAIN = {"concept": "brain", "description": "", "created_ts": BORN, "updated_ts": BORN}
RUMOUR: dict[str, Any] = {
    "concept": "rumour",
    "description": "It is flat",
    "source_refs": ["spam.example"],
    "created_ts": BORN,
}
SHARED_RUMOUR = {**RUMOUR, "concept": "tide", "source_refs": ["spam.example", "books/bio.txt"]}
EPISODE: dict[str, Any] = {
    "episode_id": "e1",
    "ts": BORN,
    "content": "Read a chapter on nerves",
    "modality": "mixed",
    "source": "user_input",
    "importance": 0.4,
    "confidence": 0.8,
    "tags": ["study"],
    "concepts": ["neuron"],
    "modal_evidence": [
        {"modality": "image", "source": "a.png", "content_ref": "a.png#1", "confidence": 0.5, "metadata": {"w": 3}}
    ],
    "trace_id": "t1",
    "session_id": "s1",
    "access_count": 0,
    "embedding": [0.25, 0.5],
}
SOURCES: dict[str, dict[str, Any]] = {
    "books/bio.txt": {
        "source_id": "books/bio.txt",
        "source_type": "file",
        "trust_score": 0.75,
        "confirmations": 3,
        "contradictions": 1,
        "fact_count": 12,
        "first_seen_ts": BORN,
        "last_seen_ts": SEEN,
    },
    "spam.example": {
        "source_type": "url",
        "trust_score": 0.0,
        "blacklisted": True,
        "metadata": {"blacklist_reason": "lies"},
    },
}
PROCEDURE: dict[str, Any] = {
    "name": "answer a question",
    "description": "How a question is answered",
    "steps": [
        {"action": "search", "params": {"top": 5}, "expected_outcome": "a list", "is_optional": False},
        {"action": "ask back", "params": {}, "expected_outcome": "", "is_optional": True},
    ],
    "trigger_pattern": "what is",
    "success_rate": 0.8,
    "use_count": 5,
    "success_count": 4,
    "fail_count": 1,
    "avg_duration_ms": 12.4,
    "tags": ["qa"],
    "created_ts": BORN,
    "last_used_ts": SEEN,
    "priority": 0.6,
}


def by(name: str, *rows: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {str(row[name]): row for row in rows}


def put(folder: Path, **collections: Any) -> Path:
    """A memory folder; nodes go to semantic.json, the rest to files of their names."""
    folder.mkdir(exist_ok=True)
    for name, held in collections.items():
        file = "semantic.json" if name == "nodes" else f"{name}.json"
        raw = {"version": "1.0", "saved_ts": SEEN, name: held}
        (folder / file).write_text(json.dumps(raw, ensure_ascii=False, indent=2), "utf-8")
    return folder


def whole(folder: Path) -> Path:
    return put(
        folder,
        nodes=by("concept", NODE, BRAIN, RUMOUR, SHARED_RUMOUR),
        episodes=[EPISODE],
        sources=SOURCES,
        procedures=by("name", PROCEDURE),
    )


def columns(table: str, rows: Iterable[dict[str, Any]]) -> str:
    names = list(dict.fromkeys(n for row in rows for n in row))
    return f"CREATE TABLE {table} ({', '.join(names)})"


def texts(row: dict[str, Any]) -> dict[str, Any]:
    return {k: json.dumps(v) if isinstance(v, list | dict) else v for k, v in row.items()}


def database(path: Path, *, wal: bool = False) -> Path:
    """The same memory as `whole`, as its database keeps it: lists as JSON text, flags as numbers, parts in tables."""
    path.parent.mkdir(exist_ok=True)
    nodes = [NODE, BRAIN, RUMOUR, SHARED_RUMOUR]
    blank = dict.fromkeys(NODE)
    tables = {
        "semantic_nodes": [texts({k: v for k, v in {**blank, **n}.items() if k != "relations"}) for n in nodes],
        "relations": [{"source": "neuron", **r} for r in NODE["relations"]],
        "episodes": [texts({k: v for k, v in EPISODE.items() if k not in ("modal_evidence", "embedding")})],
        "modal_evidence": [{"episode_id": "e1", **texts(e)} for e in EPISODE["modal_evidence"]],
        "sources": [
            texts({"metadata": {}, **s, "source_id": name, "blacklisted": int(s.get("blacklisted", False))})
            for name, s in SOURCES.items()
        ],
        "procedures": [texts({k: v for k, v in PROCEDURE.items() if k != "steps"})],
        "procedure_steps": [
            {"procedure_name": PROCEDURE["name"], "step_order": n, **texts(s), "is_optional": int(s["is_optional"])}
            for n, s in reversed(list(enumerate(PROCEDURE["steps"])))
        ],
        "claims": [{"claim_id": "c1", "concept": "neuron"}],
    }
    con = sqlite3.connect(path)
    if wal:
        con.execute("PRAGMA journal_mode = WAL")
    for table, rows in tables.items():
        key = {"semantic_nodes": "concept", "sources": "source_id"}.get(table)
        con.execute(
            columns(table, rows).replace(f"{key}", f"{key} TEXT PRIMARY KEY", 1) if key else columns(table, rows)
        )
        if table == "relations":
            con.execute("ALTER TABLE relations ADD COLUMN id")
        for row in rows:
            marks = ", ".join("?" * len(row))
            con.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values()))
    con.commit()
    con.close()
    return path


def bring(box: Box, path: Path, **options: bool) -> Brought:
    return box.memory.import_cognitive(path, now=at(box.now), **options)


def kept(box: Box, key: str) -> Procedure:
    found = procedures.get(box.store, key)
    assert found is not None
    return found


def reasons(done: Brought) -> list[str]:
    return [f"{done.places[number]}: {why}" for number, why in done.report.bad]


@pytest.fixture
def there(tmp_path: Path) -> Path:
    return whole(tmp_path / "memory")


def test_one_s_own_memory_comes_in_whole(box: Box, there: Path) -> None:
    done = bring(box, there, trusted=True)
    assert (done.report.created, done.report.bad, done.faults) == (8, (), ())
    assert done.read == {"sources": 2, "facts": 4, "episodes": 1, "procedures": 1}
    assert done.dropped == {"embeddings": 1, "access_counts": 1, "relations": 1, "blacklisted": 0, "claims": 0}
    m = box.memory
    neuron = m.get_fact("neuron", now=at(box.now))
    assert (neuron.text, neuron.confidence, neuron.importance, neuron.tags) == ("A nerve cell", 0.9, 0.7, ("bio",))
    assert (str(neuron.source), neuron.source.via, neuron.derived_from) == (
        "file:books/bio.txt",
        "",
        ("https://example.org/neuron",),
    )
    assert neuron.relations == (
        {"type": "part_of", "target": "brain", "weight": 0.8, "confidence": 0.7, "source": "a.txt"},
    )
    assert (neuron.created_at, neuron.updated_at, neuron.sensitivity) == (BORN_AT, SEEN_AT, labels.INTERNAL)
    # Counts have no witnesses, so they are no opinions.
    assert neuron.header == {"cognitive_core_confirmed": 3, "cognitive_core_denied": 1}
    assert (neuron.confirmations, neuron.denials) == ((), ())
    assert m.get_fact("brain", now=at(box.now)).text == "brain"
    (episode,) = m.episodes(now=at(box.now))
    assert (episode.text, episode.modality, str(episode.source)) == (EPISODE["content"], "mixed", "user:user_input")
    assert (episode.trace, episode.session, episode.concepts, episode.tags) == ("t1", "s1", ("neuron",), ("study",))
    assert episode.at == BORN_AT
    assert episode.evidence == (
        {"modality": "image", "source": "a.png", "content": "a.png#1", "confidence": 0.5, "metadata": {"w": 3}},
    )
    made = kept(box, "answer a question")
    assert (made.state, made.runs, made.successes, made.rate, made.mean_duration_ms) == ("approved", 5, 4, 0.8, 12)
    assert (made.trigger, made.tags, made.importance, made.last_used_at) == ("what is", ("qa",), 0.6, SEEN_AT)
    assert [(s.action, s.parameters, s.expected, s.optional) for s in made.steps] == [
        ("search", {"top": 5}, "a list", False),
        ("ask back", None, "", True),
    ]
    known = {s.id: s for s in sources.every(box.store)}
    assert (known["books/bio.txt"].trust, known["books/bio.txt"].kind) == (0.75, "file")
    assert (known["books/bio.txt"].first_seen_at, known["books/bio.txt"].last_seen_at) == (BORN_AT, SEEN_AT)
    assert "3 confirmations, 1 contradictions, 12 facts" in known["books/bio.txt"].note
    assert (known["spam.example"].list, known["spam.example"].note) == ("block", "lies")


def test_a_blacklisted_source_is_blocked_and_what_rests_on_it_alone_is_not_served(box: Box, there: Path) -> None:
    bring(box, there, trusted=True)
    assert "its source is blocked" in box.run("fact", "get", "rumour").err  # it is there
    assert "rumour" not in {f.key for f in box.memory.facts(now=at(box.now))}
    assert "rumour" not in box.ok("search", "rumour").out + box.ok("context", "rumour").out
    assert str(box.memory.get_fact("tide", now=at(box.now)).source) == "file:books/bio.txt"


def test_what_is_not_one_s_own_gains_nothing_by_saying_so(box: Box, there: Path) -> None:
    done = bring(box, there)
    assert (done.report.created, done.report.proposed, done.dropped["blacklisted"]) == (4, 3, 1)
    assert list(box.memory.facts(now=at(box.now))) == []
    assert {f.source.via for f in box.kept().values()} == {"import"}
    bring(box.at_once(), there)
    with pytest.raises(errors.NotFound):
        box.memory.get_fact("rumour", now=at(box.now))
    assert box.memory.get_fact("neuron", now=at(box.now)).source.via == "import"
    made = kept(box, "answer a question")
    assert (made.state, made.runs) == ("pending", 0)
    # Whom to trust and whom to silence is decided here.
    assert {s.id: (s.trust, s.list) for s in sources.every(box.store)} == {
        "books/bio.txt": (0.7, ""),
        "spam.example": (0.5, ""),
    }


@pytest.mark.parametrize("trusted", [True, False])
def test_a_second_run_changes_nothing(box: Box, there: Path, trusted: bool) -> None:
    first = bring(box, there, trusted=trusted).report
    before = {p: p.read_bytes() for p in sorted(box.root.rglob("*")) if p.is_file() and ".memcli" not in p.parts}
    again = bring(box, there, trusted=trusted).report
    assert (again.created + again.proposed, again.updated, again.superseded, again.unchanged) == (
        0,
        0,
        0,
        first.created + first.proposed,
    )
    assert before == {
        p: p.read_bytes() for p in sorted(box.root.rglob("*")) if p.is_file() and ".memcli" not in p.parts
    }


def test_a_dry_run_says_the_same_and_writes_nothing(box: Box, there: Path) -> None:
    planned = bring(box, there, dry_run=True)
    assert (box.memory.facts(now=at(box.now)), list(sources.every(box.store))) == ([], [])
    assert planned == bring(box, there)


def test_a_value_that_is_here_stays_unless_it_is_to_be_superseded(box: Box, there: Path) -> None:
    box.at_once()
    box.ok("fact", "set", "neuron", "Mine")
    assert bring(box, there).report.conflicts != ()
    assert box.get("neuron") == "Mine\n" or box.get("neuron") == "Mine"
    assert bring(box, there, supersede=True).report.superseded == 1
    assert [f.fact.text for f in box.memory.history("neuron") if f.reason] == ["Mine"]


@pytest.mark.parametrize("wal", [True, False])
def test_the_database_says_what_the_files_say_and_is_not_touched(
    box: Box, tmp_path: Path, there: Path, wal: bool
) -> None:
    path = database(tmp_path / "db" / "memory.db", wal=wal)
    before = path.read_bytes()
    done = bring(box, path.parent, trusted=True)
    assert (done.report.created, done.report.bad) == (8, ())
    assert done.dropped == {"embeddings": 0, "access_counts": 1, "relations": 1, "blacklisted": 0, "claims": 1}
    again = bring(box, there, trusted=True).report
    assert (again.unchanged, again.created, again.updated) == (8, 0, 0)
    assert [p.name for p in path.parent.iterdir()] == ["memory.db"]
    assert path.read_bytes() == before


def test_what_the_database_has_only_in_its_log_is_read(box: Box, tmp_path: Path) -> None:
    path = database(tmp_path / "db" / "memory.db", wal=True)
    con = sqlite3.connect(path)
    con.execute("PRAGMA wal_autocheckpoint = 0")
    con.execute("INSERT INTO semantic_nodes (concept, description, created_ts) VALUES ('axon', 'A fibre', ?)", (BORN,))
    con.commit()
    try:
        assert bring(box, path).read["facts"] == 5
    finally:
        con.close()
    assert box.kept()["axon"].text == "A fibre"


def test_where_there_is_a_database_the_files_are_what_it_was_made_of(box: Box, there: Path) -> None:
    database(there / "memory.db")
    assert bring(box, there).dropped["claims"] == 1


def test_the_names_of_its_document_are_read_too(box: Box, tmp_path: Path) -> None:
    node = {
        "concept": "neuron",
        "description": "A nerve cell",
        "relations": [{"target": "brain", "relation_type": "part_of"}],
        "source_ref": "books/bio.txt",
        "created_at": "2026-09-10T00:26:40.123456",
        "updated_at": "2026-09-15T21:20:00+02:00",
        "confirmed_count": 2,
        "denied_count": 1,
    }
    put(
        tmp_path / "m",
        nodes=[node],
        sources=[{"source_id": "spam.example", "is_blacklisted": True}, {"source_id": "anna", "is_whitelisted": True}],
        procedures=[{"procedure_id": "answer", "steps": ["search", "tell"], "execution_count": 7}],
    )
    done = bring(box, tmp_path / "m", trusted=True)
    assert (done.report.created, done.report.bad) == (4, ())
    neuron = box.memory.get_fact("neuron", now=at(box.now))
    assert (neuron.created_at, neuron.updated_at, neuron.source.id) == (BORN_AT, SEEN_AT, "books/bio.txt")
    assert neuron.header == {"cognitive_core_confirmed": 2, "cognitive_core_denied": 1}
    assert neuron.relations == ({"type": "part_of", "target": "brain", "weight": 0.5},)
    assert {s.id: s.list for s in sources.every(box.store)} == {"spam.example": "block", "anna": "allow"}
    made = kept(box, "answer")
    assert ([s.action for s in made.steps], made.runs) == (["search", "tell"], 7)


ODD_TIMES: list[Any] = [math.nan, math.inf, -1, 1e300, 10**400, 1.79e12, [], "soon"]
BAD_NODES: dict[str, list[dict[str, Any]]] = {
    "confidence is no number from 0 to 1": [{"confidence": math.nan}, {"confidence": "much"}, {"confidence": 1.5}],
    "importance is no number from 0 to 1": [{"importance": True}, {"importance": -1}],
    "created_ts is no time": [{"created_ts": t} for t in ODD_TIMES],
    "confirm_count is no count": [{"confirm_count": -1}, {"confirm_count": math.inf}, {"confirm_count": "3"}],
    "description is not a text": [{"description": 5}, {"description": ["x"]}],
    "tags is not a list of texts": [{"tags": {"a": 1}}, {"tags": [1]}, {"tags": 7}],
    "relations is not a list of objects": [{"relations": "x"}, {"relations": ["x"]}],
    "source_refs is not a list of texts": [{"source_refs": [None]}, {"source_refs": 3}],
}


@pytest.mark.parametrize(("why", "odd"), [(why, odd) for why, found in BAD_NODES.items() for odd in found])
def test_a_bad_record_is_named_and_stops_nothing(box: Box, tmp_path: Path, why: str, odd: dict[str, Any]) -> None:
    bad = {"description": "x", **odd}
    done = bring(box, put(tmp_path / "m", nodes={"bad": bad, "brain": BRAIN}))
    assert reasons(done) == [f"semantic.json, record 1: {why}"]
    assert done.report.proposed == 1


@pytest.mark.parametrize("bad", [None, 5, "x", [], True])
@pytest.mark.parametrize("name", ["nodes", "sources", "procedures"])
def test_what_is_no_object_is_named_and_stops_nothing(box: Box, tmp_path: Path, name: str, bad: object) -> None:
    put(tmp_path / "m", **{name: {"bad": bad}}, episodes=[bad, EPISODE])
    done = bring(box, tmp_path / "m")
    assert [r.partition(": ")[2] for r in reasons(done)] == ["it is no object"] * 2
    assert done.report.created == 1


def test_records_without_what_they_need_are_named(box: Box, tmp_path: Path) -> None:
    put(
        tmp_path / "m",
        nodes={"../up": BRAIN, "x" * 1001: BRAIN, "big": {**BRAIN, "description": "x" * (5 << 20)}},
        episodes=[{"content": "no time"}],
        procedures={"idle": {"description": "no steps", "steps": []}},
    )
    done = bring(box, tmp_path / "m")
    assert (len(done.report.bad), done.report.created + done.report.proposed) == (5, 0)
    assert "episodes.json, record 1: an episode needs a time" in reasons(done)
    assert "procedures.json, record 1: a procedure needs steps" in reasons(done)


def test_deep_nesting_and_lone_surrogates_are_bad_records(box: Box, tmp_path: Path) -> None:
    deep = '{"description": "d", "created_ts": 1, "relations": []}'
    nested = "[" * 600 + "]" * 600
    text = (
        '{"episodes": [{"ts": 1789000000, "content": "e", "modal_evidence": [{"metadata": {"x": ' + nested + "}}]},"
        ' {"ts": 1789000000, "content": "\\ud800"}], "nodes": {"fine": ' + deep + "}}"
    )
    (tmp_path / "all.json").write_text(text)
    done = bring(box, tmp_path / "all.json")
    assert (len(done.report.bad), done.report.proposed) == (2, 1)


def test_a_number_too_long_to_be_read_costs_one_record(box: Box, tmp_path: Path) -> None:
    digits = "9" * 5000
    (tmp_path / "all.json").write_text(
        f'{{"nodes": {{"bad": {{"confidence": {digits}}}, "fine": {{"description": "x"}}}}}}'
    )
    done = bring(box, tmp_path / "all.json")
    assert reasons(done) == ["all.json, record 1: confidence is no number from 0 to 1"]
    assert done.report.proposed == 1


def test_why_a_record_is_bad_is_said_without_it(box: Box, tmp_path: Path) -> None:
    odd: list[dict[str, Any]] = [{f: CANARY} for f in ("confidence", "created_ts", "confirm_count", "relations")]
    odd += [{f: [{CANARY: CANARY}]} for f in ("description", "tags", "source_refs", "created_ts")]
    put(tmp_path / "m", nodes={f"{CANARY}/../{n}": o for n, o in enumerate([*odd, {}])}, episodes=[{"content": CANARY}])
    ran = box.run("import", "cognitive-core", str(tmp_path / "m"))
    assert (ran.code, ran.err.count("record")) == (4, 10)
    assert CANARY not in ran.out + ran.err


def test_what_is_no_file_is_not_waited_for(box: Box, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(errors.BadData):
        bring(box, tmp_path / "pipe")


def test_a_source_that_stands_there_twice_is_one(box: Box) -> None:
    row = json.dumps({"kind": "source", "id": "s", "source_kind": "user"}).encode() + b"\n"
    data = box.data("import", "jsonl", "-", stdin=row * 2)
    assert (data["created"], data["unchanged"]) == (1, 1)


def test_credentials_are_masked(box: Box, tmp_path: Path) -> None:
    put(
        tmp_path / "m",
        nodes={"token": {**BRAIN, "description": f"the key is {TOKEN}"}},
        episodes=[{**EPISODE, "content": f"pushed with {TOKEN}", "modal_evidence": [{"metadata": {"env": TOKEN}}]}],
        procedures={"push": {**PROCEDURE, "steps": [{"action": "push", "params": {"token": TOKEN}}]}},
    )
    done = bring(box, tmp_path / "m", trusted=True)
    assert (done.report.created, done.report.masked) == (3, 2)
    held = b"".join(p.read_bytes() for p in box.root.rglob("*") if p.is_file())
    assert TOKEN.encode() not in held


def test_a_file_that_cannot_be_read_is_named_and_the_others_come_in(box: Box, there: Path) -> None:
    (there / "semantic.json").write_bytes(b'{"nodes": {')
    done = bring(box, there)
    assert done.faults == ("semantic.json: it is no JSON that can be read",)
    assert done.report.created == 4


def test_a_time_that_is_missing_is_that_of_the_file(box: Box, tmp_path: Path) -> None:
    bring(box, put(tmp_path / "m", nodes={"brain": {"description": "An organ"}}))
    assert box.kept()["brain"].updated_at == SEEN_AT


def test_what_is_no_such_memory_is_refused(box: Box, tmp_path: Path) -> None:
    empty, other = tmp_path / "empty", tmp_path / "other.db"
    empty.mkdir()
    sqlite3.connect(other).execute("CREATE TABLE notes (id)").connection.close()
    (tmp_path / "locked.db").write_bytes(b"\x8f" * 4096)
    (tmp_path / "list.json").write_text("[1]")
    for path, kind in (
        (empty, errors.NotFound),
        (tmp_path / "gone", errors.NotFound),
        (other, errors.BadData),
        (tmp_path / "locked.db", errors.BadData),
        (tmp_path / "list.json", errors.BadData),
    ):
        with pytest.raises(kind):
            bring(box, path)


def test_the_command_says_what_it_read_and_what_has_no_place(box: Box, there: Path) -> None:
    (there / "procedures.json").write_text('{"procedures": {"p": {"steps": 4}}}')
    ran = box.ok("import", "cognitive-core", str(there), "--dry-run")
    assert ran.out == "read: 2 sources, 4 facts, 1 episodes, 1 procedures\nwould import: 3 created, 3 proposed\n"
    assert "procedures.json, record 1: steps is not a list of objects" in ran.err
    assert "1 embeddings dropped" in ran.err
    assert "1 left out: of sources on its black list" in ran.err
    data = box.data("import", "cognitive-core", str(there))
    assert data["read"]["facts"] == 4
    assert data["dropped"]["embeddings"] == 1
    assert data["faults"] == []
    assert [row["place"] for row in data["bad"]] == ["procedures.json, record 1"]


def test_times_finer_than_a_file_holds_are_no_difference(box: Box) -> None:
    rows = [
        {"kind": "fact", "key": "k", "text": "v", "sensitivity": "internal", "updated_at": "2026-01-01T00:00:00.123Z"},
        {"kind": "source", "id": "s", "source_kind": "user", "first_seen_at": "2026-01-01T00:00:00.123Z"},
    ]
    data = "\n".join(map(json.dumps, rows)).encode()
    box.ok("import", "jsonl", "-", "--trusted", stdin=data)
    assert box.data("import", "jsonl", "-", "--trusted", stdin=data)["unchanged"] == 2
