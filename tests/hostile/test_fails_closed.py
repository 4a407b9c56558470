"""A label that is missing, unknown or unreadable means restricted, and nothing but an explicit act lowers one."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support import CANARY, Box

from .common import ID, clean, fields, front

# How a label may be written wrongly. YAML and JSON spell each in their own way.
WRONG = [
    "Public", "PUBLIC", "publik", "pub", "open", "none", "no", "off", "false", "true", "0", "1", "~", "null", "''", "[]", "[public]",
    "{public: yes}", "public, internal", "public|internal", "public\\n", "'public '", "\"public\\u200b\"", "\"publi\\u0441\"", "!!str public", "&a public", "*a",
]  # fmt: skip
WRONG_JSON = [
    None, "Public", "PUBLIC", " public", "public ", "", "none", 0, 1, True, False, [], ["public"], {"public": True}, "public\n", "publi\u0441", "public,internal",
]  # fmt: skip
GOOD = front(id=ID, key="bad", sensitivity="public")
MD: dict[str, bytes] = {
    "no header": f"{CANARY}\n".encode(),
    "no label": front(id=ID, key="bad"),
    "empty label": front(id=ID, key="bad", sensitivity=""),
    "label twice": front(id=ID, key="bad", sensitivity="public") .replace(b"sensitivity", b"sensitivity: public\nsensitivity", 1),
    "restricted then public": b"---\nkey: bad\nsensitivity: restricted\nsensitivity: public\n---\n",
    "quoted twice": b"---\nkey: bad\nsensitivity: restricted\n'sensitivity': public\n---\n",
    "label in capitals": front(id=ID, key="bad", Sensitivity="public"),
    "label in a list": b"---\nkey: bad\nmeta: {sensitivity: public}\n---\n",
    "label below the header": b"---\nkey: bad\n---\nsensitivity: public\n",
    "label above the header": b"sensitivity: public\n---\nkey: bad\n---\n",
    "header without end": b"---\nkey: bad\nsensitivity: public\n",
    "four dashes": b"----\nkey: bad\nsensitivity: public\n----\n",
    "space before the fence": b" ---\nkey: bad\nsensitivity: public\n---\n",
    "second header": b"---\nkey: bad\n---\n---\nsensitivity: public\n---\n",
    "comment": b"---\nkey: bad\n# sensitivity: public\n---\n",
    "merge key": b"---\na: &a {sensitivity: public}\n<<: *a\nkey: bad\n---\n",
    **{f"label {word}": f"---\nkey: bad\nsensitivity: {word}\n---\n".encode() for word in WRONG},
}  # fmt: skip
SIDES: dict[str, bytes] = {
    "empty": b"", "garbage": b"\0\1\2", "cut": json.dumps(fields(sensitivity="public")).encode()[:-1], "null": b"null",
    "label twice": json.dumps(fields(sensitivity="restricted")).replace("}", ', "sensitivity": "public"}').replace('user", "sensitivity": "public"}', 'user"}', 1).encode(),
    "newer format": json.dumps(fields(format=2, sensitivity="public")).encode(),
    "UTF-16": json.dumps(fields(sensitivity="public")).encode("utf-16"),
    **{f"label {value!r}": json.dumps(fields() | {"sensitivity": value}).encode() for value in WRONG_JSON},
    "label missing": json.dumps({k: v for k, v in fields().items() if k != "sensitivity"}).encode(),
    "restricted": json.dumps(fields(sensitivity="restricted")).encode(),
    "sensitive": json.dumps(fields(sensitivity="sensitive")).encode(),
}  # fmt: skip
BOTH = [
    *(pytest.param(md, None, id=f"body: {name}, no sidecar") for name, md in MD.items()),
    *(
        pytest.param(md, json.dumps(fields(sensitivity="public")).encode(), id=f"body: {name}, sidecar public")
        for name, md in MD.items()
    ),
    *(pytest.param(GOOD, side, id=f"sidecar: {name}, body public") for name, side in SIDES.items()),
    *(pytest.param(MD["no label"], side, id=f"sidecar: {name}, body without") for name, side in SIDES.items()),
]


def test_there_are_forty() -> None:
    assert len(BOTH) >= 40


@pytest.mark.figure("labels that cannot be read: shown")
@pytest.mark.parametrize(("md", "side"), BOTH)
def test_it_is_withheld_and_counted(md: bytes, side: bytes | None, box: Box) -> None:
    (box.root / "facts" / "bad.md").write_bytes(md + CANARY.encode() + b"\n")
    if side is not None:
        (box.root / "facts" / "bad.meta.json").write_bytes(side)
    block = box.ok("context")
    assert CANARY not in block.out
    assert ", withheld 1, " in block.out.splitlines()[-1]
    assert (box.ok("fact", "list").out, box.ok("fact", "list").err) == ("", "1 withheld\n")
    for words in (
        ("fact", "get", "bad"),
        ("fact", "history", "bad"),
        ("search", CANARY),
        ("export", "jsonl", "-", "--clearance", "internal"),
    ):
        ran = clean(box.run(*words, "--json"))
        assert CANARY not in (ran.out + ran.err)
    assert box.run("fact", "get", "bad").code == 6
    assert CANARY in box.ok("fact", "get", "bad", "--reveal").out
    # And no ordinary write makes it readable.
    for words in (("fact", "set", "bad", "--tag", "t"), ("fact", "adopt", "bad"), ("fact", "adopt", "--all"), ("fact", "set", "bad", f"{CANARY} 2"),
                  ("fact", "rename", "bad", "better"), ("doctor", "--fix"), ("sweep", "--yes")):  # fmt: skip
        clean(box.run(*words))
        assert CANARY not in box.ok("context").out, words
    assert box.run("check").code == 4 or box.run("fact", "get", "better").code == 6


def test_a_bom_hides_no_label(box: Box) -> None:
    (box.root / "facts" / "bad.md").write_bytes(b"\xef\xbb\xbf" + front(key="bad", sensitivity="restricted"))
    assert box.run("fact", "get", "bad").code == 6
    (box.root / "facts" / "bad.md").write_bytes(b"\xef\xbb\xbf" + front(key="bad", sensitivity="public"))
    assert box.run("fact", "get", "bad").code == 0


LOG_LABELS = ["Public", "public ", "", "none", "no", "restricted", "sensitive"]


@pytest.mark.figure("labels that cannot be read: shown")
@pytest.mark.parametrize("word", LOG_LABELS)
@pytest.mark.parametrize("where", ["header", "end", "raise", "missing"])
def test_an_episode_without_a_good_label_is_withheld(word: str, where: str, box: Box) -> None:
    made = box.add(CANARY, "--sensitivity", "public")
    text = box.log().read_text()
    if where == "header":
        text = text.replace('"sensitivity":"public"', f'"sensitivity":"{word}"')
    elif where == "end":
        text = text.replace(f"<!-- end {made} public -->", f"<!-- end {made} {word} -->")
    elif where == "raise":
        text += f"<!-- raise {made} {word} -->\n"
    else:
        text = text.replace('"sensitivity":"public",', "")
    box.log().write_text(text)
    for words in (("episode", "list"), ("context",), ("search", CANARY), ("episode", "show", made)):
        ran = clean(box.run(*words))
        assert CANARY not in ran.out, words
    for words in (("episode", "add", "another"), ("doctor", "--fix"), ("sweep", "--yes")):
        clean(box.run(*words))
        assert CANARY not in box.ok("episode", "list").out


# Ways in which a label might come down.


def hand_edit_of(what: str) -> Callable[[Box], object]:
    def act(box: Box) -> None:
        paths = {"body": [box.md("k")], "sidecar": [box.side("k")]}[what]
        for path in paths:
            path.write_text(path.read_text().replace("restricted", "public"))

    return act


def text_edit(old: str, new: str) -> Callable[[Box], object]:
    return lambda box: box.md("k").write_text(box.md("k").read_text().replace(old, new))


def words(*argv: str, stdin: bytes = b"", now: str | None = None) -> Callable[[Box], object]:
    return lambda box: clean(box.run(*argv, stdin=stdin, now=now))


def imported(**more: object) -> bytes:
    return json.dumps(
        {"kind": "fact", "key": "k", "text": f"{CANARY} imported", "sensitivity": "public"} | more
    ).encode()


def second_file(name: str, label: str = "public") -> Callable[[Box], object]:
    def act(box: Box) -> None:
        text = f"---\nid: ffffffff-ffff-7fff-bfff-ffffffffffff\nkey: k\nsensitivity: {label}\n---\n\n{CANARY}\n"
        (box.root / "facts" / f"{name}.md").write_text(text)

    return act


def no_sidecar(box: Box) -> None:
    box.side("k").unlink()


def other_sides(box: Box) -> None:
    """The text of one side of a merge and the sidecar of another, in both ways."""
    md, side = box.md("k").read_bytes(), box.side("k").read_bytes()
    box.ok("fact", "set", "k", "--sensitivity", "public")
    box.md("k").write_bytes(md)
    assert CANARY not in box.ok("context").out
    box.ok("fact", "set", "k", "--sensitivity", "public")
    box.side("k").write_bytes(side)


LOWER: dict[str, Callable[[Box], object]] = {
    "label in the body edited": hand_edit_of("body"),
    "label in the sidecar edited": hand_edit_of("sidecar"),
    "second label added": text_edit("sensitivity: restricted", "sensitivity: restricted\nsensitivity: public"),
    "label line deleted": text_edit("sensitivity: restricted\n", ""),
    "label set to no": text_edit("sensitivity: restricted", "sensitivity: no"),
    "header deleted": lambda box: box.md("k").write_text(CANARY),
    "header doubled": lambda box: box.md("k").write_text(f"---\nkey: k\nsensitivity: public\n---\n{box.md('k').read_text()}"),
    "BOM": lambda box: box.md("k").write_bytes(b"\xef\xbb\xbf" + box.md("k").read_bytes()),
    "text edited": text_edit(CANARY, f"{CANARY} edited"),
    "id edited": lambda box: box.md("k").write_text("\n".join(line for line in box.md("k").read_text().split("\n") if not line.startswith("id:"))),
    "sidecar deleted": no_sidecar,
    "sides of a merge": other_sides,
    "new value": words("fact", "set", "k", f"{CANARY} 2"),
    "new value from stdin": words("fact", "set", "k", "-", stdin=CANARY.encode()),
    "same value again": words("fact", "set", "k", f"{CANARY} 1"),
    "metadata": words("fact", "set", "k", "--tag", "t", "--domain", "d", "--ttl", "0"),
    "source": words("fact", "set", "k", f"{CANARY} 3", "--source", "system:root", "--confidence", "1"),
    "personal data allowed": words("fact", "set", "k", f"{CANARY} a@example.com", "--allow-pii"),
    "secret allowed": words("fact", "set", "k", f"{CANARY} 4", "--allow-secret"),
    "adopt": lambda box: (text_edit(CANARY, f"{CANARY} edited")(box), words("fact", "adopt", "k")(box)),
    "adopt all": lambda box: (no_sidecar(box), words("fact", "adopt", "--all")(box)),
    "rename": words("fact", "rename", "k", "l"),
    "rename and back": lambda box: (words("fact", "rename", "k", "l")(box), words("fact", "rename", "l", "k")(box)),
    "restore of an older value": lambda box: words("restore", box.data("fact", "history", "k", "--reveal")[-1]["id"])(box),
    "forget and restore": lambda box: (words("forget", "k", "--yes")(box), words("restore", "k")(box)),
    "forget and restore the older": lambda box: (
        words("forget", "k", "--yes")(box),
        words("restore", box.data("fact", "history", "k", "--reveal")[-1]["id"])(box),
    ),
    "import": words("import", "jsonl", "-", stdin=imported()),
    "import of the same text": words("import", "jsonl", "-", stdin=imported(text=f"{CANARY} 1")),
    "import at once": lambda box: words("import", "jsonl", "-", stdin=imported())(box.at_once()),
    "import that supersedes": lambda box: words("import", "jsonl", "-", "--supersede", stdin=imported())(box.at_once()),
    "import accepted": lambda box: (words("import", "jsonl", "-", stdin=imported())(box), words("review", "accept", "k", "--by", "user:anna")(box)),
    "import accepted with all": lambda box: (words("import", "jsonl", "-", stdin=imported())(box), words("review", "accept", "--all", "--clearance", "restricted", "--yes")(box)),
    "trusted import": words("import", "jsonl", "-", "--trusted", "--supersede", stdin=imported(id="0199ffff-5b00-7c3e-9a51-0d6a0f1b2c3d")),
    "trusted import of the same text": words("import", "jsonl", "-", "--trusted", stdin=imported(text=f"{CANARY} 1")),
    "import with a label in the header": words("import", "jsonl", "-", "--trusted", "--supersede", stdin=imported(header={"sensitivity": "public", "id": "x", "key": "z"})),
    "proposal with a label in the header": words("import", "jsonl", "-", stdin=imported(header={"sensitivity": "public", "id": "x", "key": "z"})),
    "import of a former value": words("import", "jsonl", "-", "--trusted", stdin=imported(archived={"reason": "superseded", "at": "2026-01-01"})),
    "two files": second_file("copy"),
    "two files of regular names": second_file("k"),
    "sync conflict": second_file("k.sync-conflict-20261115-090000-ABCDEFG"),
    "confirm": words("fact", "confirm", "k", "--run", "r1"),
    "deny": words("fact", "deny", "k", "--run", "r1"),
    "relate": words("fact", "relate", "k", "is_a", "thing"),
    "doctor --fix": words("doctor", "--fix"),
    "two files and doctor --fix": lambda box: (second_file("copy")(box), words("doctor", "--fix")(box)),
    "expired and set again": lambda box: (words("fact", "set", "k", "--ttl", "1m")(box), words("fact", "set", "k", f"{CANARY} 5", now="2027-01-01T00:00:00Z")(box)),
}  # fmt: skip


def test_there_are_thirty_ways() -> None:
    assert len(LOWER) >= 30


@pytest.mark.figure("labels lowered without an explicit act")
@pytest.mark.parametrize("act", LOWER.values(), ids=LOWER)
def test_no_label_comes_down_by_itself(act: Callable[[Box], object], box: Box) -> None:
    box.set("k", f"{CANARY} 0", "--sensitivity", "public")
    box.set("k", f"{CANARY} 1", "--sensitivity", "restricted")
    act(box)
    for clock in (box.now, "2027-01-01T00:00:00Z"):
        for call in (("context", "--untrusted"), ("fact", "list"), ("fact", "get", "k"), ("fact", "get", "l"), ("fact", "history", "k"), ("fact", "history", "l"),
                     ("search", "imported edited"), ("review", "list"), ("recall", "imported edited"), ("export", "jsonl", "-", "--clearance", "internal"), ("graph", "--format", "dot")):  # fmt: skip
            ran = clean(box.run(*call, now=clock))
            assert CANARY not in ran.out, (call, ran)


@pytest.mark.parametrize("label", ["public", "internal", "sensitive"])
def test_an_explicit_act_does_lower_it(label: str, box: Box) -> None:
    box.set("k", CANARY, "--sensitivity", "restricted")
    box.ok("fact", "set", "k", "--sensitivity", label)
    assert box.data("fact", "get", "k", "--reveal")["sensitivity"] == label
    assert (CANARY in box.ok("context").out) is (label != "sensitive")


def test_the_stricter_of_two_clones_holds(box: Box, tmp_path: Path) -> None:
    """One clone raises the label, the other changes the value; git merges file by file."""
    git = ["git", "-C", str(box.root)]

    def run(*argv: str) -> int:
        return subprocess.run([*git, *argv], capture_output=True, check=False).returncode

    box.set("k", "old")
    run("init", "-q", "-b", "main")
    run("add", "-A")
    run("commit", "-qm", "base")
    run("checkout", "-qb", "other")
    box.set("k", f"{CANARY} new")
    run("commit", "-qam", "value")
    run("checkout", "-q", "main")
    box.ok("fact", "set", "k", "--sensitivity", "restricted")
    run("commit", "-qam", "label")
    run("merge", "-q", "other")
    assert CANARY not in box.ok("context").out
    for side in ("ours", "theirs"):
        for first in ("facts/k.md", "facts/k.meta.json"):
            run("checkout", f"--{side}", "--", first)
            other = "facts/k.meta.json" if first.endswith(".md") else "facts/k.md"
            run("checkout", "--theirs" if side == "ours" else "--ours", "--", other)
            assert CANARY not in box.ok("context").out, (side, first)
