"""Statements that say the same of the same thing but for one number, or for one last adjective in Russian.

What "X is Y" does not fit is caught here: "The plan costs 29 EUR" against "The plan costs 39 EUR", "Кот Анны чёрный" against
"Кот Анны рыжий". The rule goes by the shape of a whole sentence, without a model, and would rather miss: sentences with a
second number, a list, a condition, a denial or a limit ("at least 2") state nothing that another one rules out, and neither
do dates, versions and numbers that name a thing ("room 12"). Only what is said to hold counts, not what has happened once:
facts, entries and the claim, and no episodes.
"""

import re

from memcli.engine import statements
from memcli.model import words
from memcli.model.records import Fact
from memcli.model.working import Entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_WORDS = 12
# So many words at least name the subject and what is said of it, one where a key or a claim names the rest; so many at most
# follow a number: its unit.
_LEAST_BEFORE = 2
_MOST_AFTER = 2
_ADJECTIVE_LEAST = 3
_MOST_TEXT_CHARS = 4000
_WORD = re.compile(r"[^\W_]+(?:[.:/'’-][^\W_]+|,\d+)*")
_NUMBER = re.compile(r"(\d{1,3}(?:,\d{3})+|\d+(?:[.,]\d+)?)([^\W\d_]{0,3})")
_NO_UNIT = frozenset("st nd rd th й я е го ми х".split())
_ARTICLES = frozenset("a an the".split())
# With one of these a sentence leaves room for another one that differs.
_OPEN = frozenset(
    "and or either if unless when not no never nor least most more less fewer over under about around up almost only from"
    " till until every each per another other also и или либо если когда не ни нет более менее больше меньше около почти"
    " до от с каждый каждая каждые каждое ещё еще другой другая тоже также".split()
)
# A number behind one of these is a name, not a measure, where something else follows it.
_NAMED = frozenset(
    "version release build sprint step chapter page line room floor phase stage level day week month quarter year ticket issue"
    " task item node host server port shard group team unit section table column row zone gate track lesson exercise"
    " версия релиз шаг глава страница строка комната этаж этап уровень день неделя месяц квартал год задача тикет узел сервер"
    " порт группа команда раздел таблица зона урок номер".split()
)
_VERSIONED = frozenset("version v release build версия релиз сборка".split())
_IS = frozenset("is are was were has have had был была было были".split())
_MONTH = re.compile(
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*|(?:январ|феврал|март|апрел|ма[йя]$|июн|июл|август|сентябр"
    r"|октябр|ноябр|декабр)\w*"
)
_YEARS = range(1900, 2101)
# Gender and number of a Russian adjective in the nominative, in which it says what somebody or something is.
_ADJECTIVE = re.compile(r"\w{2,}(ый|ий|ой|ая|яя|ое|ее|ые|ие)")
_VERB = re.compile(r"\w+(?:ет|ёт|ит|ют|ут|ят|ат|ла|ло|ли|ть|ся|сь|ешь|ишь|ем|им)|\w*[аеиоуыя]л")
_CYRILLIC = re.compile(r"[а-яё]+")


class Shape:
    """A sentence: all of its words but the one that may differ, and that one. owner: the words of the key it stands under."""

    __slots__ = ("owner", "rest", "said", "words")

    def __init__(self, rest: tuple[str, ...], said: str, owner: frozenset[str]) -> None:
        self.rest, self.said, self.owner = rest, said, owner
        self.words = frozenset(rest)


def shapes(text: str, key: str = "") -> "Iterator[Shape]":
    """The sentences of a text that leave no room for another value. key: of the record, "" for a claim."""
    owner = frozenset(words.stem(w) for w in _words(key))
    for sentence in statements.sentences(text[:_MOST_TEXT_CHARS]):
        yield from _shape(sentence, owner, keyed=not key)
    if key:
        # A fact of the key "api port" that is "8080" says "api port 8080".
        yield from _shape(f"{key} {text}" if len(text) <= _MOST_TEXT_CHARS else "", owner, keyed=True)


def of(record: object) -> "list[Shape]":
    """The shapes of what a record says to hold; none of an episode or a message."""
    return list(shapes(record.text, record.key)) if isinstance(record, (Fact, Entry)) else []


def differ(one: "Iterable[Shape]", other: "Iterable[Shape]") -> bool:
    """Whether a sentence of one and a sentence of the other are the same but for what may differ, and differ in that."""
    return any(a.rest == b.rest and a.said != b.said and _one_subject(a, b) for a in one for b in other)


def _one_subject(one: Shape, other: Shape) -> bool:
    """Under two keys a sentence may be about two things, unless it names all that one of the keys does."""
    if not one.owner or not other.owner or one.owner == other.owner:
        return True
    return one.owner <= one.words or other.owner <= other.words


def _shape(sentence: str, owner: frozenset[str], *, keyed: bool = False) -> "Iterator[Shape]":
    if re.search(r"[,;:?]\s|[()\[\]\n–—→]", sentence.strip()):
        return
    said = [w for w in _words(sentence) if words.fold(w) not in _ARTICLES]
    folded = [words.fold(w) for w in said]
    if not 2 <= len(said) <= MOST_WORDS or _OPEN.intersection(folded) or any(w.endswith("n't") for w in folded):
        return
    places = [i for i, w in enumerate(said) if any(c.isdigit() for c in w)]
    if not places:
        yield from _adjective(folded, owner)
    elif len(places) == 1 and (number := _number(said, folded, places[0], keyed=keyed)):
        at = places[0]
        unit = number[1]
        rest = (*map(words.stem, folded[:at]), "#" + unit, *map(words.stem, folded[at + 1 :]))
        yield Shape(rest, number[0], owner)


def _number(said: list[str], folded: list[str], at: int, *, keyed: bool) -> tuple[str, str] | None:
    """The number in one form, and its unit where that is joined to it; None where it measures nothing."""
    found = _NUMBER.fullmatch(said[at])
    before, after = folded[at - 1] if at else "", folded[at + 1 :]
    if (
        found is None
        or found[2].lower() in _NO_UNIT
        or at < (1 if keyed else _LEAST_BEFORE)
        or len(after) > _MOST_AFTER
    ):
        return None
    if _IS.intersection(after) or before in _VERSIONED or (after and before in _NAMED):
        return None
    if at > 1 and before.isascii() and said[at - 1][:1].isupper():
        return None  # a version: "runs on Python 3"
    if _MONTH.fullmatch(before) or (after and _MONTH.fullmatch(after[0])):
        return None
    plain = found[1].replace(",", "") if re.fullmatch(r"\d{1,3}(?:,\d{3})+", found[1]) else found[1].replace(",", ".")
    if "." not in plain and len(plain) == 4 and int(plain) in _YEARS:
        return None
    return f"{float(plain):g}" if len(plain) < 15 else plain, found[2].lower()


def _adjective(folded: list[str], owner: frozenset[str]) -> "Iterator[Shape]":
    """A sentence without a verb whose last word is an adjective: it says what its subject is."""
    last = _ADJECTIVE.fullmatch(folded[-1])
    if len(folded) < _ADJECTIVE_LEAST or last is None or not all(_CYRILLIC.fullmatch(w) for w in folded):
        return
    if any(_VERB.fullmatch(w) or _ADJECTIVE.fullmatch(w) for w in folded[:-1]):
        return
    yield Shape((*map(words.stem, folded[:-1]), last[1][-1]), words.stem(folded[-1]), owner)


def _words(text: str) -> list[str]:
    return _WORD.findall(text)
