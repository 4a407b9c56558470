"""Documents as transcripts: the `console` and `pycon` blocks of a page are run, and compared with what it prints.

A `console` block holds commands after `$ ` (more lines of one command after `> `), each followed by its output, stdout
and stderr together. A `pycon` block holds a Python session. All blocks of one page run in order, in one shell and one
folder that begins with a copy of `sample_memory`. A line that is just `...` stands for lines that the page leaves out.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
SAMPLE = TOP / "sample_memory"
# What the pages call the folder in which their commands run.
HOME = "/home/anna"
RUN = ("console", "pycon")

_FENCE = re.compile(r"(`{3,})([\w-]*)\s*")
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_VARIES = (
    (re.compile(r"\bmemory([- ])[0-9a-f]{8}\b"), r"memory\g<1>00000000"),
    (re.compile(r'"nonce": "[0-9a-f]{8}"'), '"nonce": "00000000"'),
    (re.compile(r"\b[0-9a-f]{64}\b"), "0" * 64),
    (re.compile(r"\bindex [0-9a-f]{7,}\.\.[0-9a-f]{7,}"), "index 0000000..0000000"),
)
_PYTHON = """
import code, json, sys
shell = code.InteractiveInterpreter()
sys.stderr = sys.stdout
for source in json.load(open(sys.argv[1])):
    shell.runsource(source, "<page>", "single")
    print(sys.argv[2], flush=True)
"""


@dataclass
class Block:
    """One fenced block: its language, the number of its first line inside the fence, and its lines."""

    language: str
    line: int
    lines: list[str]


@dataclass
class Step:
    """One command of a page: its text, where it stands, and the output that the page prints and that it really has."""

    line: int
    command: str
    language: str
    shown: list[str]
    real: list[str] = field(default_factory=list)


def pages() -> list[Path]:
    """Every page of documentation, README first."""
    return [TOP / "README.md", TOP / "CHANGELOG.md", *sorted((TOP / "docs").rglob("*.md"))]


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page."""
    found: list[Block] = []
    fence = ""
    for number, line in enumerate(text.split("\n"), 1):
        match = _FENCE.fullmatch(line)
        if match and not fence:
            fence = match[1]
            found.append(Block(match[2], number + 1, []))
        elif match and match[1] == fence and not match[2]:
            fence = ""
        elif fence:
            found[-1].lines.append(line)
    if fence:
        raise ValueError(f"line {found[-1].line - 1}: this fence is never closed")
    return found


def steps(text: str) -> list[Step]:
    """The commands of a page in order."""
    return [step for block in blocks(text) if block.language in RUN for step in _steps(block)]


def _steps(block: Block) -> list[Step]:
    first, more = ("$ ", "> ") if block.language == "console" else (">>> ", "... ")
    found: list[Step] = []
    for number, line in enumerate(block.lines, block.line):
        if line.startswith(first):
            found.append(Step(number, line[len(first) :], block.language, []))
        elif not found:
            raise ValueError(f"line {number}: a {block.language} block begins with a command")
        elif not found[-1].shown and (line.startswith(more) or (line == "..." and block.language == "pycon")):
            found[-1].command += "\n" + line[len(more) :]
        else:
            found[-1].shown.append(line)
    return found


def play(text: str, folder: Path) -> list[Step]:
    """Run the commands of a page in `folder`, which is made; the steps with what they really print."""
    played = steps(text)
    home, private = folder / "home", folder / "private"
    private.mkdir(parents=True)
    shutil.copytree(SAMPLE, home / "sample_memory", ignore=shutil.ignore_patterns(".memcli"))
    (home / ".gitconfig").write_text(
        "[user]\nname = Anna Keller\nemail = anna@larder.example\n[init]\ndefaultBranch = main\n[core]\nabbrev = 7\n"
    )
    mark = f"-- {os.urandom(8).hex()}"
    script = "exec 2>&1\n" + "".join(_scripts(played, private, mark))
    done = subprocess.run(
        ["/bin/sh", "-c", script],
        cwd=home,
        env=environment(home, private),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        timeout=240,
        check=False,
    )
    pieces = done.stdout.decode("utf-8", "backslashreplace").split(f"{mark}\n")
    if len(pieces) != len(played) + 1:
        raise RuntimeError(f"the shell stopped after {len(pieces) - 1} of {len(played)} commands: {pieces[-1]}")
    for step, piece in zip(played, pieces, strict=False):
        said = piece.replace(str(home.resolve()), HOME).replace(str(home), HOME)
        step.real = said.removesuffix("\n").split("\n") if said else []
    return played


def _scripts(played: list[Step], private: Path, mark: str) -> list[str]:
    """The shell's words for each run of steps; `$?` is for the next command what it was after the one before."""
    out: list[str] = []
    at = 0
    while at < len(played):
        if played[at].language == "console":
            out.append(f"{{ {played[at].command}\n}}; code=$?; echo '{mark}'; (exit $code)\n")
            at += 1
            continue
        end = at
        while end < len(played) and played[end].language == "pycon":
            end += 1
        sources = private / f"{at}.json"
        sources.write_text(json.dumps([f"{step.command}\n" for step in played[at:end]]))
        (private / "session.py").write_text(_PYTHON)
        out.append(f"python -u '{private}/session.py' '{sources}' '{mark}'\n")
        at = end
    return out


def environment(home: Path, private: Path) -> dict[str, str]:
    """The environment of a reader who has just installed memcli: its program on the path, nothing of memcli set."""
    path = [str(Path(sys.executable).parent), os.environ["PATH"]]
    if not (Path(sys.executable).parent / "memcli").exists():
        program = private / "bin" / "memcli"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m memcli "$@"\n')
        program.chmod(0o755)
        path.insert(0, str(program.parent))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMCLI_", "GIT_", "XDG_"))}
    return kept | {
        "PATH": os.pathsep.join(path),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "COLUMNS": "80",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CEILING_DIRECTORIES": str(home.parent),
        "GIT_PAGER": "cat",
    }


def fits(step: Step) -> bool:
    """Whether the printed output is the real one, up to what differs from run to run."""
    pattern = [
        r"(?:.*\n)*?" if line == "..." else re.escape(steady(line).rstrip()) + r"\n" for line in trimmed(step.shown)
    ]
    real = "".join(steady(line).rstrip() + "\n" for line in trimmed(step.real))
    return re.fullmatch("".join(pattern), real) is not None


def trimmed(lines: list[str]) -> list[str]:
    """The lines without blank ones at the end: a page may part two commands by one."""
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    return lines[:end]


def steady(line: str) -> str:
    """A line with all that no two runs share made equal: nonces, digests, the milliseconds and noise of new ids."""
    for pattern, instead in _VARIES:
        line = pattern.sub(instead, line)
    return _ID.sub(lambda m: m[0] if m[0] in _known() else f"{m[0][:9]}0000-7000-8000-{'0' * 12}", line)


_ids: set[str] = set()


def _known() -> set[str]:
    """The ids of the sample store: they stay as they are."""
    if not _ids:
        files = [path for path in SAMPLE.rglob("*") if path.is_file() and ".memcli" not in path.parts]
        _ids.update(*(_ID.findall(path.read_text("utf-8")) for path in files))
    return _ids


def faults(text: str, folder: Path) -> list[str]:
    """What the page prints and the program does not: one message a command."""
    found = []
    for step in play(text, folder):
        if not fits(step):
            shown, real = "\n".join(step.shown), "\n".join(step.real)
            found.append(
                f"line {step.line}: {step.command}\n--- the page prints\n{shown}\n--- it really prints\n{real}"
            )
    return found


def renewed(text: str, folder: Path) -> str:
    """The page with the real output in place of whatever no longer fits."""
    lines = text.split("\n")
    for step in reversed(play(text, folder)):
        if fits(step):
            continue
        start = step.line + step.command.count("\n")
        blank = len(step.shown) - len(trimmed(step.shown))
        lines[start : start + len(step.shown) - blank] = trimmed(step.real)
    return "\n".join(lines)


def calls(line: str) -> Iterator[list[str]]:
    """The words of each call of memcli in a line of shell, up to the next operator."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] | None = None
    try:
        tokens = list(lexer)
    except ValueError:
        return
    for token in [*tokens, ";"]:
        if words is None:
            words = [] if token == "memcli" or token.endswith("/bin/memcli") else None
        elif re.fullmatch(r"[();<>|&]+", token):
            yield words
            words = None
        else:
            words.append(token)
