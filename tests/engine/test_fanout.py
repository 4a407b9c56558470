"""Refuting a value lists at once what else says it or was derived from it, and the same waits for review."""

import pytest
from support import CANARY, Box, stamp

OLD = "The production database runs on host alpha7"


@pytest.fixture
def told(box: Box) -> Box:
    box.set("db host", OLD)
    box.set("runbook", f"Restart: {OLD}, so ssh there")
    box.set("plan", "move the backups", "--derived-from", "db host")
    box.set("other", "Staging runs on host beta2")
    box.add(f"Found that {OLD.lower()} and rebooted it", "--task", "reboot")
    box.add("Nothing of interest", "--task", "lunch")
    return box


def affected(data: dict) -> set[tuple[str, str, str]]:
    return {(a["layer"], a["name"], a["why"]) for a in data["affected"]}


ALL = {
    ("facts", "runbook", "says the same"),
    ("facts", "plan", "derived from it"),
    ("episodes", "reboot", "says the same"),
}


def test_a_new_value_lists_what_still_says_the_old_one(told: Box) -> None:
    data = told.data("fact", "set", "db host", "It moved to beta9")
    assert (affected(data), data["affected_withheld"]) == (ALL, 0)
    waiting = {(i["kind"], i["key"]) for i in told.data("review", "list")}
    assert waiting == {("echo", "runbook"), ("basis", "plan"), ("echo", "reboot")}


def test_a_denial_lists_the_same_and_it_waits_until_somebody_confirms(told: Box) -> None:
    assert affected(told.data("fact", "deny", "db host", "--run", "r9", now=stamp(minutes=1))) == ALL
    waiting = {(i["kind"], i["key"]) for i in told.data("review", "list", now=stamp(minutes=2))}
    assert waiting == {("echo", "runbook"), ("basis", "plan"), ("echo", "reboot")}
    told.ok("fact", "confirm", "db host", "--run", "r10", now=stamp(minutes=3))
    assert told.data("review", "list", now=stamp(minutes=4)) == []


def test_a_confirmation_lists_nothing(told: Box) -> None:
    assert "affected" not in told.data("fact", "confirm", "db host", "--run", "r9")


def test_what_the_new_value_still_says_is_not_refuted(told: Box) -> None:
    data = told.data("fact", "set", "db host", f"{OLD}, since May")
    assert affected(data) == {("facts", "plan", "derived from it")}


def test_a_value_of_a_word_or_two_is_not_looked_for(box: Box) -> None:
    box.set("port", "8080 tcp")
    box.set("proxy", "listens on 8080 tcp")
    assert box.data("fact", "set", "port", "9090")["affected"] == []


def test_on_the_shell_it_is_a_line_each_on_stderr(told: Box) -> None:
    ran = told.ok("fact", "set", "db host", "It moved to beta9")
    assert ran.out == "superseded\n"
    assert "says the same: runbook (facts)" in ran.err
    assert "memcli review list" in ran.err


def test_what_is_withheld_is_only_counted(told: Box) -> None:
    told.set("secret plan", f"{CANARY}: sell it", "--derived-from", "db host", "--sensitivity", "restricted")
    ran = told.ok("fact", "set", "db host", "It moved to beta9", "--json")
    assert CANARY not in ran.out + ran.err
    assert "secret plan" not in ran.out + ran.err
    assert '"affected_withheld": 1' in ran.out


def test_a_withheld_value_does_not_say_what_says_the_same(told: Box) -> None:
    told.ok("fact", "set", "db host", "--sensitivity", "restricted")
    data = told.data("fact", "set", "db host", "It moved to beta9")
    assert (data["affected"], data["affected_withheld"]) == ([], 3)


def test_an_episode_that_a_person_lets_stand_waits_no_more(told: Box) -> None:
    told.ok("fact", "set", "db host", "It moved to beta9")
    [ref] = [i["ref"] for i in told.data("review", "list") if i["key"] == "reboot"]
    told.ok("review", "accept", ref)
    assert "reboot" not in [i["key"] for i in told.data("review", "list")]
    assert len(told.data("episode", "list")) == 2  # nothing of it was touched


def test_an_episode_that_a_person_rejects_goes_to_the_trash(told: Box) -> None:
    told.ok("fact", "set", "db host", "It moved to beta9")
    [ref] = [i["ref"] for i in told.data("review", "list") if i["key"] == "reboot"]
    told.ok("review", "reject", ref)
    assert [e["task"] for e in told.data("episode", "list")] == ["lunch"]
    told.ok("restore", ref)


def test_a_damaged_index_does_not_hide_that_the_value_was_written(told: Box) -> None:
    told.ok("search", "database")
    for path in (told.root / ".memcli").glob("index.*.sqlite*"):
        path.write_bytes(b"garbage" * 1000)
    assert affected(told.data("fact", "set", "db host", "It moved to beta9")) == ALL
