"""Who may decide: say yes or no to what waits for review, say how far a source is trusted, undo a no, erase for good.

It keeps honest agents and hooks inside the gate. It is no protection against somebody who names himself user:x.
"""

from memcli.base import errors
from memcli.engine import intake
from memcli.model import labels, policy, records
from memcli.model.records import Episode, Fact, Procedure, Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.store.folder import Store

_HINT = "--by user:NAME, or MEMCLI_SOURCE=user:NAME"


def who(by: str | None, default_kind: str) -> Source:
    """Who speaks: `by`, else MEMCLI_SOURCE, else the kind."""
    return records.source(by) if by else intake.default_source(default_kind)


def judge(store: "Store", by: str | None, default_kind: str) -> Source:
    """Who decides, as `who` says. Raises Refused for an unknown, untrusted or blocked source."""
    found = who(by, default_kind)
    if found.kind in (*labels.UNTRUSTED_KINDS, "unknown"):
        raise errors.Refused("an unknown or untrusted source cannot decide this", hint=_HINT)
    if found.id in store.blocked():
        raise errors.Refused("a blocked source cannot decide this", hint=_HINT)
    return found


def check(judge: Source, record: "Fact | Episode | Procedure", *, gone: Fact | None = None) -> None:
    """Raise Refused when a source that `judge` gave may not say yes or no to a record: an agent to its own.

    A person always may.

    gone: the value that would go, which only a person takes away where a person set it.
    """
    if judge.kind in policy.PEOPLE:
        return
    if own(judge, record):
        raise errors.Refused("who proposed something cannot decide on it", hint="--by user:NAME, or another agent")
    if gone is not None and gone.source.kind in policy.PEOPLE:
        raise errors.Refused("a person has set this value: only a person takes it away", hint=_HINT)


def own(judge: Source, record: "Fact | Episode | Procedure") -> bool:
    """True when a source other than a person decides on what it said itself, under its own name, in a session or as one
    of several. Who brought an import is not kept, so of that it may be anybody."""
    if judge.kind in policy.PEOPLE:
        return False
    said = {o.source for o in getattr(record, "confirmations", ())}
    mine = judge.id in (record.source.id, getattr(record, "agent", "")) or str(judge) in said
    return mine or (bool(record.source.via) and judge.kind != "unknown")  # who does not say who he is only looks


def check_person(what: str, store: "Store") -> None:
    """Raise Refused when MEMCLI_SOURCE names somebody and no person, or one whom the store blocks. what: that only a person
    does, in words.

    For verbs that take no `--by`: who names nobody is whoever holds the files.
    """
    found = intake.default_source("user")
    if found.kind not in policy.PEOPLE:
        raise errors.Refused(f"only a person {what}", hint="MEMCLI_SOURCE=user:NAME")
    if found.id in store.blocked():
        raise errors.Refused(f"only a person who is not blocked {what}", hint="MEMCLI_SOURCE=user:NAME")


def check_again(store: "Store") -> None:
    """Raise Refused when other than a person brings back what was purged."""
    check_person("brings back what was purged", store)


def check_trust(store: "Store", name: str, by: str | None, default_kind: str) -> None:
    """Raise Refused when a source's trust or its place on a list is changed by other than a person, or by itself."""
    found = judge(store, by, default_kind)
    if found.kind not in policy.PEOPLE:
        raise errors.Refused("only a person says how far a source is trusted", hint=_HINT)
    if found.id in (name, records.source(name).id):
        raise errors.Refused("nobody says how far he is trusted himself", hint="--by another user:NAME")
