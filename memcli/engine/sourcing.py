"""Changing what is recorded of a source."""

from datetime import datetime

from memcli.engine import gate, intake
from memcli.model import keys, labels, records
from memcli.model.records import SourceRecord
from memcli.store import sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.store.folder import Store


def change(store: "Store", name: str, changes: dict[str, object], *, now: datetime) -> tuple[SourceRecord, bool]:
    """Change fields of a source's record (made when missing); the record, and whether anything changed.

    name: the source's id, or KIND:ID for a new one. Raises UsageError, SecretFound, Locked, SystemFailure.
    """
    said = records.source(name)
    texts = {"name": said.id, "note": str(changes.get("note", ""))}
    taken = intake.take(store.settings, texts, fixed=("name",))
    if "note" in changes:
        changes = changes | {"note": taken.texts["note"]}
    with store.writing() as w:
        known = {s.id: s for s in sources.every(store)}
        old = known.get(name) or known.get(said.id)
        kind = str(changes.get("kind") or (old.kind if old else said.kind))
        start = old or SourceRecord(
            id=keys.normal(said.id), kind=kind, trust=labels.KIND_TRUST[kind], first_seen_at=now
        )
        record = start.replace(**changes)
        if "kind" in changes and "trust" not in changes and record.kind != start.kind:
            record = record.replace(trust=labels.KIND_TRUST[kind])
        return record, sources.put(w, record)


def imported(store: "Store", old: SourceRecord | None, said: SourceRecord, *, trusted: bool) -> SourceRecord:
    """What an import makes of a source that a file describes. old: as it is recorded here.

    Nobody else's file may say whom to trust, nor silence a source by blocking it. Raises Refused where one's own does and
    an agent brings it.
    """
    plain = old or said.replace(trust=labels.KIND_TRUST[said.kind], list="")
    if not trusted:
        return plain
    if (said.kind, said.trust, said.list) != (plain.kind, plain.trust, plain.list):
        gate.check_person("says how far a source is trusted", store)
    return said
