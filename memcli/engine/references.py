"""References by id within one file that an import only proposes: the fact of an id gets another id here, and keeps its key.

So an id that the file gives to one fact becomes that fact's key. Nothing is guessed: an id that the file gives twice, or to
a value that does not come in, and one whose fact is stricter than the one that names it (a key can be a secret too) stay as
they are.
"""

from memcli.base import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.model.labels import Sensitivity
    from memcli.model.records import Fact


class Names:
    """What the ids of one file stand for. loose: references that name a fact of the file and lead nowhere here."""

    __slots__ = ("_keys", "loose")

    def __init__(self) -> None:
        self._keys: dict[str, tuple[str, Sensitivity] | None] = {}
        self.loose = 0

    def learn(self, said: object, fact: "Fact") -> None:
        """Note the id that a line gives to its fact."""
        if not ids.valid(said):
            return
        known = self._keys.get(str(said), (fact.key, fact.sensitivity))
        if known is not None:
            known = (fact.key, max(known[1], fact.sensitivity)) if known[0] == fact.key else None
        self._keys[str(said)] = known

    def lose(self, said: object) -> None:
        """Note the id of a line whose fact does not come in: a former value, or one that was purged here."""
        if ids.valid(said):
            self._keys[str(said)] = None

    def waits(self, fact: "Fact") -> bool:
        """Whether it names an id that no line so far has given to anything: one to come may."""
        return any(ids.valid(ref) and ref not in self._keys for ref in _named(fact))

    def resolve(self, fact: "Fact") -> "Fact":
        """The fact with keys in the place of ids, where they can be told."""
        if not any(ref in self._keys for ref in _named(fact)):
            return fact
        rows = tuple(
            {**row, "target": self._key(row["target"], fact)} if "target" in row else row for row in fact.relations
        )
        return fact.replace(derived_from=tuple(self._key(ref, fact) for ref in fact.derived_from), relations=rows)

    def _key(self, ref: object, fact: "Fact") -> "str":
        if not isinstance(ref, str) or ref not in self._keys:
            return ref  # type: ignore[return-value]
        known = self._keys[ref]
        if known is None or known[1] > fact.sensitivity:
            self.loose += 1
            return ref
        return known[0]


def _named(fact: "Fact") -> list[str]:
    targets = [row.get("target") for row in fact.relations]
    return [*fact.derived_from, *(t for t in targets if isinstance(t, str))]
