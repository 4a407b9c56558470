"""What an import puts into `proposed/`: the proposals of a backup, and of any other file its facts too.

A file that nobody vouches for proposes, whatever source it names: all imports together are one witness, and what the file
says of witnesses, runs and ids counts nothing. What is a fact here already is not proposed again, only its label may rise;
another value of its key, when it is new, is held as closely as the fact is. What was rejected of an import stays rejected.
"""

from datetime import datetime

from memcli.base import files, ids, sha256
from memcli.engine import promotion, propose, references, remember
from memcli.model import labels, policy
from memcli.model.records import Fact
from memcli.store import facts, proposals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from memcli.store.folder import Store, Writing

    Identity = tuple[str, str]


_MOST_LATER, _MOST_LATER_LETTERS = 20_000, 1 << 24
_READABLE = ("ok", "drift", "bare")


class _Held:
    """What stands here for one key and text: the fact or proposal as stored, and as it is to be.

    key: as it is written here; least: the label that what is said of this key has here; live: it is a fact here; fixed: a
    person has changed the proposal, so it stays; lapsed: a proposal whose time is over.
    """

    __slots__ = ("fixed", "key", "lapsed", "least", "live", "ready", "stored", "touched")

    def __init__(self, key: str, stored: Fact | None, *, live: bool = False, fixed: bool = False) -> None:
        self.key, self.stored, self.ready, self.live, self.fixed = key, stored, stored, live, fixed
        self.least = labels.PUBLIC
        self.lapsed: Fact | None = None
        self.touched = False


class Tray:
    """The proposals of one import, a batch at a time.

    trusted: witnesses come along, as from one's own backup; gated: nobody vouches for the file. sound: says whether the
    basis of a fact leads back to it, and notes the line as a bad one when it does. counts: by outcome; in_the_way: the
    numbers of lines in whose place another file lies; bad: numbers and reasons of lines that cannot be kept; rejected: ids
    of what was rejected of an import before, one for each line that says it.
    """

    def __init__(
        self, store: "Store", now: datetime, *, trusted: bool, gated: bool, sound: "Callable[[int, Fact], bool]"
    ) -> None:
        self.store, self.now, self.trusted, self.gated = store, now, trusted, gated
        self.rows: list[tuple[int, Fact]] = []
        self.counts = dict.fromkeys(("created", "proposed", "updated", "unchanged"), 0)
        self.in_the_way: list[int] = []
        self.bad: list[tuple[int, str]] = []
        self.rejected: list[str] = []
        self.names = references.Names()
        self._later: list[tuple[int, Fact]] = []
        self._sound = sound
        self._held: dict[Identity, _Held] = {}
        self._raised: dict[str, labels.Sensitivity] = {}  # by key: labels of facts here that a line has raised

    def add(self, number: int, fact: Fact, said: object) -> None:
        """Take a line. said: the id that it brings; of a file that nobody vouches for it only tells what others name."""
        if not self.gated:
            self.rows.append((number, fact))
            return
        self.names.learn(said, fact)
        (self._later if self.names.waits(fact) else self.rows).append((number, fact))

    def flush(self, *, dry_run: bool, last: bool = False) -> None:
        """Write what was added to `rows`, each looked at under the lock; or only say what would become of it.

        What names a line to come waits for the `last` flush, or until too much of it is held.
        """
        much = len(self._later) >= _MOST_LATER or sum(len(f.text) for _, f in self._later) >= _MOST_LATER_LETTERS
        if last or much:
            self.rows, self._later = [*self.rows, *self._later], []
        rows, self.rows = self.rows, []
        if not rows:
            return
        if dry_run:
            self._plan(rows)
            for _, fact in rows:  # kept for later lines that say the same, but not their texts
                held = self._held.get(proposals.same(fact.key, fact.text))
                if held is not None:
                    held.stored, held.ready = _slim(held.stored), _slim(held.ready)
            return
        with self.store.writing(patient=True) as w:
            self._plan(rows)
            self._write(w)
        self._held = {}

    def _plan(self, rows: list[tuple[int, Fact]]) -> None:
        refused = None if self.trusted else proposals.Rejected(self.store)
        with facts.Shelf(self.store) as shelf, proposals.Shelf(self.store) as tray:
            for number, fact in rows:
                fact = self.names.resolve(fact) if self.gated else fact
                if self.gated and fact.derived_from and not self._sound(number, fact):
                    continue
                identity = proposals.same(fact.key, fact.text)
                held = self._held.get(identity)
                if held is None:
                    held = self._held[identity] = self._look(shelf, tray, fact.key, identity)
                if held.ready is None and refused is not None and (no := refused.find(identity)):
                    self.rejected.append(no)
                    continue
                made = self._as_proposal(fact, identity, held) if self.gated else fact
                if held.ready is None and held.least > made.sensitivity:
                    made = made.replace(sensitivity=held.least)
                if held.ready is None and _in_the_way(tray, made, held):
                    self.in_the_way.append(number)
                    continue
                how, ready = self._against(held, made)
                if how != "unchanged" and max(map(len, facts.encode(ready))) > files.MAX_FILE_BYTES:
                    self.bad.append((number, "the record would be larger than 1 MiB"))
                    continue
                self.counts[how] += 1
                held.touched |= how != "unchanged"
                held.ready = ready
                if held.live and how == "updated":
                    self._raised[identity[0]] = max(ready.sensitivity, self._raised.get(identity[0], labels.PUBLIC))

    def _look(self, shelf: facts.Shelf, tray: proposals.Shelf, key: str, identity: "Identity") -> _Held:
        least = self._raised.get(identity[0], labels.PUBLIC)
        if self.gated:
            there = list(propose.of_key(shelf, key))
            least = max([least, *(f.sensitivity for f in there)])
            current = [f for f in there if self._readable(f)]
            live = next((f for f in current if proposals.same(f.key, f.text) == identity), None)
            if live is not None:
                return _Held(live.key, live if live.state == "ok" else remember.as_archived(live, self.now), live=True)
            key = current[0].key if current else key
        old = tray.find(*identity)
        fixed = old is not None and (old.state != "ok" or proposals.same(old.key, old.text) != identity)
        held = _Held(key, old, fixed=fixed)
        held.least = least
        if old is not None and self.gated and not fixed and promotion.lapsed(self.store, old, self.now):
            held.stored, held.ready, held.lapsed = None, None, old
            held.least = max(least, old.sensitivity)
        return held

    def _readable(self, fact: Fact) -> bool:
        return fact.state in _READABLE and policy.current(fact, self.now, self.store.settings)

    def _as_proposal(self, fact: Fact, identity: "Identity", held: _Held) -> Fact:
        """A fact of the file as it waits here. Its TTL runs from its own time, its time in `proposed/` from now."""
        return fact.replace(
            id=ids.derived(fact.updated_at, sha256.binary("\n".join((*identity, proposals.IMPORTED)).encode())),
            key=held.key,
            run=proposals.IMPORTED,
            confirmed_at=self.now,
            supersedes="",
        )

    def _against(self, held: _Held, made: Fact) -> tuple[str, Fact]:
        """What becomes of a line, and what then stands here."""
        old = held.ready
        if old is None:
            return ("proposed" if self.gated else "created"), made
        if held.fixed:
            return "unchanged", old
        ready = old.replace(sensitivity=max(old.sensitivity, made.sensitivity))
        if self.gated and not held.live:
            ready = propose.again(old, made, self.now).fact
        elif self.trusted:
            ready = _united(ready, made)
        return ("unchanged" if ready == old else "updated"), ready

    def _write(self, w: "Writing") -> None:
        touched = [h for h in self._held.values() if h.touched]
        raised = [(h.ready, h.stored) for h in touched if h.live and h.ready is not None]
        if raised:
            facts.put_many(w, raised, self.now)
        proposals.remove(w, [(h.lapsed, "expired") for h in touched if h.lapsed is not None], self.now)
        proposals.put_many(w, [(h.ready, h.stored) for h in touched if not h.live and h.ready is not None])


def _in_the_way(tray: proposals.Shelf, made: Fact, held: _Held) -> bool:
    """Whether another file lies in the place of a new proposal. One whose time is over makes room."""
    makes_room = held.lapsed is not None and held.lapsed.name == proposals.file_name(made)
    return not makes_room and tray.taken(made)


def _slim(fact: Fact | None) -> Fact | None:
    return None if fact is None else fact.replace(text="", header=None, relations=(), tags=(), unknown=None)


def _united(old: Fact, made: Fact) -> Fact:
    """A proposal with the witnesses of another that says the same; the one that observed it first stays the first."""
    known = {policy.witness(o) for o in (proposals.first(old), *old.confirmations)}
    heard = (proposals.first(made), *made.confirmations)
    more = {policy.witness(o): o for o in heard if policy.witness(o) not in known}
    doubted = {policy.witness(o) for o in old.denials}
    seen = [t for t in (old.confirmed_at, made.confirmed_at) if t]
    return old.replace(
        confirmations=(*old.confirmations, *more.values()),
        denials=(*old.denials, *(o for o in made.denials if policy.witness(o) not in doubted)),
        confirmed_at=max(seen, default=None),
    )
