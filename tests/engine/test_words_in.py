"""What the shell says in words: kinds of matter, evidence, steps with all their parts, and how many records are wanted."""

import pytest
from support import Box

from memcli.engine import procedural
from memcli.model import labels
from memcli.model.records import Source, Step


@pytest.mark.parametrize(
    "words",
    [("fact", "set", "k", "v"), ("episode", "add", "t"), ("work", "add", "t", "--session", "s"), ("recall", "port"),
     ("work", "set", "k", "v", "--session", "s"), ("work", "list", "--session", "s"), ("remember", "The port is 1")],
    ids=" ".join,
)  # fmt: skip
def test_an_unknown_modality_is_refused(words: tuple[str, ...], box: Box) -> None:
    before = box.tree()
    ran = box.run(*words, "--modality", "smell")
    assert (ran.code, "unknown modality" in ran.err) == (2, True)
    assert box.tree() == before
    for known in labels.MODALITIES:
        box.ok(*words, "--modality", known)


def test_a_modality_that_is_stored_is_read_whatever_it_is(box: Box) -> None:
    box.ok("fact", "set", "k", "v", "--modality", "image")
    path = box.root / "facts/k.meta.json"
    path.write_text(path.read_text().replace('"image"', '"smell"'))
    assert box.data("fact", "get", "k")["modality"] == "smell"
    box.ok("fact", "set", "k", "w")


@pytest.mark.parametrize(
    "words", ["foo", "smell:foo", "https://example.org/a", "image:", "image: ", "image:,page=2", ":a"]
)
def test_evidence_that_is_none_is_refused(words: str, box: Box) -> None:
    ran = box.run("episode", "add", "t", "--evidence", words)
    assert (ran.code, "MODALITY:SOURCE" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "means"),
    [
        ("image:shot.png", {"modality": "image", "source": "shot.png"}),
        ("audio:talk.mp3@t=15.3", {"modality": "audio", "source": "talk.mp3@t=15.3"}),
        ("text:a, b.md", {"modality": "text", "source": "a, b.md"}),
        ("image:shot.png,confidence=0.8", {"modality": "image", "source": "shot.png", "confidence": 0.8}),
        ("image:s,confidence=high,page=2,of=a b", {"modality": "image", "source": "s", "confidence": 0.9, "metadata": {"page": 2, "of": "a b"}}),
        ("text:https://example.org/a?b=c", {"modality": "text", "source": "https://example.org/a?b=c"}),
    ],
)  # fmt: skip
def test_evidence_has_a_confidence_and_metadata(words: str, means: dict[str, object], box: Box) -> None:
    made = box.data("episode", "add", "t", "--evidence", words)["id"]
    assert box.data("episode", "show", made)["evidence"] == [means]
    assert box.run("episode", "add", "t", "--evidence", f"{words},confidence=7").code == 2


@pytest.mark.parametrize(
    ("words", "step"),
    [
        ("do", Step(name="", action="do")),
        ("Ship: make ship", Step(name="Ship", action="make ship")),
        ("?Ship: make ship", Step(name="Ship", action="make ship", optional=True)),
        ("Ship: make | expected: exit 0", Step(name="Ship", action="make", expected="exit 0")),
        ("Count: cat x | wc -l | optional", Step(name="Count", action="cat x | wc -l", optional=True)),
        ("a: b | expected: c | parameters: env=prod, tries=3, of=x, y | optional", Step(name="a", action="b", expected="c", parameters={"env": "prod", "tries": 3, "of": "x, y"}, optional=True)),
        ("a: b | parameters: v=1.10, w=1.5 | expected: c", Step(name="a", action="b", expected="c", parameters={"v": "1.10", "w": 1.5})),
    ],
)  # fmt: skip
def test_a_step_says_all_that_a_step_holds(words: str, step: Step, box: Box) -> None:
    assert procedural.parse_step(words) == step
    box.ok("procedure", "propose", "p", "--step", words, "--source", "agent:coder")
    assert box.memory.procedure("p").steps == (step,)
    last = box.ok("procedure", "show", "p").out.splitlines()[-1]
    assert procedural.parse_step(last.removeprefix("1. ")) == step


def test_a_step_that_says_a_thing_twice_is_refused(box: Box) -> None:
    for words in ("a: b | expected: c | expected: d", "a: b | parameters: c"):
        assert box.run("procedure", "propose", "p", "--step", words).code == 2


def test_a_procedure_is_shown_without_reprs(box: Box) -> None:
    box.ok("procedure", "propose", "p", "--step", "do", "--source", "user:sam", "--tag", "a", "--tag", "b")
    box.ok("procedure", "approve", "p", "--by", "user:anna")
    shown = box.ok("procedure", "show", "p").out
    assert {"source: user:sam", "validated by: user:anna", "tags: a, b", "1. do"} <= set(shown.splitlines())
    assert "{" not in shown
    assert str(Source(id="sam", kind="user")) == "user:sam"


LISTS = [
    ("fact", "list"), ("episode", "list"), ("fact", "related", "port"), ("procedure", "best", "rel"), ("search", "port"),
    ("retrieve", "port"), ("recall", "port"), ("work", "list", "--session", "s"),
]  # fmt: skip


@pytest.mark.parametrize("words", LISTS, ids=" ".join)
def test_a_negative_number_of_records_is_refused_and_none_is_all(words: tuple[str, ...], box: Box) -> None:
    for i in range(25):
        box.set("port" if not i else f"port {i}", "8080")
        if i:
            box.ok("fact", "relate", "port", "related", f"port {i}")
    box.ok("episode", "add", "port")
    ran = box.run(*words, "-n", "-1")
    assert (ran.code, "out of range" in ran.err or "-n" in ran.err) == (2, True)
    box.ok(*words, "-n", "0")
    if words[:2] == ("fact", "related"):
        assert len(box.data(*words, "-n", "0")) == 24


def test_the_help_of_review_and_export_is_about_them(box: Box) -> None:
    assert "contradiction" in box.ok("review", "list", "--help").out
    assert "git revision" in box.ok("review", "diff", "--help").out
    assert "SKILL" in box.ok("export", "--help").out
