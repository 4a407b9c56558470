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


def no_fact(
    store: "Store",
    key: str,
    now: "datetime | None",
    message: str = "no fact of this key",
    *,
    hint: str = "memcli fact list",
    clearance: "Sensitivity" = labels.INTERNAL,
) -> errors.NotFound:
    """The error to raise. key: normalised; hint: what to do next where no key that the reader may see is like it."""
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
