"""What ranking reads of a record, and what it may ask of the index; no text of a record leaves through here, only stems."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Protocol

    class Corpus(Protocol):
        """The rows that one reader may rank, at one instant: all of them are current, cleared and pass the filters.

        count, mean_length: how many rows there are in the index, and their mean length in stems.
        """

        count: int
        mean_length: float

        def frequencies(self, stems: "Iterable[str]") -> dict[str, int]:
            """In how many rows each stem stands; 0 for one that is nowhere."""

        def matching(self, stems: "Sequence[str]", limit: int) -> "list[Row]":
            """Rows that hold any of the stems, best first by BM25 as the full-text engine counts it."""

        def around(self, rows: "Iterable[Row]", reach: int) -> "list[Row]":
            """Rows of the same session at most `reach` places before or after one of `rows`, without `rows`."""

        def of_sessions(self, sessions: "Iterable[str]", limit: int) -> "list[Row]":
            """All rows of these sessions; at most `limit` of each, in order of place."""

        def spelled_like(self, stem: str, limit: int) -> "list[str]":
            """Stems of the index that share many three-letter groups with this one, most alike first."""


FACT, EPISODE, PROCEDURE = 0, 1, 2
# Of what a session holds; the index has none of it.
WORKING = 3


class Row:
    """One record as ranking sees it.

    strong, weak: stems in order, joined by spaces: of what names the record (key, tags, title) and of what it says;
    speaker: who says it, folded, or ""; session: what it belongs to, or ""; place: its order in there;
    kind: of its source; state: of a fact's files or of a procedure, as the record says; key: scrubbed;
    at: when it was last said to hold, epoch seconds; flags: bits of `blend.flags`; length: stems in all;
    importance, confidence (effective, now), trust (of its source): 0..1.
    """

    __slots__ = (
        "at",
        "confidence",
        "flags",
        "id",
        "importance",
        "key",
        "kind",
        "layer",
        "length",
        "place",
        "rid",
        "session",
        "speaker",
        "state",
        "strong",
        "trust",
        "weak",
    )

    def __init__(
        self,
        rid: int,
        layer: int,
        id: str,
        strong: str,
        weak: str,
        speaker: str = "",
        session: str = "",
        place: int = 0,
        at: float = 0.0,
        flags: int = 0,
        importance: float = 0.5,
        confidence: float = 0.6,
        trust: float = 0.6,
        kind: str = "unknown",
        state: str = "ok",
        key: str = "",
    ) -> None:
        self.rid, self.layer, self.id = rid, layer, id
        self.strong, self.weak = strong, weak
        self.speaker, self.session, self.place = speaker, session, place
        self.at, self.flags = at, flags
        self.kind, self.state, self.key = kind, state, key
        self.importance, self.confidence, self.trust = importance, confidence, trust
        self.length = strong.count(" ") + weak.count(" ") + bool(strong) + bool(weak)
