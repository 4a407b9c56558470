"""`sync`: one store on many machines, over a bucket of immutable bundles and one manifest (docs/decisions/0021-sync.md).

Local first: what is here is committed and united with the fleet's before anything is sent, and what is sent is whole before
the manifest names it. So a stop anywhere leaves both sides as they were or as they should be.
"""

import os
import time
from datetime import timedelta

from memcli.base import clock, errors
from memcli.base.value import Value, value
from memcli.engine import bundles, clone, local_labels, outgoing, unite
from memcli.model import labels, manifest
from memcli.store import archive, checkout, facts, folder, git, merges, permits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from memcli.base.bucket import Bucket
    from memcli.model.manifest import Manifest
    from memcli.store.folder import Store, Writing

TRIES = 10
_PAUSE_SECONDS = 0.2
_UNLISTED_FOR = timedelta(hours=24)
_MESSAGE = "memcli sync"
# What a store is made of. What else lies untracked in its folder stays on this machine.
_OWN = (
    "facts", "episodes", "procedures", "proposed", "sources", "archive", "tombstones.jsonl", "memcli.toml",
    ".gitattributes", ".gitignore",
)  # fmt: skip
_VERSIONS = ".merge_file_"
_BUSY = ("MERGE_HEAD", "rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "REVERT_HEAD", "sequencer")


@value
class Synced(Value):
    """What came of it. sent, received: commits; committed: local changes became a commit; tries: how often the manifest was
    to be swapped; tidied: bundles removed from the bucket; head: where the fleet is now."""

    sent: int
    received: int
    committed: bool
    tries: int
    tidied: int
    head: str


@value
class Planned(Value):
    """What a sync would do. commits: those here that the fleet lacks; changed: there are changes that no commit has yet;
    bundles, size_bytes: what would be fetched."""

    commits: int
    changed: bool
    bundles: int
    size_bytes: int


def place(store: "Store", url: str | None) -> str:
    """The bucket: as named, else as memcli.toml says. Raises UsageError."""
    from memcli.base import bucket

    found = (url if url is not None else str(store.settings["sync.url"])).rstrip("/")
    if not found:
        raise errors.UsageError("no bucket is named", hint="--url s3://BUCKET/PREFIX, or sync.url in memcli.toml")
    bucket.address(found)
    return found


def agreed(store: "Store", url: str) -> bool:
    """True when somebody has agreed on this machine that the store goes there, up to this clearance."""
    return permits.allowed(store, _agreement(store, url))


def agree(store: "Store", url: str) -> None:
    """Note that the store, with all its history, may go to the URL. memcli.toml travels, so each machine says it itself.
    Raises Refused for an agent."""
    from memcli.engine import gate

    gate.check_person("agrees to where the store goes", store)
    permits.allow(store, _agreement(store, url))


def plan(store: "Store", url: str) -> Planned:
    """What a sync would do; nothing is changed on either side."""
    from memcli.base import bucket

    _check(store)
    found, _ = _manifest(bucket.Bucket(url))
    lacking = bundles.missing(store, found) if found else []
    known = [b.head for b in (found.bundles if found else ()) if git.commit(store.root, b.head)]
    head = git.commit(store.root, "HEAD")
    words = [head, *(["--not", *known] if known else [])] if head else []
    return Planned(
        commits=int(git.word(store.root, "rev-list", "--count", *words)) if words else 0,
        changed=bool(git.tell(store.root, "status", "--porcelain", "-uall", "--", *_OWN)),
        bundles=len(lacking),
        size_bytes=sum(b.size_bytes for b in lacking),
    )


def sync(store: "Store", url: str, *, message: str = "", tidy: bool = False) -> Synced:
    """Bring this store and the fleet's to the same state. tidy: then remove bundles that no manifest has named for a day.

    Raises NotFound (no repository), Refused (not agreed, records above sync.clearance, a repository that holds more),
    Conflict and Changed (others write all the time), BadData and NewerFormat (what the bucket holds), SystemFailure.
    """
    from memcli.base import bucket

    _check(store)
    if not agreed(store, url):
        raise errors.Refused("nobody has agreed that this store goes there", path=url, hint="memcli sync --yes")
    clone.setup(store)
    far = bucket.Bucket(url)
    with store.writing(patient=True) as w:
        start, committed = _commit(w, message or _MESSAGE)
    fleet = git.commit(store.root, unite.REF)
    _check_labels(store, start, (fleet,) if fleet else ())  # `_send` asks again, for what this bucket lacks
    received, torn = 0, None
    for turn in range(TRIES):
        if turn:
            time.sleep(_PAUSE_SECONDS * turn * (os.urandom(1)[0] / 255 + 0.1))
        found, tag = _manifest(far)
        if found is not None and not bundles.receive(store, far, found):
            if tag == torn:
                raise errors.BadData("a bundle that the manifest names is gone", path=url, hint="restore the bucket")
            torn = tag
            continue
        theirs = found.head if found else None
        with store.writing(patient=True) as w:
            before, more = _commit(w, message or _MESSAGE)
            if theirs:
                local_labels.carry(w, theirs, (before,))
            head = _unite(w, before, theirs, message or _MESSAGE)
        received += _count(store, theirs, before) if theirs else 0
        committed = committed or more
        if head == theirs or _send(store, far, found, tag, head):
            sent = _count(store, head, theirs)
            tidied = _tidy(far) if tidy else 0
            git.ask(store.root, "gc", "--auto", "--quiet")
            return Synced(sent=sent, received=received, committed=committed, tries=turn + 1, tidied=tidied, head=head)
    raise errors.Changed(
        f"others wrote to the fleet each time, {TRIES} times", path=url, hint="nothing is lost here; run it again"
    )


def _check(store: "Store") -> None:
    """Raise when this is no repository that can be synced."""
    root = store.root
    code, top = git.ask(root, "rev-parse", "--show-toplevel")
    if code != 0:
        raise errors.NotFound("the store is in no git repository", path=root, hint="memcli init --git")
    if os.path.realpath(os.fsdecode(top.removesuffix(b"\n"))) != os.path.realpath(root):
        raise errors.Refused(
            "the repository holds more than the store, and all of it would go out",
            path=root,
            hint="give the store a repository of its own: git init in its folder",
        )
    form = git.word(root, "rev-parse", "--is-shallow-repository", "--show-object-format").split()
    if form != ["false", "sha1"]:
        raise errors.Refused(
            "the repository is shallow, or names objects by SHA-256", path=root, hint="git fetch --unshallow"
        )
    busy = os.fsdecode(git.tell(root, "rev-parse", "--absolute-git-dir").removesuffix(b"\n"))
    if any(os.path.exists(os.path.join(busy, n)) for n in _BUSY) or git.tell(root, "ls-files", "-u"):
        raise errors.Changed(
            "a merge or rebase is under way in the store", path=root, hint="end or abort it, then sync"
        )
    if git.ask(root, "symbolic-ref", "--quiet", "HEAD")[0] != 0:
        raise errors.Changed("the store is on no branch", path=root, hint="git switch BRANCH, then sync")


def _commit(w: "Writing", message: str) -> tuple[str, bool]:
    """Commit what changed in the store, if anything; the head then. Under the lock, so that no half-written pair is in it."""
    store, root = w.store, w.store.root
    if checkout.marked(store):
        git.free(root)
        _clear(store)
    git.check_free(root)
    checkout.mark(store)
    try:
        head, changed = _committed(root, message)
    except errors.MemcliError:
        checkout.unmark(store)  # git ended by itself: what is locked now is not ours
        raise
    checkout.unmark(store)
    checkout.changes(root, checkout.EMPTY, head)
    return head, changed


def _clear(store: "Store") -> None:
    """Remove the versions of a file that a git which was killed had laid out for a merge driver: they hold records."""
    with store.folder() as top:
        for name in top.names():
            if name.startswith(_VERSIONS):
                top.remove(name)


def _committed(root: str, message: str) -> tuple[str, bool]:
    git.tell(root, "add", "-u", "--", ".")
    new = git.tell(root, "ls-files", "-z", "--others", "--exclude-standard", "--", *_OWN).split(b"\0")
    plain = [n for n in new if n and not os.path.islink(os.path.join(os.fsencode(root), n))]
    git.tell(root, "update-index", "-z", "--add", "--stdin", given=b"".join(n + b"\0" for n in plain))
    tree, head = git.word(root, "write-tree"), git.commit(root, "HEAD")
    if head is not None and tree == git.word(root, "rev-parse", f"{head}^{{tree}}"):
        return head, False
    made = unite.commit_tree(root, tree, [head] if head else [], message)
    git.tell(root, "update-ref", "-m", message, "HEAD", made, head or "0" * 40)
    return made, True


def _unite(w: "Writing", ours: str, theirs: str | None, message: str) -> str:
    """The commit that has both sides, with the work tree brought to it and what the merge set aside in the archive."""
    root = w.store.root
    if theirs is None or git.within(root, theirs, ours):
        return ours
    behind = git.within(root, ours, theirs)
    made = theirs
    if not behind:
        checkout.mark(w.store)
        try:
            made = unite.unite(w.store, ours, theirs, message)
        finally:
            checkout.unmark(w.store)
    checkout.update(w, ours, made)
    aside = merges.settle(w) if not behind else []
    if _stay_purged(w, ours, made) or aside:
        w.done()
        return _commit(w, message)[0]
    return made


def _stay_purged(w: "Writing", ours: str, made: str) -> int:
    """Erase from the archive what another machine has purged and this one had only just put there; how many values."""
    store = w.store
    if not git.tell(store.root, "diff-tree", ours, made, "--", folder.TOMBSTONES):
        return 0
    held, gone = store.tombstones(), 0
    if held is None:
        return 0
    for name in archive.names(store, facts.LAYER):
        rows = archive.kept(store, facts.LAYER, name)
        lost = {r["meta"]["id"] for r in rows if held.hold(facts.LAYER, str(r["meta"].get("key", "")), r["text"])}
        gone += archive.without(store, facts.LAYER, name, lost, "archive") if lost else 0
    return gone


def _send(store: "Store", far: "Bucket", found: "Manifest | None", tag: str | None, head: str) -> bool:
    """Upload what the fleet lacks and name it in the manifest; False when another machine was faster."""
    known = (found.head,) if found else ()
    _check_labels(store, head, known)
    listed = found.bundles if found else ()
    if len(listed) >= manifest.MOST_BUNDLES:
        listed, known = (), ()  # one bundle of everything in place of many
    bundle, data = bundles.make(store, head, known)
    if not far.create(bundle.path, data):
        # The name is new in the world: this very upload, whose answer was lost.
        there = far.read(bundle.path, bundle.size_bytes)
        if there is None or there[0] != data:
            raise errors.BadData("another object has the name of a bundle", path=far.url, hint="who writes there?")
    return far.swap(manifest.NAME, manifest.write(manifest.Manifest(head=head, bundles=(*listed, bundle))), tag)


def _check_labels(store: "Store", head: str, known: tuple[str, ...]) -> None:
    clearance = labels.sensitivity(store.settings["sync.clearance"])
    count = outgoing.above(store, head, known, clearance) if clearance < labels.RESTRICTED else 0
    if count:
        raise errors.Refused(
            f"{count} records above {clearance} are in the store or in its history; nothing was sent",
            path=store.root,
            hint="keep them in a store of their own, or allow them: sync.clearance in memcli.toml",
        )


def _manifest(far: "Bucket") -> "tuple[Manifest | None, str | None]":
    got = far.read(manifest.NAME, manifest.MOST_BYTES)
    return (None, None) if got is None else (manifest.read(got[0]), got[1])


def _tidy(far: "Bucket") -> int:
    """Remove bundles that the manifest does not name and that are a day old: what was replaced, or never named."""
    now: datetime = clock.now(None)
    listed = far.names(manifest.FOLDER)  # before the manifest: what it names later is younger than a day
    found, _ = _manifest(far)
    named = {b.path for b in found.bundles} if found else set()
    gone = [o for o in listed if o.name not in named and now - o.at > _UNLISTED_FOR] if found else []
    for one in gone:
        far.delete(one.name)
    return len(gone)


def _count(store: "Store", head: str, known: str | None) -> int:
    return int(git.word(store.root, "rev-list", "--count", head, *(["--not", known] if known else [])))


def _agreement(store: "Store", url: str) -> str:
    return f"sync {url} {store.settings['sync.clearance']}"
