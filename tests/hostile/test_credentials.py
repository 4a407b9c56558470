"""A credential in any text of any command is refused, masked or only looked for: no file and no message holds it in clear."""

import inspect
import subprocess

import pytest
from support import Box

from memcli.cli import quick, table

SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
# What a command needs to work at all; the session and the records of `store` below are there.
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "fact set": ("port", "9090"), "fact get": ("port",), "fact rename": ("port", "other"), "fact history": ("port",),
    "fact forget": ("port", "--yes"), "fact restore": ("gone",), "fact adopt": ("port",), "fact confirm": ("port",),
    "fact deny": ("port",), "fact relate": ("port", "causes", "host"), "fact unrelate": ("port", "causes", "host"),
    "fact related": ("port",), "fact chain": ("port",), "episode add": ("text",), "episode show": ("x",),
    "work set": ("k", "v", "--session", "s"), "work add": ("v", "--session", "s"), "work get": ("a", "--session", "s"),
    "work list": ("--session", "s"), "work clear": ("--session", "s", "--yes"), "remember": ("The vault is deep.",),
    "consolidate": ("--session", "s"), "procedure propose": ("new", "--step", "do"), "procedure approve": ("waits",),
    "procedure reject": ("waits",), "procedure record": ("ready", "--success"), "procedure best": ("rel",),
    "procedure show": ("ready",), "source show": ("anna",), "source set": ("anna", "--trust", "0.5"),
    "source allow": ("anna",), "source block": ("anna",), "forget": ("port", "--yes"), "restore": ("gone",),
    "search": ("port",), "retrieve": ("port",), "recall": ("port",), "graph": ("port",), "review show": ("vault",),
    "review accept": ("vault",), "review reject": ("vault",), "review diff": ("HEAD",), "config": ("defaults.domain",),
    "import": ("jsonl", "nofile"), "export": ("jsonl", "-"), "sweep": ("--yes",),
}  # fmt: skip
# The names of files outside the store, which a command opens or makes as it is told; people at a terminal.
OF_FILES = {"directory", "path", "path_", "path__", "transcript", "receipt", "request", "from_"}
BY_HAND = {"fact edit", "review walk", "scrub"}


def cases() -> list[tuple[str, str, bool]]:
    """Command, parameter, and whether it is an argument."""
    found = []
    for path in table.COMMANDS:
        if path in BY_HAND:
            continue
        for p in list(inspect.signature(table.load(path)).parameters.values())[1:]:
            base, _ = quick.kind(p.annotation) or (None, False)
            if base is str and p.name not in OF_FILES:
                found.append((path, p.name, p.kind is not p.KEYWORD_ONLY))
    return found


@pytest.fixture
def store(box: Box) -> Box:
    for key in ("port", "host", "gone"):
        box.set(key, "8080", "--source", "user:anna")
    box.ok("fact", "forget", "gone", "--yes")
    box.ok("fact", "relate", "port", "causes", "host")
    box.ok("work", "set", "a", "b", "--session", "s")
    box.ok("remember", "The vault is open.", "--importance", "0.1", "--source", "agent:coder")
    for key in ("waits", "ready"):
        box.ok("procedure", "propose", key, "--step", "ship", "--source", "agent:coder", "--task-type", "rel")
    box.ok("procedure", "approve", "ready", "--by", "user:anna")
    return box


@pytest.mark.parametrize("key", ["vault", "waits", "drift"])
@pytest.mark.parametrize("verb", ["accept", "reject"])
def test_who_says_yes_or_no_is_no_credential(key: str, verb: str, store: Box) -> None:
    store.set("drift", "before")
    store.md("drift").write_text(store.md("drift").read_text().replace("before", "after"))
    store.run("review", verb, key, "--by", f"user:{SECRET}")
    assert SECRET.encode() not in b"".join(store.tree(state=True, index=True).values())


@pytest.mark.parametrize(("path", "name", "place"), cases(), ids=lambda x: str(x))
@pytest.mark.parametrize("form", ["{}", "agent:{}", "a: {}"])
def test_no_text_of_a_command_brings_a_credential_in(path: str, name: str, place: bool, form: str, store: Box) -> None:
    words = [*path.split(), *ARGUMENTS.get(path, ())]
    text = form.format(SECRET)
    if place:
        places = list(inspect.signature(table.load(path)).parameters)[1:]
        at = len(path.split()) + places.index(name)
        words[at : at + 1] = [text]
    else:
        words += [f"{quick.option_name(name)}", text]
    ran = store.run(*words)
    assert ran.code in (0, 2, 3, 5, 6), ran
    held = [n for n, data in store.tree(state=True, index=True).items() if SECRET.encode() in data or SECRET in n]
    assert held == []
    assert SECRET not in ran.out + ran.err


def edited(box: Box, name: str, old: str, new: str) -> None:
    path = box.root / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


EDITS = [
    ("facts/port.md", "---\n\n8080", f"tags: [{SECRET}]\n---\n\n8080"),
    ("facts/port.md", "---\n\n8080", f"seen: [{{at: {SECRET}}}]\n---\n\n8080"),
    ("facts/host.meta.json", '"id": "anna"', f'"id": "{SECRET}"'),
    ("procedures/ready.md", "action: ship", f"action: {SECRET}"),
    ("procedures/ready.meta.json", '"id": "coder"', f'"id": "{SECRET}"'),
    ("sources/anna.meta.json", '"id": "anna"', f'"id": "anna",\n  "note": "{SECRET}"'),
    ("episodes/2026-11.md", '"tags":["x"]', f'"tags":["{SECRET}"]'),
]


@pytest.mark.parametrize(("name", "old", "new"), EDITS, ids=[f"{n} {o.split()[0]}" for n, o, _ in EDITS])
def test_a_credential_that_came_in_by_hand_is_reported(name: str, old: str, new: str, store: Box) -> None:
    store.ok("episode", "add", "t", "--tag", "x")
    store.ok("source", "set", "anna", "--trust", "0.7")
    assert "secret" not in store.run("check").out
    edited(store, name, old, new)
    for command, code in (("doctor", 0), ("check", 4)):
        ran = store.run(command, "--json")
        assert (ran.code, '"secret"' in ran.out, SECRET in ran.out + ran.err) == (code, True, False), ran


def test_a_change_of_tags_alone_brings_no_credential_past_the_gate(store: Box) -> None:
    for words in (("init", "-q"), ("add", "-A"), ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x")):
        subprocess.run(["git", "-C", store.root, *words], check=True, capture_output=True)
    assert store.memory.check_against("HEAD") == []
    edited(store, *EDITS[0])
    assert [(f.code, f.key) for f in store.memory.check_against("HEAD")] == [("secret", "port")]


PASSWORD = "tarragon-47-Lamp"
ODD = ["\tpassword: {}", "password: {}\n", "password: {}\t", "a/../password: {}", "password:\u202e {}", "\x07{}", " {}"]


@pytest.mark.parametrize("odd", ODD, ids=ascii)
@pytest.mark.parametrize(
    "words",
    [("fact", "set", "KEY", "v"), ("fact", "rename", "port", "KEY"), ("fact", "get", "KEY"), ("fact", "relate", "port", "causes", "KEY"),
     ("procedure", "propose", "KEY", "--step", "do"), ("source", "set", "KEY", "--trust", "1"), ("work", "set", "KEY", "v", "--session", "s"),
     ("fact", "set", "k", "v", "--source", "KEY"), ("fact", "set", "k", "v", "--tag", "KEY"), ("fact", "KEY"), ("KEY",),
     ("fact", "set", "k", "v", "--confidence", "KEY"), ("fact", "set", "k", "v", "--ttl", "KEY"), ("episode", "add", "t", "--at", "KEY"),
     ("fact", "set", "k", "v", "KEY"), ("fact", "set", "k", "v", "--check", "KEY"), ("episode", "add", "t", "--steps", "KEY"),
     ("review", "list", "--kind", "KEY"), ("graph", "--format", "KEY"), ("fact", "list", "--clearance", "KEY")],
    ids=lambda w: " ".join(w),
)  # fmt: skip
def test_an_error_does_not_say_the_words_that_it_refuses(words: tuple[str, ...], odd: str, store: Box) -> None:
    ran = store.run(*(odd.format(PASSWORD) if w == "KEY" else w for w in words))
    assert PASSWORD not in ran.out + ran.err


def test_an_error_says_where_the_key_is_wrong(store: Box) -> None:
    assert "white space around it (U+0009 at 1)" in store.run("fact", "set", "\tk", "v").err
    assert "hidden characters (U+202E at 2)" in store.run("fact", "set", "k\u202e", "v").err
