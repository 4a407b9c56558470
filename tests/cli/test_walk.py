"""`review walk` on a real terminal: accept, edit, reject, skip, and what each leaves behind."""

import sys
from pathlib import Path

import pexpect
import pytest
import support
from support import Box

from memcli.store import procedures, proposals

ASKED = r"\[q\]uit\? "


@pytest.fixture
def waiting(box: Box) -> Box:
    """Two proposals, a hand edit and a pending procedure."""
    box.set("port", "8080", "--source", "user:anna")
    box.ok("remember", "The port is 9090. Boris is our backend lead.", "--importance", "0.1", "--source", "agent:coder")
    box.set("edited", "before")
    box.md("edited").write_text(box.md("edited").read_text().replace("before", "after"))
    box.ok("procedure", "propose", "release", "--step", "ship it", "--source", "agent:coder")
    return box


def walk(box: Box, answers: str, tmp_path: Path, *, editor: str = "", options: tuple[str, ...] = ()) -> str:
    """What the terminal shows while each item gets one of the answers. editor: the text that the editor leaves."""
    script = tmp_path / "editor.py"
    script.write_text(f"import sys\nopen(sys.argv[1], 'w').write({editor + chr(10)!r})\n")
    env = support.environment({"EDITOR": f"{sys.executable} {script}"})
    words = ["-m", "memcli", *box.words("review", "walk", *options)]
    child = pexpect.spawn(sys.executable, words, env=env, timeout=30, encoding="utf-8")
    shown = ""
    for answer in answers:
        child.expect(ASKED)
        shown += child.before
        child.sendline(answer)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    return shown + child.before


def test_each_answer_does_what_it_says(waiting: Box, tmp_path: Path) -> None:
    # Boris, port, release, edited: the order of the queue.
    shown = walk(waiting, "arsa", tmp_path, options=("--by", "user:anna"))
    assert "2 accepted, 0 edited, 1 rejected, 1 skipped" in shown
    assert "against: 8080" in shown
    assert waiting.get("Boris") == "our backend lead"
    assert waiting.get("port") == "8080"
    assert waiting.fact("edited").state == "ok"
    found = procedures.get(waiting.store, "release")
    assert found is not None
    assert found.state == "pending"
    assert list(proposals.every(waiting.store)) == []


def test_a_proposal_is_accepted_in_other_words(waiting: Box, tmp_path: Path) -> None:
    shown = walk(waiting, "eeq", tmp_path, editor="the platform lead", options=("--by", "user:anna"))
    assert "0 accepted, 2 edited, 0 rejected, 0 skipped" in shown
    fact = waiting.fact("Boris")
    assert (fact.text, str(fact.source), fact.domain) == ("the platform lead", "user:anna", "people")
    assert waiting.get("port") == "the platform lead"
    assert list(proposals.every(waiting.store)) == []


def test_an_edit_that_changes_nothing_is_a_yes(waiting: Box, tmp_path: Path) -> None:
    walk(waiting, "eq", tmp_path, editor="our backend lead", options=("--by", "user:anna"))
    fact = waiting.fact("Boris")
    assert (fact.text, str(fact.source)) == ("our backend lead", "agent:coder")
    assert [o.source for o in fact.confirmations] == ["user:anna"]


def test_what_cannot_be_edited_says_so_and_is_skipped(waiting: Box, tmp_path: Path) -> None:
    shown = walk(waiting, "sses", tmp_path, editor="x")
    assert "a procedure is not edited here" in shown
    assert "0 accepted, 0 edited, 0 rejected, 4 skipped" in shown


def test_an_edit_never_lowers_a_label(waiting: Box, tmp_path: Path) -> None:
    waiting.ok("fact", "set", "port", "--sensitivity", "restricted")
    walk(waiting, "seq", tmp_path, editor="7070", options=("--clearance", "restricted"))
    assert (str(waiting.fact("port").sensitivity), waiting.fact("port").text) == ("restricted", "7070")


def test_quitting_and_the_end_of_input_leave_the_rest(waiting: Box, tmp_path: Path) -> None:
    before = waiting.tree()
    assert "0 accepted, 0 edited, 0 rejected, 0 skipped" in walk(waiting, "q", tmp_path)
    assert waiting.tree() == before


def test_nobody_to_ask_is_an_error(waiting: Box) -> None:
    assert waiting.run("review", "walk").code == 6
