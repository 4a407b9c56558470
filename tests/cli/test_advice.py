"""Advice names the store and the tenant that the command line named: who pastes it works on that store."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support import NOW, Box, Ran, call

from memcli.cli import advice
from memcli.cli.call import Context

MADE = "AKIA" + "Q3T7WZ5NDJ2LXPVB"  # in the shape of a key, and nobody's


def advised(said: str) -> list[str]:
    """The first command that a line advises, as the words of a shell."""
    found = re.search(r"memcli (--(?:'[^']*'|[^;,()`'])*)", said)
    assert found, said
    return shlex.split(found[1])


@pytest.fixture
def away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Box:
    """A store whose folder has a space in its name, and another one around the current folder, where a slip would land."""
    monkeypatch.delenv("MEMCLI_STORE", raising=False)
    monkeypatch.delenv("MEMCLI_TENANT", raising=False)
    monkeypatch.setenv("MEMCLI_SOURCE", "user:keeper")
    other = tmp_path / "other"
    here = Box(tmp_path / "my store")
    for root in (other, here.root):
        assert call(["init", str(root), "--git"]).code == 0
    (other / "below").mkdir()
    monkeypatch.chdir(tmp_path)
    return here


def by_hand(box: Box) -> None:
    (box.root / "facts" / "deploy.md").write_text("---\nkey: deploy\nsensitivity: internal\n---\n\nby hand\n")


def nothing(box: Box) -> None:
    box.set("deploy target", "Fly.io")


def proposed(box: Box) -> None:
    box.ok("procedure", "propose", "release", "--step", "Ship: make ship")


def ended(box: Box) -> None:
    box.set("deploy", "Fly.io", "--ttl", "5")


def blocked(box: Box) -> None:
    box.set("deploy", "Fly.io", "--source", "url:https://example.org/a page")
    box.ok("source", "block", "url:https://example.org/a page")


def sourceless(box: Box) -> None:
    box.set("deploy", "Fly.io", "--source", "unknown:unknown")


def unignored(box: Box) -> None:
    (box.root / ".gitignore").write_text("")


# What is there, what is called, the words of a person for the place-holders, what the follow-up says.
Case = tuple[Callable[[Box], None], list[str], dict[str, str], str]
HINTS: list[Case] = [
    (nothing, ["fact", "get", "nowhere"], {}, "deploy target"),
    (nothing, ["fact", "set", "nowhere", "--tag", "a"], {"KEY": "k", "VALUE": "v"}, "created"),
    (by_hand, ["fact", "get", "deploy"], {"takes": "deploy", "it": "", "over": ""}, "adopted 1"),
    (by_hand, ["doctor"], {"KEY": "deploy"}, "adopted 1"),
    (by_hand, ["check"], {"KEY": "deploy"}, "adopted 1"),
    (unignored, ["doctor"], {}, ""),
    (proposed, ["procedure", "propose", "release", "--step", "Ship: make ship"], {"KEY": "release"}, "make ship"),
    (proposed, ["procedure", "show", "nowhere"], {}, "release"),
    (proposed, ["review", "show", "nothing"], {}, "release"),
    (nothing, ["episode", "show", "0199e4a0-5b00-7c3e-9a51-0d6a0f1b2c3d"], {}, ""),
    (nothing, ["config", "nowhere"], {}, "context.budget_tokens"),
    (nothing, ["source", "show", "user:nobody"], {}, "keeper"),
    (blocked, ["fact", "get", "deploy"], {}, "set"),
    (sourceless, ["audit", "--kind", "unsourced"], {}, ""),
]


def followed(ran: Ran, words: dict[str, str], monkeypatch: pytest.MonkeyPatch, place: Path) -> tuple[list[str], Ran]:
    said = next(line for line in (ran.err + ran.out).splitlines() if " memcli " in line)
    argv = [word for given in advised(said.removeprefix("memcli: ")) if (word := words.get(given, given))]
    monkeypatch.chdir(place)
    return argv, call(["--now", NOW, *argv])


@pytest.mark.parametrize("case", HINTS, ids=[" ".join(words) for _, words, _, _ in HINTS])
def test_what_is_advised_works_from_another_folder(
    case: Case, away: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill, words, person, says = case
    fill(away)
    ran = call(["--store", "my store", "--now", NOW, *words])
    argv, then = followed(ran, person, monkeypatch, tmp_path / "other" / "below")
    assert argv[:2] == ["--store", str(away.root)]
    assert then.code == 0, (argv, then)
    assert says in then.out


def test_a_store_that_is_not_there_is_made_where_it_was_named(
    tmp_path: Path, away: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = call(["--store", "not yet", "fact", "list"])
    argv, then = followed(ran, {}, monkeypatch, tmp_path / "other" / "below")
    assert (argv, then.code) == (["--store", str(tmp_path / "not yet"), "init"], 0)
    assert (tmp_path / "not yet" / "memcli.toml").is_file()


def test_a_tenant_that_is_not_there_is_made_in_the_store_that_was_named(
    tmp_path: Path, away: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = call(["--store", "my store", "--tenant", "acme", "fact", "list"])
    _, then = followed(ran, {}, monkeypatch, tmp_path / "other" / "below")
    assert then.code == 0
    assert (away.root / "tenants" / "acme" / "memcli.toml").is_file()


def test_a_note_and_a_hint_in_json_name_the_tenant_too(away: Box) -> None:
    base = ["--store", "my store", "--tenant", "acme"]
    assert call([*base, "init"]).code == 0
    line = b'{"kind": "fact", "key": "k", "text": "v"}\n'
    ran = call([*base, "import", "jsonl", "-"], line)
    given = f"memcli --store {shlex.quote(str(away.root))} --tenant acme"
    assert f": {given} review list shows them; --trusted" in ran.err
    assert call([*base, "fact", "get", "nowhere", "--json"]).error["hint"] == f"{given} fact list"
    (away.root / "tenants" / "acme" / ".gitignore").write_text("")
    assert {row["next"] for row in call([*base, "doctor", "--json"]).data} == {f"{given} doctor --fix"}


def test_what_the_environment_names_is_not_repeated(away: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMCLI_STORE", str(away.root))
    assert call(["fact", "get", "nowhere"]).err == "memcli: no fact of this key; memcli fact list\n"


@pytest.mark.parametrize(
    ("words", "then"),
    [
        ("memcli fact list", "memcli --store /s fact list"),
        ("see memcli doctor; then (memcli sweep)", "see memcli --store /s doctor; then (memcli --store /s sweep)"),
        ("run `memcli reindex`", "run `memcli --store /s reindex`"),
        ("an empty value: memcli fact set KEY ''", "an empty value: memcli --store /s fact set KEY ''"),
        ("the store's memcli sweep", "the store's memcli --store /s sweep"),
        ("there is 'memcli doctor'", "there is 'memcli doctor'"),
        (
            "there is 'why memcli doctor', 'b'; memcli sweep",
            "there is 'why memcli doctor', 'b'; memcli --store /s sweep",
        ),
        ('there is "it\'s memcli doctor"', 'there is "it\'s memcli doctor"'),
        ("what is said of 'a memcli b' sweep has seen", "what is said of 'a memcli b' sweep has seen"),
        ("there is 'it\\'s \"a\" memcli sweep now'", "there is 'it\\'s \"a\" memcli sweep now'"),
        ('there is "it\'s \\\\"; memcli sweep', 'there is "it\'s \\\\"; memcli --store /s sweep'),
        (
            "the users' memcli sweep, Anna's memcli doctor",
            "the users' memcli --store /s sweep, Anna's memcli --store /s doctor",
        ),
        ("memcli --store DIR audit", "memcli --store DIR audit"),
        ("memcli --tenant a init", "memcli --store /s --tenant a init"),
        ("memcli init --git, or git init", "memcli --store /s init --git, or git init"),
        ("memcli init DIR, or another", "memcli init DIR, or another"),
        ("make one with: memcli init [DIR]", "make one with: memcli --store /s init"),
        ("upgrade memcli", "upgrade memcli"),
        ("what memcli wrote", "what memcli wrote"),
        ("memcli ", "memcli "),
    ],
)
def test_only_advice_is_completed(words: str, then: str) -> None:
    assert advice.follow(Context(store="/s"), words) == then
    assert advice.follow(Context(), words) == words


def test_a_path_for_a_shell_and_one_that_is_not_repeated() -> None:
    assert shlex.split(advice.follow(Context(store="/a b's", tenant="t"), "memcli sweep")) == [
        *("memcli", "--store", "/a b's", "--tenant", "t", "sweep")
    ]
    for path in (f"/tmp/{MADE}", "/tmp/password=Tr0ub4dor&3x"):
        assert advice.follow(Context(store=path), "memcli sweep") == "memcli --store DIR sweep"
    assert advice.follow(Context(store=""), "memcli sweep") == "memcli --store DIR sweep"


def test_a_name_in_a_note_is_left_as_it_is(away: Box) -> None:
    away.set("basis", "v")
    away.set("run memcli doctor --fix", "w", "--derived-from", "basis")
    ran = call(away.words("fact", "set", "basis", "another"))
    assert "run memcli doctor --fix" in ran.err
    assert f"look at them with: memcli --store {shlex.quote(str(away.root))} review list" in ran.err
    ran = call(away.words("forget", "basis", "--purge", "--yes"))
    assert "named by: run memcli doctor --fix; memcli --store " in ran.err


@given(
    st.lists(st.sampled_from([" ", "'", '"', "\\", "memcli sweep", "a", "(", "`", ";", ")"]), min_size=1).map("".join)
)
@example("a' memcli sweep now")
@example("'memcli sweep now")
def test_a_shell_reads_the_same_name_in_advice_that_is_completed(name: str) -> None:
    then = advice.follow(Context(store="/s"), f"memcli fact confirm {shlex.quote(name)} --yes")
    assert shlex.split(then) == ["memcli", "--store", "/s", "fact", "confirm", name, "--yes"]


def test_a_key_with_quotes_and_a_verb_is_the_key_in_what_audit_advises(
    away: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away.set("a' memcli sweep now", "nobody said this of it", "--source", "unknown:unknown")
    then = call([*away.words("audit", "--kind", "unsourced", "--json")]).data["findings"][0]["next"]
    assert shlex.split(then) == ["memcli", "--store", str(away.root), "fact", "confirm", "a' memcli sweep now"]
    monkeypatch.chdir(tmp_path / "other")
    assert call(["--now", NOW, *shlex.split(then)[1:]]).code == 0


def test_a_session_with_quotes_and_a_verb_is_the_session_in_what_a_proof_advises(away: Box) -> None:
    away.ok("work", "set", "--session", "q' memcli sweep now", "kk", "v1 secret words in it")
    away.set("kk", "v1 secret words in it")
    ran = call(away.words("forget", "kk", "--purge", "--yes", "--prove"))
    said = next(line for line in ran.err.splitlines() if line.startswith("a session holds it: "))
    argv = shlex.split(said.removeprefix("a session holds it: "))
    assert argv[1:] == [*("--store", str(away.root), "work", "clear", "--session", "q' memcli sweep now", "--yes")]
    assert call(["--now", NOW, *argv[1:]]).out == "cleared 1\n"


def test_a_session_that_cannot_be_printed_is_not_made_another_one(away: Box) -> None:
    away.ok("work", "set", "--session", "a\tb", "kk", "v1 secret words in it")
    away.set("kk", "v1 secret words in it")
    ran = call(away.words("forget", "kk", "--purge", "--yes", "--prove"))
    given = f"memcli --store {shlex.quote(str(away.root))}"
    assert f"a session holds it: {given} work clear --session S --yes\n" in ran.err


def test_a_key_that_made_room_is_named_as_it_is(away: Box) -> None:
    with (away.root / "memcli.toml").open("a") as f:
        f.write("\n[working]\nmax_entries = 1\n")
    away.ok("work", "set", "--session", "s", "run memcli sweep daily", "v")
    ran = call(away.words("work", "set", "--session", "s", "b", "v"))
    assert ran.err == "made room: run memcli sweep daily is gone\n"


def test_a_file_that_could_not_be_imported_is_named_as_it_is(away: Box, tmp_path: Path) -> None:
    brain = tmp_path / "brain"
    brain.mkdir()
    (brain / "semantic.json").write_text('{"nodes": [{"concept": "a", "content": "b"}, 3]}')
    (brain / "run memcli sweep daily.json").write_text('{"nodes": [3]}')
    ran = call(away.words("import", "cognitive-core", str(brain / "run memcli sweep daily.json")))
    assert "run memcli sweep daily.json" in ran.err


def test_a_place_of_a_conflict_is_named_as_it_is(away: Box, tmp_path: Path) -> None:
    for name in ("base", "ours", "theirs"):
        (tmp_path / name).write_text(f"---\nkey: k\n---\n\n{name}\n")
    files = [str(tmp_path / name) for name in ("base", "ours", "theirs")]
    ran = call(away.words("merge-driver", "fact", *files, "facts/run memcli sweep daily.md"))
    assert (ran.code, "conflict left in facts/run memcli sweep daily.md: " in ran.err) == (1, True)


def test_a_kept_text_in_a_folder_like_a_command_is_where_the_error_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMCLI_SOURCE", "user:keeper")
    monkeypatch.setenv("VISUAL", f"sh {tmp_path / 'edit.sh'}")
    (tmp_path / "edit.sh").write_text(f'echo "{MADE}" > "$1"\n')
    box = Box(tmp_path / "run memcli sweep daily")
    assert call(["init", str(box.root)]).code == 0
    box.set("k", "v")
    hint = call(box.words("fact", "edit", "k", "--json")).error["hint"]
    kept = shlex.split(hint.removeprefix("your text is kept in "))[0].rstrip(";")
    assert Path(kept).parent == box.root / ".memcli"
    assert Path(kept).is_file()


def test_a_damaged_fact_is_advised_of_in_its_store(away: Box) -> None:
    away.set("b", "v")
    (away.root / "facts" / "b.meta.json").write_text("{")
    ran = call([*away.words("fact", "get", "b", "--json")])
    given = f"memcli --store {shlex.quote(str(away.root))}"
    assert ran.error["message"] == "this fact is withheld: its label is above internal"
    assert ran.error["hint"] == f"--reveal shows it; its files are damaged; see {given} doctor"


def test_what_was_mended_says_where_the_rest_went_in_this_store(away: Box) -> None:
    away.set("a", "v")
    text = (away.root / "facts" / "a.md").read_text()
    (away.root / "facts" / "run memcli sweep x.md").write_text(text.replace("v", "w"))
    ran = call(away.words("doctor", "--fix", "--json"))
    given = f"memcli --store {shlex.quote(str(away.root))}"
    rows = [row for row in ran.data if row.get("mended")]
    assert [row["path"] for row in rows] == ["facts/run memcli sweep x.md"]
    assert rows[0]["detail"].endswith(f": {given} fact history KEY")
    assert "mended: facts/run memcli sweep x.md: " in ran.err
    assert f": {given} fact history KEY\n" in ran.err


def test_a_setting_like_a_command_is_named_as_it_is(away: Box) -> None:
    with (away.root / "memcli.toml").open("a") as f:
        f.write('\n["run memcli sweep daily"]\na = 1\n')
    details = [row["detail"] for row in call(away.words("doctor", "--json")).data]
    assert any("run memcli sweep daily" in detail for detail in details)


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_credential_in_a_path_is_in_no_error(more: list[str], tmp_path: Path) -> None:
    for named in (tmp_path / MADE, tmp_path / MADE / "below"):
        ran = call(["--store", str(named), "fact", "list", *more])
        assert ran.code == 3
        assert MADE not in ran.err
        assert f"{tmp_path}/[AWS_KEY]" in ran.err
        assert "memcli --store DIR init" in ran.err


def test_a_path_that_cannot_be_printed_is_not_made_another_one(tmp_path: Path) -> None:
    for name in ("a\nb", "a\x1bb", "a\u202eb"):
        ran = call(["--store", str(tmp_path / name), "fact", "list"])
        assert "memcli --store DIR init" in ran.err


@pytest.mark.parametrize("by", ["--store", "MEMCLI_STORE"])
def test_where_a_file_is_in_the_way_another_folder_is_advised(
    by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "nowhere").symlink_to("gone")
    for name in ("file", "file/below", "file/far/below", "nowhere"):
        argv = ["--store", str(tmp_path / name)] if by == "--store" else []
        monkeypatch.setenv("MEMCLI_STORE", str(tmp_path / name))
        ran = call([*argv, "fact", "list"])
        assert ran.code == 3
        assert ran.err.endswith("; a file is in the way; name a folder, or make one with: memcli init DIR\n")
        assert call(["init", str(tmp_path / f"dir for {name.replace('/', ' ')}")]).code == 0
    for name in (".", "not yet", "not/yet"):
        monkeypatch.setenv("MEMCLI_STORE", str(tmp_path / name))
        assert "make one with: memcli init" in call(["fact", "list"]).err


def test_status_says_where_to_look_next(box: Box) -> None:
    box.set("vault", "red")
    assert box.ok("status").err == ""
    box.md("vault").write_bytes(box.md("vault").read_bytes() + b"more\n")
    assert box.ok("status").err == "1 made or edited by hand: memcli review list\n"
    box.md("vault").write_bytes(b"\xff")
    assert box.ok("status").err == "1 damaged: memcli doctor\n"


def test_adopting_what_has_no_label_says_that_it_is_withheld(box: Box) -> None:
    (box.root / "facts" / "mine.md").write_text("by hand\n")
    note = "1 withheld by the label; memcli fact set KEY --sensitivity LABEL gives another\n"
    assert box.ok("fact", "adopt", "mine").err == note
    assert box.ok("fact", "adopt", "mine", "--sensitivity", "internal").err == note  # adopted already
    box.ok("fact", "set", "mine", "--sensitivity", "internal")
    assert box.get("mine") == "by hand"
    (box.root / "facts" / "yours.md").write_text("by hand\n")
    assert box.ok("fact", "adopt", "yours", "--sensitivity", "restricted").err == ""
