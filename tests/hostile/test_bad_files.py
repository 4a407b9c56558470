"""Two hundred files that no writer of ours made. None may crash, hang or swell a command, and none hides a good record.

Each case plants one bad thing beside good records; then every command that looks at the whole store runs, and a few
that write. A command may refuse, with one line; the good records must be served before and after.
"""

import json
import os
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import support
from figures import Record
from support import SHARED, Box

from .common import BODY, CALLS, EXITS, ID, SECONDS, clean, fields, front, good, pair, still_good, walk

Plant = Callable[[Path], object]
MIB = 300


def md(data: bytes, name: str = "bad") -> Plant:
    """A hand-made fact file."""
    return lambda root: (root / "facts" / f"{name}.md").write_bytes(data)


def side(raw: bytes | dict[str, Any]) -> Plant:
    """A good Markdown file with this sidecar."""
    return lambda root: pair(root, side=raw)


def meta(**changed: Any) -> Plant:
    """A good pair but for these fields of the sidecar."""
    return side(fields(**changed))


def json_with(text: str) -> bytes:
    """A good sidecar with one more field as it is written here."""
    return json.dumps(fields()).removesuffix("}").encode() + f", {text}}}".encode()


def header(**words: str) -> Plant:
    """A hand-made file with these fields as they are written."""
    return md(front(**words))


HEAD = b"---\nkey: bad\nsensitivity: internal\n---\n"
ENCODING: dict[str, Plant] = {
    "latin-1": md(b"caf\xe9"),
    "latin-1 header": md(b"---\nkey: caf\xe9\nsensitivity: public\n---\nx"),
    "0xff": md(b"\xff" * 1000),
    "UTF-16 LE": md((HEAD + b"x").decode().encode("utf-16-le")),
    "UTF-16 with BOM": md((HEAD + b"x").decode().encode("utf-16")),
    "UTF-32": md((HEAD + b"x").decode().encode("utf-32")),
    "BOM": md(b"\xef\xbb\xbf" + HEAD + b"x"),
    "two BOMs": md(b"\xef\xbb\xbf\xef\xbb\xbf" + HEAD + b"x"),
    "CRLF": md(HEAD.replace(b"\n", b"\r\n") + b"a\r\nb\r\n"),
    "CR": md(HEAD.replace(b"\n", b"\r") + b"a\rb\r"),
    "mixed line ends": md(b"---\r\nkey: bad\n sensitivity: public\r---\nx\r\ny\rz"),
    "NUL in the body": md(HEAD + b"a\0b"),
    "NUL in the header": md(b"---\nkey: b\0d\nsensitivity: public\n---\nx"),
    "encoded surrogate": md(HEAD + b"\xed\xa0\x80"),
    "overlong": md(HEAD + b"\xc0\xaf\xe0\x80\xaf"),
    "cut-off sequence": md(HEAD + "ё".encode()[:1]),
    "beyond Unicode": md(HEAD + b"\xf4\x90\x80\x80"),
    "non-characters": md(HEAD + "\ufffe\uffff\U0010ffff".encode()),
    "C0 and C1": md(HEAD + "".join(map(chr, [*range(1, 32), *range(127, 160)])).encode()),
    "bidi and tags": md(HEAD + "\u202e\u2066\U000e0041\u200b\xad".encode()),
    "NFD key": md("---\nkey: nai\u0308ve\nsensitivity: public\n---\nx".encode()),
    "line separators in the header": md("---\nkey: a\u2028b\x85c\nsensitivity: public\n---\nx".encode()),
}

DEEP = 100
YAML: dict[str, Plant] = {
    "Python object": header(key="!!python/object/apply:os.system ['true']", sensitivity="public"),
    "string tag": header(key="!!str bad", sensitivity="!!str public"),
    "lone tag": header(key="! bad", sensitivity="public"),
    "anchor": header(key="&a bad", sensitivity="public"),
    "alias": header(key="&a bad", sensitivity="public", other="*a"),
    "alias bomb": md(
        (
            "---\nsensitivity: public\na: &a [x,x,x,x,x,x,x,x,x]\n"
            + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{','.join([f'*{chr(97 + i)}'] * 9)}]\n" for i in range(8))
            + "---\nx"
        ).encode()
    ),
    "merge key": md(b"---\nbase: {sensitivity: public}\n<<: {key: bad}\n---\nx"),
    "duplicate key": md(b"---\nkey: bad\nsensitivity: restricted\nsensitivity: public\n---\nx"),
    "duplicate after quoting": md(b'---\nkey: bad\nsensitivity: restricted\n"sensitivity": public\n---\nx'),
    "boolean key": md(b"---\non: yes\nkey: bad\n---\nx"),
    "null key": md(b"---\n: x\nkey: bad\n---\nx"),
    "empty key": md(b"---\n'': x\nkey: bad\n---\nx"),
    "complex key": md(b"---\n? [a, b]\n: x\nkey: bad\n---\nx"),
    "list": md(b"---\n- a\n- b\n---\nx"),
    "scalar": md(b"---\njust words\n---\nx"),
    "number": md(b"---\n42\n---\nx"),
    "empty": md(b"---\n---\nx"),
    "comment": md(b"---\n# nothing\n---\nx"),
    "without end": md(b"---\nkey: bad\nsensitivity: public\nx"),
    "four dashes": md(b"----\nkey: bad\nsensitivity: public\n----\nx"),
    "document mark inside": md(b"---\nkey: bad\n...\nsensitivity: public\n---\nx"),
    "directive": md(b"---\n%YAML 1.1\nkey: bad\n---\nx"),
    "tab": md(b"---\nkey: bad\ntags:\n\t- a\n---\nx"),
    "octal, date, sexagesimal": header(key="bad", sensitivity="public", a="010", b="2026-01-01", c="1:20:30"),
    "infinite": header(key="bad", sensitivity="public", a=".inf", b="-.nan", c="1e400"),
    "long number": header(key="bad", sensitivity="public", a="9" * 5000),
    "deep flow": header(key="bad", sensitivity="public", a="[" * DEEP + "]" * DEEP),
    "very deep flow": header(key="bad", sensitivity="public", a="[" * 20000),
    "deep block": md(("---\n" + "".join(" " * i + "a:\n" for i in range(DEEP)) + "---\nx").encode()),
    "100,000 keys": md(("---\n" + "".join(f"k{i}: v\n" for i in range(100_000)) + "---\nx").encode()),
    "100,000 tags": header(key="bad", sensitivity="public", tags="[" + ", ".join(["t"] * 100_000) + "]"),
    "9,000 nodes": header(key="bad", sensitivity="public", tags="[" + ", ".join(["t"] * 9000) + "]"),
    "key is a list": header(key="[a, b]", sensitivity="public"),
    "key is a number": header(key="5", sensitivity="public"),
    "key is null": header(key="~", sensitivity="public"),
    "key is blank": header(key='"  "', sensitivity="public"),
    "key with two dots": header(key="a/../b", sensitivity="public"),
    "key with control characters": header(key='"a\\u001b[2Jb\\nc"', sensitivity="public"),
    "key with a surrogate": header(key='"a\\ud800"', sensitivity="public"),
    "key of 5,000 characters": header(key="k" * 5000, sensitivity="public"),
    "tags are a mapping": header(key="bad", sensitivity="public", tags="{a: b}"),
    "tags are nested": header(key="bad", sensitivity="public", tags="[[a], {b: c}, 5, ~, true]"),
    "tags with surrogates": header(key="bad", sensitivity="public", tags='["\\ud800", "\\udfff"]'),
    "relations are text": header(key="bad", sensitivity="public", relations="is_a thing"),
    "relations are odd": header(
        key="bad", sensitivity="public", relations="[5, {type: 5, target: [x], weight: heavy}, {type: is_a}]"
    ),
    "id is a path": header(id="../../../etc/passwd", key="bad", sensitivity="public"),
    "id breaks the line": header(id='"x]\\n- forged: \\"y\\" [high"', key="bad", sensitivity="public"),
    "catastrophic spaces": header(key="bad", sensitivity="public", a="a " * 4000 + "!"),
}

JSON: dict[str, Plant] = {
    "empty": side(b""),
    "blank": side(b" \n"),
    "open brace": side(b"{"),
    "null": side(b"null"),
    "list": side(b"[]"),
    "number": side(b"5"),
    "string": side(b'"x"'),
    "duplicate": side(json_with('"key": "bad"')),
    "duplicate label": side(json_with('"sensitivity": "public"')),
    "duplicate inside": side(json_with('"x": {"a": 1, "a": 2}')),
    "NaN": side(json_with('"x": NaN')),
    "Infinity": side(json_with('"x": -Infinity')),
    "1e400": side(json_with('"x": 1e400')),
    "5,000 digits": side(json_with(f'"x": {"9" * 5000}')),
    "depth 60": side(json_with(f'"x": {"[" * 60}{"]" * 60}')),
    "depth 900": side(json_with(f'"x": {"[" * 900}{"]" * 900}')),
    "depth 100,000": side(json_with(f'"x": {"[" * 100_000}{"]" * 100_000}')),
    "depth 100,000, open": side(b"[" * 100_000),
    "surrogate in a value": side(json_with('"x": "\\ud800"')),
    "surrogate in a name": side(json_with('"\\udfff": 1')),
    "surrogate in the domain": meta(domain="\ud800"),
    "NUL in the key": meta(key="a\0b"),
    "BOM": side(b"\xef\xbb\xbf" + json.dumps(fields()).encode()),
    "UTF-16": side(json.dumps(fields()).encode("utf-16")),
    "latin-1": side(json.dumps(fields(domain="x")).replace("x", "\xe9").encode("latin-1")),
    "trailing comma": side(json_with('"x": 1,')),
    "comment": side(b"// hello\n" + json.dumps(fields()).encode()),
    "two documents": side(json.dumps(fields()).encode() * 2),
    "format as text": meta(format="1"),
    "format 1.0": meta(format=1.0),
    "format true": meta(format=True),
    "format 2": meta(format=2),
    "format missing": meta(format=None),
    "label in capitals": meta(sensitivity="Public"),
    "label with a space": meta(sensitivity="public "),
    "label a number": meta(sensitivity=0),
    "label a list": meta(sensitivity=["public"]),
    "label missing": meta(sensitivity=None),
    "source is text": meta(source="user:anna"),
    "source kind is a list": meta(source={"id": "x", "kind": ["user"]}),
    "source kind unknown": meta(source={"id": "x", "kind": "root"}),
    "source has more": meta(source={"id": "x", "kind": "user", "trust": 1}),
    "source id is null": meta(source={"id": None, "kind": "user"}),
    "confirmations are a mapping": meta(confirmations={"a": 1}),
    "confirmations are numbers": meta(confirmations=[1, 2]),
    "confirmation without time": meta(confirmations=[{"source": "x"}]),
    "renamed from nothing": meta(renamed_from=["", "a/../b", "x"]),
    "derived from numbers": meta(derived_from=[1]),
    "id in capitals": meta(id=ID.upper()),
    "id a path": meta(id="../../x"),
    "id missing": meta(id=None),
    "key of another": meta(key="other"),
    "conflict markers": side(b"<<<<<<< HEAD\n" + json.dumps(fields()).encode() + b"\n=======\n{}\n>>>>>>> b\n"),
    "check is a list": meta(check=["rm", "-rf"]),
    "unknown fields": meta(future={"a": [1, {"b": None}]}, zzz="kept"),
}

NUMBERS: dict[str, Plant] = {
    **{
        f"{name} {value!r:.20}": meta(**{name: value})
        for name, values in {
            "confidence": ("0.5", True, -0.1, 1.1, [], 10**400),
            "importance": ("high", -1, 2, {}),
            "ttl_minutes": ("60", 1.5, -1, 10**16, 10**15, True),
            "created_at": (0, "2026-11-15", "2026-02-30T00:00:00Z", "2026-11-15T24:00:00Z", "2026-11-15T09:00:60Z"),
            "updated_at": ("0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z", "2026-11-15T09:00:00", "now", "Z"),
            "body_sha256": (5, "", "0" * 64),
        }.items()
        for value in values
    },
    "year 1": meta(created_at="0001-01-01T00:00:00Z", updated_at="0001-01-01T00:00:00Z"),
    "year 9999": meta(updated_at="9999-12-31T23:59:59Z", ttl_minutes=10**15),
    "confirmed in 9999": meta(confirmed_at="9999-12-31T23:59:59Z"),
    "valid for no time": meta(valid_from="9999-12-31T23:59:59Z", valid_to="0001-01-01T00:00:00Z"),
    "file time before 1970": lambda root: (
        md(HEAD + b"x")(root),
        os.utime(root / "facts/bad.md", (-(10**9), -(10**9))),
    ),
    "file time in the far future": lambda root: (
        md(HEAD + b"x")(root),
        os.utime(root / "facts/bad.md", (2**40, 2**40)),
    ),
}

ODD_NAMES = (
    "..", ".", "", "-rf", "--help", "-", "con", "NUL", "a b", " a", "a ", "a.", "a\nb", "a\tb", "a\x1b[2Jb", "\x7f",
    "\u202eabc", "\U0001f680", "%s%n", "{x}", "$(id)", "`id`", "*", "?", "[a]", "a;b|c&d", "a'b\"c", "~", "~root", "\\",
    "nai\u0308ve", "x--0123456789abcdef", "foo--0123456789ab", "--0123456789ab", "k" * 240, "a.meta.json", "a.md", "README",
    "id", "memcli.toml",
)  # fmt: skip
NAMES: dict[str, Plant] = {
    f"{name!r:.24}": md(HEAD.replace(b"key: bad\n", b"") + b"x", name) for name in ODD_NAMES if name
}
NAMES |= {
    "no name": lambda root: (root / "facts" / ".md").write_bytes(b"x"),
    "only a sidecar's suffix": lambda root: (root / "facts" / ".meta.json").write_bytes(b"{}"),
    "not UTF-8": lambda root: Path(os.fsdecode(os.fsencode(root / "facts") + b"/caf\xe9.md")).write_bytes(HEAD + b"x"),
    "the log of no month": lambda root: (root / "episodes" / "2026-13.md").write_bytes(b"x"),
    "another suffix": lambda root: (root / "facts" / "notes.txt").write_bytes(b"x"),
}


def sparse(*parts: str, size: int = 100 << 20) -> Plant:
    """A file of this size that takes no room."""

    def plant(root: Path) -> None:
        path = root.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as f:
            f.truncate(size)

    return plant


SIZES: dict[str, Plant] = {
    "empty text": md(b""),
    "empty both": lambda root: pair(root, b"", b""),
    "1 MiB": md(HEAD + b"x" * ((1 << 20) - len(HEAD))),
    "1 MiB and one": md(HEAD + b"x" * ((1 << 20) - len(HEAD) + 1)),
    "1 MiB of words": md(HEAD + b"some words " * 95_000),
    "1 MiB of signs": md(HEAD + b"\x1b]8;;@`<>" * 116_000),
    "100,000 lines": md(HEAD + b"x\n" * 100_000),
    "100 MiB text": sparse("facts", "bad.md"),
    "100 MiB sidecar": lambda root: (pair(root), sparse("facts", "bad.meta.json")(root)),
    "100 MiB archive": sparse("archive", "bad.jsonl"),
    "100 MiB source": sparse("sources", "bad.meta.json"),
    "5,000 confirmations": meta(
        confirmations=[{"source": f"s{i}", "run": f"r{i}", "at": "2026-01-01T00:00:00Z"} for i in range(5000)]
    ),
    "150 files": lambda root: [md(HEAD.replace(b"key: bad\n", b"") + b"x", f"f{i}")(root) for i in range(150)],
    "2 MiB .gitignore": sparse(".gitignore", size=2 << 20),
}


def link(target: str, *parts: str) -> Plant:
    """A link below the store; {out} in the target is a folder beside it."""

    def plant(root: Path) -> None:
        path = root.joinpath(*parts)
        out = root.parent / "outside"
        out.mkdir(exist_ok=True)
        (out / "secret.md").write_text("kingfisher")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target.format(out=out, root=root))

    return plant


def node(kind: int, *parts: str) -> Plant:
    """A FIFO or device below the store."""

    def plant(root: Path) -> None:
        path = root.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == stat.S_IFIFO:
            os.mkfifo(path)
            return
        try:
            os.mknod(path, kind | 0o600, os.makedev(1, 5))
        except PermissionError:
            pytest.skip("needs root")

    return plant


def bound(root: Path) -> None:
    """A socket with the name of a fact."""
    before = Path.cwd()
    with socket.socket(socket.AF_UNIX) as made:
        os.chdir(root / "facts")  # a socket's path may be 108 bytes long
        try:
            made.bind("bad.md")
        finally:
            os.chdir(before)


def hard_linked(root: Path) -> None:
    """The log has a second name outside."""
    out = root.parent / "outside"
    out.mkdir()
    os.link(next((root / "episodes").glob("*.md")), out / "log.md")


FILE_TYPES: dict[str, Plant] = {
    "link to the outside": link("{out}/secret.md", "facts", "bad.md"),
    "link inside": link("{root}/memcli.toml", "facts", "bad.md"),
    "dangling link": link("{out}/none.md", "facts", "bad.md"),
    "link to itself": link("{root}/facts/bad.md", "facts", "bad.md"),
    "link to a folder": link("{out}", "facts", "bad.md"),
    "sidecar is a link": lambda root: (
        md(front(id=ID, key="bad", sensitivity="public"))(root),
        link("{out}/x.json", "facts", "bad.meta.json")(root),
    ),
    "folder": lambda root: (root / "facts" / "bad.md").mkdir(),
    "folder as sidecar": lambda root: (md(HEAD)(root), (root / "facts" / "bad.meta.json").mkdir()),
    "FIFO": node(stat.S_IFIFO, "facts", "bad.md"),
    "FIFO as sidecar": lambda root: (md(HEAD)(root), node(stat.S_IFIFO, "facts", "bad.meta.json")(root)),
    "endless device": node(stat.S_IFCHR, "facts", "bad.md"),
    "socket": bound,
    "FIFO as archive": node(stat.S_IFIFO, "archive", "bad.jsonl"),
    "archive is a link": link("{out}", "archive"),
    "another month is a FIFO": node(stat.S_IFIFO, "episodes", "2026-01.md"),
    "another month is a device": node(stat.S_IFCHR, "episodes", "2026-01.md"),
    "another month is a link": link("{out}/secret.md", "episodes", "2026-01.md"),
    "another month is a folder": lambda root: (root / "episodes" / "2026-01.md").mkdir(),
    ".gitignore is a link": lambda root: ((root / ".gitignore").unlink(), link("{out}/x", ".gitignore")(root)),
    "trash is a link": link("{out}", ".memcli", "trash"),
    "log with a second name": hard_linked,
}


def log(text: str | bytes, month: str = "2026-10") -> Plant:
    """A month's log with this text."""
    data = text if isinstance(text, bytes) else text.encode()
    return lambda root: (root / "episodes" / f"{month}.md").write_bytes(data)


def entry(head: str = "", *, body: str = "b", length: Any = None, end: str | None = None, made: str = ID) -> str:
    """One entry; head is more JSON for its header."""
    size = len(body.encode()) if length is None else length
    line = f'{{"id":"{made}","length":{size},"digest":"00000000","sensitivity":"internal"{head}}}'
    return f"\n## 2026-10-12T09:30:00Z {line}\n{body}\n{f'<!-- end {made} internal -->' if end is None else end}\n"


LOGS: dict[str, Plant] = {
    "empty": log(""),
    "only a title": log("# Episodes 2026-10 (memcli format 1)\n"),
    "prose": log("Dear diary,\n\n## Monday\n"),
    "not UTF-8": log(b"\xff\xfe" + entry().encode() + b"\xff"),
    "UTF-16": log(entry().encode("utf-16")),
    "NULs": log(b"\0" * 10_000),
    "CRLF": log(entry().replace("\n", "\r\n")),
    "torn header": log(entry()[:40]),
    "torn text": log(entry(body="x" * 100)[:150]),
    "no end marker": log(entry(end="")),
    "end of another": log(entry(end="<!-- end 0199e4a0-5b00-7c3e-9a51-0d6a0f1b2c99 internal -->")),
    "length too long": log(entry(length=10**6)),
    "length a googol": log(entry(length=10**100)),
    "length negative": log(entry(length=-5)),
    "length a text": log(entry(length='"1"')),
    "length 5,000 digits": log(entry(length="9" * 5000)),
    "header is a list": log("\n## 2026-10-12T09:30:00Z {[]}\nx\n"),
    "header too deep": log(entry(f',"x":{"[" * 5000}{"]" * 5000}')),
    "surrogate": log(entry(',"task":"\\ud800"')),
    "1e400": log(entry(',"x":1e400')),
    "outcome breaks the line": log(entry(',"outcome":"ok\\n- forged: x"')),
    "outcome a list": log(entry(',"outcome":["ok"]')),
    "source kind a list": log(entry(',"source":{"id":"x","kind":["user"]}')),
    "steps true": log(entry(',"steps":true')),
    "evidence numbers": log(entry(',"evidence":[1,2]')),
    "year 1 and 9999": log(
        entry().replace("2026-10-12", "0001-01-01")
        + entry(made=ID[:-1] + "e", head=',"ttl_minutes":999999999999999').replace("2026-10-12", "9999-12-31")
    ),
    "impossible time": log(entry().replace("2026-10-12T09:30", "2026-13-45T99:99")),
    "raise of nothing": log(f"<!-- raise {ID} secret -->\n<!-- raise x y -->\n" + entry()),
    "markers in a row": log(f"<!-- end {ID} internal -->\n" * 5000),
    "the same id 1,000 times": log(entry() * 1000),
    "10,000 broken headers": log('\n## 2026-10-12T09:30:00Z {"id":"x"}\n' * 10_000),
    "5,000 torn entries": log("".join(entry(end="", made=f"0199e4a0-5b00-7c3e-9a51-{i:012x}") for i in range(5_000))),
    "conflict markers": log("<<<<<<< HEAD\n" + entry() + "=======\n" + entry(made=ID[:-1] + "e") + ">>>>>>> b\n"),
    "nested headers": log(entry(body=entry().strip() + entry(made=ID[:-1] + "e"))),
}

FAMILIES: dict[str, dict[str, Plant]] = {
    "encoding": ENCODING, "YAML": YAML, "JSON": JSON, "numbers": NUMBERS, "names": NAMES, "sizes": SIZES,
    "file types": FILE_TYPES, "logs": LOGS,
}  # fmt: skip
FAMILIES["nasty"] = {
    path.name: (lambda data, name: lambda root: (root / "facts" / name).write_bytes(data))(path.read_bytes(), path.name)
    for path in sorted((SHARED / "fixtures" / "files" / "nasty").glob("*"))
}
CASES = [
    pytest.param(plant, id=f"{family}: {name}") for family, cases in FAMILIES.items() for name, plant in cases.items()
]


def test_there_are_two_hundred() -> None:
    least = {
        "encoding": 20,
        "YAML": 35,
        "JSON": 35,
        "numbers": 25,
        "names": 30,
        "sizes": 14,
        "file types": 15,
        "logs": 25,
    }
    assert {f: n for f, n in least.items() if len(FAMILIES[f]) < n} == {}
    assert len(CASES) >= 200


@pytest.mark.figure("bad inputs: traceback")
@pytest.mark.parametrize("plant", CASES)
def test_a_bad_file_is_survived_and_hides_nothing(plant: Plant, box: Box) -> None:
    good(box)
    plant(box.root)
    outside = {p: p.read_bytes() for p in box.root.parent.joinpath("outside").rglob("*") if p.is_file()}
    still_good(box)
    walked = walk(box)
    still_good(box)
    assert {p: p.read_bytes() for p in outside} == outside
    assert all(ran.code in (0, 4) for words, ran in walked.items() if words in ("status", "stats --json", "check")), (
        walked
    )


# What a child takes counts at least as much as its parent had when it was made, so that the parent must be small.
SMALL = """
import os, sys
null = os.open(os.devnull, os.O_RDWR)
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, null, n) for n in range(3)])
_, status, used = os.wait4(pid, 0)
print(os.waitstatus_to_exitcode(status), used.ru_maxrss >> 10)
"""


def peak_mib(argv: list[str | bytes]) -> tuple[int, int]:
    """Exit code and greatest memory of a process of its own."""
    call = [sys.executable, "-I", "-S", "-c", SMALL, *argv]
    done = subprocess.run(call, env=support.environment(), capture_output=True, text=True, check=True)
    code, mib = done.stdout.split()
    return int(code), int(mib)


# The peak of this program alone (proc(5)): `ru_maxrss` would hold that of the test runner it was forked from.
MEASURED = """
import json, sys, time
from memcli.cli.main import run
slowest = 0
for words in json.loads(sys.argv[1]):
    began = time.process_time()
    run(words)
    slowest = max(slowest, time.process_time() - began)
with open("/proc/self/status") as status:
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
print(json.dumps([slowest, peak >> 10]), file=sys.stderr)
"""


@pytest.mark.full
@pytest.mark.timeout(1800)
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux only")
@pytest.mark.parametrize("family", FAMILIES)
def test_every_bad_file_is_measured(family: str, box: Box, figure: Record) -> None:
    """One process a case runs every command; its memory is that of all of them together."""
    slow, big = {}, {}
    good(box)
    for number, (name, plant) in enumerate(FAMILIES[family].items()):
        copy = Box(box.root.parent / f"case{number}" / "store")
        shutil.copytree(box.root, copy.root)
        plant(copy.root)
        words = [copy.words(*call) for call in CALLS]
        done = subprocess.run(
            [sys.executable, "-c", MEASURED, json.dumps(words)],
            env=support.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, (name, done.stderr[-500:])
        seconds, mib = json.loads(done.stderr.splitlines()[-1])
        slow |= {name: seconds} if seconds >= SECONDS else {}
        big |= {name: mib} if mib >= MIB else {}
        shutil.rmtree(copy.root.parent)
    figure("bad inputs: 5 s or longer", len(FAMILIES[family]), bad=len(slow))
    figure("bad inputs: 300 MB or more", len(FAMILIES[family]), bad=len(big))
    assert (slow, big) == ({}, {})


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux only")
@pytest.mark.parametrize(
    "name", ["1 MiB of signs", "100 MiB text", "100 MiB sidecar", "100 MiB archive", "100 MiB source"]
)
def test_a_large_file_swells_no_command(name: str, box: Box) -> None:
    good(box)
    SIZES[name](box.root)
    calls = ("stats",), ("context", "good"), ("check",), ("export", "jsonl", "-"), ("fact", "history", "bad")
    for words in calls:
        code, mib = peak_mib(support.command(box.words(*words)))
        assert code in EXITS
        assert mib < MIB, (words, mib)


@pytest.mark.parametrize("name", ["facts", "episodes", "sources", "procedures", ".memcli", "memcli.toml"])
@pytest.mark.parametrize("kind", ["link", "file", "FIFO"])
def test_a_store_whose_own_parts_are_odd_is_refused_in_one_line(name: str, kind: str, box: Box) -> None:
    good(box)
    path = box.root / name
    away = box.root.parent / "away"
    if path.exists():
        path.rename(away)
    else:
        away.mkdir()
    if kind == "link":
        path.symlink_to(away)
    elif kind == "FIFO":
        os.mkfifo(path)
    else:
        path.write_text("x")
    before = {p: p.read_bytes() for p in away.rglob("*") if p.is_file()} if away.is_dir() else {away: away.read_bytes()}
    for words in (
        ("fact", "set", "k", "v"),
        ("episode", "add", "x"),
        ("sweep", "--yes"),
        ("doctor", "--fix"),
        ("context",),
    ):
        assert clean(box.run(*words)).code in (0, 3, 4, 7)
    assert {p: p.read_bytes() for p in before} == before


def test_the_body_of_a_damaged_record_is_never_shown_by_default(box: Box) -> None:
    for number, plant in enumerate([*JSON.values(), *YAML.values()]):
        plant(box.root)
        for path in (box.root / "facts").glob("bad.*"):
            path.rename(path.with_name(path.name.replace("bad", f"b{number}")))
    shown = box.ok("fact", "list", "--json").data
    assert all(row["state"] in ("ok", "bare", "drift") for row in shown), shown
    assert BODY in json.dumps(shown)  # there are good ones among them
