"""Words of a text in the form in which they are compared: folded, without stop words, cut to their Snowball stem.

Index and queries both go through `terms`; whoever stores what it gives stores `version()` beside it and makes it again
when that changes. Stems are those of Snowball (Porter 2001, snowballstem.org): English for Latin words, Russian for
Cyrillic ones.
"""

import re
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Raise it with anything that changes what `terms` returns; releases of the stemmer are told apart by `version`.
VERSION = 3
MOST_LETTERS = 64
# Compiled on first use, but for what every text goes through.
_re = cache(re.compile)
_WORD = re.compile(r"\w+")
# In ASCII a word ends at what is neither letter nor digit nor "_": blanks in their place cost a quarter of an expression.
_BLANKS = "".join(chr(c) if chr(c).isalnum() or chr(c) == "_" else " " for c in range(128))
# Vowel signs of the scripts of India and South-East Asia are marks, which \w leaves out.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0963\u0970-\u109f\u1780-\u17d3"
_WIDE_WORD = rf"[\w{_MARKS}]+"
# Scripts without spaces: Thai, Lao, Burmese, Khmer, kana, Han; and Hangul, whose words carry their particles.
_UNSPACED = (
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17d3\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
    "\U00020000-\U0003134f]+)"
)
_ACCENTS = "[\u0300-\u036f]+"
# What `_scripts` may change: scripts without spaces, accents, and words that begin in ASCII and go on in something else.
_MIXED = f"{_UNSPACED}|[\u0080-\u024f\u0300-\u036f]|[0-9a-z_][^\0-\x7f]"
_LAST_LATIN = "\u024f"
_APOSTROPHE = r"\b(?:ai|ca|wo|sha)n'?'t\b|n't\b|'(?:s|t|re|ve|ll|d|m)\b"
_HUMPS = r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+"
_CAMEL = r"\w*(?:[a-z][A-Z]|[A-Z]{2}[a-z]{2})\w*"
# Both begin with what is rare in most texts, and so look at little of it.
_CAMEL_AT = re.compile(r"[A-Z](?:(?<=[a-z].)|[A-Z][a-z]{2})")
_DIGIT = re.compile(r"\d")
# One thing although written in parts: 1.18, 2023-05-07, INC-214. The lengths are bounded to keep any text linear.
# The verb; with a capital, after "in" or beside a number it is the month.
_VERB_MAY = r"(?<!\bin )(?<!\bby )(?<!\bof )(?<!\bsince )(?<!\d )\bmay\b(?! \d)"
_CODE = re.compile(r"\b(?=[\w./:-]{0,32}\d)\w{1,24}(?:[-./:]\w{1,24}){1,4}")
_PREFIX = r"\b((?:[a-z]|wi|co|re|de)-([a-z]{2,24}))\b"
_STOP = frozenset(
    # English: articles, pronouns, prepositions, auxiliaries, question words. Not "may": it is a month too.
    "a about after again all also am an and any are as at be because been before being both but by can could did do does "
    "doing done down during each few for from further get gets getting got had has have having he her here hers herself "
    "him himself his how i if in into is it its itself just let me might more most much must my myself no nor not "
    "of off on once only or other our ours ourselves out over own same shall she should so some such than that the their "
    "theirs them themselves then there these they this those through to too under until up upon us use used using very was we "
    "were what when where which while who whom whose why will with would you your yours yourself "
    # Russian, with е for ё.
    "а без более бы был была были было быть в вам вами вас весь во вот все всего всех всю вы где да даже для до его ее ей "
    "ему если есть еще ж же за зачем здесь и из или им ими их к как какая какие какой какого какую какое каком каким "
    "каких ко когда кого кому который которая которое которые которого которой которую котором которых которым кто ли "
    "либо мне мной может мой моя мое мои моего моей моем мою моих мы на над надо нам нами нас наш наша наше наши нашей "
    "нашего не него нее ней нет ни них но ну о об однако он она они оно от откуда очень перед по под почему после потому "
    "при про с сам свой своя свое свои своего своей свою со так также такой такая такие там тебе тебя тем то тобой того "
    "тоже той только том тот ту ты у уж уже хотя чего чей чем через что чтобы чья эта эти этим этих это этого этой этом "
    "этот эту я".split()
)


def terms(text: str) -> list[str]:
    """The comparable words of a text in order, stop words left out; any text will do.

    Identifiers give themselves and their parts (`snake_case`, `camelCase`), codes and dates their parts and themselves
    without separators (`INC-214`: inc, 214, inc214). Scripts without spaces give overlapping pairs of letters, since
    most Chinese words have two. A word of more than 64 letters counts with its first 64.
    """
    if "may" in text:
        text = _re(_VERB_MAY).sub("", text)
    if _CAMEL_AT.search(text):
        text = _re(_CAMEL).sub(_humps, text)
    folded = fold(text)
    plain = folded.isascii()
    if not plain:
        folded = folded.replace("’", "'")
    if "'" in folded:
        folded = _re(_APOSTROPHE).sub("", folded)
    if "c++" in folded or "c#" in folded:
        folded = folded.replace("c++", "c cpp").replace("c#", "c csharp")
    if "-" in folded:
        folded = _re(_PREFIX).sub(lambda m: f"{m[1].replace('-', '')} {m[2]}", folded)
    if _DIGIT.search(folded):
        folded = _CODE.sub(lambda m: f"{m[0]} {''.join(_WORD.findall(m[0]))}", folded)
    found = pieces(folded) if plain else _re(_WIDE_WORD).findall(folded)
    if not plain and _re(_MIXED).search(folded):
        found = [w for f in found for w in _scripts(f)]
    if "_" in folded:
        found = [part for word in found for part in _parts(word)]
    return _stems([w for w in found if w not in _STOP])


def pieces(text: str) -> list[str]:
    """The runs of letters, digits and "_" in a text, in order."""
    return text.translate(_BLANKS).split() if text.isascii() else _WORD.findall(text)


def fold(text: str) -> str:
    """Case, compatibility forms and ё folded (Unicode NFKC)."""
    if text.isascii():
        return text.lower()
    import unicodedata

    return unicodedata.normalize("NFKC", text).casefold().replace("ё", "е")


def stem(word: str) -> str:
    """The stem of one folded word, be it a stop word or not; "" where there is no letter or digit."""
    found = _re(_WIDE_WORD).findall(word)
    return _stems(found[:1])[0] if found else ""


def lone(text: str) -> list[str]:
    """The words of one letter in scripts without spaces, which stand in texts as parts of pairs only."""
    if text.isascii():
        return []
    found = _re(_WIDE_WORD).findall(fold(text))
    return [word for word in found if len(word) == 1 and _re(_UNSPACED).fullmatch(word)]


def version() -> str:
    """What the terms of a text depend on beside the text: this module and the release of the stemmer."""
    import Stemmer

    return f"{VERSION}/{Stemmer.version()}"


def _humps(camel: "re.Match[str]") -> str:
    parts = _re(_HUMPS).findall(camel[0])
    return f"{camel[0]} {' '.join(parts)}" if len(parts) > 1 else camel[0]


def _parts(word: str) -> list[str]:
    """`snake_case` with its parts; other words alone."""
    parts = [p for p in word.split("_") if p]
    if len(parts) < 2:
        return parts
    return ["".join(parts), *parts]


def _scripts(word: str) -> "Iterator[str]":
    """A word without accents, its runs of unspaced script as overlapping pairs."""
    if word.isascii():
        yield word
        return
    for number, run in enumerate(_re(_UNSPACED).split(word)):
        if number % 2 and len(run) > 1:
            yield from (run[i : i + 2] for i in range(len(run) - 1))
        elif run and not run.isascii() and run[0] <= _LAST_LATIN:
            import unicodedata

            yield _re(_ACCENTS).sub("", unicodedata.normalize("NFD", run)) or run
        elif run:
            yield run


# Words come back again and again. Plain words only, and never so many that they weigh.
_KNOWN: dict[str, str] = {}
_MOST_KNOWN = 50_000


def _stems(found: list[str]) -> list[str]:
    known = _KNOWN
    try:
        return [known[word] for word in found]
    except KeyError:
        pass
    # A stemmer may not be shared by threads; to make one costs a quarter of a microsecond.
    from Stemmer import Stemmer

    english, russian = Stemmer("english", 0), Stemmer("russian", 0)
    if len(known) > _MOST_KNOWN:
        known.clear()
    made = []
    for word in found:
        stemmed = known.get(word)
        if stemmed is None:
            stemmed = word[:MOST_LETTERS]
            if word.isascii():
                stemmed = english.stemWord(stemmed) if stemmed.isalpha() else stemmed
            elif "\u0400" <= word[0] <= "\u04ff" and stemmed.isalpha():
                stemmed = russian.stemWord(stemmed)
            if len(word) <= MOST_LETTERS:
                known[word] = stemmed
        made.append(stemmed)
    return made
