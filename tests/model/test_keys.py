"""Keys and the file names that follow from them: every key its own name, on every file system."""

import hashlib
import re
import string
import subprocess
import sys
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from slugify import slugify

from memcli.base import errors
from memcli.model import keys

RESERVED = ["con", "prn", "aux", "nul", *[f"{d}{n}" for d in ("com", "lpt") for n in range(1, 10)]]
WORDS = ["deploy target", "naive", "naïve", "istanbul", "мир", "mir", "мiр", "Ёлка", "елка", "Straße", "strasse", "C"]
NASTY = [
    *["C", "c", "C++", "C#", "C.", "c-", "-c", "--c", "c--", "c c", "c_c", "c-c", "c.c", "c/c", "c\\c", "c:c", "c--c"],
    *["a_b", "a-b", "a b", "a  b", "a.b", "A-B", "A_B", "a,b", "a'b", "a’b", 'a"b', "a&b", "a+b", "a#b", "a~b", "a|b"],
    *["&#x41;", "&#65;", "&amp;", "&", "&lt;b&gt;", "<b>", "&#xD800;", "&#x110000;", "&#99999999999999999999;", "&#0;"],
    *["1,000", "1000", "1.000", "1 000", "1'000", "10,00", "0", "00", "0.0", "1", "-1", "+1", "½", "¹", "①", "١"],
    *[
        "🚀",
        "🎯",
        "👩‍👩‍👧",
        "👩👩👧",
        "❤",
        "❤️",
        "🇩🇪",
        "🇫🇷",
        "...",
        "---",
        "___",
        "!",
        "?",
        "*",
        '"',
        "'",
        "''",
        "~",
        "`",
    ],
    *["記", "记", "記憶", "記憶 システム", "메모리", "メモリー", "めもりー", "内存", "ﾒﾓﾘｰ", "한국어", "ไทย", "हिन्दी"],
    *["İ", "I", "ı", "i", "İstanbul", "Istanbul", "ıstanbul", "istanbul", "ISTANBUL", "i̇stanbul"],
    *["мир", "mir", "МИР", "Мир", "ёж", "еж", "Ёж", "щука", "shchuka", "щ", "ъ", "ь"],
    *["naïve", "naive", "Naïve", "NAIVE", "é", "e", "É", "ﬁ", "fi", "ß", "ss", "ẞ", "æ", "ae", "ø", "o", "ǆ", "dz"],
    *["\u212b", "Å", "A", "\u212a", "K", "k", "\u017f", "s", "ｃ", "Ｃ", "℃"],
    *["x" * 60, "x" * 61, "x" * 400, "x" * 1000, "y" * 59 + " z", "y" * 59 + "-z", "word " * 79 + "word", "word-" * 79],
    *["a/b", "/a/b", "a/", "/", "./a", "a/./b", "../a".replace("..", "…"), "a..b", "..a", "a..", "...", "C:\\a", "~/a"],
    *["key", "key.md", "key.meta.json", ".key", ".git", ".git/config", "memcli.toml", "k", "x", "x-y", "k--", "x--"],
    *[
        "con.md",
        "con.txt",
        "CON",
        "Con",
        "nul",
        "NUL",
        "com1",
        "COM1",
        "com10",
        "com0",
        "com¹",
        "lpt¹",
        "aux",
        "conin$",
    ],
    *RESERVED,
    *[w.upper() for w in RESERVED],
    *[f"{w} {i}" for w in WORDS for i in range(8)],
]


def folded(name):
    """As the least exact file system compares names: no case, decomposed."""
    return unicodedata.normalize("NFD", name).casefold()


# What a key may be.


@pytest.mark.parametrize("key", [*NASTY, "a\u200db", "\u200ba", "a\u3000b", "a" * 1000, "é" * 1000, "e\u0301" * 1000])
def test_good_keys_become_nfc_and_stay_so(key):
    found = keys.normal(key)
    assert found == unicodedata.normalize("NFC", key)
    assert keys.normal(found) == found


BAD = [
    *["", " ", "\t", "\u3000", "\u200b", "\u200d \ufeff", " a", "a ", "a\xa0", "\u2003a", "a\u3000"],
    *["a\nb", "a\tb", "a\x00", "a\x1bb", "a\x7fb", "a\x80b", "a\x85b", "a\x9bb", "a\rb", "\x00", "é\x01"],
    *["a\u2028b", "a\u2029b", "a\u061cb", "a\u200eb", "a\u200fb", "a\u202eb", "a\u202ab", "a\u2066b", "a\u2069b"],
    *["a\ud800b", "a\udfff", "\ud83d\ude00", "a\U000e0000", "a\U000e0041b", "a\U000e007f"],
    *["..", "../a", "a/..", "a/../b", "..\\a", "a\\..\\b", "a/..\\b", "/..", "é/../b"],
    *["a" * 1001, "é" * 1001, "e\u0301" * 1001, "a" * 10_000_000, "a" + "\u0301" * 5_000_000, " " * 100_000],
]


@pytest.mark.parametrize("key", BAD, ids=lambda k: ascii(k[:12]))
@pytest.mark.parametrize("use", [keys.normal, keys.file_name, keys.hidden_name])
def test_bad_keys_are_refused_without_a_live_echo(key, use):
    with pytest.raises(errors.UsageError) as bad:
        use(key)
    assert bad.value.message.isprintable()
    assert len(bad.value.message) < 500


@pytest.mark.parametrize("code", [*range(0x20), *range(0x7F, 0xA0), *range(0xE0000, 0xE0080)])
def test_every_forbidden_range_is_whole(code):
    with pytest.raises(errors.UsageError):
        keys.normal(f"a{chr(code)}b")


def test_nothing_of_a_key_is_echoed_but_where_it_is_wrong():
    with pytest.raises(errors.UsageError) as bad:
        keys.normal("SECRET\n")
    assert bad.value.message == "the key has white space around it (U+000A at 7)"


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_is_a_key_or_a_usage_error(text):
    try:
        key = keys.normal(text)
    except errors.UsageError as bad:
        shown = bad.message
        assert shown.isprintable()
        return
    assert keys.normal(key) == key
    name = keys.file_name(text)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*(--[0-9a-f]{12})?", name)
    assert len(name) <= 74
    assert re.fullmatch(r"x--[0-9a-f]{16}", keys.hidden_name(text))


# File names.


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("deploy-target", "deploy-target"),
        ("c", "c"),
        ("x" * 60, "x" * 60),
        ("deploy target", "deploy-target--"),
        ("C", "c--"),
        ("con", "con--"),
        ("com1", "com1--"),
        ("com10", "com10"),
        ("com0", "com0"),
        ("🚀", "k--"),
        ("---", "k--"),
        ("мир", "mir--"),
        ("x" * 61, "x" * 60 + "--"),
        ("a--b", "a-b--"),
    ],
)
def test_file_names(key, name):
    digest = hashlib.sha256(key.encode()).hexdigest()[:12] if name.endswith("--") else ""
    assert keys.file_name(key) == name + digest


def test_hidden_names_are_hashes():
    assert keys.hidden_name("salary of Ann") == "x--" + hashlib.sha256(b"salary of Ann").hexdigest()[:16]


def test_300_nasty_keys_never_share_a_name():
    distinct = {keys.normal(k) for k in NASTY}
    assert len(distinct) >= 300
    names = [folded(n) for k in distinct for n in (keys.file_name(k), keys.hidden_name(k))]
    assert len(set(names)) == 2 * len(distinct)


@pytest.mark.parametrize("name", [*RESERVED, *[w.upper() for w in RESERVED], *[w.title() for w in RESERVED]])
def test_no_file_name_is_reserved_on_windows(name):
    assert keys.file_name(name).partition(".")[0].lower() not in RESERVED


@given(st.text(st.characters(exclude_categories=("Cs", "Cc"))))
@example("naïve")
@example("Å")
@example("한국어")
def test_both_forms_of_a_key_are_one_key(text):
    try:
        key = keys.normal(text)
    except errors.UsageError:
        return
    apart = unicodedata.normalize("NFD", key)
    if len(apart) > 4 * keys.MAX_LENGTH:
        return
    assert keys.normal(apart) == key
    assert keys.file_name(apart) == keys.file_name(key)
    assert keys.hidden_name(apart) == keys.hidden_name(key)


# The same slug as python-slugify's.


def real(key):
    return slugify(
        key, max_length=60, word_boundary=True, save_order=True, algorithm="legacy", backend="text-unidecode"
    )


PIECES = st.sampled_from(
    [
        *string.printable,
        "&amp;",
        "&#x41;",
        "&#65;",
        "&lt",
        "1,0",
        "''",
        "--",
        "Con",
        "word",
        "x" * 29,
        "x" * 59,
        "&copy;",
    ]
)
ASCII = st.one_of(st.text(st.characters(max_codepoint=127)), st.lists(PIECES, max_size=12).map("".join))


@settings(max_examples=1000)
@given(ASCII)
@example("1,000")
@example("it's")
@example("'")
@example("a,b")
@example("&amp;")
@example("a" * 60)
@example("a" * 61)
@example("a" * 59 + " b")
@example("a" * 57 + " b c")
def test_own_slug_is_that_of_python_slugify(key):
    assert keys._slug(key) == real(key)


@settings(max_examples=500)
@given(st.one_of(ASCII, st.text()))
def test_a_slug_never_holds_a_double_dash(key):
    slug = real(key)
    assert slug == "" or keys._is_slug(slug)
    assert len(slug) <= 60


@given(ASCII)
def test_a_name_without_a_hash_is_the_key_itself(text):
    try:
        name = keys.file_name(text)
    except errors.UsageError:
        return
    assert "--" in name or name == text == real(text)


def loaded_after(key):
    probe = f"import sys; from memcli.model import keys; keys.file_name({key!r}); print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize("key", ["deploy-target", "deploy target", "C++", "CON"])
def test_plain_keys_load_nothing_heavy(key):
    heavy = {"slugify", "unicodedata", "text_unidecode", "typing", "pathlib", "inspect", "yaml", "hashlib"}
    assert not loaded_after(key) & heavy


def test_other_keys_load_slugify():
    assert {"slugify", "unicodedata"} <= loaded_after("мир")
