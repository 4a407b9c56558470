"""Working memory, and what `remember` and `consolidate` make of it: every kill and failed call leaves old or new (R1, R8)."""

import pathlib
from collections.abc import Iterator

import pytest
from figures import Record

from . import powerloss
from .harness import KILLS, Case, Rig, errno_modes
from .test_memcli import ACT, DOCTOR, ENTRY, ERRNOS, INIT, NOW, OTHER, POWER, READ, WRITER, judge, memcli
from .victim import Argv, Server

S = ("--session", "s1")
HELD = (memcli("work", "list", *S, "--json"), memcli("context", *S), memcli("fact", "list", "--json"))
PROPOSED = (memcli("review", "list", "--json"), memcli("fact", "list", "--json"))
MADE = (memcli("episode", "list", "--json"), memcli("review", "list", "--json"))


def case(name: str, before: tuple[Argv, ...], command: Argv, readings: tuple[Argv, ...] = HELD) -> Case:
    return Case(
        name=name, prepare=(INIT, OTHER, *before), command=command, readings=readings, writer=WRITER, recovery=DOCTOR
    )


SET = memcli("work", "set", "branch", "main", *S, now=NOW)
NOTE = memcli("work", "add", "a note without a statement", *S, now=NOW)
TALK = tuple(memcli("work", "add", f"message {n}", "--role", "user", *S, now=NOW) for n in range(29))
NEXT_DAY = "2026-11-16T10:00:00Z"
CLAIM = ("remember", "The port is 8080", "--importance", "0.1")
CASES = [
    case("first entry", (), memcli("work", "set", "branch", "main", *S, now=ACT)),
    case("next entry", (SET,), memcli("work", "set", "branch", "fix/refund", *S, now=ACT)),
    case("note", (SET,), memcli("work", "add", "a note", *S, now=ACT)),
    case("thirtieth message", TALK, memcli("work", "add", "the last", "--role", "user", *S, now=ACT)),
    case("clear", (SET, NOTE), memcli("work", "clear", *S, "--yes", now=ACT)),
    case("propose", (), memcli(*CLAIM, now=ACT), PROPOSED),
    case(
        "one more witness", (memcli(*CLAIM, now=NOW),), memcli(*CLAIM, "--source", "user:sam", now=NEXT_DAY), PROPOSED
    ),
    case("consolidate", (NOTE,), memcli("consolidate", *S, now=ACT), MADE),
]


@pytest.fixture(scope="module")
def server(shim: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(shim, ENTRY, tmp_path_factory.mktemp("home")) as server:
        yield server


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def rig(request: pytest.FixtureRequest, server: Server, scratch: pathlib.Path) -> Rig:
    return Rig(server, request.param, scratch)


@pytest.mark.also_full
def test_a_kill_leaves_old_or_new(rig: Rig, figure: Record) -> None:
    judge([rig.check(point) for point in rig.points(KILLS)], figure, "kill points of every command: lost or mixed")


@pytest.mark.also_full
def test_a_failed_call_leaves_old_or_new(rig: Rig, figure: Record) -> None:
    judge([rig.check(point) for point in rig.points(("short", *errno_modes()))], figure, ERRNOS)


@pytest.mark.also_full
def test_a_power_cut_leaves_old_or_new(rig: Rig, figure: Record) -> None:
    judge([powerloss.check(rig, state) for state in powerloss.enumerate_states(rig)[:10]], figure, POWER)


assert READ > ACT > NOW
