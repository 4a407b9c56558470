"""`memcli import` and `memcli export`: records as files of other forms."""

import json
import sys

from memcli.base import errors, text
from memcli.cli import session
from memcli.cli.call import Context, Output, Plain
from memcli.model import labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

    from memcli.engine.cognitive_files import Brought
    from memcli.engine.dump import Dumped
    from memcli.engine.load import Report

FORMATS = ("jsonl",)
FOREIGN = ("cognitive-core",)
_COUNTS = ("created", "proposed", "superseded", "updated", "unchanged", "archived")
_SHOWN_BAD = 20
_SHOWN_REJECTED = 5
_ALONE = {
    False: "their keys have other values here (--supersede replaces those)",
    True: "another value or another file has their place here; memcli doctor names the files",
}
_DROPPED = {
    "embeddings": "embeddings dropped: they are of another model",
    "access_counts": "access counts dropped",
    "relations": "relations dropped: they cannot be read",
    "blacklisted": "left out: of sources on its black list (--trusted brings them in blocked)",
    "claims": "claims left out: only concepts, episodes, sources and procedures are brought in",
}


def import_(
    ctx: Context,
    foreign: str,
    path: str,
    *,
    trusted: bool = False,
    supersede: bool = False,
    dry_run: bool = False,
    include_forgotten: bool = False,
) -> Output:
    """Bring records in: from a file with one record a line (jsonl), or the memory of cognitive-core. A second run adds nothing.

    Facts only wait in proposed/, for `memcli review`, unless --trusted says that this is a backup of your own store;
    promotion.import in memcli.toml changes that. Records keep what they say of their source but count at most as medium.
    With --trusted a key that has another value here is left alone unless --supersede is given. Bad lines are counted and
    named by number, and never stop the rest. What was purged here is passed over and counted, and so is what was rejected of
    an import before: memcli restore with its id brings it up again.

    With cognitive-core the path is its memory folder, one of the four JSON files in it, or memory.db. It is only read.

    Example: memcli import jsonl backup.jsonl --trusted
    Example: memcli import jsonl notes.jsonl --dry-run
    Example: memcli import cognitive-core brain/data/memory --dry-run
    """
    from memcli.engine import load

    labels.choice(foreign, "format", (*FORMATS, *FOREIGN))
    loader = load.Loader(
        session.store(ctx),
        now=session.now(ctx),
        trusted=trusted,
        supersede=supersede,
        dry_run=dry_run,
        include_forgotten=include_forgotten,
    )
    if foreign in FOREIGN:
        from memcli.engine import cognitive_files

        brought = cognitive_files.bring(loader, path)
        return _said(brought.report, brought, dry_run=dry_run)
    with _opened(path) as stream:
        return _said(loader.load(load.lines(stream)), dry_run=dry_run)


def _said(report: "Report", brought: "Brought | None" = None, *, dry_run: bool) -> Output:
    """What an import says, and of another system's memory also what was read and what has no place here."""
    counts = {n: getattr(report, n) for n in _COUNTS}
    data = {
        **counts,
        "left_out": report.left_out,
        "conflicts": list(report.conflicts),
        "masked": report.masked,
        "restricted": report.restricted,
    }
    data |= {"loose": report.loose, "purged": report.purged, "rejected": list(report.rejected)}
    data["bad"] = [{"line": number, "why": why} for number, why in report.bad]
    word = "would import" if dry_run else "imported"
    said = f"{word}: {_listed(counts)}\n"
    notes = _notes(report, brought.places if brought else {}, dry_run=dry_run)
    if brought:
        for row in data["bad"]:
            row["place"] = brought.places.get(row["line"], "")
        data |= {"read": brought.read, "dropped": brought.dropped, "faults": list(brought.faults)}
        said = f"read: {_listed(brought.read)}\n{said}"
        notes = (*map(Plain, brought.faults), *notes, *(f"{n} {_DROPPED[k]}" for k, n in brought.dropped.items() if n))
    return Output(
        data,
        said,
        notes=notes,
        exit_code=4 if report.bad and not any((*counts.values(), report.left_out, report.rejected)) else 0,
    )


def _listed(counts: "dict[str, int]") -> str:
    return ", ".join(f"{v} {k}" for k, v in counts.items() if v) or "nothing"


def export(
    ctx: Context,
    foreign: str,
    path: str = "-",
    directory: str = ".",
    *,
    clearance: str = "restricted",
    force: bool = False,
) -> Output:
    """Write the whole store as a file (jsonl), or one procedure as a SKILL.md folder (skill).

    jsonl is a backup, one record a line, which `import` reads back. It holds restricted records too, so keep it
    private, or leave them out with --clearance internal. skill takes the procedure's key and a folder; a SKILL.md there
    that is no export of that procedure, or was edited since, stays unless --force is given.

    Example: memcli export jsonl backup.jsonl
    Example: memcli export skill "release to production" .claude/skills
    """
    from memcli.engine import dump

    labels.choice(foreign, "format", (*FORMATS, "skill"))
    if foreign == "skill":
        if path == "-":
            raise errors.UsageError("export skill needs the procedure's key", hint="memcli export skill KEY [FOLDER]")
        from memcli.cli import procedure

        return procedure.export_skill(ctx, path, directory, force=force)
    store, limit = session.store(ctx), labels.sensitivity(clearance)
    if path == "-":
        lines, done = dump.to_text(store, limit)
        rows = list(map(json.loads, lines)) if ctx.json else None
        # Already JSON: hidden characters must be escaped the way of JSON, or the backup could not be read back.
        return Output(rows, "".join(map(text.inert_json, lines)), notes=_left(done))
    done = dump.to_file(store, path, limit)
    data = {"records": done.written, "left_out": done.left_out, "unread": done.unread, "path": path}
    return Output(data, f"exported {done.written}\n", notes=_left(done))


def _left(done: "Dumped") -> tuple[str, ...]:
    notes = [f"{done.left_out} left out by the clearance"] if done.left_out else []
    what = "record is" if done.close == 1 else "records are"
    notes += [f"{done.close} sensitive or restricted {what} in it: keep it private"] if done.close else []
    return (*notes, *session.unread(done.unread))


def _opened(path: str) -> "BinaryIO":
    if path == "-":
        if sys.stdin is None:
            raise errors.UsageError("there is no stdin to read")
        return sys.stdin.buffer
    try:
        return open(path, "rb")
    except FileNotFoundError:
        raise errors.NotFound("no such file", path=path) from None
    except IsADirectoryError:
        raise errors.NotFound("this is a folder, not a file", path=path) from None


def _notes(report: "Report", places: "dict[int, str]", *, dry_run: bool) -> tuple[str, ...]:
    bad, conflicts, waiting = report.bad, report.conflicts, report.proposed
    notes: list[str] = [Plain(f"{places.get(number) or f'line {number}'}: {why}") for number, why in bad[:_SHOWN_BAD]]
    if len(bad) > _SHOWN_BAD:
        notes.append(f"{len(bad) - _SHOWN_BAD} more bad {'records' if places else 'lines'}")
    if waiting:
        wait = "would wait" if dry_run else "waits" if waiting == 1 else "wait"
        notes.append(
            f"{waiting} fact{'' if waiting == 1 else 's'} {wait} in proposed/: memcli review list shows them; "
            "--trusted writes them at once when the file is your own"
        )
    if report.left_out:
        notes.append(
            f"{report.left_out} former value{'' if report.left_out == 1 else 's'} left out: --trusted takes them in"
        )
    if conflicts:
        notes.append(f"{len(conflicts)} left alone: {_ALONE[report.gated]}")
    if report.purged:
        notes.append(f"{report.purged} left out: they were purged here (--include-forgotten takes them in)")
    if report.loose:
        named = "1 reference by id leads" if report.loose == 1 else f"{report.loose} references by id lead"
        notes.append(f"{named} nowhere here: an accepted fact has an id of its own")
    if report.rejected:
        listed = list(dict.fromkeys(report.rejected))
        more = " ..." if len(listed) > _SHOWN_REJECTED else ""
        notes.append(
            f"{len(report.rejected)} rejected before, and not proposed again; memcli restore ID brings one up: "
            f"{' '.join(listed[:_SHOWN_REJECTED])}{more}"
        )
    if report.masked:
        notes.append(f"{report.masked} with credentials or personal data replaced by their type")
    if report.restricted:
        notes.append(f"{report.restricted} without a known label: restricted")
    return tuple(notes)
