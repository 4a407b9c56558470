"""Forgetting and restoring: through the trash, by key or id; `purge` is the only hard delete."""

from datetime import datetime

from memcli.base import errors, ids
from memcli.base.value import Value, value
from memcli.engine import erase, gate, others
from memcli.model import keys, labels, policy
from memcli.model.records import Episode, Fact, Former, Procedure
from memcli.store import archive, episodes, facts, tombstones

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from memcli.engine import prove
    from memcli.model.labels import Sensitivity
    from memcli.store.folder import Store, Writing


@value
class Forgotten(Value):
    """What was (or with dry_run would be) forgotten.

    layer: facts, episodes, procedures, proposed/facts or working (it has no trash); ids: of live values; erased: former
    values that went for good; tombstones: how many were written; named_by: after a purge, keys of other facts that still
    name it in a relation or as their basis, "" for one that is withheld; proof: what a search of the whole store found of
    it afterwards, None where nobody asked.
    """

    layer: str
    ids: tuple[str, ...]
    erased: int = 0
    tombstones: int = 0
    named_by: tuple[str, ...] = ()
    proof: "prove.Proof | None" = None


def forget(
    store: "Store",
    ref: str,
    *,
    now: datetime,
    purge: bool = False,
    prove: bool = False,
    tombstone: bool = True,
    dry_run: bool = False,
) -> Forgotten:
    """Put a record into the trash. purge: erase it there and in the archive too.

    ref: the key of a fact, else of a procedure; the id of any record, also of a proposal or of what a session holds in
    mind: that is taken out of its session for good, for working memory has no trash.

    prove: search the whole store for what was purged (with dry_run: for what would be) and say where it still stands.
    tombstone: purge leaves salted hashes, which keep the value from being learned again by accident.
    Raises Refused (an agent does not purge), NotFound, UsageError (prove without purge), and before anything is erased BadData
    where a file of the key cannot be read, SystemFailure when prove cannot read the repository; what cannot be looked at
    afterwards is said in the proof. A damaged record can be forgotten: its files go to the trash as they are.
    """
    if prove and not purge:
        raise errors.UsageError("only what is purged can be proved to be gone", hint="--purge --prove")
    if purge and not dry_run:
        gate.check_person("erases for good", store)
    what = _what(store, ref, purge)
    if purge:
        erase.check_readable(store, {key for key, _ in what.said if key})
    if prove and not dry_run:
        from memcli.engine import prove as search

        search.check(store)
    done = what.done if dry_run else _carry_out(store, ref, now, purge, tombstone)
    if purge and done.layer == facts.LAYER:
        done = done.replace(named_by=_named_by(store, {ref, *what.done.ids, *(key for key, _ in what.said)}))
    if not prove:
        return done
    from memcli.engine import prove as search

    return done.replace(proof=search.run(store, what.said, names=what.names, layer=done.layer))


def _named_by(store: "Store", names: set[str]) -> tuple[str, ...]:
    """The facts that name one of these keys or ids, by key; their text may not say it, their header does."""
    found = []
    for fact in facts.every(store):
        named = {str(r.get("target")) for r in fact.relations}.union(fact.derived_from)
        if fact.key not in names and not named.isdisjoint(names):
            found.append(fact.key if fact.sensitivity <= labels.INTERNAL else "")
    return tuple(sorted(found))


def restore(store: "Store", ref: str, *, now: datetime, include_forgotten: bool = False) -> Fact | Episode | Procedure:
    """Bring back what was forgotten, expired, faded or superseded, by key or id; a procedure or a proposal from the trash.

    From the trash, and after expiry, a value comes back under its own id; a superseded one is written anew over the
    present one. include_forgotten: also one that was purged and has come back with a clone's archive.
    Raises NotFound, Exists (the key has another value), UsageError when several values could be meant, Purged, Refused
    (an agent undoes no decision: what was purged or rejected).
    """
    if include_forgotten:
        gate.check_again(store)
    with store.writing() as w:
        if ids.valid(ref):
            found = _former_episode(store, ref)
            if found is not None:
                erase.check_episode(w, found[0], again=include_forgotten)
                return _restore_episode(w, *found)
            ended = find_episode(store, ref)
            if ended is not None and policy.expired(ended, now):
                episodes.take_out(w, ended.month, {ref: "expired"}, now, place="archive")
                return _restore_episode(w, ended, "archive")
        try:
            choice, live = _choose(store, ref, now)
        except errors.NotFound:
            other = others.restore(w, ref, now, again=include_forgotten)
            if other is None:
                raise
            return other
        erase.check(w, facts.LAYER, choice.fact.key, choice.fact.text, again=include_forgotten)
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


_UNSWEPT = "live"


@value
class _What(Value):
    """What a ref means: the answer of a dry run, the (key, text) pairs that would go, and their file names."""

    done: Forgotten
    said: tuple[tuple[str, str], ...] = ()
    names: tuple[str, ...] = ()


def _what(store: "Store", ref: str, purge: bool) -> _What:
    episode = find_episode(store, ref)
    if episode is not None:
        texts = (episode.text, episode.task, *episode.findings)
        said = tuple(("", text) for text in texts if text.strip())
        erased = _copies(store, episode) if purge else 0
        return _What(done=Forgotten(layer=episodes.LAYER, ids=(ref,), erased=erased), said=said, names=(episode.month,))
    fact = find_fact(store, ref)
    live: list[Fact] = []
    if fact is not None:
        with facts.Shelf(store) as shelf:
            live = shelf.rivals(fact.key) or [fact]
    elif (other := _other(store, ref, purge)) is not None:
        done = Forgotten(layer=other.layer, ids=other.ids, erased=other.erased if purge else 0)
        return _What(done=done, said=other.said, names=other.names)
    elif not purge:
        raise _nothing(store, ref)
    ids_of = tuple(f.id for f in live)
    if not purge:
        return _What(done=Forgotten(layer=facts.LAYER, ids=ids_of))
    gone = erase.of_key(store, fact.key if fact else keys.normal(ref), live)
    return _What(done=Forgotten(layer=facts.LAYER, ids=ids_of, erased=gone.count), said=gone.values, names=gone.names)


def _other(store: "Store", ref: str, purge: bool) -> "others.Other | None":
    """What a ref that no live fact has means else; former values of a fact come first, or a purge might hit the wrong one."""
    if purge and not ids.valid(ref) and erase.of_key(store, keys.normal(ref), []).values:
        return None
    return others.find(store, ref, purge=purge)


def _nothing(store: "Store", ref: str) -> errors.NotFound:
    from memcli.engine import missing

    said, hint = "no record of this key or id", "memcli fact list, episode list, procedure list, review list, work list"
    return missing.no_fact(store, keys.normal(ref), None, said, hint=hint)


def _carry_out(store: "Store", ref: str, now: datetime, purge: bool, tombstone: bool) -> Forgotten:
    with store.writing() as w:
        episode = find_episode(store, ref)
        if episode is not None:
            return _forget_episode(w, episode, now, purge, tombstone)
        fact = find_fact(store, ref)
        if fact is None and (other := _other(store, ref, purge)) is not None:
            buried = others.carry_out(w, other, now, purge=purge, tombstone=tombstone)
            erased = other.erased if purge else 0
            return Forgotten(layer=other.layer, ids=other.ids, erased=erased, tombstones=buried)
        if fact is None:
            return _purge_former(w, ref, now, purge, tombstone)
        with facts.Shelf(store) as shelf:
            gone = [_whole(f, now) for f in shelf.rivals(fact.key)] or [_whole(fact, now)]
        done = Forgotten(layer=facts.LAYER, ids=tuple(f.id for f in gone))
        before = erase.of_key(store, fact.key, gone) if purge else None
        buried = erase.bury(w, before, now) if before is not None and tombstone else 0
        facts.remove(w, [(f, "forgotten") for f in gone], now, place="trash")
        if before is None:
            return done
        erase.carry_out(w, erase.of_key(store, fact.key, gone), now)  # also what lies in the trash since
        return done.replace(erased=before.count, tombstones=buried)


def _purge_former(w: "Writing", ref: str, now: datetime, purge: bool, tombstone: bool) -> Forgotten:
    """Purge a key of which only former values or proposals are left."""
    what = erase.of_key(w.store, keys.normal(ref), []) if purge and not ids.valid(ref) else None
    if what is None or not what.values:
        raise _nothing(w.store, ref)
    buried = erase.bury(w, what, now) if tombstone else 0
    erase.carry_out(w, what, now)
    return Forgotten(layer=facts.LAYER, ids=(), erased=what.count, tombstones=buried)


def _whole(fact: Fact, now: datetime) -> Fact:
    """A fact as the trash can hold it: a hand-made one gets an id."""
    return fact if ids.valid(fact.id) else fact.replace(id=ids.new(now))


def _forget_episode(w: "Writing", episode: Episode, now: datetime, purge: bool, tombstone: bool) -> Forgotten:
    buried = erase.bury_episode(w, episode, now) if purge and tombstone else 0
    erased = _copies(w.store, episode) if purge else 0
    episodes.take_out(w, episode.month, {episode.id: "forgotten"}, now, place="trash")
    if purge:
        for place in erase.PLACES:
            archive.without(w.store, episodes.LAYER, episode.month, {episode.id}, place)
        erase.drop_derived(w, {episode.id})
    return Forgotten(layer=episodes.LAYER, ids=(episode.id,), erased=erased, tombstones=buried)


def _copies(store: "Store", episode: Episode) -> int:
    """How often archive and trash have an episode that is live: once more where it was restored after a crash."""
    rows = (row for p in erase.PLACES for row in archive.read(store, episodes.LAYER, episode.month, p))
    return sum(row["meta"]["id"] == episode.id for row in rows)


def _former_episode(store: "Store", ref: str) -> tuple[Episode, str] | None:
    for place in erase.PLACES:
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
        raise _nothing_former(store)
    if len({f.fact.id for f in found}) > 1:
        listed = ", ".join(f"{f.fact.id} ({f.reason} {f.at:%Y-%m-%d})" for f in found)
        raise errors.UsageError("several former values could be meant", hint=f"name one id: {listed}")
    return found[-1], live


def _nothing_former(store: "Store") -> errors.NotFound:
    """A tombstone is a hash over key and text: of a key alone nobody can say that it was purged, only that values were."""
    said, hint = "nothing to restore under this key or id", "memcli fact history KEY"
    try:
        purged = bool(len(tombstones.read(store)))
    except errors.MemcliError:
        purged = False  # `doctor` says why it cannot be read
    if purged:
        said += "; values were purged from this store, and what was purged cannot come back"
    return errors.NotFound(said, hint=f"{hint}; what a session held in mind cannot come back")


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
    for name in dict.fromkeys(n for key in wanted for n in erase.file_names(store, key)):
        for place in erase.PLACES:
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
    return [f for p in erase.PLACES for n in archive.names(store, facts.LAYER, p) for f in facts.former(store, n, p)]


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
