"""Durable facts on disk: one pair of files a key, former values in the archive, the forgotten in the trash."""

from datetime import datetime

from memcli.base import clock, errors
from memcli.base.value import as_dict
from memcli.model import header, keys, labels, sidecar
from memcli.model.records import Fact, Former, Source
from memcli.store import archive, names, pair

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from memcli.base import files
    from memcli.store.folder import Store, Writing
    from memcli.store.pair import Pair

LAYER = "facts"
_HEADER = ("id", "key", "sensitivity", "tags", "relations")
_NOT_META = frozenset(("text", "tags", "relations", "header", "state", "name", "digest"))


def get(store: "Store", key: str) -> Fact | None:
    """The fact of a key (normalised by `keys.normal`), whatever its label; None when there is none."""
    with Shelf(store) as shelf:
        return shelf.get(key)


class Shelf:
    """Look-ups of many keys while nobody else writes: `with facts.Shelf(store) as shelf: shelf.get(key)`."""

    __slots__ = ("_folder", "_odd", "_store")

    def __init__(self, store: "Store") -> None:
        self._store = store
        self._folder = store.folder(LAYER)
        self._odd: dict[str, list[str]] | None = None

    def __enter__(self) -> "Shelf":
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.close()

    def get(self, key: str) -> Fact | None:
        """As `facts.get`."""
        if self._folder.missing:
            return None
        return _one(self._read(key, _regular(key)) or self._read(key, self._by_hand(key)))

    def rivals(self, key: str) -> list[Fact]:
        """Every file of the key as a fact of its own; more than one when the key is in conflict."""
        if self._folder.missing:
            return []
        return self._read(key, list(dict.fromkeys([*_regular(key), *self._by_hand(key)])))

    def taken(self, name: str) -> bool:
        """True when a file lies where a new fact of this file name would be written."""
        return self._folder.info(name + pair.MD) is not None

    def _by_hand(self, key: str) -> list[str]:
        if self._odd is None:
            self._odd = names.odd(self._store, self._folder)
        return names.of_key(self._odd, key)

    def _read(self, key: str, candidates: list[str]) -> list[Fact]:
        """Never another key's value: what a file says of its key decides, not its name."""
        found = (p for name in candidates if (p := pair.read(self._folder, name)) and p.key == key)
        return [_fact(p, self._store) for p in found]


def _regular(key: str) -> list[str]:
    return [keys.file_name(key), keys.hidden_name(key)]


def every(store: "Store", unread: "list[str] | None" = None) -> "Iterator[Fact]":
    """All facts by file name, each key once. unread: gets the names of those whose text is there and cannot be read."""
    with store.folder(LAYER) as folder:
        listed = pair.stems(folder.names())
        read = {name: named(store, folder, name) for name in listed}
        if unread is not None:
            unread += [n for n, f in read.items() if f is None and folder.info(n + pair.MD) is not None]
    yield from chosen(f for f in read.values() if f is not None)


def check_readable(store: "Store", key: str) -> None:
    """For a key that seems to have no fact: raise Unreadable or BadData where its file is there and tells nothing."""
    with store.folder(LAYER) as folder:
        for name in _regular(key):
            try:
                (folder.read(name + pair.MD) or b"").decode()
            except UnicodeDecodeError:
                raise errors.BadData("the file of this key is not UTF-8", path=folder.where(name + pair.MD)) from None
            except errors.BadData as e:
                if e.exit_code == errors.SystemFailure.exit_code:
                    raise  # no right to read it; a link or a folder is no fact


def named(store: "Store", folder: "files.Folder", name: str) -> Fact | None:
    """The fact of a file name, whatever other file claims its key."""
    p = pair.read(folder, name)
    return None if p is None else _fact(p, store)


def alike(store: "Store", key: str) -> list[Fact]:
    """The facts whose keys differ from this one in case, signs and spaces alone, as far as their names show their keys."""
    slug = keys.file_name(key).partition("--")[0]
    with store.folder(LAYER) as folder:
        names_ = [n for n in pair.stems(folder.names()) if n.partition("--")[0] == slug]
        found = [f for n in names_ if (f := named(store, folder, n)) is not None]
    return [f for f in chosen(found) if f.key != key]


def chosen(found: "Iterable[Fact]") -> "Iterator[Fact]":
    """Of facts by file the ones that readers see: of several with one key the greater id, and none that was renamed."""
    by_key: dict[str, list[Fact]] = {}
    for fact in found:
        by_key.setdefault(fact.key, []).append(fact)
    moved = {(f.id, key) for group in by_key.values() for f in group for key in f.renamed_from if key != f.key}
    for group in by_key.values():
        best = _one(group)
        if best is not None and (best.id, best.key) not in moved:  # else: its renaming is not finished
            yield best


def put(
    w: "Writing", fact: Fact, old: Fact | None = None, *, at: datetime | None = None, reason: str = "superseded"
) -> Fact:
    """Write a fact over `old` (None: create) and return it as stored, with name and digest.

    What differs decides what is written: a new id is a new value, and `old` goes to the archive first (at: when and why
    it ended); metadata alone replaces the sidecar, tags and relations the Markdown, a label both. A hand-made file that
    has the name of another key moves to that of its own, since nobody would look for it there.
    """
    store = w.store
    name, left = fact.name or new_name(fact), ""
    if old is not None and _misplaced(fact):
        name, left = new_name(fact), name
        old = old.replace(name=name)  # its history goes with it
    new_value = old is None or bool(left) or old.id != fact.id
    md, side = encode(fact)
    pair.check_size(md, side)
    if left:
        with store.folder(LAYER) as folder:
            pair.check_free(folder, name)
    if new_value and old is not None and at is not None:
        archive.append(w, LAYER, old.name, _archived(old, reason, at))
    same_md, same_side = (None, None) if new_value or old is None or old.state != "ok" else encode(old)
    with store.folder(LAYER, create=True) as folder:
        if old is None:
            pair.check_free(folder, name)
        if left:
            w.note({"layer": LAYER, "name": left, "id": fact.id, "renamed": name})
        known = names.current(store, folder)
        pair.write(
            w,
            folder,
            LAYER,
            name,
            fact.id,
            md=None if md == same_md else md,
            side=None if side == same_side else side,
            new_value=new_value,
        )
        if left:
            pair.drop(w, folder, LAYER, [left])
        names.keep(store, folder, None if left else known)
        stored = pair.read(folder, name)
    if stored is None:
        raise errors.SystemFailure("the record was written but cannot be read back", path=name)
    return _fact(stored, store)


def remove(w: "Writing", gone: list[tuple[Fact, str]], at: datetime, *, place: str) -> None:
    """Take facts out, each with its reason, after their values lie, synced, in the archive or the trash."""
    _out(w, gone, [(f.name, _archived(f, reason, at)) for f, reason in gone], place)


def merge_into(w: "Writing", kept: Fact, rest: list[Fact], at: datetime) -> None:
    """Take other files of a fact's key out: what they say becomes a former value of the one that is kept."""
    rows = [(kept.name, _archived(f.replace(name=kept.name), "superseded", at)) for f in rest]
    _out(w, [(f, "") for f in rest], rows, "archive")


def _out(w: "Writing", gone: list[tuple[Fact, str]], rows: list[tuple[str, bytes]], place: str) -> None:
    archive.append_many(w, LAYER, rows, place)
    with w.store.folder(LAYER) as folder:
        known = names.current(w.store, folder)
        pair.drop(w, folder, LAYER, [fact.name for fact, _ in gone])
        names.keep(w.store, folder, known)


def put_many(w: "Writing", made: list[tuple[Fact, Fact | None]], at: datetime) -> None:
    """Write many facts, each over its old value or None, with a handful of syncs in all; the protocol is that of `put`."""
    for fact, old in [row for row in made if row[1] is not None and _misplaced(row[0])]:
        put(w, fact, old, at=at)
    made = [row for row in made if row[1] is None or not _misplaced(row[0])]
    rows = [(fact.name or new_name(fact), fact.id, *encode(fact)) for fact, _ in made]
    for _, _, md, side in rows:
        pair.check_size(md, side)
    ended = [old for fact, old in made if old is not None and old.id != fact.id]
    archive.append_many(w, LAYER, [(f.name, _archived(f, "superseded", at)) for f in ended])
    with w.store.folder(LAYER, create=True) as folder:
        known = names.current(w.store, folder)
        for fact, old in made:
            if old is None:
                pair.check_free(folder, fact.name or new_name(fact))
        pair.write_many(w, folder, LAYER, rows)
        names.keep(w.store, folder, known)


def archived_line(fact: Fact, reason: str, at: datetime) -> bytes:
    """The archive's line for a former value that comes from elsewhere; `fact.name` says where it belongs."""
    return _archived(fact, reason, at)


def rename(w: "Writing", fact: Fact, key: str) -> Fact:
    """Write the fact under a new key, then take the old pair away; the value keeps its id."""
    moved = fact.replace(key=key, renamed_from=(*fact.renamed_from, fact.key), name="", header=fact.header)
    hidden = fact.name.startswith("x--") or fact.sensitivity >= labels.SENSITIVE
    name = keys.hidden_name(key) if hidden else keys.file_name(key)
    w.note({"layer": LAYER, "name": fact.name, "id": fact.id, "renamed": name})
    stored = put(w, moved.replace(name=name))
    with w.store.folder(LAYER) as folder:
        pair.drop(w, folder, LAYER, [fact.name])
    return stored


def _misplaced(fact: Fact) -> bool:
    """True when its file has the hashed name of another key."""
    return names.hashed(fact.name) and not names.follows(fact.name, fact.key)


def new_name(fact: Fact) -> str:
    """The file name of a fact that is created now: a sensitive one does not show its key."""
    hidden = fact.sensitivity >= labels.SENSITIVE
    return keys.hidden_name(fact.key) if hidden else keys.file_name(fact.key)


def former(store: "Store", name: str, place: str = "archive") -> list[Former]:
    """The former values kept under a file name, oldest first."""
    found = []
    for row in archive.read(store, LAYER, name, place):
        fact = from_row(row)
        if fact is not None:
            found.append(Former(fact=fact, reason=row["reason"], at=row["at"], place=place))
    return found


def strict(rows: list[Former], least: "labels.Sensitivity" = labels.PUBLIC) -> list[Former]:
    """Oldest first: a former value is read at least as strictly as every one that came after it, and as `least`.

    Of several copies of one value (archive and trash) each is as strict as the strictest.
    """
    found = []
    copies: dict[str, labels.Sensitivity] = {}
    for each in rows:
        copies[each.fact.id] = max(each.fact.sensitivity, copies.get(each.fact.id, labels.PUBLIC))
    for each in sorted(rows, key=lambda f: f.fact.id, reverse=True):
        least = max(least, copies[each.fact.id])
        found.append(each.replace(fact=each.fact.replace(sensitivity=least)))
    return found[::-1]


def of_pair(p: "Pair") -> Fact:
    """The fact that a pair of files holds, wherever it lies."""
    return _fact(p, None)


def from_row(row: "dict[str, Any]") -> Fact | None:
    """The fact of an archived line, None when its sidecar is damaged or of a newer format."""
    try:
        meta = sidecar.decode(dict(row["meta"]))
    except errors.BadData:
        return None
    p = pair.Pair(
        name=row["name"],
        header=row["header"],
        text=row["text"],
        meta=meta,
        sensitivity=max(
            meta["sensitivity"], labels.stored_sensitivity(row["header"].get("sensitivity")) or labels.PUBLIC
        ),
        state="ok",
        problem="",
        modified=0.0,
        served=b"",
        side=b"",
    )
    return _fact(p, None).replace(digest="")


def encode(fact: Fact) -> tuple[bytes, bytes]:
    """The bytes of the two files of a fact. Raises UsageError when the front matter cannot hold its tags or relations."""
    try:
        md = header.join(_front(fact), fact.text).encode()
    except ValueError as e:
        raise errors.UsageError(str(e), hint="fewer or simpler tags, relations and header fields") from None
    return md, sidecar.dump(_meta(fact))


def _front(fact: Fact) -> "dict[str, Any]":
    front: dict[str, Any] = {"id": fact.id, "key": fact.key, "sensitivity": str(fact.sensitivity)}
    if fact.tags:
        front["tags"] = list(fact.tags)
    if fact.relations:
        front["relations"] = [dict(r) for r in fact.relations]
    return front | {k: v for k, v in (fact.header or {}).items() if k not in _HEADER}


def _meta(fact: Fact) -> "dict[str, Any]":
    fields = {k: v for k, v in as_dict(fact).items() if k not in _NOT_META}
    return sidecar.encode(fields | {"body_sha256": pair.body_hash(fact.text)})


def _archived(fact: Fact, reason: str, at: datetime) -> bytes:
    return archive.line(reason, at, LAYER, fact.name, _meta(fact), _front(fact), fact.text)


def _one(found: list[Fact]) -> Fact | None:
    """One fact a key: of several the greater id with the strictest label, marked as in conflict."""
    if len(found) < 2:
        return found[0] if found else None
    best = max(found, key=lambda f: f.id)
    return best.replace(sensitivity=max(f.sensitivity for f in found), state="conflict")


def _fact(p: "Pair", store: "Store | None") -> Fact:
    meta = p.meta
    state = p.state
    if state == "half" and store is not None:
        meta = _superseded_meta(store, p) or meta
    fields = _by_hand(p) if meta is None else {k: v for k, v in meta.items() if k in _FIELDS}
    fields |= {
        "key": p.key,
        "text": p.text,
        "sensitivity": max(p.sensitivity, fields.get("sensitivity", labels.PUBLIC)),
        "tags": _words(p.header.get("tags")),
        "relations": _relations(p.header.get("relations")),
        "header": {k: v for k, v in p.header.items() if k not in _HEADER} or None,
        "state": state,
        "name": p.name,
        "digest": p.digest,
    }
    return Fact(**fields)


_FIELDS = frozenset(Fact.__fields__)


def _superseded_meta(store: "Store", p: "Pair") -> "dict[str, Any] | None":
    """Half a clone shows the old text: with the metadata that the archive keeps for it."""
    for row in archive.read(store, LAYER, p.name):
        if row["meta"]["id"] == p.header.get("id"):
            try:
                return sidecar.decode(dict(row["meta"]))
            except errors.BadData:
                return None
    return None


def _by_hand(p: "Pair") -> "dict[str, Any]":
    changed = clock.since_epoch(int(p.modified))
    return {
        "id": p.id,
        "source": Source(id="hand", kind="unknown"),
        "confidence": labels.CONFIDENCE_WORDS["low"],
        "created_at": changed,
        "updated_at": changed,
    }


def _words(found: object) -> tuple[str, ...]:
    if isinstance(found, str):
        return tuple(w for w in found.replace(",", " ").split() if w)
    return tuple(str(t) for t in found if isinstance(t, (str, int))) if isinstance(found, list) else ()


def _relations(found: object) -> "tuple[dict[str, Any], ...]":
    return tuple(r for r in found if isinstance(r, dict)) if isinstance(found, list) else ()
