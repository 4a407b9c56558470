"""What was purged is proved to be gone, and is not learned again by accident."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import CANARY, NOW, Box, at, stamp

from memcli.base import errors, files
from memcli.engine import history, prove
from memcli.model import words
from memcli.store import tombstones

KEY, TEXT = "home address", f"14 {CANARY} Lane, Oxford"


def git(box: Box, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(box.root), *words], capture_output=True, text=True, check=True)
    return done.stdout


def commit(box: Box) -> None:
    git(box, "add", "-A")
    git(box, "commit", "-q", "-m", "x")


def purge(box: Box, ref: str = KEY, *more: str) -> Any:
    ran = box.run("forget", ref, "--purge", "--prove", "--yes", *more, "--json")
    assert ran.code in (0, 4), ran
    return ran.data


def residue(box: Box) -> set[str]:
    """An independent search, for the bytes alone."""
    return {n for n, d in box.tree(state=True).items() if CANARY.encode() in d.lower() and not n.startswith(".git/")}


# The proof.


@pytest.mark.parametrize("label", ["public", "internal", "sensitive", "restricted"])
def test_what_is_purged_is_nowhere_and_the_proof_says_so(box: Box, label: str) -> None:
    box.set(KEY, f"12 {CANARY} Road", "--sensitivity", label)
    box.set(KEY, TEXT)
    box.ok("fact", "rename", KEY, "office address")
    box.ok("forget", "office address", "--yes")
    box.ok("restore", "office address")
    box.ok("remember", f"The office address is 9 {CANARY} Close.", "--importance", "0.1")
    box.ok("search", CANARY)
    assert residue(box)
    proof = purge(box, "office address")["proof"]
    assert (proof["clean"], proof["found"], proof["git"]) == (True, [], None)
    assert residue(box) == set()
    assert proof["looked"]["other"] >= 4


@pytest.mark.parametrize("end", ["expired and set anew", "expired", "forgotten", "swept and set anew"])
def test_a_purge_follows_a_renaming_though_the_fact_has_ended_since(box: Box, end: str) -> None:
    box.set("matter", f"first {CANARY}")
    box.set("matter", f"second {CANARY}")
    box.ok("fact", "rename", "matter", "affair")
    if end == "forgotten":
        box.ok("forget", "affair", "--yes")
    else:
        box.ok("fact", "set", "affair", "--ttl", "1h")
        box.now = stamp(hours=2)
    if "swept" in end:
        box.ok("sweep", "--yes")
    if "anew" in end:
        box.set("affair", f"third {CANARY}")
        assert [r["text"].split()[0] for r in box.data("fact", "history", "affair")] == ["third", "second", "first"]
    assert box.ok("forget", "affair", "--purge", "--prove", "--yes", "--json").data["proof"]["clean"]
    assert residue(box) == set()


def places(box: Box, where: str) -> None:
    """The text of the fact, once more, in another place of the store."""
    if where == "facts":
        box.set("another key", f"She lives at {TEXT}.")
    elif where == "episodes":
        box.add(f"Moved to {TEXT}\nand more")
    elif where == "working":
        box.ok("work", "set", "address", TEXT, "--session", "s")
    elif where == "archive":
        box.set("another key", TEXT)
        box.set("another key", "changed")
    elif where == "trash":
        box.set("another key", TEXT)
        box.ok("forget", "another key", "--yes")
    elif where == "proposed":
        box.ok("remember", f"The office is {TEXT}.", "--importance", "0.1")
        box.ok("remember", f"The office is {TEXT}.", "--importance", "0.1")
    elif where == "procedures":
        box.ok("procedure", "propose", "visit", "--step", f"go: to {TEXT}")
    else:
        path = {"sources": "sources/x.md", "state": ".memcli/receipts", "other": "notes.txt"}[where]
        (box.root / path).parent.mkdir(exist_ok=True)
        (box.root / path).write_text(f"{TEXT}\n")


PLACES = "facts episodes working archive trash proposed procedures sources state other".split()


@pytest.mark.parametrize("where", PLACES)
def test_the_proof_finds_a_copy_anywhere_and_exits_4(box: Box, where: str) -> None:
    box.set(KEY, TEXT)
    places(box, where)
    ran = box.run("fact", "forget", KEY, "--purge", "--prove", "--yes", "--json")
    assert ran.code == 4
    found = ran.data["proof"]["found"]
    assert {t["area"] for t in found} == {where}
    assert {t["path"] for t in found} == residue(box)
    assert CANARY not in ran.out + ran.err
    assert box.run("fact", "get", KEY).code == 3


def test_questions_that_say_it_go_too(box: Box) -> None:
    toml = box.root / "memcli.toml"
    toml.write_text(toml.read_text() + "\n[monitor]\nquery_text = true\n")
    made = box.set(KEY, TEXT)["id"]
    box.ok("search", TEXT)
    box.ok("context", f"does she live at {TEXT}?")
    log = box.root / ".memcli" / "retrieval.jsonl"
    assert made in log.read_text()
    assert purge(box)["proof"]["clean"]
    assert residue(box) == set()
    assert made not in log.read_text()
    assert len(log.read_text().splitlines()) == 2


FORMS: dict[str, Callable[[str], bytes]] = {
    "as it is": str.encode,
    "JSON": lambda t: json.dumps(t, ensure_ascii=False).encode(),
    "ASCII JSON": lambda t: json.dumps(t).encode(),
    "folded": lambda t: words.fold(t).encode(),
    "stems": lambda t: " ".join(words.terms(t)).encode(),
    "UTF-8 in noise": lambda t: os.urandom(5000) + t.encode() + os.urandom(5000),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("text", [TEXT, f'Fußweg "{CANARY}"\tÜber den Fluß 7', "Улица Зимородка, дом 14, квартира 3"])
def test_every_form_is_found(box: Box, form: str, text: str) -> None:
    box.set(KEY, text)
    (box.root / ".memcli" / "cache").write_bytes(FORMS[form](text))
    assert [t["path"] for t in purge(box)["proof"]["found"]] == [".memcli/cache"]


def test_parts_of_a_long_text_are_found_and_large_files_are_read_to_the_end(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prove, "_PIECE_BYTES", 1000)
    text = "\n".join(f"{CANARY} line {n} of what was told" for n in range(100))
    box.set(KEY, text)
    (box.root / ".memcli" / "page").write_bytes(b"\0" * 997 + text[1500:1800].encode())
    (box.root / ".memcli" / "line").write_bytes(b"\0" * 12345 + text.splitlines()[70].encode())
    assert [t["path"] for t in purge(box)["proof"]["found"]] == [".memcli/line", ".memcli/page"]


def test_a_short_text_counts_only_beside_its_key(box: Box) -> None:
    box.set("port", "8080")
    box.set("other", "listens on 80801 and x8080, not on the port")
    box.set("third", "8080")
    box.set("fourth", "the port is 8080.")
    assert [t["path"] for t in purge(box, "port")["proof"]["found"]] == ["facts/fourth.md"]


def test_a_name_that_holds_the_text_is_not_printed(box: Box) -> None:
    box.set(KEY, CANARY)
    (box.root / "facts" / f"{CANARY}.txt").write_text("x")
    ran = box.run("forget", KEY, "--purge", "--prove", "--yes")
    assert ran.code == 4
    assert CANARY not in ran.out + ran.err
    assert "facts/(its name holds it)" in ran.out
    (box.root / f"on {CANARY}").mkdir()
    (box.root / f"on {CANARY}" / "x").write_text("y")
    ran = box.run("forget", KEY, "--prove", "--stdin", stdin=CANARY.encode())
    assert CANARY not in ran.out + ran.err


def test_links_are_counted_and_not_followed(box: Box, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text(TEXT)
    box.set(KEY, TEXT)
    (box.root / "link").symlink_to(tmp_path / "outside")
    proof = purge(box)["proof"]
    assert (proof["found"], proof["skipped"]) == ([], 1)


def test_tenants_are_stores_of_their_own(box: Box) -> None:
    box.set(KEY, TEXT)
    (box.root / "tenants" / "anna").mkdir(parents=True)
    (box.root / "tenants" / "anna" / "file").write_text(TEXT)
    assert purge(box)["proof"]["found"] == []


def test_a_dry_run_says_where_it_stands_and_changes_nothing(box: Box) -> None:
    box.set(KEY, TEXT)
    before = box.tree(state=True)
    ran = box.ok("forget", KEY, "--purge", "--prove", "--dry-run", "--json")
    assert [t["area"] for t in ran.data["proof"]["found"]] == ["facts"]
    assert box.tree(state=True) == before


def test_a_proof_needs_a_purge(box: Box) -> None:
    box.set(KEY, TEXT)
    assert box.run("forget", KEY, "--prove", "--yes").code == 2
    with pytest.raises(errors.UsageError):
        box.memory.forget(KEY, prove=True)
    assert box.get(KEY) == TEXT


def test_git_objects_that_hold_it_are_counted_and_how_to_remove_them_is_said(box: Box) -> None:
    box.ok("init", str(box.root), "--git")
    box.set(KEY, f"12 {CANARY} Road")
    commit(box)
    box.set(KEY, TEXT)
    commit(box)
    (box.root / "loose").write_text(TEXT)
    git(box, "hash-object", "-w", "loose")  # nothing leads to this one
    (box.root / "loose").unlink()
    for packed in (False, True):
        if packed:
            git(box, "repack", "-q", "-a", "-d", "-k")
        ran = box.ok("forget", KEY, "--purge", "--prove", "--dry-run", "--json")
        held = ran.data["proof"]["git"]
        # Two texts in .md, one line of the archive, the loose one.
        assert (len(held["holding"]), held["reachable"]) == (4, 3)
        assert held["objects"] == len(git(box, "cat-file", "--batch-all-objects", "--batch-check").splitlines())
    ran = box.ok("forget", KEY, "--purge", "--prove", "--yes")
    assert "left outside git: nothing" in ran.out
    assert "left in git: 4 objects, 3 of them reachable" in ran.out
    assert "git filter-repo --invert-paths --path facts/home-address" in ran.err
    assert "clones, remotes and backups" in ran.err


def test_messages_and_plain_files_of_git_are_told_apart(box: Box) -> None:
    box.ok("init", str(box.root), "--git")
    box.set("other", "stays")
    git(box, "add", "-A")
    git(box, "commit", "-q", "-m", f"She lives at\n{TEXT.upper()}")
    git(box, "tag", "-a", "t", "-m", f"at {TEXT}")
    git(box, "commit", "-q", "--allow-empty", "-m", "y")
    (box.root / ".git" / "MERGE_MSG").write_text(f"Merge {TEXT}\n")
    (box.root / ".git" / "worktrees" / "w").mkdir(parents=True)
    (box.root / ".git" / "worktrees" / "w" / "COMMIT_EDITMSG").write_text(TEXT)
    box.set(KEY, TEXT)
    ran = box.ok("forget", KEY, "--purge", "--prove", "--yes")
    assert "left in git: 2 objects, 2 of them reachable, 2 of them commits or tags\n" in ran.out
    for path in ("MERGE_MSG", "worktrees/w/COMMIT_EDITMSG"):
        assert f"left in git: .git/{path}\n" in ran.out
    assert "filter-repo --replace-message" in ran.err
    assert "--path" not in ran.err
    assert "edit or delete" in ran.err
    git(box, "branch", CANARY)
    git(box, "commit", "-q", "--allow-empty", "-m", f"go to {CANARY}")
    git(box, "commit", "-q", "--allow-empty", "-m", "z")
    ran = box.ok("forget", KEY, "--prove", "--stdin", "--json", stdin=CANARY.encode())
    held = ran.data["proof"]["git"]
    assert held["messages"] == 3
    assert {"logs/HEAD", "refs/heads/(its name holds it)", "logs/refs/heads/(its name holds it)"} <= set(held["files"])
    assert CANARY not in ran.out + ran.err


def test_git_s_folder_is_looked_at_up_to_a_limit(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    box.ok("init", str(box.root), "--git")
    box.set(KEY, TEXT)
    monkeypatch.setattr(history, "_MOST_FILES", 3)
    ran = box.run("forget", KEY, "--purge", "--prove", "--yes", "--json")
    assert ran.code == 7
    assert "more than 3 files" in ran.data["proof"]["gaps"][0]["why"]


def test_what_filter_repo_would_do_leaves_nothing(box: Box) -> None:
    """The advice itself: with the named paths out of every commit and a gc, the proof is clean."""
    box.ok("init", str(box.root), "--git")
    box.set(KEY, TEXT)
    commit(box)
    box.set("other", "stays")
    commit(box)
    ran = box.ok("forget", KEY, "--purge", "--prove", "--yes")
    line = next(line for line in ran.err.splitlines() if "filter-repo" in line)
    paths = [w for w in line.split() if w.startswith(("facts/", "archive/"))]
    commit(box)
    drop = f"git rm -q --cached --ignore-unmatch {' '.join(paths)}"
    env = {**os.environ, "FILTER_BRANCH_SQUELCH_WARNING": "1"}
    done = subprocess.run(
        ["git", "-C", str(box.root), "filter-branch", "-f", "--index-filter", drop, "HEAD"],
        env=env,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done
    git(box, "update-ref", "-d", "refs/original/refs/heads/" + git(box, "branch", "--show-current").strip())
    git(box, "reflog", "expire", "--expire=now", "--all")
    git(box, "gc", "-q", "--prune=now")
    found = prove.run(box.store, [(KEY, TEXT)], names=(), layer="facts")
    assert found.git is not None
    assert (found.git.holding, found.found) == ((), ())
    assert box.get("other") == "stays"


def unreadable(box: Box, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository that cannot be asked: none in the folder, no git to ask, or it belongs to somebody else."""
    if how == "no repository":
        (box.root / ".git").mkdir()
        return
    box.ok("init", str(box.root), "--git")
    if how == "no git":
        monkeypatch.setenv("PATH", str(box.root / "nothing"))
    else:
        monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")


@pytest.mark.parametrize("how", ["no repository", "no git", "another owner"])
def test_where_git_cannot_be_asked_nothing_is_erased(box: Box, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    box.set(KEY, TEXT)
    unreadable(box, how, monkeypatch)
    before = box.tree(state=True)
    ran = box.run("forget", KEY, "--purge", "--prove", "--yes", "--json")
    assert (ran.code, ran.error["code"]) == (7, "system")
    assert "nothing was erased" in ran.err
    assert box.tree(state=True) == before
    ran = box.run("forget", KEY, "--purge", "--prove", "--dry-run")
    assert ran.code == 7
    assert "not looked at: git" in ran.out
    assert "left: facts" in ran.out
    box.ok("forget", KEY, "--purge", "--yes")
    assert residue(box) == set()


def test_where_git_fails_afterwards_what_is_known_is_said(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    box.set(KEY, TEXT)
    box.set("other", f"by {TEXT}")
    unreadable(box, "another owner", monkeypatch)
    monkeypatch.setattr(prove, "check", lambda _: None)  # it went wrong only after this
    ran = box.run("forget", KEY, "--purge", "--prove", "--yes", "--json")
    assert (ran.code, ran.data["how"], ran.data["tombstones"]) == (7, "forgotten", 1)
    proof = ran.data["proof"]
    assert (proof["clean"], proof["git"], [t["path"] for t in proof["found"]]) == (False, None, ["facts/other.md"])
    assert [(g["area"], g["path"], g["why"]) for g in proof["gaps"]] == [
        ("git", None, "git cannot read the repository")
    ]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "no object": lambda _: b"junk",
    "cut": lambda data: data[: len(data) // 2],
    "a bit": lambda data: data[:-6] + bytes([data[-6] ^ 255]) + data[-5:],
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", ["blob", "commit", "tree"])
def test_a_damaged_object_is_a_gap_in_the_proof_and_no_bug(box: Box, damage: str, kind: str) -> None:
    box.ok("init", str(box.root), "--git")
    (box.root / "notes").write_text("of no matter\n" * 100)
    commit(box)
    box.set(KEY, TEXT)
    commit(box)
    name = git(box, "rev-parse", {"blob": "HEAD:notes", "commit": "HEAD~1", "tree": "HEAD^{tree}"}[kind]).strip()
    path = box.root / ".git" / "objects" / name[:2] / name[2:]
    path.chmod(0o600)
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    ran = box.run("forget", KEY, "--purge", "--prove", "--yes", "--json")
    assert ran.code == 7, ran
    assert (ran.data["how"], ran.data["tombstones"], ran.data["proof"]["found"]) == ("forgotten", 1, [])
    assert ran.data["proof"]["gaps"]
    assert {g["area"] for g in ran.data["proof"]["gaps"]} == {"git"}
    assert not ran.data["proof"]["clean"]


def test_a_file_that_cannot_be_read_is_a_gap_too(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    box.set(KEY, TEXT)
    box.set("other", f"by {TEXT}")
    plain = files.Folder.pieces

    def pieces(self: files.Folder, name: str, *more: int) -> Any:
        if name == "other.meta.json":
            raise files.Unreadable("cannot read", path=name)
        return plain(self, name, *more)

    monkeypatch.setattr(files.Folder, "pieces", pieces)
    ran = box.run("forget", KEY, "--purge", "--prove", "--yes", "--json")
    assert ran.code == 7
    assert [(g["area"], g["path"]) for g in ran.data["proof"]["gaps"]] == [("facts", "facts/other.meta.json")]
    assert [t["path"] for t in ran.data["proof"]["found"]] == ["facts/other.md"]


def test_an_episode_is_proved_too(box: Box) -> None:
    made = box.add(f"She told me: {TEXT}", "--task", f"ask about {CANARY} and all that")
    box.set("other", f"She told me: {TEXT}")
    ran = box.run("forget", made, "--purge", "--prove", "--yes", "--json")
    assert (ran.code, [t["path"] for t in ran.data["proof"]["found"]]) == (4, ["facts/other.md"])


def test_a_text_that_nobody_else_knows_any_more_is_searched_for_again(box: Box) -> None:
    box.set(KEY, TEXT)
    places(box, "facts")
    purge(box)
    assert box.run("forget", KEY, "--purge", "--prove", "--yes").code == 3
    search = ("forget", KEY, "--prove", "--stdin")
    before = box.tree(state=True)
    ran = box.run(*search, "--json", stdin=f"{TEXT.upper()}\n".encode())
    assert (ran.code, ran.data["how"], ran.data["tombstones"]) == (4, "searched", 0)
    assert [t["path"] for t in ran.data["proof"]["found"]] == ["facts/another-key--" + box.md("another key").name[13:]]
    assert box.tree(state=True) == before
    assert CANARY not in ran.out + ran.err
    box.ok("forget", "another key", "--purge", "--yes")
    assert "left outside git: nothing" in box.ok(*search, stdin=TEXT.encode()).out
    assert box.ok("fact", *search, stdin=TEXT.encode()).out.startswith("searched\n")
    assert box.memory.prove(KEY, TEXT).clean


def test_what_is_searched_for_comes_on_stdin_alone_and_forgets_nothing(box: Box) -> None:
    box.set(KEY, TEXT)
    for more in (("--purge", "--prove", "--yes"), ("--yes",), ("--prove", "--no-tombstone")):
        assert box.run("forget", KEY, "--stdin", *more, stdin=TEXT.encode()).code == 2
    assert box.run("forget", KEY, "--prove", "--stdin", stdin=b" \n").code == 2
    assert box.run("forget", KEY, "--prove", "--stdin", stdin=TEXT.encode()).code == 4
    assert box.get(KEY) == TEXT


@pytest.mark.parametrize(
    ("session", "label", "named"),
    [
        ("s 1; rm", "internal", True),
        ("s", "sensitive", False),
        (f"on {TEXT}", "public", False),
        ("anna@corp.com", "public", False),
    ],
)
def test_the_session_that_holds_it_is_named_when_its_label_allows(
    box: Box, session: str, label: str, named: bool
) -> None:
    box.set(KEY, TEXT)
    box.ok("work", "add", f"at {TEXT}", "--session", session, "--sensitivity", label)
    ran = box.run("forget", KEY, "--purge", "--prove", "--yes", "--json")
    assert ran.code == 4
    assert [t["session"] for t in ran.data["proof"]["found"]] == [session if named else None]
    assert (f"memcli work clear --session '{session}' --yes" in ran.err) == named
    assert named or len(session) == 1 or session not in ran.out + ran.err


def test_a_dry_run_counts_as_the_purge_does(box: Box) -> None:
    made = box.add(TEXT)
    for text in ("one", "two", TEXT):
        box.set(KEY, text)
    for ref, erased in ((KEY, 2), (made, 0)):
        would = box.data("forget", ref, "--purge", "--dry-run")
        assert (would["erased"], box.data("forget", ref, "--purge", "--yes")["erased"]) == (erased, erased)
    for text in ("one more", "two more"):
        box.set(KEY, text)
    assert box.ok("forget", KEY, "--purge", "--dry-run").out == "would forget, 1 former value would be erased\n"
    assert box.ok("forget", KEY, "--purge", "--yes").out == "forgotten, 1 former value erased\n"


# Tombstones.


def again(box: Box, way: str, text: str = TEXT, *more: str) -> Any:
    """One way to learn the value once more."""
    row = {"kind": "fact", "key": KEY, "text": text, "sensitivity": "internal"}
    if way == "set":
        return box.run("fact", "set", KEY, text, *more)
    if way == "remember":
        return box.run("remember", f"The home address is {text}.", "--session", "s", *more)
    if way == "import":
        return box.run("import", "jsonl", "-", *more, stdin=json.dumps(row).encode())
    if way == "import as one's own":
        return box.run("import", "jsonl", "-", "--trusted", *more, stdin=json.dumps(row).encode())
    if way == "import proposal":
        return box.run("import", "jsonl", "-", *more, stdin=json.dumps(row | {"kind": "proposal"}).encode())
    if way == "import former":
        archived = row | {"archived": {"reason": "superseded", "at": NOW}}
        return box.run("import", "jsonl", "-", "--trusted", *more, stdin=json.dumps(archived).encode())
    if way == "consolidate":
        box.ok("work", "add", f"The home address is {text}.", "--session", "s", "--importance", "0.9")
        return box.run("consolidate", "--session", "s", *more)
    raise AssertionError(way)


WAYS = ["set", "remember", "import", "import as one's own", "import proposal", "import former", "consolidate"]
REFUSED = {"set": 6, "remember": 6}


@pytest.mark.parametrize("way", WAYS)
def test_what_was_purged_is_not_learned_again(box: Box, way: str) -> None:
    box.set(KEY, TEXT)
    purge(box)
    ran = again(box, way)
    assert ran.code == REFUSED.get(way, 0), ran
    assert CANARY not in ran.out + ran.err
    if way in REFUSED:
        assert "--include-forgotten" in ran.err
    else:
        assert "purged" in ran.err
    assert [n for n in residue(box) if not n.startswith(".memcli/work/")] == []


@pytest.mark.parametrize("way", [w for w in WAYS if w != "consolidate"])
def test_a_word_of_the_person_lets_it_in_and_lifts_the_tombstone(box: Box, way: str) -> None:
    box.set(KEY, TEXT)
    purge(box)
    assert again(box, way, TEXT, "--include-forgotten").code == 0
    assert residue(box)
    assert again(box, way).code == 0
    assert box.store.tombstones() is not None
    assert not box.store.tombstones().hold("facts", KEY, TEXT)  # type: ignore[union-attr]


@pytest.mark.parametrize("way", WAYS)
def test_another_value_and_another_store_are_free(box: Box, way: str) -> None:
    box.set(KEY, "somewhere else entirely")
    purge(box)
    assert again(box, way).code == 0
    assert residue(box)


@pytest.mark.parametrize(
    ("key", "text"),
    [(KEY.upper(), TEXT.lower()), (KEY, f"  “{TEXT}”. "), (KEY, TEXT.replace(" ", "\n")), (KEY.title(), f"{TEXT}!")],
)
def test_however_it_is_written(box: Box, key: str, text: str) -> None:
    box.set(KEY, TEXT)
    purge(box)
    assert box.run("fact", "set", key, text).code == 6


def test_every_former_value_has_one_and_a_second_purge_adds_none(box: Box) -> None:
    for text in ("one", "two", TEXT):
        box.set(KEY, text)
    assert purge(box)["tombstones"] == 3
    before = (box.root / "tombstones.jsonl").read_bytes()
    for text in ("one", "two", TEXT):
        assert box.run("fact", "set", KEY, text).code == 6
    box.set(KEY, TEXT, "--include-forgotten")
    assert purge(box)["tombstones"] == 1
    after = (box.root / "tombstones.jsonl").read_bytes()
    assert sorted(json.loads(r)["hash"] for r in after.splitlines()) == sorted(
        json.loads(r)["hash"] for r in before.splitlines()
    )
    assert len({json.loads(r)["salt"] for r in after.splitlines()}) == 1
    assert (box.root / "tombstones.jsonl").stat().st_mode & 0o777 == 0o600


def test_forget_without_purge_and_no_tombstone_leave_none(box: Box) -> None:
    box.set(KEY, TEXT)
    box.ok("forget", KEY, "--yes")
    assert not (box.root / "tombstones.jsonl").exists()
    box.set(KEY, TEXT)
    assert purge(box, KEY, "--no-tombstone")["tombstones"] == 0
    assert not (box.root / "tombstones.jsonl").exists()
    assert box.ok("fact", "set", KEY, TEXT).out == "created\n"


def test_a_proposal_that_came_with_a_merge_is_neither_promoted_nor_accepted(box: Box) -> None:
    for run in "abc":
        box.ok("remember", f"The home address is {TEXT}.", "--session", run, "--importance", "0.1")
    held = {p: p.read_bytes() for p in (box.root / "proposed" / "facts").iterdir()}
    ref = box.data("review", "list")[0]["ref"]
    assert purge(box)["tombstones"] == 1
    for path, data in held.items():
        path.write_bytes(data)
    box.ok("sweep")
    assert box.run("fact", "get", KEY).code == 3
    ran = box.run("review", "accept", ref)
    assert (ran.code, "--include-forgotten" in ran.err) == (6, True)
    assert {f["code"] for f in box.data("doctor")} >= {"purged"}


def test_a_former_value_that_came_with_a_merge_is_not_restored(box: Box) -> None:
    box.set(KEY, TEXT)
    box.set(KEY, "moved")
    (kept,) = (box.root / "archive").iterdir()
    data, made = kept.read_bytes(), json.loads(kept.read_bytes())["meta"]["id"]
    purge(box)
    kept.write_bytes(data)
    assert box.run("restore", made).code == 6
    box.ok("restore", made, "--include-forgotten")
    assert box.get(KEY) == TEXT


def test_a_file_that_came_with_a_merge_is_reported_and_not_adopted(box: Box) -> None:
    box.set(KEY, TEXT)
    md = box.md(KEY)
    data = md.read_bytes()
    purge(box)
    md.write_bytes(data)
    assert {f["code"] for f in box.data("doctor")} == {"no_sidecar", "purged"}
    assert box.run("fact", "adopt", KEY).code == 6
    box.ok("fact", "set", KEY, TEXT, "--include-forgotten")
    assert box.data("doctor") == []


def test_a_rename_does_not_bring_it_back(box: Box) -> None:
    box.set(KEY, TEXT)
    purge(box)
    box.set("other", TEXT)
    assert box.run("fact", "rename", "other", KEY).code == 6
    assert box.get("other") == TEXT


def test_an_episode_has_a_tombstone_too(box: Box) -> None:
    made = box.add(TEXT)
    purge(box, made)
    assert box.run("episode", "add", TEXT).code == 6
    assert box.run("remember", TEXT, "--session", "s").code == 6
    row = {"kind": "episode", "at": NOW, "text": TEXT, "sensitivity": "internal"}
    ran = box.ok("import", "jsonl", "-", "--json", stdin=json.dumps(row).encode())
    assert (ran.data["purged"], ran.data["created"]) == (1, 0)
    box.ok("episode", "add", TEXT, "--include-forgotten")
    box.add(TEXT)


def test_a_purge_is_no_silent_loss_for_the_gate(box: Box) -> None:
    box.ok("init", str(box.root), "--git")
    box.set(KEY, TEXT, "--source", "user:anna")
    box.set("other", "v", "--source", "user:anna")
    commit(box)
    purge(box)
    assert box.run("check", "--against", "HEAD").code == 0
    commit(box)
    assert box.run("check", "--against", "HEAD~1").code == 0
    for path in (box.md("other"), box.side("other")):
        path.unlink()
    assert "loses a value" in box.run("check", "--against", "HEAD").out


def test_python_has_it_all(box: Box) -> None:
    m = box.memory
    m.set_fact(KEY, TEXT, now=at())
    done = m.forget(KEY, purge=True, prove=True, now=at())
    assert (done.tombstones, done.proof and done.proof.clean) == (1, True)
    with pytest.raises(errors.Purged):
        m.set_fact(KEY, TEXT, now=at())
    assert m.set_fact(KEY, TEXT, include_forgotten=True, now=at()).how == "created"


# The file.


@pytest.mark.parametrize(
    "line",
    [
        "<<<<<<< HEAD",
        "{",
        "null",
        '{"format": 1}',
        '{"format":1,"at":"x","salt":"zz","hash":"00"}',
        "\udcff",
        "[" * 9999,
    ],
    ids=range(7),
)
@pytest.mark.parametrize("where", ["before", "after", "torn"])
def test_a_damaged_line_is_reported_and_the_others_hold(box: Box, line: str, where: str) -> None:
    box.set(KEY, TEXT)
    purge(box)
    path = box.root / "tombstones.jsonl"
    odd, data = line.encode("utf-8", "surrogateescape"), path.read_bytes()
    path.write_bytes(odd + b"\n" + data if where == "before" else data + odd + b"\n" * (where == "after"))
    assert box.run("fact", "set", KEY, TEXT).code == 6
    box.set("free", "value")
    purge(box, "free")
    assert box.run("fact", "set", "free", "value").code == 6
    found = [f for f in box.data("doctor") if f["code"] == "bad_tombstone"]
    assert [f["line"] for f in found] == [1 if where == "before" else 2]
    assert box.run("check").code == 4


@pytest.mark.parametrize("kind", ["link", "folder", "fifo", "newer"])
def test_a_file_that_cannot_be_asked_stops_writers_and_no_reader(box: Box, kind: str, tmp_path: Path) -> None:
    box.set("k", "v")
    path = box.root / "tombstones.jsonl"
    if kind == "link":
        (tmp_path / "target").write_text("")
        path.symlink_to(tmp_path / "target")
    elif kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.write_text('{"format":2,"hash":"new"}\n')
    ran = box.run("fact", "set", "k", "w")
    assert ran.code in (4, 7)
    assert ran.err.count("\n") == 1
    assert box.get("k") == "v"
    box.ok("context")
    assert box.data("doctor")[0]["path"] == "tombstones.jsonl"


def test_two_clones_that_each_made_the_file_hold_both(box: Box) -> None:
    box.set(KEY, TEXT)
    purge(box)
    path = box.root / "tombstones.jsonl"
    ours = path.read_bytes()
    path.unlink()
    box.set("other key", "another")
    purge(box, "other key")
    theirs = path.read_bytes()
    path.write_bytes(b"<<<<<<< HEAD\n" + ours + b"=======\n" + theirs + b">>>>>>> theirs\n")
    assert box.run("fact", "set", KEY, TEXT).code == 6
    assert box.run("fact", "set", "other key", "another").code == 6


@given(st.text(max_size=40), st.text(max_size=80))
def test_normal_is_stable(key: str, text: str) -> None:
    assert tombstones.normal(tombstones.normal(text)) == tombstones.normal(text)
    salt = "00" * 16
    assert tombstones.digest(salt, "facts", key, text) == tombstones.digest(salt, "facts", f" {key} ", f"{text} \n")


def test_the_hash_is_that_of_the_format_page() -> None:
    import hashlib

    salt = "9f86d081884c7d659a2feaa0c55ad015"
    said = b"facts\nhome address\n14 kingfisher lane, oxford\n"
    assert tombstones.digest(salt, "facts", "Home  Address", "14 Kingfisher Lane, Oxford.") == (
        hashlib.sha256(bytes.fromhex(salt) + said).hexdigest()
    )


@pytest.mark.parametrize("json_", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize("words", [("restore",), ("fact", "restore")], ids=" ".join)
def test_restore_says_that_what_was_purged_cannot_come_back(
    box: Box, words: tuple[str, ...], json_: tuple[str, ...]
) -> None:
    said = "what was purged cannot come back"
    box.set(KEY, TEXT)
    box.add(f"{CANARY} was here")
    never = box.run(*words, "never was", *json_)
    assert never.code == 3
    assert said not in never.err
    id_ = box.fact(KEY).id
    purge(box)
    for ref in (KEY, id_):
        ran = box.run(*words, ref, *json_)
        assert (ran.code, ran.out) == (3, "")
        assert said in ran.err
        assert CANARY not in ran.err
        assert KEY not in ran.err


@pytest.mark.parametrize("line", [b"half a li", b'{"format": 9}'])
def test_restore_of_nothing_reads_damaged_tombstones_as_none(box: Box, line: bytes) -> None:
    (box.root / "tombstones.jsonl").write_bytes(line + b"\n")
    ran = box.run("restore", "never was")
    assert ran.code == 3
    assert "purged" not in ran.err
