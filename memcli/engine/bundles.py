"""Bundles of commits, as they lie in a bucket: made, and taken in after everything about them has been checked."""

import os

from memcli.base import errors, sha256
from memcli.engine.unite import REF
from memcli.model import manifest, settings
from memcli.store import checkout, folder, git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.base.bucket import Bucket
    from memcli.model.manifest import Bundle, Manifest
    from memcli.store.folder import Store

_FOLDER = "fleet"
_SIGNATURE = b"# v2 git bundle\n"
_MANY_COMMITS = 100


def make(store: "Store", head: str, known: tuple[str, ...]) -> "tuple[Bundle, bytes]":
    """A bundle of all commits up to `head` that lack in `known`. Raises Refused when it is larger than may be.

    No two are alike: a name that nobody has used before cannot be one that somebody is just tidying away.
    """
    root = store.root
    edge = git.word(root, "rev-list", "--boundary", head, "--not", *known).split()
    needed = tuple(sorted(c[1:] for c in edge if c.startswith("-"))) if known else ()
    pack = git.tell(
        root,
        "pack-objects", "--revs", "--stdout", "--thin", "--delta-base-offset", "-q",
        given="".join(f"{c}\n" for c in (head, "--not", *known)).encode(),
    )  # fmt: skip
    lines = [*(f"-{c}" for c in needed), f"{head} refs/memcli/{os.urandom(16).hex()}", "", ""]
    data = _SIGNATURE + "\n".join(lines).encode() + pack
    if len(data) > manifest.MOST_BUNDLE_BYTES or len(needed) > _MANY_COMMITS:
        raise errors.Refused(
            f"what is new fills more than {manifest.MOST_BUNDLE_BYTES >> 20} MiB",
            path=root,
            hint="commit it in parts, and sync after each",
        )
    name = sha256.hexadecimal(data)
    return manifest.Bundle(name=name, size_bytes=len(data), head=head, prerequisites=needed), data


def missing(store: "Store", found: "Manifest") -> "list[Bundle]":
    """The bundles that this machine lacks, oldest first: the list leads on from one to the next."""
    mine = tuple(filter(None, (git.commit(store.root, "HEAD"), git.commit(store.root, REF))))
    lacking: list[Bundle] = []
    for bundle in reversed(found.bundles):
        if git.commit(store.root, bundle.head) and any(git.within(store.root, bundle.head, c) for c in mine):
            break
        lacking.insert(0, bundle)
    return lacking


def receive(store: "Store", bucket: "Bucket", found: "Manifest") -> bool:
    """Take the fleet's commits into the repository, under REF. False when a bundle has gone since the manifest was read.

    Raises BadData for anything that is not what the manifest says, or that no store may hold.
    """
    for bundle in missing(store, found):
        got = bucket.read(bundle.path, bundle.size_bytes)
        if got is None:
            return False
        _take(store, bundle, got[0])
    _check(store, found.head)
    if git.commit(store.root, REF) != found.head:
        git.tell(store.root, "update-ref", "-m", "memcli sync", REF, found.head)
    return True


def _take(store: "Store", bundle: "Bundle", data: bytes) -> None:
    if len(data) != bundle.size_bytes or sha256.hexadecimal(data) != bundle.name:
        raise _damaged(store, "is not what its name says")
    head, _, pack = data.partition(b"\n\n")
    if not head.startswith(_SIGNATURE) or not pack:
        raise _damaged(store, "is no bundle")
    file = f"{bundle.name}.bundle"
    with store.folder(folder.STATE, _FOLDER, create=True) as state:
        for old in state.names():
            state.remove(old)
        state.create(file, data, durable=False)
        try:
            good = git.ask(store.root, "bundle", "verify", "-q", state.where(file))[0] == 0
        finally:
            state.remove(file)
    # --strict: no object that git's own check would mind (a path that leads into .git, say), and no gap.
    good = good and git.ask(store.root, "index-pack", "--stdin", "--fix-thin", "--strict", given=pack)[0] == 0
    if not good or git.commit(store.root, bundle.head) is None:
        raise _damaged(store, "cannot be unpacked here")


def _check(store: "Store", head: str) -> None:
    """The head is there with all that it needs, and is a store that this memcli can read."""
    root = store.root
    if git.commit(root, head) is None or git.ask(root, "rev-list", "--objects", "--quiet", head, "--not", "--all")[0]:
        raise _damaged(store, "leads to commits that are not there")
    checkout.changes(root, checkout.EMPTY, head)
    marker = next(git.blobs(root, [f"{head}:{folder.MARKER}"]))
    if marker is None:
        raise errors.BadData("what the fleet shares is no store of memcli", path=root, hint="is the URL right?")
    from memcli.base import toml

    try:
        settings.read(toml.load(marker.decode("utf-8", "replace")))
    except errors.NewerFormat:
        raise
    except errors.BadData:
        raise errors.BadData("the fleet's memcli.toml cannot be read", path=root, hint="nothing was changed") from None


def _damaged(store: "Store", what: str) -> errors.BadData:
    return errors.BadData(
        f"a bundle of the fleet {what}", path=store.root, hint="nothing was changed; another machine may have it whole"
    )
