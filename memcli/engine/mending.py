"""What `doctor --fix` does: only what is safe, and loses nothing. What it mended is told as findings."""

import os
import stat
from datetime import datetime

from memcli.base import errors, files
from memcli.engine.doctor import PAIR_LAYERS, Finding
from memcli.model import sidecar
from memcli.store import archive, episodes, facts, folder, pair, recovery, working

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from memcli.store.folder import Store, Writing

ORPHAN_DAYS = 7


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
