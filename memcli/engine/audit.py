"""The audit of a memory: how much of it is worth keeping, and what is not. Of a store or of another tool's files.

Nothing is written, no model and no network is asked, and every age counts from `now`.
"""

from datetime import datetime

from memcli.base import errors
from memcli.base.value import Value, value
from memcli.engine import audit_pairs, audit_read, audit_rules, audit_store
from memcli.engine.audit_entry import JUNK, KINDS, Entry, Finding
from memcli.model import labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from memcli.engine.audit_read import Unread
    from memcli.model.labels import Sensitivity
    from memcli.store.folder import Store


@value
class Audit(Value):
    """What an audit found. entries, files: how many were looked at; findings: by path and line.

    flagged: entries with a finding, junk: entries with one that makes them junk, of all kinds that were asked for;
    withheld: entries above the clearance, which were not looked at; unread: files that were not read, with why.
    """

    entries: int
    files: int
    flagged: int
    junk: int
    withheld: int
    findings: tuple[Finding, ...]
    unread: "tuple[Unread, ...]" = ()

    @property
    def keep_percent(self) -> int:
        """Entries without a finding, in whole percent; 100 where there are none at all."""
        return 100 - self.flagged_percent

    @property
    def flagged_percent(self) -> int:
        """Entries with a finding, in whole percent, rounded up, so that one of many is not nothing."""
        return -(-100 * self.flagged // self.entries) if self.entries else 0

    @property
    def junk_percent(self) -> float:
        """Entries that are junk, in percent."""
        return 100 * self.junk / self.entries if self.entries else 0.0

    def counts(self) -> dict[str, int]:
        """How many findings there are of each kind that has any, in the order of KINDS."""
        found = dict.fromkeys(KINDS, 0)
        for finding in self.findings:
            found[finding.kind] += 1
        return {kind: number for kind, number in found.items() if number}


def of_store(
    store: "Store",
    *,
    now: datetime,
    kinds: "Iterable[str]" = (),
    clearance: "Sensitivity" = labels.INTERNAL,
) -> Audit:
    """The audit of a store. Its index is neither asked nor written. Raises UsageError for an unknown kind, BadData."""
    wanted = _wanted(kinds)
    held = audit_store.read(store, now, clearance)
    found = [*_judged(held.entries, now), *held.faults]
    return _audit(held.entries, [audit_store.advised(f) for f in found], wanted, held.files, held.withheld)


def of_path(
    path: str, *, now: datetime, kinds: "Iterable[str]" = (), clearance: "Sensitivity" = labels.INTERNAL
) -> Audit:
    """The audit of a file or folder of another tool, which is only read.

    Raises NotFound, UsageError (an unknown kind, a place in a store), SystemFailure.
    """
    wanted = _wanted(kinds)
    reader = audit_read.Reader(path, clearance)
    entries = list(reader.entries())
    found = [*_judged(entries, now), *reader.faults]
    return _audit(entries, found, wanted, reader.files, reader.withheld, tuple(reader.unread))


def _wanted(kinds: "Iterable[str]") -> frozenset[str]:
    named = tuple(kinds)
    for kind in named:
        if kind not in KINDS:
            raise errors.UsageError("unknown kind of finding", hint=f"one of: {', '.join(KINDS)}")
    return frozenset(named or KINDS)


def _judged(entries: list[Entry], now: datetime) -> list[Finding]:
    found: list[Finding] = []
    passed: set[int] = set()
    for number, entry in enumerate(entries):
        said = list(audit_rules.judge(entry, now))
        if any(f.severity == JUNK for f in said):
            passed.add(number)
        found += said
    for number, finding in audit_pairs.duplicates(entries):
        if number not in passed:
            passed.add(number)
            found.append(finding)
    found += audit_pairs.similar(entries, passed)
    found += audit_pairs.contradictions(entries, passed)
    return found


def _audit(
    entries: list[Entry],
    found: list[Finding],
    wanted: frozenset[str],
    count: int,
    withheld: int,
    unread: "tuple[Unread, ...]" = (),
) -> Audit:
    order = {kind: number for number, kind in enumerate(KINDS)}
    shown = sorted((f for f in found if f.kind in wanted), key=lambda f: (f.path, f.line, f.item, order[f.kind]))
    flagged = {id(f.entry) for f in shown if f.entry is not None}
    junk = {id(f.entry) for f in shown if f.entry is not None and f.severity == JUNK}
    return Audit(
        entries=len(entries),
        files=count,
        flagged=len(flagged),
        junk=len(junk),
        withheld=withheld,
        findings=tuple(shown),
        unread=unread,
    )
