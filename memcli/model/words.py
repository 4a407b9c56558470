"""Words of a text in the form in which they are compared: folded, without stop words, cut to a light stem."""

import re

_WORD = re.compile(r"\w+")
_STOP = frozenset(
    "a an and are as at be been but by can could did do does for from had has have how i if in into is it its let me my no "
    "not of on or our shall should so than that the their them then there these they this to us was we were what when "
    "where which who whom whose why will with would you your about after again all any "
    "и в во не на я с со он а то все она так его но да ты к у же вы за бы по ее мне есть из ему для о об от до при как что "
    "кто где когда почему ли мы это этот эта эти их нас вас под над или если чтобы тоже уже только".split()
)
_EN = ("ments", "ment", "ings", "ing", "ers", "er", "ies", "ied", "ed", "es", "ly", "s", "e", "y")
_RU = (
    "иями ями ами ией иям ием иях ого ему ому ыми ими ешь ишь ает яет ают яют уем ует уют ить ать ять еть ала ила ели али "
    "или ем ам ом ах ях ая яя ую юю ой ей ый ий ое ее ые ие ых их ов ев ют ут ат ят ет ит ла ло ли ть а я о е ы и у ю ь й"
).split()
_MIN_STEM = 3


def terms(text: str) -> list[str]:
    """The comparable words of a text in order, stop words left out."""
    return [stem(w) for w in _WORD.findall(fold(text)) if w not in _STOP]


def fold(text: str) -> str:
    """Case, compatibility forms and ё folded (Unicode NFKC)."""
    if text.isascii():
        return text.lower()
    import unicodedata

    return unicodedata.normalize("NFKC", text).casefold().replace("ё", "е")


def stem(word: str) -> str:
    """A light stem by endings, English or Russian; the same for a word and its usual inflections."""
    for ending in _EN if word.isascii() else _RU:
        if word.endswith(ending) and len(word) - len(ending) >= _MIN_STEM:
            return word[: -len(ending)]
    return word
