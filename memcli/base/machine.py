"""What this machine says of itself."""

import os
import sys

from memcli.base import errors, files


def ram_used() -> float | None:
    """The share of RAM in use, 0 to 1; None where the machine does not say."""
    try:
        return _macos() if sys.platform == "darwin" else _linux()
    except (errors.MemcliError, ValueError, IndexError, KeyError, ZeroDivisionError):
        return None


def identity() -> str:
    """Words that are the same only for this user of this machine: systemd's machine id, else the network name."""
    with files.Folder("/etc") as etc:
        try:
            found = (etc.read("machine-id") or b"").decode("ascii", "replace").strip()
        except errors.MemcliError:
            found = ""
    return f"{found or os.uname().nodename} {os.getuid()}"


def _linux() -> float:
    with files.Folder("/proc") as proc:
        return meminfo((proc.read("meminfo") or b"").decode("ascii", "replace"))


def _macos() -> float:
    from memcli.base import command

    total = int(command.run(["sysctl", "-n", "hw.memsize"]).out)
    return vm_stat(command.run(["vm_stat"]).out, total)


def meminfo(text: str) -> float:
    """The share in use by Linux's /proc/meminfo. Raises KeyError, ValueError, IndexError for another text."""
    rows = {line.partition(":")[0]: line.split()[1] for line in text.splitlines() if ":" in line}
    return 1 - int(rows["MemAvailable"]) / int(rows["MemTotal"])


def vm_stat(text: str, total_bytes: int) -> float:
    """The share in use by macOS's vm_stat: what is neither free nor ready to be taken. Raises KeyError, ValueError."""
    first, *lines = text.splitlines()
    page = int("".join(c for c in first if c.isdigit()))
    rows = {line.partition(":")[0]: int(line.partition(":")[2].strip(" .")) for line in lines if ":" in line}
    ready = sum(rows[f"Pages {name}"] for name in ("free", "inactive", "speculative", "purgeable"))
    return 1 - ready * page / total_bytes
