"""What is sensitive or restricted leaves by no channel that nobody opened for it, in no form, whatever holds it."""

import base64
import json
import re
import subprocess

import pytest
from support import CANARY, Box, stamp

from memcli.cli import table

FORMS = {
    CANARY,
    CANARY.upper(),
    CANARY[::-1],
    base64.b64encode(CANARY.encode()).decode().rstrip("="),
    CANARY.encode().hex(),
    "-".join(CANARY),
}
KEYS = [f"{CANARY} {label}" for label in ("sensitive", "restricted", "raised", "hand", "damaged", "expired")]


def leaks(words: str) -> list[str]:
    return [form for form in FORMS if form.casefold() in words.casefold()]


def own_words_out(words: str) -> str:
    """Without the task or question, which the answer as data repeats to whoever asked, and what it was widened to."""
    words = re.sub(r'"(?:task|query)": "(?:[^"\\]|\\.)*"', "", words, count=1)
    words = re.sub(r'"queries": \[[^\]]*\]', "", words)
    return re.sub(r"(?m)^also asked: (?:not|refutation of|не|опровержение) .*$", "", words)


def plant(box: Box) -> list[str]:
    """The canary in every field of records of every kind, above internal; the ids of the episodes."""
    made = []
    for label in ("sensitive", "restricted"):
        more = ("--tag", CANARY, "--domain", CANARY, "--source", f"agent:{CANARY}", "--run", CANARY, "--agent", CANARY)
        more += ("--derived-from", CANARY, "--importance", "1", "--sensitivity", label)
        box.set(f"{CANARY} {label}", f"{CANARY} zero", *more)
        box.set(f"{CANARY} {label}", f"{CANARY} one", *more)
        fields = (
            "--task",
            CANARY,
            "--finding",
            CANARY,
            "--pattern",
            CANARY,
            "--tool",
            CANARY,
            "--approach",
            CANARY,
            "--session",
            CANARY,
        )
        fields += (
            "--tag",
            CANARY,
            "--concept",
            CANARY,
            "--evidence",
            f"image:{CANARY}",
            "--trace",
            CANARY,
            "--source",
            f"agent:{CANARY}",
        )
        made.append(box.add(CANARY, *fields, "--sensitivity", label))
    box.set(KEYS[2], f"{CANARY} open once", "--tag", CANARY)
    box.ok("fact", "set", KEYS[2], "--sensitivity", "restricted")
    box.md(KEYS[3]).write_text(f"---\nkey: {KEYS[3]}\ntags: [{CANARY}]\n---\n\n{CANARY} without a label\n")
    box.set(KEYS[4], f"{CANARY} damaged")
    box.side(KEYS[4]).write_text("{")
    box.set(KEYS[5], f"{CANARY} expired", "--ttl", "1", "--sensitivity", "restricted", now=stamp(days=-1))
    box.set("open", "served")
    box.add("served too")
    return made


def channels(made: list[str]) -> list[tuple[str, ...]]:
    """Calls of every command that says something, none of which names a clearance or reveals."""
    found: list[tuple[str, ...]] = [
        (name,) for name in ("where", "status", "stats", "config", "context", "sweep", "verify", "graph")
    ]
    found += [
        ("search", CANARY),
        ("search", "text"),
        ("retrieve",),
        ("retrieve", CANARY, "--session", CANARY),
        ("stats", "--retrieval", "--days", "1"),
        ("recall", "open served text"),
        ("recall", CANARY, "--session", CANARY),
        ("recall", f"{CANARY} is text", "--goal", "verify_claim", "--explain"),
        ("recall", CANARY, "--goal", "explore_topic", "-n", "0"),
        ("retrieve", "--concept", CANARY, "--min-importance", "0"),
        ("context", CANARY),
        ("context", "--format", "json"),
        ("context", "--domain", CANARY),
        ("context", "--untrusted"),
    ]
    found += [
        ("context", "--session", CANARY),
        ("fact", "list"),
        ("fact", "list", "--tag", CANARY),
        ("fact", "list", "--prefix", CANARY),
    ]
    found += [
        ("fact", "list", "--source", CANARY),
        ("episode", "list"),
        ("episode", "list", "--tag", CANARY),
        ("source", "list"),
    ]
    found += [
        ("source", "show", CANARY),
        ("procedure", "list"),
        ("review", "list"),
        ("audit",),
        ("audit", "-n", "0", "--json"),
        ("export", "jsonl", "-", "--clearance", "internal"),
    ]
    for key in KEYS:
        found += [("fact", name, key) for name in ("get", "history", "related", "chain")]
        found += [
            ("fact", "set", key, "--create"),
            ("fact", "set", key, "x", "--create"),
            ("fact", "set", key, "x", "--if-match", "0"),
        ]
        found += [
            ("fact", "rename", key, "open"),
            ("fact", "edit", key),
            ("forget", key),
            ("forget", key, "--dry-run"),
            ("graph", key),
        ]
        found += [("restore", key)]
    found += [("episode", "show", m) for m in made]
    # Paths that the user can see anyway: a name shows its key when the label was raised later, and doctor says so.
    return found


@pytest.mark.parametrize("form", ["text", "json", "jsonl"])
def test_no_channel_shows_what_is_withheld(box: Box, form: str) -> None:
    made = plant(box)
    seen = 0
    for words in channels(made):
        if words[0] == "export" and form != "text":
            continue
        ran = box.run(*words, *([] if form == "text" else [f"--{form}"]))
        assert ran.code != 1, (words, ran)
        seen += ran.code == 0
        assert leaks(own_words_out(ran.out)) == [], (words, ran.out)
        # The path of a damaged file is what its owner needs, and anybody can list it.
        assert leaks(ran.err.replace(f"facts/{box.md(KEYS[4]).name}", "")) == [], (words, ran.err)
    assert seen > 20 or form == "jsonl"


def test_the_channels_are_open_for_what_is_not_withheld(box: Box) -> None:
    """The test above would pass for a program that says nothing."""
    box.set(f"{CANARY} internal", CANARY, "--tag", CANARY, "--source", f"agent:{CANARY}")
    made = box.add(CANARY, "--task", CANARY)
    for words in [
        ("context",),
        ("fact", "list"),
        ("fact", "get", f"{CANARY} internal"),
        ("episode", "show", made),
        ("episode", "list"),
        ("source", "list"),
    ]:
        assert leaks(box.ok(*words).out), words


@pytest.mark.parametrize("words", [("doctor",), ("check",), ("doctor", "--json"), ("doctor", "--fix")], ids=" ".join)
def test_doctor_names_paths_and_never_values(box: Box, words: tuple[str, ...]) -> None:
    value = "merlin"
    box.set("k", value, "--sensitivity", "restricted")
    box.set("j", value)
    for path in (box.side("k"), box.md("j")):
        path.write_text(path.read_text().replace('"restricted"', '"merlin"').replace("internal", "merlin"))
    box.add(value, "--task", value)
    box.log().write_text(
        box.log().read_text().replace('"internal"', '"merlin"') + f"\n## 2026-11-15T09:00:00Z {{{value}}}\n{value}"
    )
    (box.root / "archive").mkdir()
    (box.root / "archive" / "k.jsonl").write_text(f"{value}\n")
    (box.root / "sources").mkdir(exist_ok=True)
    (box.root / "sources" / "s.meta.json").write_text(f"{{{value}")
    toml = box.root / "memcli.toml"
    toml.write_text(toml.read_text() + f'\n[odd]\nname = "{value}"\n')
    ran = box.run(*words)
    assert ran.code in (0, 4)
    assert len(ran.out.splitlines()) >= 5
    assert value not in ran.out + ran.err


def test_no_file_name_shows_the_key_of_a_fact_created_above_internal(box: Box) -> None:
    for label in ("sensitive", "restricted"):
        box.set(f"{CANARY} {label}", "v", "--sensitivity", label)
        box.set(f"{CANARY} {label}", "w")
        box.ok("fact", "rename", f"{CANARY} {label}", f"{CANARY} {label} again")
        box.ok("forget", f"{CANARY} {label} again", "--yes")
        box.ok("restore", f"{CANARY} {label} again")
        box.set(f"{CANARY} {label} ends", "v", "--sensitivity", label, "--ttl", "1")
    box.ok("sweep", now=stamp(hours=1))
    assert [p for p in box.root.rglob("*") if leaks(str(p.relative_to(box.root)))] == []


def test_nothing_in_the_derived_state_but_the_trash_holds_a_withheld_text_or_key(box: Box) -> None:
    made = plant(box)
    for words in channels(made):
        box.run(*words)
    box.ok("doctor", "--fix")
    # What a listing of the folder shows anyway: the names of files whose label was raised later, or that a hand made.
    names = [p.name.split(".")[0].encode() for p in (box.root / "facts").iterdir()]
    held = {n: d for n, d in box.tree(state=True, index=True).items() if n.startswith(".memcli")}
    assert any(n.endswith(".sqlite") for n in held)
    for name in names:
        held = {n: d.replace(name, b"") for n, d in held.items()}
    found = [n for n, d in held.items() if leaks(d.decode("utf-8", "replace"))]
    assert [n for n in found if not n.startswith(".memcli/trash/")] == []


ERRORS = [
    ("fact", "set", "k", CANARY, "--ttl", "soon"),
    ("fact", "set", "k", CANARY, "--sensitivity", "odd"),
    ("fact", "set", "k", CANARY, "--nope", "x"),
    ("fact", "set", "k", CANARY, CANARY),
    ("fact", "set", "k", CANARY, "--if-match", CANARY),
    ("fact", "set", "k", f"password: {CANARY}-77-hunter2"),
    ("episode", "add", CANARY, "--outcome", "odd"),
    ("episode", "add", CANARY, CANARY),
    ("context", CANARY, "--budget", "1"),
    ("context", CANARY, "--layer", "odd"),
    ("import", "jsonl", "-"),
]


@pytest.mark.parametrize("words", ERRORS, ids=" ".join)
@pytest.mark.parametrize("debug", ["", "1"])
def test_an_error_says_what_and_never_the_value(
    box: Box, words: tuple[str, ...], debug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMCLI_DEBUG", debug)
    for form in ((), ("--json",)):
        ran = box.run(*words, *form, stdin=f'{{"kind": "fact", "key": "{CANARY}\\n", "text": "{CANARY}"}}\n'.encode())
        assert ran.code not in (0, 1)
        assert leaks(ran.out + ran.err.replace(str(box.root), "")) == [], ran


@pytest.mark.parametrize("label", ["missing", "unknown", "list", "duplicate", "null"])
@pytest.mark.parametrize("place", ["text", "sidecar", "both"])
def test_a_label_that_cannot_be_read_fails_closed_and_is_counted(box: Box, label: str, place: str) -> None:
    box.set("k", CANARY, "--sensitivity", "public")
    box.set("open", "v")
    front = {
        "missing": "",
        "unknown": "sensitivity: secret\n",
        "list": "sensitivity: [public]\n",
        "duplicate": "sensitivity: public\nsensitivity: public\n",
        "null": "sensitivity: null\n",
    }
    meta = {
        "missing": "",
        "unknown": '"sensitivity": "secret",',
        "list": '"sensitivity": ["public"],',
        "duplicate": '"sensitivity": "public", "sensitivity": "public",',
        "null": '"sensitivity": null,',
    }
    if place != "sidecar":
        box.md("k").write_text(box.md("k").read_text().replace("sensitivity: public\n", front[label]))
    if place != "text":
        box.side("k").write_text(box.side("k").read_text().replace('"sensitivity": "public",', meta[label]))
    for words in (
        ("context",),
        ("fact", "list"),
        ("fact", "history", "k"),
        ("stats",),
        ("export", "jsonl", "-", "--clearance", "sensitive"),
    ):
        assert CANARY not in box.ok(*words).out, words
    assert box.run("fact", "get", "k").code == 6
    assert "withheld 1," in box.ok("context").out
    assert CANARY in box.get("k")


def test_a_git_commit_of_the_store_holds_no_state(box: Box) -> None:
    box.ok("init", str(box.root), "--git")
    plant(box)
    box.ok("forget", KEYS[0], "--yes")
    box.ok("sweep")
    git = ["git", "-C", str(box.root)]
    subprocess.run([*git, "add", "-A"], check=True, capture_output=True)
    staged = subprocess.run(
        [*git, "diff", "--cached", "--name-only"], check=True, capture_output=True, text=True
    ).stdout
    assert ".memcli" not in staged.replace("memcli.toml", "")
    assert "facts/open.md" in staged


def test_every_command_that_reads_is_among_the_channels_or_named_here(box: Box) -> None:
    """A new command must be put into channels(), or here with a test of its own."""
    writes = {
        "init",
        "fact set",
        "fact forget",
        "fact restore",
        "fact adopt",
        "fact confirm",
        "fact deny",
        "fact relate",
        "fact unrelate",
    }
    writes |= {
        "episode add",
        "work set",
        "work add",
        "work clear",
        "remember",
        "consolidate",
        "source set",
        "source allow",
        "source block",
        "import",
        "scrub",
    }
    elsewhere = {
        "work get",
        "work list",
        "doctor",
        "reindex",
        "check",
        "review show",
        "review accept",
        "review reject",
        "review walk",
        "review diff",
        "git setup",
        "sync",
        "merge-driver",
    }
    elsewhere |= {c for c in table.COMMANDS if c.startswith("procedure ") and c != "procedure list"}
    called = {" ".join(w[:2]) if w[0] in table.GROUPS else w[0] for w in channels(["x"])}
    assert set(table.COMMANDS) - called - writes - elsewhere == set()
    assert json.dumps(sorted(called))
