"""Procedures: pending until validated, on trial for three uses, rated by what came of them."""

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from support import call

from memcli.base import errors
from memcli.engine import memory, procedural
from memcli.model import header, policy
from memcli.model.records import Step
from memcli.store import procedures

NOW = datetime(2026, 11, 15, 9, tzinfo=timezone.utc)
STEPS = (
    Step(name="Freeze", action="announce it"),
    Step(name="Ship", action="make ship", parameters={"branch": "main"}),
)


@pytest.fixture
def m(tmp_path):
    return memory.init(tmp_path / "store")


@pytest.fixture
def release(m):
    procedural.propose(
        m.store, "release", STEPS, now=NOW, task_type="release", source="agent:planner", text="How we do it"
    )
    return m


def approve(m, by="user:anna", key="release"):
    return procedural.approve(m.store, key, now=NOW, by=by)


def use(m, *results, key="release", **options):
    for success in results:
        made = procedural.record(m.store, key, success=success, now=NOW, **options)
    return made


def test_a_proposal_is_pending_and_not_served(release):
    assert procedures.get(release.store, "release").state == "pending"
    assert "make ship" not in release.context("release", now=NOW)
    with pytest.raises(errors.Refused):
        use(release, True)


def test_what_was_written_is_read_back(release):
    found = procedures.get(release.store, "release")
    assert (found.steps, found.text, found.task_type) == (STEPS, "How we do it", "release")


def test_a_procedure_without_steps_is_refused(m):
    for steps in ((), (Step(name="a", action=" "),)):
        with pytest.raises(errors.UsageError):
            procedural.propose(m.store, "empty", steps, now=NOW)
    assert procedures.get(m.store, "empty") is None


def test_a_credential_in_a_step_is_refused(m):
    secret = "ghp_" + "a1B2" * 9
    with pytest.raises(errors.SecretFound):
        procedural.propose(m.store, "k", (Step(name="", action=f"use {secret}"),), now=NOW)


@pytest.mark.parametrize("by", ["agent:planner", "unknown:x", "url:https://example.org", "import:y"])
def test_neither_the_proposer_nor_a_stranger_may_approve(release, by):
    with pytest.raises(errors.Refused):
        approve(release, by)
    assert procedures.get(release.store, "release").state == "pending"


@pytest.mark.parametrize("by", ["user:anna", "agent:reviewer"])
def test_a_person_or_a_second_agent_may(release, by):
    made = approve(release, by)
    assert (made.state, str(made.validated_by)) == ("trial", by)
    block = release.context("release", now=NOW)
    assert "on trial" in block
    assert "a starting point, adapt it" in block


def test_three_uses_end_the_trial(release):
    approve(release)
    assert use(release, True, True).state == "trial"
    assert use(release, True).state == "approved"


def test_the_rate_moves_by_a_tenth_of_the_distance(release):
    approve(release)
    assert use(release, True).rate == pytest.approx(0.55)
    assert use(release, False).rate == pytest.approx(0.495)


def test_the_mean_duration_is_that_of_the_uses(release):
    approve(release)
    use(release, True, duration_ms=100)
    assert use(release, True, duration_ms=300).mean_duration_ms == 200


def test_using_it_changes_the_sidecar_alone(release, tmp_path):
    approve(release)
    before = (tmp_path / "store/procedures/release.md").stat().st_mtime_ns
    use(release, True)
    assert (tmp_path / "store/procedures/release.md").stat().st_mtime_ns == before


def test_below_six_tenths_after_three_runs_it_needs_review_and_stays_validated(release):
    approve(release)
    made = use(release, True, False, False)
    assert policy.procedure_review(made, NOW) == "1 of 3 runs succeeded"
    assert made.state == "approved"
    assert "needs review" in release.context("release", now=NOW)


def test_sixty_idle_days_ask_for_review_and_a_use_ends_it(release):
    approve(release)
    made = procedures.get(release.store, "release")
    assert policy.procedure_review(made, NOW + timedelta(days=59)) == ""
    assert policy.procedure_review(made, NOW + timedelta(days=60)) == "idle for 60 days"
    later = NOW + timedelta(days=61)
    made = procedural.record(release.store, "release", success=True, now=later)
    assert policy.procedure_review(made, later) == ""


def test_the_best_are_past_trial_then_by_a_person_then_by_success(m):
    for key, by, results in (
        ("trial", "user:anna", (True,)),
        ("by agent", "agent:b", (True, True, True)),
        ("by person", "user:anna", (True, True, False)),
    ):
        procedural.propose(m.store, key, STEPS, now=NOW, task_type="t", source="agent:planner")
        approve(m, by, key)
        use(m, *results, key=key)
    found = procedural.best(procedures.every(m.store), "t", NOW)
    assert [p.key for p in found] == ["by person", "by agent", "trial"]


def test_a_rejected_one_is_kept_and_never_served(release):
    procedural.reject(release.store, "release", now=NOW, by="user:anna")
    assert procedural.best(procedures.every(release.store), "release", NOW) == []
    assert procedures.get(release.store, "release").state == "rejected"


def test_a_skill_holds_only_portable_fields(release):
    with pytest.raises(errors.Refused):
        procedural.skill(procedures.get(release.store, "release"))
    approve(release)
    name, text = procedural.skill(procedures.get(release.store, "release"))
    front, body = header.split(text)
    assert name == "release"
    assert set(front) == {"name", "description", "metadata"}
    assert all(isinstance(v, str) for v in front["metadata"].values())
    assert "2. make ship" in body


def test_a_skill_name_is_what_the_specification_allows(m):
    import re

    for key in ("Релиз в прод", "C++ -- build!", "x" * 300, "🚀"):
        procedural.propose(m.store, key, STEPS, now=NOW, source="agent:a")
        approve(m, key=key)
        name, _ = procedural.skill(procedures.get(m.store, key))
        assert re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", name), name
        assert len(name) <= 64


def written(release, tmp_path, **options):
    return Path(procedural.write_skill(release.store, "release", str(tmp_path / "skills"), **options))


def test_a_skill_is_written_anew_over_its_own_export_alone(release, tmp_path):
    approve(release)
    path = written(release, tmp_path)
    first = path.read_text()
    assert header.split(first)[0]["metadata"]["id"] == procedures.get(release.store, "release").id
    before = path.stat().st_mtime_ns
    assert written(release, tmp_path) == path
    assert path.stat().st_mtime_ns == before
    use(release, True)
    assert written(release, tmp_path).read_text() != first


@pytest.mark.parametrize("how", ["foreign", "edited", "of another", "no text"])
def test_a_skill_that_is_no_export_of_it_stays_unless_forced(release, tmp_path, how):
    approve(release)
    path = written(release, tmp_path)
    if how == "foreign":
        path.write_text("---\nname: release\ndescription: by hand\n---\n\nmine\n")
    elif how == "edited":
        path.write_text(path.read_text() + "\nAsk Anna first.\n")
    elif how == "of another":
        made = procedures.get(release.store, "release").id
        other = path.read_text().replace(made, "0199e4a0-5b00-7c3e-9a51-0d6a0f1b2c3d")
        path.write_text(other)
    else:
        path.write_bytes(b"\xff\xfe\nmetadata:\n")
    held = path.read_bytes()
    with pytest.raises(errors.Exists) as caught:
        written(release, tmp_path)
    assert "--force" in caught.value.hint
    assert path.read_bytes() == held
    assert "make ship" in written(release, tmp_path, force=True).read_text()


def test_the_command_line_keeps_it_too(release, tmp_path):
    approve(release)
    words = ["--store", release.path, "export", "skill", "release", str(tmp_path)]
    assert call(words).code == 0
    (tmp_path / "release" / "SKILL.md").write_text("mine")
    assert call(words).code == 5
    assert (tmp_path / "release" / "SKILL.md").read_text() == "mine"
    assert call([*words, "--force"]).code == 0
