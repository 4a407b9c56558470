"""The renderer: what goes to which stream in which form, and that nothing in it acts on a terminal."""

import io
import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.base import errors
from memcli.cli import render
from memcli.cli.call import Context, Listing, Output
from memcli.cli.main import run

Captured = pytest.CaptureFixture[str]

HOSTILE = "esc \x1b[31m \u202e bidi \u200b zero \U000e0041 tag \udc80 half \x7f\x9b"


def test_text_goes_out_as_it_is(capsys: Captured) -> None:
    assert render.show(Output(None, "no newline", notes=("a note", "another")), Context()) == 0
    assert capsys.readouterr() == ("no newline", "a note\nanother\n")


def test_text_and_notes_are_inert(capsys: Captured) -> None:
    render.show(Output(None, f"a\tb\n{HOSTILE}", notes=(f"{HOSTILE}\nforged",)), Context())
    out, err = capsys.readouterr()
    inert = "esc \\x1b[31m \\u202e bidi \\u200b zero \\U000e0041 tag \\udc80 half \\x7f\\x9b"
    assert (out, err) == (f"a\tb\n{inert}", f"{inert}\\nforged\n")


def test_markup_is_only_text(capsys: Captured) -> None:
    render.show(Output(None, "[bold]x[/etc/passwd] :bug: **y**"), Context())
    assert capsys.readouterr().out == "[bold]x[/etc/passwd] :bug: **y**"


def test_json(capsys: Captured) -> None:
    data = {"text": HOSTILE, "Память": [1, 2.5, None, True]}
    assert render.show(Output(data, "text", notes=("n",), exit_code=4), Context(json=True)) == 4
    out, err = capsys.readouterr()
    assert json.loads(out) == {"format": 1, "data": data}
    assert out.startswith('{\n  "format": 1,\n  "data": {\n    "text": "esc \\u001b[31m \\u202e bidi ')
    assert "Память" in out
    assert err == "n\n"


def test_jsonl_is_one_bare_record_a_line(capsys: Captured) -> None:
    rows = [{"text": f"{HOSTILE}\n\u2028\x85"}, "second"]
    render.show(Listing(rows, "text"), Context(jsonl=True))
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line) for line in lines] == rows


def test_an_empty_list_is_no_lines(capsys: Captured) -> None:
    render.show(Listing([]), Context(jsonl=True))
    assert capsys.readouterr().out == ""


def test_jsonl_without_a_list_is_a_usage_error() -> None:
    with pytest.raises(errors.UsageError):
        render.show(Output({"a": 1}), Context(jsonl=True))


@pytest.mark.parametrize("data", [float("nan"), float("inf"), {1}, b"bytes"], ids=repr)
def test_what_json_cannot_hold_is_a_bug(data: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        render.show(Output(data), Context(json=True))


LEAVES = st.text() | st.integers() | st.booleans() | st.none()


@given(st.recursive(LEAVES, lambda below: st.lists(below), max_leaves=20))
def test_json_means_the_same_and_is_inert(data: object) -> None:
    for indent in (None, 2):
        document = render.encode(data, indent=indent)
        assert json.loads(document) == data
        assert not [c for c in document if c != "\n" and unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")]


def test_a_stream_without_encoding_or_descriptor_will_do(monkeypatch: pytest.MonkeyPatch, fakes: None) -> None:
    out, err = io.StringIO(), io.StringIO()
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setattr("sys.stderr", err)
    assert run(["show", "say", "x", "--note", "n"]) == 0
    assert (out.getvalue(), err.getvalue()) == ("x", "n\n")


class Broken(io.StringIO):
    """A stdout that fails as told."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error

    def write(self, words: str) -> int:
        raise self.error


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (BrokenPipeError(32, "Broken pipe"), 0, ""),
        (OSError(28, "No space left on device"), 7, "memcli: cannot write to stdout: No space left on device\n"),
    ],
    ids=["pipe", "disk"],
)
def test_a_stdout_that_fails(
    error: OSError, code: int, line: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured, fakes: None
) -> None:
    monkeypatch.setattr("sys.stdout", Broken(error))
    assert run(["bare"]) == code
    assert capsys.readouterr().err == line


def test_silence_writes_nothing_to_a_broken_stdout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", None)
    assert render.show(Output(None, ""), Context()) == 0
