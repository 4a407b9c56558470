"""The JSON contract: every command of the table, one envelope, lists as lists, errors of one shape, the same facts as the text."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support import NOW, Box, Ran, call

from memcli.cli import call as calls
from memcli.cli import table

# What each command is called with; {episode}, {session}, {ref} and {backup} are filled in. None: needs a terminal.
CALLS: dict[str, tuple[str, ...] | None] = {
    "init": (),
    "where": (),
    "status": (),
    "stats": (),
    "doctor": (),
    "reindex": (),
    "check": (),
    "audit": (),
    "config": (),
    "fact set": ("deploy target", "Hetzner"),
    "fact get": ("deploy target",),
    "fact list": (),
    "fact edit": ("deploy target",),
    "fact rename": ("deploy target", "production host"),
    "fact history": ("deploy target",),
    "fact forget": ("deploy target", "--yes"),
    "fact restore": ("forgotten",),
    "fact adopt": ("--all",),
    "fact confirm": ("deploy target", "--run", "r1"),
    "fact deny": ("deploy target", "--run", "r2"),
    "fact relate": ("deploy target", "is_a", "database"),
    "fact unrelate": ("database", "related", "deploy target"),
    "fact related": ("database",),
    "fact chain": ("database",),
    "episode add": ("Moved the webhooks", "--task", "billing"),
    "episode list": (),
    "episode show": ("{episode}",),
    "work set": ("branch", "main", "--session", "s"),
    "work add": ("a note", "--session", "s"),
    "work get": ("held", "--session", "s"),
    "work list": ("--session", "s"),
    "work clear": ("--session", "s", "--yes"),
    "remember": ("The job queue is Redis.", "--session", "s"),
    "consolidate": ("--session", "s"),
    "context": ("how do we deploy?",),
    "procedure propose": ("rollback", "--step", "Back: make rollback"),
    "procedure approve": ("release", "--by", "user:anna"),
    "procedure reject": ("release", "--by", "user:anna"),
    "procedure record": ("tried", "--success"),
    "procedure best": ("release",),
    "procedure list": (),
    "procedure show": ("release",),
    "source list": (),
    "source show": ("anna",),
    "source set": ("sam", "--kind", "user", "--by", "user:anna"),
    "source allow": ("anna", "--by", "user:boris"),
    "source block": ("anna", "--by", "user:boris"),
    "forget": ("{episode}", "--yes"),
    "restore": ("forgotten",),
    "search": ("deploy target",),
    "retrieve": ("deploy target", "--session", "s"),
    "recall": ("deploy target", "--session", "s"),
    "graph": (),
    "review list": (),
    "review show": ("{ref}",),
    "review accept": ("{ref}", "--by", "user:anna"),
    "review reject": ("{ref}", "--by", "user:anna"),
    "review walk": None,
    "review diff": ("HEAD",),
    "verify": (),
    "sweep": (),
    "scrub": (),
    "import": ("jsonl", "{backup}"),
    "export": ("jsonl", "{out}"),
    "git setup": (),
    "sync": None,  # tests/fleet
    "merge-driver": ("archive", "{backup}", "{backup}", "{backup}", "archive/k.jsonl"),
}
# Fields that scripts may count on.
FIELDS: dict[str, str] = {
    "init": "how store tenant new git",
    "where": "store tenant why",
    "status": "store tenant facts ended episodes procedures proposals sources by_hand damaged",
    "stats": "facts by_sensitivity by_confidence by_source_kind episodes proposals former_values trash bytes",
    "doctor": "severity code path message detail next",
    "reindex": "records bytes",
    "check": "severity code path message detail next",
    "audit": "entries files flagged junk keep_percent junk_percent withheld kinds findings unread",
    "fact set": "how id key sensitivity digest path",
    "fact get": "id key text source confidence ttl_minutes sensitivity importance created_at updated_at effective_confidence "
    "confidence_label expires_at state digest path",
    "fact list": "id key text source confidence sensitivity effective_confidence confidence_label state digest path",
    "fact edit": "how id key digest",
    "fact rename": "how id key digest",
    "fact history": "id text source reason ended_at",
    "fact forget": "how layer ids erased",
    "fact restore": "how id sensitivity",
    "fact adopt": "id how path",
    "episode add": "how id at sensitivity path",
    "episode list": "id at text task outcome source confidence importance ttl_minutes sensitivity state month",
    "episode show": "id at text task outcome source confidence importance ttl_minutes sensitivity state month",
    "context": "nonce at task clearance budget facts episodes procedures account text",
    "recall": "query goal queries verdict answer working facts episodes confidence trust contradictions concepts retrieved kept "
    "returned dropped withheld",
    "retrieve": "working facts episodes procedures summary quarantined withheld",
    "forget": "how layer ids erased",
    "restore": "how id sensitivity",
    "sweep": "actions skipped counts",
    "scrub": "text replaced",
    "import": "created proposed superseded updated unchanged archived left_out rejected loose conflicts masked restricted bad",
    "export": "records left_out path",
    "git setup": "how top config files notes",
    "merge-driver": "merged why",
}
READERS = [
    "where",
    "status",
    "stats",
    "doctor",
    "reindex",
    "check",
    "audit",
    "config",
    "fact get",
    "fact list",
    "fact history",
    "fact related",
    "fact chain",
]
READERS += [
    "episode list",
    "episode show",
    "work get",
    "work list",
    "context",
    "procedure best",
    "procedure list",
    "procedure show",
]
READERS += [
    "recall",
    "retrieve",
    "source list",
    "source show",
    "graph",
    "review list",
    "review show",
    "review diff",
    "verify",
]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which every command has something to say; it lies in a git repository."""
    top = tmp_path_factory.mktemp("json")
    box = Box(top / "store")
    box.ok("init", "--git")
    box.set("deploy target", "Heroku")
    box.set("deploy target", "Fly.io, region fra", "--source", "user:anna", "--tag", "deploy", "--ttl", "90d")
    box.set("database", "Postgres 16", "--source", "user:anna", "--sensitivity", "public")
    box.set("secret plan", "withheld", "--sensitivity", "restricted")
    box.set("forgotten", "v")
    box.ok("forget", "forgotten", "--yes")
    box.set("ended", "v", "--ttl", "1", now="2026-11-14T00:00:00Z")
    box.ok("fact", "relate", "database", "related", "deploy target")
    box.md("by hand").write_text("---\nkey: by hand\nsensitivity: internal\n---\n\nmade by hand\n")
    box.add("Deployed to production", "--task", "deploy", "--outcome", "completed", "--finding", "Tuesday works")
    box.ok("work", "set", "held", "in mind", "--session", "s")
    box.ok("work", "add", "The cache is Valkey.", "--session", "s")
    for key in ("release", "tried"):
        box.ok("procedure", "propose", key, "How we do it", "--step", "Ship: make ship", "--task-type", "release")
    box.ok("procedure", "approve", "tried", "--by", "user:anna")
    box.ok("source", "set", "anna", "--kind", "user", "--note", "tech lead")
    (top / "backup.jsonl").write_text(
        '{"kind": "fact", "key": "brought in", "text": "v", "sensitivity": "internal"}\n{\n'
    )
    for words in (["add", "-A"], ["commit", "-qm", "x"]):
        subprocess.run(
            ["git", "-C", str(box.root), "-c", "user.name=t", "-c", "user.email=t@example.org", *words], check=True
        )
    box.set("database", "Postgres 17")
    return top


class Filled(Box):
    """A copy of that store."""

    def fill(self, words: tuple[str, ...]) -> list[str]:
        listed = self.data("episode", "list")
        values = {
            "episode": listed[0]["id"],
            "backup": str(self.root.parent / "backup.jsonl"),
            "out": str(self.root.parent / "out.jsonl"),
        }
        if any("{ref}" in w for w in words):
            values["ref"] = next(r["ref"] for r in self.data("review", "list") if r["kind"] == "procedure")
        return [w.format(**values) for w in words]

    def do(self, name: str, *more: str) -> Ran:
        words = CALLS[name]
        assert words is not None
        return self.run(*name.split(), *self.fill(words), *more, stdin=b"to scrub: anna.keller@larder.example\n")


@pytest.fixture
def store(filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, _quick_disk: None) -> Filled:
    shutil.copytree(filled, tmp_path / "copy", symlinks=True)
    monkeypatch.setenv("EDITOR", "true")
    return Filled(tmp_path / "copy" / "store", now=NOW)


def is_list(name: str) -> bool:
    return calls.lists(table.load(name))


COMMANDS = [name for name, words in CALLS.items() if words is not None]
LISTS = [name for name in COMMANDS if name in table.COMMANDS and is_list(name)]


def test_every_command_of_the_table_is_under_this_contract() -> None:
    assert sorted(CALLS) == sorted(table.COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_json_is_one_envelope_and_lists_are_lists(store: Filled, name: str) -> None:
    ran = store.do(name, "--json")
    assert ran.code in ((0, 4) if name in ("check", "verify") else (0,)), ran
    envelope = json.loads(ran.out)
    assert list(envelope) == ["format", "data"]
    assert envelope["format"] == 1
    data = envelope["data"]
    assert isinstance(data, list) == (is_list(name) or name in ("fact adopt",))
    assert data or name in ("sweep", "verify", "consolidate")
    assert ran.out.endswith("\n")
    assert all(not line.startswith(("{", "[")) for line in ran.err.splitlines())
    for row in data if isinstance(data, list) else [data]:
        wanted = set(FIELDS.get(name, "").split()) - ({"id"} if row.get("state") == "bare" else set())
        assert wanted <= set(row), wanted - set(row)
    assert "\x1b" not in ran.out


@pytest.mark.parametrize("name", LISTS)
def test_jsonl_is_the_bare_records_of_the_list(store: Filled, name: str) -> None:
    twin = Filled(store.root.parent.parent / "twin" / "store", now=NOW)
    shutil.copytree(store.root.parent, twin.root.parent, symlinks=True)
    rows = [json.loads(line) for line in store.do(name, "--jsonl").out.splitlines()]
    data = twin.do(name, "--json").data
    if name == "consolidate":
        assert len(rows) == len(data) == 1
    else:
        assert rows == data
    assert all("format" not in row or name == "graph" for row in rows)


@pytest.mark.parametrize("name", [n for n in COMMANDS if n not in LISTS])
def test_jsonl_of_what_is_no_list_is_a_usage_error_before_anything_is_done(store: Filled, name: str) -> None:
    before = store.tree()
    ran = store.do(name, "--jsonl")
    assert (ran.code, ran.out) == (2, "")
    assert store.tree() == before


@pytest.mark.parametrize("name", COMMANDS)
def test_both_forms_at_once_are_a_usage_error(store: Filled, name: str) -> None:
    before = store.tree()
    ran = store.do(name, "--json", "--jsonl")
    assert (ran.code, ran.out) == (2, "")
    assert store.tree() == before


# Words of the text that stand for no stored value.
GRAMMAR = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|Fly\.io|Postgres|Heroku|anna|deploy target|made by hand|Deployed|Tuesday|make ship|in mind|Valkey|2026-\d\d-\d\d"
)


@pytest.mark.parametrize("name", READERS)
def test_the_text_says_the_same_facts(store: Filled, name: str) -> None:
    ran, data = store.do(name), store.do(name, "--json").data
    said = json.dumps(data, ensure_ascii=False)
    assert ran.out or name in ("verify",)
    missing = {word for word in GRAMMAR.findall(ran.out) if word not in said}
    assert missing == set()
    if name in LISTS and name not in ("fact chain", "review diff", "check"):
        assert len(ran.out.splitlines()) == len(data)
    assert ("withheld" in ran.err) == ("withheld" in store.do(name, "--json").err)


@pytest.mark.parametrize(
    "name",
    sorted(
        set(COMMANDS)
        - set(READERS)
        - {
            "import",
            "export",
            "scrub",
            "search",
            "retrieve",
            "work clear",
            "sweep",
            "remember",
            "consolidate",
            "episode add",
            "init",
            "fact adopt",
            "merge-driver",
        }
    ),
)
def test_what_a_write_did_is_the_word_of_its_text(store: Filled, name: str) -> None:
    twin = Filled(store.root.parent.parent / "twin" / "store", now=NOW)
    shutil.copytree(store.root.parent, twin.root.parent, symlinks=True)
    how = store.do(name, "--json").data.get("how")
    assert isinstance(how, str)
    assert how in twin.do(name).out


def test_withheld_is_not_in_any_of_it(store: Filled) -> None:
    for name in READERS:
        ran = store.do(name, "--json")
        assert "secret plan" not in ran.out + ran.err, name


# Errors.


@pytest.mark.parametrize("name", [n for n in COMMANDS if n not in ("init", "scrub", "merge-driver")])
def test_an_error_is_one_json_document_on_stderr(store: Filled, name: str, tmp_path: Path) -> None:
    words = CALLS[name]
    assert words is not None
    ran = call(["--store", str(tmp_path / "none"), *name.split(), *store.fill(words), "--json"])
    assert (ran.code, ran.out) == (3, "")
    envelope = json.loads(ran.err)
    assert list(envelope) == ["format", "error"]
    assert envelope["format"] == 1
    error = envelope["error"]
    assert list(error) == ["code", "message", "path", "hint"]
    assert (error["code"], error["path"]) == ("no_store", str(tmp_path / "none"))


ERRORS: dict[str, tuple[tuple[str, ...], int]] = {
    "usage": (("fact", "set", "k", "v", "--ttl", "soon"), 2),
    "not_found": (("fact", "get", "absent"), 3),
    "no_store": (("--store", "/nowhere", "status"), 3),
    "bad_data": (("fact", "set", "damaged", "v"), 4),
    "newer_format": (("--store", "{newer}", "status"), 4),
    "exists": (("fact", "set", "database", "v", "--create"), 5),
    "changed": (("fact", "set", "database", "v", "--if-match", "0"), 5),
    "refused": (("forget", "database"), 6),
    "withheld": (("fact", "get", "secret plan"), 6),
    "secret": (("fact", "set", "k", "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bD1fG3hJ5"), 6),
    "brake": (("--now", "1999-01-01T00:00:00Z", "sweep"), 6),
}


@pytest.mark.parametrize("code", ERRORS)
def test_every_kind_of_error_has_its_code_and_its_exit_code(store: Filled, code: str) -> None:
    store.set("damaged", "v")
    store.side("damaged").write_text("{")
    newer = store.root.parent / "newer"
    newer.mkdir()
    (newer / "memcli.toml").write_text("format = 9\n")
    words, exit_code = ERRORS[code]
    argv = [w.format(newer=newer) for w in words]
    roots = [] if argv[0] == "--store" else ["--store", str(store.root)]
    ran = call([*roots, *argv, "--json"])
    assert (ran.code, ran.out, ran.error["code"]) == (exit_code, "", code)
    assert ran.error["message"]
    text = call([*roots, *argv])
    assert (text.code, text.out, text.err.count("\n")) == (exit_code, "", 1)
    assert text.err.startswith(f"memcli: {ran.error['message']}")


def test_hidden_characters_are_escaped_and_mean_the_same(store: Filled) -> None:
    text = "a\x1b[2J\u202eb\u200b\U000e0041\x9bc\u2028d"
    store.ok("fact", "set", "odd", "-", stdin=text.encode())
    ran = store.ok("fact", "get", "odd", "--json")
    assert ran.data["text"] == text
    assert ran.out.replace("\n", "").isprintable()
    listed = store.ok("fact", "list", "--jsonl")
    assert listed.out.replace("\n", "").isprintable()
    assert next(json.loads(line) for line in listed.out.splitlines() if '"odd"' in line)["text"] == text


def test_numbers_are_numbers_and_times_are_rfc3339(store: Filled) -> None:
    row: dict[str, Any] = store.data("fact", "get", "deploy target")
    assert isinstance(row["confidence"], (int, float))
    assert isinstance(row["ttl_minutes"], int)
    times = [v for n, v in row.items() if n.endswith("_at") and v is not None]
    assert len(times) >= 3
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", t) for t in times)
