"""Enumerates what a power cut may leave of a recorded run (after ALICE, OSDI 14), and asks readers about each state.

The record is the shim's own log, which holds every byte written: simpler than wrapping `os`, and it sees what SQLite
and the io module do as well. The model is weak on purpose, weaker than ext4 or xfs:

- Data of a file that has not been fsynced since may be lost, whole, half there, or zeros.
- Creating, renaming and removing names may each have reached the disk or not, in any combination, until the folder
  is fsynced. A file's fsync does not save its name. A rename is one step, and is safe once the target's folder is.
- The cut comes after any call. What was acknowledged before it must be there.
"""

import dataclasses
import itertools
import os
import pathlib
from collections.abc import Iterable, Iterator

from .harness import Point, Reading, Rig, derived, difference, files
from .victim import WRITES, Call, Outcome

SUBSETS_UP_TO = 8  # of that many unsynced names every subset; of more, prefixes and all-but-one
CREATED, LOST = 0, b""


class Unmodelled(Exception):
    """A call that this model has no words for: better a stop than a proof with a hole."""


@dataclasses.dataclass(frozen=True)
class Edit:
    """A change of one file's bytes: data at an offset, or with data None a cut to that size."""

    offset: int
    data: bytes | None

    def on(self, content: bytes) -> bytes:
        content = content.ljust(self.offset, b"\0")
        if self.data is None:
            return content[: self.offset]
        return content[: self.offset] + self.data + content[self.offset + len(self.data) :]


@dataclasses.dataclass(frozen=True)
class Naming:
    """A change of names: `gone` (or None) no longer stands, `made` (or None) stands for the file (None: a folder)."""

    gone: str | None
    made: str | None
    file: int | None

    @property
    def folder(self) -> str:
        return os.path.dirname(self.made or self.gone or "")

    def on(self, names: dict[str, int | None]) -> None:
        if self.gone is not None:
            names.pop(self.gone, None)
        if self.made is not None:
            names[self.made] = self.file


@dataclasses.dataclass(frozen=True)
class State:
    """What one cut leaves: relative path -> bytes, or None for a folder."""

    after: int  # number of calls made
    acknowledged: bool
    content: tuple[tuple[str, bytes | None], ...]

    def write(self, store: str) -> None:
        for path, data in self.content:
            target = pathlib.Path(store, path)
            if data is None:
                target.mkdir(mode=0o700)
            else:
                target.write_bytes(data)
                target.chmod(0o600)


class Disk:
    """The durable part of a store, and what is still on its way there."""

    def __init__(self, store: str) -> None:
        self.store = store
        self.names: dict[str, int | None] = {}  # durable
        self.bytes: dict[int, bytes] = {}  # durable
        self.namings: list[Naming] = []  # not synced yet, in order
        self.edits: dict[int, list[Edit]] = {}  # not synced yet, by file
        self._files: dict[int, int] = {}  # inode -> file; an inode may be used again, a file number is not
        self._numbers = itertools.count()
        for folder, folders, _ in os.walk(store):
            self.names |= {os.path.join(folder, name): None for name in folders}
        for path in files(store):
            self.names[path] = number = self._file(os.stat(path).st_ino)
            self.bytes[number] = pathlib.Path(path).read_bytes()

    def _file(self, inode: int, *, fresh: bool = False) -> int:
        if fresh or inode not in self._files:
            self._files[inode] = next(self._numbers)
        return self._files[inode]

    # -- the calls --

    def play(self, call: Call) -> None:
        """Takes one call that succeeded into the picture."""
        if call.result < 0:
            return
        if call.name in WRITES:
            self._edit(call, Edit(call.offset, call.data))
        elif call.name in ("ftruncate", "truncate"):
            self._edit(call, Edit(call.offset, None))
        else:
            step = getattr(self, f"_{call.name}", None)
            if step is None:
                raise Unmodelled(str(call))
            step(call)

    def _edit(self, call: Call, edit: Edit) -> None:
        self.edits.setdefault(self._file(call.inode), []).append(edit)

    def _open(self, call: Call) -> None:
        if call.was == CREATED:
            file = self._file(call.inode, fresh=True)
            self.bytes[file] = LOST
            self.namings.append(Naming(None, call.path, file))
        elif call.offset & os.O_TRUNC:
            self._edit(call, Edit(0, None))

    def _rename(self, call: Call) -> None:
        if call.inode not in self._files:
            raise Unmodelled(f"a folder is renamed: {call}")
        self.namings.append(Naming(call.path, call.to, self._file(call.inode)))

    def _link(self, call: Call) -> None:
        self.namings.append(Naming(None, call.to, self._file(call.inode)))

    def _unlink(self, call: Call) -> None:
        self.namings.append(Naming(call.path, None, None))

    _rmdir = _unlink

    def _mkdir(self, call: Call) -> None:
        self.namings.append(Naming(None, call.path, None))

    def _fsync(self, call: Call) -> None:
        if os.path.isdir(call.path) or self._is_folder(call.path):
            for naming in [n for n in self.namings if n.folder == call.path]:
                naming.on(self.names)
            self.namings = [n for n in self.namings if n.folder != call.path]
        else:
            file = self._file(call.inode)
            edits = self.edits.pop(file, [])
            self.bytes[file] = self._played(self.bytes[file], edits, [e.data for e in edits])

    _fdatasync = _fsync

    def _syncfs(self, _: Call) -> None:
        for naming in self.namings:
            naming.on(self.names)
        for file, edits in self.edits.items():
            self.bytes[file] = self._played(self.bytes[file], edits, [e.data for e in edits])
        self.namings, self.edits = [], {}

    def _is_folder(self, path: str) -> bool:
        made = [n for n in self.namings if n.made == path]
        return path == self.store or (made[-1].file if made else self.names.get(path, 0)) is None

    # -- what a cut leaves --

    def contents(self) -> Iterator[tuple[tuple[str, bytes | None], ...]]:
        """Every state that a cut may leave now."""
        for chosen in subsets(self.namings):
            names = dict(self.names)
            for naming in chosen:
                naming.on(names)
            reachable = {file for file in names.values() if file in self.edits}
            for fates in itertools.product(*(self._fates(file) for file in sorted(reachable))):
                yield self._listing(names, {**self.bytes, **dict(fates)})

    def worst(self) -> Iterator[tuple[tuple[str, bytes | None], ...]]:
        """The states in which nothing that was not synced has survived, or one name alone."""
        for chosen in [(), *((naming,) for naming in self.namings)]:
            names = dict(self.names)
            for naming in chosen:
                naming.on(names)
            yield self._listing(names, self.bytes)

    def _fates(self, file: int) -> list[tuple[int, bytes]]:
        base, edits = self.bytes[file], self.edits[file]
        whole = [e.data for e in edits]
        halves = [d and d[: len(d) // 2] for d in whole]
        zeros = [d and bytes(len(d)) for d in whole]
        cuts = [d and LOST for d in whole]  # only the truncations happened
        found = {base, *(self._played(base, edits, data) for data in (whole, halves, zeros, cuts))}
        return [(file, content) for content in sorted(found)]

    @staticmethod
    def _played(base: bytes, edits: list[Edit], data: list[bytes | None]) -> bytes:
        for edit, replaced in zip(edits, data, strict=True):
            base = dataclasses.replace(edit, data=replaced).on(base) if replaced != LOST else base
        return base

    def _listing(self, names: dict[str, int | None], data: dict[int, bytes]) -> tuple[tuple[str, bytes | None], ...]:
        """Parents first; what lies in a folder whose own name was lost is out of reach."""
        found: dict[str, bytes | None] = {}
        for path in sorted(names):
            parent, file = os.path.relpath(os.path.dirname(path), self.store), names[path]
            if parent == "." or parent in found:
                found[os.path.relpath(path, self.store)] = None if file is None else data[file]
        return tuple(found.items())


def subsets(items: list[Naming]) -> Iterator[tuple[Naming, ...]]:
    count = len(items)
    if count <= SUBSETS_UP_TO:
        for keep in itertools.product((False, True), repeat=count):
            yield tuple(itertools.compress(items, keep))
        return
    yield from (tuple(items[:n]) for n in range(count + 1))
    yield from (tuple(items[:n] + items[n + 1 :]) for n in range(count))


def states(store: str, calls: Iterable[Call], disk: Disk) -> Iterator[State]:
    """The distinct states of a run, over all moments of the cut. `disk` was made before the run."""
    seen: set[tuple[bool, object]] = set()
    acknowledged, number = False, 0
    for call in itertools.chain([None], calls):
        if call is not None and call.number == 0:
            acknowledged = acknowledged or call.name == "stdout"
        elif call is not None:
            disk.play(call)
            number = call.number
        for content in disk.contents():
            if (acknowledged, content) not in seen:
                seen.add((acknowledged, content))
                yield State(number, acknowledged, content)


def enumerate_states(rig: Rig) -> list[State]:
    """Runs the rig's command once, recorded, and lists what cuts during and after it may leave."""
    with rig.fresh() as store:
        disk = Disk(store)
        # Of the index any cut leaves an older one, or none: damaged ones are the matter of tests/hostile/test_index.py.
        calls = [call for call in rig.trace(rig.case.command, store) if not derived(call)]
        return list(states(store, calls, disk))


def check(rig: Rig, state: State) -> list[str]:
    """Writes the state to a folder; readers, writer and recovery must take it as after a kill."""
    ended = Outcome(0 if state.acknowledged else -9, "", "")
    with rig.empty() as store:
        state.write(store)
        first = rig.state(store)
        problems = [*rig.bad_state(store, first, ended), *rig.recover(store, first)]
    return [f"{rig.case.name}: power cut after call {state.after}: {p}" for p in problems]


def check_after_kill(rig: Rig, point: Point) -> list[str]:
    """Kills the command, runs it again to its end, then cuts the power: all that was acknowledged must be there.

    Finds what the second run took for durable because it was already there, though the first had not synced it.
    """
    with rig.fresh() as store:
        disk = Disk(store)
        first, second = rig.trace(rig.case.command, store, point), rig.trace(rig.case.command, store)
        if not any(call.name == "stdout" for call in second):
            return []  # refused, and so nothing promised
        for call in [*first, *second]:
            if call.number and not derived(call):
                disk.play(call)
        wanted, contents = rig.read(store), set(disk.worst())
    odd = [difference(seen, wanted, wanted) for content in contents if (seen := seen_in(rig, content)) != wanted]
    where = f"{rig.case.name} killed {point.mode} {rig.named(point.at)}, done again, then a power cut"
    return [f"{where}: {len(odd)} of {len(contents)} states have lost something: {odd[0]}"] if odd else []


def seen_in(rig: Rig, content: tuple[tuple[str, bytes | None], ...]) -> Reading:
    with rig.empty() as store:
        State(0, True, content).write(store)
        return rig.read(store)
