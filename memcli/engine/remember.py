"""Writing facts: what a write keeps, what it supersedes, and what it must not do."""

from datetime import datetime

from memcli.base import errors, ids
from memcli.base.value import Value, value
from memcli.engine import intake
from memcli.model import keys, labels, policy, records
from memcli.model.records import Fact, Source
from memcli.store import facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    from memcli.engine.fanout import Fanout
    from memcli.model.labels import Sensitivity
    from memcli.store.folder import Store, Writing

    class FactFields(TypedDict, total=False):
        """What `set_fact` takes beside key and text."""

        source: str | None
        confidence: str | float | None
        ttl_minutes: int | None
        sensitivity: str | Sensitivity | None
        tags: tuple[str, ...] | None
        domain: str | None
        importance: str | float | None
        derived_from: tuple[str, ...] | None
        run: str | None
        agent: str | None
        modality: str | None
        check: str | None
        if_match: str | None
        create: bool
        allow_secret: bool
        allow_pii: bool
        include_forgotten: bool


_TEXTS = frozenset(("domain", "run", "agent", "modality", "check"))


@value
class Written(Value):
    """What came of a write. how: created, superseded, updated or unchanged; fanout: what else a superseded value touches."""

    fact: Fact
    how: str
    notes: tuple[str, ...] = ()
    fanout: "Fanout | None" = None


def set_fact(
    store: "Store",
    key: str,
    text: str | None = None,
    *,
    now: datetime,
    source: str | None = None,
    confidence: "str | float | None" = None,
    ttl_minutes: int | None = None,
    sensitivity: "str | Sensitivity | None" = None,
    tags: tuple[str, ...] | None = None,
    domain: str | None = None,
    importance: "str | float | None" = None,
    derived_from: tuple[str, ...] | None = None,
    run: str | None = None,
    agent: str | None = None,
    modality: str | None = None,
    check: str | None = None,
    if_match: str | None = None,
    create: bool = False,
    allow_secret: bool = False,
    allow_pii: bool = False,
    include_forgotten: bool = False,
    default_kind: str = "unknown",
) -> Written:
    """Store the value of a key; a changed value supersedes the old one. text None: change metadata alone.

    What is not named stays as it is, but a changed value takes its source and confidence from this write. if_match: the
    digest that the caller saw; create: refuse an existing key; derived_from: () takes it away, and one that would lead back
    to the fact itself is a UsageError. default_kind: the kind of source when none is named here
    or in MEMCLI_SOURCE. include_forgotten: also a value that was purged; its tombstone goes.
    Raises UsageError, NotFound (metadata of a key that is not there), Exists, Changed, SecretFound, Purged, BadData (the
    stored record is damaged), Locked, SystemFailure.
    """
    key = keys.normal(key)
    named: dict[str, Any] = {
        "confidence": None if confidence is None else labels.confidence(confidence),
        "importance": None if importance is None else labels.unit(importance, "importance"),
        "ttl_minutes": None if ttl_minutes is None else intake.ttl(ttl_minutes),
        "sensitivity": None if sensitivity is None else labels.sensitivity(sensitivity),
        "tags": None if tags is None else _tags(intake.several(tags, "tags")),
        "domain": domain,
        "derived_from": None
        if derived_from is None
        else tuple(r for r in intake.several(derived_from, "derived_from") if r.strip()),
        "run": run,
        "agent": agent,
        "modality": modality,
        "check": None if check is None else _check(check),
        "source": None if source is None else records.source(source),
    }
    if include_forgotten:
        from memcli.engine import gate

        gate.check_again(store)
    given = {k: v for k, v in named.items() if v is not None}
    for name in _TEXTS & given.keys():
        given[name] = intake.words(given[name], name)
    labels.modality(given.get("modality", ""))
    taken = _scan(store, key, text, given, allow_secret, allow_pii)
    if text is not None:
        text = taken.texts["value"]
    with store.writing() as w:
        found = facts.get(store, key)
        old = found if found is not None and policy.current(found, now, store.settings) else None
        _guard(found, old, text, if_match, create)
        asked = text is not None and (include_forgotten or old is None or text != old.text)
        if asked and store.check_forgotten(facts.LAYER, key, text or "", again=include_forgotten):
            _lift(w, key, text or "")
        written = _write(w, key, text, given, (found, old), taken, now, default_kind)
    if written.how != "superseded" or old is None:
        return written
    from memcli.engine import fanout

    return written.replace(fanout=fanout.of(store, old, now, replaced_by=written.fact.text))


def _write(
    w: "Writing",
    key: str,
    text: str | None,
    given: "dict[str, Any]",
    there: tuple[Fact | None, Fact | None],
    taken: intake.Taken,
    now: datetime,
    default_kind: str,
) -> Written:
    """Write what was decided. there: the fact that is stored under the key, and the same if it is current."""
    store = w.store
    found, old = there
    if old is not None and old.state != "ok" and text in (None, old.text):
        adopted = by_hand(old, now, None, old.sensitivity)
        fact = _changed(store, adopted, text, given, now, default_kind)
        fact = fact.replace(sensitivity=max(fact.sensitivity, taken.least))
        if given.get("derived_from"):
            _check_lineage(store, fact)
        return Written(fact=facts.put(w, fact, old), how="updated", notes=taken.notes)
    if found is not None and found.state != "ok":
        found = as_archived(found, now)
        old = found if old is not None else None
    if old is None:
        fact = _fresh(store, key, text or "", given, now, found or _swept(store, key), default_kind)
    else:
        fact = _changed(store, old, text, given, now, default_kind)
    fact = fact.replace(sensitivity=max(fact.sensitivity, taken.least))
    if given.get("derived_from"):
        _check_lineage(store, fact)
    if old is not None and fact == old:
        return Written(fact=old, how="unchanged", notes=taken.notes)
    how = "created" if old is None else "superseded" if fact.id != old.id else "updated"
    reason = "superseded" if old is not None else "expired"
    return Written(fact=facts.put(w, fact, found, at=now, reason=reason), how=how, notes=taken.notes)


def rename_fact(store: "Store", key: str, new_key: str, *, now: datetime) -> tuple[Fact, bool]:
    """Give a fact another key; its history follows. The fact, and whether anything changed.

    Raises NotFound, Exists, UsageError, SecretFound, Purged (this value was purged under the new key), BadData.
    """
    key, new_key = keys.normal(key), keys.normal(new_key)
    taken = intake.take(store.settings, {"key": new_key}, fixed=("key",))
    with store.writing() as w:
        fact = usable(store, key, now)
        if fact.key == new_key:
            return fact, False
        store.check_forgotten(facts.LAYER, new_key, fact.text, hint=errors.Purged.by_set)
        fact = fact.replace(sensitivity=max(fact.sensitivity, taken.least))  # a personal key
        if fact.derived_from:
            _check_lineage(store, fact.replace(key=new_key))
        there = facts.get(store, new_key)
        if there is not None and policy.current(there, now, store.settings):
            raise errors.Exists("a fact of the new key exists", hint="forget or rename that one first")
        if there is not None:  # it has ended, swept or not
            facts.remove(w, [(there, "expired")], now, place="archive")
        return facts.rename(w, fact, new_key), True


def adopt(
    store: "Store", key: str, *, now: datetime, source: str | None = None, sensitivity: str | None = None
) -> Written:
    """Take over what a person made or edited by hand: a new value with its own sidecar, source `user:hand`.

    An agent that does so speaks for itself: where MEMCLI_SOURCE names no person, that is the source.
    The label only changes when `sensitivity` says so; a file without one stays restricted.
    Raises NotFound, Purged (the text was purged, and somebody brought it back), BadData for a damaged record.
    """
    with store.writing() as w:
        fact = usable(store, keys.normal(key), None)
        if fact.state == "half":
            raise errors.BadData("its text is older than its sidecar", hint="finish the checkout or sync first")
        label = fact.sensitivity if sensitivity is None else labels.sensitivity(sensitivity)
        if fact.state == "ok":
            return Written(fact=fact, how="unchanged")
        store.check_forgotten(facts.LAYER, fact.key, fact.text, hint=errors.Purged.by_set)
        return Written(fact=facts.put(w, by_hand(fact, now, source or _no_person(), label), fact), how="updated")


def adopt_all(
    store: "Store", *, now: datetime, source: str | None = None, sensitivity: str | None = None
) -> tuple[list[Written], int]:
    """Take over every fact that was made or edited by hand; also how many were left for a key that may not be."""
    found = [f.key for f in facts.every(store) if f.state in ("drift", "bare")]
    chosen = [k for k in found if keys.possible(k)]
    done = [adopt(store, k, now=now, source=source, sensitivity=sensitivity) for k in chosen]
    return done, len(found) - len(chosen)


def _no_person() -> str | None:
    """Who MEMCLI_SOURCE names, unless that is a person."""
    named = intake.default_source("user")
    return None if named.kind in policy.PEOPLE else str(named)


def by_hand(fact: Fact, now: datetime, source: str | None, label: "Sensitivity") -> Fact:
    """The value that a hand edit makes: a new id that follows the old one, source `user:hand`, medium confidence."""
    return fact.replace(
        id=ids.new(now, after=fact.id or None),
        supersedes=fact.id,
        source=records.source(source) if source else Source(id="hand", kind="user"),
        confidence=labels.CONFIDENCE_WORDS["medium"],
        updated_at=now,
        sensitivity=label,
        confirmations=(),
        denials=(),
        confirmed_at=None,
        state="ok",
    )


def as_archived(fact: Fact, now: datetime) -> Fact:
    """A hand-edited value as it goes to the archive: under the id that its file has, so that the chain stays whole."""
    adopted = by_hand(fact, now, None, fact.sensitivity)
    return adopted.replace(
        id=fact.id or adopted.id, supersedes="" if not fact.id else fact.supersedes, digest=fact.digest
    )


def usable(store: "Store", key: str, now: datetime | None) -> Fact:
    """The live fact of a key for a writer. Raises NotFound, BadData when it is damaged or in conflict."""
    fact = facts.get(store, key)
    if fact is None or (now is not None and not policy.current(fact, now, store.settings)):
        from memcli.engine import missing

        raise missing.no_fact(store, key, now)
    if fact.state in ("damaged", "conflict"):
        raise errors.BadData(f"the record is {fact.state}", path=f"{facts.LAYER}/{fact.name}.md", hint="memcli doctor")
    return fact


def _scan(
    store: "Store", key: str, text: str | None, given: "dict[str, Any]", allow_secret: bool, allow_pii: bool
) -> intake.Taken:
    texts = {"key": key, "value": intake.clean(text or "")}
    for name in sorted(_TEXTS & given.keys()):
        texts[name] = intake.clean(given[name], name)
    source = given.get("source")
    texts["source"] = source.id if isinstance(source, Source) else ""
    for name in ("tags", "derived_from"):
        texts[name] = intake.clean("\n".join(given.get(name, ())), name)
    fixed = tuple(n for n in texts if n != "value")
    return intake.take(store.settings, texts, fixed=fixed, allow_secret=allow_secret, allow_pii=allow_pii)


def _lift(w: "Writing", key: str, text: str) -> None:
    """Somebody said that this may be known again."""
    from memcli.store import tombstones

    tombstones.lift(w, facts.LAYER, key, text)


def _guard(found: Fact | None, old: Fact | None, text: str | None, if_match: str | None, create: bool) -> None:
    if found is not None and found.state in ("damaged", "conflict"):
        path = f"{facts.LAYER}/{found.name}.md"
        raise errors.BadData(f"the stored record is {found.state}", path=path, hint="memcli doctor")
    if create and old is not None:
        raise errors.Exists("a fact of this key exists", hint="leave out --create to supersede it")
    if if_match is not None and (old is None or old.digest != if_match):
        raise errors.Changed("the fact is not the one that --if-match names; nothing was written")
    if text is None and old is None:
        raise errors.NotFound("no fact of this key, and no value was given", hint="memcli fact set KEY VALUE")


def _fresh(
    store: "Store", key: str, text: str, given: "dict[str, Any]", now: datetime, ended: Fact | None, kind: str
) -> Fact:
    """A first value, or one that follows a value that has expired or faded."""
    settings = store.settings
    base: dict[str, Any] = {
        "source": intake.default_source(kind),
        "confidence": labels.confidence(settings["defaults.confidence"]),
        "ttl_minutes": settings["defaults.ttl_minutes"],
        "sensitivity": labels.sensitivity(settings["defaults.sensitivity"]),
        "created_at": now,
    }
    after = ended.id if ended else None
    if ended is not None:
        base |= {
            "created_at": ended.created_at,
            "supersedes": ended.id,
            "renamed_from": ended.renamed_from,
            "name": ended.name,
            "sensitivity": max(base["sensitivity"], ended.sensitivity),
        }
    return Fact(id=ids.new(now, after=after), key=key, text=text, updated_at=now, **base | given)


def _swept(store: "Store", key: str) -> Fact | None:
    """The value of a key that a sweep has taken out: what is written now follows it, as if nobody had swept."""
    names = (keys.file_name(key), keys.hidden_name(key))
    rows = [f for name in names for f in facts.former(store, name) if f.fact.key == key]
    last = max(rows, key=lambda f: f.fact.id, default=None)
    return last.fact if last is not None and last.reason in ("expired", "faded") else None


def _changed(store: "Store", old: Fact, text: str | None, given: "dict[str, Any]", now: datetime, kind: str) -> Fact:
    if text is None or text == old.text:
        renewed = {"updated_at": now} if given.get("ttl_minutes", old.ttl_minutes) != old.ttl_minutes else {}
        return old.replace(**given, **renewed)
    fresh = {
        "id": ids.new(now, after=old.id),
        "supersedes": old.id,
        "text": text,
        "updated_at": now,
        "source": given.get("source") or intake.default_source(kind),
        "confidence": given.get("confidence") or labels.confidence(store.settings["defaults.confidence"]),
        "run": "",
        "agent": "",
        "derived_from": (),
        "confirmed_at": None,
        "confirmations": (),
        "denials": (),
        "valid_from": None,
        "valid_to": None,
        "check": "",
    }
    return old.replace(**fresh | given)


def _check_lineage(store: "Store", fact: Fact) -> None:
    from memcli.engine import lineage

    lineage.Web(store).check(fact)


def _check(text: str) -> str:
    """A check as it is stored; an empty one takes it away. Raises UsageError."""
    from memcli.engine import verify

    if text:
        verify.parse(text)
    return text


def _tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    found = []
    for tag in tags:
        tag = tag.strip()
        if not tag or not tag.isprintable() or len(tag) > 200:
            raise errors.UsageError("a tag is blank, too long or has control characters")
        found.append(tag)
    return tuple(dict.fromkeys(found))
