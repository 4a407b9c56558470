"""`memcli fact ...`: durable facts by key."""

from memcli.base import clock, errors
from memcli.cli import session
from memcli.cli.call import Context, Listing, Output
from memcli.model import keys, labels, policy
from memcli.store import facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from memcli.engine.remember import Written
    from memcli.model.records import Fact
    from memcli.store.folder import Store


def set_(
    ctx: Context,
    key: str,
    value: str | None = None,
    *,
    source: str | None = None,
    confidence: str | None = None,
    ttl: str | None = None,
    sensitivity: str | None = None,
    tag: tuple[str, ...] = (),
    domain: str | None = None,
    importance: str | None = None,
    derived_from: tuple[str, ...] = (),
    run: str | None = None,
    agent: str | None = None,
    modality: str | None = None,
    check: str | None = None,
    if_match: str | None = None,
    create: bool = False,
    allow_secret: bool = False,
    allow_pii: bool = False,
    include_forgotten: bool = False,
) -> Output:
    """Keep a fact; a new value of a key replaces the old one, which stays in its history.

    What is not named stays as it is. Without a value only the named metadata changes. The same write twice says
    "unchanged" and touches no file.

    Example: memcli fact set "deploy target" "Fly.io, region fra" --source user:anna --tag deploy
    Example: memcli fact set "code freeze" "No releases this week" --ttl 7d
    """
    from memcli.engine import remember

    if value is not None and value != "-" and sensitivity == "restricted":
        warn: tuple[str, ...] = (
            "a restricted value on the command line can be seen by others; pass it on stdin with -",
        )
    else:
        warn = ()
    text = session.text_or_stdin(value)
    if value == "-" and not text:
        raise errors.UsageError(
            "stdin was empty; nothing was written", hint='an empty value is meant by: memcli fact set KEY ""'
        )
    written = remember.set_fact(
        session.store(ctx),
        key,
        text,
        now=session.now(ctx),
        source=source,
        confidence=confidence,
        ttl_minutes=None if ttl is None else clock.parse_ttl(ttl),
        sensitivity=sensitivity,
        tags=tag or None,
        domain=domain,
        importance=importance,
        derived_from=derived_from or None,
        run=run,
        agent=agent,
        modality=modality,
        check=check,
        if_match=if_match,
        create=create,
        allow_secret=allow_secret,
        allow_pii=allow_pii,
        include_forgotten=include_forgotten,
        default_kind=session.writer_kind(),
    )
    shown = _written(written.fact, written.how, (*warn, *written.notes))
    return session.with_fanout(shown, written.fanout)


def get(ctx: Context, key: str, *, reveal: bool = False) -> Output:
    """Print the value of a fact.

    A sensitive or restricted one is withheld (exit 6) unless --reveal is given, one of a blocked source is refused. With
    --json also its metadata and the digest that --if-match takes.

    Example: memcli fact get "deploy target"
    """
    store, now = session.store(ctx), session.now(ctx)
    fact = _live(store, key, now)
    if not reveal:
        check_clearance(fact)
    store.check_served(fact.source.id)
    notes = [] if fact.state == "ok" else [_STATES[fact.state]]
    text = fact.text
    if not reveal:
        from memcli.model import redact

        shown = redact.mask(text)
        if shown.counts:
            notes.append(f"masked: {', '.join(sorted(shown.counts))}; --reveal shows it as it is")
        text = shown
    data: object = None
    if ctx.json:
        from memcli.cli import show

        fact = _shown(store, now, labels.RESTRICTED if reveal else labels.INTERNAL, fact)
        data = show.fact(fact, now, store.settings["decay.fact_half_life_days"], plain=reveal)
    return Output(data, f"{text}\n", notes=tuple(notes))


def list_(
    ctx: Context,
    *,
    tag: tuple[str, ...] = (),
    domain: str | None = None,
    source: str | None = None,
    prefix: str | None = None,
    clearance: str = "internal",
    n: int = 0,
) -> Listing:
    """List current facts, one a line: key, tab, first line of the value.

    What is above the clearance is not shown, only counted on stderr.

    Example: memcli fact list --domain infra
    """
    from memcli.cli import show
    from memcli.engine import listing, search

    store, now = session.store(ctx), session.now(ctx)
    wanted = search.Filters(tags=tag, domain=domain, source=source, prefix=prefix)
    found = listing.facts(store, now, labels.sensitivity(clearance), wanted, labels.most(n))
    half_life = store.settings["decay.fact_half_life_days"]
    rows = [show.fact(f, now, half_life) for f in found.facts] if ctx.json or ctx.jsonl else []
    text = "".join(show.fact_line(f) for f in found.facts)
    notes = [f"{found.withheld} withheld"] if found.withheld else []
    notes += [f"{found.more} more"] if found.more else []
    notes += session.unread(found.unread)
    return Listing(rows, text, notes=tuple(notes))


def edit(ctx: Context, key: str, *, reveal: bool = False) -> Output:
    """Edit the value of a fact in $VISUAL or $EDITOR; a changed value replaces the old one.

    A text that cannot be stored (a credential in it, somebody else was faster) is not lost: the error says where it is kept.

    Example: EDITOR=nano memcli fact edit "deploy target"
    """
    from memcli.cli import editor
    from memcli.engine import remember

    store, now = session.store(ctx), session.now(ctx)
    fact = _live(store, key, now)
    if not reveal:
        check_clearance(fact)
    store.check_served(fact.source.id)

    def put(text: str) -> "Written":
        return remember.set_fact(store, fact.key, text, now=now, if_match=fact.digest, default_kind="user")

    written = editor.edit(store, fact.text, put)
    return _written(written.fact, written.how, written.notes)


def rename(ctx: Context, old: str, new: str) -> Output:
    """Give a fact another key; its history follows.

    Example: memcli fact rename "deploy target" "production host"
    """
    from memcli.engine import remember

    fact, changed = remember.rename_fact(session.store(ctx), old, new, now=session.now(ctx))
    hidden = changed and fact.sensitivity > labels.INTERNAL  # a personal key raises the label
    notes = (f"its label is {fact.sensitivity}: shown only with --reveal or --clearance",) if hidden else ()
    return _written(fact, "renamed" if changed else "unchanged", notes)


def history(ctx: Context, key: str, *, clearance: str = "internal", reveal: bool = False) -> Listing:
    """Show the former values of a key, newest first, and the present one.

    Example: memcli fact history "deploy target"
    """
    from memcli.cli import show
    from memcli.engine import forget

    store, now = session.store(ctx), session.now(ctx)
    limit = labels.RESTRICTED if reveal else labels.sensitivity(clearance)
    half_life = store.settings["decay.fact_half_life_days"]
    key = keys.normal(key)
    live, former, blocked = facts.get(store, key), forget.history(store, key), store.blocked()
    live = live and _shown(store, now, limit, live)
    former = [f.replace(fact=_shown(store, now, limit, f.fact)) for f in former]
    if live is None and not former:
        from memcli.engine import missing

        raise missing.no_fact(store, key, now, "no fact of this key, now or before", clearance=limit)
    now_is = "current" if live is not None and policy.current(live, now, store.settings) else "expired"
    rows = [] if live is None else [show.fact(live, now, half_life) | {"reason": now_is, "ended_at": None}]
    seen = [(live, rows[0])] if live is not None else []
    seen += [(f.fact, show.former(f, now, half_life)) for f in former]
    cleared = [row for fact, row in seen if fact.sensitivity <= limit and fact.source.id not in blocked]
    text = "".join(_history_line(row) for row in cleared)
    withheld = sum(fact.sensitivity > limit for fact, _ in seen)
    notes = [f"{withheld} withheld; --reveal shows them"] if withheld else []
    kept = len(seen) - len(cleared) - withheld
    notes += [f"{kept} of a blocked source; memcli source list"] if kept else []
    if kept and not cleared:
        store.check_served(next(f.source.id for f, _ in seen if f.source.id in blocked), "what is kept of this key")
    return Listing(cleared, text, notes=tuple(notes))


def forget(
    ctx: Context,
    key: str,
    *,
    yes: bool = False,
    dry_run: bool = False,
    purge: bool = False,
    prove: bool = False,
    no_tombstone: bool = False,
    stdin: bool = False,
) -> Output:
    """Put a fact into the trash, where `restore` finds it for at least 30 days.

    --purge erases its former values and proposals too, and leaves tombstones: salted hashes that keep the value from
    being learned again by accident. --prove searches the whole store for it afterwards.

    Example: memcli fact forget "code freeze" --yes
    Example: memcli fact forget "home address" --purge --prove --yes
    """
    from memcli.cli import record

    return record.forget(
        ctx, key, yes=yes, dry_run=dry_run, purge=purge, prove=prove, no_tombstone=no_tombstone, stdin=stdin
    )


def restore(ctx: Context, key: str, *, include_forgotten: bool = False) -> Output:
    """Bring back a fact that was forgotten, expired, faded or superseded, by key or id.

    Example: memcli fact restore "code freeze"
    """
    from memcli.cli import record

    return record.restore(ctx, key, include_forgotten=include_forgotten)


def adopt(
    ctx: Context,
    key: str | None = None,
    *,
    all: bool = False,
    source: str | None = None,
    sensitivity: str | None = None,
) -> Output:
    """Take over facts that a person made or edited by hand.

    Their source becomes user:hand, or the agent that MEMCLI_SOURCE names. A file without a label stays restricted unless
    --sensitivity says otherwise.

    Example: memcli fact adopt "deploy target"
    Example: memcli fact adopt --all
    """
    from memcli.engine import remember

    store, now = session.store(ctx), session.now(ctx)
    if (key is None) != all:
        raise errors.UsageError("name one key, or all of them with --all")
    if key is None:
        done, odd = remember.adopt_all(store, now=now, source=source, sensitivity=sensitivity)
    else:
        done, odd = [remember.adopt(store, key, now=now, source=source, sensitivity=sensitivity)], 0
    rows = [
        {"id": w.fact.id, "how": "adopted" if w.how == "updated" else w.how, "path": f"facts/{w.fact.name}.md"}
        for w in done
    ]
    adopted = sum(row["how"] == "adopted" for row in rows)
    notes = [f"{odd} left alone: their keys are none that may be; see memcli doctor"] if odd else []
    # A file that a hand made has no label more often than not, and who made it wonders where it went.
    close = sum(w.fact.sensitivity > labels.INTERNAL and str(w.fact.sensitivity) != sensitivity for w in done)
    notes += [f"{close} withheld by the label; memcli fact set KEY --sensitivity LABEL gives another"] if close else []
    return Output(rows, f"adopted {adopted}\n" if adopted else "unchanged\n", notes=tuple(notes))


def check_clearance(fact: "Fact") -> None:
    """Raise Withheld for a fact above internal; says nothing of it."""
    if fact.sensitivity > labels.INTERNAL:
        hint = f"{errors.Withheld.hint}; {_STATES['damaged']}" if fact.state == "damaged" else None
        raise errors.Withheld("this fact is withheld: its label is above internal", hint=hint)


_STATES = {
    "drift": "edited by hand since memcli wrote it; memcli fact adopt takes it over",
    "bare": "made by hand; memcli fact adopt takes it over",
    "half": "an older text than its sidecar: a checkout or sync is not finished",
    "damaged": "its files are damaged; see memcli doctor",
    "conflict": "two files hold this key; memcli doctor --fix makes one of them",
}


def _live(store: "Store", key: str, now: "datetime") -> "Fact":
    fact = facts.get(store, keys.normal(key))
    if fact is None or not policy.current(fact, now, store.settings):
        from memcli.engine import missing

        if fact is not None:
            raise missing.no_fact(
                store, fact.key, now, "no current fact of this key", hint="memcli fact history KEY shows what it was"
            )
        raise missing.no_fact(store, keys.normal(key), now)
    return fact


def _history_line(row: "dict[str, object]") -> str:
    from memcli.cli import show

    when = row["ended_at"] or "now"
    made = row.get("id") or "-"  # a hand-made one has none
    return f"{row['reason']}\t{when}\t{made}\t{show.one_line(str(row['text']).strip().partition(chr(10))[0])}\n"


def _shown(store: "Store", now: "datetime", clearance: "labels.Sensitivity", fact: "Fact") -> "Fact":
    if not (fact.relations or fact.derived_from):
        return fact
    from memcli.engine import view

    return view.shown(store, now, clearance, fact)


def _written(fact: "Fact", how: str, notes: tuple[str, ...]) -> Output:
    hidden = fact.sensitivity > labels.INTERNAL
    data = {"how": how, "id": fact.id, "key": None if hidden else fact.key, "sensitivity": str(fact.sensitivity)}
    data |= {"digest": fact.digest, "path": f"facts/{fact.name}.md"}
    return Output(data, f"{how}\n", notes=notes)
