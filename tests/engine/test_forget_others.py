"""Forgetting what is neither fact nor episode: procedures, proposals, and what a session holds in mind."""

import json
from typing import Any

import pytest
from support import CANARY, Box

from memcli.base import errors
from memcli.store import procedures, proposals

KEY, STEP = "wash the ibis", f"take it to the {CANARY} pond"


def propose(box: Box, key: str = KEY, step: str = STEP, *more: str) -> str:
    made: str = box.data("procedure", "propose", key, "--step", f"go: {step}", "--task-type", "care", *more)["id"]
    box.ok("procedure", "approve", key, "--by", "user:anna")
    return made


def residue(box: Box) -> set[str]:
    """A search of its own, for the bytes alone."""
    return {n for n, d in box.tree(state=True, index=True).items() if CANARY.encode() in d.lower()}


def keys(box: Box) -> list[str]:
    return [r["key"] for r in box.data("procedure", "list", "--clearance", "restricted")]


@pytest.mark.parametrize("by", ["key", "id"])
@pytest.mark.parametrize("label", ["public", "restricted"])
def test_a_procedure_goes_to_the_trash_and_comes_back(box: Box, by: str, label: str) -> None:
    made = propose(box, KEY, STEP, "--sensitivity", label)
    before = box.tree()
    ref = KEY if by == "key" else made
    done = box.data("forget", ref, "--yes")
    assert (done["how"], done["layer"], done["ids"]) == ("forgotten", "procedures", [made])
    assert keys(box) == []
    assert box.run("forget", ref, "--yes").code == 3
    assert {n.split("/")[1] for n in residue(box)} == {"trash"}
    assert box.ok("doctor").code == 0
    assert box.data("restore", ref) == {"how": "restored", "id": made, "sensitivity": label}
    assert keys(box) == [KEY]
    assert box.tree() == before
    assert not list((box.root / ".memcli" / "trash" / "procedures").iterdir())


def test_what_is_forgotten_is_in_no_answer_any_more(box: Box) -> None:
    propose(box)
    assert CANARY in box.ok("context", "wash the ibis", "--task-type", "care").out
    assert CANARY in box.ok("procedure", "best", "care", "--json").out
    box.ok("forget", KEY, "--yes")
    for words in (
        ("context", "wash the ibis", "--task-type", "care"),
        ("search", CANARY),
        ("procedure", "best", "care", "--json"),
        ("export", "jsonl", "-"),
        ("sweep", "--json"),
        ("review", "list", "--json"),
    ):
        assert CANARY not in box.ok(*words).out, words


def test_a_fact_of_the_same_key_comes_first_and_the_procedure_has_its_id(box: Box) -> None:
    made = propose(box)
    box.set(KEY, "once a week")
    assert box.data("forget", KEY, "--yes")["layer"] == "facts"
    # Former values of a fact are what a purge of its key means, though only the procedure is live.
    assert box.data("forget", KEY, "--purge", "--yes")["layer"] == "facts"
    assert keys(box) == [KEY]
    assert box.data("forget", made, "--dry-run")["layer"] == "procedures"
    assert box.data("forget", KEY, "--yes")["ids"] == [made]


def test_a_procedure_is_purged_with_its_former_values_and_is_not_learned_again(box: Box) -> None:
    propose(box, KEY, f"the old {CANARY} way")
    other = Box(box.root.parent / "other")
    other.ok("init", str(other.root))
    propose(other)
    lines = other.ok("export", "jsonl", "-").out.encode()
    box.ok("import", "jsonl", "-", "--supersede", "--trusted", stdin=lines)
    assert [n for n in residue(box) if n.startswith("archive/procedures/")]
    would = box.data("forget", KEY, "--purge", "--dry-run")
    done = box.run("forget", KEY, "--purge", "--prove", "--yes", "--json")
    assert (done.code, done.data["proof"]["clean"]) == (0, True)
    assert (would["erased"], done.data["erased"], done.data["tombstones"]) == (1, 1, 2)
    assert residue(box) == set()
    words = ("procedure", "propose", KEY.upper(), "--step", f"go: {STEP.upper()}.", "--task-type", "care")
    assert box.run("procedure", "propose", KEY, "--step", f"go: {STEP}").code == 6
    assert box.run(*words).code == 6
    assert box.data("import", "jsonl", "-", stdin=lines)["purged"] == 1
    assert residue(box) == set()
    box.ok(*words, "--include-forgotten")
    box.ok("forget", KEY.upper(), "--yes")
    box.ok(*words)


def test_a_procedure_in_the_trash_is_purged_too(box: Box) -> None:
    made = propose(box)
    box.ok("forget", KEY, "--yes")
    done = box.data("forget", KEY, "--purge", "--prove", "--yes")
    assert (done["layer"], done["ids"], done["erased"], done["proof"]["clean"]) == ("procedures", [], 1, True)
    assert residue(box) == set()
    assert box.run("restore", made).code == 3


def test_what_came_back_of_a_purged_procedure_is_reported(box: Box) -> None:
    propose(box)
    kept = {p: p.read_bytes() for p in (box.root / "procedures").iterdir()}
    box.ok("forget", KEY, "--purge", "--yes")
    for path, data in kept.items():
        path.write_bytes(data)
    assert {f["code"] for f in box.data("doctor")} == {"purged"}


def test_a_procedure_is_not_restored_over_another(box: Box) -> None:
    first = propose(box)
    box.ok("forget", KEY, "--yes")
    second = propose(box)
    assert box.run("restore", KEY).code == 5
    box.ok("forget", KEY, "--yes")
    ran = box.run("restore", KEY)
    assert ran.code == 2
    assert first in ran.err
    assert second in ran.err
    assert box.data("restore", first)["id"] == first


@pytest.mark.parametrize("damage", ["no sidecar", "bad sidecar", "bad header"])
def test_a_damaged_procedure_can_be_forgotten(box: Box, damage: str) -> None:
    propose(box)
    md, side = ((box.root / "procedures").glob(p) for p in ("*.md", "*.json"))
    if damage == "no sidecar":
        next(side).unlink()
    elif damage == "bad sidecar":
        next(side).write_text("{")
    else:
        next(md).write_text(f"---\n[\n---\n{STEP}")
    key = next(procedures.every(box.store)).key
    box.ok("forget", key, "--yes")
    assert list(procedures.every(box.store)) == []
    assert [n for n in residue(box) if n.startswith(".memcli/trash/procedures/")]
    done = box.run("forget", key, "--purge", "--prove", "--yes")
    assert done.code == 0, done
    assert residue(box) == set()


# Proposals.


def proposal(box: Box) -> str:
    row = {"kind": "proposal", "key": "pond", "text": f"near the {CANARY} tree", "sensitivity": "internal"}
    box.ok("import", "jsonl", "-", stdin=json.dumps(row).encode())
    return next(proposals.every(box.store)).id


def test_a_proposal_is_forgotten_by_id_and_comes_back(box: Box) -> None:
    made = proposal(box)
    assert box.data("forget", made, "--yes")["layer"] == "proposed/facts"
    assert list(proposals.every(box.store)) == []
    assert box.data("restore", made)["id"] == made
    assert [p.id for p in proposals.every(box.store)] == [made]
    done = box.data("forget", made, "--purge", "--prove", "--yes")
    assert (done["tombstones"], done["proof"]["clean"]) == (1, True)
    assert residue(box) == set()
    assert box.run("restore", made).code == 3
    assert box.run("fact", "set", "pond", f"near the {CANARY} tree").code == 6


# Working memory.


def held(box: Box, kind: str) -> str:
    """One thing that a session holds, beside another; its id."""
    session = ("--session", "s", "--json")
    box.ok("work", "add", "something else", *session)
    if kind == "entry":
        box.ok("work", "set", "bird", f"the {CANARY} one", *session)
    else:
        more = ("--role", "user") if kind == "message" else ()
        box.ok("work", "add", f"the {CANARY} one", *more, *session)
    rows = box.data("work", "list", "--session", "s")
    found: str = next(r["id"] for r in rows if CANARY in json.dumps(r))
    return found


@pytest.mark.parametrize("kind", ["entry", "note", "message"])
@pytest.mark.parametrize("purge", [False, True])
def test_what_a_session_holds_is_taken_out_of_it_for_good(box: Box, kind: str, purge: bool) -> None:
    made = held(box, kind)
    ran = box.run("forget", made, *(("--purge", "--prove") if purge else ()), "--yes", "--json")
    assert (ran.code, ran.data["layer"], ran.data["ids"]) == (0, "working", [made])
    assert "no trash" in ran.err
    assert residue(box) == set()
    assert [r["text"] for r in box.data("work", "list", "--session", "s")] == ["something else"]
    assert ran.data["tombstones"] == int(purge)
    ran = box.run("restore", made)
    assert ran.code == 3
    assert "cannot come back" in ran.err


def test_the_last_thing_that_a_session_holds(box: Box) -> None:
    box.ok("work", "set", "bird", f"the {CANARY} one", "--session", "s")
    made = box.data("work", "list", "--session", "s")[0]["id"]
    box.ok("forget", made, "--yes")
    assert box.data("work", "list", "--session", "s") == []
    assert list((box.root / ".memcli" / "work").iterdir()) == []


def test_what_was_purged_from_a_session_is_not_kept_as_an_episode_or_fact(box: Box) -> None:
    box.ok("forget", held(box, "note"), "--purge", "--yes")
    assert box.run("episode", "add", f"the {CANARY} one").code == 6
    box.ok("forget", held(box, "entry"), "--purge", "--yes")
    assert box.run("fact", "set", "bird", f"the {CANARY} one").code == 6


def test_a_dry_run_of_each_changes_nothing(box: Box) -> None:
    propose(box)
    found: list[Any] = [KEY, proposal(box), held(box, "note"), held(box, "entry")]
    box.run("fact", "get", "absent")  # makes what readers keep of names
    before = box.tree(state=True)
    for ref in found:
        for more in ((), ("--purge",)):
            assert box.data("forget", ref, *more, "--dry-run")["how"] == "would forget"
    assert box.tree(state=True) == before


def test_python_has_it(box: Box) -> None:
    made = propose(box)
    assert box.memory.forget(KEY).layer == "procedures"
    assert box.memory.restore(made).id == made
    box.memory.forget(KEY, purge=True)
    with pytest.raises(errors.Purged):
        box.memory.propose_procedure(KEY, (f"go: {STEP}",))
    box.memory.propose_procedure(KEY, (f"go: {STEP}",), include_forgotten=True)
