"""Proposed facts on disk: seen, not yet promoted. Pairs of the same shape as facts, in `proposed/facts/`.

The identity of a proposal is its key *and* what it says, both normalised, so that rival values of one key stand side by
side and each gathers its own witnesses: `run` wrote it, every run in `confirmations` has observed it again. All imports
together are one run, IMPORTED, whatever the files say. The file name follows from that identity, so two clones that learn
the same thing write the same file.
"""

import re
from datetime import datetime

from memcli.base import errors, sha256
from memcli.model import keys, labels, policy, words
from memcli.model.records import Fact, Opinion
from memcli.store import archive, facts, pair

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memcli.base import files
    from memcli.store.folder import Store, Writing

LAYER = "proposed/facts"
IMPORTED = "import"
REJECTED = "rejected"
_PARTS = ("proposed", "facts")


def same(key: str, text: str) -> tuple[str, str]:
    """Key and text with their wording normalised: case, white space, quotes, the final stop and letters of the text that
    nobody sees do not count."""
    return _wording(key), _wording(_visible(text))


def find(store: "Store", key: str, text: str) -> Fact | None:
    """The proposal that this key holds this, whatever its label; None when nobody made it.

    One that was edited by hand since says something else now; it still holds the place of what it was.
    """
    with Shelf(store) as shelf:
        return shelf.find(*same(key, text))


class Shelf:
    """Look-ups of many proposals while nobody else writes."""

    __slots__ = ("_folder",)

    def __init__(self, store: "Store") -> None:
        self._folder: files.Folder = store.folder(*_PARTS)

    def __enter__(self) -> "Shelf":
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.close()

    def find(self, key: str, text: str) -> Fact | None:
        """As `proposals.find`, by the two parts of an identity (`same`)."""
        if self._folder.missing:
            return None
        for hidden in (False, True):
            found = pair.read(self._folder, _name(key, text, hidden=hidden))
            if found is not None:
                return facts.of_pair(found)
        return None

    def taken(self, fact: Fact) -> bool:
        """True when a file lies where a new proposal would be written."""
        return not self._folder.missing and self._folder.info(file_name(fact) + pair.MD) is not None


def every(store: "Store", unread: "list[str] | None" = None) -> "Iterator[Fact]":
    """All proposals by file name, whatever their label. unread: gets the names of those whose text is there and cannot be
    read."""
    with store.folder(*_PARTS) as folder:
        for name in pair.stems(folder.names()):
            found = pair.read(folder, name)
            if found is not None:
                yield facts.of_pair(found)
            elif unread is not None and folder.info(name + pair.MD) is not None:
                unread.append(name)


def of_keys(store: "Store", wanted: "Iterable[str]") -> "Iterator[Fact]":
    """Proposals of some keys, however they are worded; no others are read."""
    asked = {same(key, "")[0] for key in wanted}
    starts = tuple(f"{name(key)}--" for key in asked for name in (keys.file_name, keys.hidden_name))
    if not starts:
        return
    with store.folder(*_PARTS) as folder:
        for name in pair.stems(folder.names()):
            found = pair.read(folder, name) if name.startswith(starts) else None
            fact = None if found is None else facts.of_pair(found)
            if fact is not None and same(fact.key, "")[0] in asked:
                yield fact


class Rejected:
    """Which proposals were rejected here that an import had made, by their identity. All imports are one source.

    This machine's trash says so: whoever brings one back, out of it, takes the no back as well.
    """

    __slots__ = ("_names", "_store")

    def __init__(self, store: "Store") -> None:
        self._store, self._names = store, frozenset(archive.names(store, LAYER, "trash"))

    def find(self, identity: tuple[str, str]) -> str:
        """The id of the last one that was; "" for none. What became of the same words since takes no no back."""
        names = [_name(*identity, hidden=hidden) for hidden in (False, True)] if self._names else []
        rows = [row for n in names if n in self._names for row in archive.read(self._store, LAYER, n, "trash")]
        refused = [r for r in rows if r["reason"] == REJECTED and _of_import(facts.from_row(r))]
        return str(max(refused, key=lambda row: row["at"])["meta"]["id"]) if refused else ""


def _of_import(fact: Fact | None) -> bool:
    """Whether an import was among those that said it; what cannot be read counts as said by one."""
    return fact is None or bool(fact.source.via) or any(o.run == IMPORTED for o in (first(fact), *fact.confirmations))


def put(w: "Writing", fact: Fact, old: Fact | None = None) -> Fact:
    """Write a proposal (old: as it is stored now) and return it as stored."""
    name = file_name(fact)
    md, side = facts.encode(fact)
    same_md, same_side = facts.encode(old) if old is not None and old.id == fact.id else (None, None)
    with w.store.folder(*_PARTS, create=True) as folder:
        if old is None:
            pair.check_free(folder, name)
        pair.write(
            w,
            folder,
            LAYER,
            name,
            fact.id,
            md=None if md == same_md else md,
            side=None if side == same_side else side,
            new_value=same_md is None,
        )
        stored = pair.read(folder, name)
    if stored is None:
        raise errors.SystemFailure("the proposal was written but cannot be read back", path=name)
    return facts.of_pair(stored)


def put_many(w: "Writing", made: list[tuple[Fact, Fact | None]]) -> None:
    """Write many proposals, each over its old form or None, with a handful of syncs in all; the protocol is that of `put`."""
    if not made:
        return
    with w.store.folder(*_PARTS, create=True) as folder:
        for fact, old in made:
            if old is None:
                pair.check_free(folder, file_name(fact))
        pair.write_many(w, folder, LAYER, [(file_name(fact), fact.id, *facts.encode(fact)) for fact, _ in made])


def remove(w: "Writing", gone: list[tuple[Fact, str]], at: datetime) -> None:
    """Take proposals out, each with its reason, after their values lie, synced, in the trash."""
    if not gone:
        return
    lines = [(fact.name, facts.archived_line(fact, reason, at)) for fact, reason in gone]
    archive.append_many(w, LAYER, lines, "trash")
    with w.store.folder(*_PARTS) as folder:
        pair.drop(w, folder, LAYER, [fact.name for fact, _ in gone])


def observations(fact: Fact) -> int:
    """By how many independent runs it was observed, the one that wrote it included; days count where no run is named."""
    return len({policy.occasion(o) for o in (first(fact), *fact.confirmations)})


def first(fact: Fact) -> Opinion:
    """The observation that a proposal was written for. An import speaks for itself, not for the source that it names."""
    source = fact.source.via if fact.run == IMPORTED and fact.source.via else str(fact.source)
    return Opinion(source=source, run=fact.run, at=fact.created_at)


def file_name(fact: Fact) -> str:
    """Where a proposal lies, or a new one will; one that is made sensitive does not show its key."""
    return fact.name or _name(*same(fact.key, fact.text), hidden=fact.sensitivity >= labels.SENSITIVE)


def _name(key: str, text: str, *, hidden: bool) -> str:
    digest = sha256.hexadecimal(f"{key}\n{text}".encode())[:12]
    return f"{keys.hidden_name(key) if hidden else keys.file_name(key)}--{digest}"


def _visible(text: str) -> str:
    """Without letters that nobody sees (Unicode's Cf: zero width, soft hyphens, marks of direction)."""
    if text.isascii():
        return text
    import unicodedata

    return "".join(c for c in text if unicodedata.category(c) != "Cf") or text


def _wording(text: str) -> str:
    return " ".join(re.sub(r"[\"'«»“”„`]", "", words.fold(text)).split()).rstrip(".!;, ") or text
