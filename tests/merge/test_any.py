"""Whatever two people do: both directions give the same tree, doctor has nothing to say, no value is lost, no label goes down."""

import itertools
import tempfile
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st
from support import Box, stamp

from memcli.model import keys
from memcli.store import episodes, facts

from .common import Pair, commit, git, settled, show, values

LABELS = ("public", "internal", "sensitive", "restricted")
KEYS = ("k", "other key", "fresh")
_key = st.sampled_from(KEYS)
_word = st.sampled_from(("alpha", "beta", "gamma"))
_label = st.sampled_from(LABELS)
OPS = st.one_of(
    st.tuples(st.just("set"), _key, _word),
    st.tuples(st.just("set labelled"), _key, _word, _label),
    st.tuples(st.just("label"), _key, _label),
    st.tuples(st.just("tag"), _key, st.lists(_word, max_size=2)),
    st.tuples(st.just("numbers"), _key, st.sampled_from(("0.3", "0.6", "0.9")), st.sampled_from(("0", "20d", "90d"))),
    st.tuples(st.just("confirm"), _key, _word),
    st.tuples(st.just("deny"), _key, _word),
    st.tuples(st.just("relate"), _key, _word, st.sampled_from(("0.2", "0.7"))),
    st.tuples(st.just("episode"), _word, _label),
    st.tuples(st.just("raise"), st.integers(0, 3), _label),
    st.tuples(st.just("source"), _word, st.sampled_from(("--trust=0.2", "--trust=0.8", "--note=a note"))),
    st.tuples(st.just("propose"), _word, _word),
    st.tuples(st.just("use"), st.booleans()),
)
SIDE = st.lists(OPS, max_size=5)


def act(box: Box, op: tuple[Any, ...], who: str, number: int) -> None:
    """One act of one side; what is refused (no such fact, said before) is no act."""
    name, *rest = op
    now = stamp(minutes=number)

    def run(*words: str) -> None:
        ran = box.run(*words, now=now)
        assert ran.code in (0, 2, 3, 6), (words, ran)

    if name in ("set", "set labelled"):
        more = ("--sensitivity", rest[2]) if name == "set labelled" else ()
        run("fact", "set", rest[0], f"{rest[1]} of {who} {number}" if number % 3 else rest[1], *more)
    elif name == "label":
        run("fact", "set", rest[0], "--sensitivity", rest[1])
    elif name == "tag":
        run("fact", "set", rest[0], *itertools.chain.from_iterable(("--tag", t) for t in rest[1]))
    elif name == "numbers":
        run("fact", "set", rest[0], "--confidence", rest[1], "--importance", rest[1], "--ttl", rest[2])
    elif name in ("confirm", "deny"):
        run("fact", name, rest[0], "--run", f"{who} {rest[1]}")
    elif name == "relate":
        run("fact", "relate", rest[0], "part_of", "k" if rest[0] != "k" else "other key", "--weight", rest[2])
    elif name == "episode":
        run("episode", "add", f"{rest[0]} {who} {number}", "--sensitivity", rest[1])
    elif name == "raise":
        found = sorted(episodes.newest(box.store), key=lambda e: e.id)
        if found:
            with box.store.writing() as w:
                entry = found[rest[0] % len(found)]
                episodes.raise_label(w, entry, episodes.labels.sensitivity(rest[1]))
    elif name == "source":
        run("source", "set", rest[0], "--kind", "user", *rest[1].split("=", 1))
    elif name == "propose":
        run("remember", f"The staging server is {rest[0]}.", "--session", f"{who} {rest[1]}", "--source", "agent:a")
    else:
        run("procedure", "record", "release", "--success" if rest[0] else "--failure")


def start(box: Box) -> None:
    for key in KEYS[:2]:
        box.set(key, f"first {key}", "--sensitivity", "sensitive" if key == "k" else "internal", "--tag", "alpha")
    box.add("the first entry")
    box.ok("procedure", "propose", "release", "--step", "Freeze: announce it", "--source", "agent:a")
    box.ok("procedure", "approve", "release", "--by", "user:anna")
    box.ok("source", "set", "alpha", "--kind", "user", "--trust", "0.5")


def changed(base: Box, box: Box, key: str) -> bool:
    """True when either file of a key's record differs from the base's."""
    names = [n + s for n in (keys.file_name(key), keys.hidden_name(key)) for s in (".md", ".meta.json")]
    return any(_bytes(base, n) != _bytes(box, n) for n in names)


def _bytes(box: Box, name: str) -> bytes | None:
    path = box.root / "facts" / name
    return path.read_bytes() if path.exists() else None


def uses(box: Box) -> tuple[int, int]:
    found = box.data("procedure", "show", "release", "--reveal")
    return found["runs"], found["successes"]


def run_round(pair: Pair, base: Box, ours: list[Any], theirs: list[Any], number: int) -> tuple[Box, Box]:
    """Both sides act, then each is brought into the other; the two results."""
    start_uses = uses(base)
    for box, ops, who in ((pair.ours, ours, "ours"), (pair.theirs, theirs, "theirs")):
        for i, op in enumerate(ops):
            act(box, op, who, number + i + (20 if who == "theirs" else 0))
        commit(box, "work")
    before = [values(box) for box in (pair.ours, pair.theirs)]
    live = [{f.key: f for f in facts.every(box.store)} for box in (pair.ours, pair.theirs)]
    both = {key for key in KEYS if changed(base, pair.ours, key) and changed(base, pair.theirs, key)}
    gained = [tuple(n - m for n, m in zip(uses(box), start_uses, strict=True)) for box in (pair.ours, pair.theirs)]
    results = []
    for into, other in ((pair.ours, pair.theirs), (pair.theirs, pair.ours)):
        done = pair.bring(into, other)
        assert done.code == 0, done.said
        settled(done.box)
        results.append(done.box)
    one, two = results
    assert show(one, two) == ""
    found = values(one)
    assert set(before[0]) | set(before[1]) <= set(found), "a value is lost"
    merged = {f.key: f for f in facts.every(one.store)}
    for key in both:
        strict = max(side[key].sensitivity for side in live if key in side)
        assert merged[key].sensitivity >= strict
        for value, label in found.items():
            if value[:2] == ("fact", key):
                assert label >= max(side.get(value, label) for side in before)
    for side in before:
        assert all(found[v] >= label for v, label in side.items() if v[0] == "episode")
    assert uses(one) == tuple(s + a + b for s, a, b in zip(start_uses, *gained, strict=True))
    return one, two


def play(ours: list[Any], theirs: list[Any], more: tuple[list[Any], list[Any]] | None = None) -> None:
    with tempfile.TemporaryDirectory() as tmp:
        pair = Pair(Path(tmp), start)
        one, two = run_round(pair, pair.base, ours, theirs, 10)
        if more is None:
            return
        # Each goes on from its own merge: the two have two common ancestors, which git merges first.
        for box in (one, two):
            commit(box, "merged")
        pair.ours, pair.theirs = pair.copy(one, "ours2"), pair.copy(two, "theirs2")
        for box in (pair.ours, pair.theirs):
            git(box, "branch", "-qD", "other", check=False)
        run_round(pair, pair.copy(one, "base2"), *more, 100)


def rebase(ours: list[Any], theirs: list[Any]) -> None:
    """One commit an act, replayed one by one: the trees may differ in numbers, nothing may be lost."""
    with tempfile.TemporaryDirectory() as tmp:
        pair = Pair(Path(tmp), start)
        first = uses(pair.base)
        for box, ops, who in ((pair.ours, ours, "ours"), (pair.theirs, theirs, "theirs")):
            for i, op in enumerate(ops):
                act(box, op, who, 10 + i + (20 if who == "theirs" else 0))
                commit(box, "work")
        before = [values(box) for box in (pair.ours, pair.theirs)]
        total = tuple(a + b - f for a, b, f in zip(uses(pair.ours), uses(pair.theirs), first, strict=True))
        for into, other in ((pair.ours, pair.theirs), (pair.theirs, pair.ours)):
            done = pair.bring(into, other, "rebase")
            assert done.code == 0, done.said
            settled(done.box)
            assert set(before[0]) | set(before[1]) <= set(values(done.box)), "a value is lost"
            assert uses(done.box) == total


@hypothesis.settings(max_examples=3, derandomize=True)
@hypothesis.given(SIDE, SIDE)
def test_any_work_replayed(ours: list[Any], theirs: list[Any]) -> None:
    rebase(ours, theirs)


@pytest.mark.full
@pytest.mark.timeout(3600)
@hypothesis.settings(max_examples=60)
@hypothesis.given(SIDE, SIDE)
def test_any_work_replayed_full(ours: list[Any], theirs: list[Any]) -> None:
    rebase(ours, theirs)


@hypothesis.settings(max_examples=6, derandomize=True)
@hypothesis.given(SIDE, SIDE)
def test_any_work_of_two(ours: list[Any], theirs: list[Any]) -> None:
    play(ours, theirs)


@hypothesis.settings(max_examples=2, derandomize=True)
@hypothesis.given(SIDE, SIDE, SIDE, SIDE)
def test_and_again_from_both_merges(ours: list[Any], theirs: list[Any], more: list[Any], again: list[Any]) -> None:
    play(ours, theirs, (more, again))


@pytest.mark.full
@pytest.mark.timeout(3600)
@hypothesis.settings(max_examples=150)
@hypothesis.given(SIDE, SIDE)
def test_any_work_of_two_full(ours: list[Any], theirs: list[Any]) -> None:
    play(ours, theirs)


@pytest.mark.full
@pytest.mark.timeout(3600)
@hypothesis.settings(max_examples=60)
@hypothesis.given(SIDE, SIDE, SIDE, SIDE)
def test_and_again_from_both_merges_full(ours: list[Any], theirs: list[Any], more: list[Any], again: list[Any]) -> None:
    play(ours, theirs, (more, again))
