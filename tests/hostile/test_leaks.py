"""What is labelled sensitive or restricted leaves by no channel of a reader with the default clearance.

A canary is planted in every field of every kind of record, at both labels, and by every way in which a record comes to be
withheld. Then every command that reads is run in every form, and their output, the caches and the names of files are
searched for the canary as it is and in the forms in which it might slip through.
"""

import base64
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import CANARY, Box, Ran, at

from memcli.cli import table

from .common import EXITS, clean

LABELS = ("sensitive", "restricted")
OTHER = "zebrafinch"  # beside the canary, for what must be shown


def forms(word: str) -> Iterator[tuple[str, str]]:
    """(name, text) for every form in which the word might leave; text is in lower case."""
    yield "as it is", word
    yield "reversed", word[::-1]
    yield "hex", word.encode().hex()
    yield "spelled", "-".join(word)
    yield "spelled with spaces", " ".join(word)
    for shift in range(3):
        coded = base64.b64encode(b"x" * shift + word.encode()).decode()
        yield f"base64 {shift}", coded[(0, 2, 3)[shift] : -4].lower()


def leaks(text: str, words: tuple[str, ...] = (CANARY,)) -> list[str]:
    """The forms of the canary that a text holds."""
    low = text.lower()
    return [f"{word}: {name}" for word in words for name, form in forms(word) if form in low]


def test_the_search_finds_every_form() -> None:
    for text in (CANARY, CANARY.upper(), CANARY.title(), CANARY[::-1], CANARY.encode().hex(), " ".join(CANARY)):
        assert leaks(f"xx{text}yy")
    for shift in range(3):
        assert leaks(base64.b64encode(b"?" * shift + CANARY.encode() + b"!!").decode())
    assert not leaks("the king's fisher")


def plant(box: Box, label: str) -> None:
    """Canaries in every field and by every way; each key is its own."""
    word, close = f"{CANARY} {label}", ("--sensitivity", label)

    def secret(key: str, text: str, *options: str) -> None:
        box.ok("fact", "set", key, "-", *close, *options, stdin=text.encode())

    secret(f"{label} body", f"the body says {word}")
    secret(f"{word} key", "body")
    secret(f"{label} tag", "body", "--tag", word, "--tag", CANARY)
    secret(f"{label} source", "body", "--source", f"agent:{CANARY}-{label}")
    secret(f"{label} domain", "body", "--domain", word)
    secret(f"{label} derived", "body", "--derived-from", word)
    secret(f"{label} run", "body", "--run", word, "--agent", word)
    secret(f"{label} related", "body")
    box.ok("fact", "relate", f"{label} related", "is_a", word)
    box.ok("fact", "confirm", f"{label} related", "--source", f"agent:{CANARY}", "--run", word)
    secret(f"{label} checked", "body", "--check", f"path:{CANARY}")
    # History: an older value at a weaker label, and one that has ended.
    box.set(f"{label} raised", f"old {word}", "--tag", CANARY)
    secret(f"{label} raised", "new value")
    box.set(f"{label} label only", f"{word}")
    box.ok("fact", "set", f"{label} label only", *close)
    box.set(f"{label} renamed", f"old {word}")
    secret(f"{label} renamed", "new value")
    box.ok("fact", "rename", f"{label} renamed", f"{label} renamed to {CANARY}")
    secret(f"{label} expired", word, "--ttl", "1m")
    secret(f"{label} forgotten", word)
    box.ok("forget", f"{label} forgotten", "--yes")
    # Episodes and procedures.
    fields = (
        "--task",
        word,
        "--finding",
        word,
        "--session",
        CANARY,
        "--run",
        CANARY,
        "--agent",
        CANARY,
        "--tag",
        CANARY,
    )
    more = (
        "--concept",
        CANARY,
        "--pattern",
        word,
        "--tool",
        CANARY,
        "--approach",
        word,
        "--evidence",
        f"image:{CANARY}.png",
    )
    box.ok(
        "episode",
        "add",
        "-",
        *close,
        *fields,
        *more,
        "--trace",
        CANARY,
        "--source",
        f"agent:{CANARY}",
        stdin=word.encode(),
    )
    weak = box.add("a plain entry", "--task", f"an entry about {CANARY} {label}")
    log = box.log()
    log.write_text(log.read_text() + f"<!-- raise {weak} {label} -->\n")
    steps = ("--step", f"look: {word}", "--task-type", CANARY, "--trigger", word, "--title", word, "--tag", CANARY)
    box.ok("procedure", "propose", f"{label} procedure {CANARY}", word, *steps, *close)
    box.ok("procedure", "approve", f"{label} procedure {CANARY}", "--by", f"user:{CANARY}")
    # Working memory, and what is proposed from a text.
    box.ok("work", "set", f"{CANARY} {label}", word, "--session", "s", *close)
    box.ok("work", "add", word, "--session", "s", *close)
    box.ok("remember", f"{CANARY} is our {label} code name. The {CANARY} budget is {label}.", *close, "--session", "s")


def plant_by_hand(box: Box) -> None:
    """Files without a label that can be read, and copies that only look like records."""
    facts = box.root / "facts"
    heads = {
        "bare": "", "empty header": "---\n---\n", "no label": f"---\nkey: {CANARY} a\n---\n", "odd label": f"---\nkey: {CANARY} b\nsensitivity: Internal\n---\n",
        "boolean label": f"---\nkey: {CANARY} c\nsensitivity: no\n---\n", "list label": f"---\nkey: {CANARY} d\nsensitivity: [public]\n---\n",
        "damaged": f"---\nkey: {CANARY} e\nsensitivity: public\nsensitivity: public\n---\n",
    }  # fmt: skip
    for number, head in enumerate(heads.values()):
        (facts / f"hand{number}.md").write_text(f"{head}{CANARY} by hand\n")
    whole = f"---\nkey: {CANARY} f\nsensitivity: public\n---\n{CANARY}\n"
    for name in (
        ".#x.md",
        "x.md~",
        "#x.md#",
        "x.sync-conflict-20261115-090000-ABC.md",
        "x (1).md",
        "x (conflicted copy 2026-11-15).md",
        "x.md.orig",
    ):
        (facts / name).write_text(whole)
    box.set("torn sidecar", CANARY)
    box.side("torn sidecar").write_text(box.side("torn sidecar").read_text()[:-20])
    box.set("in conflict", "x")
    box.md("in conflict").write_text(f"<<<<<<< HEAD\n{CANARY}\n=======\nx\n>>>>>>> other\n")


@pytest.fixture
def planted(box: Box) -> Box:
    """A store full of canaries, with one plain record beside them."""
    box.set("plain", OTHER, "--tag", "t", "--domain", "d", "--source", "user:anna")
    box.add(OTHER, "--task", OTHER)
    for label in LABELS:
        plant(box, label)
    plant_by_hand(box)
    box.now = at(minutes=10).isoformat().replace("+00:00", "Z")
    return box


READS = [
    ("where",), ("status",), ("stats",), ("doctor",), ("check",), ("audit",), ("audit", "-n", "0"), ("config",), ("fact", "list"), ("fact", "list", "--prefix", "s"), ("fact", "list", "--tag", "t"),
    ("episode", "list"), ("episode", "list", "--session", "s"), ("work", "list", "--session", "s"), ("work", "get", "x", "--session", "s"),
    ("context",), ("context", "the body says"), ("context", "look", "--task-type", "x"), ("context", "--untrusted", "--session", "s"),
    ("context", "--format", "json"), ("context", "code name", "--format", "json", "--untrusted", "--session", "s"),
    ("procedure", "list"), ("procedure", "best", "look"), ("source", "list"), ("graph", "--format", "mermaid"), ("graph", "--format", "dot"), ("graph", "--format", "html"),
    ("verify",), ("sweep", "--dry-run"), ("export", "jsonl", "-", "--clearance", "internal"), ("review", "list"), ("review", "accept", "--all", "--dry-run"), ("search", "the body says"),
    ("search", "entry about"), ("search", "code name", "--layer", "facts"), ("retrieve", "code name"), ("retrieve", "the body says", "--session", "s"),
    ("recall", "what the body says", "--session", "s", "--explain"), ("recall", "code name is look", "--goal", "verify_claim", "-n", "0"),
    ("recall", "look", "--goal", "explore_topic", "-n", "0", "--explain"), ("recall", "plain related", "-n", "0"), ("stats", "--retrieval"), ("consolidate", "--session", "s", "--dry-run"),
    *((verb, what) for verb in ("search", "context") for what in ("sensitive", "restricted", "old", "body", "budget", "hand")),
    *(("fact", verb, key) for verb in ("get", "history", "related", "chain") for label in LABELS
      for key in (f"{label} body", f"{label} raised", f"{label} label only", f"{label} renamed", f"{label} expired", f"{label} forgotten", f"{label} related")),
    *(("procedure", "show", f"{label} procedure") for label in LABELS), ("source", "show", "agent:x"), ("fact", "get", "torn sidecar"), ("fact", "get", "in conflict"),
    ("fact", "get", "hand0"),
]  # fmt: skip
REFUSED = [
    *((("fact", "set", f"{label} body", "x", option), 5) for label in LABELS for option in ("--create", "--if-match=0")),
    *((("fact", "rename", "plain", f"{label} body"), 5) for label in LABELS),
    *((("fact", "restore", f"{label} body"), 3) for label in LABELS),
    *((("forget", f"{label} body"), 6) for label in LABELS),
    *((("fact", "edit", f"{label} body"), 6) for label in LABELS),
    (("fact", "set", "torn sidecar", "x"), 4), (("fact", "rename", "torn sidecar", "y"), 4), (("fact", "adopt", "in conflict"), 4),
]  # fmt: skip


def everywhere(box: Box, words: tuple[str, ...]) -> list[tuple[tuple[str, ...], Ran]]:
    """A command in each of its forms."""
    return [((*words, *form), clean(box.run(*words, *form))) for form in ((), ("--json",), ("--jsonl",))]


def test_nothing_withheld_is_printed(planted: Box) -> None:
    found = {}
    for words in READS:
        for call, ran in everywhere(planted, words):
            if ran.code == 2 and call[-1] != "--jsonl":
                pytest.fail(f"{call}: {ran}")
            if seen := leaks(ran.out + ran.err):
                found[" ".join(call)] = (seen, ran)
    assert found == {}
    shown = "".join(planted.ok(*words).out for words in (("context",), ("fact", "list"), ("search", OTHER)))
    assert shown.count(OTHER) >= 4


def test_every_command_that_can_read_is_among_them() -> None:
    """A new command must be added above, or said here to print nothing of what is stored."""
    writers = {
        "init", "fact set", "fact edit", "fact rename", "fact forget", "fact restore", "fact adopt", "fact confirm", "fact deny", "fact relate",
        "fact unrelate", "episode add", "work set", "work add", "work clear", "procedure propose", "procedure approve", "procedure reject",
        "procedure record", "source set", "source allow", "source block", "forget", "restore", "sweep", "scrub", "import", "remember", "consolidate",
        "review accept", "review reject", "review walk", "reindex", "git setup", "sync", "merge-driver",
    }  # fmt: skip
    elsewhere = {"episode show": "test_ids", "review show": "test_ids", "review diff": "test_git"}
    read = {path for path in table.COMMANDS for words in READS if path == " ".join(words[: path.count(" ") + 1])}
    assert set(table.COMMANDS) - read - writers - set(elsewhere) == set()


def test_ids(planted: Box) -> None:
    """Records asked for by id, whose ids an attacker may know."""
    rows = planted.data("export", "jsonl", "-")
    ids = [row["id"] for row in rows if "id" in row and CANARY in json.dumps(row)]
    ids += re.findall(r'"id":"([0-9a-f-]{36})"', planted.log().read_text())
    assert len(ids) > 20
    for made in ids:
        for words in (("episode", "show", made), ("fact", "get", made), ("review", "show", made), ("restore", made)):
            for call, ran in everywhere(planted, words):
                assert not leaks((ran.out + ran.err).replace(OTHER, "")), call


def test_errors_say_nothing_of_what_is_withheld(planted: Box) -> None:
    for words, code in REFUSED:
        for call, ran in everywhere(planted, words):
            assert ran.code in (code, 2), (call, ran)
            assert not leaks(ran.out + ran.err), (call, ran)


def test_caches_and_names_of_files_say_nothing(planted: Box) -> None:
    """The trash and the working memory hold values by design, in a private folder that git ignores; nothing else does."""
    for words in READS:
        planted.run(*words)
    state = planted.root / ".memcli"
    inside = [p for p in state.rglob("*") if p.is_file() and p.relative_to(state).parts[0] not in ("trash", "work")]
    assert inside
    assert {
        p.name: leaks(p.read_bytes().decode("latin-1")) for p in inside if leaks(p.read_bytes().decode("latin-1"))
    } == {}
    # Records that were created sensitive hide their key in the name; by hand or raised later they cannot.
    for path in planted.root.rglob("*"):
        assert not leaks(path.name), path


def test_git_learns_no_name_and_no_message(planted: Box) -> None:
    git = ["git", "-C", str(planted.root)]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    tracked = subprocess.run([*git, "ls-files"], check=True, capture_output=True, text=True).stdout
    assert ".memcli" not in tracked
    assert not leaks(tracked)


def test_private_whatever_the_umask(tmp_path: Path) -> None:
    from support import spawn

    for umask in (0, 0o022, 0o077):
        box = Box(tmp_path / f"s{umask}")
        for words in (("init",), ("fact", "set", "k", "v"), ("fact", "set", "k", "w"), ("episode", "add", "x"), ("work", "set", "a", "b", "--session", "s"),
                      ("procedure", "propose", "p", "x", "--step", "a: b"), ("source", "block", "user:x"), ("forget", "k", "--yes"), ("search", "x"),
                      ("export", "jsonl", str(box.root / "backup.jsonl")), ("context", "--receipt", str(box.root / "receipt.json"))):  # fmt: skip
            assert spawn(box.words(*words), umask=umask).code in EXITS
        modes = {str(p.relative_to(box.root)): oct(p.stat().st_mode & 0o777) for p in box.root.rglob("*")}
        assert {n: m for n, m in modes.items() if m != ("0o700" if (box.root / n).is_dir() else "0o600")} == {}


@pytest.mark.parametrize("fault", ["policy.cleared", "cli.fact.check_clearance", "pair._label"])
def test_the_tests_above_can_fail(fault: str, planted: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    from memcli.cli import fact
    from memcli.model import labels, policy
    from memcli.store import pair

    if fault == "policy.cleared":
        monkeypatch.setattr(policy, "cleared", lambda *_: True)
    elif fault == "pair._label":
        monkeypatch.setattr(pair, "_label", lambda *_: labels.PUBLIC)
    else:
        monkeypatch.setattr(fact, "check_clearance", lambda *_: None)
    printed = "".join(ran.out + ran.err for words in READS for ran in (planted.run(*words),))
    assert leaks(printed)
