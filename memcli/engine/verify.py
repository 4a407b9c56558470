"""Facts that carry a check, so that stale knowledge is noticed: a path, a git object or a command.

    path:FILE        fresh while the path exists
    git:OBJECT       fresh while git knows the object (a commit, a tag, REV:PATH)
    cmd:PROGRAM ...  fresh while the program exits 0; never run unless the caller allows commands

Paths and programs are taken relative to the git top that holds the store, else to the store. What came of a check lies
in the git-ignored state under the id of the value: a new value starts unchecked.
"""

import json
import os
import shlex
from datetime import datetime

from memcli.base import clock, command, errors
from memcli.base.value import Value, value
from memcli.model import keys, labels, policy
from memcli.model.records import Fact
from memcli.store import facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.store.folder import Store

KINDS = ("path", "git", "cmd")
_FILE = "checks.json"
_COMMAND_SECONDS = 30.0


@value
class Verdict(Value):
    """What came of one check. state: "fresh", "stale" or "skipped" (a command that was not allowed)."""

    fact: Fact
    state: str
    why: str


def parse(text: str) -> tuple[str, str]:
    """The kind and the rest of a check. Raises UsageError for anything else."""
    kind, colon, rest = text.partition(":")
    # git would take a word that begins with a dash for an option.
    if kind not in KINDS or not colon or not rest.strip() or not rest.isprintable() or rest.lstrip().startswith("-"):
        raise errors.UsageError("odd check", hint="path:FILE, git:OBJECT or cmd:PROGRAM ARGUMENTS")
    if kind == "cmd":
        try:
            shlex.split(rest)
        except ValueError:
            raise errors.UsageError("the check's command has an open quote") from None
    return kind, rest.strip()


def verify(store: "Store", key: str | None, *, now: datetime, allow_commands: bool = False) -> list[Verdict]:
    """Run the checks of one fact or of all current ones, and keep what came of them.

    Those of a blocked source are left out. Raises NotFound for a key without a fact or a fact without a check, Blocked.
    """
    blocked = store.blocked()
    chosen = [f for f in facts.every(store) if f.check and policy.current(f, now, store.settings)]
    if key is None:
        chosen = [f for f in chosen if f.source.id not in blocked]
    else:
        chosen = [f for f in chosen if f.key == keys.normal(key)]
        for fact in chosen:
            store.check_served(fact.source.id)
        if not chosen:
            raise errors.NotFound("no current fact of this key carries a check", hint="memcli fact set KEY --check ...")
    base = base_folder(store)
    found = [_run(f, base, allow_commands) for f in chosen]  # no lock is held while programs run
    _keep(store, found, now)
    return found


def stale(store: "Store") -> dict[str, datetime]:
    """Ids of values whose last check failed, and when."""
    return {made: at for made, (state, at) in _load(store).items() if state == "stale"}


def base_folder(store: "Store") -> str:
    """The folder that checks are relative to: the git top that holds the store, else the store."""
    here = store.root
    while True:
        if os.path.exists(os.path.join(here, ".git")):
            return here
        parent = os.path.dirname(here)
        if parent == here:
            return store.root
        here = parent


def _run(fact: Fact, base: str, allow_commands: bool) -> Verdict:
    try:
        kind, rest = parse(fact.check)
    except errors.UsageError:
        return Verdict(fact=fact, state="stale", why="the check itself cannot be read")
    if kind == "path":
        there = os.path.lexists(os.path.join(base, rest))
        return Verdict(
            fact=fact, state="fresh" if there else "stale", why="the path is there" if there else "the path is gone"
        )
    if kind == "git":
        known = command.run(["git", "-C", base, "cat-file", "-e", rest]).code == 0
        return Verdict(
            fact=fact, state="fresh" if known else "stale", why="git knows it" if known else "git does not know it"
        )
    if allow_commands and (fact.source.via or fact.state != "ok"):
        return Verdict(
            fact=fact, state="skipped", why="a command from an import or a hand edit is not run; adopt it first"
        )
    if not allow_commands:
        return Verdict(fact=fact, state="skipped", why="commands are run only with --allow-commands")
    try:
        code = command.run(shlex.split(rest), folder=base, timeout_seconds=_COMMAND_SECONDS).code
    except errors.SystemFailure:
        return Verdict(fact=fact, state="stale", why="the command did not end, or could not be run")
    return Verdict(fact=fact, state="fresh" if code == 0 else "stale", why=f"the command exited {code}")


def _keep(store: "Store", found: list[Verdict], now: datetime) -> None:
    with store.writing(), store.folder(".memcli", create=True) as state:
        kept = _load(store)
        live = {f.id for f in facts.every(store)}
        for v in found:
            if v.state != "skipped" and v.fact.id:
                kept[v.fact.id] = (v.state, now)
        data = {made: [word, clock.show(at)] for made, (word, at) in sorted(kept.items()) if made in live}
        state.replace(_FILE, json.dumps(data, indent=1).encode())


def _load(store: "Store") -> dict[str, tuple[str, datetime]]:
    """What is kept; an unreadable file counts as empty, since it can be made again."""
    try:
        with store.folder(".memcli") as state:
            data = state.read(_FILE)
        found = json.loads(data) if data else {}
        return {str(k): (str(s), clock.parse(t)) for k, (s, t) in found.items()}
    except (errors.MemcliError, ValueError, TypeError, AttributeError, RecursionError):
        return {}


def counts(found: list[Verdict]) -> dict[str, int]:
    """How many of each state."""
    return {s: sum(v.state == s for v in found) for s in ("fresh", "stale", "skipped")}


def open_to_all(found: list[Verdict]) -> list[Verdict]:
    """Those whose facts may be named without a clearance."""
    return [v for v in found if v.fact.sensitivity <= labels.INTERNAL]
