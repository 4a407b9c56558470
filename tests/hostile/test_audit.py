"""An audit of whatever somebody else wrote: nothing is written, nothing hangs, no traceback, one bad file hides nothing."""

import json
import os
import time
from pathlib import Path

import pytest
from support import CANARY, NOW, Ran, call

from .common import SECONDS, clean
from .test_terminal import CONTROLS, EVIL

GOOD = "- Anna leads the team in Porto.\n- User said hi.\n"


def audit(path: Path, *words: str, seconds: float = 2 * SECONDS) -> Ran:
    """An audit that must end in time and well."""
    began = time.process_time()
    ran = clean(call(["--now", NOW, "audit", str(path), "-n", "0", *words]))
    assert time.process_time() - began < seconds
    return ran


def snapshot(root: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file below a folder: its modes, its time of change and what it holds."""
    found = {}
    for path in sorted(root.rglob("*")):
        info = path.lstat()
        held = os.readlink(path).encode() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(root))] = (info.st_mode, info.st_mtime_ns, held)
    return found


HUGE = b"- a line that says something of the queue in Porto\n"
FILES: dict[str, bytes] = {
    "latin-1": b"caf\xe9\n", "UTF-16": "- text\n".encode("utf-16"), "NUL": b"a\0b\n", "binary": bytes(range(256)) * 50, "empty": b"", "one byte": b"-",
    "BOM": b"\xef\xbb\xbf---\ntitle: x\n---\n- said\n", "CRLF": b"---\r\ntitle: x\r\n---\r\n- said\r\n", "lone CR": b"- a\r- b\r",
    "alias bomb": b"---\na: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nd: [*c,*c]\n---\ntext\n", "tag": b"---\na: !!python/object/apply:os.system [id]\n---\ntext\n",
    "duplicate keys": b"---\na: 1\na: 2\n---\ntext\n", "front matter without end": b"---\ntitle: x\ntext\n", "large front matter": b"---\n" + b"a: " + b"x" * 100_000 + b"\n---\ntext\n",
    "100,000 keys": b"---\n" + b"".join(b"k%d: 1\n" % n for n in range(100_000)) + b"---\ntext\n",
    "100,000 lines": HUGE * 100_000, "one long line": b"- " + b"word " * 400_000, "only blanks": b" " * 1_000_000 + b"\n", "only hashes": b"#" * 500_000 + b"x\n",
    "heading of hashes": b"# " + b"#" * 500_000 + b"x\n", "rules": b"- " * 300_000 + b"x\n", "open fences": b"```\n~~~\n" * 20_000 + b"```\n", "open tags": b"<note>\n" * 50_000,
    "different open tags": b"".join(b"<t%d>\n" % n for n in range(50_000)), "open comments": b"<!--" * 100_000, "open links": b"[" * 300_000 + b"](", "links": b"[a](b)" * 20_000,
    "deep list": b"".join(b" " * n + b"- item\n" for n in range(2000)), "deep headings": b"# a\n" * 20_000 + b"###### b\n" * 20_000, "quotes": b"> " * 200_000 + b"\n",
    "stars": b"*" * 300_000 + b"\n", "backticks": b"`" * 300_000 + b"\n", "underscores": b"_" * 300_000 + b"\n", "context block": b"<memory-00000000>" * 20_000,
    "ignore": b"ignore " * 100_000 + b"\n", "send": b"send " * 100_000 + b"\n", "always": b"- always " + b"recommend " * 50_000 + b"\n", "emoji": "🎉 ".encode() * 100_000,
    "conflict": b"<<<<<<< HEAD\n- a\n=======\n- b\n>>>>>>> x\n", "same line": b"- User said hi.\n" * 20_000, "one word": b"- alpha\n" * 20_000,
}  # fmt: skip
JSONS: dict[str, bytes] = {
    "empty": b"", "null": b"null", "number": b"1", "text": b'"x"', "cut": b'[{"memory": "a"', "NaN": b'[{"memory": "a", "created_at": NaN}]', "deep": b"[" * 200_000,
    "deep object": b'{"a":' * 50_000, "5,000 digits": b'[{"memory": "a", "created_at": ' + b"9" * 5000 + b"}]", "1e400": b'[{"memory": "a", "ts": 1e400}]',
    "surrogate": b'[{"memory": "said \\ud800 and"}]', "list of lists": b"[[[]]]", "text is a list": b'[{"memory": ["a"]}]', "memory is null": b'[{"memory": null}]',
    "entities are text": b'{"entities": ["a", 1, null], "relations": "x"}', "nodes are odd": b'{"nodes": {"a": 1, "b": {"concept": 5}}}', "mapping": b'[{"mapping": 1}]',
    "label is a list": b'[{"memory": "a", "sensitivity": ["public"]}]', "20,000 rows": b"[" + b'{"memory": "the queue is in Porto"},' * 20_000 + b"{}]",
    "not UTF-8": b'[{"memory": "\xff"}]', "far future": b'[{"memory": "a fact", "created_at": "9999-12-31T23:59:59Z", "expires": "0001-01-01"}]',
}  # fmt: skip
LINES: dict[str, bytes] = {
    "torn": b'{"type":"entity","name":"A","observations":["ok"]}{"type":\n', "odd": b'42\n[1]\n"x"\nnull\n{}\n', "observations are odd": b'{"type":"entity","name":[1],"observations":{"a":1}}\n',
    "relations are odd": b'{"type":"relation","from":[1],"to":{}}\n', "deep": b'{"a":' + b"[" * 100_000 + b"\n", "long": b'{"memory": "' + b"x" * 5_000_000 + b'"}\n',
    "100,000 bad": b"{\n" * 100_000, "U+2028": '{"memory": "a\u2028b\u2028c"}\n'.encode(), "type is a list": b'{"type": ["entity"], "memory": "x"}\n', "BOM": b'\xef\xbb\xbf{"memory": "one"}\n',
}  # fmt: skip


@pytest.mark.parametrize(("name", "data"), [(f"{k}{s}", v) for s, of in ((".md", FILES), (".json", JSONS), (".jsonl", LINES)) for k, v in of.items()],
                         ids=lambda v: v if isinstance(v, str) else "")  # fmt: skip
def test_one_bad_file_hides_nothing(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / name).write_bytes(data)
    (tmp_path / "z.md").write_text(GOOD)
    before = snapshot(tmp_path)
    # A hundred thousand entries are many; what only looks large must be quick.
    ran = audit(tmp_path, "--json", seconds=60 if name.startswith("100,000") else 2 * SECONDS)
    assert [f["kind"] for f in ran.data["findings"] if f["path"] == "z.md"] == ["chatter"]
    assert snapshot(tmp_path) == before


def test_nothing_is_written_and_no_link_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    (outside / "deep").mkdir(parents=True)
    inside.mkdir()
    (outside / "secret.md").write_text(f"- {CANARY} said hi\n")
    (inside / "link.md").symlink_to(outside / "secret.md")
    (inside / "folder").symlink_to(outside)
    (inside / "loop").symlink_to(inside)
    (inside / "self.md").symlink_to("self.md")
    (inside / "gone.md").symlink_to(tmp_path / "nowhere")
    os.mkfifo(inside / "pipe.md")
    (inside / "dir.md").mkdir()
    (inside / ".hidden").mkdir()
    (inside / ".hidden" / "x.md").write_text(f"- {CANARY}\n")
    (inside / "x.md").write_text(f"{GOOD}\n- [away](../outside/secret.md)\n- [in](folder/secret.md)\n- [gone](y.md)\n")
    (inside / "x.meta.json").symlink_to(outside / "secret.md")
    before = snapshot(tmp_path)
    ran = audit(inside)
    assert CANARY not in ran.out + audit(inside, "--json").out
    assert snapshot(tmp_path) == before
    why = {u["path"]: u["why"] for u in audit(inside, "--json").data["unread"]}
    assert why == {
        ".hidden/": "a folder of tools or hidden",
        "folder": "a link, which is not followed",
        "gone.md": "a link, which is not followed",
        "link.md": "a link, which is not followed",
        "loop": "a link, which is not followed",
        "pipe.md": "not a plain file",
        "self.md": "a link, which is not followed",
        "x.meta.json": "a link, which is not followed",
    }


def test_a_sidecar_that_cannot_be_read_makes_its_text_restricted(tmp_path: Path) -> None:
    (tmp_path / "x.md").write_text(f"Thanks, {CANARY}!\n")
    (tmp_path / "x.meta.json").symlink_to(tmp_path / "elsewhere")
    ran = audit(tmp_path)
    assert ran.err == "1 withheld\n"
    assert CANARY not in ran.out


def test_the_path_itself_may_be_anything(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.md").write_text(GOOD)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert audit(tmp_path / "pipe").code == 2
    assert audit(tmp_path / "link").out.startswith("2 entries")
    assert audit(tmp_path / "loop").code == 7
    assert clean(call(["audit", ""])).code == 2
    for name in ("a\nb", "x" * 300, "no/such/folder"):
        assert clean(call(["audit", str(tmp_path / name)])).code in (3, 7)
    assert clean(call(["audit", "/dev/zero"])).code == 2


def test_deep_and_wide_folders(tmp_path: Path) -> None:
    deep = tmp_path
    for _ in range(60):
        deep = deep / "d"
    deep.mkdir(parents=True)
    (deep / "a.md").write_text(GOOD)
    for n in range(300):
        (tmp_path / f"n{n}.md").write_text(f"- note {n} is about the room {n}\n")
    data = audit(tmp_path, "--json").data
    assert data["files"] == 300
    assert [u["why"] for u in data["unread"]] == ["too deep"]


def test_nothing_acts_on_a_terminal(tmp_path: Path) -> None:
    for number, evil in enumerate(EVIL.values()):
        name = (
            evil.replace("/", "")
            .replace("\0", "")[:40]
            .encode("utf-8", "surrogateescape")[:60]
            .decode("utf-8", "ignore")
        )
        (tmp_path / f"{number}{name}.md").write_text(f"# {evil}\n\n- User said hi. {evil}\n- Thanks! {evil}\n")
    (tmp_path / "m.jsonl").write_text(
        "".join(json.dumps({"memory": f"Hello {e}", "key": e}) + "\n" for e in EVIL.values())
    )
    for words in ((), ("--json",)):
        assert not CONTROLS.search(audit(tmp_path, *words).out)


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    path = os.path.join(os.fsencode(tmp_path), b"caf\xe9.md")
    with open(path, "w") as f:
        f.write(GOOD)
    for words in ((), ("--json",)):
        assert "2 entries" in audit(tmp_path, *words).out or words


def test_no_secret_is_shown_even_where_the_excerpt_ends(tmp_path: Path) -> None:
    token = "ghp_" + "Ab3De6Gh9Jk2Mn5Pq8St1Vw4Yz7Bc0Df3Gh6"
    lines = [f"- {'x' * n} {token} and the password: tarragon-47-Lamp\n" for n in range(0, 70, 3)]
    (tmp_path / "m.md").write_text("".join(lines) + f"- mail {token} to anna.meier@larder.example today\n")
    for words in ((), ("--json",), ("--kind", "secret")):
        out = audit(tmp_path, *words).out
        assert not any(token[i : i + 8] in out for i in range(4, 32))
        assert "tarragon" not in out
        assert "anna.meier" not in out


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(GOOD)
    (tmp_path / "b.md").write_text(GOOD)
    (tmp_path / "b.md").chmod(0)
    assert [u["path"] for u in audit(tmp_path, "--json").data["unread"]] == ["b.md"]
