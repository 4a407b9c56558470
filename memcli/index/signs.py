"""Signs of a text that ranking weighs, noted when a record is indexed."""

import re
from functools import cache

from memcli.model import words
from memcli.model.records import Episode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.model.records import Fact, Procedure

# Bits of `flags`.
QUESTION, NUMBER, TIME = 1, 2, 4
_re = cache(re.compile)
_SPEAKER = r"\s*([^\W\d_][\w.’'-]{0,30}(?: [^\W\d_][\w.’'-]{0,30}){0,2}): "
_NUMBERS = (
    "one two three four five six seven eight nine ten eleven twelve twenty thirty hundred thousand once twice couple dozen "
    "один одна одно два две три четыре пять шесть семь восемь девять десять двадцать сто тысяча дважды пара"
)
_TIMES = (
    "yesterday today tomorrow tonight ago last next week weekend weeks month months year years day days monday tuesday "
    "wednesday thursday friday saturday sunday january february march april may june july august september october "
    "november december summer winter spring fall autumn recently morning evening night since "
    "вчера сегодня завтра назад неделе неделю недели месяц месяце месяца год году года день дня понедельник вторник "
    "среду среда четверг пятницу пятница субботу суббота воскресенье января февраля марта апреля мая июня июля августа "
    "сентября октября ноября декабря летом зимой весной осенью утром вечером недавно"
)


@cache
def _set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


def speaker(record: "Fact | Episode | Procedure") -> str:
    """Who says it: the name before the colon that an episode's text begins with, else the person it comes from."""
    if isinstance(record, Episode):
        named = _re(_SPEAKER).match(record.text)
        if named:
            return named[1]
    return record.source.id if record.source.kind == "user" else ""


def _counts(found: set[str]) -> bool:
    """True when a word begins with a digit."""
    first = min(found, default="")
    # Digits stand before letters and "_" in ASCII, and there are more of them behind it.
    return first[:1].isdigit() or (max(found, default="") > "\x7f" and any(map(str.isdigit, {w[0] for w in found})))


def flags(text: str) -> int:
    """What kind of text it is: bits of QUESTION, NUMBER and TIME, for it asks, counts or dates something."""
    found = set(words.pieces(text.lower()))
    bits = QUESTION if "?" in text else 0
    if not found.isdisjoint(_set(_NUMBERS)) or _counts(found):
        bits |= NUMBER
    return bits if found.isdisjoint(_set(_TIMES)) else bits | TIME
