"""Every key keeps its own fact: 300 keys that file systems, slugs and Unicode would like to confuse."""

import unicodedata

import pytest
from figures import Record
from support import Box

from memcli.base import errors
from memcli.model import keys

from .common import refused

LETTERS = "abcdefghijklmnopqrstuvwxyz"
KEYS = [
    "C", "c", "C++", "c++", "C#", "c#", "C--", "c-", "-c", "c.", ".c", "cc",
    "a b", "a-b", "a_b", "a.b", "a/b", "a\\b", "a:b", "a b ".strip() + "!", "A B", "A-B", "a  b", "a--b", "a+b", "a&b", "a,b",
    "naïve", "naive", "naïve!", "NAÏVE", "é", "e", "ё", "е", "ß", "ss", "SS", "ẞ", "ﬁ", "fi", "İ", "i", "ı", "I", "Å", "A",
    "con", "CON", "Con", "con.txt", "nul", "NUL", "aux", "prn", "com1", "com9", "COM1", "lpt1", "lpt9", "com10",
    "🚀", "🎯", "👩‍🚀", "👩🚀", "❤", "❤️", "日本", "日本語", "中文", "한국어", "العربية", "עברית", "ไทย",
    "...", "....", ".", "-", "--", "_", "~", "$", "%", "%20", "%2e%2e", "&#x41;", "&amp;", "&lt;b&gt;", "<b>", "'", '"', "`", "*", "?",
    "..a", "a..", "a..b", "a/b/c", "/a", "a/", "//", "~/x", "C:\\x", "\\\\host\\x",
    "x--0123456789abcdef", "k--0123456789ab", "c--0123456789ab", "facts", "meta", "a.md", "a.meta.json", ".git", ".memcli", "memcli.toml",
    "true", "false", "null", "yes", "no", "1", "01", "1.0", "1e3", "0x1", "-1", "2026-01-01", "[a]", "{a}", "a: b", "a #b", "- a", "? a", "! a", "& a", "@a",
    "0199e4a0-5b00-7c3e-9a51-0d6a0f1b2c3d", "0199e4a05b007c3e9a510d6a0f1b2c3d",
    "x" * 59, "x" * 60, "x" * 61, "x" * 62, "x" * 255, "x" * 256, "x" * 999, "x" * 1000, "ё" * 1000, "日" * 1000,
    "word " * 12 + "a", "word " * 12 + "b", "word " * 13 + "a", "word-" * 12 + "a",
    *(f"{letter}{sign}{letter}" for letter in LETTERS for sign in ("-", "_", " ", ".")),
    *(f"key {i}" for i in range(50)),
]  # fmt: skip


def test_three_hundred_distinct_keys_get_distinct_names() -> None:
    assert len(KEYS) == len(set(map(keys.normal, KEYS))) >= 300
    names = [maker(key) for key in KEYS for maker in (keys.file_name, keys.hidden_name)]
    for folded in (names, [n.casefold() for n in names], [unicodedata.normalize("NFD", n) for n in names]):
        assert len(set(folded)) == len(names)
    assert all(len(f".{n}.meta.{'0' * 36}.tmp".encode()) <= 255 for n in names)
    assert all(n.isascii() and not n.startswith((".", "-")) and "/" not in n for n in names)


@pytest.mark.also_full
def test_every_key_is_served_its_own_value(box: Box, figure: Record) -> None:
    lines = "".join(
        f'{{"kind":"fact","key":{box_json(key)},"text":"value {i}","sensitivity":"public"}}\n'
        for i, key in enumerate(KEYS)
    )
    assert box.data("import", "jsonl", "-", "--trusted", stdin=lines.encode())["created"] == len(KEYS)
    wrong = [key for i, key in enumerate(KEYS) if box.fact(key).text != f"value {i}"]
    names = [p.name.casefold() for p in (box.root / "facts").iterdir()]
    assert len(set(names)) == len(names) == 2 * len(KEYS)
    figure("keys that collide", len(KEYS), bad=len(wrong))
    assert wrong == []
    rows = box.data("fact", "list")
    assert {row["key"] for row in rows} == set(map(keys.normal, KEYS))


def test_the_command_line_takes_any_of_them(box: Box) -> None:
    for i, key in enumerate(KEYS[:150:3]):
        box.ok("fact", "set", "--", key, f"value {i}")
        assert box.ok("fact", "get", "--", key).out == f"value {i}\n"
    for i, key in enumerate(KEYS[:150:3]):
        assert box.ok("fact", "get", "--", key).out == f"value {i}\n", key


def test_composed_and_decomposed_are_one_key(box: Box) -> None:
    box.set(unicodedata.normalize("NFD", "naïve"), "one")
    assert box.ok("fact", "get", "naïve").out == "one\n"
    (box.root / "facts" / "n.md").write_text("---\nkey: cafe\u0301\nsensitivity: public\n---\ntwo\n")
    for form in ("NFC", "NFD"):
        assert box.ok("fact", "get", unicodedata.normalize(form, "café")).out == "two\n"


NO_KEYS = [
    "", " ", "\t", "\n", "\u00a0", "\u200b", "\ufeff\u200d", " a", "a ", "a\nb", "a\0b", "a\x1bb", "a\x7fb", "a\x9bb", "a\u2028b",
    "a\u202eb", "a\u2066b", "a\U000e0041b", "..", "../a", "a/..", "a/../b", "..\\a", "a\\..\\b", "x" * 1001, "\u0301" * 5000,
    "a\ud800b",
]  # fmt: skip


@pytest.mark.parametrize("key", NO_KEYS, ids=lambda key: f"{key!r:.20}")
def test_what_is_no_key_is_refused_by_every_command_and_nothing_is_written(key: str, box: Box) -> None:
    box.set("there", "v")
    before = box.tree(state=True)
    with pytest.raises(errors.UsageError):
        keys.normal(key)
    for words in (
        ("fact", "set", "--", key, "v"),
        ("fact", "get", "--", key),
        ("fact", "rename", "--", "there", key),
        ("fact", "history", "--", key),
        ("fact", "forget", "--yes", "--", key),
        ("fact", "restore", "--", key),
        ("fact", "adopt", "--", key),
        ("fact", "confirm", "--", key),
        ("forget", "--yes", "--", key),
    ):
        ran = refused(box.run(*words), 2)
        assert len(ran.err) < 300
    assert box.tree(state=True) == before


def box_json(text: str) -> str:
    import json

    return json.dumps(text)
