"""Encoding records as vectors: only what is new, a batch at a time, so that whoever is stopped goes on where it was.

The change to another model is the same command: all is encoded anew, and what other models made goes when it is done.
"""

from datetime import datetime

from memcli.base import errors
from memcli.base.value import Value, value
from memcli.engine import encodings, meaning
from memcli.index import codes, database, document, encoders, vectors
from memcli.index.refresh import ask
from memcli.model import policy, redact
from memcli.model.records import Fact
from memcli.store import episodes, facts, procedures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memcli.index.codes import Vector
    from memcli.index.document import Record
    from memcli.index.encoders import Encoder
    from memcli.index.vectors import Vectors
    from memcli.model.redact import Redacted
    from memcli.store.folder import Store

    Progress = Callable[[int], None]

# Two of them at once would encode everything twice.
_WAIT_SECONDS = 1.0
BUSY = "an encoding is running: it held the lock of the vectors"
BUSY_HINT = "it does the work; memcli status says when it is done"


@value
class Encoded(Value):
    """What came of it. model: its name with version; records: that have a vector now; encoded: texts that were new;
    removed: vectors that nobody says any more, or of other models; bytes: on disk."""

    model: str
    records: int
    encoded: int
    removed: int
    bytes: int


def encode(store: "Store", *, now: datetime, progress: "Progress | None" = None) -> Encoded:
    """Encode the texts of all current records up to internal that have no vector of the model in force.

    progress: told after each batch how many texts are done. Raises UsageError where vectors are off, Refused for a host
    that nobody has allowed here, SystemFailure where there is no model or nothing can be written, Locked.
    """
    from memcli.base import lock

    encoder = check(store)
    with store.folder(database.STATE, create=True) as state:
        held = lock.Lock(state.where(vectors.LOCK), wait_seconds=_WAIT_SECONDS, busy=BUSY, hint=BUSY_HINT)
    with held:
        encodings.note(store, encodings.RUNNING, now)
        try:
            done = _encode_or_anew(store, encoder, now, progress)
        except errors.MemcliError as e:
            encodings.note(store, encodings.FAILED, now, e)
            raise
        encodings.note(store, encodings.DONE, now)
        return done


def notes(store: "Store") -> tuple[str, ...]:
    """What of the settings has no effect, for whoever has written them."""
    set_ = store.settings
    if set_["vectors.model"] and not set_["vectors.endpoint"]:
        return ("vectors.model is not used: it names the model of a host, and vectors.endpoint names none",)
    return ()


def _encode_or_anew(store: "Store", encoder: "Encoder", now: datetime, progress: "Progress | None") -> Encoded:
    try:
        with vectors.made(store) as found:
            return _encode(store, encoder, found, now, progress)
    except database.nonsense():
        vectors.discard(store)  # damaged: made anew
    with vectors.made(store) as found:
        return _encode(store, encoder, found, now, progress)


def check(store: "Store") -> "Encoder":
    """The encoder in force. Raises as `encode`, before anything is done."""
    if not store.settings["vectors.enabled"]:
        raise errors.UsageError("vectors are off in this store", hint="in memcli.toml: [vectors] enabled = true")
    meaning.check_host(store)
    return encoders.encoder(store.settings)


def _encode(
    store: "Store", encoder: "Encoder", found: "Vectors", now: datetime, progress: "Progress | None"
) -> Encoded:
    model, centre = _model(encoder, found)
    known, waiting = found.encoded(model, len(centre)), dict[bytes, redact.Redacted]()
    said: dict[str, bytes] = {}
    for id_, text in _texts(store, now):
        said[id_] = vectors.hash_of(text)
        if said[id_] not in known:
            waiting[said[id_]] = text
    found.note((i, h) for i, h in said.items() if h in known)
    hashes = list(waiting)
    for start in range(0, len(hashes), encoder.batch):
        part = hashes[start : start + encoder.batch]
        made = encoder.encode([waiting[h] for h in part], question=False)
        _check(made, centre)
        _keep(store, found, model, centre, dict(zip(part, made, strict=True)), said)
        if progress is not None:
            progress(start + len(part))
    removed = ask(store, lambda con: found.keep(vectors.shown(con), model, encoder.name))
    return Encoded(
        model=encoder.name,
        records=found.count(model),
        encoded=len(hashes),
        removed=removed,
        bytes=vectors.size_bytes(store),
    )


def _model(encoder: "Encoder", found: "Vectors") -> "tuple[int, Vector]":
    """The model's number and middle; its middle is measured when it first comes.

    A host may have another model under the name by now. Where its vectors are of another length, all is encoded anew
    beside the old ones, which go when the new ones are whole and take over the name.
    """
    name = encoder.name
    known = found.model(name)
    if known is not None and not encoder.steady:
        [probe] = encoder.encode([redact.mask(vectors.SENTENCES[0])], question=False)
        if len(probe) != len(known[1]):
            name = f"{name} of length {len(probe)}"
            known = found.model(name)
    if known is not None:
        return known
    plain = [redact.mask(sentence) for sentence in vectors.SENTENCES]
    centre = codes.middle(encoder.encode(plain, question=False))
    return found.add_model(name, centre), centre


def _check(made: "list[Vector]", centre: "Vector") -> None:
    if any(len(vector) != len(centre) for vector in made):
        raise errors.SystemFailure("the model gives vectors of another length now", hint="memcli reindex --vectors")


def _keep(
    store: "Store",
    found: "Vectors",
    model: int,
    centre: "Vector",
    made: "dict[bytes, Vector]",
    said: dict[str, bytes],
) -> None:
    """Write a batch, of what is still shown: somebody may have forgotten it meanwhile, and purges under the same lock."""
    with store.writing(patient=True):
        shown = ask(store, vectors.shown)
        left = {i: h for i, h in said.items() if h in made and i in shown}
        wanted = set(left.values())
        found.add(model, centre, [(h, vector) for h, vector in made.items() if h in wanted])
        found.note(left.items())


def _texts(store: "Store", now: datetime) -> "Iterator[tuple[str, Redacted]]":
    """Each current record up to internal, by id, and what is encoded of it."""
    for record in _records(store):
        live = (
            policy.current(record, now, store.settings) if isinstance(record, Fact) else not policy.expired(record, now)
        )
        if live and record.id and record.sensitivity <= document.SHOWN_UP_TO:
            yield record.id, vectors.text(record)


def _records(store: "Store") -> "Iterator[Record]":
    yield from facts.every(store)
    for month in episodes.months(store):
        yield from episodes.read(store, month).entries
    yield from procedures.every(store)
