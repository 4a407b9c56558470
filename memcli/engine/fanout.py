"""Refuting one fact does not leave the rest standing: what else says the same, or was derived from it.

Asked of the index at the moment of the write. `review` computes the same from the records themselves, so whatever is
listed here waits there from the moment on at which the new value or the denial stands.
"""

from datetime import datetime

from memcli.base import errors
from memcli.base.value import Value, value
from memcli.index import database, document, rows
from memcli.index.look import Look
from memcli.index.refresh import ask, depends_on
from memcli.model import labels, words
from memcli.model.records import Episode, Fact
from memcli.store import facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.index.database import Connection
    from memcli.index.document import Record
    from memcli.store.folder import Store

# Shorter former values ("yes", "8080") would be found everywhere.
LEAST_WORDS = 3
# Where there is no index yet, it is made for this question only if that takes no longer than the write.
_FEW_FILES = 2000
_MOST = 100


@value
class Affected(Value):
    """A record that a refuted value touches. name: key or task; why: "derived from it" or "says the same"."""

    layer: str
    id: str
    name: str
    why: str


@value
class Fanout(Value):
    """What a refuted value touches, of what is not withheld, and how many withheld records beside."""

    affected: tuple[Affected, ...] = ()
    withheld: int = 0


def of(store: "Store", refuted: Fact, now: datetime, *, replaced_by: str | None = None) -> Fanout:
    """What else a refuted value touches. replaced_by: the text of the new value; None after a denial, which leaves it.

    Nothing is written for it. Never raises: what was refuted is written already, and `review` will say the same.
    """
    try:
        if not _affordable(store):
            return Fanout()
        return ask(
            store, lambda con: _found(con, store, refuted, now, replaced_by), watch=False, bypass=False, keep=False
        )
    except errors.MemcliError:
        return Fanout()


def says(text: str, gone: set[str]) -> bool:
    """Whether a text still asserts what is gone: it holds all of its words."""
    return len(gone) >= LEAST_WORDS and gone <= set(words.terms(text))


def _affordable(store: "Store") -> bool:
    con = database.current(store, depends_on(store))
    if con is not None:
        con.close()
        return True
    with store.folder(facts.LAYER) as folder:
        return len(folder.names()) <= _FEW_FILES


def _found(con: "Connection", store: "Store", refuted: Fact, now: datetime, replaced_by: str | None) -> Fanout:
    look = Look(con, store, now)
    derived, withheld = look.derived_from((refuted.id, refuted.key))
    found = [(r, "derived from it") for r in derived]
    gone = set(words.terms(refuted.text))
    if replaced_by is None or not says(replaced_by, gone):
        same = look.holding(sorted(gone), _MOST) if len(gone) >= LEAST_WORDS else []
        found += [(r, "says the same") for r in same if says(r.text, gone)]
    others = {r.id: (r, why) for r, why in reversed(found) if r.id != refuted.id and not _is_of_key(r, refuted.key)}
    if refuted.sensitivity > labels.INTERNAL:  # what it said must not be told by what says the same
        return Fanout(withheld=withheld + len(others))
    affected = [Affected(layer=_layer(r), id=r.id, name=_name(r), why=why) for r, why in others.values()]
    return Fanout(affected=tuple(affected), withheld=withheld)


def _is_of_key(record: "Record", key: str) -> bool:
    return isinstance(record, Fact) and record.key == key


def _name(record: "Record") -> str:
    return record.task if isinstance(record, Episode) else record.key


def _layer(record: "Record") -> str:
    number = rows.FACT if isinstance(record, Fact) else rows.EPISODE if isinstance(record, Episode) else rows.PROCEDURE
    return document.NAME_OF[number]
