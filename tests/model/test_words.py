"""Words as they are compared: the same for a word and its forms, in two languages and any script, whatever the text."""

import re
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.model import words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("deploying the services", "Deploy a service"),
        ("databases", "DATABASE"),
        ("релизы выпускаем", "РЕЛИЗ выпускают"),
        ("ёлка", "елки"),
        ("naïve café", "naive cafe"),
        ("ﬁle １２", "file 12"),
        ("Anna's", "anna"),
        ("Anna’s", "anna"),
        ("e-mail", "email mail"),
        ("C++ and C#", "c++, c#"),
    ],
)
def test_forms_of_a_word_are_one(one: str, other: str) -> None:
    assert words.terms(one) == words.terms(other)
    assert words.terms(one)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("snake_case_id", {"snakecaseid", "snake", "case", "id"}),
        ("getUserName", {"getusernam", "user", "name"}),
        ("HTTPServer", {"httpserver", "http", "server"}),
        ("src/engine/blend.py", {"src", "engin", "blend", "py"}),
        ("INC-214", {"inc", "214", "inc214"}),
        ("release 1.18", {"releas", "1", "18", "118"}),
        ("2023-05-07", {"20230507", "2023"}),
        ("v2", {"v2"}),
        ("C++", {"c", "cpp"}),
        ("東京タワー", {"東京", "京タ", "タワ"}),
        ("東", {"東"}),
        ("한국어", {"한국", "국어"}),
        ("python3で書く", {"python3"}),
        ("हिन्दी", {"हिन्दी"}),
    ],
)
def test_parts_are_found_as_well(text: str, holds: set[str]) -> None:
    assert holds <= set(words.terms(text))


def test_a_query_of_two_letters_meets_a_longer_text() -> None:
    assert set(words.terms("東京")) <= set(words.terms("私は東京都に住んでいます"))


@pytest.mark.parametrize("text", ["what is the", "don't we?", "и что же это", "?!", "", "\0", "\ud800", "'s", "_", "-"])
def test_what_says_nothing_gives_nothing(text: str) -> None:
    assert words.terms(text) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("when may we deploy?", ["deploy"]),
        ("it may rain in may", ["rain", "may"]),
        ("by may", ["may"]),
        ("12 may", ["12", "may"]),
        ("may 3", ["may", "3"]),
        ("May was warm", ["may", "warm"]),
        ("dismay, mayor", ["dismay", "mayor"]),
    ],
)
def test_may_is_a_month_or_a_verb(text: str, found: list[str]) -> None:
    assert words.terms(text) == found


def test_what_looks_like_a_stop_word_but_is_none_stays() -> None:
    assert words.terms("She won in May; it won't rain") == ["won", "may", "rain"]


@given(st.text(st.characters(codec=None, exclude_categories=()), max_size=300))
def test_any_text_gives_words_that_an_index_can_hold(text: str) -> None:
    found = words.terms(text)
    assert all(w and len(w) <= words.MOST_LETTERS and not any(c.isspace() for c in w) for w in found)
    " ".join(found).encode()  # no lone surrogate


@given(st.text(max_size=60))
def test_terms_do_not_depend_on_what_was_asked_before(text: str) -> None:
    first = words.terms(text)
    words.terms(text[::-1])
    assert words.terms(text) == first


@pytest.mark.parametrize("piece", ["a.", "a", "A-1", "aB", "_", "東", "a'", "1:", "я-", "a-b"])
def test_a_megabyte_is_no_trouble(piece: str) -> None:
    """Every pattern is linear: with a quadratic one this would run for hours into the time-out."""
    words.terms(piece * (1_000_000 // len(piece)))


def test_threads_do_not_spoil_each_others_words() -> None:
    texts = [f"running {n} databases quickly through запросами таблицы number{n}" for n in range(300)]
    expected = [words.terms(t) for t in texts]
    wrong: list[str] = []

    def work() -> None:
        wrong.extend(t for t, e in zip(texts, expected, strict=True) for _ in range(5) if words.terms(t) != e)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_stem_of_one_word() -> None:
    assert words.stem("running") == "run"
    assert words.stem("the") == "the"
    assert words.stem("-") == ""


def test_the_version_names_the_stemmer() -> None:
    import Stemmer

    assert words.version() == f"{words.VERSION}/{Stemmer.version()}"


@given(st.text() | st.text(st.characters(max_codepoint=127)))
def test_the_words_of_a_text_are_those_of_the_expression(text: str) -> None:
    assert words.pieces(text) == re.findall(r"\w+", text)
