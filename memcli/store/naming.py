"""Which keys nothing may name: an open fact may stand in a relation to one that is withheld, or be derived from it."""

from memcli.base import errors
from memcli.model import keys, labels
from memcli.model.records import Fact, Former
from memcli.store import archive, facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from memcli.store.folder import Store


def ended_withheld(store: "Store", key: str, clearance: labels.Sensitivity) -> bool:
    """Whether a key that no fact has now stood above the clearance when one had it, by the archive and the trash."""
    for name in _names_of(key):
        gone = (f.fact for place in ("archive", "trash") for f in _former(store, name, place))
        if any(f.sensitivity > clearance for f in gone if f.key == key):
            return True
    return False


def _former(store: "Store", name: str, place: str) -> list[Former]:
    """As `former`; where the state folder is none, there is no trash."""
    try:
        return facts.former(store, name, place)
    except errors.BadData:
        return []


def withheld_keys(store: "Store", clearance: labels.Sensitivity) -> set[str]:
    """Every key that nothing may name for a reader with a clearance: present ones, and former ones that no fact has now."""
    live = list(facts.every(store))
    hidden = {key for f in live if f.sensitivity > clearance for key in (f.key, *f.renamed_from)}
    for place in ("archive", "trash"):
        for name in archive.names(store, facts.LAYER, place):
            rows = (f.fact for f in facts.former(store, name, place))
            hidden.update(key for f in rows if f.sensitivity > clearance for key in (f.key, *f.renamed_from))
    return hidden - {f.key for f in live if f.sensitivity <= clearance}


def _names_of(key: str) -> list[str]:
    try:
        normal = keys.normal(key)
        return [keys.file_name(normal), keys.hidden_name(normal)]
    except errors.UsageError:
        return []  # no fact of ours has such a key


def without(fact: Fact, hidden: "Collection[str]") -> Fact:
    """A fact without the relations and bases that name one of these keys."""
    if not hidden:
        return fact
    return fact.replace(
        relations=tuple(r for r in fact.relations if str(r.get("target")) not in hidden),
        derived_from=tuple(ref for ref in fact.derived_from if ref not in hidden),
    )
