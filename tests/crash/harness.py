"""Kills a command at every call that changes a file, then asks fresh processes what they see.

The law (R1, R2 and R8 in words): after a kill or a failed call, a reader sees what was there before the command or
what the command wanted, never anything else; what had been acknowledged is there; a later writer and `doctor --fix`
do not take it back; and no temporary file outlives the recovery.

    with Server(shim, "memcli.cli.main:main") as server:
        rig = Rig(server, case, folder)
        for point in rig.points(KILLS):
            assert rig.check(point) == []

A `Case` names its commands as argument lists, "{store}" standing for the store's folder. Each run has its own copy of
the prepared store.
"""

import dataclasses
import errno
import functools
import itertools
import os
import pathlib
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator

from .victim import WRITES, Argv, Call, Outcome, Server, Strike, read_log

KILLS = ("before", "half", "after")
FEW_ERRNOS = (errno.ENOSPC, errno.EIO)
SIX_ERRNOS = (*FEW_ERRNOS, errno.EACCES, errno.EMFILE, errno.EDQUOT, errno.EROFS)
BUG, BAD_DATA = 1, 4  # exit codes that no crash may cause

Reading = tuple[tuple[int, str], ...]


def errno_modes(numbers: Iterable[int] = FEW_ERRNOS) -> tuple[str, ...]:
    return tuple(f"errno:{n}:{span}" for n in numbers for span in ("once", "sticky"))


@dataclasses.dataclass(frozen=True)
class Case:
    """One command under test.

    prepare: run in turn, make the store.          command: the one that is killed.
    readings: what a reader asks, in the eyes of which the store is old or new.
    writer: any other write, run after the crash.  recovery: run after the writer (doctor).
    canary: a text that no reading in `low` (commands of a low clearance) may ever hold.
    """

    name: str
    prepare: tuple[Argv, ...]
    command: Argv
    readings: tuple[Argv, ...]
    writer: Argv
    recovery: tuple[Argv, ...] = ()
    low: tuple[Argv, ...] = ()
    canary: str = ""


@dataclasses.dataclass(frozen=True)
class Point:
    """Where and how one run is disturbed."""

    at: int
    mode: str

    @property
    def kills(self) -> bool:
        return self.mode in KILLS


IDS = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
# Digests, which rightly tell a half-made change of label from a whole one, and the nonces of context blocks.
VOLATILE = re.compile(r"\b[0-9a-f]{64}\b|(?<=\bmemory[- ])[0-9a-f]{8}\b")


class Rig:
    """A case's prepared store, with the readings of undisturbed runs to judge the disturbed ones by."""

    def __init__(self, server: Server, case: Case, folder: pathlib.Path) -> None:
        self.server, self.case, self.folder = server, case, folder
        self.seed = 1
        self._judged: dict[object, list[str]] = {}
        self._numbers = itertools.count()
        self.prepared = self._make()
        self.known = frozenset(IDS.findall("".join(self.ask(r, self.prepared).out for r in case.readings)))
        self.old, self.old_later, _ = self._history(acts=False)
        self.new, self.new_later, self.whole = self._history(acts=True)
        if self.old == self.new or self.old_later == self.new_later:
            raise AssertionError(f"{case.name}: the readings cannot tell old from new")

    def _make(self) -> str:
        store = str(self.folder / "prepared")
        os.mkdir(store)
        for argv in self.case.prepare:
            self.must(argv, store)
        return store

    def _history(self, *, acts: bool) -> tuple[Reading, Reading, Outcome]:
        """Readings now and after writer and recovery, with or without the command."""
        with self.fresh() as store:
            whole = self.must(self.case.command, store) if acts else Outcome(0, "", "")
            now = self.read(store)
            for argv in (self.case.writer, *self.case.recovery):
                self.must(argv, store)
            return now, self.read(store), whole

    def fresh(self) -> "Copy":
        return Copy(self.prepared, str(self.folder / f"copy{next(self._numbers)}"))

    def empty(self) -> "Copy":
        return Copy(None, str(self.folder / f"copy{next(self._numbers)}"))

    def ask(self, argv: Argv, store: str, strike: Strike | None = None) -> Outcome:
        return self.server.run(placed(argv, store), strike)

    def must(self, argv: Argv, store: str) -> Outcome:
        outcome = self.ask(argv, store)
        if outcome.code:
            raise AssertionError(f"{self.case.name}: {argv} exits {outcome.code}: {outcome.out}{outcome.err}")
        return outcome

    # -- what is where --

    @functools.cached_property
    def calls(self) -> list[Call]:
        """The command's calls when nothing disturbs it."""
        with self.fresh() as store:
            return self.trace(self.case.command, store)

    def trace(self, argv: Argv, store: str, point: "Point | None" = None) -> list[Call]:
        """Runs the command, undisturbed or up to the point; its calls below the store, and its talk."""
        with tempfile.NamedTemporaryFile(dir=self.folder) as log:
            at, mode = (point.at, point.mode) if point else (0, "")
            self.ask(argv, store, Strike(store, at, mode, log.name))
            return read_log(log.name)

    def points(self, modes: Iterable[str], calls: list[Call] | None = None) -> list[Point]:
        """Every counted call with every mode; half and short only where they differ from other modes."""
        counted = list(thinned(c for c in (self.calls if calls is None else calls) if c.number))
        halves = ("half", "short")
        return [Point(c.number, m) for c in counted for m in modes if m not in halves or c.name in WRITES]

    def run(self, point: Point, store: str) -> Outcome:
        return self.ask(self.case.command, store, Strike(store, point.at, point.mode, seed=self.seed))

    def read(self, store: str) -> Reading:
        """What a fresh process sees; ids that the prepared store did not show are all alike."""
        answers = self.server.run_all([placed(argv, store) for argv in self.case.readings])
        return tuple((answer.code, self._plain(answer.out, store)) for answer in answers)

    def _plain(self, text: str, store: str) -> str:
        text = VOLATILE.sub("<volatile>", text.replace(store, "{store}"))
        return IDS.sub(lambda m: m[0] if m[0] in self.known else "<new>", text)

    # -- the judgement --

    def check(self, point: Point) -> list[str]:
        """Disturbs the command at the point, then reads, writes, recovers and reads. What is wrong, if anything."""
        with self.fresh() as store:
            outcome = self.run(point, store)
            where = f"{self.case.name} {point.mode} at {self.named(point.at)}"
            return [f"{where}: {problem}" for problem in self._wrong(store, outcome, point)]

    def varies(self, number: int) -> bool:
        """True after the first call on the index, whose calls are not the same number in every run."""
        return any(derived(c) and c.number < number for c in self.calls)

    def named(self, number: int) -> str:
        return next((str(c) for c in self.calls if c.number == number), f"{number} ?")

    def _wrong(self, store: str, outcome: Outcome, point: Point) -> list[str]:
        """Each state of the files is judged once: many points leave the same one."""
        files = (outcome.acknowledged(self.whole), point.mode.endswith("once"), *sorted(tree(store).items()))
        if files not in self._judged:
            self._judged[files] = [*self._bad_store(store, outcome, point)]
        return [*self._bad_end(outcome, point), *self._judged[files]]

    def _bad_store(self, store: str, outcome: Outcome, point: Point) -> Iterator[str]:
        first, left = self.state(store), temps(store)
        yield from self.bad_state(store, first, outcome)
        yield from self.recover(store, first)
        # A temp that the recovery makes the value of was left on purpose.
        if point.mode.endswith("once") and left and self.state(store, later=True) == "old":
            yield f"left {left} though nothing kept it from cleaning up"

    def _bad_end(self, outcome: Outcome, point: Point) -> Iterator[str]:
        if point.kills and not outcome.killed and not self.varies(point.at):
            yield f"was not killed but exited {outcome.code}"
        if not point.kills and (outcome.code in (BUG, BAD_DATA) or outcome.code < 0):
            yield f"exit {outcome.code}: {outcome.err[-2000:]}"
        if "Traceback" in outcome.err:
            yield f"traceback: {outcome.err[-2000:]}"

    def bad_state(self, store: str, state: str, outcome: Outcome) -> Iterator[str]:
        if state not in ("old", "new"):
            yield f"reads as neither old nor new: {state}"
        elif state == "old" and outcome.acknowledged(self.whole):
            yield "was acknowledged and is lost"
        yield from self._leaks(store)

    def _leaks(self, store: str) -> Iterator[str]:
        if self.case.low:
            answers = self.server.run_all([placed(argv, store) for argv in self.case.low])
            for argv, shown in zip(self.case.low, answers, strict=True):
                if self.case.canary in shown.out + shown.err:
                    yield f"{argv} shows the canary"

    def state(self, store: str, *, later: bool = False) -> str:
        """ "old", "new", or the odd reading itself."""
        reading = self.read(store)
        old, new = (self.old_later, self.new_later) if later else (self.old, self.new)
        if reading == new:
            return "new"
        return "old" if reading == old else difference(reading, old, new)

    def recover(self, store: str, first: str) -> Iterator[str]:
        """Runs writer and recovery; what was `first` must not become older, and nothing may lie about."""
        for argv in (self.case.writer, *self.case.recovery):
            outcome = self.ask(argv, store)
            if outcome.code:
                yield f"recovery {argv} exits {outcome.code}: {outcome.out}{outcome.err}"
        second = self.state(store, later=True)
        if second not in ("old", "new"):
            yield f"after recovery reads as neither old nor new: {second}"
        elif (first, second) == ("new", "old"):
            yield "recovery took the new value back"
        yield from self._leaks(store)
        if left := temps(store):
            yield f"after recovery {left} is left"

    # -- kills inside the recovery --

    def second_points(self, point: Point) -> list[tuple[Argv, int]]:
        """Every call of every recovery command up to its first on the index, each run on what the kill at `point` leaves."""
        found = []
        for argv in (self.case.writer, *self.case.recovery):
            with self.fresh() as store:
                self.run(point, store)
                for call in itertools.takewhile(lambda c: not derived(c), self.trace(argv, store)):
                    found += [(argv, call.number)] if call.number else []
        return found

    def check_second(self, point: Point, argv: Argv, at: int, mode: str = "before") -> list[str]:
        """Kills the command, then the recovery `argv` at its call `at`, then recovers twice."""
        with self.fresh() as store:
            self.run(point, store)
            first = self.state(store)
            killed = self.ask(argv, store, Strike(store, at, mode)).killed
            problems = [] if killed else ["the second kill did not happen"]
            # The writer's own change may show or not by now: only the recovery's kill has a reading to compare with.
            if argv in self.case.recovery and (between := self.state(store)) not in (first, "new"):
                problems.append(f"was {first}, after the second kill {between}")
            problems += self.recover(store, first)
            before = tree(store)
            for again in self.case.recovery:
                self.ask(again, store)
            if tree(store) != before:
                problems.append("recovering twice changes something")
            return [f"{self.case.name} {point.mode} at {point.at}, then {argv[-2:]} at {at}: {p}" for p in problems]


class Copy:
    """A store of one's own for the length of a with statement; an empty folder without a source."""

    def __init__(self, source: str | None, target: str) -> None:
        self.source, self.target = source, target

    def __enter__(self) -> str:
        if self.source:
            shutil.copytree(self.source, self.target, symlinks=True)
        else:
            os.mkdir(self.target, 0o700)
        return self.target

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.target)


def derived(call: Call) -> bool:
    """True for a call on the index, which is made anew when it is damaged (tests/hostile/test_index.py)."""
    return os.path.basename(call.path).startswith("index.")


def thinned(calls: Iterable[Call]) -> Iterator[Call]:
    """Of a row of the same calls on the index only the first, the middle and the last: it has a hundred of them."""
    for (index, _, _), row in itertools.groupby(calls, lambda c: (derived(c), c.name, derived(c) and c.path)):
        found = list(row)
        yield from found if not index else dict.fromkeys((found[0], found[len(found) // 2], found[-1]))


def placed(argv: Argv, store: str) -> Argv:
    return tuple(word.replace("{store}", store) for word in argv)


def difference(reading: Reading, old: Reading, new: Reading) -> str:
    """Which answers are old, new or odd, and of the odd ones the lines that are in neither."""
    sides = []
    for seen, was, wanted in zip(reading, old, new, strict=True):
        known = {*was[1].splitlines(), *wanted[1].splitlines()}
        odd = [line.strip() for line in seen[1].splitlines() if line not in known]
        lost = [line.strip() for line in was[1].splitlines() if line in wanted[1] and line not in seen[1]]
        odd_side = f"odd (exit {seen[0]}, with {odd[:5]}, without {lost[:5]})"
        sides.append(
            "both" if was == seen == wanted else "new" if seen == wanted else "old" if seen == was else odd_side
        )
    return ", ".join(sides)


def files(store: str) -> Iterator[str]:
    for folder, _, names in os.walk(store):
        yield from (os.path.join(folder, name) for name in names)


def temps(store: str) -> list[str]:
    """Temporary files anywhere in the store."""
    names = (os.path.relpath(path, store) for path in files(store))
    return sorted(n for n in names if os.path.basename(n).startswith(".") and n.endswith(".tmp"))


def tree(store: str) -> dict[str, bytes]:
    """Every file with its bytes, and every folder."""
    found = {os.path.relpath(path, store): pathlib.Path(path).read_bytes() for path in files(store)}
    return found | {os.path.relpath(folder, store) + "/": b"" for folder, _, _ in os.walk(store)}
