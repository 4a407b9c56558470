"""From proposed to known: a proposal becomes a fact after enough independent observations, or when a person accepts it.

Independent means another run or session, one count a run, whatever the source's name. A proposal whose key has another
value already is never promoted by itself: that is a contradiction, and waits for a person.
"""

from datetime import datetime

from memcli.base import errors, ids
from memcli.model import policy
from memcli.model.records import Fact, Opinion
from memcli.store import facts, proposals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.store.folder import Store, Writing


def due(store: "Store", now: datetime) -> list[Fact]:
    """Proposals that the store's settings promote now: observed often enough, in nobody's way, and not doubted."""
    needed = store.settings["promotion.observations"]
    found = []
    for proposal in proposals.every(store):
        if proposal.state != "ok" or policy.expired(proposal, now) or proposal.denials:
            continue
        if proposals.observations(proposal) >= needed and not rival(store, proposal, now):
            found.append(proposal)
    return found


def rival(store: "Store", proposal: Fact, now: datetime) -> Fact | None:
    """The current fact of the same key that says something else."""
    live = facts.get(store, proposal.key)
    if live is None or not policy.current(live, now, store.settings):
        return None
    same = proposals.same(live.key, live.text) == proposals.same(proposal.key, proposal.text)
    return None if same else live


def promote(w: "Writing", proposal: Fact, now: datetime, *, by: Opinion | None = None) -> Fact:
    """Make a fact of a proposal and take the proposal away. by: the person who accepted it, who counts as a witness.

    A current fact that says the same gains the proposal's witnesses; another value is superseded.
    Raises BadData when the stored fact is damaged, Withheld never: labels are kept.
    """
    store = w.store
    witnesses = (*proposal.confirmations, *((by,) if by else ()))
    live = facts.get(store, proposal.key)
    if live is not None and live.state in ("damaged", "conflict"):
        raise errors.BadData(f"the stored record is {live.state}", path=f"facts/{live.name}.md", hint="memcli doctor")
    made = _value(proposal, live, witnesses, now, store)
    reason = "superseded" if live is not None and policy.current(live, now, store.settings) else "expired"
    stored = facts.put(w, made, live, at=now, reason=reason)
    proposals.remove(w, [(proposal, "promoted")], now)
    return stored


def _value(proposal: Fact, live: Fact | None, witnesses: tuple[Opinion, ...], now: datetime, store: "Store") -> Fact:
    strict = max(proposal.sensitivity, live.sensitivity) if live else proposal.sensitivity
    if live is not None and policy.current(live, now, store.settings) and rival(store, proposal, now) is None:
        first = Opinion(source=str(proposal.source), run=proposal.run, at=proposal.created_at)
        seen = tuple(dict.fromkeys((*live.confirmations, first, *witnesses)))
        return live.replace(confirmations=seen, confirmed_at=now, sensitivity=strict)
    return proposal.replace(
        id=ids.new(now, after=max(proposal.id, live.id) if live else proposal.id),
        supersedes=live.id if live else "",
        created_at=live.created_at if live else proposal.created_at,
        updated_at=now,
        confirmations=witnesses,
        confirmed_at=now if witnesses else None,
        sensitivity=strict,
        name=live.name if live else "",
        digest="",
    )


def gated(store: "Store", kind: str) -> bool:
    """True when the store keeps what this kind of source says out of the facts until it is promoted."""
    return kind not in ("user", "system") and bool(store.settings["promotion.policy"] == "gated")
