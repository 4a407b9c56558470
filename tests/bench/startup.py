"""What a command costs as a whole process, in units of a bare Python start. One line runs it all:

    python tests/bench/startup.py

It builds a wheel, installs it into a fresh virtual environment, makes stores of 85 (docs/sample_memory.jsonl), 1,000
and 10,000 facts (--large: 100,000 too), runs every case in interleaved rounds and prints medians as Markdown:
CPU and wall time as multiples of `python -c pass` (F) and of an empty typer program, and the peak memory.

Only ratios inside one run mean anything. Caches are warm, bytecode is present, the clock is fixed by MEMCLI_NOW.
"""

import argparse
import itertools
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import corpus

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TYPER = """
import typer
app = typer.Typer(rich_markup_mode=None, add_completion=False)
app.command()(lambda: None)
app()
"""
BARE, EMPTY = "python -c pass", "empty typer program"
SIZES = {"1k": 1_000, "10k": 10_000, "100k": 100_000}
DUE = 2_000
# Gate and goal by size of the store.
SEARCH: dict[str, tuple[float, float]] = {"10k": (8, 5), "100k": (20, 7)}
CONTEXT: dict[str, tuple[float, float]] = {"10k": (9, 6), "100k": (21, 8)}
REINDEX: dict[str, tuple[float, float]] = {"10k": (100, 60), "100k": (1000, 600)}
SWEEP: dict[str, tuple[float | None, float | None]] = {"10k": (None, None), "100k": (15, 6)}
TASK = "how do we deploy to production?"


class Case(NamedTuple):
    """One row of the table. words: the command line, made anew for each run; before: what to do before each run.

    share: the result counts for so many units of the row's name (import: thousands of records).
    """

    name: str
    words: Callable[[], list[str]]
    gate: float | None = None
    goal: float | None = None
    exit_code: int = 0
    rare: bool = False
    share: float = 1
    before: Callable[[], object] = lambda: None


class Run(NamedTuple):
    cpu: float
    wall: float
    megabytes: float


class Lab:
    """The environment and the stores, all in one folder."""

    def __init__(self, place: Path, python: Path | None) -> None:
        self.place = place
        self.aside = itertools.count()
        # Nothing of the caller's environment: PYTHONDONTWRITEBYTECODE alone would triple the figures.
        self.env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(place), "LANG": "C.UTF-8"}
        self.env["MEMCLI_NOW"] = corpus.NOW.strftime("%Y-%m-%dT%H:%M:%SZ")
        self.python = python or self._install()
        self.memcli = self.python.parent / "memcli"
        self.typer = place / "empty_typer.py"
        self.typer.write_text(TYPER)

    def do(self, *words: object) -> None:
        """Run a step of the preparation; its output is shown only when it fails."""
        done = subprocess.run([str(w) for w in words], env=self.env, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")

    def _install(self) -> Path:
        python = self.place / "venv/bin/python"
        self.do(sys.executable, "-m", "venv", self.place / "venv")
        # The script that an old pip writes imports `re` before the program has a say.
        self.do(python, "-m", "pip", "install", "--upgrade", "pip")
        self.do(python, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", self.place / "wheel", ROOT)
        self.do(python, "-m", "pip", "install", *(self.place / "wheel").glob("memcli-*.whl"))
        for pth in self.place.glob("venv/lib/*/site-packages/distutils-precedence.pth"):
            pth.unlink()  # setuptools runs code at every start of the interpreter
        return python

    def store(self, name: str) -> Path:
        return self.place / name

    def make(self, name: str, records: Path) -> None:
        """A store filled from a file of records."""
        self.empty(name)
        self.do(self.memcli, "--store", self.store(name), "import", "jsonl", records, "--trusted")

    def _put_aside(self, name: str) -> None:
        # Deleting is left to the end: for a minute ext4 goes round inodes that were freed, which doubles the cost of new files.
        if self.store(name).exists():
            self.store(name).rename(self.place / f"{name}.{next(self.aside)}")

    def empty(self, name: str) -> None:
        self._put_aside(name)
        self.do(self.memcli, "--store", self.store(name), "init")

    def copy(self, source: str, name: str) -> None:
        """A fresh copy, looked at once so that what is derived is there again, and written out to the disk."""
        self._put_aside(name)
        shutil.copytree(self.store(source), self.store(name))
        self.measure([str(self.memcli), "--store", str(self.store(name)), "search", corpus.RARE])
        os.sync()

    def records(self, name: str, facts: int, due: int = 0) -> Path:
        path = self.place / f"{name}.jsonl"
        with path.open("w") as out:
            subprocess.run([sys.executable, HERE / "corpus.py", str(facts), str(due)], stdout=out, check=True)
        return path

    def measure(self, words: list[str], exit_code: int = 0) -> Run:
        call = [str(self.python), "-I", "-S", str(HERE / "measure.py"), *words]
        done = subprocess.run(call, env=self.env, capture_output=True, text=True, check=True)
        cpu, wall, kibibytes, code = done.stdout.split()
        if int(code) != exit_code:
            sys.exit(f"exit code {code}, not {exit_code}: {' '.join(words)}")
        return Run(float(cpu), float(wall), int(kibibytes) / 1024)


def prepare(lab: Lab, sizes: list[str]) -> None:
    """Every store that a case needs."""
    lab.make("sample", ROOT / "docs/sample_memory.jsonl")
    lab.copy("sample", "written")
    for size in sizes:
        lab.make(size, lab.records(size, SIZES[size]))
    lab.make("due", lab.records("due", SIZES["10k"], DUE))
    for name in ("sample", "written", *sizes, "due"):
        lab.do(lab.memcli, "--store", lab.store(name), "search", corpus.RARE)  # builds the index
    os.sync()


def merging(lab: Lab, kind: str, suffix: str) -> tuple[Callable[[], list[str]], Callable[[], object]]:
    """The merge driver on two values of one fact, and what puts its files there: it writes over the second."""
    facts = lab.store("written") / "facts"
    versions = {}
    for side in ("base", "ours", "theirs"):
        lab.do(lab.memcli, "--store", lab.store("written"), "fact", "set", "merged", f"the value of {side}")
        versions[lab.place / f"{side}{suffix}"] = (facts / f"merged{suffix}").read_bytes()

    def before() -> None:
        for path, data in versions.items():
            path.write_bytes(data)

    words = [str(lab.memcli), "merge-driver", kind, *map(str, versions), str(facts / f"merged{suffix}")]
    return lambda: words, before


def cases(lab: Lab, sizes: list[str]) -> Iterator[Case]:
    """All rows of the table but the units."""
    fresh = itertools.count()

    def on(store: str, *words: str) -> Callable[[], list[str]]:
        """The command on a store; `#` in a word becomes a number that no run has had."""
        head = [str(lab.memcli), "--store", str(lab.store(store))]
        return lambda: head + [w.replace("#", str(next(fresh))) for w in words]

    said = ["episode", "add", "Moved the webhooks; replayed 214 of them.", "--task", "Move billing to the new queue"]
    yield Case("--version", lambda: [str(lab.memcli), "--version"], 1.3, 1.15)
    yield Case("fact get, hit", on("sample", "fact", "get", "deploy target"), 4, 2.2)
    yield Case("fact get, miss", on("sample", "fact", "get", "no such key"), 4, 2.2, exit_code=3)
    yield Case("fact get, key not ASCII", on("sample", "fact", "get", "как писать ивану"), 7, 5.2)
    for size in ["written", *sizes]:
        of = "" if size == "written" else f", {size}"
        yield Case(f"fact set, create{of}", on(size, "fact", "set", "bench key #", "a value of some words"), 5, 3)
        yield Case(f"fact set, supersede{of}", on(size, "fact", "set", "bench key", "value number #"), 5, 3)
    yield Case("fact set, unchanged", on("written", "fact", "set", "bench same", "value"), 5, 3)
    yield Case("episode add", on("written", *said), 4, 2.2)
    for kind, suffix in (("fact", ".md"), ("meta", ".meta.json")):
        words, before = merging(lab, kind, suffix)
        yield Case(f"merge-driver {kind}", words, 3, 2, before=before)
    yield Case("context, sample", on("sample", "context", TASK), 6, 6)
    yield Case("search, sample", on("sample", "search", "deploy production"), 8, 5)
    yield Case("episode list, sample", on("sample", "episode", "list"), 9, 7.5)
    yield Case("fact list, sample", on("sample", "fact", "list"), 9, 7.5)
    yield Case("doctor, sample", on("sample", "doctor"), 9, 7.5)
    yield Case("--help", lambda: [str(lab.memcli), "--help"], 9, 7.5)
    yield Case("fact set --help", lambda: [str(lab.memcli), "fact", "set", "--help"], 9, 7.5)
    yield Case("usage error", lambda: [str(lab.memcli), "fact", "set", "--nope"], 9, 7.5, exit_code=2)
    for size in sizes[1:]:
        look = on(size, "search", corpus.RARE)
        yield Case(f"search after a write, {size}", look, rare=True)
        yield Case(f"search, {size}", look, SEARCH[size][0], SEARCH[size][1], rare=True)
        common = on(size, "search", corpus.COMMON)
        yield Case(f"search, common words, {size}", common, SEARCH[size][0], SEARCH[size][1], rare=True)
        yield Case(f"reindex, {size}", on(size, "reindex"), *REINDEX[size], rare=True)
        yield Case(f"search --fresh, {size}", on(size, "search", corpus.RARE, "--fresh"), rare=True)
        edited = lab.store(size) / "facts"
        yield Case(
            f"search --fresh, a file edited, {size}",
            on(size, "search", corpus.RARE, "--fresh"),
            rare=True,
            before=lambda edited=edited: edit(edited),
        )
        yield Case(
            f"context, {size}", on(size, "context", corpus.COMMON), CONTEXT[size][0], CONTEXT[size][1], rare=True
        )
        yield Case(f"fact list, {size}", on(size, "fact", "list"), rare=True)
        yield Case(f"status, {size}", on(size, "status"), rare=True)
        yield Case(f"sweep, nothing due, {size}", on(size, "sweep"), SWEEP[size][0], SWEEP[size][1], rare=True)
        yield Case(f"doctor, {size}", on(size, "doctor"), rare=True)
        yield Case(f"export jsonl, {size}", on(size, "export", "jsonl", str(lab.place / "out.jsonl")), rare=True)
    yield Case(
        f"sweep, {DUE:,} due, 10k", on("spent", "sweep", "--yes"), rare=True, before=lambda: lab.copy("due", "spent")
    )
    size = sizes[-1]
    load = on("loaded", "import", "jsonl", str(lab.place / f"{size}.jsonl"), "--trusted")
    thousands = SIZES[size] * 1.2 / 1000
    first = f"import jsonl, {size}, per 1,000 records"
    yield Case(first, load, rare=True, share=thousands, before=lambda: lab.empty("loaded"))
    yield Case(f"{first}, again", load, rare=True, share=thousands)
    if rg := shutil.which("rg"):
        yield Case("rg -l over the same facts, 10k", lambda: [rg, "-l", corpus.RARE, str(lab.store("10k") / "facts")])


def edit(facts: Path) -> None:
    """Write one file anew in place, as an editor does."""
    path = next(p for p in sorted(facts.iterdir()) if p.suffix == ".md")
    path.write_bytes(path.read_bytes())


def sizes_on_disk(lab: Lab, sizes: list[str]) -> Iterator[str]:
    """What the index takes, beside the text that it is made of."""
    for size in sizes[1:]:
        store = lab.store(size)
        text = sum(p.stat().st_size for p in (*store.glob("facts/*.md"), *store.glob("episodes/*.md")))
        index = sum(p.stat().st_size for p in store.glob(".memcli/index.*"))
        yield f"index, {size}: {index / 1e6:.1f} MB for {text / 1e6:.1f} MB of text, {index / text:.2f} times as much"


def run(lab: Lab, table: list[Case], rounds: int) -> dict[str, list[Run]]:
    """All cases once a round, the rare ones every fifth, between two bare starts."""
    bare, typer = [str(lab.python), "-c", "pass"], [str(lab.python), str(lab.typer)]
    found: dict[str, list[Run]] = {}
    for number in range(rounds):
        for case in table:
            if case.rare and number % 5:
                continue
            case.before()
            found.setdefault(BARE, []).append(lab.measure(bare))
            found.setdefault(case.name, []).append(lab.measure(case.words(), case.exit_code))
        found.setdefault(EMPTY, []).append(lab.measure(typer))
        print(f"round {number + 1} of {rounds}", file=sys.stderr)
    return found


def lines(table: list[Case], found: dict[str, list[Run]]) -> Iterator[str]:
    """The table in Markdown."""
    unit, typer = _median(found[BARE]), _median(found[EMPTY])
    yield "| command | CPU, F | gate | goal | wall, F | CPU, typer | wall, typer | memory, MB |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|"
    for case in [Case(BARE, list), Case(EMPTY, list), *table]:
        if case.name not in found:
            continue
        took = _median(found[case.name])
        cpu, wall = took.cpu / case.share, took.wall / case.share
        limits = [f"{limit:g}" if limit else "" for limit in (case.gate, case.goal)]
        cells = [f"{cpu / unit.cpu:.2f}", *limits, f"{wall / unit.wall:.2f}"]
        cells += [f"{cpu / typer.cpu:.2f}", f"{wall / typer.wall:.2f}", f"{took.megabytes:.1f}"]
        yield f"| {case.name} | {' | '.join(cells)} |"


def _median(runs: list[Run]) -> Run:
    return Run(*(statistics.median(column) for column in zip(*runs, strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(description="Whole-process cost of memcli's commands, in bare Python starts.")
    parser.add_argument("--rounds", type=int, default=15, help="runs of each case (rare ones: a fifth); default 15")
    parser.add_argument("--large", action="store_true", help="a store of 100,000 facts too")
    parser.add_argument("--python", type=Path, help="an environment's python that has memcli, in place of a fresh one")
    parser.add_argument("--sizes", default="", help="only stores of these sizes, such as 10k,100k (and the sample)")
    parser.add_argument("--only", default="", help="only cases whose name holds this")
    args = parser.parse_args()
    sizes = [size for size in SIZES if args.large or size != "100k"]
    if args.sizes:
        sizes = ["1k", *(size for size in SIZES if size in args.sizes.split(",") and size != "1k")]
    with tempfile.TemporaryDirectory(prefix="memcli-bench-") as folder:
        lab = Lab(Path(folder), args.python)
        print("making the stores", file=sys.stderr)
        prepare(lab, sizes)
        table = [case for case in cases(lab, sizes) if args.only in case.name]
        print(*lines(table, run(lab, table, args.rounds)), *sizes_on_disk(lab, sizes), sep="\n")


if __name__ == "__main__":
    main()
