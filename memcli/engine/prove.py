"""Proof of forgetting: a search of everything that a store keeps, byte by byte, for what was purged.

Looked at: every file below the store (its tenants are stores of their own) and every object of its git repository,
reachable or not. Not looked at: other clones, remotes, backups, what the file system keeps of deleted files, and what a
program has read before. What is found is counted and named by path, never shown.

By the time of the search the record is erased and nobody can ask again. So whatever cannot be looked at is said in the
proof; nothing is raised that would lose the rest of it.
"""

import os
import stat

from memcli.base import errors
from memcli.base.value import Value, value
from memcli.engine import history, needles
from memcli.model import keys, labels, redact
from memcli.store import episodes, folder, working

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memcli.store.folder import Store

_PIECE_BYTES = 1 << 20


@value
class Trace(Value):
    """Where something still stands. area: as in Proof.looked; path: relative to the store; count: how often.

    session: whose working memory it is, "" for other files, and where a label or the id itself keeps it from being said.
    """

    area: str
    path: str
    count: int
    session: str = ""


@value
class Gap(Value):
    """What could not be looked at. area: as in Trace, or git; path: relative to the store, "" for all of it; why: in words."""

    area: str
    path: str
    why: str


@value
class Proof(Value):
    """What was looked at and what was found.

    looked: files by area (facts, episodes, procedures, sources, proposed, archive, trash, working, index, state, other);
    found: residue outside git; skipped: links and other things that are no files; git: None where the store is in no
    repository, or git cannot read it; paths: files of the record, for a tool that rewrites history; gaps: what could not
    be looked at.
    """

    looked: dict[str, int]
    found: tuple[Trace, ...]
    skipped: int
    git: "history.Git | None"
    paths: tuple[str, ...]
    gaps: tuple[Gap, ...] = ()

    @property
    def clean(self) -> bool:
        """True when all was looked at and nothing is left outside git."""
        return not (self.found or self.gaps)


def check(store: "Store") -> None:
    """Raise SystemFailure when it is plain beforehand that no proof can be had: before anything is erased."""
    history.check(store.root)


def run(store: "Store", said: "Iterable[tuple[str, str]]", *, names: "Iterable[str]", layer: str) -> Proof:
    """Search the store and its git objects for these (key, text) pairs. names: the file names that the record had."""
    wanted = needles.of(said)
    looked: dict[str, int] = {}
    gaps: list[Gap] = []
    found, skipped = [], 0
    for parts, name, is_file in _files(store, (), gaps):
        if not is_file:
            skipped += 1
            continue
        path = (*parts, name)
        shown = needles.shown(parts, name, wanted)
        try:
            count = _count_file(store, parts, name, wanted)
        except errors.MemcliError as e:
            gaps.append(Gap(area=_area(path), path=shown, why=e.message))
            continue
        looked[_area(path)] = looked.get(_area(path), 0) + 1
        if count:
            session = _session(store, name, wanted) if _area(path) == "working" else ""
            found.append(Trace(area=_area(path), path=shown, count=count, session=session))
    git, untold = history.look(store.root, wanted)
    return Proof(
        looked=dict(sorted(looked.items())),
        found=tuple(found),
        skipped=skipped,
        git=git,
        paths=tuple(_paths(store, names, layer)),
        gaps=(*gaps, *(Gap(area="git", path="", why=why) for why in untold)),
    )


def again(store: "Store", key: str, text: str) -> Proof:
    """Search for one text once more, when only the caller knows it any more. key: that it had. Raises UsageError."""
    if not text.strip():
        raise errors.UsageError("there is no text to look for", hint="pass it on stdin")
    key = keys.normal(key)
    return run(store, [(key, text)], names=(keys.file_name(key), keys.hidden_name(key)), layer="facts")


def _session(store: "Store", name: str, wanted: needles.Wanted) -> str:
    """The id of the session that has this file, when nothing in it is above internal and the id itself tells nothing."""
    for session in working.every(store):
        if session is not None and name.startswith(working.file_name(session.id)):
            told = max((h.sensitivity for h in session.held), default=labels.PUBLIC) <= labels.INTERNAL
            plain = str(redact.mask(session.id)) == session.id and not needles.count(session.id.encode(), wanted)
            return session.id if told and plain else ""
    return ""


def _files(store: "Store", parts: tuple[str, ...], gaps: list[Gap]) -> "Iterator[tuple[tuple[str, ...], str, bool]]":
    """Every name below a folder of the store that is no folder: (folder, name, is a plain file)."""
    try:
        with store.folder(*parts) as d:
            listed = [(name, d.info(name)) for name in sorted(d.names())]
    except errors.MemcliError as e:
        gaps.append(Gap(area=_area((*parts, "")), path="/".join(parts), why=e.message))
        return
    for name, info in listed:
        if info is None:  # gone meanwhile
            continue
        if stat.S_ISDIR(info.st_mode):
            if parts or name not in (".git", folder.TENANTS):
                yield from _files(store, (*parts, name), gaps)
        else:
            yield parts, name, stat.S_ISREG(info.st_mode)


_AREAS = ("facts", "episodes", "procedures", "sources", "proposed", "archive")
_STATE_AREAS = {"trash": "trash", "work": "working"}


def _area(path: tuple[str, ...]) -> str:
    if path[0] == folder.STATE:
        return "index" if path[1].startswith("index.") else _STATE_AREAS.get(path[1], "state")
    return path[0] if path[0] in _AREAS else "other"


def _count_file(store: "Store", parts: tuple[str, ...], name: str, wanted: needles.Wanted) -> int:
    search = needles.Search(wanted)
    with store.folder(*parts) as d:
        for piece in d.pieces(name, _PIECE_BYTES):
            search.feed(piece)
    return search.end() + needles.count(os.fsencode("/".join((*parts, name))), wanted)


def _paths(store: "Store", names: "Iterable[str]", layer: str) -> "Iterator[str]":
    """Files of the record as git names them, from the top of the repository."""
    lead = history.prefix(store.root)
    for name in names:
        if layer == episodes.LAYER:
            yield from (f"{lead}episodes/{name}.md", f"{lead}archive/episodes/{name}.jsonl")
            continue
        former = {"facts": "archive/", "procedures": "archive/procedures/"}.get(layer)
        yield from (f"{lead}{layer}/{name}.md", f"{lead}{layer}/{name}.meta.json")
        if former:
            yield f"{lead}{former}{name}.jsonl"
