"""What a session holds in mind, as rows that ranking weighs beside those of the index."""

from memcli.base import errors
from memcli.engine import work
from memcli.index import document, rows, signs
from memcli.index.rows import Row
from memcli.model import labels, policy, words
from memcli.model.working import Entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from memcli.engine.search import Filters
    from memcli.engine.work import Held
    from memcli.model.labels import Sensitivity
    from memcli.store.folder import Store

DAMAGED = "the working memory of this session is damaged and was not searched; see: memcli doctor"


class InMind:
    """The working memory of one session for one search. rows: each with what it stands for; withheld: how many are above
    the clearance; note: why it was not looked at, "" when it was."""

    def __init__(self, store: "Store", session: str, *, now: "datetime", clearance: "Sensitivity") -> None:
        self.rows: list[tuple[Row, Held]] = []
        self.withheld, self.note = 0, ""
        self._store, self._session = store, session
        if not session.strip():
            return
        try:
            seen = work.look(store, session, now=now, clearance=clearance)
        except errors.BadData:
            self.note = DAMAGED
            return
        self.withheld = seen.withheld
        held: list[Held] = [*seen.entries, *seen.items]
        # No row of the index has a number below zero.
        self.rows = [(_row(-number, each), each) for number, each in enumerate(held, 1)]

    def count_reads(self, shown: "list[str]") -> None:
        """Note that these ids were read, as `work list --text` does: what is read often is kept longer."""
        from memcli.store import working

        mine = {held.id for _, held in self.rows}
        read = [id_ for id_ in shown if id_ in mine]
        if read:
            working.count(self._store, self._session, read)


def passes(held: "Held", wanted: "Filters") -> bool:
    """Whether it is what the filters ask for; it has no domain, outcome or concepts."""
    apart = (wanted.domain, wanted.prefix, wanted.outcome, wanted.concept)
    if document.WORKING not in wanted.layers or any(each is not None for each in apart):
        return False
    if (wanted.since and held.since < wanted.since) or (wanted.until and held.since > wanted.until):
        return False
    if held.importance < wanted.min_importance or not set(wanted.tags) <= set(held.tags):
        return False
    return wanted.source is None or wanted.source in (held.source.id, held.source.kind, str(held.source))


def fields(held: "Held") -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The texts that name it, and those that it says, as `document.fields` gives them for records."""
    return (held.key if isinstance(held, Entry) else "", *held.tags), (held.text,)


def _row(rid: int, held: "Held") -> Row:
    strong, weak = (" ".join(words.terms("\n".join(parts))) for parts in fields(held))
    trust = min(labels.KIND_TRUST[held.source.kind], labels.KIND_TRUST.get(held.source.via, 1.0))
    return Row(
        rid,
        rows.WORKING,
        held.id,
        strong,
        weak,
        at=document.seconds(held.since),
        flags=signs.flags(held.text),
        importance=policy.UNTRUSTED_IMPORTANCE if policy.quarantined(held.source) else held.importance,
        confidence=held.confidence,
        trust=trust,
        kind=held.source.kind,
        key=held.key if isinstance(held, Entry) else "",
    )
