"""memcli's own commands: every kill, failed call and power cut leaves old or new (R1, R2, R3, R8, S3)."""

import importlib.util
import itertools
import pathlib
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from figures import Record

from . import powerloss, walk
from .harness import KILLS, SIX_ERRNOS, Case, Point, Rig, derived, errno_modes
from .victim import Argv, Server

ENTRY = "memcli.cli.main:main"
NOW = "2026-11-15T09:00:00Z"
EARLY = "2026-11-15T09:10:00Z"
ACT = "2026-11-15T10:00:00Z"
RECOVER = "2026-11-15T10:30:00Z"
READ = "2026-11-15T11:00:00Z"
CANARY = "kingfisher"
KEY = "deploy target"
ERRNOS = "injected errnos: traceback, damage, temp left"
SECOND = "kills during recovery: lost or mixed"
POWER = "power-loss states: lost or mixed"
RANDOM = "random kill points: lost or mixed"
SHOWN = 12  # problems in a failure's message

# A normal run's share of what `-m full` does whole.
MANY_SECOND_KILLS, MANY_ERRNOS = 15, 100
SECOND_KILLS = POWER_CUTS = SOME_KILLS = 10
STEPS, STEPS_A_STORE, ALL_KILLS = 100, 120, 10_000
FULL_SECONDS = 3600

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("memcli.cli.fact") is None, reason="memcli has no fact commands yet"
)


def memcli(*words: str, now: str = READ) -> Argv:
    return ("--store", "{store}", "--now", now, *words)


def fact_set(text: str, label: str, *more: str, now: str = ACT) -> Argv:
    return memcli("fact", "set", KEY, text, "--sensitivity", label, "--source", "user:anna", *more, now=now)


INIT = memcli("init", now=NOW)
OTHER = memcli("fact", "set", "another key", "another value", "--sensitivity", "public", now=NOW)
WRITER = memcli("fact", "set", "another key", "changed", "--sensitivity", "public", now=RECOVER)
DOCTOR = (memcli("doctor", "--fix", now=RECOVER),)


def open_fact(now: str) -> tuple[Argv, ...]:
    """What a reader with every right asks."""
    return (
        memcli("fact", "get", KEY, "--reveal", "--json", now=now),
        memcli("fact", "history", KEY, "--clearance", "restricted", "--json", now=now),
        memcli("fact", "list", "--clearance", "restricted", "--json", now=now),
    )


def low_fact(now: str) -> tuple[Argv, ...]:
    """What a reader of the default clearance asks."""
    return (
        memcli("fact", "get", KEY, now=now),
        memcli("fact", "list", "--json", now=now),
        memcli("fact", "history", KEY, "--json", now=now),
        memcli("context", now=now),
    )


def fact_case(
    name: str,
    old: tuple[Argv, ...],
    command: Argv,
    *,
    canary: bool = False,
    read_at: str = READ,
) -> Case:
    """The prepared store has another fact too, which must come through untouched (it is in the list)."""
    return Case(
        name=name,
        prepare=(INIT, OTHER, *old),
        command=command,
        readings=(*open_fact(read_at), *low_fact(read_at)),
        writer=WRITER,
        recovery=DOCTOR,
        low=low_fact(read_at) if canary else (),
        canary=CANARY if canary else "",
    )


def episode_case(name: str, before: tuple[Argv, ...], command: Argv, *, read_at: str = READ) -> Case:
    readings = (
        memcli("episode", "list", "--clearance", "restricted", "--json", now=read_at),
        memcli("episode", "list", "--json", now=read_at),
        memcli("context", now=read_at),
    )
    prepare = (INIT, OTHER, *before)
    return Case(name=name, prepare=prepare, command=command, readings=readings, writer=WRITER, recovery=DOCTOR)


def procedure_case(name: str, before: tuple[Argv, ...], command: Argv) -> Case:
    readings = (
        memcli("procedure", "list", "--clearance", "restricted", "--json"),
        memcli("procedure", "show", KEY, "--json"),
        memcli("context", "--task-type", "release"),
    )
    prepare = (INIT, OTHER, WAY, *before)
    return Case(name=name, prepare=prepare, command=command, readings=readings, writer=WRITER, recovery=DOCTOR)


WAY = memcli("procedure", "propose", KEY, "--step", "Ship: make ship", "--task-type", "release", now=NOW)
EPISODE = memcli("episode", "add", "Moved the webhooks;\nreplayed 214 of them.", "--task", "Move billing", now=ACT)
LASTING = memcli("episode", "add", "An earlier one.", now=NOW)
BRIEF = memcli("episode", "add", "Brief.", "--ttl", "30m", now=NOW)
SECRET, PLAIN = f"{CANARY} behind the gate", "Fly.io, region fra"
FORGET = ("fact", "forget", KEY, "--yes")
OLD_KEY = "where we deploy"
PURGE = ("fact", "forget", KEY, "--purge", "--yes")
TOLD = ("remember", "The port is 8080.", "--importance", "0.1")


# What a reader sees of proposals, and that no fact came of them.
PROPOSED = (
    memcli("review", "list", "--clearance", "restricted", "--json"),
    memcli("review", "show", "port", "--reveal"),
    memcli("export", "jsonl", "-"),
    memcli("fact", "list", "--clearance", "restricted", "--jsonl"),
    memcli("status"),
)


def rows_of(label: str, *then: Argv) -> tuple[Argv, ...]:
    """A file {store}/rows with one fact that is not here any more, and what happens after it was made."""
    return (
        INIT,
        memcli("fact", "set", "port", "8080", "--sensitivity", label, "--source", "user:anna", now=NOW),
        memcli("export", "jsonl", "{store}/rows", now=NOW),
        memcli("fact", "forget", "port", "--yes", "--purge", "--no-tombstone", now=NOW),
        OTHER,
        *then,
    )


def old(text: str, label: str, *more: str) -> tuple[Argv, ...]:
    return (fact_set(text, label, *more, now=NOW),)


CASES = [
    fact_case("create", (), fact_set(PLAIN, "internal")),
    fact_case("update", old("Heroku", "internal"), fact_set(PLAIN, "internal")),
    fact_case("label up", old(PLAIN, "public"), fact_set(PLAIN, "restricted")),
    fact_case("label down", old(PLAIN, "restricted"), fact_set(PLAIN, "public")),
    fact_case("label up, new text", old(PLAIN, "public"), fact_set(SECRET, "restricted"), canary=True),
    fact_case("label down, new text", old(SECRET, "restricted"), fact_set(PLAIN, "public"), canary=True),
    fact_case("forget", old(PLAIN, "internal"), memcli(*FORGET, now=ACT)),
    episode_case("first episode", (), EPISODE),
    episode_case("next episode", (LASTING,), EPISODE),
]
MORE = [  # every kill in a normal run, the rest with -m full
    fact_case(
        "restore",
        (*old(PLAIN, "internal"), memcli(*FORGET, now=NOW)),
        memcli("fact", "restore", KEY, now=ACT),
    ),
    fact_case(
        "rename",
        (memcli("fact", "set", OLD_KEY, PLAIN, now=NOW),),
        memcli("fact", "rename", OLD_KEY, KEY, now=ACT),
    ),
    # Readers apply an expiry at once: only one from before it can tell whether the sweep has been.
    fact_case("sweep a fact", old(PLAIN, "internal", "--ttl", "30m"), memcli("sweep", now=ACT), read_at=EARLY),
    episode_case("sweep an episode", (LASTING, BRIEF), memcli("sweep", now=ACT), read_at=EARLY),
]
NEWER = [  # some kills in a normal run, every one with -m full
    fact_case("confirm", old(PLAIN, "internal"), memcli("fact", "confirm", KEY, "--run", "r1", now=ACT)),
    Case(
        name="adopt",
        # A file that a person made: what export writes is text, and in facts/ its name is its key.
        prepare=(INIT, OTHER, memcli("export", "jsonl", "{store}/facts/by hand.md", now=NOW)),
        command=memcli("fact", "adopt", "by hand", "--sensitivity", "internal", now=ACT),
        readings=(
            memcli("fact", "get", "by hand", "--reveal"),
            memcli("fact", "list"),
        ),
        writer=WRITER,
        recovery=DOCTOR,
    ),
    fact_case(
        "import",
        (
            *old(PLAIN, "internal"),
            memcli("export", "jsonl", "{store}/rows", now=NOW),
            memcli(*PURGE, "--no-tombstone", now=NOW),
        ),
        memcli("import", "jsonl", "{store}/rows", "--trusted", now=ACT),
    ),
    Case(
        name="import that proposes",
        prepare=rows_of("internal"),
        command=memcli("import", "jsonl", "{store}/rows", now=ACT),
        readings=PROPOSED,
        writer=WRITER,
        recovery=DOCTOR,
    ),
    Case(
        name="import that has seen it again",
        prepare=rows_of("sensitive", memcli(*TOLD, "--session", "s1", now=NOW)),
        command=memcli("import", "jsonl", "{store}/rows", now=ACT),
        readings=PROPOSED,
        writer=WRITER,
        recovery=DOCTOR,
    ),
    Case(
        name="a yes to all",
        prepare=rows_of("internal", memcli("import", "jsonl", "{store}/rows", now=NOW)),
        command=memcli("review", "accept", "--all", "--via", "import", "--by", "user:anna", "--yes", now=ACT),
        readings=(memcli("fact", "list", "--jsonl"), memcli("fact", "get", "port", "--json")),
        writer=WRITER,
        recovery=DOCTOR,
    ),
    procedure_case("forget a procedure", (), memcli("forget", KEY, "--yes", now=ACT)),
    procedure_case("restore a procedure", (memcli("forget", KEY, "--yes", now=NOW),), memcli("restore", KEY, now=ACT)),
    procedure_case("purge a procedure", (), memcli("forget", KEY, "--purge", "--yes", now=ACT)),
    fact_case("purge", old(PLAIN, "internal"), memcli(*PURGE, now=ACT)),
    fact_case(
        "set though purged",
        (*old(PLAIN, "internal"), memcli(*PURGE, now=NOW)),
        fact_set(PLAIN, "internal", "--include-forgotten"),
    ),
    Case(
        name="promotion by a sweep",
        prepare=(INIT, OTHER, *(memcli(*TOLD, "--session", f"s{n}", now=NOW) for n in range(3))),
        command=memcli("sweep", now=ACT),
        readings=(memcli("fact", "list", "--jsonl"), memcli("fact", "get", "port")),
        writer=WRITER,
        recovery=DOCTOR,
    ),
]


@pytest.fixture(scope="module")
def server(shim: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(shim, ENTRY, tmp_path_factory.mktemp("home")) as server:
        yield server


@pytest.fixture(
    params=[*CASES, *(pytest.param(case, marks=pytest.mark.full) for case in (*MORE, *NEWER))], ids=lambda c: c.name
)
def rig(request: pytest.FixtureRequest, server: Server, scratch: pathlib.Path) -> Rig:
    return Rig(server, request.param, scratch)


@pytest.fixture(params=[*CASES, *MORE, *NEWER], ids=lambda case: case.name)
def any_rig(request: pytest.FixtureRequest, server: Server, scratch: pathlib.Path) -> Rig:
    return Rig(server, request.param, scratch)


def judge(found: list[list[str]], figure: Record | None = None, name: str = "") -> None:
    """One failure for all points: how many of them, and the first problems. They count for the figure of that name."""
    bad = [problems for problems in found if problems]
    lines = [line for problems in bad for line in problems]
    if figure is not None:
        figure(name, len(found), bad=len(bad))
    if bad:
        pytest.fail("\n".join([f"{len(bad)} of {len(found)} points", *lines[:SHOWN]]), pytrace=False)


@pytest.mark.also_full
def test_a_kill_leaves_old_or_new(any_rig: Rig, request: pytest.FixtureRequest, figure: Record) -> None:
    points = any_rig.points(KILLS)
    if any_rig.case in NEWER and "full" not in (request.config.option.markexpr or ""):
        points = random.Random(any_rig.case.name).sample(points, SOME_KILLS)
    judge([any_rig.check(point) for point in points], figure, "kill points of every command: lost or mixed")


def test_a_failed_call_leaves_old_or_new(rig: Rig, figure: Record) -> None:
    judge([rig.check(point) for point in rig.points(("short", *errno_modes()))], figure, ERRNOS)


@pytest.mark.full
@pytest.mark.timeout(FULL_SECONDS)
def test_any_failed_call_leaves_old_or_new(rig: Rig, figure: Record) -> None:
    points = rig.points(errno_modes(SIX_ERRNOS))
    points = random.Random(rig.case.name).sample(points, min(MANY_ERRNOS, len(points)))
    judge([rig.check(point) for point in points], figure, ERRNOS)


def test_a_second_kill_inside_the_recovery(rig: Rig, figure: Record) -> None:
    dice = random.Random(rig.case.name)
    points = dice.choices(rig.points(("before", "half")), k=SECOND_KILLS)
    judge([rig.check_second(point, *dice.choice(rig.second_points(point))) for point in points], figure, SECOND)


@pytest.mark.full
@pytest.mark.timeout(FULL_SECONDS)
def test_many_second_kills_inside_the_recovery(rig: Rig, figure: Record) -> None:
    dice = random.Random(rig.case.name)
    points = dice.choices(rig.points(("before", "half")), k=MANY_SECOND_KILLS)
    judge([rig.check_second(point, *dice.choice(rig.second_points(point))) for point in points], figure, SECOND)


def test_a_power_cut_leaves_old_or_new(rig: Rig, figure: Record) -> None:
    states = powerloss.enumerate_states(rig)
    chosen = random.Random(rig.case.name).sample(states, min(POWER_CUTS, len(states)))
    judge([powerloss.check(rig, state) for state in chosen], figure, POWER)


@pytest.mark.full
@pytest.mark.timeout(FULL_SECONDS)
def test_every_power_cut_leaves_old_or_new(rig: Rig, figure: Record) -> None:
    judge([powerloss.check(rig, state) for state in powerloss.enumerate_states(rig)], figure, POWER)


def test_a_power_cut_after_a_kill_and_another_try(rig: Rig) -> None:
    syncs = [call for call in rig.calls if "sync" in call.name]  # what each leaves unsynced, none leaves more
    judge([powerloss.check_after_kill(rig, point) for point in rig.points(("before",), syncs)])


GOING = {
    "forget": memcli("fact", "get", KEY, "--reveal"),
    "sweep a fact": memcli("fact", "get", KEY, "--reveal"),
    "forget a procedure": memcli("procedure", "show", KEY, "--reveal"),
}


@pytest.mark.also_full
@pytest.mark.parametrize("cut", [False, True], ids=["kill", "power cut"])
@pytest.mark.parametrize("case", [c for c in (*CASES, *MORE, *NEWER) if c.name in GOING], ids=lambda c: c.name)
def test_what_was_being_taken_out_can_be_restored(
    case: Case, cut: bool, server: Server, scratch: pathlib.Path, request: pytest.FixtureRequest
) -> None:
    """Whatever the moment: the value is there, or in the trash or archive, from where it comes back."""
    rig, lost = Rig(server, case, scratch), []
    marks: list[Point | powerloss.State] = [*(powerloss.enumerate_states(rig) if cut else rig.points(KILLS))]
    if "full" not in (request.config.option.markexpr or ""):
        marks = random.Random(case.name).sample(marks, SOME_KILLS)
    for mark in marks:
        with rig.empty() if isinstance(mark, powerloss.State) else rig.fresh() as store:
            if isinstance(mark, powerloss.State):
                mark.write(store)
            else:
                rig.run(mark, store)
            rig.ask(memcli("restore", KEY), store)
            seen = rig.ask(GOING[case.name], store)
            there = "make ship" if case.name == "forget a procedure" else f"{PLAIN}\n"
            lost += [f"{mark}: {seen}"] if there not in seen.out else []
    assert len(marks) >= 10
    assert lost == []


# Syncs of an acknowledged write: each costs milliseconds of a real disk, and one too few is found above.
SYNCS = {"create": 5, "update": 9, "label up": 4, "label down": 4, "next episode": 1, "confirm": 3}


@pytest.mark.parametrize("case", [c for c in (*CASES, *NEWER) if c.name in SYNCS], ids=lambda c: c.name)
def test_a_write_syncs_no_more_than_it_must(case: Case, server: Server, scratch: pathlib.Path) -> None:
    calls = Rig(server, case, scratch).calls
    syncs = [call for call in calls if "sync" in call.name and not (derived(call) or call.path.endswith(".memcli"))]
    assert 0 < len(syncs) <= SYNCS[case.name], [str(call) for call in syncs]


def test_a_random_history(server: Server, scratch: pathlib.Path, figure: Record) -> None:
    history = walk.Walk(server, scratch, seed=1)
    judge([history.step() for _ in range(STEPS)] + [history.end()])
    figure(RANDOM, history.kills)


@pytest.mark.full
@pytest.mark.timeout(FULL_SECONDS)
def test_ten_thousand_random_kills(
    shim: pathlib.Path, tmp_path_factory: pytest.TempPathFactory, scratch: pathlib.Path, figure: Record
) -> None:
    """Two stores at a time, each with a server of its own; seeds are taken until there are enough kills."""
    seeds, found, kills = itertools.count(2), [], [0, 0]

    def walks(worker: int) -> None:
        with Server(shim, ENTRY, tmp_path_factory.mktemp("home")) as server:
            while sum(kills) < ALL_KILLS:
                history = walk.Walk(server, scratch, next(seeds), modes=KILLS)
                found.extend([history.step() for _ in range(STEPS_A_STORE)] + [history.end()])
                kills[worker] += history.kills

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(walks, range(2)))
    judge(found)
    figure(RANDOM, sum(kills))
