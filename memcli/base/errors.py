"""Every error that memcli raises on purpose: one tree, each class with its exit code, code word and hint.

A message says what happened, to what, and (the hint) what to do next. It never holds a stored value: keys of
withheld records, texts and secrets stay out of it.
"""


class MemcliError(Exception):
    """Root of the tree. `path` is the file or folder concerned, `hint` the next step; both may be None."""

    exit_code = 1
    code = "error"
    hint: str | None = None

    def __init__(self, message: str, *, path: object = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.path = None if path is None else str(path)
        if hint is not None:
            self.hint = hint


class UsageError(MemcliError):
    """The call's words are off: an unknown option, a bad label, an impossible time."""

    exit_code = 2
    code = "usage"


class NotFound(MemcliError):
    """The named record, tenant or file is not there."""

    exit_code = 3
    code = "not_found"


class NoStore(NotFound):
    """The folder is no store."""

    code = "no_store"
    hint = "make one with: memcli init [DIR]"


class BadData(MemcliError):
    """A file in the store cannot be read as what it should be."""

    exit_code = 4
    code = "bad_data"
    hint = "see: memcli doctor"


class NewerFormat(BadData):
    """The store or the record was written by a newer memcli."""

    code = "newer_format"
    hint = "upgrade memcli"


class Changed(MemcliError):
    """The record is not what the caller saw, or exists where it must not."""

    exit_code = 5
    code = "changed"
    hint = "read it again, then decide"


class Exists(Changed):
    """Something of that name exists already."""

    code = "exists"


class Locked(Changed):
    """Another process held the lock for too long."""

    code = "locked"
    hint = "another memcli is writing; try again"


class Refused(MemcliError):
    """Policy forbids it."""

    exit_code = 6
    code = "refused"


class Withheld(Refused):
    """The record is above the reader's clearance."""

    code = "withheld"
    hint = "--reveal shows it"


class Blocked(Refused):
    """The source of the record is blocked: it is kept and not served."""

    code = "blocked"
    hint = "memcli source allow ID"


class SecretFound(Refused):
    """The text holds a credential."""

    code = "secret"
    hint = "leave it out, or store it with --allow-secret (label restricted)"


class Purged(Refused):
    """The value was purged: a tombstone keeps it from being learned again by accident."""

    code = "purged"
    hint = "--include-forgotten keeps it all the same, and takes the tombstone away"
    by_set = "memcli fact set KEY VALUE --include-forgotten"


class Brake(Refused):
    """A sweep would take away more than is plausible."""

    code = "brake"


class SystemFailure(MemcliError):
    """The operating system or an outside program failed: disk full, read-only, no permission."""

    exit_code = 7
    code = "system"
