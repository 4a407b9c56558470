"""memcli's own commands: every kill, failed call and power cut leaves old or new (R1, R2, R3, R8, S3)."""

import importlib.util
import pathlib
import random
from collections.abc import Iterator

import pytest

from . import powerloss, walk
from .harness import KILLS, SIX_ERRNOS, Argv, Case, Rig, Server, errno_modes

ENTRY = "memcli.cli.main:main"
NOW = "2026-11-15T09:00:00Z"
ACT = "2026-11-15T10:00:00Z"
RECOVER = "2026-11-15T10:30:00Z"
READ = "2026-11-15T11:00:00Z"
CANARY = "kingfisher"
KEY = "deploy target"
SHOWN = 12  # problems in a failure's message

# A normal run's share of what `-m full` does whole.
SECOND_KILLS = POWER_CUTS = 10
STEPS, STEPS_A_STORE, ALL_KILLS = 100, 200, 10_000
FULL_SECONDS = 3600

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("memcli.cli.fact") is None, reason="memcli has no fact commands yet"
)


def memcli(*words: str, now: str = READ) -> Argv:
    return ("--store", "{store}", "--now", now, *words)


def fact_set(text: str, label: str, *, now: str = ACT) -> Argv:
    return memcli("fact", "set", KEY, text, "--sensitivity", label, "--source", "user:anna", now=now)


INIT = memcli("init", now=NOW)
OTHER = memcli("fact", "set", "another key", "another value", "--sensitivity", "public", now=NOW)
WRITER = memcli("fact", "set", "another key", "changed", "--sensitivity", "public", now=RECOVER)
DOCTOR = (memcli("doctor", "--fix", now=RECOVER),)
RIGHTS = ("--reveal", "--json")
OPEN_FACT = (
    memcli("fact", "get", KEY, *RIGHTS),
    memcli("fact", "history", KEY, "--clearance", "restricted", "--json"),
    memcli("fact", "list", "--clearance", "restricted", "--json"),
)
LOW_FACT = (
    memcli("fact", "get", KEY),
    memcli("fact", "list", "--json"),
    memcli("fact", "history", KEY, "--json"),
    memcli("context"),
)


def fact_case(
    name: str, old: tuple[str, str] | None, command: Argv, more: tuple[Argv, ...] = (), *, canary: bool = False
) -> Case:
    """The prepared store has another fact too, which must come through untouched (it is in the list)."""
    before = (fact_set(*old, now=NOW),) if old else more
    return Case(
        name=name,
        prepare=(INIT, OTHER, *before),
        command=command,
        readings=(*OPEN_FACT, *LOW_FACT),
        writer=WRITER,
        recovery=DOCTOR,
        low=LOW_FACT if canary else (),
        canary=CANARY if canary else "",
    )


EPISODES = (
    memcli("episode", "list", "--clearance", "restricted", "--json"),
    memcli("episode", "list", "--json"),
    memcli("context"),
)


def episode_case(name: str, before: tuple[Argv, ...], command: Argv) -> Case:
    return Case(
        name=name,
        prepare=(INIT, OTHER, *before),
        command=command,
        readings=EPISODES,
        writer=WRITER,
        recovery=DOCTOR,
    )


EPISODE = memcli("episode", "add", "Moved the webhooks;\nreplayed 214 of them.", "--task", "Move billing", now=ACT)
SECRET, PLAIN = f"{CANARY} behind the gate", "Fly.io, region fra"

OLD_KEY = "where we deploy"
FORGOTTEN = (fact_set(PLAIN, "internal", now=NOW), memcli("fact", "forget", KEY, "--yes", now=NOW))
RENAMED = (memcli("fact", "set", OLD_KEY, PLAIN, now=NOW),)

CASES = [
    fact_case("create", None, fact_set(PLAIN, "internal")),
    fact_case("update", ("Heroku", "internal"), fact_set(PLAIN, "internal")),
    fact_case("label up", (PLAIN, "public"), fact_set(PLAIN, "restricted")),
    fact_case("label down", (PLAIN, "restricted"), fact_set(PLAIN, "public")),
    fact_case("label up, new text", (PLAIN, "public"), fact_set(SECRET, "restricted"), canary=True),
    fact_case("label down, new text", (SECRET, "restricted"), fact_set(PLAIN, "public"), canary=True),
    fact_case("forget", (PLAIN, "internal"), memcli("fact", "forget", KEY, "--yes", now=ACT)),
    fact_case("restore", None, memcli("fact", "restore", KEY, now=ACT), FORGOTTEN),
    fact_case("rename", None, memcli("fact", "rename", OLD_KEY, KEY, now=ACT), RENAMED),
    episode_case("first episode", (), EPISODE),
    episode_case("next episode", (memcli("episode", "add", "An earlier one.", now=NOW),), EPISODE),
]


@pytest.fixture(scope="module")
def server(shim: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(shim, ENTRY, tmp_path_factory.mktemp("home")) as server:
        yield server


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def rig(request: pytest.FixtureRequest, server: Server, scratch: pathlib.Path) -> Rig:
    return Rig(server, request.param, scratch)


def judge(found: list[list[str]]) -> None:
    """One failure for all points: how many of them, and the first problems."""
    bad = [problems for problems in found if problems]
    lines = [line for problems in bad for line in problems]
    if bad:
        pytest.fail("\n".join([f"{len(bad)} of {len(found)} points", *lines[:SHOWN]]), pytrace=False)


def test_a_kill_leaves_old_or_new(rig: Rig) -> None:
    judge([rig.check(point) for point in rig.points(KILLS)])


def test_a_failed_call_leaves_old_or_new(rig: Rig) -> None:
    judge([rig.check(point) for point in rig.points(("short", *errno_modes()))])


@pytest.mark.full
@pytest.mark.timeout(FULL_SECONDS)
def test_any_failed_call_leaves_old_or_new(rig: Rig) -> None:
    judge([rig.check(point) for point in rig.points(errno_modes(SIX_ERRNOS))])


def test_a_second_kill_inside_the_recovery(rig: Rig) -> None:
    dice = random.Random(rig.case.name)
    points = dice.choices(rig.points(("before", "half")), k=SECOND_KILLS)
    judge([rig.check_second(point, *dice.choice(rig.second_points(point))) for point in points])


@pytest.mark.full
@pytest.mark.timeout(FULL_SECONDS)
def test_every_second_kill_inside_the_recovery(rig: Rig) -> None:
    points = rig.points(("before", "half"))
    judge([rig.check_second(point, *later) for point in points for later in rig.second_points(point)])


def test_a_power_cut_leaves_old_or_new(rig: Rig) -> None:
    states = powerloss.enumerate_states(rig)
    chosen = random.Random(rig.case.name).sample(states, min(POWER_CUTS, len(states)))
    judge([powerloss.check(rig, state) for state in chosen])


@pytest.mark.full
@pytest.mark.timeout(FULL_SECONDS)
def test_every_power_cut_leaves_old_or_new(rig: Rig) -> None:
    judge([powerloss.check(rig, state) for state in powerloss.enumerate_states(rig)])


def test_a_power_cut_after_a_kill_and_another_try(rig: Rig) -> None:
    judge([powerloss.check_after_kill(rig, point) for point in rig.points(("before",))])


def test_a_random_history(server: Server, scratch: pathlib.Path) -> None:
    history = walk.Walk(server, scratch, seed=1)
    judge([history.step() for _ in range(STEPS)] + [history.end()])


@pytest.mark.full
@pytest.mark.timeout(FULL_SECONDS)
def test_ten_thousand_random_kills(server: Server, scratch: pathlib.Path) -> None:
    kills, found, seed = 0, [], 1
    while kills < ALL_KILLS:
        seed += 1
        history = walk.Walk(server, scratch, seed)
        found += [history.step() for _ in range(STEPS_A_STORE)] + [history.end()]
        kills += history.kills
    judge(found)
