"""Positive controls: small two-file stores, one written well and the others wrong on purpose.

A harness that finds nothing has proved nothing until it has found these. Run as a program by the fork server:

    put PROTOCOL ROOT NAME TEXT LABEL     fix RECOVERY ROOT     get ROOT NAME     peek ROOT NAME (public text only)

`NAME.md` holds the id of the value and its text, `NAME.meta.json` the same id and the label. All have the same clever
reader, so that what it reports is the writer's fault.
"""

import contextlib
import dataclasses
import json
import os
import sys
import time
import uuid
from collections.abc import Iterator

GONE, DAMAGED, SYSTEM = 3, 4, 7


@dataclasses.dataclass(frozen=True)
class Protocol:
    """A way to write the pair. The defaults are the good one (trust.md 2.1)."""

    order: str = "sidecar first"
    sync_files: bool = True
    sync_folder: bool = True
    early_word: bool = False  # says "saved" before it is
    deaf: bool = False  # hears no OSError
    short_sighted: bool = False  # takes a short write for a whole one
    untidy: bool = False  # leaves its temporary files after an error
    careless: bool = False  # lets an error end as a traceback
    endless: bool = False  # tries again for ever
    trusting: bool = False  # takes a value that stands there already for a durable one


PROTOCOLS = {
    "good": Protocol(),
    "in place": Protocol(order="in place"),
    "body first": Protocol(order="body first"),
    "no fsync": Protocol(sync_files=False, sync_folder=False),
    "no folder fsync": Protocol(sync_folder=False),
    "early word": Protocol(early_word=True),
    "deaf": Protocol(deaf=True),
    "short-sighted": Protocol(short_sighted=True),
    "untidy": Protocol(untidy=True),
    "careless": Protocol(careless=True),
    "endless": Protocol(endless=True),
    "trusting": Protocol(trusting=True),
}


# ---- writing ----


def put(how: Protocol, root: str, name: str, text: str, label: str) -> None:
    if how.early_word:
        print("saved", flush=True)
    old = sidecar(root, name)
    new_id = str(uuid.uuid4())
    body = f"{new_id}\n{text}\n".encode()
    meta = {"id": new_id, "supersedes": old and old["id"], "label": label, "size": str(len(body))}
    if how.trusting and old and get(root, name) == (text + "\n", label):
        return print("unchanged")
    with on_error(how):
        ORDERS[how.order](how, paths(root, name), (body, json.dumps(meta).encode()), new_id)
    if not how.early_word:
        print("saved")
    return None


@contextlib.contextmanager
def on_error(how: Protocol) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        while how.endless:
            time.sleep(1)
        if how.careless:
            raise RuntimeError("a bug") from error
        if not how.deaf:
            raise


def sidecar_first(how: Protocol, targets: list[str], contents: tuple[bytes, bytes], new_id: str) -> None:
    (md, meta), root = targets, os.path.dirname(targets[0])
    with temps(how, targets, contents, new_id) as (md_temp, meta_temp):
        sync(how, root)
        os.rename(meta_temp, meta)
    # Committed: the body's temp is the new text now, and no error may remove it.
    sync(how, root)
    os.rename(md_temp, md)
    sync(how, root)


def body_first(how: Protocol, targets: list[str], contents: tuple[bytes, bytes], new_id: str) -> None:
    root = os.path.dirname(targets[0])
    with temps(how, targets, contents, new_id) as made:
        sync(how, root)
        for temp, target in zip(made, targets, strict=True):
            os.rename(temp, target)
            sync(how, root)


def in_place(how: Protocol, targets: list[str], contents: tuple[bytes, bytes], new_id: str) -> None:
    for target, data in zip(targets, contents, strict=True):
        write(how, target, data, os.O_TRUNC)
    sync(how, os.path.dirname(targets[0]))


ORDERS = {"sidecar first": sidecar_first, "body first": body_first, "in place": in_place}


@contextlib.contextmanager
def temps(how: Protocol, targets: list[str], contents: tuple[bytes, bytes], new_id: str) -> Iterator[list[str]]:
    """Writes the temporary files; removes them again when the block fails."""
    names = [temp_of(target, new_id) for target in targets]
    try:
        for temp, data in zip(names, contents, strict=True):
            write(how, temp, data, os.O_EXCL)
        yield names
    except OSError:
        for temp in [] if how.untidy else names:
            with contextlib.suppress(OSError):
                os.unlink(temp)
        raise


def write(how: Protocol, path: str, data: bytes, flags: int) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o600)
    try:
        while data:
            data = data[os.write(fd, data) :]
            if how.short_sighted:
                break
        if how.sync_files:
            os.fsync(fd)
    finally:
        os.close(fd)


def sync(how: Protocol, root: str) -> None:
    if not how.sync_folder:
        return
    fd = os.open(root, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


# ---- reading ----


def paths(root: str, name: str) -> list[str]:
    return [os.path.join(root, name + ending) for ending in (".md", ".meta.json")]


def temp_of(target: str, value_id: str) -> str:
    folder, name = os.path.split(target)
    return os.path.join(folder, f".{name}.{value_id}.tmp")


def sidecar(root: str, name: str) -> dict[str, str] | None:
    try:
        with open(paths(root, name)[1], encoding="utf-8") as file:
            found: dict[str, str] = json.load(file)
            return found
    except FileNotFoundError:
        return None


def get(root: str, name: str) -> tuple[str, str]:
    """(text, label): the body is the temp of the sidecar's id where a rename is still to come."""
    meta = sidecar(root, name)
    md = paths(root, name)[0]
    if meta is None:
        raise SystemExit(DAMAGED if os.path.exists(md) else GONE)
    temp = temp_of(md, meta["id"])
    with open(temp if os.path.exists(temp) else md, encoding="utf-8") as file:
        value_id, _, text = file.read().partition("\n")
    if not value_id or (value_id == meta["id"] and str(len(value_id) + 1 + len(text)) != meta["size"]):
        raise SystemExit(DAMAGED)
    return text, meta["label"]


# ---- recovery ----


def tidy(root: str) -> None:
    """The good recovery: finishes the rename that the sidecar promises, removes every other temp."""
    for name in sorted(n for n in os.listdir(root) if n.startswith(".") and n.endswith(".tmp")):
        target = os.path.join(root, name[1:].split(".")[0] + ".md")
        meta = sidecar(root, name[1:].split(".")[0])
        temp = os.path.join(root, name)
        if meta and temp == temp_of(target, meta["id"]):
            os.rename(temp, target)
        else:
            os.unlink(temp)
    sync(Protocol(), root)


def clumsy(root: str) -> None:
    """Finishes by copying in place after it has removed the temp: a second kill loses the value."""
    meta = sidecar(root, "fact")
    md = paths(root, "fact")[0]
    if meta and os.path.exists(temp := temp_of(md, meta["id"])):
        with open(temp, "rb") as file:
            data = file.read()
        os.unlink(temp)
        write(Protocol(), md, data, os.O_TRUNC)
    tidy(root)


def amnesiac(root: str) -> None:
    """Takes the value back: removes every temp, the promised one too, and the sidecar with it."""
    for name in [n for n in os.listdir(root) if n.startswith(".fact.md")]:
        os.unlink(os.path.join(root, name))
        os.unlink(paths(root, "fact")[1])
    tidy(root)


def restless(root: str) -> None:
    """Recovers well, and writes a line about it each time."""
    tidy(root)
    with open(os.path.join(root, "log"), "a", encoding="utf-8") as file:
        file.write("recovered\n")


def idle(root: str) -> None:
    """No recovery at all."""


RECOVERIES = {f.__name__: f for f in (tidy, clumsy, amnesiac, restless, idle)}


def main() -> None:
    verb, *words = sys.argv[1:]
    try:
        if verb == "put":
            put(PROTOCOLS[words[0]], *words[1:])
        elif verb == "fix":
            RECOVERIES[words[0]](words[1])
        else:
            text, label = get(*words)
            print(f"{label}: {text}" if verb == "get" or label == "public" else "withheld")
    except OSError as error:
        print(error, file=sys.stderr)
        raise SystemExit(SYSTEM) from None
