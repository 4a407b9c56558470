"""`git setup`: what one clone must know before git merges a store with memcli's driver (docs/decisions/0019-merging.md).

Which driver merges which file stands in the store's .gitattributes, which is tracked. What a driver is stands in the
configuration of a clone, which git never copies: without it git falls back to its text merge, and conflict markers stand.
"""

import os
import shlex
import sys

from memcli.base import command, errors
from memcli.base.value import Value, value
from memcli.engine import stores
from memcli.engine.findings import Finding
from memcli.engine.merge import KINDS
from memcli.store import folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.store.folder import Store

_FILE = ".gitattributes"
_NAMES = {
    "fact": "the text of a memcli record",
    "meta": "the sidecar of a memcli record",
    "log": "a month of memcli episodes",
    "archive": "former values of a memcli record",
    "source": "what memcli knows of a source",
}
# git would pair a new fact with a forgotten one; which of the two it minds depends on its version.
_RENAMES = {"merge.renamelimit": ("merge.renameLimit", "1"), "merge.renames": ("merge.renames", "false")}


@value
class Setup(Value):
    """What a clone lacked. top: the folder of the work tree; config: names of settings; files: paths below top;
    notes: what was left as it is, in words."""

    top: str
    config: tuple[str, ...]
    files: tuple[str, ...]
    notes: tuple[str, ...] = ()


def setup(store: "Store", *, check: bool = False) -> Setup:
    """Tell the repository that holds the store how to merge it; check: only say what is lacking. A second time finds nothing.

    Lines and settings of a person stay. Raises NotFound where there is no repository, SystemFailure.
    """
    top = _top(store.root)
    if top is None:
        raise errors.NotFound(
            "the store is in no git repository", path=store.root, hint="memcli init --git, or git init"
        )
    root = os.path.dirname(os.path.dirname(store.root)) if store.tenant else store.root
    wanted, notes = _wanted(root, top)
    there = _config(root)
    lacking = [name for name in wanted if there.get(name.lower()) != wanted[name]]
    written = []
    for tenant in ("", *folder.tenants(root)):
        parts = (folder.TENANTS, tenant) if tenant else ()
        if _attributes(folder.Store(os.path.join(root, *parts)), check=check):
            written.append(os.path.relpath(os.path.join(root, *parts, _FILE), top))
    if not check:
        for name in lacking:
            done = command.run(["git", "-C", root, "config", "--local", name, wanted[name]])
            if done.code != 0:
                raise errors.SystemFailure("git config failed", path=root, hint="is .git/config writable?")
    return Setup(top=top, config=tuple(lacking), files=tuple(written), notes=tuple(notes))


def examine(store: "Store") -> list[Finding]:
    """One finding when .gitattributes names the driver and this clone does not have it; [] outside of git."""
    try:
        with store.folder() as root:
            named = b"merge=memcli-" in (root.read(_FILE) or b"")
        there = _config(store.root) if named and _top(store.root) is not None else None
    except errors.MemcliError:
        return []
    if there is None or all(_runs(there.get(f"merge.memcli-{kind}.driver", "")) for kind in KINDS):
        return []
    return [Finding(code="no_driver", path=_FILE)]


def _wanted(root: str, top: str) -> tuple[dict[str, str], list[str]]:
    """Settings by name, and what is left alone in words."""
    found = {}
    for kind in KINDS:
        found[f"merge.memcli-{kind}.name"] = _NAMES[kind]
        found[f"merge.memcli-{kind}.driver"] = _driver(kind)
    if os.path.realpath(root) != os.path.realpath(top):
        return found, ["rename detection stays as it is: this repository holds more than the store"]
    there, notes = _config(root, local=True), []
    for low, (name, said) in _RENAMES.items():
        if low in there and there[low] != said:
            notes.append(f"{name} stays as it is; with {said} git never mixes two facts up")
        else:
            found[name] = said
    return found, notes


def _driver(kind: str) -> str:
    """The command that git gives to its shell, in the top folder of the work tree.

    The script beside the interpreter that runs now, by its path: git may be called by programs that have another PATH.
    Without one the interpreter itself; -P: nothing is imported from the work tree. Where memcli is gone or fails, git's
    own text merge stands in, as if there were no driver.
    """
    script = os.path.join(os.path.dirname(sys.executable), "memcli")
    found = shlex.quote(script) if os.path.isfile(script) else f"{shlex.quote(sys.executable)} -P -m memcli"
    program = found.replace("%", "%%")
    call = f"{program} merge-driver {kind} %O %A %B %P"
    done = "test $s = 0 && exit 0; test $s = 1 && grep -q '^<<<<<<< ' %A && exit 1"
    return f"{call}; s=$?; {done}; git merge-file -q -L ours -L base -L theirs %A %O %B"


def _runs(driver: str) -> bool:
    """False for a driver that is not set, or whose program is no longer there."""
    try:
        words = shlex.split(driver.replace("%%", "%"))
    except ValueError:
        return False
    return bool(words) and (not os.path.isabs(words[0]) or os.path.exists(words[0]))


def _attributes(store: "Store", *, check: bool) -> bool:
    """Add what .gitattributes lacks; a pattern with a merge attribute is a person's choice. True if it lacked any."""
    with store.folder() as root:
        present = (root.read(_FILE) or b"").decode("utf-8", "surrogateescape")
        held = [line.split() for line in present.splitlines()]
        chosen = {words[0] for words in held if any(w.lstrip("-!").split("=")[0] == "merge" for w in words[1:])}
        lines = stores.MERGED.splitlines(keepends=True)
        lacking = [line for line in lines[1:] if line.split()[0] not in chosen]
        if not lacking:
            return False
        if not check:
            gap = "" if present.endswith("\n") or not present else "\n"
            title = "" if lines[0] in present else lines[0]
            text = present + gap + title + "".join(lacking)
            root.replace(_FILE, text.encode("utf-8", "surrogateescape"))
    return True


def _top(root: str) -> str | None:
    """The folder of the work tree that holds the store, None without one."""
    done = command.run(["git", "-C", root, "rev-parse", "--show-toplevel"])
    return done.out.removesuffix("\n") if done.code == 0 and done.out.strip() else None


def _config(root: str, *, local: bool = False) -> dict[str, str]:
    """The settings of git below `merge.`, by name in lower case but for the part between the points."""
    words = ["git", "-C", root, "config", *(["--local"] if local else []), "--null", "--get-regexp", "^merge\\."]
    rows = (row.partition("\n") for row in command.run(words).out.split("\0") if row)
    return {name: said for name, _, said in rows}
