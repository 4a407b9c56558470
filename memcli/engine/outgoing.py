"""What a history holds that leaves this machine, or comes to it: the labels of its records, never their texts.

A bundle brings every version of every file, so each is looked at, not only what is current.
"""

import itertools
import os

from memcli.base import errors, files
from memcli.model import header, labels, sidecar
from memcli.store import archive, git, monthly

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from memcli.model.labels import Sensitivity
    from memcli.store.folder import Store

_MD, _SIDE, _LINES = ".md", ".meta.json", ".jsonl"
_PAIRS = ("facts/", "procedures/", "proposed/")
_LOGS, _ARCHIVE = "episodes/", "archive/"


def above(store: "Store", head: str, known: tuple[str, ...], clearance: "Sensitivity") -> int:
    """How many records above the clearance stand in a commit or its history; known: commits that are outside already.

    Fails closed: what cannot be read is restricted.
    """
    return sum(label > clearance for label in strictest(store, head, known).values())


def strictest(store: "Store", head: str, known: tuple[str, ...]) -> "dict[tuple[str, str], Sensitivity]":
    """By layer and name (of an episode: id) the strictest label of any version in a commit's history.

    known: commits whose history does not count. Fails closed as `above` does.
    """
    files_of = _versions(store.root, head, known)
    found: dict[tuple[str, str], Sensitivity] = {}
    for (path, _), data in zip(files_of, git.blobs(store.root, (oid for _, oid in files_of)), strict=True):
        for name, label in _records(path, data or b""):
            found[name] = max(label, found.get(name, labels.PUBLIC))
    return found


def _versions(root: str, head: str, known: tuple[str, ...]) -> list[tuple[str, str]]:
    """(path, object) of every version of every file of records that the history brings."""
    listed = git.tell(
        root,
        "log",
        "--format=",
        "--raw",
        "-r",
        "-z",
        "-m",
        "--root",
        "--no-renames",
        "--no-abbrev",
        head,
        "--not",
        *known,
    )
    fields = listed.split(b"\0")
    found: dict[tuple[str, str], None] = {}
    for head_of, path in itertools.pairwise(fields):
        words = head_of.lstrip(b"\n").split(b" ")
        if head_of.lstrip(b"\n").startswith(b":") and len(words) == 5 and set(words[3]) != {ord("0")}:
            name = os.fsdecode(path)
            if name.startswith((*_PAIRS, _LOGS, _ARCHIVE)):
                found[name, words[3].decode()] = None
    return list(found)


def _records(path: str, data: bytes) -> "Iterator[tuple[tuple[str, str], Sensitivity]]":
    """What stands in one version of one file: (layer, name or id) and label of each record."""
    layer, file = os.path.split(path)
    if path.startswith(_ARCHIVE) and file.endswith(_LINES):
        yield from _archived(layer, file.removesuffix(_LINES), data)
    elif path.startswith(_LOGS):
        log = monthly.parse(data, file.removesuffix(_MD))
        yield from ((("episodes", e.id), e.sensitivity) for e in log.entries)
        yield from ((("episodes", made), label) for made, label in monthly.raised_labels(data).items())
        if log.problems:
            yield ("episodes", file), labels.RESTRICTED
    elif file.endswith(_SIDE):
        yield (layer, file.removesuffix(_SIDE)), _of_sidecar(data)
    elif file.endswith(_MD):
        yield (layer, file.removesuffix(_MD)), _of_markdown(data)
    else:
        yield (layer, file), labels.RESTRICTED


def _archived(layer: str, name: str, data: bytes) -> "Iterator[tuple[tuple[str, str], Sensitivity]]":
    layer = layer.removeprefix(_ARCHIVE) if layer.startswith(_ARCHIVE) else "facts"
    for text in files.lines(data):
        row = archive.row_of(text)
        if row is None:
            yield (layer, name), labels.RESTRICTED
            continue
        said = [
            row["meta"].get("sensitivity"),
            *([row["header"]["sensitivity"]] if "sensitivity" in row["header"] else []),
        ]
        known = [labels.stored_sensitivity(x) for x in said]
        label = max((x for x in known if x is not None), default=labels.RESTRICTED)
        yield (layer, row["meta"]["id"] if layer == "episodes" else name), labels.RESTRICTED if None in known else label


def _of_sidecar(data: bytes) -> "Sensitivity":
    try:
        found: Sensitivity = sidecar.load(data)["sensitivity"]
    except errors.BadData:
        return labels.RESTRICTED
    return found


def _of_markdown(data: bytes) -> "Sensitivity":
    try:
        front, _ = header.split(data.decode())
    except (errors.BadData, UnicodeDecodeError):
        return labels.RESTRICTED
    label = labels.stored_sensitivity((front or {}).get("sensitivity"))
    return labels.RESTRICTED if label is None else label
