"""README and the pages under docs/ say what the program does: their commands run, their outputs and links hold."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from memcli.cli import full

from . import transcript

PAGES = transcript.pages()
README = transcript.TOP / "README.md"


def name(page: Path) -> str:
    return str(page.relative_to(transcript.TOP))


@pytest.mark.parametrize("page", [p for p in PAGES if transcript.steps(p.read_text("utf-8"))], ids=name)
def test_the_commands_of_a_page_print_what_it_shows(page: Path, tmp_path: Path) -> None:
    faults = transcript.faults(page.read_text("utf-8"), tmp_path / "run")
    assert not faults, "\n\n".join([*faults, "python tests/docs/regen.py writes the real outputs in"])


def test_readme_has_a_quick_start_of_two_commands() -> None:
    commands = [block.lines for block in transcript.blocks(README.read_text("utf-8")) if block.language == "sh"]
    assert [len(lines) for lines in commands] == [1, 1], "one command line each"
    (run,), (test,) = commands
    install, _, memcli = run.partition(" && ")
    assert install == "pip install ."
    assert memcli.startswith("memcli --store sample_memory --now ")
    assert " context " in memcli
    assert test == "pip install '.[test]' && python -m pytest"


def test_readme_takes_a_minute() -> None:
    text = README.read_text("utf-8")
    assert text.count("\n") <= 250
    assert len(text.split("## Quick start")[0].splitlines()) <= 8


# --- What is not run is at least well-formed


def written_calls(text: str) -> Iterator[tuple[str, list[str]]]:
    """Every call of memcli in blocks that are not run, as (line, words after `memcli`)."""
    for block in transcript.blocks(text):
        if block.language in (*transcript.RUN, "sh", "text"):
            continue
        for line in "\n".join(block.lines).replace("\\\n", " ").split("\n"):
            yield from ((line, words) for words in transcript.calls(line))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_calls_in_blocks_that_are_not_run_are_well_formed(page: Path) -> None:
    for line, words in written_calls(page.read_text("utf-8")):
        if not words:
            continue  # the bare name, as in a listing
        try:
            full.read(words)
        except full.UsageError as error:
            pytest.fail(f"{line}: {error.message}")


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        place = (page.parent / path).resolve() if path else page
        assert place.exists(), f"{target} leads nowhere"
        assert not anchor or anchor in anchors(place), f"{target}: no such heading"


def test_every_page_is_linked_from_readme_or_a_page_that_is() -> None:
    linked, open_ = set(), [README]
    while open_:
        page = open_.pop()
        if page in linked or page.suffix != ".md":
            continue
        linked.add(page)
        for target in re.findall(r"\]\(([^)\s#]+)", page.read_text("utf-8")):
            place = (page.parent / target).resolve()
            open_ += sorted(place.glob("*.md")) if place.is_dir() else [place] if place.exists() else []
    assert set(PAGES) <= linked


# --- The checker itself can fail


@pytest.mark.parametrize(
    ("page", "fault"),
    [
        ("$ echo one\none\n$ echo two\nthree", "echo two"),
        ("$ echo one", "echo one"),
        ("$ memcli fact get nothing\nfound it", "no memcli store"),
        ("$ printf 'a\\nb\\nc\\n'\na\n...\nd", "printf"),
        ("$ export A=1\n$ (exit 3)\n$ echo $? $A\n3 2", "3 1"),
        ("$ pwd\n/home/ivan", "/home/anna"),
        ("$ cat <<END\n> x\n> END\ny", "x"),
        ("$ echo memory-0123abcd 01a1d4e2-dd40-717e-9cd6-15298e419d56\nmemory-00000000 01a1d4e2", "echo"),
        ("$ memcli --store sample_memory --now 2026-11-15T09:00:00Z fact get alerts | wc -l\n2", "alerts"),
    ],
)
def test_a_wrong_output_is_found(page: str, fault: str, tmp_path: Path) -> None:
    found = transcript.faults(f"```console\n{page}\n```\n", tmp_path / "run")
    assert len(found) == 1
    assert fault in found[0]


def test_a_wrong_python_output_is_found(tmp_path: Path) -> None:
    page = "```pycon\n>>> n = 2\n>>> n + 1\n3\n>>> for i in range(n):\n...     print(i)\n0\n2\n```\n"
    (found,) = transcript.faults(page, tmp_path / "run")
    assert "for i in range" in found


def test_a_right_page_is_right_and_renewing_mends_a_wrong_one(tmp_path: Path) -> None:
    wrong = (
        "```console\n$ echo one\n$ printf 'a\\nb\\n'\na\nx\n\n$ false || echo memory-0a0b0c0d\nmemory-11111111\n```\n"
    )
    right = transcript.renewed(wrong, tmp_path / "a")
    assert right == wrong.replace("$ echo one\n", "$ echo one\none\n").replace("\nx\n", "\nb\n")
    assert transcript.faults(right, tmp_path / "b") == []


def test_a_call_that_is_not_run_is_read() -> None:
    page = "```bash\n/x/bin/memcli --store m context \"a b\" | llm 'c' && memcli fact \\\n  get x\n```\n"
    assert [words for _, words in written_calls(page)] == [["--store", "m", "context", "a b"], ["fact", "get", "x"]]


def test_an_open_fence_is_an_error() -> None:
    with pytest.raises(ValueError, match="never closed"):
        transcript.blocks("```sh\nx\n")
