"""Text made safe to show."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.base import text

SHOWN = [
    ("\x1b[31mred", "\\x1b[31mred"),
    ("a\rb", "a\\x0db"),
    ("\x00\x07\x08\x0b\x0c", "\\x00\\x07\\x08\\x0b\\x0c"),
    ("\x7f\x80\x85\x9b", "\\x7f\\x80\\x85\\x9b"),
    ("\u202a\u202e\u2066\u2069\u200e\u200f\u061c", "\\u202a\\u202e\\u2066\\u2069\\u200e\\u200f\\u061c"),
    ("a\u200bb\u200cc\u200dd\u2060\ufeff\xad", "a\\u200bb\\u200cc\\u200dd\\u2060\\ufeff\\xad"),
    ("\u2028\u2029", "\\u2028\\u2029"),
    ("\U000e0000\U000e0041\U000e007f", "\\U000e0000\\U000e0041\\U000e007f"),
    ("\ud800 \udfff", "\\ud800 \\udfff"),
]


@pytest.mark.parametrize(("given_", "shown"), SHOWN)
def test_what_could_act_or_hide_is_shown(given_: str, shown: str) -> None:
    assert text.inert(given_) == shown


PLAIN = [
    "",
    "plain",
    "two\nlines\tand a tab\n",
    "Память, Ёлка; 日本語 한국어 العربية हिन्दी",
    "no-break\xa0space, wide\u3000space, e\u0301",
    "\U0001f9e0 \u2764\ufe0f \U0001f44d\U0001f3fd",
    "\U0001f468\u200d\U0001f4bb and \U0001f3f3\ufe0f\u200d\U0001f308",  # joined emoji
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u0915\u094d\u200d\u0937",  # Persian and Hindi need joiners
    "back\\slash \\x1b as typed",
]


@pytest.mark.parametrize("plain", PLAIN)
def test_plain_text_stays(plain: str) -> None:
    assert text.inert(plain) == plain


LOOSE = ["a\u200d\U0001f4bb", "\U0001f4bb\u200db", "\U0001f4bb\u200d\u200d\U0001f4bb", "\u200d"]


@pytest.mark.parametrize("joined", LOOSE)
def test_a_joiner_that_joins_nothing_is_shown(joined: str) -> None:
    assert "\u200d" not in text.inert(joined)


def test_keep_says_what_is_left_alone() -> None:
    assert text.inert("a\nb\tc\x1b", keep="") == "a\\x0ab\\x09c\\x1b"
    assert text.inert("a\nb\x1b", keep="\n\x1b") == "a\nb\x1b"


def test_one_line() -> None:
    assert text.one_line("a\nb\tc\r\x1b\u2028") == "a\\nb\\tc\\x0d\\x1b\\u2028"
    assert text.one_line("Память") == "Память"


@given(st.text(st.characters()))
def test_once_is_enough_and_nothing_unsafe_is_left(anything: str) -> None:
    shown = text.inert(anything)
    assert text.inert(shown) == shown
    assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") and c not in "\n\t"]
    assert len(text.one_line(anything).splitlines()) <= 1


@given(st.text(st.characters(), max_size=50), st.text(st.characters(), max_size=50))
def test_the_fast_path_and_the_slow_one_agree(one: str, other: str) -> None:
    # A character is shown or not for what it is and what stands beside it, not for what else is in the text.
    assert text.inert(f"{one} \x00 {other}") == f"{text.inert(one + ' ')}\\x00{text.inert(' ' + other)}"


def test_hidden_characters_are_counted_when_they_are_removed() -> None:
    assert text.strip_hidden("a\x1b[31m\u200b\U000e0041\nb\tc") == ("a[31m\nb\tc", 3)
    assert text.strip_hidden("Память") == ("Память", 0)


@given(st.text(st.characters()))
def test_what_is_stripped_is_what_would_be_shown(anything: str) -> None:
    left, removed = text.strip_hidden(anything)
    assert len(left) + removed == len(anything)
    assert text.inert(left) == left
    assert text.strip_hidden(left) == (left, 0)


@given(st.text(st.characters(codec="utf-8")))
def test_json_keeps_its_meaning(anything: str) -> None:
    document = text.inert_json(json.dumps([anything], ensure_ascii=False, indent=2))
    assert json.loads(document) == [anything]
    assert text.inert(document) == document
