"""Commands about the store itself: init, where, status, stats, doctor, check, config."""

from memcli.base import errors
from memcli.cli import advice, session
from memcli.cli.call import Context, Listing, Output, Plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.engine.findings import Finding
    from memcli.store.folder import Store


def init(ctx: Context, directory: str | None = None, *, git: bool = False) -> Output:
    """Make a store in a folder (this one unless named), or what it lacks; nothing that is there is overwritten.

    Example: memcli init ~/memory --git
    Example: memcli --tenant acme init ~/memory
    """
    import os

    from memcli.engine import stores

    if directory is not None and ctx.store is not None and os.path.abspath(directory) != os.path.abspath(ctx.store):
        raise errors.UsageError("the folder is named twice", hint="memcli init DIR, or memcli --store DIR init")
    named = [p for p in (directory, ctx.store, os.environ.get("MEMCLI_STORE")) if p is not None]
    if named and not named[0]:
        raise errors.UsageError("the folder's name is empty", hint="memcli init DIR; a variable that is not set?")
    tenant = ctx.tenant if ctx.tenant is not None else os.environ.get("MEMCLI_TENANT")
    made = stores.make(named[0] if named else None, tenant=tenant, git=git)
    word = "made" if made.new else "unchanged"
    data = {"how": word, "store": made.root, "tenant": made.tenant or None, "new": list(made.new), "git": made.git}
    return Output(data, f"{word} {made.root}\n")


def where(ctx: Context) -> Output:
    """Print the folder of the store in use; why it is that one goes to stderr.

    Example: cd "$(memcli where)"
    """
    store = session.store(ctx)
    return Output(
        {"store": store.root, "tenant": store.tenant or None, "why": store.why}, f"{store.root}\n", notes=(store.why,)
    )


def status(ctx: Context) -> Output:
    """Say what is in the store, in numbers.

    Example: memcli status
    """
    from memcli.engine import stores

    found = stores.status(session.store(ctx), session.now(ctx))
    notes = [f"{found['by_hand']} made or edited by hand: memcli review list"] if found["by_hand"] else []
    notes += [f"{found['damaged']} damaged: memcli doctor"] if found["damaged"] else []
    return Output(found, _lines(found), notes=tuple(notes))


def stats(ctx: Context, *, retrieval: bool = False, since: str | None = None, days: int | None = None) -> Output:
    """Count records by label, confidence, source and outcome, and their size on disk.

    --retrieval says how well questions were answered instead: misses, share by week, drift, what is served most often and
    which facts nobody was given. It comes from a log in .memcli that holds ids and no words (monitor.enabled). With
    monitor.query_text it holds the questions too, and the latest without a strong answer are shown.

    Example: memcli stats --json
    Example: memcli stats --retrieval --since 30d
    """
    from memcli.engine import stores

    if retrieval:
        from memcli.cli import retrievals

        return retrievals.stats(ctx, since, days)
    if since is not None:
        raise errors.UsageError("--since needs --retrieval", hint="memcli stats --retrieval --since 30d")
    if days is not None:
        raise errors.UsageError("--days needs --retrieval", hint=f"memcli stats --retrieval --days {days}")
    found = stores.stats(session.store(ctx), session.now(ctx))
    return Output(found, _lines(found))


def doctor(ctx: Context, *, fix: bool = False, deep: bool = False) -> Listing:
    """Find what is wrong in the store and say what to do; --fix does what is safe.

    What --fix mended is told too, each with its path. --deep also compares the index with every record. Values are
    never printed.

    Example: memcli doctor --fix
    """
    from memcli.engine import clone
    from memcli.engine import doctor as engine

    store, now = session.store(ctx), session.now(ctx)
    mended = []
    if fix:
        from memcli.engine import mending

        mended = mending.mend(store, now)
    found = [*engine.examine(store, now), *clone.examine(store)]
    if deep:
        from memcli.engine import indexing

        found += indexing.compare(store, fix=fix)
    notes: list[str] = [_mended(ctx, f) for f in mended] + ([f"mended {len(mended)}"] if mended else [])
    notes += [] if found else ["nothing wrong"]
    rows = [_row(ctx, f) | {"detail": _detail(ctx, f), "next": "", "mended": True} for f in mended]
    rows += [_row(ctx, f) for f in found]
    return Listing(rows, "".join(_line(ctx, f) for f in found), notes=tuple(notes))


def reindex(ctx: Context, *, vectors: bool = False, background: bool = False) -> Output:
    """Build the index anew from the files; nothing but time is lost without one.

    Reads bring the index up to date by themselves. This is for a copy that `memcli doctor --deep` calls different.
    --vectors encodes instead what has no vector yet, where vectors.enabled is set; stopped half-way it goes on where it
    was, and after a change of the model it encodes everything anew.

    Example: memcli reindex
    Example: memcli reindex --vectors --background
    """
    from memcli.cli import render
    from memcli.engine import indexing

    store = session.store(ctx)
    if vectors:
        return _encode(ctx, store, background)
    if background:
        raise errors.UsageError("--background is for --vectors", hint="memcli reindex --vectors --background")
    built = indexing.reindex(store, render.counter("records read"))
    return Output({"records": built.records, "bytes": built.bytes}, f"indexed {built.records} records\n")


def _encode(ctx: Context, store: "Store", background: bool) -> Output:
    from memcli.base import value
    from memcli.cli import render
    from memcli.engine import encoding, indexing

    notes = encoding.notes(store)
    if background:
        indexing.start(store, ctx.now)
        said = advice.follow(ctx, "encoding in the background; memcli status says how it ended")
        return Output({"started": True}, f"{said}\n", notes=notes)
    told = render.counter("texts encoded")
    done = encoding.encode(store, now=session.now(ctx), progress=told)
    if told is not None:
        told(0)
    return Output(
        value.as_dict(done), f"encoded {done.encoded} texts; {done.records} records have a vector\n", notes=notes
    )


def check(ctx: Context, *, against: str | None = None) -> Listing:
    """Find what is wrong, for CI: exit 4 when there is an error or a warning.

    --against REV also fails a change since that git revision that adds a credential, an unsourced fact or a silent
    contradiction, lowers a label, or loses a value.

    Example: memcli --store memory check
    Example: memcli --store memory check --against origin/main
    """
    from memcli.engine import doctor as engine

    store, now = session.store(ctx), session.now(ctx)
    found = engine.examine(store, now)
    bad = [f for f in found if f.severity != "note"]
    rows, lines = [_row(ctx, f) for f in found], [_line(ctx, f) for f in bad]
    if against is not None:
        more = _faults(ctx, store, against)
        rows, lines = rows + [row for row, _ in more], lines + [line for _, line in more]
    return Listing(rows, "".join(lines), exit_code=4 if lines else 0)


def _faults(ctx: Context, store: "Store", against: str) -> "list[tuple[dict[str, object], str]]":
    from memcli.cli import show
    from memcli.engine import revisions
    from memcli.model import labels
    from memcli.store import revision

    found = []
    for fault in revisions.faults(revision.Revision(store, against), store):
        what, then = revisions.FAULTS[fault.code]
        next_step = advice.follow(ctx, then)
        key = show.one_line(fault.key) if fault.label <= labels.INTERNAL else "a withheld fact"
        row: dict[str, object] = {
            "severity": "error",
            "code": fault.code,
            "key": key,
            "message": what,
            "next": next_step,
        }
        found.append((row, f"error: {key}: {what}; {next_step}\n"))
    return found


def config(ctx: Context, name: str | None = None, *, allow: bool = False) -> Output:
    """Print the settings in force; * marks those that memcli.toml sets.

    A command in memcli.toml (llm.command, llm.extract_command) runs only on machines where it was allowed, because the
    file travels with the store: --allow does that for the command as it stands.

    Example: memcli config context.budget_tokens
    Example: memcli config llm.command --allow
    """
    from memcli.model import settings

    store = session.store(ctx)
    found = store.settings
    if name is not None and name not in settings.TABLE:
        raise errors.NotFound("no setting of this name", hint="memcli config")
    if allow:
        from memcli.engine import llm

        if name not in llm.SETTINGS:
            raise errors.UsageError("--allow needs a setting that names a command", hint=" or ".join(llm.SETTINGS))
        said = llm.allow(store, name)
        return Output({name: said, "allowed": True}, f"allowed on this machine: {said}\n")
    rows = {n: found[n] for n in settings.TABLE if name in (None, n)}
    if name is not None:
        return Output(rows, f"{_toml(rows[name])}\n")
    lines = [f"{'*' if n in found.given else ' '} {n} = {_toml(item)}\n" for n, item in rows.items()]
    return Output(rows, "".join(lines))


def _toml(item: object) -> str:
    return f'"{item}"' if isinstance(item, str) else str(item).lower()


def _lines(found: "dict[str, object]") -> str:
    lines = []
    for name, item in found.items():
        if isinstance(item, dict):
            item = ", ".join(f"{k} {v}" for k, v in item.items() if v is not None)
        if item is not None:
            lines.append(f"{name.replace('_', ' ')}: {item}\n")
    return "".join(lines)


def _row(ctx: Context, finding: "Finding") -> "dict[str, object]":
    from memcli.engine.findings import CODES

    severity, what, next_step = CODES[finding.code]
    row: dict[str, object] = {"severity": severity, "code": finding.code, "path": finding.path}
    if finding.line:
        row["line"] = finding.line
    return row | {"message": what, "detail": finding.detail, "next": advice.follow(ctx, next_step)}


def _line(ctx: Context, finding: "Finding") -> str:
    row = _row(ctx, finding)
    place = f"{row['path']}:{row['line']}" if "line" in row else str(row["path"])
    detail = f" ({row['detail']})" if row["detail"] else ""
    return f"{row['severity']}: {place}: {row['message']}{detail}; {row['next']}\n"


def _mended(ctx: Context, finding: "Finding") -> Plain:
    from memcli.engine.findings import CODES

    return Plain(f"mended: {finding.path}: {_detail(ctx, finding) or CODES[finding.code][1]}")


def _detail(ctx: Context, finding: "Finding") -> str:
    # Of what was mended it says where the rest went; what is left has a name of the store here, which is no advice.
    return advice.follow(ctx, finding.detail)
