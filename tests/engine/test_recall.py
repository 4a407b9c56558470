"""Recall: each goal, each filter, each kind of contradiction, the verdict; and nothing withheld in any part of the bundle."""

from collections.abc import Callable
from typing import Any

import pytest
from support import CANARY, Box, at, stamp

from memcli.engine.evidence import Bundle
from memcli.engine.pools import GOALS
from memcli.model import settings

QUESTION = "what is the deploy target?"


@pytest.fixture
def kept(box: Box) -> Box:
    """A graph around one fact, with one neighbour for each kind of relation and a chain of three."""
    box.set("deploy target", "Fly.io", "--source", "user:anna")
    neighbours = {
        "is_a": "hosting",
        "part_of": "infrastructure",
        "related": "runbook",
        "enables": "releases",
        "causes": "invoices",
        "opposite": "laptop",
        "contradicts": "Heroku plan",
        "example": "staging",
    }
    for kind, key in neighbours.items():
        box.set(key, f"something of {kind}", "--source", "user:anna")
        box.ok("fact", "relate", "deploy target", kind, key)
    box.set("far away", "two steps", "--source", "user:anna")
    box.set("further away", "three steps", "--source", "user:anna")
    box.ok("fact", "relate", "hosting", "part_of", "far away")
    box.ok("fact", "relate", "far away", "part_of", "further away")
    return box


def recall(box: Box, query: str = QUESTION, **options: Any) -> Bundle:
    return box.memory.recall(query, **{"now": at(), **options})


def keys(found: Bundle) -> list[str]:
    return [getattr(i.record, "key", "") or getattr(i.record, "task", "") or i.record.text for i in found.items]


def put(box: Box, section: str, **values: object) -> None:
    """Settings in memcli.toml."""
    toml = box.root / "memcli.toml"
    lines = "".join(f"{name} = {str(item).lower()}\n" for name, item in values.items())
    toml.write_text(f"{toml.read_text()}\n[{section}]\n{lines}")


# --- Goals

NEGATED = tuple(
    shape.format("what is the deploy target") for shape in ("not {}", "refutation of {}", "не {}", "опровержение {}")
)
WIDENED = {
    "answer_question": {"hosting", "infrastructure", "releases", "runbook"},
    "verify_claim": {"Heroku plan", "laptop", *NEGATED},
    "explore_topic": {"hosting", "infrastructure", "releases", "runbook", "invoices", "far away"},
    "learn_fact": {"hosting", "runbook"},
    "plan": {"hosting", "runbook"},
}


@pytest.mark.parametrize("goal", WIDENED)
def test_each_goal_widens_as_it_should(kept: Box, goal: str) -> None:
    found = recall(kept, goal=goal, n=0)
    assert found.goal == goal
    assert found.queries[0] == QUESTION
    assert set(found.queries[1:]) == WIDENED[goal]
    assert WIDENED[goal] - set(NEGATED) <= set(keys(found))
    assert keys(found)[0] == "deploy target"


def test_the_goals_are_those_of_the_original() -> None:
    assert {name: (g.related, g.depth, g.negated) for name, g in GOALS.items() if name != "explore_topic"} == {
        "answer_question": (4, 1, False),
        "verify_claim": (2, 1, True),
        "learn_fact": (3, 1, False),
        "plan": (3, 1, False),
    }
    assert GOALS["explore_topic"].depth == 2
    assert set(GOALS) == set(WIDENED)


def test_no_more_neighbours_than_the_goal_allows_the_strongest_first(box: Box) -> None:
    box.set("deploy target", "Fly.io")
    for n in range(8):
        box.ok("fact", "relate", "deploy target", "related", f"thing {n}", "--weight", f"0.{n + 1}")
    assert recall(box).queries[1:] == ("thing 7", "thing 6", "thing 5", "thing 4")
    assert recall(box, goal="plan").queries[1:] == ("thing 7", "thing 6", "thing 5")


def test_relations_count_in_both_directions_within_the_pool(box: Box) -> None:
    box.set("deploy target", "Fly.io")
    box.set("deploy bot", "it deploys")
    box.ok("fact", "relate", "deploy bot", "part_of", "deploy target")
    found = recall(box)
    assert "deploy bot" in found.queries
    assert {i.record.key: i.graph for i in found.facts} == {"deploy target": 1.0, "deploy bot": 1.0}  # type: ignore[union-attr]


def test_an_untrusted_page_leads_nowhere(box: Box) -> None:
    box.set("deploy target", "Fly.io", "--source", "url:https://evil.example/")
    box.ok("fact", "relate", "deploy target", "related", "wire the money")
    found = recall(box)
    assert found.queries == (QUESTION,)
    assert [(i.quarantined, i.graph) for i in found.items] == [(True, 0.0)]
    assert "untrusted: a web page or an import" in box.ok("recall", QUESTION).out


def test_what_was_derived_from_an_untrusted_page_is_marked_and_leads_nowhere(box: Box) -> None:
    box.set("page", "x", "--source", "url:https://evil.example/")
    box.set("deploy target", "Fly.io", "--source", "user:a", "--derived-from", "page")
    box.ok("fact", "relate", "deploy target", "related", "wire the money")
    found = recall(box)
    assert found.queries == (QUESTION,)
    assert [(i.quarantined, i.graph) for i in found.items] == [(True, 0.0)]
    assert "untrusted: a web page or an import" in box.ok("recall", QUESTION).out
    box.ok("fact", "confirm", "deploy target", "--source", "user:b")
    assert [i.quarantined for i in recall(box).items] == [False]


def test_what_an_untrusted_page_says_of_a_fact_is_not_followed_either(box: Box) -> None:
    box.set("deploy target", "Fly.io", "--source", "user:anna")
    box.set("deploy page", "x", "--source", "url:https://evil.example/")
    box.ok("fact", "relate", "deploy page", "part_of", "deploy target")
    found = recall(box)
    assert found.queries == (QUESTION,)
    assert {i.record.key: i.graph for i in found.facts} == {"deploy target": 1.0, "deploy page": 0.0}  # type: ignore[union-attr]


# --- Pools


def test_pools_are_bounded(box: Box) -> None:
    rows = [
        f'{{"kind": "fact", "key": "port {n}", "text": "the port number {n}", "sensitivity": "public"}}'
        for n in range(30)
    ]
    rows += [
        f'{{"kind": "episode", "text": "opened port {n}", "at": "{stamp()}", "sensitivity": "public"}}'
        for n in range(30)
    ]
    box.ok("import", "jsonl", "-", "--trusted", stdin="\n".join(rows).encode())
    for n in range(15):
        box.ok("work", "add", f"look at port {n}", "--session", "s")
    found = recall(box, "port", session="s", n=0)
    assert (len(found.working), len(found.facts), len(found.episodes)) == (10, 20, 20)
    assert found.retrieved == found.kept == found.returned == 50
    put(box, "recall", pool_working=1, pool_facts=2, pool_episodes=3)
    found = recall(box, "port", session="s", n=0)
    assert (len(found.working), len(found.facts), len(found.episodes)) == (1, 2, 3)


def test_a_concept_comes_once(box: Box) -> None:
    box.set("deploy target", "Fly.io in Frankfurt")
    box.set("Deploy  Target", "Fly.io")
    found = recall(box)
    assert len(found.facts) == found.retrieved == 1
    assert found.contradictions == ()
    box.set("Deploy  Target", "Heroku")
    assert [p.kind for p in recall(box).contradictions] == ["value"]


def test_without_a_session_no_working_memory(box: Box) -> None:
    box.ok("work", "set", "deploy target", "a laptop", "--session", "s")
    assert recall(box).items == ()
    assert [i.record.text for i in recall(box, session="s").working] == ["a laptop"]


def test_ten_unless_named_and_all_for_0(box: Box) -> None:
    for n in range(12):
        box.set(f"port {n}", f"the port number {n}")
    assert len(recall(box, "port").items) == 10
    assert len(recall(box, "port", n=3).items) == 3
    assert len(recall(box, "port", n=0).items) == 12
    assert box.run("recall", "port", "-n", "-1").code == 2
    assert box.run("recall", " ").code == 2


# --- Filter


def trust_below(box: Box) -> None:
    box.set("deploy target", "Heroku", "--source", "agent:liar")
    box.ok("source", "set", "liar", "--trust", "0.39")


def trust_below_by_lineage(box: Box) -> None:
    box.set("a page", "text", "--source", "tool:broken")
    box.ok("source", "set", "broken", "--trust", "0.3")
    box.set("deploy target", "Heroku", "--source", "user:anna", "--derived-from", "a page")


def trust_below_by_denials(box: Box) -> None:
    box.set("deploy target", "Heroku", "--source", "unknown", "--confidence", "0.9")
    box.ok("fact", "deny", "deploy target", "--run", "r1", "--source", "user:anna")


def confidence_below(box: Box) -> None:
    box.set("deploy target", "Heroku", "--source", "user:anna", "--confidence", "0.29")


def another_modality(box: Box) -> None:
    box.set("deploy target", "Heroku", "--source", "user:anna")


def too_old(box: Box) -> None:
    box.set("deploy target", "Heroku", "--source", "user:anna", now=stamp(days=-1))


FILTERS: dict[str, tuple[str, Callable[[Box], None], dict[str, Any]]] = {
    "trust": ("trust", trust_below, {}),
    "lineage": ("trust", trust_below_by_lineage, {}),
    "denials": ("trust", trust_below_by_denials, {}),
    "confidence": ("confidence", confidence_below, {}),
    "modality": ("modality", another_modality, {"modality": "image"}),
    "age": ("age", too_old, {"time_sensitive": True}),
}


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("unread", [False, True])
def test_each_filter_leaves_out_its_own(box: Box, name: str, unread: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if unread:  # what is too far down to be read is judged by its row
        monkeypatch.setattr("memcli.engine.recall.EXAMINED", 1)
    reason, plant, options = FILTERS[name]
    plant(box)
    found = recall(box, **options)
    assert (found.items, found.kept, found.verdict) == ((), 0, "none")
    assert {n: c for n, c in found.dropped.items() if c} == {reason: 1}


def test_episodes_and_working_memory_pass_the_same_filter(box: Box) -> None:
    box.ok("source", "set", "agent:liar", "--trust", "0.1")
    box.add("the deploy target moved", "--source", "agent:liar")
    box.add("the deploy target moved on", "--source", "user:anna", "--confidence", "0.2")
    box.ok("work", "add", "the deploy target may move", "--session", "s", "--confidence", "0.1")
    found = recall(box, session="s")
    assert found.items == ()
    assert (found.dropped["trust"], found.dropped["confidence"]) == (1, 2)


def test_the_edge_passes_and_an_untouched_record_does_not_fall_off_it(box: Box) -> None:
    box.set("deploy target", "Fly.io", "--source", "unknown", "--confidence", "0.3")
    assert len(recall(box).items) == 1
    later = recall(box, now=at(days=200))
    assert [(i.record.key, i.confidence < 0.2) for i in later.facts] == [("deploy target", True)]  # type: ignore[union-attr]


def test_the_limits_are_settings(box: Box) -> None:
    confidence_below(box)
    put(box, "recall", min_confidence=0.2, fresh_hours=1)
    assert len(recall(box).items) == 1
    assert recall(box, time_sensitive=True, now=at(hours=2)).items == ()


def test_a_modality_that_is_there_is_found(box: Box) -> None:
    box.add("diagram of the deploy target", "--modality", "image")
    box.add("note on the deploy target")
    assert [i.record.text for i in recall(box, modality="image").items] == ["diagram of the deploy target"]


# --- Order


def test_the_score_is_the_weighted_sum(kept: Box) -> None:
    kept.ok("fact", "deny", "runbook", "--run", "r")
    found = recall(kept, goal="verify_claim", n=0)
    assert any(i.contradicts for i in found.items)
    for item in found.items:
        parts = 0.4 * item.relevance + 0.3 * item.trust + 0.2 * item.recency + 0.1 * item.graph
        assert item.score == pytest.approx(parts + 0.3 * item.contradicts)
        assert item.score == pytest.approx(sum(item.why.values()))
    scores = [i.score for i in found.items]
    assert scores == sorted(scores, reverse=True)


def test_contradictions_count_for_more_only_where_a_claim_is_verified(kept: Box) -> None:
    plain = recall(kept, n=0)
    assert any(i.contradicts for i in plain.items)
    assert all("contradiction" not in i.why for i in plain.items)
    raised = {i.record.id: i for i in recall(kept, goal="verify_claim", n=0).items if i.contradicts}
    assert raised
    assert all(i.why["contradiction"] == 0.3 for i in raised.values())


@pytest.mark.parametrize(
    ("weight", "first"), [("relevance", "deploy target"), ("trust", "deploy trust"), ("recency", "deploy news")]
)
def test_each_weight_can_be_set(box: Box, weight: str, first: str) -> None:
    box.set("deploy target", "where it runs", "--source", "agent:a", now=stamp(days=-30))
    box.set("deploy trust", "x", "--source", "system:root", now=stamp(days=-30))
    box.set("deploy news", "x", "--source", "agent:a")
    rest = {f"weight_{name}": 0.0 for name in ("relevance", "trust", "recency", "graph")}
    put(box, "recall", **{**rest, f"weight_{weight}": 1.0})
    assert keys(recall(box, "deploy target"))[0] == first


def test_every_number_is_a_setting() -> None:
    named = {name.removeprefix("recall.") for name in settings.TABLE if name.startswith("recall.")}
    weights = {f"weight_{n}" for n in ("relevance", "trust", "recency", "graph")}
    assert named == weights | {
        "max_items",
        "pool_working",
        "pool_facts",
        "pool_episodes",
        "min_trust",
        "min_confidence",
    } | {
        "fresh_hours",
        "contradiction_bonus",
    }


# --- Contradictions


def proposal(box: Box) -> None:
    box.set("deploy target", "Fly.io", "--source", "user:anna")
    box.ok("remember", "The deploy target is Hetzner.", "--source", "agent:a", "--session", "s")


def two_proposals(box: Box) -> None:
    for n, name in enumerate(("Hetzner", "Heroku")):
        box.ok("remember", f"The deploy target is {name}.", "--source", "agent:a", "--session", f"s{n}")


def two_values(box: Box) -> None:
    box.set("deploy target", "Fly.io", "--source", "user:anna")
    box.add("The deploy target is Heroku.", "--task", "Look around")


def russian(box: Box) -> None:
    box.set("цель деплоя", "Fly.io", "--source", "user:anna")
    box.add("Цель деплоя — Heroku.", "--task", "Обзор")


def negated(box: Box) -> None:
    box.set("deploy target", "Fly.io", "--source", "user:anna")
    box.add("The deploy target is not Fly.io.", "--task", "Look around")


def denied(box: Box) -> None:
    box.set("deploy target", "Fly.io", "--source", "user:anna")
    box.ok("fact", "deny", "deploy target", "--run", "r1", "--source", "user:ivan")


def opposite(box: Box) -> None:
    box.set("deploy target", "Fly.io", "--source", "user:anna")
    box.set("laptop", "under the desk", "--source", "user:anna")
    box.ok("fact", "relate", "deploy target", "opposite", "laptop")


def contradicts(box: Box) -> None:
    box.set("deploy target", "Fly.io", "--source", "user:anna")
    box.set("host of the deploy", "Heroku", "--source", "user:anna")
    box.ok("fact", "relate", "host of the deploy", "contradicts", "deploy target")


def claim(box: Box) -> None:
    box.set("deploy target", "Fly.io", "--source", "user:anna")


VERIFY = {"goal": "verify_claim", "query": "The deploy target is Heroku."}
# Name -> what makes it, how it is asked for, the kind, layer and text of both sides.
PAIRS: dict[str, tuple[Callable[[Box], None], dict[str, Any], tuple[str, str, str, str, str]]] = {
    "proposal": (proposal, {}, ("proposal", "facts", "Fly.io", "proposed", "Hetzner")),
    "proposals": (two_proposals, VERIFY, ("proposal", "proposed", "Heroku", "proposed", "Hetzner")),
    "value": (two_values, {}, ("value", "facts", "Fly.io", "episodes", "The deploy target is Heroku.")),
    "russian": (
        russian,
        {"query": "какая цель деплоя?"},
        ("value", "facts", "Fly.io", "episodes", "Цель деплоя — Heroku."),
    ),
    "negated": (negated, {}, ("value", "facts", "Fly.io", "episodes", "The deploy target is not Fly.io.")),
    "denied": (denied, {}, ("denied", "facts", "Fly.io", "denial", "denied by 1 independent witness")),
    "opposite": (opposite, {}, ("relation", "facts", "Fly.io", "facts", "under the desk")),
    "contradicts": (contradicts, {}, ("relation", "facts", "Heroku", "facts", "Fly.io")),
    "claim": (claim, VERIFY, ("claim", "claim", "The deploy target is Heroku.", "facts", "Fly.io")),
    "negated claim": (
        claim,
        {"goal": "verify_claim", "query": "The deploy target is not Fly.io"},
        ("claim", "claim", "The deploy target is not Fly.io", "facts", "Fly.io"),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_each_kind_of_contradiction_is_a_pair(box: Box, name: str) -> None:
    plant, options, expected = PAIRS[name]
    plant(box)
    found = recall(box, **options)
    shown = []
    for pair in found.contradictions:
        sides = sorted([(pair.one.layer, pair.one.text), (pair.other.layer, pair.other.text)])
        shown.append((pair.kind, *sides))
    kind, *rest = expected
    assert (kind, *sorted([tuple(rest[:2]), tuple(rest[2:])])) in shown
    for item in found.items:
        assert item.contradicts == any(item.record.id in (p.one.id, p.other.id) for p in found.contradictions)


def test_a_refuted_claim_is_said_first(box: Box) -> None:
    claim(box)
    said = {
        "The deploy target is Heroku.": True,
        "The deploy target is not Fly.io.": True,
        "The deploy target is Fly.io.": False,
        "The deploy target is not Heroku.": False,
    }
    for text, refuted in said.items():
        first = box.ok("recall", text, "--goal", "verify_claim").out.splitlines()[0]
        assert (first == "Something here says otherwise:") is refuted, text
        assert box.data("recall", text, "--goal", "verify_claim")["refuted"] is refuted, text
    assert box.data("recall", "The deploy target is Heroku.")["refuted"] is False


NO_PAIRS = [
    ("The deploy target is Fly.io in Frankfurt.", "says more, nothing else"),
    ("The deploy target is fly.io", "the same in other letters"),
    ("Is the deploy target Heroku?", "a question"),
    ("The deploy window is Tuesday.", "another subject"),
    ("The deploy target is a machine.", "what it is among other things"),
    ("The deploy target is not Heroku.", "denies something else"),
]


@pytest.mark.parametrize(("text", "why"), NO_PAIRS, ids=[why for _, why in NO_PAIRS])
def test_what_is_no_contradiction(box: Box, text: str, why: str) -> None:
    box.set("deploy target", "Fly.io", "--source", "user:anna")
    box.add(text, "--task", "Note")
    assert recall(box).contradictions == (), why


def test_a_name_may_be_many_things(box: Box) -> None:
    box.add("Anna is on holiday.", "--task", "Chat")
    box.add("Anna is based in Berlin.", "--task", "Chat")
    assert recall(box, "where is Anna?").contradictions == ()


# --- The bundle


def test_the_bundle_counts_and_sums_up(kept: Box) -> None:
    confidence_below(kept)
    kept.set("deploy target", "Fly.io", "--confidence", "0.9", "--source", "user:anna")
    kept.set("deploy doubt", "no", "--confidence", "0.1")
    found = recall(kept, n=3)
    assert found.returned == len(found.items) == 3
    assert found.kept == found.retrieved - 1 > 3
    assert found.confidence == pytest.approx(sum(i.confidence for i in found.items) / 3)
    assert found.trust == pytest.approx(sum(i.trust for i in found.items) / 3) == pytest.approx(0.8)
    assert found.concepts[0] == "deploy target"
    data = kept.data("recall", QUESTION, "-n", "3")
    assert [r["key"] for r in data["facts"]] == keys(found)
    assert data["queries"] == list(found.queries)
    assert (data["retrieved"], data["kept"], data["returned"]) == (found.retrieved, found.kept, 3)
    assert data["dropped"] == {"trust": 0, "confidence": 1, "modality": 0, "age": 0}


@pytest.mark.parametrize(
    ("query", "verdict"),
    [
        (QUESTION, "strong"),
        ("quantum gravity", "none"),
        ("who painted the ceiling of the chapel?", "none"),
        ("?!", "none"),
    ],
)
def test_the_verdict_is_honest(kept: Box, query: str, verdict: str) -> None:
    assert recall(kept, query).verdict == verdict
    ran = kept.ok("recall", query)
    assert ran.out.startswith(
        "I don't know: nothing stored here answers this.\n" if verdict == "none" else "This memory"
    )
    assert kept.data("recall", query)["verdict"] == verdict


def test_what_was_left_out_is_no_answer(box: Box) -> None:
    trust_below(box)
    box.set("deploy window", "Tuesdays", "--source", "user:anna")
    assert recall(box, "deploy target").verdict != "strong"
    box.set("deploy target", "Heroku", "--source", "user:anna")
    assert recall(box, "deploy target").verdict == "strong"


def test_what_only_a_neighbour_says_is_no_answer(box: Box) -> None:
    box.set("deploy target", "Fly.io", "--source", "user:anna")
    box.set("hosting", "who runs our servers", "--source", "user:anna")
    box.ok("fact", "relate", "deploy target", "part_of", "hosting")
    item = next(i for i in recall(box).facts if i.record.key == "hosting")  # type: ignore[union-attr]
    assert item.held == 0.0
    assert item.relevance == pytest.approx(0.5)


def test_working_memory_can_answer(box: Box) -> None:
    box.ok("work", "set", "deploy target", "a laptop", "--session", "s")
    assert recall(box, session="s").verdict == "strong"


def test_explain_says_why_and_what_else_was_asked(kept: Box) -> None:
    ran = kept.ok("recall", QUESTION, "--explain")
    assert "score 0.9" in ran.out
    assert "also asked: hosting; infrastructure; releases; runbook\n" in ran.out
    assert "also asked" not in kept.ok("recall", QUESTION).out


# --- What must not come in


@pytest.mark.parametrize("goal", GOALS)
def test_what_is_withheld_is_in_no_part_of_the_bundle(kept: Box, goal: str) -> None:
    before = {q: recall(kept, q, goal=goal, n=0) for q in (QUESTION, "hosting")}
    for n, kind in enumerate(("related", "is_a", "opposite", "contradicts")):
        key = f"{CANARY} {n}"
        kept.set(key, f"{CANARY} the deploy target is Heroku", "--sensitivity", "restricted")
        kept.ok("fact", "relate", "deploy target", kind, key)
        kept.ok("fact", "relate", key, kind, "deploy target")
    kept.add(f"{CANARY} The deploy target is Heroku.", "--sensitivity", "sensitive", "--concept", "deploy target")
    kept.ok("remember", f"The deploy target is {CANARY}.", "--sensitivity", "restricted", "--session", "t")
    kept.ok("work", "set", "deploy target", CANARY, "--session", "s", "--sensitivity", "restricted")
    for query, was in before.items():
        found = recall(kept, query, goal=goal, n=0, session="s")
        assert CANARY not in repr(found)
        assert found.replace(withheld=0, items=()) == was.replace(withheld=0, items=())
        for form in ("--explain", "--json"):
            ran = kept.ok("recall", query, "--goal", goal, "--session", "s", form)
            assert CANARY not in ran.out
            assert f"{found.withheld} withheld" in ran.err
    assert CANARY in repr(recall(kept, goal=goal, n=0, clearance="restricted"))


def test_the_count_of_the_withheld_is_no_oracle(kept: Box) -> None:
    kept.set(CANARY, f"{CANARY} deploy target", "--sensitivity", "restricted")
    counts = {recall(kept, query).withheld for query in (QUESTION, CANARY, "nothing of the kind")}
    assert counts == {1}
    assert recall(kept, CANARY).items == ()


def test_a_blocked_source_is_not_served_nor_what_was_derived_from_it(kept: Box) -> None:
    kept.set("page", "a page", "--source", "url:https://evil.example/")
    kept.set("deploy host", "from a page", "--source", "user:anna", "--derived-from", "page")
    assert "deploy host" in keys(recall(kept, n=0))
    kept.ok("source", "block", "url:https://evil.example/")
    found = recall(kept, n=0)
    assert "deploy host" not in keys(found)
    assert recall(kept, "page").items == ()
    kept.ok("source", "block", "anna")
    assert recall(kept, n=0).items == ()


def test_everything_is_scrubbed(box: Box) -> None:
    box.set("deploy target", "ask bob@example.org", "--allow-pii", "--source", "user:anna")
    box.ok("fact", "relate", "deploy target", "related", "host")
    box.add("The deploy target is known to eve@example.org.", "--allow-pii", "--sensitivity", "internal")
    for more in ((), ("--json",), ("--goal", "verify_claim", "--explain")):
        asked = "what is the deploy target of mallory@example.org?"
        out = box.ok("recall", asked, "--clearance", "sensitive", *more).out
        assert "@example.org" not in out
        assert "[EMAIL]" in out


def test_a_recall_of_a_damaged_or_missing_index_says_the_same(kept: Box) -> None:
    was = recall(kept)
    for path in (kept.root / ".memcli").glob("index.*"):
        path.write_bytes(b"no database")
    assert recall(kept) == was
