"""What an audit reads of a store, and the command that each finding leads to. Files only: no index, nothing written."""

import re
import shlex
from datetime import datetime, timedelta

from memcli.base.value import Value, value
from memcli.engine import doctor, findings, review
from memcli.engine.audit_entry import Entry, Finding, of
from memcli.model import labels, policy, redact
from memcli.store import episodes, facts, procedures, proposals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from memcli.model.labels import Sensitivity
    from memcli.model.records import Fact, Source
    from memcli.store.folder import Store

LONG_DAYS = 365
_PROPOSED = "proposed/facts"
_HEADER_ID = re.compile(rb'^## \S+ \{"id":"([0-9a-f-]{36})"')
_ORPHANS = ("orphan_sidecar", "leftover_sidecar")
_ALSO = (*_ORPHANS, "torn", "torn_line")
# Credentials have a rule of their own, which looks at no more than the reader may see.
_NOT_HERE = ("secret", "index_differs")


@value
class Held(Value):
    """What a store holds for an audit. withheld: records above the clearance, which nothing else here speaks of."""

    entries: list[Entry]
    faults: list[Finding]
    files: int
    withheld: int


def read(store: "Store", now: datetime, clearance: "Sensitivity") -> Held:
    """Facts, proposals, episodes and procedures up to the clearance, and what is known to be wrong with them."""
    live = list(facts.every(store))
    every = [*_facts(live, now), *_proposals(store), *_episodes(store), *_procedures(store)]
    shown = [e for e in every if e.label <= clearance]
    by_id = {e.ref: e for e in shown}
    faults = [
        *_aged(live, by_id, store, now),
        *_reviewed(store, live, by_id, now, clearance),
        *_damaged(store, now, clearance),
    ]
    return Held(entries=shown, faults=faults, files=len({e.path for e in shown}), withheld=len(every) - len(shown))


def advised(finding: Finding) -> Finding:
    """The finding with the command that comes next."""
    entry = finding.entry
    if finding.next or entry is None:
        return finding
    key = entry.title if entry.layer == facts.LAYER and _speakable(entry.title) else ""
    word = shlex.quote(key) if key else entry.ref
    if entry.layer == _PROPOSED:
        then = f"memcli review reject {entry.ref}"
    elif key and finding.kind in ("undated", "personal", "injection", "contradiction"):
        then = f"memcli fact edit {word}"
    elif key and finding.kind == "unsourced":
        then = f"memcli fact confirm {word}"
    elif finding.kind == "secret":
        then = f"memcli forget {word} --purge"
    elif finding.kind == "stale":
        then = "memcli sweep"
    else:
        then = f"memcli fact forget {word}" if key else f"memcli forget {word}"
    return finding.replace(next=then)


def _facts(live: "list[Fact]", now: datetime) -> "Iterator[Entry]":
    for fact in live:
        yield _entry(fact, facts.LAYER, f"{facts.LAYER}/{fact.name}.md")


def _proposals(store: "Store") -> "Iterator[Entry]":
    for fact in proposals.every(store):
        yield _entry(fact, _PROPOSED, f"{_PROPOSED}/{fact.name}.md")


def _entry(fact: "Fact", layer: str, path: str) -> Entry:
    return Entry(
        path=path,
        text=fact.text,
        title=fact.key,
        at=policy.last_seen(fact),
        source=_source(fact.source),
        label=fact.sensitivity,
        ref=fact.id,
        layer=layer,
    )


def _episodes(store: "Store") -> "Iterator[Entry]":
    for month in episodes.months(store):
        places = _lines(store, month)
        for episode in episodes.read(store, month).entries:
            yield Entry(
                path=f"{episodes.LAYER}/{month}.md",
                line=places.get(episode.id, 0),
                text="\n".join(t for t in (episode.text, *episode.findings) if t.strip()) or episode.task,
                title=episode.task if episode.text.strip() else "",
                at=episode.at,
                dated=True,
                expires=policy.expires_at(episode),
                source=_source(episode.source),
                label=episode.sensitivity,
                ref=episode.id,
                layer=episodes.LAYER,
            )


def _lines(store: "Store", month: str) -> dict[str, int]:
    """The line at which each entry of a month begins, by id."""
    with store.folder(episodes.LAYER) as folder:
        data = folder.read(f"{month}{episodes.SUFFIX}", limit=None) or b""
    found = ((number, _HEADER_ID.match(line)) for number, line in enumerate(data.split(b"\n"), 1) if line[:3] == b"## ")
    return {head[1].decode(): number for number, head in found if head}


def _procedures(store: "Store") -> "Iterator[Entry]":
    for p in procedures.every(store):
        yield Entry(
            path=f"{procedures.LAYER}/{p.name}.md",
            text="\n".join(t for t in (p.text, *(s.action for s in p.steps)) if t.strip()) or p.title,
            title=p.title or p.key,
            at=p.updated_at,
            source=_source(p.source),
            label=p.sensitivity,
            ref=p.id,
            layer=procedures.LAYER,
        )


def _aged(live: "list[Fact]", by_id: dict[str, Entry], store: "Store", now: datetime) -> "Iterator[Finding]":
    for fact in live:
        entry = by_id.get(fact.id)
        if entry is None:
            continue
        seen = policy.last_seen(fact)
        if policy.expired(fact, now):
            yield of(entry, "stale", f"ended {policy.expires_at(fact):%Y-%m-%d}")
        elif not policy.current(fact, now, store.settings):
            yield of(entry, "stale", f"faded: not confirmed since {seen:%Y-%m-%d}")
        elif now - seen >= timedelta(days=LONG_DAYS) and not policy.protected(fact):
            word = shlex.quote(fact.key) if _speakable(fact.key) else ""
            then = f"memcli fact confirm {word}" if word else ""
            yield of(entry, "stale", f"not confirmed since {seen:%Y-%m-%d}", then=then)


def _reviewed(
    store: "Store", live: "list[Fact]", by_id: dict[str, Entry], now: datetime, clearance: "Sensitivity"
) -> "Iterator[Finding]":
    """What waits for review because it may no longer hold."""
    for item in review.queue(store, now, held=live):
        entry = by_id.get(item.ref)
        if entry is None or item.sensitivity > clearance:
            continue
        then = f"memcli review show {item.ref[-12:]}"
        if item.kind == "contradiction":
            yield of(entry, "contradiction", item.why, then=then)
        elif item.kind in ("doubted", "stale", "basis", "echo"):
            yield of(entry, "stale", item.why, then=then)


def _damaged(store: "Store", now: datetime, clearance: "Sensitivity") -> "Iterator[Finding]":
    """What doctor calls an error. What cannot be read is restricted, and the name of its file may be its key."""
    for fault in doctor.examine(store, now, bonds=False):
        severity, what, then = findings.CODES[fault.code]
        if fault.code in _NOT_HERE or (severity != "error" and fault.code not in _ALSO):
            continue
        kind = "orphan" if fault.code in _ORPHANS else "damaged"
        layer = next((name for name in doctor.PAIR_LAYERS if fault.path.startswith(f"{name}/")), "")
        if layer and clearance < labels.RESTRICTED:
            yield Finding(kind=kind, path=f"{layer}/", what=what, next="memcli doctor")
        else:
            yield Finding(kind=kind, path=fault.path, line=fault.line, what=what, next=then)


def _source(source: "Source") -> str:
    return "" if source.kind == "unknown" and source.id in ("", "unknown") else str(source)


def _speakable(key: str) -> bool:
    """A key that may stand in a command as it is: nothing in it is scrubbed or shown as an escape."""
    return key.isprintable() and str(redact.mask(key)) == key
