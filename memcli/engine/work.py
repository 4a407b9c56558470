"""Working memory of a session: set, add, get, list, clear; what must leave to make room is said.

Everything that comes in goes through the same gate as facts: a credential is refused, personal data is replaced by its
type or raises the label. Ids of sessions are kept verbatim and never become a path.
"""

from datetime import datetime

from memcli.base import errors, ids
from memcli.base.value import Value, value
from memcli.engine import intake
from memcli.model import labels, policy, records, redact, words, working
from memcli.model.working import Entry, Item
from memcli.store import working as store_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, TypedDict

    from memcli.model.labels import Sensitivity
    from memcli.model.records import Source
    from memcli.model.settings import Settings
    from memcli.store.folder import Store

    Held = Item | Entry

    class WorkFields(TypedDict, total=False):
        """What `set_entry` and `add_item` take beside their texts."""

        source: str | None
        confidence: str | float | None
        importance: str | float | None
        ttl_minutes: int | None
        sensitivity: str | Sensitivity | None
        tags: tuple[str, ...]
        modality: str
        allow_secret: bool
        allow_pii: bool


MOST_BYTES = 1 << 16
MOST_ID_CHARS = 1000
# Who speaks in a role, as far as trust goes.
_ROLE_KINDS = {"user": "user", "assistant": "agent", "tool": "tool", "system": "system"}


@value
class Kept(Value):
    """What came of a write. how: created, updated or unchanged; evicted: what had to go; folded: messages summed up."""

    held: "Held"
    how: str
    evicted: "tuple[Held, ...]" = ()
    folded: int = 0
    notes: tuple[str, ...] = ()


@value
class Seen(Value):
    """What a reader may see: entries by key, items oldest first; withheld: how many are above the clearance; blocked: ids
    of the others that are of a blocked source."""

    entries: tuple[Entry, ...]
    items: tuple[Item, ...]
    withheld: int = 0
    blocked: tuple[str, ...] = ()


def session_id(text: str) -> str:
    """The id of a session as it is. Raises UsageError for one that is blank, too long or not UTF-8."""
    intake.clean(text, "the session id")
    if not text.strip() or len(text) > MOST_ID_CHARS:
        raise errors.UsageError("the session id is blank or too long", hint="--session S, or MEMCLI_SESSION")
    return text


def new_session_id(text: str) -> str:
    """As `session_id`, for writers. Raises SecretFound too; personal data in it hides nothing, for nobody is shown it."""
    redact.refuse_secrets({"session": session_id(text)})
    return text


def set_entry(
    store: "Store",
    session: str,
    key: str,
    text: str,
    *,
    now: datetime,
    default_kind: str = "unknown",
    **fields: "Any",
) -> Kept:
    """Set a key of a session; past `working.max_entries` the least recently written one goes.

    fields: see WorkFields. Raises UsageError, SecretFound, Damaged, Locked, SystemFailure.
    """
    if not key.strip() or len(key) > MOST_ID_CHARS:
        raise errors.UsageError("the key is blank or too long")
    new_session_id(session)
    common, notes = _take(store, {"key": intake.clean(key, "the key"), "value": text}, fields)
    source = common.pop("source") or intake.default_source(default_kind)
    with store.writing() as w:
        held = working.live(store_of.read(store, session), now)
        old = next((e for e in held.entries if e.key == key), None)
        made = ids.new(now, after=old.id if old else None)
        entry = Entry(id=made, key=key, created_at=now, updated_at=now, source=source, **common)
        if old is not None:
            same = old.replace(id=made, created_at=now, updated_at=now, accesses=0, episode=False, facts=False) == entry
            if same:
                return Kept(held=old, how="unchanged", notes=notes)
            entry = entry.replace(created_at=old.created_at, accesses=old.accesses)
        rest = [e for e in held.entries if e.key != key]
        kept, out = working.cap([*rest, entry], max(1, store.settings["working.max_entries"]))
        store_of.write(w, held.replace(entries=kept), now)
    return Kept(held=entry, how="created" if old is None else "updated", evicted=out, notes=notes)


def add_item(
    store: "Store",
    session: str,
    text: str,
    *,
    now: datetime,
    role: str = "",
    default_kind: str = "unknown",
    made: tuple[bool, bool] = (False, False),
    **fields: "Any",
) -> Kept:
    """Add a note (the window drops the oldest), or with a role a message (a long list is summed up).

    made: whether an episode and facts have been made of it already. fields: see WorkFields.
    Raises UsageError, SecretFound, Damaged, Locked, SystemFailure.
    """
    if role:
        labels.choice(role, "role", working.ROLES)
    new_session_id(session)
    common, notes = _take(store, {"text": text}, fields)
    source = common.pop("source") or intake.default_source(_ROLE_KINDS.get(role, default_kind))
    with store.writing() as w:
        held = working.live(store_of.read(store, session), now)
        fresh = ids.new(now, after=held.items[-1].id if held.items else None)
        item = Item(id=fresh, created_at=now, role=role, source=source, episode=made[0], facts=made[1], **common)
        grown = (*held.items, item)
        items, out = working.slide(grown, window(store.settings))
        items, folded, cut = _shorten(store, items, now)
        store_of.write(w, held.replace(items=items), now)
    if role and not folded and _old(store.settings, items, blocked(store, items)):
        folded, more = think(store, session, now)
        notes = (*notes, *more)
    return Kept(held=item, how="created", evicted=(*out, *cut), folded=folded, notes=notes)


def holding(store: "Store", session: str, text: str, *, now: datetime) -> Item | None:
    """The note of a session that says exactly this."""
    held = working.live(store_of.read(store, session), now)
    return next((i for i in held.items if i.text == text and not i.role), None)


def get(store: "Store", session: str, key: str, *, now: datetime) -> Entry:
    """The entry of a key, whatever its label; its being read is counted. Raises NotFound, Damaged."""
    held = working.live(store_of.read(store, session_id(session)), now)
    found = next((e for e in held.entries if e.key == key), None)
    if found is None:
        raise errors.NotFound("this session holds no such key", hint="memcli work list --session S")
    store_of.count(store, session, [found.id])
    return found


def look(
    store: "Store",
    session: str,
    *,
    now: datetime,
    clearance: "Sensitivity" = labels.INTERNAL,
    query: str = "",
    modality: str = "",
    n: int = 0,
) -> Seen:
    """What a session holds: all of it, or what has these words and this modality; n: only the last so many items, 0 = all.

    What a search finds counts as read. `withheld` and `blocked` depend on neither query nor modality.
    """
    held = working.live(store_of.read(store, session_id(session)), now)
    cleared = [h for h in held.held if policy.cleared(h.sensitivity, clearance)]
    not_served = blocked(store, cleared)
    chosen = [h for h in cleared if h.id not in not_served and modality in ("", h.modality) and _has(h, query)]
    if query:
        store_of.count(store, session, [h.id for h in chosen])
    entries = sorted((h for h in chosen if isinstance(h, Entry)), key=lambda e: e.key)
    items = [h for h in chosen if isinstance(h, Item)]
    return Seen(
        entries=tuple(entries),
        items=tuple(items[-labels.most(n) :]),
        withheld=len(held.held) - len(cleared),
        blocked=tuple(h.id for h in cleared if h.id in not_served),
    )


def blocked(store: "Store", held: "Sequence[Held]") -> frozenset[str]:
    """The ids of those that are not served: a source that they come of is blocked."""
    sources = store.blocked() if held else ()
    return frozenset(h.id for h in held if any(s in sources for s in h.origins)) if sources else frozenset()


def clear(store: "Store", session: str, *, dry_run: bool = False) -> int:
    """Take a session's working memory away, readable or not; how many entries and items it held."""
    try:
        held = store_of.read(store, session_id(session))
        count = len(held.entries) + len(held.items)
    except store_of.Damaged:
        count = 0
    if not dry_run:
        with store.writing() as w:
            store_of.remove(w, session)
    return count


def window(settings: "Settings") -> int:
    """The size of the window: the setting, shrunk when RAM is short and the store says so."""
    return working.shrunk(max(1, settings["working.window"]), ram_used(settings))


def ram_used(settings: "Settings") -> float | None:
    """The share of RAM in use; None unless `working.ram_aware` is on."""
    if not settings["working.ram_aware"]:
        return None
    from memcli.base import machine

    return machine.ram_used()


def think(store: "Store", session: str, now: datetime) -> tuple[int, tuple[str, ...]]:
    """Sum up older messages with the model's help; no lock is held while it thinks.

    Returns how many messages were summed up, and notes. What changed meanwhile is left alone.
    """
    from memcli.engine import compress

    most: int = store.settings["working.summary_chars"]
    items = working.live(store_of.read(store, session), now).items
    old = _old(store.settings, items, blocked(store, items))
    if not old:
        return 0, ()
    open_, _ = compress.by_clearance(old)
    answer = compress.ask(store, open_, most_chars=most) if open_ else None
    later = items[items.index(old[-1]) + 1 :]
    made = list(compress.summaries(old, later, now=now, most_chars=most))
    if open_ and answer is not None and answer.data is not None:
        made[0] = compress.as_item(open_, str(answer.data["text"]), now=now)
    with store.writing() as w:
        held = working.live(store_of.read(store, session), now)
        present = {i.id for i in held.items}
        if not all(i.id in present for i in old):
            return 0, ("the messages changed while the model was thinking; they are left as they are",)
        store_of.write(w, held.replace(items=_folded(held.items, old, made)), now)
    return len(old), (answer.note,) if answer is not None and answer.note else ()


def _shorten(store: "Store", items: tuple[Item, ...], now: datetime) -> tuple[tuple[Item, ...], int, tuple[Item, ...]]:
    """Sum up at once where there is no model to ask, or no room to wait for one. The list never passes the hard cap.

    What a blocked source said makes room first: it must not push out what others said before that is summed up. A summary
    with a part of it stays as long as any other: the rest of it is what others said.
    """
    most = max(1, store.settings["working.max_messages"])
    listed = working.messages(items)
    not_served = blocked(store, items)
    first = {i.id for i in listed if i.id in not_served and i.role != working.SUMMARY}
    old = _old(store.settings, items, not_served)
    folded = 0
    if old and (len(listed) - len(first) > most or not _has_model(store)):
        from memcli.engine import compress

        later = items[items.index(old[-1]) + 1 :]
        made = compress.summaries(old, later, now=now, most_chars=store.settings["working.summary_chars"])
        items, folded = _folded(items, old, made), len(old)
    items, cut = working.hold(items, most, first)
    return items, folded, cut


def _folded(items: "Iterable[Item]", old: "Iterable[Item]", made: "Iterable[Item]") -> tuple[Item, ...]:
    """The items with the summaries in the place of the messages that they stand for."""
    gone = {i.id for i in old}
    out: list[Item] = []
    for item in items:
        if item.id not in gone:
            out.append(item)
        elif made:
            out += made
            made = ()
    return tuple(out)


def _old(settings: "Settings", items: tuple[Item, ...], not_served: frozenset[str]) -> tuple[Item, ...]:
    """The messages that are due to be summed up. What a blocked source said stays by itself, for one part hides a summary.

    not_served: as `blocked` gives it.
    """
    items = tuple(i for i in items if i.id not in not_served)
    threshold = min(settings["working.compress_from"], settings["working.max_messages"])
    return working.to_fold(items, threshold=threshold, keep=settings["working.keep_messages"])


def _has_model(store: "Store") -> bool:
    if not store.settings["llm.command"]:
        return False
    from memcli.engine import llm

    return llm.ready(store)


def _take(store: "Store", texts: dict[str, str], fields: "dict[str, Any]") -> "tuple[dict[str, Any], tuple[str, ...]]":
    """The fields of an entry or item as they may be kept, and what to tell the writer."""
    main = "value" if "value" in texts else "text"
    body = intake.clean(texts[main])
    if not body.strip():
        raise errors.UsageError("there is no text to keep")
    if len(body.encode()) > MOST_BYTES:
        raise errors.UsageError("the text is longer than 64 KiB", hint="keep a reference to a file")
    source: Source | None = records.source(fields["source"]) if fields.get("source") else None
    tags = tuple(intake.clean(t, "a tag") for t in intake.several(fields.get("tags") or (), "tags"))
    modality = labels.modality(intake.words(fields.get("modality") or "text", "modality"))
    outer = {"source": source.id if source else "", "tags": "\n".join(tags), "modality": modality}
    outer["key"] = texts.get("key", "")
    taken = intake.take(
        store.settings,
        {**outer, main: body},
        fixed=tuple(outer),
        allow_secret=bool(fields.get("allow_secret")),
        allow_pii=bool(fields.get("allow_pii")),
    )
    settings = store.settings
    label = labels.sensitivity(fields.get("sensitivity") or settings["defaults.sensitivity"])
    sure = fields.get("confidence")
    matter = fields.get("importance")
    common = {
        "text": taken.texts[main],
        "sensitivity": max(label, taken.least),
        "confidence": labels.confidence(settings["defaults.confidence"] if sure is None else sure),
        "importance": records.DEFAULT_IMPORTANCE if matter is None else labels.unit(matter, "importance"),
        "ttl_minutes": intake.ttl(fields.get("ttl_minutes") or 0),
        "tags": tags,
        "modality": modality,
        "source": source,
    }
    return common, taken.notes


def _has(held: "Held", query: str) -> bool:
    """True when every word of the query is in its text, tags or key."""
    if not query:
        return True
    text = " ".join((held.text, *held.tags, held.key if isinstance(held, Entry) else held.role))
    wanted = words.terms(query)
    if wanted:
        return set(wanted) <= set(words.terms(text))
    return words.fold(query) in words.fold(text)
