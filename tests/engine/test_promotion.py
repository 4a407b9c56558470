"""What waits in `proposed/` and what does not: the policy by kind of source, the time that a proposal has, its backup."""

import json
from pathlib import Path
from typing import Any

import pytest
from support import Box, stamp

from memcli.store import proposals

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bD1fG3hJ5"
SAID = "The deploy target is Fly.io."


def policy(box: Box, **lines: object) -> None:
    """Write [promotion] into memcli.toml."""
    rows = [f"{name} = {json.dumps(item)}\n" for name, item in lines.items()]
    toml = box.root / "memcli.toml"
    toml.write_text("".join([toml.read_text(), "\n[promotion]\n", *rows]))


def remember(box: Box, text: str = SAID, source: str = "agent:coder", **more: Any) -> dict[str, Any]:
    return box.data("remember", text, "--source", source, "--importance", "0.1", **more)  # type: ignore[no-any-return]


def facts(box: Box, **more: Any) -> dict[str, str]:
    return {f["key"]: f["text"] for f in box.data("fact", "list", **more)}


def proposed(box: Box) -> dict[str, str]:
    return {f.key: f.text for f in proposals.every(box.store)}


# --- gated or immediate


def test_gated_is_the_default_for_every_kind_that_is_observed(box: Box) -> None:
    made = remember(box)
    assert (facts(box), proposed(box)) == ({}, {"deploy target": "Fly.io"})
    assert [p["key"] for p in made["proposed"]] == ["deploy target"]
    box.set("by hand", "v", "--source", "agent:coder")  # what is set by hand is never gated
    assert facts(box) == {"by hand": "v"}


def test_immediate_makes_a_fact_at_once(box: Box) -> None:
    policy(box, policy="immediate")
    made = remember(box)
    assert (facts(box), proposed(box)) == ({"deploy target": "Fly.io"}, {})
    assert (made["proposed"], [p["key"] for p in made["written"]]) == ([], ["deploy target"])
    fact = box.data("fact", "get", "deploy target")
    assert (fact["source"], fact["confidence"]) == ({"id": "coder", "kind": "agent"}, 0.6)
    assert remember(box)["known"] == 1  # again: nothing new
    assert box.ok("check").out == ""


def test_the_policy_goes_by_kind(box: Box) -> None:
    policy(box, agent="immediate", policy="gated")
    remember(box)
    remember(box, "The port is 8080.", source="tool:nmap")
    assert (facts(box), proposed(box)) == ({"deploy target": "Fly.io"}, {"port": "8080"})


def test_a_kind_can_be_gated_where_the_rest_is_not(box: Box) -> None:
    policy(box, policy="immediate", url="gated")
    remember(box, source="url:https://example.org")
    assert facts(box) == {}


def test_consolidating_acts_on_it_too(box: Box) -> None:
    policy(box, inference="immediate")
    box.ok("work", "add", SAID, "--session", "s1")
    ran = box.ok("consolidate", "--session", "s1", "--dry-run")
    assert "would be: " in ran.out
    assert facts(box) == {}
    (row,) = box.data("consolidate", "--session", "s1")
    assert [f["key"] for f in row["written"]] == ["deploy target"]
    assert facts(box) == {"deploy target": "Fly.io"}
    before = box.tree()
    box.ok("consolidate", "--session", "s1", now=stamp(days=1))
    assert box.tree() == before


def test_it_is_no_surer_than_its_source_is_trusted(box: Box) -> None:
    policy(box, policy="immediate")
    remember(box, source="unknown:somebody")
    remember(box, "The port is 8080.", source="system:probe")
    assert box.data("fact", "get", "deploy target")["confidence"] == 0.4
    assert box.data("fact", "get", "port")["confidence"] == 0.6


@pytest.mark.parametrize("held", ["user:anna", "system:probe", "file:README"])
def test_a_value_of_a_source_that_is_trusted_more_stays(box: Box, held: str) -> None:
    policy(box, policy="immediate")
    box.set("deploy target", "Heroku", "--source", held)
    made = remember(box)
    assert facts(box) == {"deploy target": "Heroku"}
    assert [p["text"] for p in made["proposed"]] == ["Fly.io"]
    (item,) = box.data("review", "list")
    assert (item["kind"], item["rival"]) == ("proposal", "Heroku")
    box.ok("sweep", now=stamp(days=1))
    assert facts(box, now=stamp(days=1)) == {"deploy target": "Heroku"}


def test_what_a_person_set_stays_however_little_he_is_trusted(box: Box) -> None:
    policy(box, policy="immediate")
    box.ok("source", "set", "anna", "--kind", "user", "--trust", "0.1")
    box.set("deploy target", "Heroku", "--source", "user:anna")
    remember(box)
    assert facts(box) == {"deploy target": "Heroku"}


def test_a_hand_edit_stays(box: Box) -> None:
    policy(box, policy="immediate")
    remember(box)
    md = box.md("deploy target")
    md.write_text(md.read_text().replace("Fly.io", "Hetzner"))
    remember(box, "The deploy target is Render.")
    assert facts(box) == {"deploy target": "Hetzner"}
    assert proposed(box) == {"deploy target": "Render"}


@pytest.mark.parametrize("how", ["damaged", "ended and edited", "in the way"])
def test_what_cannot_be_written_over_is_proposed_and_stops_nothing(box: Box, how: str) -> None:
    policy(box, policy="immediate")
    late = stamp(minutes=10)
    if how != "in the way":
        box.set("port", "8080", "--ttl", "5", "--source", "url:x")
    if how == "damaged":
        box.side("port").write_text("{")
    elif how == "ended and edited":
        box.md("port").write_text(box.md("port").read_text().replace("8080", "7070"))
    else:
        box.md("port").write_text("---\nkey: other\nsensitivity: internal\n---\n\nx\n")
    made = remember(box, "The port is 9090. The host is Hetzner.", now=late)
    assert [p["key"] for p in made["proposed"]] == ["port"]
    assert [p["key"] for p in made["written"]] == ["host"]


def test_a_value_of_a_source_that_is_trusted_no_more_is_superseded(box: Box) -> None:
    policy(box, policy="immediate")
    remember(box, "The deploy target is Heroku.", source="url:https://example.org")
    remember(box)
    assert facts(box) == {"deploy target": "Fly.io"}
    assert [f["text"] for f in box.data("fact", "history", "deploy target")] == ["Fly.io", "Heroku"]


def test_a_blocked_source_makes_no_fact(box: Box) -> None:
    policy(box, policy="immediate")
    box.ok("source", "block", "agent:coder")
    remember(box)
    assert facts(box) == {}


def test_it_is_still_scanned_and_keeps_the_stricter_label(box: Box) -> None:
    policy(box, policy="immediate")
    remember(box, "The owner is Anna anna@example.org.")
    assert facts(box) == {"owner": "Anna [EMAIL]"}
    box.ok("work", "add", f"The vault is {TOKEN}", "--session", "s", "--allow-secret", "--sensitivity", "restricted")
    box.ok("consolidate", "--session", "s")
    assert all(TOKEN.encode() not in data for data in box.tree().values())
    box.set("port", "8080", "--source", "url:x", "--sensitivity", "sensitive")
    remember(box, "The port is 9090.")
    assert str(box.fact("port").sensitivity) == "sensitive"


def test_what_was_proposed_before_counts_for_it(box: Box) -> None:
    box.ok("remember", SAID, "--source", "agent:coder", "--session", "one")
    policy(box, agent="immediate")
    box.ok("remember", SAID, "--source", "agent:coder", "--session", "two")
    assert (facts(box), proposed(box)) == ({"deploy target": "Fly.io"}, {})
    assert [o["run"] for o in box.meta("deploy target")["confirmations"]] == ["two"]


def test_a_sweep_promotes_what_waited_once_its_kind_waits_no_more(box: Box) -> None:
    remember(box)
    box.ok("sweep")
    assert facts(box) == {}
    policy(box, agent="immediate")
    box.ok("sweep")
    assert (facts(box), proposed(box)) == ({"deploy target": "Fly.io"}, {})


def test_the_sweep_says_promoted_and_not_ended(box: Box) -> None:
    policy(box, agent="immediate", proposal_ttl_minutes=0)
    toml = box.root / "memcli.toml"
    held = toml.read_text()
    toml.write_text(held.replace("immediate", "gated"))
    remember(box)
    toml.write_text(held)
    assert box.ok("sweep", "--dry-run").out == "would promote: 1 proposals\n"
    assert box.ok("sweep").out == "promoted: 1 proposals\n"


def test_a_policy_that_is_none_is_refused(box: Box) -> None:
    policy(box, agent="sometimes")
    ran = box.run("status")
    assert ran.code == 4
    assert "promotion.agent" in ran.err


# --- The time that a proposal has


def test_a_proposal_ends_when_nobody_observes_it_again(box: Box) -> None:
    remember(box)
    for days, waits in ((89, 1), (90, 0)):
        later = stamp(days=days)
        assert box.data("status", now=later)["proposals"] == waits
        assert box.data("stats", now=later)["proposals"] == waits
        assert len(box.data("review", "list", now=later)) == waits


def test_the_time_runs_from_the_last_observation(box: Box) -> None:
    box.ok("remember", SAID, "--session", "one")
    box.ok("remember", SAID, "--session", "two", now=stamp(days=60))
    assert box.data("status", now=stamp(days=149))["proposals"] == 1
    assert box.data("status", now=stamp(days=150))["proposals"] == 0


def test_the_time_is_a_setting_and_zero_is_for_ever(box: Box) -> None:
    policy(box, proposal_ttl_minutes=60)
    remember(box)
    assert box.data("status", now=stamp(minutes=60))["proposals"] == 0
    toml = box.root / "memcli.toml"
    toml.write_text(toml.read_text().replace("= 60", "= 0"))
    assert box.data("status", now=stamp(days=4000))["proposals"] == 1


def test_what_has_ended_lends_no_witness(box: Box) -> None:
    for session in ("one", "two"):
        box.ok("remember", SAID, "--session", session)
    late = stamp(days=100)
    made = box.data("remember", SAID, "--session", "three", now=late)
    assert [p["observations"] for p in made["proposed"]] == [1]
    box.ok("sweep", now=late)
    assert facts(box, now=late) == {}
    assert box.run("review", "accept", "deploy target", now=stamp(days=300)).code == 3


# --- Its backup


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def two(tmp_path: Path) -> tuple[Box, Box]:
    boxes = Box(tmp_path / "one"), Box(tmp_path / "two")
    for made in boxes:
        made.ok("init")
    return boxes


def test_a_backup_holds_proposals_and_brings_them_back(tmp_path: Path) -> None:
    one, other = two(tmp_path)
    for session in ("a", "b"):
        one.ok("remember", SAID, "--source", "agent:coder", "--session", session, "--importance", "0.1")
    one.ok("remember", "The vault is deep.", "--sensitivity", "restricted", "--importance", "0.1")
    path = tmp_path / "x.jsonl"
    one.ok("export", "jsonl", str(path))
    assert [r["kind"] for r in lines(path)] == ["proposal", "proposal"]
    assert other.data("import", "jsonl", str(path), "--trusted", "--dry-run")["created"] == 2
    assert proposed(other) == {}
    assert other.data("import", "jsonl", str(path), "--trusted")["created"] == 2
    assert facts(other) == {}
    assert {n: d for n, d in one.tree().items() if n.startswith("proposed/")} == {
        n: d for n, d in other.tree().items() if n.startswith("proposed/")
    }
    before = other.tree()
    assert other.data("import", "jsonl", str(path), "--trusted")["unchanged"] == 2
    assert other.tree() == before
    one.ok("export", "jsonl", str(tmp_path / "open.jsonl"), "--clearance", "internal")
    assert len(lines(tmp_path / "open.jsonl")) == 1


def test_two_backups_unite_their_witnesses(tmp_path: Path) -> None:
    one, other = two(tmp_path)
    for made, session in ((one, "a"), (other, "b")):
        made.ok("remember", SAID, "--session", session, "--importance", "0.1")
    one.ok("export", "jsonl", str(tmp_path / "x.jsonl"))
    assert other.data("import", "jsonl", str(tmp_path / "x.jsonl"), "--trusted")["updated"] == 1
    (found,) = proposals.every(other.store)
    assert proposals.observations(found) == 2
    assert other.data("import", "jsonl", str(tmp_path / "x.jsonl"), "--trusted")["unchanged"] == 1


def test_a_foreign_file_brings_no_witnesses(box: Box, tmp_path: Path) -> None:
    said = [{"source": "user:anna", "run": f"r{n}", "at": stamp()} for n in range(5)]
    row = {"kind": "proposal", "key": "k", "text": "v", "sensitivity": "public", "confirmations": said, "confidence": 1}
    (tmp_path / "x.jsonl").write_text(json.dumps(row) + "\n")
    for outcome in ("proposed", "unchanged"):
        assert box.data("import", "jsonl", str(tmp_path / "x.jsonl"))[outcome] == 1
    box.ok("sweep")
    assert facts(box) == {}
    (found,) = proposals.every(box.store)
    assert (proposals.observations(found), found.source.via) == (1, "import")
