"""What an audit passes around: entries as they were read, whatever the form, and what was found in them."""

from datetime import datetime

from memcli.base.value import Value, value
from memcli.model import labels
from memcli.model.labels import Sensitivity

JUNK, LOOK, RISK = "junk", "look", "risk"

# kind: (severity, what it is, what to do next). In this order everywhere. Junk holds nothing worth keeping, a look is for
# a person to decide, a risk can do harm.
KINDS: dict[str, tuple[str, str, str]] = {
    "duplicate": (JUNK, "says the same as another entry, word for word", "keep one"),
    "empty": (JUNK, "is empty, or too short to say anything", "delete it, or write what was meant"),
    "title": (JUNK, "only repeats its title", "write what is known under it, or delete it"),
    "placeholder": (JUNK, "is a placeholder or a part of a template", "fill it in or delete it"),
    "replay": (
        JUNK,
        "is the output of a memory tool, stored as a memory",
        "delete it: it tells what is stored elsewhere",
    ),
    "boilerplate": (JUNK, "restates a prompt or a tool's own words", "delete it"),
    "raw": (JUNK, "is raw output: a log, a trace, coded data", "write the one line that was learned, and delete it"),
    "chatter": (JUNK, "is talk that says nothing", "delete it"),
    "transient": (JUNK, "is a state that held for a moment", "delete it; what happened belongs in a log"),
    "secret": (RISK, "holds what looks like a credential", "take it out, and change it where it is used"),
    "personal": (RISK, "holds personal data", "take it out, or keep it where only its readers look"),
    "injection": (RISK, "gives orders to the model that reads it", "find out who wrote it, and delete it"),
    "contradiction": (LOOK, "says something else than another entry", "decide which one holds"),
    "similar": (LOOK, "says nearly the same as another entry", "keep the better one"),
    "undated": (LOOK, "has a relative date and no date to count from", "write the date itself"),
    "stale": (LOOK, "has ended, or has not been confirmed for long", "confirm it or let it go"),
    "unsourced": (LOOK, "does not say who said it", "name its source"),
    "link": (LOOK, "leads to what is not there", "mend the link or take it out"),
    "orphan": (LOOK, "belongs to something that is not there", "delete it, or bring the other part back"),
    "damaged": (LOOK, "cannot be read as what it should be", "mend it by hand"),
}


@value
class Entry(Value):
    """One thing that a memory holds.

    path: relative to the folder; line: where it begins (0: not known); item: its number in a list without lines;
    title: key or headings above it; form: "text", "code" (a block or table, judged by its shape only) or "bond" (a
    relation); at: when it was written; dated: it stands in a log whose day is known; expires: when it ends;
    source: "" when it has none although its form has a place for it; ref: what commands take; layer: of a store.
    """

    path: str
    text: str
    line: int = 0
    item: int = 0
    title: str = ""
    form: str = "text"
    at: datetime | None = None
    dated: bool = False
    expires: datetime | None = None
    source: str | None = None
    label: Sensitivity = labels.INTERNAL
    ref: str = ""
    layer: str = ""

    @property
    def place(self) -> str:
        """Where it stands, for people: path:line, or path[item]."""
        return place(self.path, self.line, self.item)


@value
class Finding(Value):
    """One thing that was found. what: a neutral reason that holds no text of the entry; entry: None for a whole file.

    other: the place of the entry that it is compared with; next: what to do, where it is more than KINDS says.
    """

    kind: str
    path: str
    what: str
    line: int = 0
    item: int = 0
    entry: Entry | None = None
    other: Entry | None = None
    next: str = ""

    @property
    def severity(self) -> str:
        """junk, look or risk."""
        return KINDS[self.kind][0]


def place(path: str, line: int = 0, item: int = 0) -> str:
    """Where something stands, for people."""
    return f"{path}:{line}" if line else f"{path}[{item}]" if item else path


def of(entry: Entry, kind: str, what: str, *, other: Entry | None = None, then: str = "") -> Finding:
    """A finding about an entry."""
    return Finding(
        kind=kind, path=entry.path, line=entry.line, item=entry.item, what=what, entry=entry, other=other, next=then
    )
