"""`memcli audit`: how much of a memory is worth keeping, and what is not."""

from functools import lru_cache

from memcli.base import errors
from memcli.cli import advice, session
from memcli.cli.call import Context, Output
from memcli.model import labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from memcli.engine.audit import Audit
    from memcli.engine.audit_entry import Entry, Finding

_EXCERPT = 60
_SCRUBBED = 4000
_BOTH = ("contradiction", "similar")  # where both texts must be seen to decide


def audit(
    ctx: Context,
    path: str | None = None,
    *,
    kind: tuple[str, ...] = (),
    n: int = 20,
    fail_over: float | None = None,
    clearance: str = "internal",
) -> Output:
    """Say how much of a memory is junk, and what it is: of the store in use, or of another tool's file or folder.

    Finds repeated and rival entries, talk, states of the moment, prompts, logs, templates, relative dates, what has
    ended, credentials, orders to the model, dead links and damaged files. Nothing is written, and no model or network is
    asked. PATH is Markdown, JSON or JSON lines, as other tools keep it; what cannot be read is listed with why. Texts are
    shown as short scrubbed excerpts, and what is above the clearance is only counted.

    Example: memcli audit
    Example: memcli audit ~/notes/memory -n 0
    Example: memcli audit MEMORY.md --kind duplicate --kind secret --json
    Example: memcli audit --fail-over 20
    """
    from memcli.engine import audit as engine

    labels.most(n)
    if fail_over is not None and not 0 <= fail_over <= 100:
        raise errors.UsageError("--fail-over is out of range", hint="a share in percent, 0 to 100")
    limit, now = labels.sensitivity(clearance), session.now(ctx)
    if path is None:
        found = engine.of_store(session.store(ctx), now=now, kinds=kind, clearance=limit)
    else:
        found = engine.of_path(path, now=now, kinds=kind, clearance=limit)
    notes = [f"{found.withheld} withheld"] if found.withheld else []
    failed = fail_over is not None and found.junk_percent > fail_over
    notes += [f"more than {fail_over:g} % is junk"] if failed else []
    return Output(_data(ctx, found), _text(ctx, found, n), notes=tuple(notes), exit_code=4 if failed else 0)


def _text(ctx: Context, found: "Audit", n: int) -> str:
    from memcli.engine.audit_entry import KINDS

    lines = [_head(found)]
    lines += [f"{kind}\t{number}\t{KINDS[kind][1]}; {KINDS[kind][2]}\n" for kind, number in found.counts().items()]
    if found.unread:
        whys = dict.fromkeys(u.why for u in found.unread)
        said = ", ".join(f"{sum(u.why == why for u in found.unread)} {why}" for why in list(whys)[:8])
        lines.append(f"not read\t{len(found.unread)}\t{said}\n")
    shown = found.findings[: n or None]
    lines += [_line(ctx, f) for f in shown]
    if len(found.findings) > len(shown):
        lines.append(f"{len(found.findings) - len(shown)} more; -n 0 shows all\n")
    return "".join(lines)


def _head(found: "Audit") -> str:
    entries = f"{found.entries} {'entry' if found.entries == 1 else 'entries'}"
    where = f"{found.files} {'file' if found.files == 1 else 'files'}"
    if not found.entries:
        return f"{entries} in {where}\n"
    share = f"{found.keep_percent} % keep, {found.flagged_percent} % to look at"
    return f"{entries} in {where}: {share}\n"


def _line(ctx: Context, finding: "Finding") -> str:
    from memcli.base import text
    from memcli.engine import audit_entry

    place = text.one_line(audit_entry.place(finding.path, finding.line, finding.item))
    said, rival = _excerpt(finding.entry), _excerpt(finding.other) if finding.kind in _BOTH else ""
    quoted = (f': "{said}"' if said else "") + (f' against "{rival}"' if rival else "")
    then = f"; {advice.follow(ctx, _clean(finding.next))}" if finding.next else ""
    return f"{place}\t{finding.kind}\t{_clean(finding.what)}{quoted}{then}\n"


def _excerpt(entry: "Entry | None") -> str:
    """The beginning of the entry, scrubbed as a whole before it is cut, so that no half of a secret stays."""
    if entry is None:
        return ""
    words = _clean(" ".join(entry.text[:_SCRUBBED].split()))
    return words if len(words) <= _EXCERPT else words[:_EXCERPT].rstrip("\\") + "…"


@lru_cache(maxsize=4096)
def _clean(words: str) -> str:
    """On one line and scrubbed; the same words come again and again."""
    from memcli.cli import show

    return show.one_line(words)


def _data(ctx: Context, found: "Audit") -> "dict[str, Any]":
    return {
        "entries": found.entries,
        "files": found.files,
        "flagged": found.flagged,
        "junk": found.junk,
        "keep_percent": found.keep_percent,
        "junk_percent": round(found.junk_percent, 2),
        "withheld": found.withheld,
        "kinds": found.counts(),
        "findings": [_row(ctx, f) for f in found.findings],
        "unread": [{"path": u.path, "why": u.why} for u in found.unread],
    }


def _place(at: "Finding | Entry") -> "dict[str, Any]":
    return {"path": at.path, "line": at.line or None, "item": at.item or None}


def _row(ctx: Context, finding: "Finding") -> "dict[str, Any]":
    from memcli.engine.audit_entry import KINDS

    other = finding.other
    return {
        "kind": finding.kind,
        "severity": finding.severity,
        **_place(finding),
        "what": _clean(finding.what),
        "excerpt": _excerpt(finding.entry) or None,
        "other": _place(other) | {"excerpt": _excerpt(other) or None} if other else None,
        "next": advice.follow(ctx, _clean(finding.next)) if finding.next else KINDS[finding.kind][2],
    }
