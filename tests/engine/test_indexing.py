"""`reindex` builds the index anew, and `doctor --deep` finds one that says something else than the files."""

import sqlite3
import time
from pathlib import Path

from support import Box


def index(box: Box) -> Path:
    [path] = (box.root / ".memcli").glob("index.*.sqlite")
    return path


def test_reindex_says_what_it_read_and_replaces_the_file(sample: Box) -> None:
    sample.ok("search", "deploy")
    before = index(sample)
    built = sample.data("reindex")
    assert built["records"] == 76
    assert index(sample) != before
    assert built["bytes"] >= index(sample).stat().st_size > 0
    assert (index(sample).stat().st_mode & 0o777) == 0o600


def test_deep_finds_nothing_in_a_sound_index(sample: Box) -> None:
    sample.ok("search", "deploy")
    assert "nothing wrong" in sample.ok("doctor", "--deep").err


def test_deep_finds_a_text_that_the_index_has_wrong(sample: Box) -> None:
    time.sleep(0.1)  # what changed a moment before it was indexed is read again anyway
    sample.ok("search", "deploy")
    with sqlite3.connect(index(sample)) as con:
        con.execute("UPDATE stems SET weak = 'quantum' WHERE rid = 1")
    con.close()
    assert [f["code"] for f in sample.data("doctor", "--deep")] == ["index_differs"]
    assert sample.data("doctor", "--deep", "--fix") == []
    assert sample.data("doctor", "--deep") == []


def test_deep_finds_a_record_that_the_index_lacks(sample: Box) -> None:
    sample.ok("search", "deploy")
    with sqlite3.connect(index(sample)) as con:
        con.execute("DELETE FROM record WHERE rid = 1")
    con.close()
    assert [f["code"] for f in sample.data("doctor", "--deep")] == ["index_differs"]


def test_without_deep_nothing_is_compared(sample: Box) -> None:
    sample.ok("search", "deploy")
    with sqlite3.connect(index(sample)) as con:
        con.execute("DELETE FROM record WHERE rid = 1")
    con.close()
    assert sample.data("doctor") == []
