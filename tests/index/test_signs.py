"""Signs of a text: whether it asks, counts, dates something."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.index import signs


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("Who has it?", signs.QUESTION),
        ("It has 3 legs", signs.NUMBER),
        ("the 1st of them", signs.NUMBER),
        ("two of them", signs.NUMBER),
        ("у него две ноги", signs.NUMBER),
        ("цена ٣ тугрика", signs.NUMBER),
        ("x² is no number, v2 neither", 0),
        ("She left yesterday", signs.TIME),
        ("Вчера в 5?", signs.QUESTION | signs.NUMBER | signs.TIME),
        ("", 0),
    ],
)
def test_signs(text: str, bits: int) -> None:
    assert signs.flags(text) == bits


_ODD = st.sampled_from("0 9 a z _ Z ² ٣ １ é я ё . - \n".split(" "))


@given(st.text() | st.lists(_ODD, max_size=12).map("".join))
def test_a_text_counts_when_a_word_begins_with_a_digit(text: str) -> None:
    found = re.findall(r"\w+", text.lower())
    counts = any(w[0].isdigit() for w in found) or not signs._set(signs._NUMBERS).isdisjoint(found)
    assert bool(signs.flags(text) & signs.NUMBER) == counts
