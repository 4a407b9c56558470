"""What the hostile tests share: how a call may end at all, and files that hold what somebody wrote by hand."""

import hashlib
import json
import time
from pathlib import Path
from typing import Any

from support import NOW, Box, Ran

# Design §5; 1 is a bug and never allowed.
EXITS = (0, 2, 3, 4, 5, 6, 7, 130)
SECONDS = 5.0  # of this process, so that a busy machine fails no test
ID = "0199e4a0-5b00-7c3e-9a51-0d6a0f1b2c3d"
BODY = "what the file says"


def clean(ran: Ran) -> Ran:
    """Fails unless the call ended in a way that users may see: a known exit code, no traceback, errors on one line."""
    assert ran.code in EXITS, ran
    assert "Traceback" not in ran.err + ran.out, ran
    assert "bug:" not in ran.err, ran
    if ran.code not in (0, 4):  # `check` says on stdout what is wrong
        assert (
            len([line for line in ran.err.splitlines() if line.startswith(("memcli: ", '{"format": 1, "error"'))]) == 1
        ), ran
    return ran


def refused(ran: Ran, code: int, *, says: str = "") -> Ran:
    """Fails unless the call was refused with this code and one line on stderr that says so."""
    clean(ran)
    assert ran.code == code, ran
    assert ran.out == "", ran
    assert says in ran.err, ran
    return ran


def front(**fields: str) -> bytes:
    """A front matter with fields as they are written, and a body."""
    return ("---\n" + "".join(f"{k}: {v}\n" for k, v in fields.items()) + f"---\n\n{BODY}\n").encode()


def fields(**changed: Any) -> dict[str, Any]:
    """The fields of a good sidecar of the key `bad`, some of them changed; None takes one out."""
    raw: dict[str, Any] = {
        "format": 1,
        "id": ID,
        "key": "bad",
        "source": {"id": "anna", "kind": "user"},
        "confidence": 0.6,
        "ttl_minutes": 0,
        "sensitivity": "internal",
        "importance": 0.5,
        "created_at": NOW,
        "updated_at": NOW,
        "body_sha256": hashlib.sha256(BODY.encode()).hexdigest(),
    }
    return {k: v for k, v in (raw | changed).items() if v is not None}


def pair(root: Path, md: bytes | None = None, side: bytes | dict[str, Any] | None = None, name: str = "bad") -> None:
    """Writes the two files of a fact; None stands for good ones."""
    facts = root / "facts"
    (facts / f"{name}.md").write_bytes(front(id=ID, key="bad", sensitivity="internal") if md is None else md)
    raw = fields() if side is None else side
    (facts / f"{name}.meta.json").write_bytes(raw if isinstance(raw, bytes) else json.dumps(raw).encode())


def good(box: Box) -> None:
    """Something that must be served whatever lies beside it."""
    box.set("good key", "good value", "--sensitivity", "public")
    box.add("good episode", "--task", "good task")


def still_good(box: Box) -> None:
    """Fails unless what `good` wrote is served by every reader."""
    assert box.ok("fact", "get", "good key").out == "good value\n"
    assert "good key\tgood value" in box.ok("fact", "list").out
    assert "good task" in box.ok("episode", "list").out
    block = box.ok("context", "good value of a good task", "--budget", "100000").out
    assert "good value" in block
    assert "good task" in block


CALLS: tuple[tuple[str, ...], ...] = (
    ("status",),
    ("stats", "--json"),
    ("doctor", "--json"),
    ("check",),
    ("fact", "list", "--json", "--clearance", "restricted"),
    ("context", "--format", "json", "--clearance", "restricted", "--budget", "1000000"),
    ("context", "good", "--untrusted"),
    ("episode", "list", "--json", "--clearance", "restricted"),
    ("procedure", "list", "--json"),
    ("source", "list", "--json"),
    ("graph", "--format", "mermaid"),
    ("export", "jsonl", "-"),
    ("fact", "history", "bad", "--reveal", "--json"),
    ("fact", "get", "bad", "--reveal", "--json"),
    ("fact", "adopt", "--all"),
    ("fact", "set", "another key", "another value"),
    ("episode", "add", "another episode"),
    ("sweep",),
    ("doctor", "--fix"),
    ("forget", "bad", "--yes"),
)


def walk(box: Box) -> dict[str, Ran]:
    """Runs everything that looks at a whole store, and a write; each must end well or say why it did not."""
    walked = {}
    for words in CALLS:
        began = time.process_time()
        walked[" ".join(words)] = clean(box.run(*words))
        assert time.process_time() - began < SECONDS, words
    return walked
