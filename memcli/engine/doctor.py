"""What is wrong in a store, named with path and next step; values are never printed. `mend` does what is safe to do."""

import os
import stat
from datetime import datetime, timedelta

from memcli.base import command, errors, files
from memcli.base.value import Value, value
from memcli.engine import lineage
from memcli.model import keys, labels, redact, sidecar
from memcli.store import (
    archive,
    episodes,
    facts,
    folder,
    names,
    pair,
    procedures,
    proposals,
    recovery,
    sources,
    working,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from memcli.model.records import Fact
    from memcli.store.folder import Store, Writing

PAIR_LAYERS = ("facts", "procedures", "proposed/facts", "proposed/procedures")
_PROPOSED = "proposed/"
ORPHAN_DAYS = 7
_FUTURE_SLACK = timedelta(days=1)

# code: (severity, what it is, what to do next). Errors and warnings make `check` fail; notes do not.
CODES = {
    "bad_label": ("error", "no valid sensitivity label: treated as restricted", "write one of the four labels into it"),
    "bad_key": ("warning", "a key that no key may be: `get` does not find it", "write another key into its file"),
    "bad_tombstone": (
        "error",
        "a line of tombstones.jsonl that cannot be read: what it keeps out could be learned again",
        "restore it from git; the other lines hold",
    ),
    "bad_name": ("warning", "a name that no log or record has", "move it out of the store"),
    "conflict_copy": ("warning", "a synchroniser's conflict copy: not read", "merge it by hand, then delete it"),
    "conflict_markers": ("error", "merge conflict markers", "resolve the merge"),
    "damaged": ("error", "an entry whose label or end marker is damaged: treated as restricted", "restore it from git"),
    "damaged_header": ("error", "front matter or header that cannot be read", "mend it by hand or restore it from git"),
    "damaged_sidecar": (
        "error",
        "the sidecar cannot be read: the record is restricted",
        "restore it from git, or delete it and adopt",
    ),
    "damaged_source": ("error", "the source record cannot be read", "mend it by hand or restore it from git"),
    "drift": ("warning", "edited by hand since memcli wrote it", "memcli fact adopt KEY"),
    "edited": ("note", "an entry edited by hand", "nothing; git knows what it was"),
    "foreign_file": ("note", "a file that is no record", "move it out of the store"),
    "future": ("warning", "its time lies in the future", "check the clock"),
    "half_written": ("error", "text and sidecar are of different versions", "finish the checkout or sync"),
    "index_differs": ("warning", "the index is damaged or does not say what the files say", "memcli reindex"),
    "irregular_name": ("note", "the file name does not follow from the key", "nothing; memcli finds it"),
    "key_differs": ("error", "the two files name different keys: treated as restricted", "write one key into both"),
    "key_visible": (
        "note",
        "the label was raised later: the file name still shows the key",
        "forget it and set it anew to hide the key",
    ),
    "label_differs": (
        "warning",
        "the two files have different labels: the stricter holds",
        "memcli fact set KEY --sensitivity LABEL",
    ),
    "circular": (
        "warning",
        "derived from itself, over other facts: made by hand",
        'memcli fact set KEY --derived-from ... without the circle ("" for nothing)',
    ),
    "leavings": ("note", "an editor's leavings: not read", "delete it"),
    "leftover_sidecar": ("warning", "a sidecar left by an interrupted delete", "memcli doctor --fix"),
    "newer_format": ("error", "written by a newer memcli", "upgrade memcli"),
    "no_sidecar": ("warning", "made by hand: no sidecar", "memcli fact adopt KEY"),
    "name_of_another": (
        "warning",
        "the file has the name of another key: `get` does not find it",
        "rename the file, for example to a plain name",
    ),
    "not_a_file": (
        "error",
        "a link, device, unreadable, over-long or non-UTF-8 file: not read",
        "put a plain file of at most 1 MiB (or a folder) in its place, or make it readable",
    ),
    "not_private": ("warning", "others can read the store's state", "memcli doctor --fix"),
    "not_ignored": ("warning", ".gitignore does not keep .memcli/ out of git", "memcli doctor --fix"),
    "orphan_sidecar": (
        "warning",
        "a sidecar without its text",
        "restore the text from git; after 7 days --fix puts it into the trash",
    ),
    "purged": (
        "warning",
        "what was purged has come back, with a merge or by hand",
        "memcli forget it with --purge, or keep it: memcli fact set KEY VALUE --include-forgotten",
    ),
    "secret": (
        "error",
        "a credential below label restricted",
        "take it out, or set --sensitivity restricted --allow-secret",
    ),
    "torn": ("warning", "an entry whose writer was stopped: never acknowledged, not read", "memcli doctor --fix"),
    "torn_line": ("warning", "a line of the archive that cannot be read", "restore it from git"),
    "tracked_state": (
        "warning",
        "git tracks the store's state: lock, trash and working memory would be shared",
        "git rm -r --cached .memcli",
    ),
    "two_files": ("error", "two files for one key: the stricter label holds", "memcli doctor --fix"),
    "unknown_basis": (
        "note",
        "derived from what is nowhere in the store: it is kept, and trusted as an unknown source",
        "nothing, or name another basis with memcli fact set KEY --derived-from",
    ),
    "unknown_target": (
        "note",
        "a relation to a key that no fact has: it is kept",
        "nothing; set that fact, or memcli fact unrelate",
    ),
    "unfinished": ("warning", "left by a writer that was stopped", "memcli doctor --fix"),
    "unknown_setting": (
        "warning",
        "memcli.toml has a setting that this version does not know",
        "see docs/reference/configuration.md",
    ),
    "wrong_month": ("warning", "an entry in the log of another month", "move it by hand"),
}


@value
class Finding(Value):
    """One thing that is wrong. path: relative to the store; line: 0 when it concerns the whole file."""

    code: str
    path: str
    line: int = 0
    detail: str = ""

    @property
    def severity(self) -> str:
        """error, warning or note."""
        return CODES[self.code][0]


def examine(store: "Store", now: datetime) -> list[Finding]:
    """Everything that is wrong, by path. Raises NoStore, NewerFormat and BadData only for memcli.toml itself."""
    found = [*_settings(store), *_guarded(store, lambda: _store(store))]
    for layer in PAIR_LAYERS:
        found += _guarded(store, lambda layer=layer: _pairs(store, layer, now))
    found += _guarded(store, lambda: _logs(store, now))
    found += _guarded(store, lambda: _sources(store))
    found += _guarded(store, lambda: _purged(store))
    for layer in (facts.LAYER, episodes.LAYER, procedures.LAYER):
        found += _guarded(store, lambda layer=layer: _archives(store, layer))
    found += _guarded(store, lambda: _bonds(store))
    return sorted(found, key=lambda f: (f.path, f.line, f.code))


def mend(store: "Store", now: datetime) -> list[Finding]:
    """Do what is safe: finish or clean interrupted writes, set modes, keep .memcli out of git. Returns what was mended."""
    mended = []
    with store.writing(patient=True) as w:
        for layer in PAIR_LAYERS:
            mended += [Finding(code="unfinished", path=f"{layer}/{n}.md") for n in recovery.settle_folder(store, layer)]
            mended += _mend_sidecars(w, layer, now)
        mended += [Finding(code="unfinished", path=p) for p in recovery.clean_replacements(store)]
        for finding in facts.unite(w, now):
            mended.append(Finding(code="two_files", path=finding))
        for month in episodes.months(store):
            mended += [Finding(code="torn", path=f"episodes/{month}.md")] * episodes.cut_torn(w, month)
        mended += _mend_store(store)
        working.tidy(w)
    return mended


def _guarded(store: "Store", look: "object") -> "Iterator[Finding]":
    try:
        yield from look()  # type: ignore[operator]
    except files.NotAFile as e:
        yield Finding(code="not_a_file", path=os.path.relpath(e.path or store.root, store.root))


def _settings(store: "Store") -> "Iterator[Finding]":
    for name in store.settings.unknown:
        yield Finding(code="unknown_setting", path=folder.MARKER, detail=name)


def _store(store: "Store") -> "Iterator[Finding]":
    with store.folder() as root:
        state = root.info(folder.STATE)
        ignored = (root.read(".gitignore") or b"").decode("utf-8", "replace").split()
    if not {"/.memcli/", ".memcli/", ".memcli", "/.memcli"} & set(ignored):
        yield Finding(code="not_ignored", path=".gitignore")
    if state is not None and stat.S_IMODE(state.st_mode) & 0o077:
        yield Finding(code="not_private", path=folder.STATE)
    with store.folder(folder.STATE) as inside:
        if inside.read("journal", limit=None):
            yield Finding(code="unfinished", path=f"{folder.STATE}/journal")
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
    by_key: dict[str, str] = {}
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
            yield from _pair(found, path, now)
            if found.key in by_key and not layer.startswith(_PROPOSED):  # rival proposals of one key are in order
                yield Finding(code="two_files", path=path)
            by_key[found.key] = name


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
        yield from _secrets(path, f"{found.key}\n{found.text}")


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
                text = "\n".join([entry.task, entry.text, *entry.findings, *entry.patterns])
                yield from _secrets(path, text)


def _sources(store: "Store") -> "Iterator[Finding]":
    with store.folder(sources.LAYER) as d:
        for name in sorted(d.names()):
            if name.endswith(sources.SUFFIX) and not name.startswith(".") and not sources.readable(d, name):
                yield Finding(code="damaged_source", path=f"sources/{name}")


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


def _mend_sidecars(w: "Writing", layer: str, now: datetime) -> "Iterator[Finding]":
    store = w.store
    with store.folder(*layer.split("/")) as d:
        for name in pair.stems(d.names()):
            info = d.info(name + pair.SIDE)
            if info is None or d.info(name + pair.MD) is not None or pair.read(d, name) is not None:
                continue
            left = recovery.leftover_sidecar(store, d, layer, name)
            if not left and now.timestamp() - info.st_mtime < ORPHAN_DAYS * 86400:
                continue
            if not left:
                _to_trash(w, layer, name, d.read(name + pair.SIDE) or b"", now)
            d.remove(name + pair.SIDE)
            d.sync()
            yield Finding(code="leftover_sidecar" if left else "orphan_sidecar", path=f"{layer}/{name}{pair.SIDE}")


def _to_trash(w: "Writing", layer: str, name: str, side: bytes, now: datetime) -> None:
    try:
        meta, text = sidecar.parse(side), ""
    except errors.BadData:
        meta, text = {}, side.decode("utf-8", "backslashreplace")  # a person can still read it
    archive.append(w, layer.split("/")[-1], name, archive.line("orphan", now, layer, name, meta, {}, text), "trash")


def _mend_store(store: "Store") -> "Iterator[Finding]":
    with store.folder() as root:
        state = root.info(folder.STATE)
        try:
            ignored = (root.read(".gitignore") or b"").decode("utf-8", "replace")
        except files.NotAFile:
            ignored = folder.STATE  # reported, and not ours to mend
        if folder.STATE not in ignored:
            gap = "" if ignored.endswith("\n") or not ignored else "\n"
            root.replace(".gitignore", f"{ignored}{gap}/{folder.STATE}/\n".encode())
            yield Finding(code="not_ignored", path=".gitignore")
    if state is not None and stat.S_IMODE(state.st_mode) & 0o077:
        os.chmod(os.path.join(store.root, folder.STATE), 0o700)
        yield Finding(code="not_private", path=folder.STATE)
