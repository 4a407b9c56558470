"""What git, editors and synchronisers do to a store: nothing leaks, nothing whole is lost, and doctor names it."""

import json
import subprocess
from collections.abc import Callable

import pytest
from figures import Record
from support import CANARY, Box, stamp

from .common import clean, good, still_good


class Repo:
    """A store in a git repository."""

    def __init__(self, box: Box) -> None:
        self.box = box
        self.git("init", "-q", "-b", "main")
        self.commit("start")

    def git(self, *words: str, check: bool = True) -> str:
        done = subprocess.run(["git", "-C", str(self.box.root), *words], capture_output=True, text=True, check=False)
        assert not check or done.returncode == 0, done
        return done.stdout

    def commit(self, message: str) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", message)

    def branch(self, *acts: Callable[[], object]) -> None:
        """One act on each of two branches, then a merge that may conflict."""
        self.git("checkout", "-qb", "theirs")
        acts[1]()
        self.commit("theirs")
        self.git("checkout", "-q", "main")
        acts[0]()
        self.commit("ours")
        self.git("merge", "-q", "theirs", check=False)


@pytest.fixture
def repo(box: Box) -> Repo:
    good(box)
    return Repo(box)


def codes(box: Box) -> set[str]:
    return {row["code"] for row in box.data("doctor")}


def shown(box: Box) -> str:
    """All that a reader of the default clearance gets."""
    calls = (
        ("context", "--untrusted"),
        ("fact", "list"),
        ("episode", "list"),
        ("fact", "get", "k"),
        ("fact", "history", "k"),
        ("search", "value"),
        ("export", "jsonl", "-", "--clearance", "internal"),
    )
    return "".join(r.out + r.err for words in calls for r in (clean(box.run(*words)),))


@pytest.mark.figure("git accidents: leak or loss")
def test_two_values_of_one_fact(repo: Repo) -> None:
    box = repo.box
    box.set("k", "base value")
    repo.commit("base")
    repo.branch(
        lambda: box.set("k", "our value", now=stamp(hours=1)), lambda: box.set("k", "their value", now=stamp(hours=2))
    )
    assert "<<<<<<<" in box.md("k").read_text()
    still_good(box)
    assert "our value" not in shown(box)
    assert box.run("fact", "get", "k").code == 6
    assert codes(box) & {"conflict_markers", "damaged_header", "damaged_sidecar"}
    assert box.run("check").code == 4
    clean(box.run("fact", "set", "k", "third value"))
    assert "<<<<<<<" in box.md("k").read_text()  # nothing of either side is written over
    repo.git("checkout", "--theirs", "--", "facts")
    assert box.ok("fact", "get", "k").out == "their value\n"


@pytest.mark.figure("git accidents: leak or loss")
@pytest.mark.parametrize("md", ["--ours", "--theirs"])
@pytest.mark.parametrize("side", ["--ours", "--theirs"])
def test_body_and_sidecar_of_different_sides(md: str, side: str, repo: Repo) -> None:
    box = repo.box
    box.set("k", "base value", "--sensitivity", "public")
    repo.commit("base")
    repo.branch(
        lambda: box.set("k", f"{CANARY} value", "--sensitivity", "restricted", now=stamp(hours=1)),
        lambda: box.set("k", "their value", now=stamp(hours=2)),
    )
    repo.git("checkout", md, "--", "facts/k.md")
    repo.git("checkout", side, "--", "facts/k.meta.json")
    still_good(box)
    assert CANARY not in shown(box)
    if md == side == "--theirs":
        assert box.ok("fact", "get", "k").out == "their value\n"
    else:
        assert box.run("fact", "get", "k").code == 6
    assert codes(box) & {"conflict_markers", "damaged_sidecar", "half_written", "drift", "label_differs"}


@pytest.mark.figure("git accidents: leak or loss")
def test_a_new_key_on_both_sides(repo: Repo) -> None:
    box = repo.box
    repo.branch(
        lambda: box.set("k", "our value"), lambda: box.set("k", f"{CANARY} value", "--sensitivity", "restricted")
    )
    still_good(box)
    assert CANARY not in shown(box)  # two files, one of a hidden name
    assert "two_files" in codes(box)
    box.ok("doctor", "--fix")
    assert CANARY not in shown(box)
    assert "two_files" not in codes(box)
    values = [box.get("k")] + [row["text"] for row in box.data("fact", "history", "k", "--reveal")]
    assert {"our value", f"{CANARY} value"} <= set(values)


@pytest.mark.figure("git accidents: leak or loss")
def test_forgotten_on_one_side_and_changed_on_the_other(repo: Repo) -> None:
    box = repo.box
    box.set("k", "base value")
    repo.commit("base")
    repo.branch(lambda: box.ok("forget", "k", "--yes"), lambda: box.set("k", "their value", now=stamp(hours=2)))
    still_good(box)
    clean(box.run("doctor"))
    clean(box.run("fact", "get", "k"))
    box.ok("restore", "k") if box.run("fact", "get", "k").code == 3 else None


@pytest.mark.figure("git accidents: leak or loss")
@pytest.mark.parametrize("style", ["merge", "diff3", "zdiff3"])
def test_entries_added_on_both_sides(style: str, repo: Repo) -> None:
    box = repo.box
    repo.git("config", "merge.conflictStyle", style)
    repo.branch(
        lambda: [box.add(f"our entry {i}", "--outcome", "completed", now=stamp(minutes=i)) for i in range(3)],
        lambda: [box.add(f"their entry {i}", "--outcome", "completed", now=stamp(minutes=i)) for i in range(3)],
    )
    still_good(box)
    assert "<<<<<<<" in box.log().read_text()
    assert "conflict_markers" in codes(box)
    box.add("another entry")
    said = box.ok("episode", "list").out
    assert "another entry" in said
    text = "\n".join(
        line
        for line in box.log().read_text().split("\n")
        if not line.startswith(("<<<<<<< ", "=======", ">>>>>>> ", "|||||||"))
    )
    box.log().write_text(text)  # keep both, as anybody would
    said = box.ok("episode", "list").out
    for i in range(3):
        assert f"our entry {i}" in said
        assert f"their entry {i}" in said
    assert "another entry" in said


@pytest.mark.figure("git accidents: leak or loss")
def test_markers_around_a_label(repo: Repo) -> None:
    """One side raised the label of an entry, the other added one: whichever is kept, what was raised stays raised while it is there."""
    box = repo.box
    made = box.add(CANARY, "--sensitivity", "public")
    repo.commit("base")
    log = box.log()
    repo.branch(
        lambda: log.write_text(log.read_text() + f"<!-- raise {made} restricted -->\n"), lambda: box.add("their entry")
    )
    still_good(box)
    assert CANARY not in shown(box)


@pytest.mark.figure("git accidents: leak or loss")
def test_a_union_merge_loses_nothing_that_has_an_id(repo: Repo) -> None:
    box = repo.box
    (box.root / ".gitattributes").write_text("episodes/** merge=union\n")
    repo.commit("against the rules")
    repo.branch(
        lambda: [
            box.add("the same words", "--outcome", "completed", "--task", f"our task {i}", now=stamp(minutes=i))
            for i in range(4)
        ],
        lambda: [
            box.add("the same words", "--outcome", "completed", "--task", f"their task {i}", now=stamp(minutes=i))
            for i in range(4)
        ],
    )
    said = box.ok("episode", "list").out
    found = sum(f"{who} task {i}" in said for who in ("our", "their") for i in range(4))
    assert found == 8


@pytest.mark.figure("git accidents: leak or loss")
def test_stash_checkout_and_reset(repo: Repo) -> None:
    box = repo.box
    box.set("k", "one")
    repo.commit("one")
    box.set("k", "two", now=stamp(hours=1))
    box.add("second entry")
    repo.git("stash", "-q")
    still_good(box)
    assert box.get("k") == "one"
    repo.git("stash", "pop", "-q")
    assert box.get("k") == "two"
    repo.git("add", "-A")
    repo.git("reset", "-q", "--hard")
    assert box.get("k") == "one"
    box.set("k", "three", now=stamp(hours=2))
    repo.git("checkout", "-q", "--", "facts/k.meta.json")
    clean(box.run("fact", "get", "k"))
    assert codes(box) & {"drift", "half_written"}
    repo.git("clean", "-qfdx")
    box.set("k", "four", now=stamp(hours=3))
    assert box.get("k") == "four"
    still_good(box)


@pytest.mark.figure("git accidents: leak or loss")
def test_a_half_checkout_is_never_taken_over_by_accident(repo: Repo) -> None:
    box = repo.box
    box.set("k", "one")
    repo.commit("one")
    box.set("k", "two", now=stamp(hours=1))
    repo.git("checkout", "-q", "--", "facts/k.md")
    assert "half_written" in codes(box)
    assert box.run("fact", "adopt", "k").code == 4
    box.ok("fact", "adopt", "--all")
    assert "half_written" in codes(box)


@pytest.mark.figure("git accidents: leak or loss")
def test_line_ends_of_another_system(repo: Repo) -> None:
    box = repo.box
    box.set("k", "one\ntwo")
    (box.root / ".gitattributes").unlink()
    repo.commit("without attributes")
    repo.git("config", "core.autocrlf", "true")
    repo.git("rm", "-rq", "--cached", ".")
    repo.git("reset", "-q", "--hard")
    assert b"\r\n" in box.md("k").read_bytes()
    assert b"\r\n" in box.log().read_bytes()
    still_good(box)
    assert box.get("k") == "one\ntwo"
    assert codes(box) <= {"irregular_name"}
    box.add("after")
    box.set("k", "three", now=stamp(hours=1))
    assert "torn" not in box.log().read_text()
    assert [row["text"] for row in box.data("episode", "list")] == ["after", "good episode"]
    assert [row["text"] for row in box.data("fact", "history", "k")] == ["three", "one\ntwo"]
    assert box.run("check").code == 0


@pytest.mark.figure("git accidents: leak or loss")
def test_a_clone_is_a_store(repo: Repo, tmp_path_factory: pytest.TempPathFactory) -> None:
    box = repo.box
    box.set("k", "one", "--sensitivity", "restricted")
    box.set("k", "two")
    repo.commit("all")
    place = tmp_path_factory.mktemp("clone") / "store"
    subprocess.run(["git", "clone", "-q", str(box.root), str(place)], check=True)
    clone = Box(place)
    still_good(clone)
    assert clone.get("k") == "two"
    assert len(clone.data("fact", "history", "k", "--reveal")) == 2
    assert clone.run("check").code == 0
    clone.set("k", "three")


@pytest.mark.figure("git accidents: leak or loss")
def test_review_diff_says_nothing_withheld(repo: Repo) -> None:
    box = repo.box
    box.set("raised", f"{CANARY} old")
    repo.commit("before")
    box.set("raised", "new", "--sensitivity", "restricted")
    box.set(f"{CANARY} key", f"{CANARY} value", "--sensitivity", "sensitive")
    repo.commit("after")
    for form in ((), ("--json",)):
        for words in (
            ("review", "diff", "HEAD~1"),
            ("review", "diff", "HEAD~1", "HEAD"),
            ("review", "diff", "HEAD", "HEAD~1"),
        ):
            ran = clean(box.run(*words, *form))
            assert CANARY not in ran.out + ran.err, ran


# Droppings.

DROPPINGS = [
    ".#k.md", "k.md~", "#k.md#", ".k.md.swp", ".k.md.swo", "k.md.orig", "k.md.rej", "k.md.bak", "k.md.tmp", ".k.md.0199e4a0-5b00-7c3e-9a51-0d6a0f1b2c3d.tmp", ".k.md.abc123.tmp",
    "k.sync-conflict-20261115-090000-ABCDEFG.md", "k (Anna's conflicted copy 2026-11-15).md", "k (conflicted copy 2026-11-15 093612).md", "k (1).md", "k (2).md",
    "k (Case Conflict).md", ".k.md.icloud", ".DS_Store", "._k.md", ".stfolder", ".syncthing.k.md.tmp", ".~lock.k.md#", "k.md.part", "4913", "Thumbs.db", "desktop.ini",
    ".nfs0000000000000001", "k.meta.json~", ".k.meta.json.swp", "k.meta.sync-conflict-20261115-090000-ABCDEFG.json", "k.meta (1).json",
]  # fmt: skip


@pytest.mark.figure("sync and editor accidents: leak or loss")
@pytest.mark.parametrize("name", DROPPINGS)
def test_droppings_are_not_records_and_are_listed(name: str, box: Box) -> None:
    good(box)
    box.set("k", "value")
    label = b"---\nkey: k\nsensitivity: public\n---\n" + CANARY.encode()
    (box.root / "facts" / name).write_bytes(label)
    (box.root / "episodes" / name).write_bytes(label)
    for words in (
        ("fact", "list"),
        ("context", "--clearance", "restricted"),
        ("export", "jsonl", "-"),
        ("search", CANARY),
        ("episode", "list"),
        ("fact", "history", "k"),
    ):
        assert CANARY not in clean(box.run(*words)).out, words
    assert box.ok("fact", "get", "k").out == "value\n"
    assert any(row["path"] == f"facts/{name}" for row in box.data("doctor")), name
    box.ok("sweep", "--yes")
    box.set("k", "another")
    if not name.startswith(".k.md.0199"):
        assert (box.root / "facts" / name).read_bytes() == label
    still_good(box)


COPIES = [
    "copy of k.md",
    "k copy.md",
    "k - Copy.md",
    "k 2.md",
    "Copy of k.md",
    "k_LOCAL_123.md",
    "k_REMOTE_123.md",
    "k_BASE_123.md",
    "k-MacBook.md",
]


@pytest.mark.figure("sync and editor accidents: leak or loss")
@pytest.mark.parametrize("name", COPIES)
def test_a_whole_copy_is_a_conflict_and_the_stricter_label_holds(name: str, box: Box) -> None:
    good(box)
    box.set("k", CANARY, "--sensitivity", "public")
    (box.root / "facts" / name).write_bytes(box.md("k").read_bytes().replace(b"public", b"restricted"))
    assert CANARY not in box.ok("context").out + box.ok("fact", "list").out
    assert "two_files" in codes(box)
    still_good(box)


@pytest.mark.figure("sync and editor accidents: leak or loss")
@pytest.mark.parametrize("first", ["md", "side"])
def test_one_file_comes_before_the_other(first: str, box: Box) -> None:
    good(box)
    box.set("k", "old value", "--sensitivity", "public")
    old = box.md("k").read_bytes(), box.side("k").read_bytes()
    box.set("k", f"{CANARY} value", "--sensitivity", "restricted", now=stamp(hours=1))
    new = box.md("k").read_bytes(), box.side("k").read_bytes()
    (box.md("k") if first == "side" else box.side("k")).write_bytes(old[0] if first == "side" else old[1])
    assert CANARY not in shown(box)
    box.md("k").unlink()
    assert CANARY not in shown(box)
    box.md("k").write_bytes(new[0])
    box.side("k").unlink()
    assert CANARY not in shown(box)
    box.side("k").write_bytes(new[1])
    assert box.get("k") == f"{CANARY} value"
    still_good(box)


# Oracles.


@pytest.mark.also_full
def test_a_query_tells_nothing_of_what_is_withheld(box: Box, figure: Record) -> None:
    """A hundred pairs of queries, one that matches a withheld record and one that matches nothing: the same answer."""
    good(box)
    words = [f"{CANARY}{i}" for i in range(50)]
    for i, word in enumerate(words):
        label = "sensitive" if i % 2 else "restricted"
        if i % 3:
            box.set(
                f"key {word}",
                f"value {word}",
                "--tag",
                word,
                "--domain",
                word,
                "--sensitivity",
                label,
                "--source",
                f"agent:{word}",
            )
        else:
            box.add(f"entry {word}", "--task", word, "--session", word, "--tag", word, "--sensitivity", label)

    def answer(*call: str) -> tuple[object, ...]:
        ran = clean(box.run(*call))
        text = ran.out.replace(word, "QUERY").replace(other, "QUERY")
        first = text[: len("<memory-12345678>")]
        return (
            ran.code,
            ran.err.replace(word, "QUERY").replace(other, "QUERY"),
            text.replace(first[8:16], "NONCE") if first.startswith("<memory-") else _without_nonce(text),
        )

    pairs = 0
    for i, word in enumerate(words):
        other = f"zebrafinch{i}"
        for make in (
            lambda w: ("context", w), lambda w: ("context", f"value {w}", "--format", "json"), lambda w: ("search", w), lambda w: ("search", f"entry {w}", "--json"),
            lambda w: ("fact", "list", "--tag", w), lambda w: ("fact", "list", "--domain", w, "--json"), lambda w: ("fact", "list", "--prefix", f"key {w}"),
            lambda w: ("fact", "list", "--source", f"agent:{w}"), lambda w: ("episode", "list", "--session", w), lambda w: ("episode", "list", "--tag", w),
            lambda w: ("context", "--domain", w), lambda w: ("search", w, "--tag", w), lambda w: ("source", "show", f"agent:{w}"),
        )[i % 4 :: 4]:  # fmt: skip
            assert answer(*make(word)) == answer(*make(other)), make(word)
            pairs += 1
    figure("queries that tell of withheld facts", pairs)


def _without_nonce(text: str) -> str:
    if not text.startswith("{"):
        return text
    raw = json.loads(text)
    if isinstance(raw.get("data"), dict) and "nonce" in raw["data"]:
        nonce = raw["data"]["nonce"]
        return text.replace(nonce, "NONCE")
    return text


# A stranger's store.


@pytest.mark.figure("git accidents: leak or loss")
def test_no_attribute_hides_a_fact_from_the_gate(repo: Repo) -> None:
    """`git archive` would honour export-ignore of the revision that it is asked to judge."""
    box = repo.box
    box.set("evil", "value", "--source", "user:root")
    (box.root / ".gitattributes").write_text("* export-ignore export-subst text eol=crlf\n")
    repo.commit("hidden")
    rows = box.data("review", "diff", "HEAD~1", "HEAD")
    assert "evil" in json.dumps(rows)
    assert box.data("review", "diff", "HEAD", "HEAD") == []


@pytest.mark.parametrize(
    "name",
    [
        "--output=x",
        "-p",
        "",
        " ",
        "HEAD:facts",
        "nope",
        "HEAD..HEAD",
        ":/start",
        "a\nb",
        "@{0}",
        "^HEAD",
        "HEAD --output=x",
    ],
    ids=repr,
)
def test_an_odd_revision_is_refused_and_writes_nothing(name: str, repo: Repo) -> None:
    before = {str(p) for p in repo.box.root.parent.rglob("*")}
    for words in (
        ("review", "diff", "--", name),
        ("review", "diff", "--", "HEAD", name),
        ("review", "diff", "--", name, "HEAD"),
    ):
        ran = clean(repo.box.run(*words))
        assert ran.code in (0, 2, 3), ran
    assert {str(p) for p in repo.box.root.parent.rglob("*")} == before


@pytest.mark.parametrize("setting", ["command", "extract_command"])
def test_opening_a_strangers_store_runs_nothing_of_his(
    setting: str, repo: Repo, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """He may commit `.memcli/allowed` too, with every mark that he can make."""
    import hashlib

    from memcli.store import permits

    box, out = repo.box, repo.box.root.parent / "ran"
    command = f"touch {out}"
    toml = box.root / "memcli.toml"
    toml.write_text(toml.read_text() + f'\n[llm]\n{setting} = "{command}"\n')
    box.ok("config", f"llm.{setting}", "--allow")  # as he allowed it to himself
    marks = [hashlib.sha256(command.encode()).hexdigest(), hashlib.sha256(f"{command}\n".encode()).hexdigest()]
    allowed = box.root / ".memcli" / "allowed"
    allowed.write_text("\n".join(marks) + "\n" + allowed.read_text())
    repo.git("add", "-A", "-f")
    repo.git("commit", "-qm", "a gift")
    place = tmp_path_factory.mktemp("clone") / "store"
    subprocess.run(["git", "clone", "-q", str(box.root), str(place)], check=True)
    victim = Box(place)
    assert (place / ".memcli" / "allowed").exists()
    assert not permits.allowed(victim.store, command)
    for i in range(45):
        victim.ok("work", "add", f"message {i}: my name is Anna and I like cats", "--session", "s", "--role", "user")
    for words in (
        ("consolidate", "--session", "s"),
        ("remember", "I like dogs", "--session", "s"),
        ("sweep",),
        ("context", "--session", "s"),
        ("verify",),
        ("doctor", "--fix"),
    ):
        clean(victim.run(*words))
    assert not out.exists()
    victim.ok("config", f"llm.{setting}", "--allow")
    assert permits.allowed(victim.store, command)
