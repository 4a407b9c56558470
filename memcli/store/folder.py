"""A store on disk: where it is, how it is made, and the one door to write in it.

`locate` finds the folder, `Store` opens it, `Store.writing()` holds the lock and first settles what a stopped writer left.
"""

import os
import stat

from memcli.base import errors, files
from memcli.model import settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    from memcli.store.sources import Blocked
    from memcli.store.tombstones import Tombstones
    from memcli.store.touched import Trail

MARKER = "memcli.toml"
STATE = ".memcli"
TENANTS = "tenants"
TOMBSTONES = "tombstones.jsonl"
_TENANT_MAX = 63
_TENANT_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")


class Store:
    """One open store. root: its folder, absolute; tenant: the tenant's name or ""."""

    __slots__ = ("_settings", "root", "tenant", "why")

    def __init__(self, root: str, *, tenant: str = "", why: str = "") -> None:
        self.root = root
        self.tenant = tenant
        self.why = why
        self._settings: settings.Settings | None = None

    @property
    def settings(self) -> settings.Settings:
        """The store's settings, read once. Raises BadData and NewerFormat."""
        if self._settings is None:
            self._settings = read_settings(self.root)
        return self._settings

    def folder(self, *parts: str, create: bool = False) -> files.Folder:
        """One folder of the store by its components."""
        return files.Folder(self.root, *parts, create=create)

    def tombstones(self) -> "Tombstones | None":
        """What must stay forgotten; None, after one look, where nothing ever was. Raises NotAFile, NewerFormat."""
        with self.folder() as root:
            if root.info(TOMBSTONES) is None:
                return None
        from memcli.store import tombstones

        return tombstones.read(self)

    def check_forgotten(self, layer: str, key: str, text: str, *, again: bool = False, hint: str | None = None) -> bool:
        """True when this value was purged and is to be learned `again`; raises Purged when it was and is not to be.

        hint: the next step, where the command at hand has no --include-forgotten.
        """
        held = self.tombstones()
        if held is None or not held.hold(layer, key, text):
            return False
        if not again:
            raise errors.Purged("this was purged, and its tombstone keeps it from being learned again", hint=hint)
        return True

    def blocked(self) -> "Blocked | tuple[()]":
        """The sources that are not served; empty, after one look, where nothing is known of any source."""
        with self.folder("sources") as folder:
            if not any(n.endswith(".meta.json") for n in folder.names()):
                return ()
        from memcli.store import sources

        return sources.Blocked(self)

    def check_served(self, source: str, what: str = "this fact") -> None:
        """Raise Blocked when a source, given by its id, is not served. what: the record that is of it, in words."""
        if source in self.blocked():
            from memcli.store import sources

            raise errors.Blocked(f"{what} is not served: its source is blocked", hint=sources.way_back(self, source))

    def writing(self, *, patient: bool = False) -> "Writing":
        """`with store.writing() as w:` the only way to change files. patient: for long commands."""
        return Writing(self, patient)


class Writing:
    """The right to write: holds the lock; `note` tells the next writer what may be left half done."""

    __slots__ = ("_lock", "_noted", "_state", "_trail", "patient", "store")

    def __init__(self, store: Store, patient: bool) -> None:
        self.store = store
        self.patient = patient
        self._noted = False
        self._trail: Trail | None = None
        self._lock: Any = None
        self._state: files.Folder | None = None

    def __enter__(self) -> "Writing":
        _ = self.store.settings  # refuses a store of a newer format before anything is touched
        self._state = self.store.folder(STATE, create=True)
        from memcli.base import lock  # readers take none

        kind = lock.PatientLock if self.patient else lock.Lock
        try:
            self._check_lock()
            self._lock = kind(self._state.where("lock")).__enter__()
            self._settle()
            self._finish_update()
            self._take_over_merges()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, kind: "type[BaseException] | None", error: object, trace: "TracebackType | None") -> None:
        try:
            if kind is None:
                self.done()
        finally:
            self._close()

    def note(self, *entries: "dict[str, Any]") -> None:
        """Say in the journal what is about to be written. No fsync: after a power cut the files explain themselves."""
        import json

        assert self._state is not None
        lines = "".join(json.dumps(entry) + "\n" for entry in entries)
        self._leave_trail(entries)
        self._state.append("journal", lines.encode(), durable=False)
        self._noted = True

    def _leave_trail(self, entries: "tuple[dict[str, Any], ...]") -> None:
        """Where there is an index, it learns from here which records it has to read again."""
        if self._trail is None:
            assert self._state is not None
            if self._state.info("index.lock") is None:
                return
            from memcli.store import touched

            self._trail = touched.Trail(self.store)
        for entry in entries:
            if entry.get("layer") in ("facts", "procedures"):
                self._trail.step(entry["layer"], *(entry[n] for n in ("name", "renamed") if n in entry))

    def done(self) -> None:
        """What was noted is whole."""
        if self._noted and self._state is not None:
            self._state.remove("journal")
            self._noted = False
            if self._trail is not None:
                self._trail.leave(self._state)
                self._trail = None

    def _check_lock(self) -> None:
        """A FIFO can be locked too, but whoever put it there did not mean well."""
        assert self._state is not None
        found = self._state.info("lock")
        if found is not None and not stat.S_ISREG(found.st_mode):
            raise files.NotAFile("the lock is no plain file", path=self._state.where("lock"), hint="remove it")

    def _settle(self) -> None:
        assert self._state is not None
        left = self._state.read("journal", limit=None)
        if left is None:
            return
        from memcli.store import recovery

        recovery.settle_journal(self.store, left)
        recovery.clean_replacements(self.store)
        self._state.remove("journal")

    def _finish_update(self) -> None:
        """Where `sync` was stopped, the files of a fleet are half in; a value set now would supersede one half there."""
        assert self._state is not None
        if self._state.info("updating") is not None:
            from memcli.store import checkout

            checkout.settle(self.store)

    def _take_over_merges(self) -> None:
        """What a merge set aside goes to the archive before anything else is written."""
        assert self._state is not None
        if self._state.info("merges") is not None:
            from memcli.store import merges

            merges.settle(self)

    def _close(self) -> None:
        if self._lock is not None:
            self._lock.__exit__(None, None, None)
            self._lock = None
        if self._state is not None:
            self._state.close()
            self._state = None


def read_settings(root: str) -> settings.Settings:
    """The settings of the store at `root`; raises NoStore, BadData, NewerFormat."""
    from memcli.base import toml

    with files.Folder(root) as folder:
        data = folder.read(MARKER)
    if data is None:
        raise errors.NoStore("this folder is no memcli store", path=root)
    try:
        return settings.read(toml.load(data.decode()))
    except UnicodeDecodeError:
        raise errors.BadData("memcli.toml is not UTF-8", path=os.path.join(root, MARKER)) from None
    except errors.BadData as e:
        e.path = e.path or os.path.join(root, MARKER)
        raise


def open_store(path: str | None = None, *, tenant: str | None = None) -> Store:
    """The store that `path`, the environment, the ancestors of this folder or the data folder name, in that order.

    Raises NoStore when there is none, SystemFailure when this user may not look, UsageError for an odd tenant name or
    when a tenant must be named.
    """
    root, why = locate(path)
    if not os.path.isfile(os.path.join(root, MARKER)):
        _check_reach(root)
        raise errors.NoStore("no memcli store here" if why else "no memcli store found", path=root)
    if tenant is None:
        tenant = os.environ.get("MEMCLI_TENANT") or None
    found = _tenant_store(root, tenant, why)
    _ = found.settings  # a store of a newer format is refused before anything in it is read
    return found


def _check_reach(root: str) -> None:
    """Raise SystemFailure where nobody can say whether a store is there: this user has no right to look."""
    try:
        os.stat(os.path.join(root, MARKER))
    except PermissionError as e:
        raise errors.SystemFailure(
            f"the folder cannot be read: {e.strerror}", path=root, hint="check who owns it"
        ) from None
    except (OSError, ValueError):
        return


def locate(path: str | None) -> tuple[str, str]:
    """The folder that is or would be the store, absolute, and the reason in words."""
    if path is not None:
        if not path:
            raise errors.UsageError("--store names no folder")
        return files.absolute(path), "named by --store"
    if named := os.environ.get("MEMCLI_STORE"):
        return files.absolute(named), "named by MEMCLI_STORE"
    here = files.absolute("")
    while True:
        if os.path.isfile(os.path.join(here, MARKER)):
            return here, "nearest folder upwards that holds memcli.toml"
        parent = os.path.dirname(here)
        if os.path.exists(os.path.join(here, ".git")) or parent == here:
            break
        here = parent
    return data_folder(), "the user's data folder"


def data_folder() -> str:
    """`$XDG_DATA_HOME/memcli`, by default `~/.local/share/memcli` (XDG Base Directory Specification)."""
    base = os.environ.get("XDG_DATA_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".local", "share")
    return os.path.join(base, "memcli")


def tenant_name(text: str) -> str:
    """A tenant's name: 1 to 63 of a-z, 0-9, - and _, beginning with a letter or digit. Raises UsageError."""
    good = 0 < len(text) <= _TENANT_MAX and set(text) <= _TENANT_LETTERS and text[0] not in "-_"
    if not good:
        raise errors.UsageError(
            "odd tenant name", hint="1 to 63 of a-z, 0-9, - and _, beginning with a letter or digit"
        )
    return text


def tenants(root: str) -> list[str]:
    """The names of the tenants of a store, sorted."""
    with files.Folder(root, TENANTS) as folder:
        return sorted(n for n in folder.names() if os.path.isfile(os.path.join(root, TENANTS, n, MARKER)))


def _tenant_store(root: str, tenant: str | None, why: str) -> Store:
    if tenant is None:
        if os.path.isdir(os.path.join(root, TENANTS)) and tenants(root):
            raise errors.UsageError(
                "this store has tenants: name one", path=root, hint="--tenant NAME or MEMCLI_TENANT"
            )
        return Store(root, why=why)
    name = tenant_name(tenant)
    if name not in tenants(root):
        _check_reach(os.path.join(root, TENANTS, name))
        raise errors.NotFound(f"no tenant {name}", path=root, hint=f"make it with: memcli --tenant {name} init")
    with files.Folder(root, TENANTS, name) as folder:  # refuses links
        return Store(folder.path, tenant=name, why=why)
