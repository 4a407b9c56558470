"""`memcli source ...`: who said it, and how far that is trusted."""

from memcli.base import clock, errors
from memcli.cli import session
from memcli.cli.call import Context, Listing, Output
from memcli.model import labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.engine.trust import Standing


def list_(ctx: Context) -> Listing:
    """List the sources: trust, kind, facts, confirmations, denials.

    Trust begins with the kind of source and moves with what is said of its facts; it is computed, not stored.

    Example: memcli source list
    """
    from memcli.engine import trust

    found = trust.Ledger(session.store(ctx), session.now(ctx)).standings()
    return Listing([_row(s) for s in found], "".join(map(_line, found)))


def show(ctx: Context, name: str) -> Output:
    """Show one source.

    Example: memcli source show anna
    """
    from memcli.engine import trust

    found = [s for s in trust.Ledger(session.store(ctx), session.now(ctx)).standings() if s.id == name]
    if not found:
        raise errors.NotFound("no source of this name", hint="memcli source list")
    row = _row(found[0])
    return Output(row, "".join(f"{k.replace('_', ' ')}: {v}\n" for k, v in row.items() if v not in (None, "")))


def set_(
    ctx: Context,
    name: str,
    *,
    kind: str | None = None,
    trust: str | None = None,
    note: str | None = None,
    by: str | None = None,
) -> Output:
    """Set a source's kind, its trust at first (0 to 1) or a note. A person does, and not for himself.

    Example: memcli source set docs/runbook.md --kind file --trust 0.8
    """
    changes: dict[str, object] = {}
    if kind is not None:
        changes["kind"] = labels.choice(kind, "kind of source", tuple(labels.KIND_TRUST))
    if trust is not None:
        changes["trust"] = labels.unit(trust, "trust")
    if note is not None:
        changes["note"] = note
    _check(ctx, name, by)
    return _change(ctx, name, changes)


def allow(ctx: Context, name: str, *, by: str | None = None) -> Output:
    """Put a source on the allow list; takes it off the block list. A person does, and not for himself.

    Example: memcli source allow docs/runbook.md
    """
    _check(ctx, name, by)
    return _change(ctx, name, {"list": "allow"})


def block(ctx: Context, name: str, *, by: str | None = None) -> Output:
    """Block a source: its records are kept but not served, and a receipt says why. A person does, and not himself.

    Example: memcli source block https://example.org/ads
    """
    # Whoever names nobody is the person who holds the files: it takes away, and can be undone.
    _check(ctx, name, by, unnamed="user")
    return _change(ctx, name, {"list": "block"})


def _check(ctx: Context, name: str, by: str | None, *, unnamed: str | None = None) -> None:
    from memcli.engine import gate

    gate.check_trust(session.store(ctx), name, by, unnamed or session.writer_kind())


def _change(ctx: Context, name: str, changes: dict[str, object]) -> Output:
    from memcli.engine import sourcing

    record, changed = sourcing.change(session.store(ctx), name, changes, now=session.now(ctx))
    word = "set" if changed else "unchanged"
    return Output(
        {"how": word, "id": record.id, "kind": record.kind, "trust": record.trust, "list": record.list}, f"{word}\n"
    )


def _row(found: "Standing") -> "dict[str, object]":
    from memcli.cli import show as words

    first, last = (None if t is None else clock.show(t) for t in (found.first_seen_at, found.last_seen_at))
    row: dict[str, object] = {
        "id": found.id,
        "kind": found.kind,
        "trust": round(found.trust, 3),
        "list": found.list or None,
    }
    row |= {"facts": found.facts, "confirmations": found.confirmations, "denials": found.denials}
    row |= {"first_seen_at": first, "last_seen_at": last, "note": found.note}
    scrubbed: dict[str, object] = words.scrub(row)
    return scrubbed


def _line(found: "Standing") -> str:
    from memcli.cli import show as words

    counts = f"{found.facts} facts, {found.confirmations} confirmed, {found.denials} denied"
    listed = f"\t{found.list}" if found.list else ""
    return f"{words.one_line(found.id)}\t{found.kind}\t{found.trust:.2f}\t{counts}{listed}\n"
