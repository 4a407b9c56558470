"""Front matter: what is a header, what is refused, and that the two readers and the writer agree."""

import json
import math
import pathlib
import subprocess
import sys

import pytest
import yaml
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from memcli.base import errors
from memcli.model import header

NASTY = pathlib.Path(__file__).parents[3] / "shared" / "fixtures" / "files" / "nasty"
CANARY = "CANARY-7f3a"
WHOLE = """---
id: 0199e4a0-5b00-7c3e-9a51-0d6a0f1b2c3d
key: deploy target
sensitivity: internal
tags: [infra, "a b"]
relations:
  - {type: is_a, target: database, weight: 0.8}
---

Production runs on Fly.io.
"""


BY_HAND = """title: 'It''s'
nested: {a: {b: [1, x]}}
more:
  deep:
    - x: 1
      y: |
        two
        lines
last: >-
  a
  b"""
# One odd word a line.
ODD_WORDS = """
a
a b
a:b
a#b
x-y
-5
1.5
1.50
true
null
yes
é
мир
/p
+1
.5
-.5
it's
a, b
a ]
{x
a  b
-x
--
http://x.y/?q#f
a@b.c
~
...
---
1e5
1e-05
e: f
a #c
a:
-
- a
? a
a?b
@a
%a
`a`
*a
&a
!a
|
>
'q'
"q" r
NO
1.10
007
1_0
0x1f
0b1
12:30
.inf
.NaN
<<
=
2024-01-02
2024-01-02T03:04:05Z""".splitlines()


@pytest.fixture(params=["libyaml", "pure"])
def any_yaml(request, monkeypatch):
    """Both of PyYAML's parsers: libyaml is not built everywhere."""
    if request.param == "pure":
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    elif not yaml.__with_libyaml__:
        pytest.skip("PyYAML was built without libyaml")


def same(a, b):
    """Equal with exact types: 1, 1.0 and True differ."""
    return repr(a) == repr(b)


def between(text):
    return header.split(f"---\n{text}\n---\nbody\n")


# What is a header.


def test_example_of_the_format_document():
    found, body = header.split(WHOLE)
    assert found == {
        "id": "0199e4a0-5b00-7c3e-9a51-0d6a0f1b2c3d",
        "key": "deploy target",
        "sensitivity": "internal",
        "tags": ["infra", "a b"],
        "relations": [{"type": "is_a", "target": "database", "weight": 0.8}],
    }
    assert body == "Production runs on Fly.io."
    assert header.join(found, body) == WHOLE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", (None, "")),
        ("\n", (None, "")),
        ("a\n", (None, "a")),
        ("---", (None, "---")),
        ("---\n", (None, "---")),
        ("---\n---", ({}, "")),
        ("---\n---\n", ({}, "")),
        ("---\n---\n\n\n", ({}, "")),
        ("---\na: b\n---", ({"a": "b"}, "")),
        ("---\na: b\n---\nbody", ({"a": "b"}, "body")),
        ("---\na: b\n---\n\n\nbody\n\n", ({"a": "b"}, "\nbody\n")),
        ("\ufeff---\r\na: b\r\n---\r\n\r\nbody\r\n", ({"a": "b"}, "body")),
        ("---\ra: b\r---\rone\rtwo\r", ({"a": "b"}, "one\ntwo")),
        ("----\na: b\n----\n", (None, "----\na: b\n----")),
        ("--- \na: b\n---\n", (None, "--- \na: b\n---")),
        ("---\na: b\n----\nc\n---\n", None),
        ("---\na: b\n...\nbody", (None, "---\na: b\n...\nbody")),
        ("\n---\na: b\n---\n", (None, "\n---\na: b\n---")),
        ("---\ntitle: x\nbody without end\n", (None, "---\ntitle: x\nbody without end")),
        ("---\n\nProse between rules.\n\n---\n\nmore\n", (None, "---\n\nProse between rules.\n\n---\n\nmore")),
        ("---\n*Italic prose*, `code`\n---\nmore", (None, "---\n*Italic prose*, `code`\n---\nmore")),
        ("---\n# A title\n---\nmore", (None, "---\n# A title\n---\nmore")),
        ("---\n- a\n- b\n---\nbody", (None, "---\n- a\n- b\n---\nbody")),
        ("---\n\n---\nbody", (None, "---\n\n---\nbody")),
    ],
)
def test_fences(text, expected):
    if expected is None:
        with pytest.raises(errors.BadData):
            header.split(text)
    else:
        assert header.split(text) == expected


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("true", True),
        ("false", False),
        ("null", None),
        ("~", None),
        ("", None),
        *[(w, w) for w in ("True", "yes", "NO", "on", "off", "y", "Null", "=", ".inf", ".nan", "0x1F", "0o7", "0777")],
        *[(w, w) for w in ("1.10", "1.50", "08", "-0", "+5", "1_000", "12:30:00", "2024-01-02", "1e5", "1.0e5", "٣")],
        *[(w, w) for w in ("2026-03-01T09:30:00Z", "1e400", "1" * 301, "5²", "0.10")],
        ("0", 0),
        ("-12", -12),
        ("1" * 300, int("1" * 300)),
        ("1.1", 1.1),
        ("-0.0", -0.0),
        ("1e-05", 1e-05),
        ("1e+16", 1e16),
    ],
)
def test_meaning_of_words(word, value, any_yaml):
    assert same(between(f"a: {word}")[0], {"a": value})
    # A comment sends the same word to PyYAML.
    assert same(between(f"a: {word} # c")[0], {"a": value})
    assert same(header._read_yaml(f"a: {word}"), {"a": value})


def test_keys_are_words(any_yaml):
    found = {"on": "yes", "ttl": "08", "1": "x", "true": "y", "~": "z", "2024-01-02": "d"}
    assert same(between("on: yes\nttl: 08\n1: x\ntrue: y\n~: z\n2024-01-02: d")[0], found)


def test_what_people_write(any_yaml):
    assert between(BY_HAND)[0] == {
        "title": "It's",
        "nested": {"a": {"b": [1, "x"]}},
        "more": {"deep": [{"x": 1, "y": "two\nlines\n"}]},
        "last": "a b",
    }


# What is refused.

REFUSED = [
    f"a: !!str {CANARY}",
    f"a: ! {CANARY}",
    f"a: !!python/object/apply:os.system [{CANARY}]",
    f"!!map {{a: {CANARY}}}",
    f"a: &x {CANARY}",
    f"a: &x [{CANARY}]\nb: *x",
    f"a: *{CANARY}",
    f"base: &b {{x: 1}}\nc:\n  <<: *b\n  y: {CANARY}",
    f"<<: {{a: {CANARY}}}",
    f"sensitivity: restricted\nsensitivity: {CANARY}",
    f"{CANARY}: 1\n'{CANARY}': 2",
    f"a:\n  b: 1\n  b: {CANARY}",
    f"a: [{{b: 1, b: {CANARY}}}]",
    f"a:\n  - {{b: 1, b: {CANARY}}}",
    f"? [{CANARY}]\n: 1",
    f"? {{a: {CANARY}}}\n: 1",
    f": {CANARY}",
    f"a: 1\n--- \nb: {CANARY}",
    f"%YAML 1.1\n--- \na: {CANARY}",
    f"a: {CANARY}\n...",
    f"title: Split: {CANARY}",
    f"title: *{CANARY}*",
    f'a: "{CANARY}',
    f"a: [{CANARY}",
    f"\ta: {CANARY}",
    f"a: {CANARY}\n b: c",
    f"a: {CANARY}\x00",
    f"a: {CANARY}\x07",
    f"a: {CANARY}\ud800",
    f"a: {CANARY}\u2028b: c",
    f"a: {CANARY}\x85b: c",
    f"\ufeffa: {CANARY}",
    f'a: "\\U00110000 {CANARY}"',
    f'a: "\\q {CANARY}"',
    f"<<<<<<< HEAD\nsensitivity: restricted\n=======\nsensitivity: {CANARY}\n>>>>>>> b",
    f"{CANARY}: " + "[" * 21 + "]" * 21,
    f"{CANARY}: " + "[" * 60_000,
    "".join(f"a{i}: {CANARY}\n" for i in range(2_000)) + "l: [" + "1, " * 8_000 + "]",
    f"a: {CANARY}" + "x" * 65_536,
    f"a: {CANARY}" + "é" * 32_768,
    "a: [" + f"{CANARY}, " * 5 + "x, " * 10_001 + "]",
]


@pytest.mark.parametrize("text", REFUSED, ids=lambda t: ascii(t[:40]))
def test_refused_without_an_echo(text, any_yaml):
    with pytest.raises(errors.BadData) as bad:
        between(text)
    assert CANARY not in bad.value.message
    assert "front matter" in bad.value.message


def test_a_refusal_names_the_line_of_the_file():
    with pytest.raises(errors.BadData, match=r"the same key twice \(line 4\)"):
        between("a: 1\nb: 2\na: 3")


def test_limits_are_reached_but_not_passed(any_yaml):
    deep = "a: " + "[" * 18 + "x" + "]" * 18
    assert between(deep)[0] is not None
    # The mapping, its key and the list are three nodes.
    assert len(between("a: [" + "x, " * (10_000 - 3) + "]")[0]["a"]) == 9_997
    assert between("a: " + "x" * (65_536 - 4))[0] is not None
    for text in (deep.replace("x", "[x]"), "a: [" + "x, " * (10_000 - 2) + "]", "a: " + "x" * (65_536 - 3)):
        with pytest.raises(errors.BadData):
            between(text)


@pytest.mark.parametrize("path", sorted(NASTY.glob("*")) or [None], ids=lambda p: p.name if p else "none")
def test_nasty_files(path, any_yaml):
    if path is None:
        pytest.skip("the shared fixtures are not beside this checkout")
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    if path.name in ("alias.md", "colon.md", "dup_key.md"):
        with pytest.raises(errors.BadData) as bad:
            header.split(text)
        assert CANARY not in bad.value.message
    else:
        found, body = header.split(text)
        assert (found is not None) == (path.name in ("bom.md", "crlf.md", "yaml_bool_key.md"))
        assert isinstance(body, str)


# The two readers.

QUOTED = st.one_of(
    st.text(max_size=12).map(json.dumps),
    st.text(max_size=12).map(lambda t: json.dumps(t, ensure_ascii=False)),
    st.text(alphabet='ab":{}[],#\\ \n\t/u0é', max_size=12).map(lambda t: f'"{t}"'),
)
ATOMS = st.one_of(st.sampled_from(ODD_WORDS), QUOTED)
GAP = st.sampled_from(["", " ", "  "])


def listed(parts):
    return st.tuples(st.lists(parts, max_size=4), GAP, st.sampled_from(["", ","])).map(
        lambda t: f"[{t[1]}{f',{t[1]}'.join(t[0])}{t[2] if t[0] else ''}{t[1]}]"
    )


def mapped(parts):
    pair = st.tuples(ATOMS, st.sampled_from([": ", ":", " : "]), parts).map("".join)
    return st.lists(pair, max_size=3).map(lambda p: "{" + ", ".join(p) + "}")


VALUES = st.recursive(ATOMS, lambda p: st.one_of(listed(p), mapped(p)), max_leaves=6)
NAMES = st.one_of(st.sampled_from(["a", "b", "key", "x-y", "_z", "on", "<<", "1", "é", "a b"]), QUOTED)
FIELD = st.tuples(NAMES, st.sampled_from([":", ": ", ":  ", " : "]), VALUES, GAP).map("".join)
ITEM = st.tuples(GAP, st.sampled_from(["- ", "-  ", "-"]), VALUES, GAP).map("".join)
NOISE = st.sampled_from(["", "  ", "# c", "  # c: d", "\t", "...", "a", "  b: c", "%TAG x"])
# Rows of the plain subset, no key twice.
GOOD = """a: b
c: a b
d: [x, -1, "y", ]
e: [x, 1.5]
f: {g: h, i: [j]}
g:\v  - k\v  - {l: m}
h: 1.10
i: x:y#z
"j k": "l\\n"
k: null
# note
l: [ ]
m: {n: {o: p}}
n:
o:\v- a b\v# note\v- -5
p: /p/q""".split("\n")
ROWS = st.one_of(FIELD, ITEM, st.lists(ITEM, max_size=3).map("\n".join), NOISE)
# Many are mostly plain, so that the small reader often gets to the end.
SOURCES = st.one_of(
    st.lists(ROWS, max_size=6),
    st.lists(st.sampled_from(GOOD), unique=True, min_size=1, max_size=6),
    st.tuples(st.permutations(GOOD), st.integers(0, 5), ROWS).map(lambda t: [*t[0][: t[1]], t[2], *t[0][t[1] :]]),
).map(lambda rows: "\n".join(rows).replace("\v", "\n"))


def agree_or_decline(text):
    try:
        plain = header._read_plain(text)
    except (header._Declined, IndexError):
        return False
    full = header._read_yaml(text)
    assert same(plain, full) or (plain == {} and full is None)
    return bool(plain)


@settings(max_examples=1500, deadline=None)
@given(SOURCES)
@example("a: b\n  - c")
@example("a:\n  - b\n   - c")
@example("a:\n  - b\n - c")
@example("a:\n- b\n  - c")
@example("a:\n  - b\nc:\n- d")
@example("k" * 1001 + ": x")
@example("a: {" + "k" * 1030 + ": x}")
@example('"' + "k" * 1030 + '": x')
@example("a:\n- b\nc: d")
@example('a: ["x": y]')
@example("a: {b: c,}")
@example("a: {b:}")
@example('"": x')
@example("a: b:c\nd: x#y")
def test_readers_agree_or_the_small_one_declines(text):
    agree_or_decline(text)


@settings(max_examples=1500, deadline=None)
@given(st.data())
def test_readers_agree_on_damaged_headers(data):
    text = list(WHOLE[4 : WHOLE.index("---\n", 4)])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        new = data.draw(st.sampled_from(list(" \n:#-[]{},\"'\\&*!|>?%@~0e.\t\x85\ufeff\x1f\u3000")))
        text[at : at + data.draw(st.integers(0, 1))] = [new]
    agree_or_decline("".join(text))


@pytest.mark.parametrize(
    "text",
    [
        "a: b",
        "a: [b, c]",
        "a:\n  - b\n  - c",
        "a:\n- b\n\n# note\n- {c: d, e: [f, {g: h}]}\ni:",
        '"a b": "c\\n\\u00e9"\nd: []\ne:\n- {}',
        "a: -5\nb: /x/y\nc: it's, so, to:say",
    ],
)
def test_the_small_reader_takes_the_plain_subset(text):
    assert agree_or_decline(text)


def test_size_sends_a_header_to_pyyaml():
    with pytest.raises(header._Declined):
        header._read_plain("a: " + "x" * 10_000)


@settings(max_examples=400, deadline=None)
@given(st.text())
@example("---\na: " + "[" * 5000 + "\n---")
@example("---\n" + "{a: " * 5000 + "\n---")
def test_any_text_gives_an_answer_or_bad_data(text):
    for whole in (text, f"---\n{text}\n---\n", f"---\nkey: {text}\n---\n"):
        try:
            found, body = header.split(whole)
        except errors.BadData:
            continue
        assert isinstance(body, str)
        assert found is None or all(isinstance(k, str) for k in found)


# The writer.

TEXTS = st.one_of(
    st.text(),
    st.text(st.characters(exclude_categories=())),
    st.text(alphabet="\x00\t\n\r\x1b\x7f\x80\x85\xa0\u2028\u2029\u200d\ufeff\ufffe\uffff\ud83d\ude00\\\"/:#-[]{}, 'a"),
    st.sampled_from(header._LOOKALIKES),
    st.sampled_from(ODD_WORDS),
    st.uuids().map(str),
)
KEYS = st.one_of(st.sampled_from(["id", "key", "tags", "on", "a-b", "1", "", "a b", "<<", "é"]), st.text(max_size=20))
NUMBERS = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans())
SCALARS = st.one_of(TEXTS, NUMBERS)
# Also what only people write, since a header that was read must be writable.
ITEMS = st.recursive(
    st.one_of(SCALARS, st.none()),
    lambda p: st.one_of(st.lists(p, max_size=3), st.dictionaries(KEYS, p, max_size=3)),
    max_leaves=6,
)
LISTS = st.one_of(
    st.lists(TEXTS, max_size=4),
    st.lists(st.dictionaries(KEYS, ITEMS, max_size=4), max_size=3),
    ITEMS.filter(lambda i: isinstance(i, list | dict)),
)
HEADERS = st.dictionaries(KEYS, st.one_of(SCALARS, LISTS), max_size=5)
BODIES = st.one_of(
    st.text().map(lambda t: t.replace("\r", "")),
    st.lists(st.sampled_from(["", "---", "----", "a: b", "\ufeff", " "])).map("\n".join),
)


@settings(max_examples=500, deadline=None)
@given(HEADERS, BODIES)
@example({}, "")
@example({}, "\n")
@example({}, "a\n")
@example({}, "---\na: b\n---\n")
@example({}, "\n\n---\n")
@example({"a": "\ud83d\ude00"}, "")
@example({"a": "\ud800\\ud800", "b": "x"}, "")
def test_join_then_split_is_the_identity(fields, body):
    text = header.join(fields, body)
    found, rest = header.split(text)
    assert same(found, fields)
    assert rest == body
    assert header.join(found, rest) == text


@settings(max_examples=500, deadline=None)
@given(st.dictionaries(KEYS, st.one_of(TEXTS, st.lists(TEXTS, max_size=4)), max_size=5))
def test_an_independent_yaml_reader_sees_the_same_strings(fields):
    text = header.join(fields, "")
    assume("\\ud" not in text)
    inside = text[4 : text.index("\n---\n", 3) + 1]
    assert (yaml.safe_load(inside) or {}) == fields


@settings(max_examples=300, deadline=None)
@given(HEADERS)
def test_a_written_header_has_one_line_a_field_and_no_control_characters(fields):
    text = header.join(fields, "")
    blocks = [v for v in fields.values() if isinstance(v, list) and all(isinstance(i, dict) for i in v)]
    rows = len(fields) + sum(len(v) for v in blocks)
    assert len(text.splitlines()) == rows + 4
    assert not header._unsafe(text)


@pytest.mark.parametrize(
    "word", ["y", "No", "TRUE", "null", "1", "1.5", "1e5", "2024-01-02", "", " a", "a ", "C#", "-"]
)
def test_doubtful_words_are_quoted(word):
    assert header.join({"a": word, "b": [word]}, "").splitlines()[1:3] == [f'a: "{word}"', f'b: ["{word}"]']


def nested(levels):
    return [nested(levels - 1)] if levels else "x"


LOOP = []
LOOP.append(LOOP)


def test_the_deepest_header_comes_back():
    for value in (nested(18), [{"a": nested(16)}], {"a": nested(17)}):
        assert header.split(header.join({"a": value}, ""))[0] == {"a": value}


def test_a_field_without_a_value_is_written_as_one():
    text = header.join({"key": "k", "mine": None, "next": ["a"], "last": None}, "body")
    assert text == "---\nkey: k\nmine:\nnext: [a]\nlast:\n---\n\nbody\n"
    assert header.split(text) == ({"key": "k", "mine": None, "next": ["a"], "last": None}, "body")


@pytest.mark.parametrize(
    "value",
    [
        *[math.nan, math.inf, -math.inf, b"x", (), object(), 10**300],
        *[[math.nan], [{"a": math.inf}], [{"a": b"x"}], {"a": ()}, [{1: "a"}], {None: 1}, "x" * 70_000, ["x"] * 10_000],
        *[nested(19), [nested(18)], {"a": nested(18)}, LOOP],
    ],
)
def test_other_values_cannot_be_written(value):
    with pytest.raises(ValueError, match="front matter"):
        header.join({"a": value}, "")


@pytest.mark.parametrize("name", [1, None, True, "k" * 1001])
def test_other_keys_cannot_be_written(name):
    with pytest.raises(ValueError, match="front matter"):
        header.join({name: "x"}, "")


def test_long_keys_and_headers_come_back():
    fields = {"k" * 999: "x", "é" * 998: "y", "text": "word " * 5_000, "tags": ["t"] * 4_000}
    assert header.split(header.join(fields, "b")) == (fields, "b")


@settings(max_examples=700, deadline=None)
@given(SOURCES)
@example("owner: {name: Ann, since: 2020}\nyears: [2020, 2021]\ndue:\n - \n - [~]")
def test_what_was_read_can_be_written(text):
    try:
        found = header._read(text)
    except errors.BadData:
        return
    fields = {k: v for k, v in (found or {}).items() if v is not None}
    assert same(header.split(header.join(fields, ""))[0], fields)


# What it costs.


def loaded_after(code):
    probe = f"import sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_plain_subset_loads_nothing_heavy():
    heavy = {"typing", "enum", "dataclasses", "pathlib", "inspect", "yaml", "frontmatter", "slugify", "tomllib"}
    # What `json` and `re` bring themselves is not ours.
    base = loaded_after("import json, re")
    code = f"from memcli.model import header\nh, b = header.split({WHOLE!r})\nheader.join(h, b)"
    assert not (loaded_after(code) - base) & heavy
    assert "yaml" in loaded_after("from memcli.model import header\nheader.split('---\\na: |\\n  b\\n---\\n')")


def test_the_handler_leaves_splitting_to_us():
    with pytest.raises(NotImplementedError):
        header._handler().split("---\na: b\n---\n")
