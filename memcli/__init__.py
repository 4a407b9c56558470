"""memcli: layered memory for LLM agents and for people at a shell, kept as plain files.

import memcli
m = memcli.open("path/to/store")
m.set_fact("deploy target", "Fly.io, region fra", source="user:anna")
print(m.context("how do we deploy?"))
"""

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.engine.memory import Memory as Memory


def open(path: str | None = None, *, tenant: str | None = None) -> "Memory":
    """Open a store that exists.

    path: the store's folder; None finds it as the command line does (environment, nearest ancestor, data folder).
    tenant: the tenant's name, needed where the store has tenants.
    Raises errors.NotFound when there is no store, errors.UsageError when a tenant must be named.
    """
    from memcli.engine import memory

    return memory.open_memory(path, tenant=tenant)


def init(path: str | None = None, *, tenant: str | None = None, git: bool = False) -> "Memory":
    """Make a store in a folder (this one unless named), or what it lacks, and open it.

    git: a repository too, unless the folder is in one. Raises errors.UsageError, errors.SystemFailure.
    """
    from memcli.engine import memory

    return memory.init(path, tenant=tenant, git=git)


def __getattr__(name: str) -> object:
    # Loaded on demand: the command line pays only for what it runs.
    if name == "errors":
        import memcli.errors

        return memcli.errors
    if name == "Memory":
        from memcli.engine.memory import Memory

        return Memory
    raise AttributeError(f"module 'memcli' has no attribute {name!r}")
