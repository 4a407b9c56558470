"""`memcli import` and `memcli export`: records as files of other forms."""

import sys

from memcli.base import errors
from memcli.cli import session
from memcli.cli.call import Context, Output
from memcli.model import labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

FORMATS = ("jsonl",)
_SHOWN_BAD = 20


def import_(
    ctx: Context, foreign: str, path: str, *, trusted: bool = False, supersede: bool = False, dry_run: bool = False
) -> Output:
    """Bring records in from a file: jsonl, one record a line. A second run adds nothing.

    Records keep what they say of their source but count at most as medium, unless --trusted says that this is a backup
    of your own store. A key that has another value here is left alone unless --supersede is given. Bad lines are
    counted and named by number, and never stop the rest.

    Example: memcli import jsonl backup.jsonl --trusted
    Example: memcli import jsonl notes.jsonl --dry-run
    """
    from memcli.engine import load

    labels.choice(foreign, "format", FORMATS)
    loader = load.Loader(
        session.store(ctx), now=session.now(ctx), trusted=trusted, supersede=supersede, dry_run=dry_run
    )
    report = loader.load(_lines(path))
    counts = {n: getattr(report, n) for n in ("created", "superseded", "updated", "unchanged", "archived")}
    data = {**counts, "conflicts": list(report.conflicts), "masked": report.masked, "restricted": report.restricted}
    data["bad"] = [{"line": number, "why": why} for number, why in report.bad]
    word = "would import" if dry_run else "imported"
    text = f"{word}: {', '.join(f'{v} {k}' for k, v in counts.items() if v) or 'nothing'}\n"
    return Output(data, text, notes=_notes(report), exit_code=4 if report.bad and not any(counts.values()) else 0)


def export(ctx: Context, foreign: str, path: str = "-", *, clearance: str = "restricted") -> Output:
    """Write the whole store as a file: jsonl, one record a line, which `import` reads back.

    It is a backup: it holds restricted records too, so keep it private, or leave them out with --clearance internal.

    Example: memcli export jsonl backup.jsonl
    """
    import json

    from memcli.engine import dump

    labels.choice(foreign, "format", FORMATS)
    limit = labels.sensitivity(clearance)
    lines, close, left = [], 0, 0
    for row, label in dump.rows(session.store(ctx), limit):
        if row is None:
            left += 1
            continue
        close += label > labels.INTERNAL
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    notes = [f"{left} left out by the clearance"] if left else []
    notes += [f"{close} sensitive or restricted records are in it: keep it private"] if close else []
    if path == "-":
        return Output(None, "".join(lines), notes=tuple(notes))
    session.write_private(path, "".join(lines).encode())
    return Output({"records": len(lines), "left_out": left, "path": path}, f"exported {len(lines)}\n", notes=tuple(notes))


def _lines(path: str) -> "Iterable[bytes]":
    if path == "-":
        return sys.stdin.buffer
    try:
        return open(path, "rb")
    except (FileNotFoundError, IsADirectoryError):
        raise errors.NotFound("no such file", path=path) from None


def _notes(report: "object") -> tuple[str, ...]:
    bad, conflicts = report.bad, report.conflicts  # type: ignore[attr-defined]
    notes = [f"line {number}: {why}" for number, why in bad[:_SHOWN_BAD]]
    if len(bad) > _SHOWN_BAD:
        notes.append(f"{len(bad) - _SHOWN_BAD} more bad lines")
    if conflicts:
        notes.append(f"{len(conflicts)} left alone: their keys have other values here (--supersede replaces those)")
    if report.masked:  # type: ignore[attr-defined]
        notes.append(f"{report.masked} with credentials or personal data replaced by their type")  # type: ignore[attr-defined]
    if report.restricted:  # type: ignore[attr-defined]
        notes.append(f"{report.restricted} without a known label: restricted")  # type: ignore[attr-defined]
    return tuple(notes)
