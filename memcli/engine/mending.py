"""What `doctor --fix` does: only what is safe, and loses nothing. What it mended is told as findings."""

import os
import stat
from datetime import datetime

from memcli.base import clock, errors, files, ids, sha256
from memcli.engine import remember
from memcli.engine.doctor import PAIR_LAYERS, UNITED
from memcli.engine.findings import CODES, Finding
from memcli.model import keys, labels, sidecar
from memcli.store import archive, episodes, facts, folder, merges, pair, procedures, recovery, working

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from memcli.model.records import Fact
    from memcli.store.folder import Store, Writing

ORPHAN_DAYS = 7


def mend(store: "Store", now: datetime) -> list[Finding]:
    """Do what is safe: finish or clean interrupted writes, make one of two files of a key, set modes, keep .memcli out of
    git. Returns what was mended. Raises BadData where .memcli is no folder, Locked, SystemFailure."""
    with store.folder() as root:
        state = root.info(folder.STATE)
    if state is not None and not stat.S_ISDIR(state.st_mode):
        hint = f"{CODES['bad_state'][2]}, then memcli doctor --fix"
        raise files.NotAFile(CODES["bad_state"][1], path=os.path.join(store.root, folder.STATE), hint=hint)
    # Whoever writes takes over what a merge has set aside.
    mended = [Finding(code="merge_left", path=path) for path in merges.pending(store, mendable=True)]
    with store.writing(patient=True) as w:
        for layer in PAIR_LAYERS:
            mended += _but_for_links(_mend_layer(w, layer, now))
        mended += [Finding(code="unfinished", path=p) for p in recovery.clean_replacements(store)]
        mended += _but_for_links(_unite(w, now))
        for layer in PAIR_LAYERS:
            mended += _but_for_links(_mend_labels(w, layer))
        mended += _but_for_links(_mend_logs(w))
        mended += _mend_store(store)
        working.tidy(w)
    return mended


def _but_for_links(mending: "Iterator[Finding]") -> "Iterator[Finding]":
    """What one layer has; a file or a link in the place of its folder is for a person, and keeps nobody from the rest."""
    try:
        yield from mending
    except files.NotAFile:
        return


def _mend_layer(w: "Writing", layer: str, now: datetime) -> "Iterator[Finding]":
    for name in recovery.settle_folder(w.store, layer):
        yield Finding(code="unfinished", path=f"{layer}/{name}.md")
    yield from _mend_sidecars(w, layer, now)


def _mend_logs(w: "Writing") -> "Iterator[Finding]":
    for month in episodes.months(w.store):
        yield from [Finding(code="torn", path=f"episodes/{month}.md")] * episodes.cut_torn(w, month)


def _unite(w: "Writing", now: datetime) -> "Iterator[Finding]":
    """Make one of keys that lie under two names: two clones made them, or a hand did.

    What memcli wrote last stays, with the strictest of the labels; each other text becomes a former value of it, one that a
    hand wrote with the source user:hand. So the answer stays what it was, and nothing is lost. Where one of the files cannot
    be read as a whole, or says what was purged, all stay for a person.
    """
    by_key: dict[str, list[Fact]] = {}
    with w.store.folder(facts.LAYER) as d:
        for name in pair.stems(d.names()):
            fact = facts.named(w.store, d, name)
            if fact is not None:
                by_key.setdefault(fact.key, []).append(fact)
    for group in by_key.values():
        if len(group) < 2 or any(f.state not in UNITED for f in group) or _purged(w.store, group):
            continue
        kept = max(group, key=_rank)
        rest = [f for f in group if f is not kept]
        strictest = max(f.sensitivity for f in group)
        if kept.state != "ok":
            kept = facts.put(w, remember.by_hand(kept, now, None, strictest), kept)
        elif strictest != kept.sensitivity:
            kept = facts.put(w, kept.replace(sensitivity=strictest), kept)
        facts.merge_into(w, kept, [_former(f, kept) for f in rest], now)
        for fact in rest:
            hand = fact.state != "ok"
            yield Finding(
                code="two_files", path=f"{facts.LAYER}/{fact.name}{pair.MD}", detail=_HAND if hand else _OTHER
            )


_OTHER = "what it said is a former value of the key now: memcli fact history KEY"
_HAND = "what a hand wrote there is a former value of the key now, of source user:hand: memcli fact history KEY"


def _purged(store: "Store", group: "list[Fact]") -> bool:
    held = store.tombstones()
    return held is not None and any(held.hold(facts.LAYER, f.key, f.text) for f in group)


def _rank(fact: "Fact") -> tuple[bool, str, bool, datetime]:
    """What memcli wrote comes before what a hand made, the later value before the earlier; then the name of the key."""
    regular = fact.name in (keys.file_name(fact.key), keys.hidden_name(fact.key))
    return fact.state != "bare", fact.id if fact.state != "bare" else "", regular, fact.updated_at


def _former(fact: "Fact", kept: "Fact") -> "Fact":
    """A value that ends: under its own id, or, what a hand wrote or copied, under one of its own just before the kept one's.

    The id in a file of a hand may be that of a former value, whose place it would take in the archive.
    """
    if fact.state == "ok" and fact.id < kept.id:
        return fact
    if fact.state != "ok":
        fact = remember.as_archived(fact, fact.updated_at)
    before = clock.shifted(clock.since_epoch(ids.milliseconds(kept.id) / 1000), seconds=-0.001)
    said = sha256.binary(f"{fact.name}\n{fact.text}".encode("utf-8", "replace"))
    return fact.replace(id=ids.derived(min(before, fact.updated_at), said))


def _mend_labels(w: "Writing", layer: str) -> "Iterator[Finding]":
    """Write the label that holds, the stricter one, into both files of a record that is whole otherwise."""
    with w.store.folder(*layer.split("/")) as d:
        for name in pair.stems(d.names()):
            p = pair.read(d, name)
            said = None if p is None else labels.stored_sensitivity(p.header.get("sensitivity"))
            if p is None or p.meta is None or p.state != "ok" or said is None or said == p.meta["sensitivity"]:
                continue
            try:
                md, side = (
                    procedures.encode(procedures.of_pair(p))
                    if layer.endswith(procedures.LAYER)
                    else facts.encode(facts.of_pair(p))
                )
            except (errors.UsageError, ValueError):
                continue  # its front matter cannot be written by memcli: a person's to do
            pair.write(w, d, layer, name, p.id, md=md, side=side, new_value=False)
            yield Finding(code="label_differs", path=f"{layer}/{name}{pair.MD}")


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
