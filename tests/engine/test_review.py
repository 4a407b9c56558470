"""The review queue, promotion after independent observations, and what a change means between git revisions."""

import subprocess
from datetime import datetime, timedelta, timezone

import pytest

from memcli.base import errors, ids
from memcli.engine import memory, opinions, procedural, promotion, relations, review, revisions, sweep, verify
from memcli.model.records import Fact, Opinion, Source, Step
from memcli.store import facts, procedures, proposals, revision

NOW = datetime(2026, 11, 15, 9, tzinfo=timezone.utc)
LATER = NOW + timedelta(days=1)


@pytest.fixture
def m(tmp_path):
    return memory.init(tmp_path / "store")


def propose(m, key, text, *runs, label="internal"):
    from memcli.model import labels

    made = Fact(
        id=ids.new(NOW),
        key=key,
        text=text,
        source=Source(id="session_extract", kind="inference"),
        confidence=0.6,
        created_at=NOW,
        updated_at=NOW,
        run=runs[0],
        sensitivity=labels.sensitivity(label),
        confirmations=tuple(Opinion(source="inference:session_extract", run=r, at=NOW) for r in runs[1:]),
    )
    with m.store.writing() as w:
        return proposals.put(w, made)


def kinds(m, now=NOW):
    return [(i.kind, i.key) for i in review.queue(m.store, now)]


def run_sweep(m, now=LATER):
    return sweep.apply(m.store, sweep.plan(m.store, now))


def test_a_proposal_waits_and_is_no_fact(m):
    propose(m, "editor", "vim", "r1")
    assert kinds(m) == [("proposal", "editor")]
    assert m.facts(now=NOW) == []


def test_three_independent_runs_promote_it_and_two_do_not(m):
    propose(m, "two", "v", "r1", "r2")
    propose(m, "same run", "v", "r1", "r1", "r1")
    propose(m, "three", "v", "r1", "r2", "r3")
    run_sweep(m)
    assert [f.key for f in m.facts(now=LATER)] == ["three"]
    assert [k for _, k in kinds(m, LATER)] == ["same run", "two"]
    assert sweep.plan(m.store, LATER).actions == ()


def test_a_promoted_fact_keeps_where_it_comes_from(m):
    propose(m, "k", "v", "r1", "r2", "r3")
    run_sweep(m)
    fact = m.get_fact("k", now=LATER)
    assert (str(fact.source), fact.confidence, fact.run) == ("inference:session_extract", 0.6, "r1")
    assert {o.run for o in fact.confirmations} == {"r2", "r3"}


def test_a_proposal_against_a_fact_is_never_promoted_by_itself(m):
    m.set_fact("k", "old", source="user:anna", now=NOW)
    propose(m, "k", "new", "r1", "r2", "r3", "r4")
    run_sweep(m)
    assert m.get_fact("k", now=LATER).text == "old"
    item = review.find(m.store, "k", LATER)
    assert (item.rival, item.kind) == ("old", "proposal")
    review.accept(m.store, "k", now=LATER, by="user:anna")
    assert m.get_fact("k", now=LATER).text == "new"
    assert [f.fact.text for f in m.history("k")] == ["old"]


def test_a_person_accepts_or_rejects(m):
    propose(m, "good", "v", "r1")
    propose(m, "bad", "v", "r1")
    review.accept(m.store, "good", now=NOW, by="user:anna")
    review.reject(m.store, "bad", now=NOW, by="user:anna")
    assert [f.key for f in m.facts(now=NOW)] == ["good"]
    assert kinds(m) == []


def test_an_accepted_restricted_proposal_stays_restricted(m):
    propose(m, "k", "v", "r1", label="restricted")
    review.accept(m.store, "k", now=NOW, by="user:anna")
    with pytest.raises(errors.Withheld):
        m.get_fact("k", now=NOW)


def test_promotion_is_only_planned_by_a_dry_run(m):
    propose(m, "k", "v", "r1", "r2", "r3")
    assert [a.reason for a in sweep.plan(m.store, LATER).actions] == ["promoted"]
    assert len(promotion.due(m.store, LATER)) == 1
    assert m.facts(now=LATER) == []


def test_each_kind_of_doubt_is_in_the_queue(m, tmp_path):
    m.set_fact("denied", "v", confidence=0.3, now=NOW)
    opinions.deny(m.store, "denied", now=NOW, source="user:a", run="r1")
    m.set_fact("edited", "before", now=NOW)
    path = tmp_path / "store/facts/edited.md"
    path.write_text(path.read_text().replace("before", "after"))
    m.set_fact("gone path", "v", check="path:no-such-file", now=NOW)
    verify.verify(m.store, None, now=NOW)
    m.set_fact("base", "v", now=NOW)
    m.set_fact("derived", "w", derived_from=("base",), now=NOW)
    m.set_fact("base", "v2", now=LATER)
    m.set_fact("hot", "it is hot", now=NOW)
    m.set_fact("cold", "it is cold", now=NOW)
    relations.relate(m.store, "hot", "opposite", "cold", now=NOW)
    procedural.propose(m.store, "p", (Step(name="", action="do"),), now=NOW)
    m.set_fact("port", "the service listens on port 8080", now=NOW)
    m.set_fact("firewall", "open 8080, because the service listens on that port", now=NOW)
    m.set_fact("port", "the service listens on port 9090", now=LATER)
    assert kinds(m, LATER) == [
        ("procedure", "p"),
        ("doubted", "denied"),
        ("drift", "edited"),
        ("stale", "gone path"),
        ("basis", "derived"),
        ("contradiction", "hot"),
        ("echo", "firewall"),
    ]


def test_keeping_a_doubted_fact_clears_it(m):
    m.set_fact("k", "v", confidence=0.3, now=NOW)
    opinions.deny(m.store, "k", now=NOW, source="user:a", run="r1")
    review.accept(m.store, "k", now=LATER, by="user:anna")
    assert kinds(m, LATER) == []


def test_a_contradiction_is_settled_by_rejecting_a_side(m):
    m.set_fact("hot", "it is hot", now=NOW)
    m.set_fact("cold", "it is cold", now=NOW)
    relations.relate(m.store, "hot", "opposite", "cold", now=NOW)
    with pytest.raises(errors.Refused):
        review.accept(m.store, "hot", now=NOW, by="user:anna")
    review.reject(m.store, "hot", now=NOW, by="user:anna")
    assert kinds(m) == []
    assert m.restore("hot", now=NOW).text == "it is hot"


def test_an_item_that_names_a_withheld_rival_carries_its_label(m):
    m.set_fact("hot", "it is hot", now=NOW)
    m.set_fact("cold", "it is cold", sensitivity="restricted", now=NOW)
    relations.relate(m.store, "hot", "opposite", "cold", now=NOW)
    assert [str(i.sensitivity) for i in review.queue(m.store, NOW)] == ["restricted"]


def test_what_is_not_in_the_queue_cannot_be_accepted(m):
    with pytest.raises(errors.NotFound):
        review.accept(m.store, "nothing", now=NOW)


def git(folder, *words):
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", "-C", folder, *identity, *words], check=True, capture_output=True)


@pytest.fixture
def tracked(m, tmp_path):
    """A store in a folder of a repository, with one commit."""
    m.set_fact("kept", "v", source="user:anna", now=NOW)
    m.set_fact("port", "8080", source="user:anna", now=NOW)
    m.set_fact("label", "v", source="user:anna", sensitivity="sensitive", now=NOW)
    m.set_fact("lost", "v", source="user:anna", now=NOW)
    m.set_fact("secret plan", "v", source="user:anna", sensitivity="restricted", now=NOW)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "before")
    return m


def change(m):
    return [(c.kind, c.key) for c in revisions.diff(revision.Revision(m.store, "HEAD"), m.store)]


def faults(m):
    return [(f.code, f.key) for f in revisions.faults(revision.Revision(m.store, "HEAD"), m.store)]


def test_a_revision_reads_like_the_store_it_was(tracked, tmp_path):
    tracked.set_fact("port", "9090", source="user:anna", now=LATER)
    was = {f.key: f.text for f in facts.every(revision.Revision(tracked.store, "HEAD"))}
    assert was == {"kept": "v", "port": "8080", "label": "v", "lost": "v", "secret plan": "v"}


def test_nothing_changed_is_nothing_said(tracked):
    assert change(tracked) == []
    assert faults(tracked) == []


def test_a_clean_change_has_meaning_and_no_faults(tracked):
    tracked.set_fact("port", "9090", source="user:anna", now=LATER)
    tracked.set_fact("new", "v", source="user:anna", now=LATER)
    tracked.forget("lost", now=LATER)
    assert change(tracked) == [("removed", "lost"), ("added", "new"), ("superseded", "port")]
    assert [f for f in faults(tracked) if f[0] != "removed_silently"] == []


def test_an_episode_of_a_change_is_named_by_its_task_or_its_text(tracked):
    tracked.add_episode("moved it", task="Move", now=LATER)
    tracked.add_episode("wrote the docs", now=LATER)
    assert sorted(change(tracked)) == [("episode", "Move"), ("episode", "wrote the docs")]


def test_the_gate_refuses_each_fault(tracked, tmp_path):
    store = tmp_path / "store/facts"
    token = "ghp_" + "a1B2" * 9
    tracked.set_fact("hand", "v", now=LATER)
    (store / "token.md").write_text(f"---\nkey: token\nsensitivity: internal\n---\n\n{token}\n")
    tracked.set_fact("label", sensitivity="public", now=LATER)
    (store / "lost.md").unlink()
    (store / "lost.meta.json").unlink()
    port = store / "port.md"
    port.write_text(port.read_text().replace("8080", "7070"))
    found = faults(tracked)
    assert ("unsourced", "hand") in found
    assert ("secret", "token") in found
    assert ("lowered", "label") in found
    assert ("removed_silently", "lost") in found
    assert ("contradiction", "port") in found


def test_a_revision_that_git_does_not_know_is_said(tracked):
    for name in ("no-such-branch", "--output=/tmp/x", ""):
        with pytest.raises(errors.MemcliError):
            revision.Revision(tracked.store, name)


def test_a_store_outside_git_is_said(m):
    with pytest.raises(errors.NotFound):
        revision.Revision(m.store, "HEAD")


def test_a_revision_cannot_be_written(tracked):
    with pytest.raises(errors.SystemFailure):
        revision.Revision(tracked.store, "HEAD").writing()


def test_an_approved_procedure_leaves_the_queue(m):
    procedural.propose(m.store, "p", (Step(name="", action="do"),), now=NOW, source="agent:a")
    review.accept(m.store, "p", now=NOW, by="user:anna")
    assert procedures.get(m.store, "p").state == "trial"
    assert kinds(m) == []
