"""What is said of a key that no fact has: the one that was meant, where another differs from it in spelling alone."""

from memcli.base import errors
from memcli.model import labels, policy
from memcli.store import facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from memcli.model.labels import Sensitivity
    from memcli.store.folder import Store

_MOST = 3


def check_clearance(store: "Store", key: str, now: "datetime", clearance: "Sensitivity") -> None:
    """Raise Withheld where a current fact of this key stands above the clearance; as `fact get` does, it says no more."""
    fact = facts.get(store, key)
    if fact is None or policy.cleared(fact.sensitivity, clearance) or not policy.current(fact, now, store.settings):
        return
    message = f"this fact is withheld: its label is above {clearance}"
    raise errors.Withheld(message, hint="--clearance LABEL shows what is about it, up to that label")


def no_fact(
    store: "Store",
    key: str,
    now: "datetime | None",
    message: str = "no fact of this key",
    *,
    hint: str = "memcli fact list",
    clearance: "Sensitivity" = labels.INTERNAL,
) -> errors.NotFound:
    """The error to raise. key: normalised; hint: what to do next where no key that the reader may see is like it.

    Raises SystemFailure's kind or BadData by itself where the key has a file that cannot be read: it is not absent.
    """
    facts.check_readable(store, key)
    found = [
        f
        for f in facts.alike(store, key)
        if policy.cleared(f.sensitivity, clearance) and (now is None or policy.current(f, now, store.settings))
    ]
    if not found:
        return errors.NotFound(message, hint=hint)
    from memcli.model import redact
    from memcli.store import sources

    blocked = sources.Blocked(store)
    meant = [repr(str(redact.mask(f.key))) for f in found if f.source.id not in blocked]
    return errors.NotFound(message, hint=f"there is {', '.join(meant[:_MOST])}" if meant else hint)
