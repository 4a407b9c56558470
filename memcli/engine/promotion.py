"""From proposed to known: a proposal becomes a fact after enough independent observations, or when a person accepts it.

Independent means another run or session, one count a run, whatever the source's name. A proposal whose key has another
value already is never promoted by itself: that is a contradiction, and waits for a person.

Where memcli.toml says "immediate" for a kind of source, what it states is a fact at once. It still replaces no value of
a source that is trusted more, and none that a person set: there it is proposed like everything else.
"""

from datetime import datetime, timedelta

from memcli.base import clock, errors, ids
from memcli.engine import trust
from memcli.model import policy
from memcli.model.records import Fact, Opinion
from memcli.store import facts, proposals, sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.store.folder import Store, Writing

_BY_HAND = ("user", "system")


def due(store: "Store", now: datetime) -> list[Fact]:
    """Proposals that the store's settings promote now: observed often enough, in nobody's way, not doubted, not purged."""
    enough = store.settings["promotion.observations"]
    blocked = sources.Blocked(store)
    found = []
    buried = store.tombstones()
    for proposal in proposals.every(store):
        if buried is not None and buried.hold(facts.LAYER, proposal.key, proposal.text):
            continue
        if proposal.state != "ok" or lapsed(store, proposal, now) or proposal.denials or proposal.source.id in blocked:
            continue
        needed = enough if gated(store, proposal.source.kind) else 1
        if proposals.observations(proposal) >= needed and not rival(store, proposal, now):
            found.append(proposal)
    return found


def lapsed(store: "Store", proposal: Fact, now: datetime) -> bool:
    """True when a proposal has ended: its own TTL has run out, or nobody has observed it again for too long.

    Too long is the setting promotion.proposal_ttl_minutes, counted from the last observation; 0 = never.
    """
    minutes = store.settings["promotion.proposal_ttl_minutes"]
    old = minutes > 0 and now - policy.last_seen(proposal) >= timedelta(minutes=min(minutes, clock.MAX_TTL_MINUTES))
    return old or policy.expired(proposal, now)


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
    Raises BadData when the stored fact is damaged, Purged when this was purged; Withheld never: labels are kept.
    """
    stored = settle(w, proposal, now, witnesses=(*proposal.confirmations, *((by,) if by else ())))
    proposals.remove(w, [(proposal, "promoted")], now)
    return stored


def settle(w: "Writing", proposal: Fact, now: datetime, *, witnesses: tuple[Opinion, ...] = ()) -> Fact:
    """Make a fact of what a proposal says, whether or not it lies in `proposed/`. Raises BadData, Purged."""
    store = w.store
    store.check_forgotten(facts.LAYER, proposal.key, proposal.text, hint=errors.Purged.by_set)
    live = facts.get(store, proposal.key)
    if live is not None and live.state in ("damaged", "conflict"):
        raise errors.BadData(f"the stored record is {live.state}", path=f"facts/{live.name}.md", hint="memcli doctor")
    made = _value(proposal, live, witnesses, now, store)
    reason = "superseded" if live is not None and policy.current(live, now, store.settings) else "expired"
    return facts.put(w, made, live, at=now, reason=reason)


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
    """True when the store keeps what is observed of this kind of source out of the facts until it is promoted."""
    said: str = store.settings[f"promotion.{kind}"] or store.settings["promotion.policy"]
    return said == "gated"


def at_once(store: "Store", made: Fact, live: Fact | None, now: datetime) -> Fact | None:
    """The fact to write without waiting, or None where it must be proposed. live: the current fact of the key.

    It is no surer than its source is trusted.
    """
    if gated(store, made.source.kind) or made.source.id in sources.Blocked(store):
        return None
    ledger = trust.Ledger(store, now, ())
    own = ledger.source(made.source)
    if live is not None and (live.source.kind in _BY_HAND or ledger.source(live.source) > own):
        return None
    with facts.Shelf(store) as shelf:
        there = shelf.get(made.key)  # ended or not
        if there.state != "ok" if there is not None else shelf.taken(facts.new_name(made)):
            return None  # edited by hand, damaged, or another file is in the way: for a person to look at
    return made.replace(confidence=min(made.confidence, own))
