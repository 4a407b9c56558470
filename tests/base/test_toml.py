"""The small TOML reader: agrees with tomllib or steps aside."""

import subprocess
import sys
import tomllib

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memcli.base import errors, toml

CANARY = "CANARY-7f3a"
PLAIN = """# A store of memcli.
format = 1

[defaults]
sensitivity = "internal"   # the label
ttl_minutes = 0
importance = -0.5
ask = true
[policy.pii]
kinds = ["e-mail", "phone №", 3, 1.5, false]
none = [ ]
 [ policy ]
 loud=false
[defaults.sub]
"""


def same(a, b):
    """Equal with exact types (1, 1.0 and True differ), whatever the order of keys; NaN is like itself."""
    return sorted(repr(a)) == sorted(repr(b))


def test_the_plain_subset():
    assert toml._plain(PLAIN) == tomllib.loads(PLAIN)
    assert toml.load(PLAIN) == {
        "format": 1,
        "defaults": {"sensitivity": "internal", "ttl_minutes": 0, "importance": -0.5, "ask": True, "sub": {}},
        "policy": {"pii": {"kinds": ["e-mail", "phone №", 3, 1.5, False], "none": []}, "loud": False},
    }
    assert toml.load("") == {}


@pytest.mark.parametrize(
    "text",
    [
        'a = "b\\n"',
        "a = 'b'",
        'a = """b\nc"""',
        "a = 1_000",
        "a = 0x1f",
        "a = +1",
        "a = 1e5",
        "a = inf",
        "a = 2026-03-01",
        "a = 2026-03-01T09:30:00Z",
        "a.b = 1",
        '"a b" = 1',
        "a = [\n  1,\n  2,\n]",
        "a = [1, 2,]",
        "a = [[1], [2]]",
        "a = {b = 1}",
        "[[a]]\nb = 1\n[[a]]\nb = 2",
        "a = 1\r\nb = 2\r\n",
        "a\t= 1",
        f"a = {'1' * 19}",
        '["a b"]\nc = 1',
    ],
)
def test_all_of_toml_is_read(text):
    with pytest.raises(toml._Declined):
        toml._plain(text)
    assert same(toml.load(text), tomllib.loads(text))


def test_a_byte_order_mark_is_dropped():
    assert toml.load("\ufeffa = 1") == {"a": 1}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f'a = 1\nb = "{CANARY}', 2),
        (f"a = 1\nb = {CANARY}\nc = 3", 2),
        (f"a = 1\n\n[{CANARY}]\n[{CANARY}]", 4),
        (f"{CANARY} = 1\n{CANARY} = 2", 2),
        (f"{CANARY} = 1\n[{CANARY}]", 2),
        (f"[a.{CANARY}]\n[a]\n{CANARY} = 1", 3),
        (f"a = 1 {CANARY}", 1),
        (f"a = '{CANARY}\\q\n'", 1),
        (f"a = [1\n{CANARY}", 2),
        (f"'(at line 99, column 1) {CANARY}' = 1\n[x]\n[x]", 3),
        ("= 3", 1),
        ("a = 1\x00", 1),
        ("a = 1\rb = 2", 1),
        (f"<<<<<<< HEAD\na = {CANARY}\n=======", 1),
        ("a = " + "[" * 100_000, None),
        ("a = " + "1" * 5000, None),
    ],
)
def test_no_toml_is_bad_data_with_the_line_and_no_value(text, line):
    with pytest.raises(errors.BadData) as bad:
        toml.load(text)
    assert bad.value.message == "this is no valid TOML" + (f" (line {line})" if line else "")


ATOMS = st.one_of(
    st.text(max_size=10).map(lambda t: f'"{t}"'),
    st.sampled_from(
        ["true", "false", "0", "-0", "00", "1.", ".5", "1.50", "-1.5", "+1", "1e5", "1_0", "inf", "nan", "yes"]
    ),
    st.sampled_from(
        ['"a # b"', '"a, b"', '"]"', '""', '""""""', "'a'", "2026-03-01", "{}", "{a = 1}", "[]", "[1]", ""]
    ),
    st.integers().map(str),
    st.floats().map(str),
)
LISTS = st.tuples(
    st.lists(ATOMS, max_size=4), st.sampled_from([",", ", ", " , "]), st.sampled_from(["", ",", " "])
).map(lambda t: f"[{t[1].join(t[0])}{t[2]}]")
NAMES = st.sampled_from(["a", "b", "c", "a.b", "a.c", "b-1", "1", "_", "", "é", '"a"', "a b", "a . b"])
END = st.sampled_from(["", "", " ", " # c", "# c", " x", "\t", "\r", " # \x01"])
FIELDS = st.tuples(NAMES, st.sampled_from([" = ", "=", " "]), st.one_of(ATOMS, LISTS), END).map("".join)
SECTIONS = st.tuples(st.sampled_from(["[", "[", "[ ", "[["]), NAMES, st.sampled_from(["]", "]", " ]", "]]"]), END).map(
    "".join
)
NOISE = st.one_of(FIELDS, SECTIONS, st.sampled_from(["", "# c", "  # c", " "]))
GOOD = st.sampled_from(
    [
        "a = 1",
        "b = 0",
        "c = -0",
        'd = "x # y"',
        "e = [1, 2.5]",
        "f=true # c",
        "[a]",
        "[b]",
        "[a.b]",
        " [b.c] # d",
        "# x",
        "",
    ]
)
# Mostly plain, so that the small reader often gets to the end.
TEXTS = st.one_of(
    st.lists(NOISE, max_size=7),
    st.tuples(st.lists(GOOD, max_size=5), st.lists(NOISE, max_size=1), st.lists(GOOD, max_size=3)).map(
        lambda t: [*t[0], *t[1], *t[2]]
    ),
).map("\n".join)


@settings(max_examples=2000, deadline=None)
@given(TEXTS)
@example("[a.b]\n[a]\nb = 1")
@example("[a]\nb = 1\n[a.b]")
@example("[a.b]\n[a]\n[a.b]")
@example("a = 1\n[a.b]")
@example('a = """"""')
@example("a = 00")
@example("a = -01.5")
@example("a = [01]")
@example("a = -0\nb = -0.0")
def test_readers_agree_or_the_small_one_declines(text):
    try:
        plain = toml._plain(text)
    except toml._Declined:
        return
    full = tomllib.loads(text)
    assert plain == full
    assert same(plain, full)


@settings(deadline=None)
@given(st.one_of(TEXTS, st.text()))
def test_any_text_gives_a_table_or_bad_data(text):
    try:
        found = toml.load(text)
    except errors.BadData:
        return
    assert same(found, tomllib.loads(text.removeprefix("\ufeff")))


def test_the_plain_subset_loads_no_tomllib():
    probe = f"import re, sys\na = set(sys.modules)\nfrom memcli.base import toml\ntoml.load({PLAIN!r})\n"
    probe += "print(*set(sys.modules) - a)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"memcli", "memcli.base", "memcli.base.errors", "memcli.base.toml"}
