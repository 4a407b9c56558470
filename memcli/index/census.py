"""How many records of each kind there are, whoever may see them: numbers alone, so that no label is asked."""

from memcli.base.value import Value, value
from memcli.index import document, look, refresh, rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from memcli.index.database import Connection
    from memcli.store.folder import Store

BY_HAND = ("drift", "bare")
DAMAGED = ("damaged", "conflict", "half")
_FACTS = f"SELECT {look.STATE}, state, count(*) FROM record WHERE layer = 0 AND rival = 0 GROUP BY 1, 2"


@value
class Census(Value):
    """Facts that are current, expired, faded (past the store's greatest age too); of all of them those that a hand made or
    changed, and those whose files are damaged or cannot be read; entries of episodes, ended ones too; and how many files
    of episodes (months) and procedures cannot be read."""

    current: int
    expired: int
    faded: int
    by_hand: int
    damaged: int
    episodes: int
    unread: int


def take(con: "Connection", store: "Store", now: "datetime") -> Census:
    """The numbers at an instant."""
    ended = {"current": 0, "expired": 0, "faded": 0}
    states: dict[str, int] = {}
    for end, state, count in con.execute(_FACTS, {"now": document.seconds(now)}).fetchall():
        ended[end] += count
        states[state] = states.get(state, 0) + count
    entries = con.execute("SELECT sum(count) FROM tally WHERE layer = ?", (rows.EPISODE,)).fetchone()[0]
    return Census(
        **ended,
        by_hand=sum(states.get(s, 0) for s in BY_HAND),
        damaged=sum(states.get(s, 0) for s in DAMAGED) + refresh.unread(con, store, (rows.FACT,)),
        episodes=int(entries or 0),
        unread=refresh.unread(con, store, (rows.EPISODE, rows.PROCEDURE)),
    )
