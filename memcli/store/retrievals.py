"""The log of what was asked of this memory and how well it answered: `.memcli/retrieval.jsonl`, git-ignored.

One line a question: when, by which command, a salted hash of the question, how many records were served and which (their
ids), how much of the question the best of them held, and the verdict. The question itself is left out unless memcli.toml
says otherwise, and then it is masked. Writing it is one append without a lock or a sync: it never fails and never holds up
the command that it watches. A full log is put aside as `retrieval.jsonl.1`, in the place of the one before.
"""

import os

from memcli.base import clock, errors, files, ids, sha256
from memcli.store import folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from datetime import datetime
    from typing import Any

    from memcli.store.folder import Store

LOG, OLD = "retrieval.jsonl", "retrieval.jsonl.1"
SALT, LOCK = "retrieval.salt", "retrieval.lock"
MOST_BYTES = 1 << 20
MOST_IDS = 10
VERDICTS = ("strong", "weak", "none")
_SALT_BYTES = 16
_HASH_DIGITS = 16
_MOST_QUERY_CHARS = 500
_START = b'{"at": '


def note(
    store: "Store",
    command: str,
    query: str,
    *,
    now: "datetime",
    served: "Iterable[tuple[str, float]]",
    verdict: str,
    private: bool = False,
) -> None:
    """Write one line, or nothing where that cannot be done.

    served: id of each record that was given out, best first, and how much of the question it holds, 0..1; verdict:
    strong, weak or none, which counts for nothing where nothing was asked and records were only listed; private: never
    keep this question in words.
    """
    if not store.settings["monitor.enabled"]:
        return
    try:
        with store.folder(folder.STATE) as state:
            if not state.missing:
                _append(state, _row(state, store, command, query, now, list(served), verdict, private))
    except errors.MemcliError:
        return  # a store that cannot be written is read all the same


def read(store: "Store") -> "Iterator[dict[str, Any]]":
    """The lines, oldest first, as {at, command, query, served, ids, best, verdict, and text if kept}; `at` is an instant.

    Damaged lines are passed over. Raises SystemFailure when the log cannot be read.
    """
    yield from told(store)[0]


def told(store: "Store") -> "tuple[list[dict[str, Any]], int]":
    """The lines as `read` gives them, and how many were passed over: a file that is no log of ours counts as one."""
    found, damaged = [], 0
    for name in (OLD, LOG):
        data = _held(store, name)
        damaged += data is None
        for line in files.lines(data or b""):
            row = _parsed(line)
            # Before what can be read of a line there may stand a torn one.
            damaged += bool(line.strip()) if row is None else not line.startswith(_START)
            found += [] if row is None else [row]
    return found, damaged


def erase(store: "Store", gone: "Collection[str]") -> None:
    """Take ids out of the log, and every question that it holds in words: one of them may say what is forgotten.

    Call it under the store's lock. Raises SystemFailure.
    """
    import json

    with store.folder(folder.STATE) as state:
        for name in (OLD, LOG):
            data = _held(store, name) or b""
            kept = []
            for line in files.lines(data):
                row = _parsed(line)
                if row is None:
                    continue
                row.pop("text", None)
                row["ids"] = [i for i in row["ids"] if i not in gone]
                kept.append(json.dumps(row | {"at": clock.show(row["at"])}) + "\n")
            if not state.missing and (text := "".join(kept).encode()) != data:
                state.replace(name, text)


def _row(
    state: files.Folder,
    store: "Store",
    command: str,
    query: str,
    now: "datetime",
    served: list[tuple[str, float]],
    verdict: str,
    private: bool,
) -> bytes:
    named = ", ".join(f'"{i}"' for i, _ in served[:MOST_IDS] if ids.valid(i))
    best = max((held for _, held in served), default=0.0)
    verdict = verdict if query.strip() else ""
    row = (
        f'{{"at": "{clock.show(now)}", "command": "{command}", "query": "{_hash(state, query)}",'
        f' "served": {len(served)}, "ids": [{named}], "best": {round(best, 4)}, "verdict": "{verdict}"'
    )
    if store.settings["monitor.query_text"] and query.strip() and not private:
        import json

        from memcli.model import redact

        row += f', "text": {json.dumps(redact.mask(query[:_MOST_QUERY_CHARS]))}'
    return f"{row}}}\n".encode()


def _hash(state: files.Folder, query: str) -> str:
    """Tells equal questions from others; "" for none. Whoever can read the salt can try guesses."""
    words = " ".join(query.casefold().split())
    return sha256.hexadecimal(_salt(state) + words.encode("utf-8", "replace"))[:_HASH_DIGITS] if words else ""


def _salt(state: files.Folder) -> bytes:
    found = state.read(SALT)
    if found is None or len(found) != _SALT_BYTES:
        found = os.urandom(_SALT_BYTES)
        state.replace(SALT, found, durable=False)
    return found


def _append(state: files.Folder, row: bytes) -> None:
    info = state.info(LOG)
    if info is not None and info.st_size + len(row) > MOST_BYTES:
        _rotate(state, len(row))
        info = state.info(LOG)
        if info is not None and info.st_size > 2 * MOST_BYTES:
            return  # it cannot be put aside, and shall not grow for ever
    state.append(LOG, row, durable=False)


def _rotate(state: files.Folder, more: int) -> None:
    """Put a full log aside; of several processes that see it full one does, and none waits for it."""
    from memcli.base import lock

    try:
        with lock.Lock(state.where(LOCK), wait_seconds=0):
            info = state.info(LOG)
            if info is not None and info.st_size + more > MOST_BYTES:
                state.rename(LOG, OLD)
    except errors.MemcliError:
        return


def _held(store: "Store", name: str) -> bytes | None:
    """What a file holds; None for a link, a pipe, or one far too long: none of it is ours."""
    try:
        with store.folder(folder.STATE) as state:
            return state.read(name, 4 * MOST_BYTES) or b""
    except files.NotAFile:
        return None


def _parsed(line: bytes) -> "dict[str, Any] | None":
    """One line; where a torn one stands before it on the same line, that one is passed over."""
    import json

    start = line.rfind(_START)
    try:
        row = json.loads(line[max(start, 0) :])
        row["at"] = clock.parse(row["at"])
        good = (
            isinstance(row["command"], str)
            and isinstance(row["query"], str)
            and type(row["served"]) is int
            and type(row["best"]) in (int, float)
            and row["verdict"] in ("", *VERDICTS)
            and isinstance(row["ids"], list)
            and all(ids.valid(i) for i in row["ids"])
        )
    except (ValueError, TypeError, KeyError, RecursionError, errors.UsageError):
        return None
    return row if good else None
