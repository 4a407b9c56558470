"""What a change of the store means: facts added, superseded, gone, relabelled, between two git revisions or until now."""

from memcli.base.value import Value, value
from memcli.model import labels, redact
from memcli.model.records import Fact
from memcli.store import archive, episodes, facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.model.labels import Sensitivity
    from memcli.store.folder import Store

KINDS = ("added", "superseded", "removed", "label", "metadata", "episode", "conflict")
_OPPOSITES = ("opposite", "contradicts")


FAULTS = {
    "secret": ("this change adds a credential", "take it out; it stays in git history"),
    "unsourced": (
        "this change adds a fact without a known source",
        "memcli fact set KEY --source KIND:ID, or memcli fact adopt KEY",
    ),
    "contradiction": (
        "this change contradicts what is known, and does not say so",
        "set the new value with memcli fact set",
    ),
    "lowered": ("this change lowers a label", "say in review that it is meant"),
    "removed_silently": ("this change loses a value", "take it out with memcli sweep or forget --purge, or restore it"),
}


@value
class Change(Value):
    """One difference. kind: one of KINDS; before and after: texts, labels or field names; label: the stricter of both sides."""

    kind: str
    key: str
    before: str
    after: str
    label: "Sensitivity"
    source: str = ""


@value
class Fault(Value):
    """Why a change must not pass: code secret, unsourced, contradiction, lowered or removed_silently."""

    code: str
    key: str
    label: "Sensitivity"


def diff(old: "Store", new: "Store") -> list[Change]:
    """The semantic difference of two stores (each a folder or a git revision), by key."""
    before, after = ({f.key: f for f in facts.every(s)} for s in (old, new))
    found = []
    for key in sorted({*before, *after}):
        found += _fact(key, before.get(key), after.get(key))
    return found + _episodes(old, new)


def faults(old: "Store", new: "Store") -> list[Fault]:
    """What a gate refuses: a credential, an unsourced fact, a silent contradiction, a lowered label, a lost value."""
    before, after = ({f.key: f for f in facts.every(s)} for s in (old, new))
    found = []
    for key, fact in sorted(after.items()):
        past = before.get(key)
        if past is not None and past.id == fact.id and past.text == fact.text:
            if fact.sensitivity < past.sensitivity:
                found.append(Fault(code="lowered", key=key, label=past.sensitivity))
            found += [] if _secret(past) else _secret(fact)  # tags, relations and sources change without a new value
            continue
        found += _of_new(fact, past, new)
        found += [Fault(code="contradiction", key=key, label=fact.sensitivity)] * _contradicts(fact, after)
    for key, fact in sorted(before.items()):
        if key not in after and not _kept(new, fact) and not any(fact.key in f.renamed_from for f in after.values()):
            found.append(Fault(code="removed_silently", key=key, label=fact.sensitivity))
    return found


def _of_new(fact: Fact, past: Fact | None, new: "Store") -> "list[Fault]":
    """Faults of a value that was not there before."""
    found = _secret(fact)
    vouched = any(
        not o.source.startswith("unknown") for o in fact.confirmations
    )  # who accepted a proposal stands there
    if fact.state == "bare" or (fact.source.kind == "unknown" and not vouched):
        found.append(Fault(code="unsourced", key=fact.key, label=fact.sensitivity))
    if past is not None and past.text != fact.text and fact.supersedes != past.id and not _kept(new, past):
        found.append(Fault(code="contradiction", key=fact.key, label=max(fact.sensitivity, past.sensitivity)))
    return found


def _secret(fact: Fact) -> list[Fault]:
    """A fault where a credential stands anywhere in an open fact."""
    shown = fact.sensitivity < labels.RESTRICTED and redact.scan(redact.told(fact), families=("secret",))
    return [Fault(code="secret", key=fact.key, label=fact.sensitivity)] if shown else []


def _contradicts(fact: Fact, after: "dict[str, Fact]") -> bool:
    """An `opposite` of the new fact still stands, and nobody has said which holds."""
    rivals = [str(r.get("target")) for r in fact.relations if r.get("type") in _OPPOSITES]
    rivals += [
        f.key
        for f in after.values()
        if any(r.get("type") in _OPPOSITES and r.get("target") == fact.key for r in f.relations)
    ]
    return any(r in after and not (after[r].denials or fact.denials or after[r].needs_review) for r in rivals)


def _kept(new: "Store", fact: Fact) -> bool:
    """The old value lies in the new archive, or was purged, which its tombstone shows."""
    buried = new.tombstones()
    if buried is not None and buried.hold(facts.LAYER, fact.key, fact.text):
        return True
    return any(row["meta"]["id"] == fact.id for row in archive.read(new, facts.LAYER, fact.name))


def _fact(key: str, past: Fact | None, now: Fact | None) -> list[Change]:
    if past is None and now is not None:
        return [Change(kind="added", key=key, before="", after=now.text, label=now.sensitivity, source=str(now.source))]
    if past is not None and now is None:
        return [Change(kind="removed", key=key, before=past.text, after="", label=past.sensitivity)]
    assert past is not None
    assert now is not None
    label = max(past.sensitivity, now.sensitivity)
    found = []
    if past.text != now.text:
        kind = "superseded" if now.supersedes and now.id > past.id else "conflict"
        found.append(Change(kind=kind, key=key, before=past.text, after=now.text, label=label, source=str(now.source)))
    if past.sensitivity != now.sensitivity:
        before, after = str(past.sensitivity), str(now.sensitivity)
        found.append(Change(kind="label", key=key, before=before, after=after, label=label))
    changed = [n for n in _METADATA if getattr(past, n) != getattr(now, n)]
    if changed and past.text == now.text:
        found.append(Change(kind="metadata", key=key, before="", after=", ".join(changed), label=label))
    return found


_METADATA = (
    "confidence", "ttl_minutes", "importance", "domain", "tags", "relations", "source", "confirmations", "denials",
    "derived_from", "check", "needs_review", "valid_from", "valid_to", "renamed_from",
)  # fmt: skip


def _episodes(old: "Store", new: "Store") -> list[Change]:
    known = {e.id for e in episodes.newest(old)}
    fresh = [e for e in episodes.newest(new) if e.id not in known]
    return [
        Change(
            kind="episode", key=e.task or e.text, before="", after=e.outcome, label=e.sensitivity, source=str(e.source)
        )
        for e in sorted(fresh, key=lambda e: e.at)
    ]
