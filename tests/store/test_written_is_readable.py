"""Whatever is written can be read: a value that a reader would refuse is refused before a file is touched."""

from collections.abc import Callable
from typing import Any

import pytest
from support import Box, at

from memcli.base import errors
from memcli.base.value import Value, as_dict
from memcli.engine import procedural
from memcli.model import records
from memcli.model.records import Episode, Fact, Procedure, Source, SourceRecord, Step
from memcli.model.working import Item, Session
from memcli.store import episodes, facts, procedures, sources, working

WHO = Source(id="anna", kind="user")
ID = "0199e4a0-5b00-7c3e-9a51-0d6a0f1b2c3d"
NUMBERS = (10**16, -1, True, "1", 0.5, float("nan"), float("inf"), 10**400)
WRONG: dict[str, tuple[object, ...]] = {
    "confidence": (2, -0.1, "high", float("nan"), [1]),
    "importance": (2, -0.1, float("nan"), {}),
    "ttl_minutes": NUMBERS,
    "runs": NUMBERS,
    "successes": NUMBERS,
    "mean_duration_ms": NUMBERS,
    "rate": (7, float("nan")),
    "source": (Source(id="anna", kind="king"), Source(id=5, kind="user"), "user:anna"),  # type: ignore[arg-type]
    "domain": (5, [1], "\ud800"),
    "run": (5, b"x"),
    "agent": (5, {}),
    "modality": (5, "\ud800"),
    "check": (5,),
    "derived_from": ("database", (5,)),
    "renamed_from": ("database", (5,)),
    "created_at": ("2026-01-01",),
    "last_used_at": ("2026-01-01", 5),
    "supersedes": ("no id",),
    "needs_review": (5,),
    "validated_by": ("user:anna",),
}


def fact(**more: Any) -> Fact:
    return Fact(**{"id": ID, "key": "k", "text": "v", "source": WHO, "confidence": 0.6, "created_at": at(), "updated_at": at(), **more})  # fmt: skip


def procedure(**more: Any) -> Procedure:
    fields = {"id": ID, "key": "k", "title": "k", "text": "", "source": WHO, "confidence": 0.6, "created_at": at()}
    return Procedure(**{**fields, "updated_at": at(), "steps": (Step(name="", action="do"),), **more})


def cases(made: Value) -> list[tuple[str, object]]:
    return [(name, item) for name, wrong in WRONG.items() if name in made.__fields__ for item in wrong]


def refused(box: Box, write: Callable[[Any], object]) -> None:
    before = box.tree()
    with pytest.raises(errors.UsageError), box.store.writing() as w:
        write(w)
    assert box.tree() == before


@pytest.mark.parametrize(("name", "item"), cases(fact()), ids=str)
def test_a_fact_that_could_not_be_read_is_not_written(box: Box, name: str, item: object) -> None:
    refused(box, lambda w: facts.put(w, fact(**{name: item})))
    refused(box, lambda w: facts.put_many(w, [(fact(**{name: item}), None)], at()))


@pytest.mark.parametrize(("name", "item"), cases(procedure()), ids=str)
def test_a_procedure_that_could_not_be_read_is_not_written(box: Box, name: str, item: object) -> None:
    refused(box, lambda w: procedures.put(w, procedure(**{name: item})))


@pytest.mark.parametrize(
    "steps",
    [
        (Step(name="", action="do", parameters={"a": object()}),),
        (Step(name="", action="do", parameters={"a": float("nan")}),),
        (Step(name="", action="do", parameters={5: "a"}),),  # type: ignore[dict-item]
        tuple(Step(name="n", action="do" * 100) for _ in range(2000)),
    ],
    ids=["object", "nan", "number as name", "too many"],
)
def test_steps_that_could_not_be_read_are_not_written(box: Box, steps: tuple[Step, ...]) -> None:
    refused(box, lambda w: procedures.put(w, procedure(steps=steps)))


EPISODE = Episode(id="", at=at(), text="t", source=WHO)
OF_EPISODES: dict[str, tuple[object, ...]] = {
    **{n: (5, [1], {}, True) for n in ("task", "session", "run", "agent", "approach", "trace", "modality")},
    **{n: ("abc", (1,), {"a": 1}) for n in ("tags", "concepts", "findings", "tools", "patterns")},
    "evidence": (("text",), {"modality": "image"}, "abc", ({"a": b"x"},), ({"a": float("nan")},)),
    "steps": ("1", True, 0.5, [1]),
    "ttl_minutes": ("1", True, 0.5),
    "confidence": ("high", True, [1]),
    "source": (Source(id="anna", kind="king"), Source(id=5, kind="user")),  # type: ignore[arg-type]
}


@pytest.mark.parametrize(("name", "item"), [(n, x) for n, wrong in OF_EPISODES.items() for x in wrong if x], ids=str)
def test_an_episode_that_could_not_be_read_is_not_written(box: Box, name: str, item: object) -> None:
    refused(box, lambda w: episodes.append(w, EPISODE.replace(**{name: item})))


@pytest.mark.parametrize(
    ("name", "item"), [("ttl_minutes", -1), ("importance", 2), ("tags", (5,)), ("modality", 5), ("role", "king")]
)
def test_working_memory_that_could_not_be_read_is_not_written(box: Box, name: str, item: object) -> None:
    held = Item(id=ID, text="t", created_at=at(), source=WHO).replace(**{name: item})
    refused(box, lambda w: working.write(w, Session(id="s", items=(held,)), at()))


def test_a_source_that_could_not_be_read_is_not_written(box: Box) -> None:
    good = SourceRecord(id="anna", kind="user", trust=0.8)
    for change in ({"trust": 7.0}, {"note": 5}, {"list": "green"}, {"kind": "king"}):
        refused(box, lambda w, c=change: sources.put(w, good.replace(**c)))  # type: ignore[misc]


def test_a_number_from_the_shell_destroys_no_procedure(box: Box) -> None:
    box.ok("procedure", "propose", "release", "--step", "do")
    box.ok("procedure", "approve", "release", "--by", "user:anna")
    before = box.tree()
    for number in ("99999999999999999999", "9000000000000000", "-1", str(procedural.MOST_MS + 1)):
        ran = box.run("procedure", "record", "release", "--success", f"--duration-ms={number}")
        assert (ran.code, "duration" in ran.err) == (2, True), number
    assert box.run("episode", "add", "t", "--steps", "9" * 30).code == 2
    assert box.tree() == before
    box.ok("procedure", "record", "release", "--success", "--duration-ms", str(procedural.MOST_MS))
    assert box.memory.procedure("release").mean_duration_ms == procedural.MOST_MS


def test_what_is_whole_is_written(box: Box) -> None:
    made = procedure(steps=(Step(name="a", action="do: it", parameters={"n": 1.5, "of": ["x", {"y": True}]}, expected="e"),))  # fmt: skip
    with box.store.writing() as w:
        facts.put(w, fact())
        procedures.put(w, made)
    found = procedures.get(box.store, "k")
    assert found is not None
    assert found.steps == made.steps
    assert as_dict(fact())["source"] == records.source("user:anna")
