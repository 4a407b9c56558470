"""The sweep writes down what has become true, once; it stops where a wrong clock would destroy, and never beats a newer write."""

import os
import threading
from datetime import timedelta

import pytest
from support import CANARY, Box, at, stamp
from support import call as run_words

from memcli.base import errors, lock
from memcli.engine import remember, sweep
from memcli.model import records
from memcli.store import episodes, facts

SOURCE = records.Source(id="anna", kind="user")


def fact(number: int, **more: object) -> records.Fact:
    given = {"confidence": 0.9, "created_at": at(), "updated_at": at()} | more
    return records.Fact(
        id=f"0199e4a0-5b00-7c3e-9a51-{number:012x}", key=f"key {number}", text=f"value {number}", source=SOURCE, **given
    )  # type: ignore[arg-type]


def fill(box: Box, count: int, start: int = 0, **more: object) -> None:
    with box.store.writing() as w:
        facts.put_many(w, [(fact(n, **more), None) for n in range(start, start + count)], at())


def failed_episodes(
    box: Box, count: int, *, importance: float = 0.5, days: int = 8, start: int = 0, outcome: str = "failed"
) -> None:
    made = [
        records.Episode(
            id=f"0199e4a0-5b01-7c3e-9a51-{n:012x}",
            at=at(days=-days),
            text=f"e{n}",
            source=SOURCE,
            outcome=outcome,
            importance=importance,
            ttl_minutes=0,
        )
        for n in range(start, start + count)
    ]
    with box.store.writing() as w:
        episodes.append_many(w, episodes.month_of(at(days=-days)), made, at())


def keys_of(box: Box) -> set[str]:
    return {f.key for f in facts.every(box.store)}


# What it does.


def test_what_has_ended_goes_to_the_archive_and_says_so_once(box: Box) -> None:
    box.set("expires", "v", "--ttl", "1h")
    box.set("fades", "v", "--confidence", "0.15", "--ttl", "0")
    box.set("stays", "v", "--importance", "0.9", "--confidence", "0.15")
    box.add("ends", "--ttl", "1h")
    box.add("stays", "--ttl", "0")
    later = stamp(days=120)
    readers = [("fact", "list"), ("episode", "list"), ("context",)]

    def shown() -> list[str]:
        lines = [line for r in readers for line in box.ok(*r, now=later).out.splitlines()]
        return [line for line in lines if not line.startswith(("<", "memory "))]

    before = shown()
    ran = box.ok("sweep", now=later)
    assert ran.out == "ended: 1 expired facts, 1 faded facts, 1 expired episodes\n"
    assert ran.err == ""
    assert shown() == before
    assert keys_of(box) == {"stays"}
    assert [e["text"] for e in box.data("episode", "list", now=later)] == ["stays"]
    once = box.touched()
    again = box.ok("sweep", now=later)
    assert (again.out, again.err) == ("", "")
    assert box.data("sweep", now=later) == {"actions": [], "skipped": 0, "counts": {}}
    assert box.touched() == once
    for key in ("expires", "fades"):
        box.ok("restore", key, now=later)
    assert keys_of(box) == {"stays", "expires", "fades"}


@pytest.mark.parametrize("kind", ["fact", "episode"])
def test_it_ends_a_record_in_the_second_in_which_its_ttl_runs_out(box: Box, kind: str) -> None:
    box.set("k", "v", "--ttl", "30d") if kind == "fact" else box.add("v", "--ttl", "30d")
    assert box.ok("sweep", now=stamp(days=30, seconds=-1)).out == ""
    assert box.ok("sweep", now=stamp(days=30)).out == f"ended: 1 expired {kind}s\n"


def test_dry_run_writes_nothing_and_says_what_a_sweep_would_do(box: Box) -> None:
    fill(box, 30, ttl_minutes=60)
    box.add("ends", "--ttl", "1h")
    before = box.tree(state=True)
    later = stamp(hours=1)
    would = box.data("sweep", "--dry-run", now=later)
    assert box.ok("sweep", "--dry-run", now=later).out == "would end: 30 expired facts, 1 expired episodes\n"
    assert box.tree(state=True) == before
    assert box.data("sweep", "--yes", now=later) == would


def test_the_report_names_no_key_text_or_tag(box: Box) -> None:
    box.set(f"{CANARY} key", f"{CANARY} text", "--tag", CANARY, "--sensitivity", "restricted", "--ttl", "1")
    box.add(f"{CANARY} text", "--ttl", "1", "--task", CANARY)
    later = stamp(hours=1)
    for words in (("--dry-run",), ("--dry-run", "--json"), ("--json",), ()):
        ran = box.ok("sweep", *words, now=later)
        assert CANARY not in ran.out + ran.err


def test_two_thousand_in_one_go(box: Box) -> None:
    fill(box, 2000, ttl_minutes=60)
    fill(box, 50, start=5000)
    assert box.ok("sweep", "--yes", now=stamp(hours=1)).out == "ended: 2000 expired facts\n"
    assert keys_of(box) == {f"key {n}" for n in range(5000, 5050)}
    assert len(list((box.root / "archive").glob("*.jsonl"))) == 2000
    assert box.ok("sweep", now=stamp(hours=1)).out == ""
    box.ok("restore", "key 1234", now=stamp(hours=1))
    assert box.get("key 1234", now=stamp(hours=1)) == "value 1234"


def test_it_works_in_batches_so_that_other_writers_get_their_turn(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(box, 700, ttl_minutes=60)
    held: list[int] = []
    plain = facts.remove
    monkeypatch.setattr(
        facts, "remove", lambda w, gone, *a, **kw: (held.append(len(gone)), plain(w, gone, *a, **kw))[1]
    )
    box.ok("sweep", "--yes", now=stamp(hours=1))
    assert sum(held) == 700
    assert max(held) <= 500


# What it must not end.


@pytest.mark.parametrize("state", ["damaged", "conflict", "half", "bare"])
def test_what_cannot_be_read_as_a_whole_is_not_taken_out(box: Box, state: str) -> None:
    box.set("k", "one", "--ttl", "1h")
    old = {p: p.read_bytes() for p in (box.md("k"), box.side("k"))}
    if state == "damaged":
        box.side("k").write_bytes(b"{")
    elif state == "bare":
        box.side("k").unlink()
    elif state == "half":
        box.set("k", "two")
        box.md("k").write_bytes(old[box.md("k")])
    else:
        for path in old:
            path.unlink()
        box.set("k", "two", "--ttl", "1h", "--sensitivity", "sensitive")
        for path, data in old.items():
            path.write_bytes(data)
    assert box.fact("k").state == state
    before = box.tree()
    assert box.ok("sweep", now=stamp(days=9000)).out == ""
    assert box.tree() == before


def test_a_damaged_entry_is_not_taken_out(box: Box) -> None:
    made = box.add("text", "--ttl", "1h")
    box.log().write_text(box.log().read_text().replace('"sensitivity":"internal"', '"sensitivity":"odd"'))
    before = box.tree()
    assert box.ok("sweep", now=stamp(days=900)).out == ""
    assert box.tree() == before
    assert made in box.log().read_text()


def test_failed_episodes_are_pruned_only_when_there_are_more_than_500(box: Box) -> None:
    failed_episodes(box, 500)
    assert box.ok("sweep").out == ""
    box.add("one more", "--ttl", "0")
    assert box.ok("sweep").out == "ended: 500 pruned episodes\n"
    assert [e["text"] for e in box.data("episode", "list", "-n", "0")] == ["one more"]
    assert box.ok("sweep").out == ""


def test_only_failed_old_and_ordinary_episodes_are_pruned(box: Box) -> None:
    failed_episodes(box, 3)
    failed_episodes(box, 2, importance=0.8, start=10)
    failed_episodes(box, 2, days=6, start=20)
    failed_episodes(box, 500, outcome="completed", start=100)
    assert box.ok("sweep").out == "ended: 3 pruned episodes\n"
    box.ok("restore", "0199e4a0-5b01-7c3e-9a51-000000000001")


def test_what_a_later_episode_says_again_is_pruned_once_there_are_too_many(box: Box) -> None:
    toml = box.root / "memcli.toml"
    toml.write_text(toml.read_text() + "\n[sweep]\nmax_episodes = 5\n")
    first = box.add("Deployed release 1.20 to production.", "--task", "release", "--outcome", "completed")
    box.add("deployed  release 1.20 to production", "--task", "release", "--outcome", "completed", now=stamp(minutes=1))
    kept = box.add(
        "Deployed release 1.20 to production", "--task", "release", "--importance", "0.8", now=stamp(minutes=2)
    )
    box.add("Deployed release 1.20 to production", "--task", "release", "--outcome", "failed", now=stamp(minutes=3))
    box.add("Deployed release 1.21 to production", "--task", "release", "--outcome", "completed", now=stamp(minutes=4))
    assert box.ok("sweep", now=stamp(hours=1)).out == ""  # five are not too many
    box.add("something else", now=stamp(minutes=5))
    assert box.ok("sweep", now=stamp(hours=1)).out == "ended: 1 pruned episodes\n"
    left = [e["id"] for e in box.data("episode", "list", "-n", "0", now=stamp(hours=1))]
    assert first not in left
    assert kept in left
    assert len(left) == 5
    assert box.ok("sweep", now=stamp(hours=1)).out == ""
    box.ok("restore", first)


def test_what_only_looks_alike_is_no_repetition(box: Box) -> None:
    toml = box.root / "memcli.toml"
    toml.write_text(toml.read_text() + "\n[sweep]\nmax_episodes = 1\n")
    told = [
        ("We did deploy it",), ("We did not deploy it",), ("temperature was -5",), ("temperature was 5",), ("😀😀",), ("🚀",),
        ("mail anna@larder.example", "--allow-pii"), ("mail sam@larder.example", "--allow-pii"),
        ("jam fixed", "--source", "agent:good"), ("jam fixed", "--source", "agent:bad"),
        ("queue emptied", "--ttl", "0"), ("tenant moved", "--tool", "a"), ("tenant moved", "--tool", "b"),
    ]  # fmt: skip
    for n, words in enumerate(told):
        box.add(*words, now=stamp(minutes=n))
    lasting = box.data("episode", "list", "-n", "0", now=stamp(minutes=30))
    box.add("queue emptied", "--ttl", "1d", now=stamp(minutes=40))  # later, but it ends sooner
    assert box.ok("sweep", now=stamp(hours=1)).out == "ended: 1 pruned episodes\n"
    assert box.data("episode", "list", "-n", "0", now=stamp(hours=1)) == lasting


# The brake.


@pytest.mark.parametrize(
    ("live", "ending", "code"),
    [(40, 10, 0), (55, 11, 0), (54, 11, 6), (11, 11, 6), (10, 10, 0), (100, 20, 0), (100, 21, 6)],
)
def test_more_than_a_fifth_and_more_than_ten_of_the_facts_stop_it(box: Box, live: int, ending: int, code: int) -> None:
    fill(box, ending, ttl_minutes=60)
    fill(box, live - ending, start=1000)
    before = box.tree()
    ran = box.run(
        "sweep",
        now=stamp(hours=1),
    )
    assert ran.code == code
    if code:
        assert (ran.out, ran.err.count("\n")) == ("", 1)
        assert "go on with: memcli sweep --yes" in ran.err
        assert box.tree() == before
        assert box.run("sweep", "--json", now=stamp(hours=1)).error["code"] == "brake"
        box.ok("sweep", "--yes", now=stamp(hours=1))
    assert len(keys_of(box)) == live - ending


@pytest.mark.parametrize(
    ("newest", "code"), [({"hours": 24}, 0), ({"hours": 24, "seconds": 1}, 6), ({"days": 20_000}, 6)]
)
@pytest.mark.parametrize("kind", ["fact", "episode"])
def test_a_clock_behind_the_newest_record_stops_it(box: Box, newest: dict[str, float], code: int, kind: str) -> None:
    box.set("ends", "v", "--ttl", "1", now=stamp(hours=-1))
    for name, late in (("new", 0), ("newer", 43200)):  # two days, so that neither lies alone
        when = stamp(**newest | {"seconds": newest.get("seconds", 0) + late - 43200})
        box.set(name, "v", now=when) if kind == "fact" else box.add(name, now=when)
    ran = box.run("sweep")
    assert ran.code == code
    if code:
        assert "go on with: memcli sweep --yes" in ran.err
        assert keys_of(box) >= {"ends"}
        assert box.ok("sweep", "--yes").out == "ended: 1 expired facts\n"


@pytest.mark.parametrize(
    "wrong", ["2099-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z"]
)
def test_a_wrong_clock_destroys_nothing(sample: Box, wrong: str) -> None:
    before = sample.tree()
    assert sample.run("sweep", now=wrong).code == 6
    assert sample.tree() == before


def test_after_a_sweep_under_a_wrong_clock_everything_comes_back(box: Box) -> None:
    fill(box, 20, confidence=0.5)
    box.ok("sweep", "--yes", now="2099-01-01T00:00:00Z")
    assert keys_of(box) == set()
    for number in range(20):
        box.ok("restore", f"key {number}")
    assert keys_of(box) == {f"key {n}" for n in range(20)}


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("kind", ["fact", "episode"])
def test_one_day_that_lies_alone_ahead_of_the_others_stops_no_sweep(box: Box, kind: str, times: int) -> None:
    box.set("ends", "v", "--ttl", "1", now=stamp(hours=-1))
    for n in range(times):
        box.set(f"k{n}", "v", now=stamp(days=1500)) if kind == "fact" else box.add("x", now=stamp(days=1500))
    assert "future" in {f["code"] for f in box.run("doctor", "--json").data}
    assert box.ok("sweep").out == "ended: 1 expired facts\n"


def test_two_days_ahead_are_a_clock_that_is_behind(box: Box) -> None:
    box.set("ends", "v", "--ttl", "1", now=stamp(hours=-1))
    for days in (1500, 1501):
        box.set(f"k{days}", "v", now=stamp(days=days))
    assert box.run("sweep").code == 6


@pytest.mark.parametrize("at_", [{"days": 1, "seconds": 1}, {"days": 1500}])
def test_no_episode_is_added_that_lies_more_than_a_day_ahead(box: Box, at_: dict[str, float]) -> None:
    before = box.tree()
    ran = box.run("episode", "add", "x", "--at", stamp(**at_))
    assert (ran.code, ran.out) == (2, "")
    assert "more than a day ahead" in ran.err
    with pytest.raises(errors.UsageError, match="more than a day ahead"):
        box.memory.add_episode("x", at=at(**at_), now=at())
    assert box.tree() == before
    box.ok("episode", "add", "x", "--at", stamp(days=1))


def test_the_brake_names_the_store_and_the_tenant_of_the_command_line(box: Box) -> None:
    box.ok("--tenant", "two", "init")
    lines = "".join(f'{{"kind":"fact","key":"k{i}","text":"v","ttl_minutes":60}}\n' for i in range(11))
    box.ok("--tenant", "two", "import", "jsonl", "-", "--trusted", stdin=lines.encode())
    words = box.words("--tenant", "two", "sweep", now=stamp(days=90))
    ran = run_words(words)
    named = f"memcli --store {box.root} --tenant two sweep"
    assert ran.code == 6
    assert f"look with: {named} --dry-run; go on with: {named} --yes" in ran.err
    assert f"{named} --yes" in run_words([*words, "--json"]).error["hint"]


def test_the_brake_names_no_store_where_the_command_line_names_none(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(box, 11, ttl_minutes=60)
    monkeypatch.setenv("MEMCLI_STORE", str(box.root))
    ran = run_words(["--now", stamp(hours=1), "sweep"])
    assert ran.code == 6
    assert "go on with: memcli sweep --yes" in ran.err


def test_a_dry_run_says_that_the_sweep_would_stop(box: Box) -> None:
    fill(box, 11, ttl_minutes=60)
    ran = box.run("sweep", "--dry-run", now=stamp(hours=1))
    assert (ran.code, ran.out) == (0, "would end: 11 expired facts\n")
    assert "the sweep itself would stop: 11 of 11 facts would end" in ran.err
    assert "go on with: memcli sweep --yes" in ran.err
    assert box.ok("sweep", "--dry-run", "--yes", now=stamp(hours=1)).err == ""
    assert box.ok("sweep", "--dry-run").err == ""


def test_the_file_time_of_a_hand_made_file_is_no_clock(box: Box) -> None:
    box.md("k").write_text("---\nkey: k\nsensitivity: internal\n---\n\nby hand\n")
    future = at(days=9000).timestamp()
    os.utime(box.md("k"), (future, future))
    box.set("ends", "v", "--ttl", "1")
    assert box.ok("sweep", now=stamp(hours=1)).out == "ended: 1 expired facts\n"


# Races.


@pytest.mark.parametrize("change", ["value", "ttl", "forgotten", "renamed"])
def test_what_was_refreshed_between_plan_and_apply_survives(box: Box, change: str) -> None:
    box.set("k", "v", "--ttl", "1h")
    now = at(hours=1)
    plan = sweep.plan(box.store, now)
    assert [a.key for a in plan.actions] == ["k"]
    early = stamp(minutes=59)
    words = {
        "value": ("fact", "set", "k", "w"),
        "ttl": ("fact", "set", "k", "--ttl", "9d"),
        "forgotten": ("forget", "k", "--yes"),
        "renamed": ("fact", "rename", "k", "j"),
    }
    box.ok(*words[change], now=early)
    before = box.tree()
    report = sweep.apply(box.store, plan)
    assert (report.done, report.skipped) == ((), plan.actions)
    assert box.tree() == before


def test_an_episode_that_was_forgotten_between_plan_and_apply_is_skipped(box: Box) -> None:
    made = box.add("text", "--ttl", "1h")
    plan = sweep.plan(box.store, at(hours=1))
    box.ok("forget", made, "--yes")
    assert sweep.apply(box.store, plan).skipped == plan.actions


def test_a_writer_that_refreshes_while_a_sweep_waits_for_the_lock_wins(box: Box) -> None:
    box.set("k", "v", "--ttl", "1h")
    plan = sweep.plan(box.store, at(hours=1))
    reports: list[sweep.Report] = []
    with box.store.writing() as w:
        sweeping = threading.Thread(target=lambda: reports.append(sweep.apply(box.store, plan)))
        sweeping.start()
        sweeping.join(0.3)
        assert sweeping.is_alive()
        old = facts.get(box.store, "k")
        assert old is not None
        facts.put(w, old.replace(updated_at=old.updated_at + timedelta(hours=1)), old)
    sweeping.join(10)
    assert reports[0].skipped == plan.actions
    assert box.get("k", now=stamp(hours=1)) == "v"


def test_a_sweep_that_cannot_have_the_lock_changes_nothing(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    box.set("k", "v", "--ttl", "1h")
    before = box.tree()
    monkeypatch.setattr(lock, "WAIT_SECONDS", 0.1)
    monkeypatch.setattr(lock.PatientLock.__init__, "__kwdefaults__", {"wait_seconds": 0.1})
    with box.store.writing():
        with pytest.raises(errors.Locked):
            sweep.apply(box.store, sweep.plan(box.store, at(hours=1)))
    assert box.tree() == before


def test_settings_move_the_brake_and_the_pruning(box: Box) -> None:
    toml = box.root / "memcli.toml"
    toml.write_text(
        toml.read_text() + "\n[sweep]\nmax_share = 1.0\nmax_count = 0\nmax_episodes = 3\nfailed_after_days = 1\n"
    )
    fill(box, 30, ttl_minutes=60)
    failed_episodes(box, 4, days=2)
    assert box.ok("sweep", now=stamp(hours=1)).out == "ended: 30 expired facts, 4 pruned episodes\n"


def test_what_the_sample_store_says_has_ended_is_what_a_sweep_ends(sample: Box) -> None:
    seen = sample.data("status")["ended"]
    assert sample.data("sweep")["counts"].get("expired facts", 0) == seen > 0
    assert sample.data("status")["ended"] == 0
    assert sample.ok("sweep").out == ""


def test_a_written_fact_is_never_what_a_sweep_would_end_at_once(box: Box) -> None:
    for number in range(30):
        made = remember.set_fact(box.store, f"k{number}", "v", now=at(), confidence=number / 29)
        assert made.how == "created"
    assert sweep.plan(box.store, at()).actions == ()
