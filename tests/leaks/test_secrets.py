"""Five hundred secrets in six places, twelve channels, seven forms: none gets out of what is labelled above internal (S1)."""

import base64
import json
import subprocess
from collections.abc import Callable, Iterator

import pytest
from figures import Record
from support import NOW, Box

from memcli.model import policy

from .secrets import KINDS, Finder, Secret, forms, secrets

PLACES = ("body", "key", "tag", "source", "import path", "episode")
SIZES = [pytest.param(3), pytest.param(25, marks=pytest.mark.full)]
OPEN = "zebrafinch"  # in what may be shown


def row(place: str, number: int, secret: Secret) -> dict[str, object]:
    """A restricted record with the secret in one place, as a line of one's own backup."""
    made: dict[str, object] = {
        "kind": "fact",
        "key": f"{place} {number}",
        "text": "a plain text",
        "sensitivity": "restricted",
    }
    if place == "body":
        return made | {"text": f"about {OPEN}: {secret.text}"}
    if place == "key":
        return made | {"key": " ".join(secret.text.split())}
    if place == "tag":
        return made | {"tags": [secret.text, secret.core]}
    if place == "source":
        return made | {"source": {"id": secret.text, "kind": "agent"}, "run": secret.core, "agent": secret.core}
    if place == "import path":
        path = f"/home/{secret.core}/notes.md"
        return made | {
            "source": {"id": path, "kind": "file", "via": "import"},
            "derived_from": [path],
            "check": f"path:{path}",
        }
    more = {"task": secret.text, "findings": [secret.text], "session": secret.core, "tags": [secret.core]}
    return {"kind": "episode", "at": NOW, "text": secret.text, "sensitivity": "restricted", **more}


class Planted:
    """A store full of secrets; cores by place."""

    def __init__(self, box: Box, each: int) -> None:
        self.box, self.full = box, each >= 25
        self.by_place = {place: secrets(each, place) for place in PLACES}
        rows = [row(place, n, s) for place, found in self.by_place.items() for n, s in enumerate(found)]
        lines = "".join(json.dumps(r) + "\n" for r in rows)
        done = box.data("import", "jsonl", "-", "--trusted", stdin=lines.encode())
        assert (done["created"], done["bad"], done["masked"]) == (len(rows), [], 0), done
        box.set(OPEN, f"{OPEN} is the code name", "--tag", OPEN)
        box.add(f"talked about {OPEN}", "--task", OPEN)
        self.count = len(rows)
        self.cores = {s.core for found in self.by_place.values() for s in found}
        self.finder = Finder(self.cores)


@pytest.fixture(params=SIZES, ids="{} a kind".format)
def planted(request: pytest.FixtureRequest, box: Box) -> Planted:
    return Planted(box, request.param)


def said(planted: Planted, *calls: tuple[str, ...], forms: tuple[str, ...] = ("", "--json", "--jsonl")) -> bytes:
    """What commands print in all their forms, on both streams."""
    found = []
    for words in calls:
        for form in forms:
            ran = planted.box.run(*words, *filter(None, [form]))
            assert ran.code != 1, (words, ran)
            found.append(ran.out + ran.err)
    return "\n".join(found).encode()


def each_kind(planted: Planted, place: str) -> Iterator[tuple[int, Secret]]:
    """(number, secret): one of every kind; of a small store of every fifth."""
    found = planted.by_place[place]
    step = len(found) // len(KINDS) * (1 if planted.full else 5)
    return ((n, found[n]) for n in range(0, len(found), step))


# What `search` and `get` are asked for they are told; only what they say beyond that counts.


def queries(planted: Planted, verb: str, *more: str) -> bytes:
    words = [OPEN, "plain text", "restricted", "talked", "the number is", "PRIVATE KEY", "body", "notes.md"]
    return said(planted, *((verb, word, *more) for word in words))


def errors_of(planted: Planted) -> bytes:
    """Calls that fail on records that hold secrets."""
    calls = []
    for place in ("body", "tag", "source", "import path"):
        for n, _ in each_kind(planted, place):
            key = f"{place} {n}"
            calls += [
                ("fact", "set", key, "x", "--create"),
                ("fact", "set", key, "x", "--if-match", "0"),
                ("fact", "rename", OPEN, key),
            ]
            calls += [("forget", key), ("fact", "edit", key), ("restore", key)]
    return said(planted, *calls, forms=("",))


def withheld(planted: Planted) -> bytes:
    calls = []
    for place in ("body", "tag", "source", "import path"):
        for n, _ in each_kind(planted, place):
            calls += [("fact", verb, f"{place} {n}") for verb in ("get", "history", "related", "chain")]
    return said(planted, *calls, forms=("", "--json"))


def state(planted: Planted) -> bytes:
    """Logs, caches, the index: whatever lies in .memcli and is neither the trash nor working memory."""
    root = planted.box.root / ".memcli"
    kept = [p for p in sorted(root.rglob("*")) if p.is_file() and p.relative_to(root).parts[0] not in ("trash", "work")]
    return b"\n".join(str(p.relative_to(root)).encode() + b"\n" + p.read_bytes() for p in kept)


def names(planted: Planted) -> bytes:
    return "\n".join(str(p.relative_to(planted.box.root)) for p in planted.box.root.rglob("*")).encode()


def in_git(planted: Planted) -> bytes:
    git = ["git", "-C", str(planted.box.root)]
    planted.box.ok("init", str(planted.box.root), "--git")
    subprocess.run([*git, "add", "-A"], check=True, capture_output=True)
    listed = subprocess.run([*git, "ls-files"], check=True, capture_output=True).stdout
    subprocess.run([*git, "commit", "-qm", "all"], check=True, capture_output=True)
    log = subprocess.run([*git, "log", "--format=%B%an%ae"], check=True, capture_output=True).stdout
    return listed + log + said(planted, ("review", "diff", "HEAD"))


CHANNELS: dict[str, Callable[[Planted], bytes]] = {
    "context text": lambda p: said(p, ("context",), ("context", OPEN), ("context", "plain text", "--untrusted"), forms=("",)),
    "context JSON": lambda p: said(p, ("context", OPEN, "--format", "json"), ("context", "--format", "json"), forms=("", "--json")),
    "search text": lambda p: queries(p, "search"),
    "search with reasons": lambda p: queries(p, "search", "--explain"),
    "evidence": lambda p: queries(p, "retrieve") + queries(p, "recall", "--explain", "-n", "0"),
    "lists": lambda p: said(p, ("fact", "list"), ("episode", "list", "-n", "0"), ("source", "list"), ("procedure", "list"), ("graph",)),
    "get without reveal": withheld,
    "stats and health": lambda p: said(p, ("status",), ("stats",), ("stats", "--retrieval"), ("doctor",), ("check",), ("where",), ("config",)),
    "reports": lambda p: said(p, ("sweep", "--dry-run"), ("sweep",), ("verify",), ("review", "list"), ("consolidate", "--all", "--dry-run")),
    "errors": errors_of,
    "logs, caches and index": state,
    "names of files": names,
    "git and exports": lambda p: in_git(p) + said(p, ("export", "jsonl", "-", "--clearance", "internal"), forms=("",)),
}  # fmt: skip


@pytest.mark.timeout(900)
def test_no_secret_gets_out(planted: Planted, figure: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMCLI_DEBUG", "1")
    found = {name: planted.finder.find(channel(planted)) for name, channel in CHANNELS.items()}
    leaked = {name: sorted(cores)[:5] for name, cores in found.items() if cores}
    checks = planted.count * len(CHANNELS)
    figure("planted secrets: shown", checks, bad=sum(map(len, found.values())))
    assert leaked == {}
    assert OPEN in planted.box.ok("context").out


OPENED = {
    "context": ("context", f"about {OPEN} plain text", "--clearance", "restricted", "--budget", "100000"),
    "fact list": ("fact", "list", "--clearance", "restricted"),
    "episode list": ("episode", "list", "-n", "0", "--clearance", "restricted"),
    "export": ("export", "jsonl", "-"),
}


@pytest.mark.parametrize("channel", OPENED)
def test_what_is_asked_for_at_its_clearance_is_found(box: Box, channel: str) -> None:
    """The test above would pass if nothing could be found: here what it looks for is printed."""
    planted = Planted(box, 1)
    assert len(planted.finder.find(said(planted, OPENED[channel], forms=("",)))) > 5


@pytest.mark.parametrize("channel", ["lists", "get without reveal", "git and exports"])
def test_a_clearance_that_is_not_looked_at_is_found(box: Box, channel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from memcli.cli import fact

    planted = Planted(box, 1)
    monkeypatch.setattr(policy, "cleared", lambda *_: True)
    monkeypatch.setattr(fact, "check_clearance", lambda *_: None)
    assert planted.finder.find(CHANNELS[channel](planted))


def test_every_form_of_every_secret_is_found() -> None:
    made = secrets(2, "forms")
    assert len({s.core for s in made}) == len(made) == 40
    finder = Finder(s.core for s in made)
    for secret in made:
        for name, form in forms(secret.core):
            assert secret.core in {core for core, _ in finder.find(f"x {form} y".encode())}, (secret, name)
        for shift in range(3):
            coded = base64.b64encode(b"?" * shift + secret.core.encode() + b"!!")
            assert secret.core in {core for core, _ in finder.find(coded)}
    assert finder.find(b"nothing of the kind 2026-11-15T09:00:00Z 0199e4a0-5b00-7c3e-9a51-0d6a0f1b2c3d") == set()
