"""How it stands with the vectors of a store: how many records have one, and how the last run of the encoder ended.

The run may be one in the background whose words nobody reads, so it leaves its end in `.memcli/vectors.json`: numbers and
the message of an error, nothing of any record. A run that is killed leaves "running" behind, with a lock that nobody holds.
"""

import json
from datetime import datetime

from memcli.base import clock, errors, lock
from memcli.base.value import Value, value
from memcli.index import database, encoders, vectors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from memcli.store.folder import Store

NAME = "vectors.json"
FORMAT = 1
RUNNING, DONE, FAILED, STOPPED = "running", "done", "failed", "stopped"


@value
class Standing(Value):
    """model: the one in force, "" where none can be used, and then `why` says why; records: how many have a vector of it;
    last: how the last run ended (running, done, failed, stopped; "" for none), at: when it began, error: why it failed."""

    model: str
    why: str
    records: int
    last: str = ""
    at: str = ""
    error: str = ""


def standing(store: "Store") -> Standing:
    """How it stands now; asks no host, and loads no model. Raises SystemFailure."""
    model, why = "", ""
    try:
        model = encoders.encoder(store.settings).name
    except errors.MemcliError as e:
        why = e.message
    last = _read(store)
    state = str(last.get("state", ""))
    if state == RUNNING and not running(store):
        state = STOPPED
    return Standing(
        model=model,
        why=why,
        records=_count(store, model),
        last=state,
        at=str(last.get("at", "")),
        error=str(last.get("error", "")),
    )


def running(store: "Store") -> bool:
    """Whether somebody encodes now. A folder in which nobody may write has nobody who does."""
    with store.folder(database.STATE) as state:
        if state.info(vectors.LOCK) is None:
            return False
        path = state.where(vectors.LOCK)
    try:
        with lock.Lock(path, wait_seconds=0):
            return False
    except errors.Locked:
        return True
    except errors.SystemFailure:
        return False


def note(store: "Store", state: str, now: datetime, error: errors.MemcliError | None = None) -> None:
    """Leave word of a run. Raises SystemFailure."""
    said = {"format": FORMAT, "state": state, "at": clock.show(now)}
    if error is not None:
        said["error"] = error.message
    with store.folder(database.STATE, create=True) as folder:
        folder.replace(NAME, json.dumps(said, ensure_ascii=False).encode() + b"\n")


def _read(store: "Store") -> "dict[str, Any]":
    """What the last run left; nothing where that cannot be read, for it is only a note."""
    try:
        with store.folder(database.STATE) as folder:
            found = json.loads(folder.read(NAME) or b"{}")
    except (errors.MemcliError, ValueError, RecursionError):
        return {}
    good = isinstance(found, dict) and found.get("state") in (RUNNING, DONE, FAILED)
    return found if good else {}


def _count(store: "Store", model: str) -> int:
    try:
        held = vectors.opened(store)
        if held is None:
            return 0
        with held:
            known = held.model(model)
            return 0 if known is None else held.count(known[0])
    except errors.MemcliError:
        return 0
    except database.nonsense():
        return 0
