"""`memcli forget` and `memcli restore`: any record, by id; facts and procedures also by key."""

from memcli.base import errors
from memcli.cli import advice, session
from memcli.cli.call import Context, Output, Plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from memcli.engine.forget import Forgotten
    from memcli.engine.history import Git
    from memcli.engine.prove import Proof


def forget(
    ctx: Context,
    record: str,
    *,
    yes: bool = False,
    dry_run: bool = False,
    purge: bool = False,
    prove: bool = False,
    no_tombstone: bool = False,
    stdin: bool = False,
) -> Output:
    """Put a record into the trash, where `restore` finds it for at least 30 days.

    What a session holds in working memory is named by its id; it has no trash. --purge erases former values and proposals
    too, and leaves tombstones: salted hashes that keep the value from being learned again by accident. --prove searches
    the whole store for it afterwards, and exits 4 when something is left, 7 when something could not be looked at; git
    history is searched too, but never changed. With --stdin it only searches, for the text on stdin: when the record is
    purged already, nobody else knows it.

    Example: memcli forget "code freeze" --yes
    Example: memcli forget "home address" --purge --prove --yes
    Example: memcli forget "home address" --prove --stdin < text
    """
    if stdin:
        if purge or not prove or no_tombstone:
            raise errors.UsageError("--stdin only searches", hint="memcli forget KEY --prove --stdin")
        return _search(ctx, record)
    if no_tombstone and not purge:
        raise errors.UsageError("--no-tombstone goes with --purge", hint="memcli forget KEY --purge --no-tombstone")
    from memcli.engine import forget as engine

    store, now = session.store(ctx), session.now(ctx)
    if not dry_run:
        found = engine.forget(store, record, now=now, purge=purge, dry_run=True)
        session.confirm(_question(found, purge), yes=yes)
    done = engine.forget(store, record, now=now, purge=purge, prove=prove, tombstone=not no_tombstone, dry_run=dry_run)
    return _output(ctx, done, "would forget" if dry_run else "forgotten", dry_run=dry_run)


def _search(ctx: Context, key: str) -> Output:
    from memcli.engine import forget as engine
    from memcli.engine import prove

    proof = prove.again(session.store(ctx), key, session.text_or_stdin("-") or "")
    return _output(ctx, engine.Forgotten(layer="facts", ids=(), proof=proof), "searched", dry_run=False)


def _output(ctx: Context, done: "Forgotten", how: str, *, dry_run: bool) -> Output:
    data: dict[str, Any] = {"how": how, "layer": done.layer, "ids": list(done.ids), "erased": done.erased}
    data["named_by"] = [key or None for key in done.named_by]
    data |= {"tombstones": done.tombstones, "proof": _proof_row(done.proof) if done.proof else None}
    values = "former value" if done.erased == 1 else "former values"
    erased = f", {done.erased} {values} {'would be erased' if dry_run else 'erased'}" if done.erased else ""
    text = f"{how}{erased}\n" + (_proof_text(done.proof) if done.proof else "")
    return Output(
        data, text, notes=_notes(ctx, done, dry_run=dry_run), exit_code=_exit_code(done.proof, dry_run=dry_run)
    )


def restore(ctx: Context, record: str, *, include_forgotten: bool = False) -> Output:
    """Bring back a record that was forgotten, expired, faded or superseded.

    Example: memcli restore "code freeze"
    """
    from memcli.engine import forget as engine

    back = engine.restore(session.store(ctx), record, now=session.now(ctx), include_forgotten=include_forgotten)
    return Output({"how": "restored", "id": back.id, "sensitivity": str(back.sensitivity)}, "restored\n")


def _question(found: "Forgotten", purge: bool) -> str:
    if found.layer == "working":
        return "Take this out of its session for good? Working memory has no trash."
    return "Erase this record and its former values for good?" if purge else "Put this record into the trash?"


def _exit_code(proof: "Proof | None", *, dry_run: bool) -> int:
    """As the error would be that stopped the search; what is left comes after it, for it may not be all."""
    if proof is not None and proof.gaps:
        return 7
    return 4 if proof is not None and proof.found and not dry_run else 0


def _proof_row(proof: "Proof") -> "dict[str, Any]":
    git = proof.git
    return {
        "clean": proof.clean,
        "looked": proof.looked,
        "skipped": proof.skipped,
        "found": [
            {"area": t.area, "path": t.path, "count": t.count, "session": t.session or None} for t in proof.found
        ],
        "git": _git_row(git) if git else None,
        "gaps": [{"area": g.area, "path": g.path or None, "why": g.why} for g in proof.gaps],
    }


def _git_row(git: "Git") -> "dict[str, Any]":
    row = {"objects": git.objects, "holding": list(git.holding), "reachable": git.reachable}
    return row | {"messages": git.messages, "files": list(git.files)}


def _proof_text(proof: "Proof") -> str:
    from memcli.base import text

    looked = ", ".join(f"{count} {area}" for area, count in proof.looked.items())
    unread = any(g.area == "git" for g in proof.gaps)
    objects = f"; {proof.git.objects} git objects" if proof.git else "" if unread else "; no git repository"
    lines = [f"looked at: {looked} files{objects}\n"]
    lines += [f"left: {t.area}\t{text.one_line(t.path)}\t{t.count}\n" for t in proof.found]
    lines += [f"not looked at: {g.area}\t{text.one_line(g.path) or '-'}\t{g.why}\n" for g in proof.gaps]
    lines += ["left outside git: nothing\n"] if all(g.area == "git" for g in proof.gaps) and not proof.found else []
    if proof.git:
        held, reachable = len(proof.git.holding), proof.git.reachable
        known = "an unknown number" if reachable is None else reachable
        messages = f", {proof.git.messages} of them commits or tags" if proof.git.messages else ""
        lines += [f"left in git: {held} objects, {known} of them reachable{messages}\n"] if held else []
        lines += [f"left in git: .git/{text.one_line(path)}\n" for path in proof.git.files]
        lines += [] if held or proof.git.files or unread else ["left in git: nothing\n"]
    return "".join(lines)


def _notes(ctx: Context, done: "Forgotten", *, dry_run: bool) -> tuple[str, ...]:
    from memcli.cli import show

    notes: list[str] = []
    if done.layer == "working" and not dry_run:
        notes.append("working memory has no trash: it cannot be restored")
    if done.tombstones:
        notes.append(
            "tombstones.jsonl keeps it from being learned again by accident; it holds salted hashes, no values"
        )
    if done.named_by:
        known = [show.one_line(key) for key in done.named_by if key]
        known += ["a withheld fact"] * (len(done.named_by) - len(known))
        then = advice.follow(ctx, "memcli fact unrelate, or fact set --derived-from")
        notes.append(Plain(f"its key is still named by: {', '.join(known)}; {then}"))
    proof = done.proof
    if proof is None:
        return tuple(notes)
    if proof.skipped:
        notes.append(f"{proof.skipped} links or devices were not looked into")
    if proof.found and not dry_run:
        notes.append("what is left stands in other records: memcli forget ID --purge, memcli work clear, or edit them")
    if not dry_run:
        notes += [_clear_session(t.session) for t in proof.found if t.session]
    if proof.git and (proof.git.holding or proof.git.files):
        notes += _git_notes(done.layer, proof)
    return tuple(notes)


def _clear_session(named: str) -> str:
    import shlex

    from memcli.cli import show

    # Shown as an escape or scrubbed, it would be the name of another session.
    word = shlex.quote(named) if show.one_line(named) == named else "S"
    return f"a session holds it: memcli work clear --session {word} --yes"


def _git_notes(layer: str, proof: "Proof") -> list[str]:
    """How to rewrite history; memcli does not do it."""
    import shlex

    notes = []
    git = proof.git
    assert git is not None
    if len(git.holding) > git.messages and git.reachable != 0:
        paths = " ".join(f"--path {shlex.quote(p)}" for p in proof.paths)
        how = (
            f"--invert-paths {paths}" if layer != "episodes" and paths else "--replace-text FILE (FILE holds the text)"
        )
        notes.append(f"history is removed by: git filter-repo {how}")
    if git.messages and git.reachable != 0:
        notes.append(
            "messages of commits and tags are changed by: git filter-repo --replace-message FILE (it holds the text)"
        )
    if any(not path.startswith("logs/") for path in git.files):
        notes.append(
            "plain files in .git are git's notes of the last commit, merge or branch: edit or delete those named"
        )
    if git.holding or any(path.startswith("logs/") for path in git.files):
        notes.append(
            "what nothing leads to any more goes by: git reflog expire --expire=now --all && git gc --prune=now"
        )
    return [*notes, "clones, remotes and backups have copies of their own"]
