"""What is wrong in a store, named with path and next step; values are never printed. What is safe to do: mending.py."""

import os
import stat
from datetime import datetime, timedelta

from memcli.base import command, errors, files
from memcli.engine import lineage
from memcli.engine.findings import Finding
from memcli.model import keys, labels, redact
from memcli.store import (
    archive,
    episodes,
    facts,
    folder,
    merge_notes,
    merges,
    names,
    pair,
    procedures,
    proposals,
    recovery,
    sources,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from memcli.model.records import Fact
    from memcli.store.folder import Store

PAIR_LAYERS = ("facts", "procedures", "proposed/facts", "proposed/procedures")
_PROPOSED = "proposed/"
# The states of files of one key of which --fix can make one.
UNITED = ("ok", "drift", "bare")
_FUTURE_SLACK = timedelta(days=1)


def examine(store: "Store", now: datetime, *, bonds: bool = True) -> list[Finding]:
    """All that is wrong, by path; bonds: relations too. Raises NoStore, NewerFormat, BadData only for memcli.toml."""
    found = [*_settings(store), *_guarded(store, lambda: _store(store))]
    for layer in PAIR_LAYERS:
        found += _guarded(store, lambda layer=layer: _pairs(store, layer, now))
    found += _guarded(store, lambda: _logs(store, now))
    found += _guarded(store, lambda: _sources(store))
    found += _guarded(store, lambda: _purged(store))
    for layer in (facts.LAYER, episodes.LAYER, procedures.LAYER):
        found += _guarded(store, lambda layer=layer: _archives(store, layer))
    found += _guarded(store, lambda: _bonds(store)) if bonds else ()
    return sorted(found, key=lambda f: (f.path, f.line, f.code))


def _guarded(store: "Store", look: "object") -> "Iterator[Finding]":
    try:
        yield from look()  # type: ignore[operator]
    except files.NotAFile as e:
        yield Finding(code="not_a_file", path=os.path.relpath(e.path or store.root, store.root))


def _settings(store: "Store") -> "Iterator[Finding]":
    for name in store.settings.unknown:
        yield Finding(code="unknown_setting", path=folder.MARKER, detail=name)
    if store.settings["vectors.model"] and not store.settings["vectors.endpoint"]:
        yield Finding(code="unused_setting", path=folder.MARKER)
    if store.settings["vectors.enabled"]:
        yield from _vectors(store)


def _vectors(store: "Store") -> "Iterator[Finding]":
    from memcli.engine import encoding, encodings

    try:
        encoding.check(store)
    except errors.Refused:
        yield Finding(code="host_not_allowed", path=folder.MARKER)
    except errors.MemcliError as e:
        yield Finding(code="no_model", path=folder.MARKER, detail=e.message)
    found = encodings.standing(store)
    if found.last in (encodings.FAILED, encodings.STOPPED):
        why = f"{found.error}; " if found.error else ""
        detail = f"{why}{found.records} records have a vector"
        yield Finding(code="not_encoded", path=f"{folder.STATE}/{encodings.NAME}", detail=detail)


def _store(store: "Store") -> "Iterator[Finding]":
    with store.folder() as root:
        state = root.info(folder.STATE)
        ignored = (root.read(".gitignore") or b"").decode("utf-8", "replace").split()
    if not {"/.memcli/", ".memcli/", ".memcli", "/.memcli"} & set(ignored):
        yield Finding(code="not_ignored", path=".gitignore")
    if state is not None and not stat.S_ISDIR(state.st_mode):
        yield Finding(code="bad_state", path=folder.STATE)
        return
    if state is not None and stat.S_IMODE(state.st_mode) & 0o077:
        yield Finding(code="not_private", path=folder.STATE)
    with store.folder(folder.STATE) as inside:
        if inside.read("journal", limit=None):
            yield Finding(code="unfinished", path=f"{folder.STATE}/journal")
    if left := merges.pending(store):
        yield Finding(code="merge_left", path=f"{folder.STATE}/{merge_notes.FOLDER}", detail=str(len(left)))
    if _tracked(store.root):
        yield Finding(code="tracked_state", path=folder.STATE)


def _tracked(root: str) -> bool:
    """True when git tracks a file of the store's state; False without git."""
    try:
        done = command.run(["git", "-C", root, "ls-files", "--", folder.STATE])
    except errors.SystemFailure:
        return False
    return done.code == 0 and bool(done.out.strip())


def _pairs(store: "Store", layer: str, now: datetime) -> "Iterator[Finding]":
    by_key: dict[str, list[tuple[str, str]]] = {}
    known: list[Finding] = []
    with store.folder(*layer.split("/")) as d:
        listed = sorted(d.names())
        for name in listed:
            code = _odd_file(d, name)
            if code:
                yield Finding(code=code, path=f"{layer}/{name}")
        for name in pair.stems(listed):
            path = f"{layer}/{name}{pair.MD}"
            found = pair.read(d, name)
            if found is None:
                yield from _no_pair(store, d, layer, name)
                continue
            known += _pair(found, path, now)
            by_key.setdefault(found.key, []).append((found.state, path))
    # Rival proposals of one key are in order.
    crowds = [] if layer.startswith(_PROPOSED) else [group for group in by_key.values() if len(group) > 1]
    # One of two files cannot be adopted before they are one.
    waiting = {path for group in crowds for _, path in group}
    yield from (f for f in known if not (f.path in waiting and f.code in ("no_sidecar", "drift")))
    for group in crowds:
        mendable = layer == facts.LAYER and all(state in UNITED for state, _ in group)
        yield from (Finding(code="two_files" if mendable else "two_to_choose", path=path) for _, path in group[1:])


def _odd_file(d: files.Folder, name: str) -> str:
    info = d.info(name)
    if info is None:
        return ""
    if pair.is_dropping(name):
        if name.startswith(".") and name.endswith(".tmp"):
            return "unfinished"
        return "conflict_copy" if "conflict" in name.lower() or "(" in name else "leavings"
    if not stat.S_ISREG(info.st_mode):
        return "not_a_file"
    if not pair.is_text(name):
        return "bad_name"
    return "" if name.endswith((pair.MD, pair.SIDE)) else "foreign_file"


def _no_pair(store: "Store", d: files.Folder, layer: str, name: str) -> "Iterator[Finding]":
    info = d.info(name + pair.MD)
    if info is not None:
        if stat.S_ISREG(info.st_mode):
            yield Finding(code="not_a_file", path=f"{layer}/{name}{pair.MD}")
        return
    code = "leftover_sidecar" if recovery.leftover_sidecar(store, d, layer, name) else "orphan_sidecar"
    yield Finding(code=code, path=f"{layer}/{name}{pair.SIDE}")


def _pair(found: pair.Pair, path: str, now: datetime) -> "Iterator[Finding]":
    if found.problem:
        beside = found.problem in ("damaged_sidecar", "newer_format")
        yield Finding(code=found.problem, path=path.removesuffix(pair.MD) + pair.SIDE if beside else path)
    in_text = labels.stored_sensitivity(found.header.get("sensitivity"))
    if in_text is None and found.problem not in ("damaged_header", "conflict_markers"):
        yield Finding(code="bad_label", path=path)
    elif found.meta and in_text is not None and in_text != found.meta["sensitivity"]:
        yield Finding(code="label_differs", path=path)
    if found.meta and found.meta["updated_at"] - now > _FUTURE_SLACK:
        yield Finding(code="future", path=path)
    if not keys.possible(found.key):
        yield Finding(code="bad_key", path=path)
    elif not path.startswith(_PROPOSED) and not names.follows(found.name, found.key):
        another = names.hashed(found.name) and found.meta is not None
        yield Finding(code="name_of_another" if another else "irregular_name", path=path)
    elif (
        in_text is not None
        and found.sensitivity >= labels.SENSITIVE
        and found.state == "ok"
        and found.name[:3] != "x--"
    ):
        yield Finding(code="key_visible", path=path)
    if found.sensitivity < labels.RESTRICTED:
        yield from _secrets(path, redact.told(*found.said))


def _secrets(path: str, text: str, line: int = 0) -> "Iterator[Finding]":
    kinds = sorted({f.kind for f in redact.scan(text) if f.family == "secret"})
    if kinds:
        yield Finding(code="secret", path=path, line=line, detail=", ".join(kinds))


def _bonds(store: "Store") -> "Iterator[Finding]":
    """Relations and bases that lead nowhere or in a circle: how many, by no name."""
    held = list(facts.every(store))
    known = {key for f in held for key in (f.key, *f.renamed_from)}
    for fact in held:
        loose = sum(str(row.get("target")) not in known for row in fact.relations)
        if loose:
            yield Finding(code="unknown_target", path=_path(fact), detail=str(loose))
    for fact, loose in lineage.unknown(store, held):
        yield Finding(code="unknown_basis", path=_path(fact), detail=str(loose))
    for fact in lineage.circular(held):
        yield Finding(code="circular", path=_path(fact))


def _path(fact: "Fact") -> str:
    return f"{facts.LAYER}/{fact.name}{pair.MD}"


def _logs(store: "Store", now: datetime) -> "Iterator[Finding]":
    months = set(episodes.months(store))
    with store.folder(episodes.LAYER) as d:
        listed = d.names()
    for name in listed:
        if name.endswith(".md") and name[:-3] in months:
            continue
        yield Finding(code="conflict_copy" if "conflict" in name else "bad_name", path=f"episodes/{name}")
    for month in sorted(months):
        log = episodes.read(store, month)
        path = f"episodes/{month}.md"
        yield from (Finding(code=code, path=path, line=line) for line, code in log.problems)
        for entry in log.entries:
            if episodes.month_of(entry.at) != month:
                yield Finding(code="wrong_month", path=path, detail=entry.id)
            if entry.at - now > _FUTURE_SLACK:
                yield Finding(code="future", path=path, detail=entry.id)
            if entry.sensitivity < labels.RESTRICTED:
                yield from _secrets(path, redact.told(entry))


def _sources(store: "Store") -> "Iterator[Finding]":
    with store.folder(sources.LAYER) as d:
        for name in sorted(d.names()):
            if name.endswith(sources.SUFFIX) and not name.startswith(".") and not sources.readable(d, name):
                yield Finding(code="damaged_source", path=f"sources/{name}")
    for record in sources.every(store):
        yield from _secrets(sources.LAYER, redact.told(record))


def _purged(store: "Store") -> "Iterator[Finding]":
    """Damaged tombstones, and records that have come back in spite of theirs."""
    try:
        held = store.tombstones()
    except errors.NewerFormat:
        yield Finding(code="newer_format", path=folder.TOMBSTONES)
        return
    if held is None:
        return
    yield from (Finding(code="bad_tombstone", path=folder.TOMBSTONES, line=n) for n in held.damaged)
    for layer, every in ((facts.LAYER, facts.every), (proposals.LAYER, proposals.every)):
        for fact in every(store):
            if held.hold(facts.LAYER, fact.key, fact.text):
                yield Finding(code="purged", path=f"{layer}/{fact.name}{pair.MD}")
    for procedure in procedures.every(store):
        if held.hold(procedures.LAYER, procedure.key, procedures.said(procedure)):
            yield Finding(code="purged", path=f"{procedures.LAYER}/{procedure.name}{pair.MD}")
    for entry in episodes.newest(store):
        if held.hold(episodes.LAYER, "", entry.text or entry.task):
            yield Finding(code="purged", path=f"{episodes.LAYER}/{entry.month}.md", detail=entry.id)


def _archives(store: "Store", layer: str) -> "Iterator[Finding]":
    with archive.folder(store, layer, "archive") as d:
        for name in sorted(n for n in d.names() if n.endswith(archive.SUFFIX)):
            yield from _guarded(store, lambda name=name: _archive(d, name, archive.path(layer, "archive")))


def _archive(d: files.Folder, name: str, parts: tuple[str, ...]) -> "Iterator[Finding]":
    for number, text in enumerate((d.read(name, limit=None) or b"").split(b"\n"), 1):
        if text.strip() and archive.row_of(text) is None and not text.startswith(b"======="):
            marked = text.startswith((b"<<<<<<< ", b">>>>>>> ", b"|||||||"))
            code = "conflict_markers" if marked else "torn_line"
            yield Finding(code=code, path="/".join((*parts, name)), line=number)
