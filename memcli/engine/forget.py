"""Forgetting and restoring: through the trash, by key or id; `purge` is the only hard delete."""

from datetime import datetime

from memcli.base import errors, ids
from memcli.base.value import Value, value
from memcli.model import keys, labels, policy
from memcli.model.records import Episode, Fact, Former
from memcli.store import archive, episodes, facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from memcli.model.labels import Sensitivity
    from memcli.store.folder import Store, Writing


@value
class Forgotten(Value):
    """What was (or with dry_run would be) forgotten: the layer, the ids of live values, and erased former values."""

    layer: str
    ids: tuple[str, ...]
    erased: int = 0


def forget(store: "Store", ref: str, *, now: datetime, purge: bool = False, dry_run: bool = False) -> Forgotten:
    """Put a fact (by key or id) or an episode (by id) into the trash. purge: erase it there and in the archive too.

    Raises NotFound. A damaged record can be forgotten: its files go to the trash as they are.
    """
    if dry_run:
        return _what(store, ref, purge)
    with store.writing() as w:
        episode = find_episode(store, ref)
        if episode is not None:
            return _forget_episode(w, episode, now, purge)
        fact = find_fact(store, ref)
        if fact is None:
            return _purge_former(w, ref, purge)
        with facts.Shelf(store) as shelf:
            gone = [_whole(f, now) for f in shelf.rivals(fact.key)] or [_whole(fact, now)]
        facts.remove(w, [(f, "forgotten") for f in gone], now, place="trash")
        erased = _erase(store, fact.key, gone) if purge else 0
        return Forgotten(layer=facts.LAYER, ids=tuple(f.id for f in gone), erased=erased)


def restore(store: "Store", ref: str, *, now: datetime) -> Fact | Episode:
    """Bring back what was forgotten, expired, faded or superseded, by key or id.

    From the trash, and after expiry, a value comes back under its own id; a superseded one is written anew over the
    present one. Raises NotFound, Exists (the key has another value), Refused when several values could be meant.
    """
    with store.writing() as w:
        if ids.valid(ref):
            found = _former_episode(store, ref)
            if found is not None:
                return _restore_episode(w, *found)
            ended = find_episode(store, ref)
            if ended is not None and policy.expired(ended, now):
                episodes.take_out(w, ended.month, {ref: "expired"}, now, place="archive")
                return _restore_episode(w, ended, "archive")
        choice, live = _choose(store, ref, now)
        if choice.place == _UNSWEPT:
            return facts.put(w, _kept_alive(store, choice.fact, now), choice.fact)
        if choice.reason == "superseded":
            return _renew(w, choice.fact, live, now)
        if live is not None:
            if policy.current(live, now, store.settings):
                raise errors.Exists("the key has another value now", hint="forget or rename that one first")
            facts.remove(w, [(live, "expired")], now, place="archive")
        back = facts.put(w, _kept_alive(store, choice.fact, now))
        if choice.place == "trash":
            archive.without(store, facts.LAYER, choice.fact.name, {choice.fact.id}, "trash")
        return back


def history(store: "Store", key: str) -> list[Former]:
    """Former values of a key, newest first, renamings followed; a leftover of the live value is not history."""
    key = keys.normal(key)
    live = facts.get(store, key)
    return [f for f in _of_keys(store, (key, *_all_keys(live)), live) if f.place == "archive"][::-1]


def file_names(store: "Store", key: str) -> list[str]:
    """The file names under which a key's values may lie."""
    live = facts.get(store, key) if keys.possible(key) else None
    regular = [keys.file_name(key), keys.hidden_name(key)] if keys.possible(key) else []
    return regular if live is None or live.name in regular else [live.name, *regular]


def find_fact(store: "Store", ref: str) -> Fact | None:
    """The live fact of a key or an id, whatever its state."""
    try:
        found = facts.get(store, keys.normal(ref))
    except errors.UsageError:
        if not ids.valid(ref):
            raise
        found = None
    if found is None and ids.valid(ref):
        return next((f for f in facts.every(store) if f.id == ref), None)
    return found


def find_episode(store: "Store", ref: str) -> Episode | None:
    """The episode of an id; its month is guessed from the id's time first."""
    if not ids.valid(ref):
        return None
    listed = episodes.months(store)
    likely = [m for m in listed if m == _month_of_id(ref)]
    for month in [*likely, *(m for m in reversed(listed) if m not in likely)]:
        for entry in episodes.read(store, month).entries:
            if entry.id == ref:
                return entry
    return None


_PLACES = ("archive", "trash")
_UNSWEPT = "live"


def _what(store: "Store", ref: str, purge: bool) -> Forgotten:
    episode = find_episode(store, ref)
    if episode is not None:
        return Forgotten(layer=episodes.LAYER, ids=(ref,))
    fact = find_fact(store, ref)
    if fact is None and not purge:
        raise errors.NotFound("no record of this key or id", hint="memcli fact list, memcli episode list")
    with facts.Shelf(store) as shelf:
        live = shelf.rivals(fact.key) or [fact] if fact else []
    erased = _erase(store, fact.key if fact else keys.normal(ref), live, dry_run=True) if purge else 0
    return Forgotten(layer=facts.LAYER, ids=tuple(f.id for f in live), erased=erased)


def _purge_former(w: "Writing", ref: str, purge: bool) -> Forgotten:
    erased = _erase(w.store, keys.normal(ref), []) if purge and not ids.valid(ref) else 0
    if not erased:
        raise errors.NotFound("no record of this key or id", hint="memcli fact list, memcli episode list")
    return Forgotten(layer=facts.LAYER, ids=(), erased=erased)


def _erase(store: "Store", key: str, gone: list[Fact], *, dry_run: bool = False) -> int:
    """Erase the former values of a key, also those from before it was renamed; how many."""
    plan: dict[tuple[str, str], set[str] | None] = {}  # (file name, place): ids, None for the whole file
    count = 0
    chain = {f.supersedes for f in gone}
    former_keys = [k for f in gone for k in reversed(f.renamed_from)]
    for each in dict.fromkeys([key, *former_keys]):
        names = dict.fromkeys([*(f.name for f in gone if each == key), *file_names(store, each)])
        kept = {(n, p): facts.former(store, n, p) for n in names for p in _PLACES}
        for row in [f.fact for rows in kept.values() for f in reversed(rows)]:
            chain |= {row.supersedes} if each == key or row.id in chain else set()
        # Another fact may have taken an old key since: of its file only what leads to this one, and what was before it.
        born = max((f.created_at for f in gone if each in f.renamed_from and each != key), default=None)
        taken = each != key and keys.possible(each) and facts.get(store, each) is not None
        for where, rows in kept.items():
            old = {f.fact.id for f in rows if born is None or f.at < born or (f.at == born and not taken)}
            old |= {f.fact.id for f in rows if f.fact.id in chain}
            plan[where] = None if len(old) == len(rows) else old
            count += len(old)
    for (name, place), held in plan.items():
        if not dry_run and held != set():
            archive.without(store, facts.LAYER, name, held, place)
    return count


def _whole(fact: Fact, now: datetime) -> Fact:
    """A fact as the trash can hold it: a hand-made one gets an id."""
    return fact if ids.valid(fact.id) else fact.replace(id=ids.new(now))


def _forget_episode(w: "Writing", episode: Episode, now: datetime, purge: bool) -> Forgotten:
    episodes.take_out(w, episode.month, {episode.id: "forgotten"}, now, place="trash")
    erased = 0
    if purge:
        erased = sum(archive.without(w.store, episodes.LAYER, episode.month, {episode.id}, p) for p in _PLACES)
    return Forgotten(layer=episodes.LAYER, ids=(episode.id,), erased=erased)


def _former_episode(store: "Store", ref: str) -> tuple[Episode, str] | None:
    for place in _PLACES:
        for episode, _, _ in episodes.former(store, place):
            if episode.id == ref:
                return episode, place
    return None


def _restore_episode(w: "Writing", episode: Episode, place: str) -> Episode:
    """Back into its month; from the archive without a TTL, or the next sweep would take it again."""
    present = find_episode(w.store, episode.id)
    if present is not None:
        return present
    back = episodes.append(w, episode if place == "trash" else episode.replace(ttl_minutes=0))
    archive.without(w.store, episodes.LAYER, episode.month, {episode.id}, place)
    return back


def _choose(store: "Store", ref: str, now: datetime) -> tuple[Former, Fact | None]:
    """The one former value that is meant, and the live fact that it is a value of. Raises NotFound and UsageError."""
    if ids.valid(ref):
        found, live = _by_id(store, ref)
        found += _unswept(store, find_fact(store, ref), now)
    else:
        live = facts.get(store, keys.normal(ref))
        rows = _of_keys(store, (keys.normal(ref), *_all_keys(live)), live)
        found = [f for f in rows if f.reason != "superseded"] + _unswept(store, live, now)
        found = found or [f for f in rows if f.reason == "superseded"]
    if not found:
        raise errors.NotFound("nothing to restore under this key or id", hint="memcli fact history KEY")
    if len({f.fact.id for f in found}) > 1:
        listed = ", ".join(f"{f.fact.id} ({f.reason} {f.at:%Y-%m-%d})" for f in found)
        raise errors.UsageError("several former values could be meant", hint=f"name one id: {listed}")
    return found[-1], live


def _by_id(store: "Store", ref: str) -> tuple[list[Former], Fact | None]:
    """The former value of an id (from archive and trash), and the live fact that it is a value of."""
    for key in sorted({f.fact.key for f in _every_former(store) if f.fact.id == ref}):
        owners: list[Fact | None] = [*_owners(store, key)]
        for live in owners or [None]:
            rows = [f for f in _of_keys(store, (key, *_all_keys(live)), live) if f.fact.id == ref]
            if rows:
                return rows, live
    return [], None


def _unswept(store: "Store", fact: Fact | None, now: datetime) -> list[Former]:
    """A fact that has ended though no sweep has taken it out yet: it comes back like one that was swept."""
    if fact is None or policy.current(fact, now, store.settings):
        return []
    return [Former(fact=fact, reason="expired", at=now, place=_UNSWEPT)]


def _owners(store: "Store", key: str) -> list[Fact]:
    """The live facts that have this key or had it before they were renamed."""
    return [f for f in facts.every(store) if key in _all_keys(f)]


def _of_keys(store: "Store", wanted: tuple[str, ...], live: Fact | None) -> list[Former]:
    """Former values of a key and of those that it had before, oldest first, each as strict as what followed it."""
    found: dict[tuple[str, str], Former] = {}
    for name in dict.fromkeys(n for key in wanted for n in file_names(store, key)):
        for place in _PLACES:
            for former in facts.former(store, name, place):
                if former.fact.key in wanted and (live is None or former.fact.id != live.id):
                    found.setdefault((former.fact.id, place), former)
    if live is not None:
        found = _without_others(store, wanted, live, found)
    if not found:
        return []
    return facts.strict(list(found.values()), live.sensitivity if live else _heirs(store, wanted[0]))


def _without_others(
    store: "Store", wanted: tuple[str, ...], live: Fact, found: "dict[tuple[str, str], Former]"
) -> "dict[tuple[str, str], Former]":
    """Less the values of another fact that took an old key of this one, or that had this key before it was renamed."""
    own = _chain(live, found.values())
    if all(made in own for made, _ in found):  # nearly always: nobody else need be asked
        return found
    others = [f for f in facts.every(store) if f.id != live.id and not set(_all_keys(f)).isdisjoint(wanted)]
    rows = [*found.values(), *(row for f in others for row in facts.former(store, f.name))]
    claimed = {made for f in others for made in _chain(f, rows)} - own
    return {k: former for k, former in found.items() if k[0] not in claimed}


def _chain(fact: Fact, rows: "Iterable[Former]") -> set[str]:
    """The ids of the values that a fact supersedes, one after the other."""
    by_id = {f.fact.id: f.fact for f in rows}
    chain: set[str] = set()
    made = fact.supersedes
    while made and made not in chain:
        chain.add(made)
        made = by_id[made].supersedes if made in by_id else ""
    return chain


def _heirs(store: "Store", key: str) -> "Sensitivity":
    """The strictest label of what came of a key that is no more: it was renamed, and perhaps forgotten after that."""
    heirs = [*facts.every(store), *(f.fact for f in _every_former(store))]
    return max((f.sensitivity for f in heirs if key in f.renamed_from), default=labels.PUBLIC)


def _every_former(store: "Store") -> list[Former]:
    return [f for p in _PLACES for n in archive.names(store, facts.LAYER, p) for f in facts.former(store, n, p)]


def _renew(w: "Writing", fact: Fact, live: Fact | None, now: datetime) -> Fact:
    after = live.id if live else fact.id
    anew = fact.replace(id=ids.new(now, after=max(after, fact.id)), supersedes=after, updated_at=now)
    if live is not None:
        anew = anew.replace(name=live.name, key=live.key, renamed_from=live.renamed_from)
    return facts.put(w, anew, live, at=now)


def _kept_alive(store: "Store", fact: Fact, now: datetime) -> Fact:
    """The value as it was; when its time had run out its clock starts again, or it would end at once."""
    ended = policy.expired(fact, now) or not policy.current(fact, now, store.settings)
    return fact.replace(updated_at=now) if ended else fact


def _all_keys(live: Fact | None) -> tuple[str, ...]:
    return (live.key, *live.renamed_from) if live else ()


def _month_of_id(ref: str) -> str:
    from datetime import timezone

    try:
        return episodes.month_of(datetime.fromtimestamp(ids.milliseconds(ref) / 1000, timezone.utc))
    except (ValueError, OverflowError, OSError):  # an id from elsewhere may hold any number
        return ""
