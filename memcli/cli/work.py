"""`memcli work ...`: what a session holds in mind; short-lived, never in git."""

from memcli.base import clock, errors
from memcli.cli import session
from memcli.cli.call import Context, Listing, Output, Plain
from memcli.model import labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from memcli.engine.work import Held, Kept, WorkFields


def set_(
    ctx: Context,
    key: str,
    value: str,
    *,
    session_: str | None = None,
    source: str | None = None,
    confidence: str | None = None,
    ttl: str | None = None,
    sensitivity: str | None = None,
    tag: tuple[str, ...] = (),
    importance: str | None = None,
    modality: str | None = None,
    allow_secret: bool = False,
    allow_pii: bool = False,
) -> Output:
    """Set a key of a session; past 100 keys the one that was written longest ago goes, and is named.

    Example: memcli work set branch fix/refund-webhook --session s-2026-11-15
    """
    from memcli.engine import work

    kept = work.set_entry(
        session.store(ctx),
        session.session_id(session_),
        key,
        session.text_or_stdin(value) or "",
        now=session.now(ctx),
        default_kind=session.writer_kind(),
        **_fields(source, confidence, ttl, sensitivity, tag, importance, modality, allow_secret, allow_pii),
    )
    return _kept(kept)


def add(
    ctx: Context,
    text: str,
    *,
    session_: str | None = None,
    role: str | None = None,
    source: str | None = None,
    confidence: str | None = None,
    ttl: str | None = None,
    sensitivity: str | None = None,
    tag: tuple[str, ...] = (),
    importance: str | None = None,
    modality: str | None = None,
    allow_secret: bool = False,
    allow_pii: bool = False,
) -> Output:
    """Add a note to a session's window of 20, or with --role a message.

    The window drops its oldest note; from importance 0.8 on a note is protected. A list of 30 messages is summed up: the
    system's and the newest 15 stay, decisions, findings, tool results and open ends of the rest are kept.

    Example: memcli work add "The refund webhook needs the raw body" --session s-2026-11-15 --importance 0.8
    Example: memcli work add "Please fix the refund webhook." --role user --session s-2026-11-15
    """
    from memcli.engine import work

    kept = work.add_item(
        session.store(ctx),
        session.session_id(session_),
        session.text_or_stdin(text) or "",
        now=session.now(ctx),
        role=role or "",
        default_kind=session.writer_kind(),
        **_fields(source, confidence, ttl, sensitivity, tag, importance, modality, allow_secret, allow_pii),
    )
    return _kept(kept)


def get(ctx: Context, key: str, *, session_: str | None = None, reveal: bool = False) -> Output:
    """Print the value of a session's key.

    A sensitive or restricted one is withheld (exit 6) unless --reveal is given.

    Example: memcli work get branch --session s-2026-11-15
    """
    from memcli.engine import work
    from memcli.model import redact

    store, now = session.store(ctx), session.now(ctx)
    found = work.get(store, session.session_id(session_), key, now=now)
    if found.sensitivity > labels.INTERNAL and not reveal:
        raise errors.Withheld("this entry is withheld: its label is above internal")
    store.check_served(found.source.id, "this entry")
    data = _row(found, now, plain=reveal) if ctx.json else None
    return Output(data, f"{found.text if reveal else redact.mask(found.text)}\n")


def list_(
    ctx: Context,
    *,
    session_: str | None = None,
    text: str | None = None,
    modality: str | None = None,
    clearance: str = "internal",
    n: int = 0,
) -> Listing:
    """List what a session holds: keys with their values, then notes and messages, oldest first.

    What is above the clearance, or of a blocked source, is not shown, only counted on stderr.

    Example: memcli work list --text webhook --session s-2026-11-15
    """
    from memcli.engine import work

    now = session.now(ctx)
    seen = work.look(
        session.store(ctx),
        session.session_id(session_),
        now=now,
        clearance=labels.sensitivity(clearance),
        query=text or "",
        modality=labels.modality(modality or ""),
        n=n,
    )
    held: list[Held] = [*seen.entries, *seen.items]
    rows = [_row(h, now) for h in held] if ctx.json or ctx.jsonl else []
    notes = [f"{seen.withheld} withheld"] if seen.withheld else []
    notes += [f"{len(seen.blocked)} of a blocked source; memcli source list"] if seen.blocked else []
    return Listing(rows, "".join(map(_line, held)), notes=tuple(notes))


def clear(ctx: Context, *, session_: str | None = None, dry_run: bool = False, yes: bool = False) -> Output:
    """Forget all that a session holds; asks on a terminal, needs --yes elsewhere. It cannot be brought back.

    Example: memcli work clear --session s-2026-11-15 --yes
    """
    from memcli.engine import work

    store, name = session.store(ctx), session.session_id(session_)
    count = work.clear(store, name, dry_run=True)
    if dry_run:
        return Output({"cleared": 0, "would_clear": count}, f"would clear {count}\n")
    if count:
        session.confirm(f"Clear {count} entries and items of this session?", yes=yes)
    work.clear(store, name)
    return Output({"cleared": count}, f"cleared {count}\n")


def _fields(
    source: str | None,
    confidence: str | None,
    ttl: str | None,
    sensitivity: str | None,
    tag: tuple[str, ...],
    importance: str | None,
    modality: str | None,
    allow_secret: bool,
    allow_pii: bool,
) -> "WorkFields":
    return {
        "source": source,
        "confidence": confidence,
        "ttl_minutes": None if ttl is None else clock.parse_ttl(ttl),
        "sensitivity": sensitivity,
        "tags": tag,
        "importance": importance,
        "modality": modality or "text",
        "allow_secret": allow_secret,
        "allow_pii": allow_pii,
    }


def _kept(kept: "Kept") -> Output:
    """`created ID` and, on stderr, what had to go."""
    notes = list(kept.notes)
    if kept.folded:
        notes.append(f"{kept.folded} older messages were summed up")
    notes += [Plain(f"made room: {_name(h)} is gone") for h in kept.evicted]
    data = {
        "how": kept.how,
        "id": kept.held.id,
        "sensitivity": str(kept.held.sensitivity),
        "evicted": [h.id for h in kept.evicted],
        "folded": kept.folded,
    }
    return Output(data, f"{kept.how} {kept.held.id}\n", notes=tuple(notes))


def _name(held: "Held") -> str:
    """How something that went is called: its key where that may be shown, else its id."""
    from memcli.cli import show
    from memcli.model.working import Entry

    if isinstance(held, Entry) and held.sensitivity <= labels.INTERNAL:
        return show.one_line(held.key)
    return held.id


def _row(held: "Held", now: "datetime", *, plain: bool = False) -> "dict[str, Any]":
    from memcli.cli import show
    from memcli.model.working import Entry

    if isinstance(held, Entry):
        row: dict[str, Any] = {"kind": "entry", "id": held.id, "key": held.key}
    else:
        row = {"kind": "message" if held.role else "note", "id": held.id, "role": held.role or None}
    row |= {
        "text": held.text,
        "created_at": clock.show(held.created_at),
        "updated_at": clock.show(held.since),
        "age": clock.age(held.since, now),
        "source": {"id": held.source.id, "kind": held.source.kind},
        "confidence": held.confidence,
        "importance": held.importance,
        "sensitivity": str(held.sensitivity),
        "modality": held.modality,
        "ttl_minutes": held.ttl_minutes,
        "tags": list(held.tags),
        "accesses": held.accesses,
    }
    return row if plain else show.scrub(row)


def _line(held: "Held") -> str:
    """`key<TAB>value` of an entry, `role or note<TAB>text` of the others; one line, scrubbed."""
    from memcli.cli import show
    from memcli.model.working import Entry

    name = held.key if isinstance(held, Entry) else f"({held.role or 'note'})"
    return f"{show.one_line(name)}\t{show.one_line(held.text)}\n"
