"""Facts that carry a check: fresh, stale, and commands only when allowed."""

import json
import subprocess
from datetime import datetime, timezone

import pytest

from memcli.base import errors
from memcli.engine import memory, verify

NOW = datetime(2026, 11, 15, 9, tzinfo=timezone.utc)


@pytest.fixture
def m(tmp_path):
    (tmp_path / "app").mkdir()
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    return memory.init(tmp_path / "memory")


def states(m, **options):
    return {v.fact.key: v.state for v in verify.verify(m.store, None, now=NOW, **options)}


def test_a_path_is_looked_for_from_the_git_top(m, tmp_path):
    m.set_fact("k", "the app lies in app/", check="path:app", now=NOW)
    assert states(m) == {"k": "fresh"}
    (tmp_path / "app").rmdir()
    assert states(m) == {"k": "stale"}


def test_a_git_object_is_asked_of_git(m, tmp_path):
    (tmp_path / "f").write_text("x")
    git = ["git", "-C", tmp_path, "-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run([*git, "add", "f"], check=True)
    subprocess.run([*git, "commit", "-qm", "f"], check=True)
    m.set_fact("there", "v", check="git:HEAD:f", now=NOW)
    m.set_fact("gone", "v", check="git:HEAD:g", now=NOW)
    assert states(m) == {"there": "fresh", "gone": "stale"}


def test_a_command_runs_only_when_allowed_and_never_in_a_shell(m, tmp_path):
    m.set_fact("k", "v", check="cmd:touch ran.txt ; echo $(id)", now=NOW)
    assert states(m) == {"k": "skipped"}
    assert not (tmp_path / "ran.txt").exists()
    states(m, allow_commands=True)
    assert (tmp_path / "ran.txt").exists()
    assert (tmp_path / ";").exists(), "every word is an argument, none is a shell's"


def test_a_command_that_came_with_an_import_is_never_run(m, tmp_path):
    line = {"kind": "fact", "key": "k", "text": "v", "sensitivity": "internal", "check": "cmd:touch ran.txt"}
    line["source"] = {"id": "anna", "kind": "user"}
    (tmp_path / "in.jsonl").write_text(json.dumps(line) + "\n")
    m.import_jsonl(str(tmp_path / "in.jsonl"), now=NOW)
    m.review_accept("k", by="user:anna", now=NOW)
    assert states(m, allow_commands=True) == {"k": "skipped"}
    assert not (tmp_path / "ran.txt").exists()


def test_a_command_says_by_its_exit_code(m):
    m.set_fact("yes", "v", check="cmd:true", now=NOW)
    m.set_fact("no", "v", check="cmd:false", now=NOW)
    m.set_fact("missing", "v", check="cmd:no-such-program-at-all", now=NOW)
    assert states(m, allow_commands=True) == {"yes": "fresh", "no": "stale", "missing": "stale"}


def test_a_stale_fact_is_hedged_in_the_context_until_it_gets_a_new_value(m):
    m.set_fact("config file", "it is app/conf.py", check="path:app/conf.py", now=NOW)
    states(m)
    assert "STALE, its check failed 2026-11-15" in m.context("config file", now=NOW)
    m.set_fact("config file", "it is app/settings.py", check="", now=NOW)
    assert "STALE" not in m.context("config file", now=NOW)


def test_what_came_of_a_check_changes_no_tracked_file(m, tmp_path):
    m.set_fact("k", "v", check="path:nothing", now=NOW)
    before = {p: p.read_bytes() for p in (tmp_path / "memory/facts").iterdir()}
    states(m)
    assert {p: p.read_bytes() for p in (tmp_path / "memory/facts").iterdir()} == before


def test_a_damaged_state_file_is_made_again(m, tmp_path):
    m.set_fact("k", "v", check="path:nothing", now=NOW)
    (tmp_path / "memory/.memcli/checks.json").write_text("[1, {")
    assert states(m) == {"k": "stale"}
    assert len(verify.stale(m.store)) == 1


@pytest.mark.parametrize("text", ["", "path", "path:", "exec:rm", "cmd:a 'b", "cmd: ", "git:a\nb"])
def test_odd_checks_are_refused(text):
    with pytest.raises(errors.UsageError):
        verify.parse(text)


def test_a_fact_without_a_check_cannot_be_verified(m):
    m.set_fact("k", "v", now=NOW)
    with pytest.raises(errors.NotFound):
        verify.verify(m.store, "k", now=NOW)
