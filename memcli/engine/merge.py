"""The merge driver: git asks it once for each file of a store that both sides changed (docs/decisions/0019-merging.md)."""

import os

from memcli.base import errors, files
from memcli.base.value import Value, value
from memcli.model import merge
from memcli.model.merge import Conflict, Merged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.store.folder import Store

KINDS = ("fact", "meta", "log", "archive", "source")


@value
class Done(Value):
    """What came of one file. merged: False when a conflict is left for a person; why: in words, "" when merged."""

    merged: bool
    why: str = ""


def drive(kind: str, base: str, ours: str, theirs: str, path: str) -> Done:
    """Unite three versions of a file of a store, named by path, into the second.

    kind: one of KINDS; path: where the file stands, seen from the top of the work tree, which is this folder. What a merged
    file does not hold is noted in the store's state first. Without a rule the file is left with conflict markers.
    Raises UsageError, NotFound, SystemFailure.
    """
    if kind not in KINDS:
        raise errors.UsageError("unknown kind of file", hint=f"one of: {', '.join(KINDS)}")
    was, x, y = (_read(p) for p in (base, ours, theirs))
    try:
        data = _unite(kind, was, x, y, path)
    except Conflict as found:
        _leave_conflict(base, ours, theirs, x, y)
        return Done(merged=False, why=str(found))
    if data != x:
        _write(ours, data)
    return Done(merged=True)


def _unite(kind: str, was: bytes, x: bytes, y: bytes, path: str) -> bytes:
    if kind == "log":
        from memcli.store import weave

        return weave.logs(was, x, y)
    if kind == "archive":
        from memcli.store import weave

        return weave.lines(was, x, y)
    layer, name, root = _place(path)
    if kind == "fact":
        return _kept(root, layer, name, "md", merge.markdown(was, x, y, procedure=layer.endswith("procedures")))
    from memcli.model import merge_meta

    if kind == "source":
        return merge_meta.source_records(was, x, y).data
    made = merge_meta.sidecars(was, x, y, proposed=layer.startswith("proposed/"))
    return _kept(root, layer, name, "sidecar", made)


def _kept(root: str, layer: str, name: str, part: str, made: Merged) -> bytes:
    """The merged bytes, once what they do not hold is noted. Raises Conflict where there is no place for the note."""
    if made.aside is not None or made.uneven:
        from memcli.store import merge_notes

        if not merge_notes.fits(layer, name):
            raise Conflict("the file is none of a record that a note could be about")
        merge_notes.leave(_store(root), layer, name, part, made)
    return made.data


def _store(root: str) -> "Store":
    from memcli.store import folder

    try:
        store = folder.Store(root)
        _ = store.settings
    except errors.MemcliError:
        raise Conflict("there is no store in the work tree to note the other value in") from None
    return store


def _place(path: str) -> tuple[str, str, str]:
    """Layer, record name and store folder of a file by its path in the work tree."""
    folder, file = os.path.split(files.absolute(path))
    name = file.removesuffix(".md").removesuffix(".meta.json")
    above, layer = os.path.split(folder)
    if os.path.basename(above) == "proposed":
        above, layer = os.path.dirname(above), f"proposed/{layer}"
    return layer, name, above


def _read(path: str) -> bytes:
    where, name = os.path.split(files.absolute(path))
    with files.Folder(where) as folder:
        data = folder.read(name, limit=None)
    if data is None:
        raise errors.NotFound("no such file", path=path)
    return data


def _write(path: str, data: bytes) -> None:
    where, name = os.path.split(files.absolute(path))
    with files.Folder(where) as folder:
        folder.replace(name, data, durable=False)


def _leave_conflict(base: str, ours: str, theirs: str, x: bytes, y: bytes) -> None:
    """Leave in `ours` what git leaves of a conflict; where its text merge sees none, both sides whole between markers.

    Two halves that only look as if they fitted would be worse than a record that is withheld until somebody resolves it.
    """
    from memcli.base import command

    labels = [word for label in ("ours", "base", "theirs") for word in ("-L", label)]
    done = command.run(["git", "merge-file", "-q", *labels, ours, base, theirs])
    if not 0 < done.code < 128:
        _write(ours, b"".join((b"<<<<<<< ours\n", _ended(x), b"=======\n", _ended(y), b">>>>>>> theirs\n")))


def _ended(data: bytes) -> bytes:
    return data if data.endswith(b"\n") or not data else data + b"\n"
