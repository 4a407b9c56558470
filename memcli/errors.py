"""Every error that memcli raises on purpose, for programs to catch; docs/reference/exit-codes.md lists them."""

from memcli.base.errors import (
    BadData,
    Blocked,
    Brake,
    Changed,
    Exists,
    Locked,
    MemcliError,
    NewerFormat,
    NoStore,
    NotFound,
    Purged,
    Refused,
    SecretFound,
    SystemFailure,
    UsageError,
    Withheld,
)

__all__ = [
    "BadData",
    "Blocked",
    "Brake",
    "Changed",
    "Exists",
    "Locked",
    "MemcliError",
    "NewerFormat",
    "NoStore",
    "NotFound",
    "Purged",
    "Refused",
    "SecretFound",
    "SystemFailure",
    "UsageError",
    "Withheld",
]
