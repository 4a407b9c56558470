"""`memcli review ...`: one queue of what a person should look at, and what a change of the store means."""

import os
import sys

from memcli.base import errors
from memcli.cli import advice, session
from memcli.cli.call import Context, Listing, Output
from memcli.model import labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from memcli.engine.review import Item
    from memcli.engine.revisions import Change

_LEFT = {
    "contradicting": "left: they stand against a fact or each other; memcli review list shows them",
    "withheld": "left: withheld, their label is above the clearance",
    "left": "left: denied, edited, purged, of a blocked source, proposed by you, imported and you are no person, or a file is"
    " in the way; memcli review list",
}


def list_(ctx: Context, *, kind: tuple[str, ...] = (), clearance: str = "internal") -> Listing:
    """List what waits for review: proposals, procedures, doubts, hand edits, stale facts, contradictions, echoes.

    Example: memcli review list
    Example: memcli review list --kind proposal --json
    """
    from memcli.engine import review

    for name in kind:
        labels.choice(name, "kind", review.KINDS)
    limit = labels.sensitivity(clearance)
    unread: list[str] = []
    every = review.queue(session.store(ctx), session.now(ctx), unread=unread)
    found = [i for i in every if not kind or i.kind in kind]
    shown = [i for i in found if i.sensitivity <= limit]
    notes = [f"{len(found) - len(shown)} withheld"] if len(found) > len(shown) else []
    notes += session.unread(len(unread))
    return Listing([_row(i) for i in shown], "".join(map(_line, shown)), notes=tuple(notes))


def show(ctx: Context, ref: str, *, reveal: bool = False) -> Output:
    """Show one item of the queue with both sides.

    Example: memcli review show 0d6a0f1b2c3d
    """
    from memcli.engine import review

    item = review.find(session.store(ctx), ref, session.now(ctx))
    if item.sensitivity > labels.INTERNAL and not reveal:
        raise errors.Withheld("this item is withheld: its label is above internal")
    row = _row(item)
    return Output(row, "".join(f"{k}: {v}\n" for k, v in row.items() if v))


def accept(
    ctx: Context,
    ref: str | None = None,
    *,
    by: str | None = None,
    all: bool = False,
    via: str | None = None,
    clearance: str | None = None,
    dry_run: bool = False,
    yes: bool = False,
) -> Output:
    """Say yes: promote a proposal, approve a procedure, keep a doubted fact, take over a hand edit.

    --all promotes every proposal that nothing speaks against, or with --via import every such one from an import. It asks
    on a terminal and needs --yes elsewhere. What stands against a fact or another proposal is left, and so is what is
    above the clearance or was denied, edited, purged or blocked; it says how many. Who decides is a person, or another agent
    than the one that proposed it; a person's value only a person takes away.

    Example: memcli review accept 0d6a0f1b2c3d --by user:anna
    Example: memcli review accept --all --via import --dry-run
    """
    from memcli.engine import review

    if (ref is None) != all:
        raise errors.UsageError("name one item, or all proposals with --all")
    if all:
        return _accept_all(ctx, via or "", labels.sensitivity(clearance or "internal"), by, dry_run=dry_run, yes=yes)
    if ref is None or via is not None or clearance is not None or dry_run or yes:
        raise errors.UsageError("this option needs --all", hint="memcli review accept --all --via import --dry-run")
    store, now = session.store(ctx), session.now(ctx)
    return _done(review.accept(store, ref, now=now, by=by, default_kind=session.writer_kind()), "accepted")


def _accept_all(
    ctx: Context, via: str, clearance: labels.Sensitivity, by: str | None, *, dry_run: bool, yes: bool
) -> Output:
    from memcli.engine import approval

    store, now, kind = session.store(ctx), session.now(ctx), session.writer_kind()

    def run(*, dry_run: bool) -> "approval.Accepted":
        return approval.accept_all(
            store, now=now, via=via, by=by, clearance=clearance, dry_run=dry_run, default_kind=kind
        )

    found = run(dry_run=True)
    if not dry_run and found.accepted:
        session.confirm(f"Accept {found.accepted} proposals?", yes=yes)
        found = run(dry_run=False)
    how = "would accept" if dry_run else "accepted"
    counts = {n: getattr(found, n) for n in ("accepted", "contradicting", "withheld", "left", "unread")}
    notes = [f"{counts[n]} {why}" for n, why in _LEFT.items() if counts[n]] + session.unread(found.unread)
    return Output({"how": how, "kind": "proposal", **counts}, f"{how} {found.accepted}\n", notes=tuple(notes))


def reject(ctx: Context, ref: str, *, by: str | None = None) -> Output:
    """Say no: a proposal or a fact goes to the trash, a procedure is set aside.

    Example: memcli review reject 0d6a0f1b2c3d
    """
    from memcli.engine import review

    store, now = session.store(ctx), session.now(ctx)
    return _done(review.reject(store, ref, now=now, by=by, default_kind=session.writer_kind()), "rejected")


def walk(ctx: Context, *, by: str | None = None, clearance: str = "internal") -> Output:
    """Go through the queue on a terminal: accept, edit, reject or skip each item.

    Example: memcli review walk --by user:anna
    """
    from memcli.engine import review

    if not (os.isatty(0) and os.isatty(2)):
        raise errors.Refused("nobody can be asked here", hint="memcli review list, accept, reject")
    store, now, limit = session.store(ctx), session.now(ctx), labels.sensitivity(clearance)
    counts = {"accepted": 0, "edited": 0, "rejected": 0, "skipped": 0}
    for item in [i for i in review.queue(store, now) if i.sensitivity <= limit]:
        how = _ask(ctx, item, by)
        if how == "quit":
            break
        counts[how] += 1
    return Output(counts, ", ".join(f"{n} {k}" for k, n in counts.items()) + "\n")


def diff(ctx: Context, old: str, new: str | None = None, *, clearance: str = "internal") -> Listing:
    """Say what changed in meaning between two git revisions of the store, or between one and now.

    Example: memcli review diff HEAD~1
    Example: memcli review diff main feature --json
    """
    from memcli.engine import revisions
    from memcli.store import revision

    store = session.store(ctx)
    after = store if new is None else revision.Revision(store, new)
    found = revisions.diff(revision.Revision(store, old), after)
    limit = labels.sensitivity(clearance)
    shown = [c for c in found if c.label <= limit]
    notes = (f"{len(found) - len(shown)} withheld",) if len(found) > len(shown) else ()
    return Listing([_change(c) for c in shown], "".join(map(_change_line, shown)), notes=notes)


def _ask(ctx: Context, item: "Item", by: str | None) -> str:
    from memcli.cli import editor, fact
    from memcli.engine import review

    store, now = session.store(ctx), session.now(ctx)
    sys.stderr.write(_line(item) + (f"    against: {_words(item.rival)}\n" if item.rival else ""))
    answer = _answer()
    try:
        if answer == "a":
            review.accept(store, item.ref, now=now, by=by, default_kind="user")
            return "accepted"
        if answer == "r":
            review.reject(store, item.ref, now=now, by=by, default_kind="user")
            return "rejected"
        if answer == "e":
            if item.kind == "proposal":
                editor.edit(store, item.text, lambda text: review.amend(store, item.ref, text, now=now, by=by))
            elif item.kind == "procedure":
                review.amend(store, item.ref, item.text, now=now, by=by)  # says how a procedure is edited
            else:
                fact.edit(ctx, item.key)
            return "edited"
    except errors.MemcliError as e:
        sys.stderr.write(f"{e.message}{f'; {advice.follow(ctx, e.hint)}' if e.hint else ''}\n")
    return "quit" if answer == "q" else "skipped"


def _answer() -> str:
    """One of the letters that were offered; asked again after any other, and "q" where there is nobody any more."""
    while True:
        sys.stderr.write("[a]ccept [e]dit [r]eject [s]kip [q]uit? ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        answer = line.strip().lower()[:1] if line else "q"
        if answer and answer in "aersq":
            return answer


def _done(item: "Item", how: str) -> Output:
    return Output({"how": how, "kind": item.kind, "ref": item.ref}, f"{how}\n")


def _row(item: "Item") -> "dict[str, Any]":
    from memcli.cli import show as words

    row = {
        "ref": item.ref,
        "kind": item.kind,
        "key": item.key,
        "text": item.text,
        "why": item.why,
        "rival": item.rival or None,
    }
    scrubbed: dict[str, Any] = words.scrub(row)
    return scrubbed | {"sensitivity": str(item.sensitivity)}


def _line(item: "Item") -> str:
    return f"{item.kind}\t{item.ref[-12:]}\t{_words(item.key)}\t{_words(item.text)}\t{_words(item.why)}\n"


def _change(change: "Change") -> "dict[str, Any]":
    from memcli.cli import show as words

    row = {
        "kind": change.kind,
        "key": change.key,
        "before": change.before,
        "after": change.after,
        "source": change.source,
    }
    scrubbed: dict[str, Any] = words.scrub(row)
    return scrubbed


def _change_line(change: "Change") -> str:
    key, before, after = _words(change.key), _words(change.before), _words(change.after)
    said = f" ({_words(change.source)})" if change.source else ""
    if change.kind in ("added", "episode"):
        return f"+ {change.kind}\t{key}: {after}{said}\n"
    if change.kind == "removed":
        return f"- removed\t{key}: {before}\n"
    arrow = f"{before} -> {after}" if before else after
    return f"~ {change.kind}\t{key}: {arrow}{said}\n"


def _words(text: str) -> str:
    from memcli.cli import show as words

    first = " ".join(text.split())
    return words.one_line(first if len(first) <= 160 else first[:160] + "…")
