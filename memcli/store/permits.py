"""What somebody has allowed on this machine: a model command, a host of embeddings, a bucket.

`memcli.toml` travels with the store (git), so what it names is used only where somebody has allowed exactly that: a mark
lies in `.memcli/allowed`. A stranger's store may bring that file too, so the mark is one that only this machine can have
made, in this very folder.
"""

from memcli.base import files, machine, sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.store.folder import Store

_ALLOWED = "allowed"
_MOST_ALLOWED = 20


def allow(store: "Store", said: str) -> None:
    """Note that these very words, a command or the address of a host, are allowed on this machine."""
    with store.writing() as w, w.store.folder(".memcli", create=True) as state:
        known = _known(state)
        if _mark(state, said) not in known:
            state.replace(_ALLOWED, "".join(f"{m}\n" for m in (*known, _mark(state, said))).encode())


def allowed(store: "Store", said: str) -> bool:
    """True when somebody has allowed this very command or host on this machine."""
    with store.folder(".memcli") as state:
        return _mark(state, said) in _known(state)


def _known(state: "files.Folder") -> list[str]:
    """The newest marks; so few that a stranger cannot try out many."""
    try:
        return (state.read(_ALLOWED) or b"").decode("ascii", "replace").split()[-_MOST_ALLOWED:]
    except files.NotAFile:
        return []


def _mark(state: "files.Folder", said: str) -> str:
    """Of the command, the machine and the folder: whoever wrote the store elsewhere cannot know the last two."""
    info = state.info()
    return sha256.hexadecimal(f"{said}\0{machine.identity()}\0{info.st_ino if info else 0}".encode())
