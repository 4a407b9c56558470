"""A fact that is open may stand in a relation to one that is withheld, or be derived from it; no output names that one."""

import pytest
from support import CANARY, Box


@pytest.fixture
def related(box: Box) -> Box:
    box.set(f"{CANARY} plan", "sell the company", "--sensitivity", "restricted")
    box.set("office", "the office in Graz")
    box.set(
        "lease", "the lease of the office ends in May", "--derived-from", f"{CANARY} plan", "--derived-from", "office"
    )
    box.ok("fact", "relate", "lease", "opposite", f"{CANARY} plan")
    box.ok("fact", "relate", "lease", "part_of", "office")
    return box


READS = [
    ("fact", "get", "lease"),
    ("fact", "list"),
    ("fact", "history", "lease"),
    ("fact", "related", "lease"),
    ("fact", "chain", "lease"),
    ("search", "lease"),
    ("recall", "when does the lease end?"),
    ("retrieve", "lease"),
    ("context", "when does the lease end?"),
    ("export", "jsonl", "-", "--clearance", "internal"),
    ("graph",),
    ("review", "list"),
    ("doctor",),
]


@pytest.mark.parametrize("words", READS, ids=" ".join)
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_no_output_names_a_withheld_fact_by_a_relation(
    related: Box, words: tuple[str, ...], form: tuple[str, ...]
) -> None:
    ran = related.run(*words, *form)
    assert ran.code in (0, 4)
    assert CANARY not in ran.out + ran.err


@pytest.mark.parametrize(
    "words",
    [("fact", "get", "lease", "--json"), ("search", "lease", "--json"), ("fact", "list", "--json")],
    ids=" ".join,
)
def test_what_is_open_is_still_named(related: Box, words: tuple[str, ...]) -> None:
    assert '"office"' in related.ok(*words).out


@pytest.mark.parametrize(
    "words",
    [("fact", "get", "lease", "--reveal", "--json"), ("search", "lease", "--clearance", "restricted", "--json")],
    ids=" ".join,
)
def test_who_is_cleared_sees_all(related: Box, words: tuple[str, ...]) -> None:
    assert CANARY in related.ok(*words).out
