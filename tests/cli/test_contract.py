"""The two readers make the same call of the same words, or the quick one steps aside."""

import random
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memcli.base.errors import UsageError
from memcli.cli import call, full, quick, table

from . import fake_commands

pytestmark = pytest.mark.usefixtures("fakes")

Reader = Callable[[list[str]], call.Call | None]

PLAIN = ["k", "deploy target", "a=b", "Память", "日本", "", "-", " ", "fact", "7"]
NUMBERS = ["0", "7", "1_000", " 12 ", "٣", "1e3", "nan", "2.5", "00", "x"]
ODD = ["--", "-x", "--nope", "-n", "-n5", "-n=3", "--n", "--help", "-h", "--tag", "--=", "-5", "---", "=", "--js"]
GARBAGE = ["fact set", "fact", "set", "--store", "sett", "-", "", "FACT", "show"]
ROOT = [["--store", "s"], ["--store=s=t"], ["--tenant", "t"], ["--now="], ["--now", ""]]
BAD_ROOT = [["--json"], ["--store"], ["--"], ["--store", "-x"], ["-"]]
PATHS = ["bare", *3 * ["fact set"], *2 * ["fact list"], *2 * ["fact many"], *2 * ["numbers"]]


def random_argv(rng: random.Random) -> list[str]:
    """Words that are mostly a call of a fake command, and sometimes nearly one."""
    words = [word for _ in range(rng.choice((0, 0, 1, 2))) for word in rng.choice(ROOT)]
    words += rng.choice(BAD_ROOT) if rng.random() < 0.02 else []
    path = rng.choice(PATHS)
    words += [rng.choice(GARBAGE)] if rng.random() < 0.03 else path.split(" ")
    words += [rng.choice(NUMBERS)] if path in ("fact many", "numbers") and rng.random() < 0.8 else []
    words += ["--session", "s"] if path == "fact many" and rng.random() < 0.7 else []
    for _ in range(rng.randrange(6)):
        words += random_words(rng, path)
    return words


def random_words(rng: random.Random, path: str) -> list[str]:
    """One argument, one option of the command in either form, or an odd word."""
    function: Any = table.load(path)
    name = rng.choice([*(function.__kwdefaults__ or ()), "session"])
    kind = quick.kind(function.__annotations__.get(name, str))
    value = rng.choice(NUMBERS if kind in ((int, False), (float, False)) or path == "numbers" else PLAIN)
    flag, shape = quick.option_name(name), rng.random()
    if shape < 0.45:
        return [value]
    if shape < 0.92 and kind == (bool, False):
        return [flag] if shape < 0.85 else [f"{flag}={value}"]
    if shape < 0.70:
        return [flag, value]
    if shape < 0.92:
        return [f"{flag}={value}"]
    return [rng.choice(["--json", "--jsonl", "--create"])] if shape < 0.97 else [rng.choice(ODD)]


def outcome(found: call.Call) -> object:
    """What the call does: the types and values that the command gets, or the error."""
    try:
        output = found.run()
    except Exception as error:  # noqa: BLE001 - whatever a fake raises is an outcome
        return type(error)
    return repr(output.data), output.text, output.notes, output.exit_code


def compared(read: Reader, argvs: Iterator[list[str]]) -> Iterator[tuple[list[str], object, object]]:
    """What each reader makes of every argv that `read` accepts: the argv, its outcome, the full reader's."""
    for argv in argvs:
        found = read(argv)
        if found is None:
            continue
        mine = outcome(found)
        try:
            theirs = outcome(full.read(argv))
        except UsageError as error:
            theirs = str(error)
        yield (argv, mine, theirs)


def stream(seed: int, count: int) -> Iterator[list[str]]:
    rng = random.Random(seed)
    return (random_argv(rng) for _ in range(count))


@pytest.mark.parametrize("seed", range(8))
def test_both_readers_agree(seed: int) -> None:
    accepted = list(compared(quick.read, stream(seed, 4000)))
    assert [found for found in accepted if found[1] != found[2]] == []
    # A reader that always steps aside would agree too.
    assert len(accepted) > 1000


FAULTS = {
    "the word after -- is lost": ("places + words[at:]", "places + words[at + 1 :]"),
    "only the last of a repeated option counts": ("(*given.get(name, ()), value)", "(value,)"),
    "numbers stay text": ("return base(value)", "return value"),
    "surplus arguments are ignored": ("if rest or any(", "if any("),
    "the first of a root option counts": ("roots[flag[2:]] = _plain(value)", "roots.setdefault(flag[2:], value)"),
    "a flag takes a value": ("        if equals:\n            raise Doubt\n", ""),
    "one word passes for two": (' or path.count(" ") != after - at - 1', ""),
    "a short option takes =": (' or (equals and flag[:2] != "--")', ""),
    "missing options are not noticed": ("if any(name not in given for name in required):", "if False:"),
    "missing arguments are not noticed": ("if rest or any(name not in given for name in required):", "if rest:"),
    "every command takes --jsonl": ("if call.lists(function):", "if True:"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_contract_catches_planted_faults(fault: str) -> None:
    faulty = types.ModuleType("faulty")
    source = Path(quick.__file__).read_text()
    good, bad = FAULTS[fault]
    assert good in source
    exec(compile(source.replace(good, bad), "faulty", "exec"), faulty.__dict__)
    assert any(mine != theirs for _, mine, theirs in compared(faulty.read, stream(1, 8000)))


WELL_FORMED = [
    ["bare"],
    ["bare", "--json"],
    ["fact", "set", "deploy target", "Fly.io, region fra"],
    ["fact", "set", "k", "-", "--tag", "ops", "--tag=deploy", "--ttl", "30d", "--create", "-n", "5"],
    ["fact", "set", "--from", "a", "--derived-from", "x", "k"],
    ["fact", "set", "k", "--json", "--", "- a value with a dash"],
    ["fact", "set", "k", "", "--ttl="],
    ["fact", "list"],
    ["fact", "list", "a", "b", "--layer", "facts", "--layer", "episodes", "--all", "--jsonl"],
    ["fact", "many", "3", "w", "--session", "s"],
    ["numbers", "1", "2.5", "--steps", "3", "--budget=1e3"],
    ["--store", "dir", "--tenant=t", "--now", "2030-01-01T00:00:00Z", "fact", "set", "k", "v"],
]


@pytest.mark.parametrize("argv", WELL_FORMED, ids=" ".join)
def test_well_formed_calls_are_read_at_once(argv: list[str]) -> None:
    [(_, mine, theirs)] = compared(quick.read, iter([argv]))
    assert mine == theirs


DOUBTFUL = [
    [],
    ["--help"],
    ["fact"],
    ["fact", "--help"],
    ["fact", "set", "--help"],
    ["fact", "set"],
    ["fact", "set", "k", "v", "w"],
    ["fact", "set", "k", "-v"],
    ["fact", "set", "k", "--ttl", "-5"],
    ["fact", "set", "k", "--ttl=-5"],
    ["fact", "set", "k", "--ttl"],
    ["fact", "set", "k", "--tt", "5"],
    ["fact", "set", "k", "-n", "many"],
    ["fact", "set", "k", "-n5"],
    ["fact", "set", "k", "--create=yes"],
    ["fact", "set", "k", "--jsonl"],
    ["fact", "many", "3", "w"],
    ["numbers", "one"],
    ["fact set", "k"],
    ["nothing"],
    ["--json", "bare"],
    ["--store", "bare"],
    ["--", "bare"],
]


@pytest.mark.parametrize("argv", DOUBTFUL, ids=" ".join)
def test_the_quick_reader_steps_aside(argv: list[str]) -> None:
    assert quick.read(argv) is None


def test_the_quick_reader_leaves_completion_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_MEMCLI_COMPLETE", "complete_bash")
    assert quick.read(["bare"]) is None


@pytest.mark.parametrize("name", ["rest", "typed"])
def test_what_is_no_command_is_refused_by_both(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(table.COMMANDS, "odd", (fake_commands.__name__, name))
    assert quick.read(["odd", "w"]) is None
    with pytest.raises(TypeError, match="no type for a command"):
        full.read(["odd", "w"])


def test_a_call_holds_only_what_was_given() -> None:
    found = quick.read(["fact", "set", "k"])
    assert found is not None
    assert found.values == {"key": "k"}
