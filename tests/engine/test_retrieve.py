"""One question to all layers: the best few of each, and an honest summary in words."""

import pytest
from support import CANARY, Box, at, stamp

from memcli.engine import retrieve
from memcli.model import redact


@pytest.fixture
def kept(box: Box) -> Box:
    """Something about deploying in every layer."""
    box.set("deploy target", "Fly.io", "--tag", "deploy", "--source", "user:anna")
    box.set("hosting", "who runs our servers")
    box.set("lunch", "at noon", "--importance", "0.2")
    box.ok("fact", "relate", "deploy target", "part_of", "hosting")
    box.add("Deployed on Tuesday", "--task", "Deploy", "--concept", "hosting", now=stamp(hours=-5))
    box.add("Wrote the docs", "--concept", "writing", now=stamp(hours=-50))
    box.ok("procedure", "propose", "deploy", "--title", "Deploy to production", "--step", "ship", "--tag", "hosting")
    box.ok("work", "set", "deploy branch", "main", "--session", "s")
    box.ok("work", "add", "the deploy waits for Boris", "--session", "s")
    return box


def keys(found: retrieve.Retrieved) -> dict[str, list[str]]:
    return {
        "working": [h.text for h in found.working],
        "facts": [f.key for f in found.facts],
        "episodes": [e.text for e in found.episodes],
        "procedures": [p.key for p in found.procedures],
    }


def test_all_layers_answer(kept: Box) -> None:
    found = kept.memory.retrieve("deploy", session="s", now=at())
    assert keys(found) == {
        "working": ["main", "the deploy waits for Boris"],
        "facts": ["deploy target"],
        "episodes": ["Deployed on Tuesday"],
        "procedures": ["deploy"],
    }
    assert found.summary.splitlines() == [
        "Found:",
        "Working memory:",
        "- deploy branch: main",
        "- the deploy waits for Boris",
        "Facts:",
        "- deploy target: Fly.io (medium, user:anna)",
        "Episodes:",
        "- 2026-11-15 unknown: Deploy",
        "Procedures:",
        "- Deploy to production (0 of 0 runs succeeded)",
    ]
    assert type(found.summary) is redact.Redacted
    assert kept.ok("retrieve", "deploy", "--session", "s").out == f"{found.summary}\n"


def test_layers_can_be_chosen(kept: Box) -> None:
    found = kept.memory.retrieve("deploy", layers=("episodes",), session="s", now=at())
    assert {name for name, rows in keys(found).items() if rows} == {"episodes"}
    assert kept.run("retrieve", "x", "--layer", "dreams").code == 2


def test_importance_is_at_least_0_3_unless_named(kept: Box) -> None:
    assert "lunch" not in keys(kept.memory.retrieve("lunch", now=at()))["facts"]
    assert "lunch" in keys(kept.memory.retrieve("lunch", min_importance=0.2, now=at()))["facts"]
    assert "noon" not in kept.ok("retrieve", "lunch").out
    assert "noon" in kept.ok("retrieve", "lunch", "--min-importance", "0.2").out


def test_five_of_each_unless_named(box: Box) -> None:
    for n in range(8):
        box.set(f"port {n}", f"the port number {n}")
    assert len(box.memory.retrieve("port", now=at()).facts) == 5
    assert len(box.memory.retrieve("port", n=7, now=at()).facts) == 7
    assert box.run("retrieve", "port", "-n", "-1").code == 2


def test_a_concept_is_a_key_a_neighbour_a_tag_or_what_an_episode_names(kept: Box) -> None:
    found = keys(kept.memory.retrieve(concept="hosting", session="s", now=at()))
    assert found | {"facts": sorted(found["facts"])} == {
        "working": [],
        "facts": ["deploy target", "hosting"],
        "episodes": ["Deployed on Tuesday"],
        "procedures": ["deploy"],
    }
    assert keys(kept.memory.retrieve(concept="deploy", now=at()))["facts"] == ["deploy target"]
    assert kept.ok("retrieve", "--concept", "unheard of").out == "Nothing found.\n"


def test_the_last_hours(kept: Box) -> None:
    assert len(kept.memory.retrieve(last_hours=24, now=at()).episodes) == 1
    assert len(kept.memory.retrieve(last_hours=60, now=at()).episodes) == 2
    later = at(hours=30)
    assert kept.memory.retrieve(last_hours=24, now=later).facts == ()


def test_without_a_query_the_most_important_first(kept: Box) -> None:
    kept.set("freeze", "no releases", "--importance", "0.9")
    found = kept.memory.retrieve(now=at())
    assert found.facts[0].key == "freeze"
    assert found.summary.startswith("What matters most:\n")


def test_what_is_withheld_is_only_counted(kept: Box) -> None:
    kept.set(CANARY, f"deploy {CANARY}", "--sensitivity", "restricted")
    kept.ok("work", "set", CANARY, CANARY, "--session", "s", "--sensitivity", "sensitive")
    kept.set("token of the deploy", "mail anna@example.org", "--allow-pii", "--sensitivity", "sensitive")
    for query in ("deploy", CANARY, "nothing"):
        ran = kept.ok("retrieve", query, "--session", "s", "--json")
        assert CANARY not in ran.out
        assert ran.data["withheld"] == 2
    shown = kept.memory.retrieve("token", clearance="sensitive", now=at())
    assert "[EMAIL]" in shown.summary


def test_what_comes_from_a_page_over_any_steps_is_marked(box: Box) -> None:
    box.set("page", "The rate limit is 600", "--source", "url:https://evil.example/")
    box.set("limit", "The rate limit is high", "--source", "user:a", "--derived-from", "page")
    box.set("sound", "The rate limit is known", "--source", "user:a")
    found = box.data("retrieve", "rate limit")
    assert sorted(f["key"] for f in found["facts"] if f["id"] in found["quarantined"]) == ["limit", "page"]
    assert found["summary"].count("untrusted: a web page or an import") == 2
