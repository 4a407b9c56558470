"""Facts whose file name does not follow from their key: made by hand, renamed or brought in by a synchroniser.

Their names are kept in `.memcli/names.json` together with the time of the folder's last change, so that looking up a
key costs the same in a store of ten facts and of a hundred thousand. Editing such a file in place does not change the
folder, so the files made by hand are looked at one by one (the first _WATCHED of them). Keys stand there hashed, because
a withheld one must not show outside its own file. The cache may be deleted at any time, and what it says is never taken
on trust: readers compare the key that they find.
"""

import json

from memcli.base import errors, files, sha256
from memcli.model import keys
from memcli.store import pair

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.store.folder import Store

_CACHE = "names.json"
_WATCHED = 200
_UNSAFE = frozenset("/\0")
_DIGITS = frozenset("0123456789abcdef")


def odd(store: "Store", folder: files.Folder) -> dict[str, list[str]]:
    """Hashed key -> file names of every fact under a name of its own; read anew only when the folder has changed."""
    kept = current(store, folder)
    if kept is not None:
        return kept
    stamp = _stamp(folder)
    found, watched = _scan(folder)
    _save(store, stamp, found, watched)
    return found


def of_key(known: dict[str, list[str]], key: str) -> list[str]:
    """The file names of a key among those that `odd` found."""
    return known.get(_hash(key), []) if known else []


def current(store: "Store", folder: files.Folder) -> dict[str, list[str]] | None:
    """What is cached, if it still holds."""
    kept = _load(store)
    if kept is None or kept[0] != _stamp(folder) or any(_look(folder, n) != seen for n, seen in kept[2].items()):
        return None
    return kept[1]


def keep(store: "Store", folder: files.Folder, known: dict[str, list[str]] | None) -> None:
    """After our own write under a regular name: what was known still holds at the folder's new time."""
    kept = _load(store) if known is not None else None
    if known is not None and kept is not None:
        _save(store, _stamp(folder), known, kept[2])


def regular(name: str, key: str) -> bool:
    """True when the file name follows from the key."""
    return name in (keys.hidden_name(key), keys.file_name(key))


def _scan(folder: files.Folder) -> tuple[dict[str, list[str]], dict[str, list[int]]]:
    found: dict[str, list[str]] = {}
    watched: dict[str, list[int]] = {}
    listed = folder.names()
    ours = {n.removesuffix(pair.SIDE) for n in listed if n.endswith(pair.SIDE)}
    for name in pair.stems(listed):
        if hashed(name) and name in ours:
            continue
        record = pair.read(folder, name)
        if record is None:
            continue
        regular_name = follows(name, record.key)
        if not regular_name:
            found.setdefault(_hash(record.key), []).append(name)
        if (not regular_name or record.meta is None) and len(watched) < _WATCHED:
            watched[name] = _look(folder, name)
    return found, watched


def hashed(name: str) -> bool:
    """Names with a hash of the key are ours when they have a sidecar: reading all of them would make every look-up cost the
    whole store. One without was made by a person, or lost its sidecar."""
    slug, dashes, digits = name.rpartition("--")
    return bool(dashes) and bool(slug) and len(digits) in (12, 16) and _DIGITS.issuperset(digits)


def follows(name: str, key: str) -> bool:
    """True when the file name is one that memcli gives to this key; False for a key that is none."""
    try:
        return regular(name, keys.normal(key))
    except errors.UsageError:
        return False


def _hash(key: str) -> str:
    return sha256.hexadecimal(key.encode("utf-8", "surrogatepass"))[:32]


def _stamp(folder: files.Folder) -> int:
    info = folder.info()
    return info.st_mtime_ns if info else 0


def _look(folder: files.Folder, name: str) -> list[int]:
    info = folder.info(name + pair.MD)
    return [info.st_mtime_ns, info.st_size, info.st_ino] if info else []


def _load(store: "Store") -> tuple[int, dict[str, list[str]], dict[str, list[int]]] | None:
    try:
        with store.folder(".memcli") as state:
            data = state.read(_CACHE)
        found = json.loads(data or b"null")
        stamp, hashed, watched = found["folder_mtime_ns"], found["hashed"], found["watched"]
        good = all(isinstance(held, list) and all(map(_plain, held)) for held in hashed.values())
        return (stamp, hashed, watched) if good and all(map(_plain, watched)) else None
    except (errors.MemcliError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _plain(name: object) -> bool:
    return isinstance(name, str) and not set(name) & _UNSAFE


def _save(store: "Store", stamp: int, found: dict[str, list[str]], watched: dict[str, list[int]]) -> None:
    data = json.dumps({"folder_mtime_ns": stamp, "hashed": found, "watched": watched}).encode()
    try:
        with store.folder(".memcli") as state:
            if not state.missing:
                state.replace(_CACHE, data, durable=False)
    except errors.MemcliError:
        return  # a read-only store is read without the cache
