"""Making a store and telling what is in it."""

import os
from datetime import datetime

from memcli.base import errors, files
from memcli.base.value import Value, value
from memcli.engine import promotion
from memcli.model import labels, policy
from memcli.store import archive, episodes, facts, folder, procedures, proposals, sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from memcli.index.census import Census
    from memcli.store.folder import Store

MARKER_TEXT = """\
# A memcli store: layered memory in plain files. Settings: docs/reference/configuration.md of memcli.
format = 1

[defaults]
sensitivity = "internal"
ttl_minutes = 0

[policy]
pii = "mask"
secrets = "refuse"
"""
_IGNORED = "/.memcli/\n.*.tmp\n"
_ATTRIBUTES = """\
# LF everywhere; never merge=union: it loses lines that two entries share.
/memcli.toml text eol=lf
/facts/** text eol=lf
/episodes/** text eol=lf
/procedures/** text eol=lf
/sources/** text eol=lf
/proposed/** text eol=lf
/archive/** text eol=lf
/tombstones.jsonl text eol=lf
"""
# Which driver merges which files when both sides of a merge changed one. Each clone names the drivers once: `git setup`.
MERGED = """\
# Both sides are kept by memcli's merge driver, once a clone knows it: memcli git setup
/facts/*.md merge=memcli-fact
/facts/*.meta.json merge=memcli-meta
/procedures/*.md merge=memcli-fact
/procedures/*.meta.json merge=memcli-meta
/proposed/*/*.md merge=memcli-fact
/proposed/*/*.meta.json merge=memcli-meta
/sources/*.meta.json merge=memcli-source
/episodes/*.md merge=memcli-log
/archive/**/*.jsonl merge=memcli-archive
/tombstones.jsonl merge=memcli-archive
"""


@value
class Made(Value):
    """A store that `make` made or found. new: files that were written."""

    root: str
    tenant: str
    new: tuple[str, ...]
    git: bool


def make(path: str | None, *, tenant: str | None = None, git: bool = False) -> Made:
    """Make a store in a folder (made if missing), or what it lacks; nothing that is there is overwritten.

    path None: this folder. tenant: make this tenant in it. git: a repository too, unless the folder is in one.
    Raises UsageError, NewerFormat, SystemFailure.
    """
    root = files.absolute(path if path is not None else "")
    if tenant is not None:
        folder.tenant_name(tenant)
    try:
        _make_private(root)
    except OSError as e:
        files.fail("make the folder", root, e)
    if tenant is not None:
        _check_room(root)
    new = _lay_out(root, ())
    if tenant is not None:
        new += _lay_out(root, (folder.TENANTS, tenant))
    folder.read_settings(root)
    made_git = _init_git(root) if git else False
    if git:
        from memcli.engine import clone

        clone.setup(folder.Store(root))
    return Made(
        root=os.path.join(root, folder.TENANTS, tenant) if tenant else root,
        tenant=tenant or "",
        new=tuple(new),
        git=made_git,
    )


def _check_room(root: str) -> None:
    """Beside tenants nobody can reach what the store itself holds. Raises Refused when it holds anything."""
    if not os.path.isfile(os.path.join(root, folder.MARKER)) or folder.tenants(root):
        return
    store = folder.Store(root)
    for layer in ("facts", "procedures", "episodes"):
        with store.folder(layer) as held:
            if any(n.endswith(".md") for n in held.names()):
                raise errors.Refused(
                    "this store holds records of its own, which nobody could reach beside tenants",
                    path=root,
                    hint="export them, make the tenant in an empty folder, and import them there",
                )


def _make_private(path: str) -> None:
    """A folder and those that are missing above it, 0700 whatever the umask (`makedirs` minds it for those above)."""
    if os.path.isdir(path):
        return
    _make_private(os.path.dirname(path))
    os.mkdir(path, 0o700)


def _lay_out(root: str, parts: tuple[str, ...]) -> list[str]:
    new = []
    with files.Folder(root, *parts, create=True) as d:
        for name, text in (
            (".gitignore", _IGNORED),
            (".gitattributes", _ATTRIBUTES + MERGED),
            (folder.MARKER, MARKER_TEXT),
        ):
            present = d.read(name)
            if present is None:
                d.replace(name, text.encode())
            elif name == ".gitignore" and b".memcli" not in present:
                lead = b"" if present.endswith(b"\n") or not present else b"\n"
                d.replace(name, present + lead + text.encode())
            else:
                continue
            new.append(os.path.join(*parts, name))
    for layer in (folder.STATE, facts.LAYER, episodes.LAYER):
        files.Folder(root, *parts, layer, create=True).close()
    return new


def _init_git(root: str) -> bool:
    from memcli.base import command

    if command.run(["git", "-C", root, "rev-parse", "--is-inside-work-tree"]).code == 0:
        return False
    done = command.run(["git", "init", "--quiet", root])
    if done.code != 0:
        raise errors.SystemFailure("git init failed", path=root, hint="is git installed?")
    return True


def status(store: "Store", now: datetime) -> "dict[str, Any]":
    """What a person asks first: where, how much of each layer is current, what waits. Counts only."""
    found = _census(store, now)
    unread: list[str] = []
    waiting = _waiting(store, now, unread)
    return {
        "store": store.root,
        "tenant": store.tenant or None,
        "facts": found.current,
        "ended": found.expired + found.faded,
        "episodes": found.episodes,
        "procedures": sum(1 for _ in procedures.every(store)),
        "proposals": waiting,
        "sources": sum(1 for _ in sources.every(store)),
        "by_hand": found.by_hand,
        "damaged": found.damaged + found.unread + len(unread),
        **({"vectors": _vectors(store)} if store.settings["vectors.enabled"] else {}),
    }


def _vectors(store: "Store") -> "dict[str, Any]":
    from memcli.engine import encodings

    found = encodings.standing(store)
    last = {"last": found.last, "at": found.at, "error": found.error or None} if found.last else {"last": None}
    return {"records": found.records, "model": found.model or None, **last}


def stats(store: "Store", now: datetime) -> "dict[str, Any]":
    """Counts by label, confidence, source kind and layer, and sizes in bytes. No text, no keys, no domains or tags."""
    found = _census(store, now)
    label: dict[str, int] = {}
    sure: dict[str, int] = {}
    kind: dict[str, int] = {}
    half_life = store.settings["decay.fact_half_life_days"]
    for fact in facts.every(store):
        _count(label, str(fact.sensitivity))
        _count(sure, labels.confidence_word(policy.effective_confidence(fact, now, half_life)))
        _count(kind, fact.source.kind)
    outcome: dict[str, int] = {}
    for episode in episodes.newest(store):
        _count(outcome, episode.outcome)
    return {
        "facts": {n: getattr(found, n) for n in ("current", "expired", "faded", "by_hand", "damaged")},
        "by_sensitivity": {n: label.get(n, 0) for n in ("public", "internal", "sensitive", "restricted")},
        "by_confidence": {n: sure.get(n, 0) for n in labels.CONFIDENCE_WORDS},
        "by_source_kind": dict(sorted(kind.items())),
        "episodes": {n: outcome.get(n, 0) for n in labels.OUTCOMES},
        "proposals": _waiting(store, now),
        "former_values": _former(store, "archive"),
        "trash": _former(store, "trash"),
        "bytes": {n: _bytes(store, n) for n in ("facts", "episodes", "procedures", "proposed/facts", "archive")},
    }


def _waiting(store: "Store", now: datetime, unread: "list[str] | None" = None) -> int:
    """Proposed facts that have not ended. unread: gets the names of those that cannot be read."""
    return sum(not promotion.lapsed(store, p, now) for p in proposals.every(store, unread))


def _census(store: "Store", now: datetime) -> "Census":
    from memcli.index import census, refresh

    return refresh.ask(store, lambda con: census.take(con, store, now))


def _count(counts: dict[str, int], name: str) -> None:
    counts[name] = counts.get(name, 0) + 1


def _former(store: "Store", place: str) -> int:
    layers = (facts.LAYER, episodes.LAYER, procedures.LAYER)
    return sum(len(archive.read(store, n, name, place)) for n in layers for name in archive.names(store, n, place))


def _bytes(store: "Store", layer: str) -> int:
    with store.folder(*layer.split("/")) as d:
        return sum(info.st_size for n in d.names() if (info := d.info(n)) is not None)
