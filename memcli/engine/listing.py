"""Facts in order of their keys: the index says which, their files say what; with a limit no more are read than are shown."""

from datetime import datetime

from memcli.base.value import Value, value
from memcli.engine import search
from memcli.index import document, rows
from memcli.index.look import Look, Scope
from memcli.index.refresh import ask, unread
from memcli.model.records import Fact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.engine.search import Filters
    from memcli.index.database import Connection
    from memcli.model.labels import Sensitivity
    from memcli.store.folder import Store


@value
class Listed(Value):
    """Facts by key, how many more there are, and how many facts are withheld or have a file that cannot be read: two numbers
    that no filter changes."""

    facts: tuple[Fact, ...]
    more: int
    withheld: int
    unread: int = 0


def facts(store: "Store", now: datetime, clearance: "Sensitivity", wanted: "Filters", limit: int = 0) -> Listed:
    """Current facts that the clearance covers and that pass the filters; limit: at most so many, 0 for all."""
    filters = wanted.replace(layers=("facts",))
    return ask(store, lambda con: _facts(con, store, now, clearance, filters, limit))


def _facts(
    con: "Connection", store: "Store", now: datetime, clearance: "Sensitivity", wanted: "Filters", limit: int
) -> Listed:
    scope = search.scope(wanted)
    # Of a record above internal the index knows nothing that a filter could ask for; its files are asked below.
    known = f"(r.level > {int(document.SHOWN_UP_TO)} OR ({' AND '.join(scope.conditions)}))"
    look = Look(con, store, now, clearance, Scope(conditions=("r.layer = 0", known), values=scope.values))
    listed = sorted((key or look.key(rid), rid) for rid, key in look.select("r.rid, r.key"))
    found: list[Fact] = []
    more = 0
    for _, rid in listed:
        if limit and len(found) >= limit:
            more += 1
            continue
        record = look.record(rows.Row(rid, rows.FACT, "", "", ""))
        if isinstance(record, Fact) and search.passes(record, wanted):
            found.append(look.shown(record))
    return Listed(
        facts=tuple(sorted(found, key=lambda f: f.key)),
        more=more,
        withheld=look.withheld(rows.FACT),
        unread=unread(con, store, (rows.FACT,)),
    )
