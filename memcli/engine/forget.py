"""Forgetting and restoring: through the trash, by key or id; `purge` is the only hard delete."""

from datetime import datetime

from memcli.base import errors, ids
from memcli.base.value import Value, value
from memcli.model import keys, labels, policy
from memcli.model.records import Episode, Fact, Former
from memcli.store import archive, episodes, facts

TYPE_CHECKING = False
if TYPE_CHECKING:
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
        facts.remove(w, [(_whole(fact, now), "forgotten")], now, place="trash")
        erased = sum(archive.without(store, facts.LAYER, fact.name, None, p) for p in _PLACES) if purge else 0
        return Forgotten(layer=facts.LAYER, ids=(fact.id,), erased=erased)


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
        choice = _choose(store, ref, now)
        live = facts.get(store, choice.fact.key)
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
    found: dict[str, Former] = {}
    for each in [key, *(live.renamed_from if live else ())]:
        for name in file_names(store, each):
            for former in facts.former(store, name):
                if (live is None or former.fact.id != live.id) and former.fact.key in (key, *_former_keys(live)):
                    found.setdefault(former.fact.id, former)
    rows = sorted(found.values(), key=lambda f: f.fact.id, reverse=True)
    return _strict_chain(rows, live)


def file_names(store: "Store", key: str) -> list[str]:
    """The file names under which a key's values may lie."""
    live = facts.get(store, key)
    regular = [keys.file_name(key), keys.hidden_name(key)]
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


def _what(store: "Store", ref: str, purge: bool) -> Forgotten:
    episode = find_episode(store, ref)
    if episode is not None:
        return Forgotten(layer=episodes.LAYER, ids=(ref,))
    fact = find_fact(store, ref)
    if fact is None and not purge:
        raise errors.NotFound("no record of this key or id", hint="memcli fact list, memcli episode list")
    held = file_names(store, fact.key if fact else keys.normal(ref))
    erased = sum(len(facts.former(store, n, p)) for n in dict.fromkeys(held) for p in _PLACES) if purge else 0
    return Forgotten(layer=facts.LAYER, ids=(fact.id,) if fact else (), erased=erased)


def _purge_former(w: "Writing", ref: str, purge: bool) -> Forgotten:
    erased = 0
    if purge and not ids.valid(ref):
        held = file_names(w.store, keys.normal(ref))
        erased = sum(archive.without(w.store, facts.LAYER, n, None, p) for n in held for p in _PLACES)
    if not erased:
        raise errors.NotFound("no record of this key or id", hint="memcli fact list, memcli episode list")
    return Forgotten(layer=facts.LAYER, ids=(), erased=erased)


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


def _choose(store: "Store", ref: str, now: datetime) -> Former:
    """The one former value that is meant. Raises NotFound and Refused."""
    if ids.valid(ref):
        held = {f.fact.key for f in _every_former(store) if f.fact.id == ref}
        found = [f for key in sorted(held) for f in _of_key(store, key) if f.fact.id == ref]
    else:
        key = keys.normal(ref)
        found = [f for f in _of_key(store, key) if f.reason != "superseded"]
        live = facts.get(store, key)
        current = live is not None and policy.current(live, now, store.settings)
        found = (
            found if found and not current else found or [f for f in _of_key(store, key) if f.reason == "superseded"]
        )
    if not found:
        raise errors.NotFound("nothing to restore under this key or id", hint="memcli fact history KEY")
    if len({f.fact.id for f in found}) > 1:
        listed = ", ".join(f"{f.fact.id} ({f.reason} {f.at:%Y-%m-%d})" for f in found)
        raise errors.Refused("several former values could be meant", hint=f"name one id: {listed}")
    return found[-1]


def _of_key(store: "Store", key: str) -> list[Former]:
    live = facts.get(store, key)
    found = [f for n in file_names(store, key) for p in _PLACES for f in facts.former(store, n, p)]
    rows = [f for f in found if f.fact.key == key and (live is None or f.fact.id != live.id)]
    return _strict_chain(sorted(rows, key=lambda f: f.fact.id, reverse=True), live)[::-1]


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


def _former_keys(live: Fact | None) -> tuple[str, ...]:
    return live.renamed_from if live else ()


def _strict_chain(rows: list[Former], live: Fact | None) -> list[Former]:
    """Newest first: an archived value is read at least as strictly as every one that came after it."""
    strict = live.sensitivity if live else labels.PUBLIC
    found = []
    for former in rows:
        strict = max(strict, former.fact.sensitivity)
        found.append(former.replace(fact=former.fact.replace(sensitivity=strict)))
    return found


def _month_of_id(ref: str) -> str:
    from datetime import timezone

    try:
        return episodes.month_of(datetime.fromtimestamp(ids.milliseconds(ref) / 1000, timezone.utc))
    except (ValueError, OverflowError, OSError):  # an id from elsewhere may hold any number
        return ""
