"""What a look at the index costs, and that it misses nothing: same ticks, foreign changes, edits in place, many records."""

import json
import os
from collections.abc import Callable
from typing import Any

import pytest
from support import Box, at

from memcli.base import ids as ids_
from memcli.engine import search, sweep
from memcli.engine.concepts import Concepts
from memcli.index import database, pairs, refresh
from memcli.index.look import Look
from tests.hostile.common import fields, front, pair

from . import common

NOW = at()
Taken = Callable[[], list[str]]


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> common.Ticks:
    return common.Ticks(monkeypatch)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Taken:
    return common.count_reads(monkeypatch)


@pytest.fixture
def filled(box: Box, ticks: common.Ticks) -> Box:
    """Some records of each kind, and an index that is sure of them."""
    common.fill(box, NOW)
    box.add("a quiet harbour", "--session", "one")
    settle(box, ticks)
    return box


def settle(box: Box, ticks: common.Ticks) -> None:
    """Looks until nothing is left to be looked at."""
    for _ in range(2):
        ticks.rest()
        refresh.ask(box.store, lambda con: None)


def ids(box: Box, word: str, **options: Any) -> list[str]:
    found = search.search(box.store, word, now=NOW, **options)
    return sorted(getattr(h.record, "key", "") or h.record.id for h in found.hits)


def look(box: Box, **options: Any) -> None:
    refresh.ask(box.store, lambda con: None, **options)


# What is read


def test_nothing_is_read_when_nothing_changed(filled: Box, reads: Taken) -> None:
    look(filled)
    look(filled, watch=False)
    look(filled, fresh=True)
    assert reads() == []


def test_a_look_that_finds_nothing_writes_nothing(filled: Box) -> None:
    before = common.bytes_of(filled)
    look(filled)
    assert common.bytes_of(filled) == before


def test_after_a_write_only_its_files_are_read(filled: Box, reads: Taken) -> None:
    name = filled.md("key 3").stem
    filled.memory.confirm("key 3", run="another", now=NOW)
    reads()
    look(filled)
    assert set(reads()) == {f"facts/{name}.md", f"facts/{name}.meta.json"}
    filled.memory.add_episode("pebble", now=NOW)
    reads()
    look(filled)
    assert set(reads()) <= {"episodes/2026-11.md", f"facts/{name}.md", f"facts/{name}.meta.json"}


def test_after_an_edit_only_its_files_are_read(filled: Box, ticks: common.Ticks, reads: Taken) -> None:
    md = filled.md("key 2")
    common.edit(md, md.read_bytes().replace(b"lantern", b"orchard"))
    look(filled)
    assert set(reads()) == {f"facts/{md.name}", f"facts/{filled.side('key 2').name}"}
    settle(filled, ticks)
    reads()
    look(filled)
    assert reads() == []


def test_a_change_costs_the_same_in_a_large_store(
    box: Box, ticks: common.Ticks, monkeypatch: pytest.MonkeyPatch
) -> None:
    costs = []
    for size in (250, 1000):
        grow(box, size, ticks)
        costs.append(cost(box, size, ticks, monkeypatch))
    assert 0 < costs[1] <= costs[0] * 1.25, costs


@pytest.mark.parametrize("by", ["key", "id"])
def test_a_basis_is_found_without_a_look_at_every_row(by: str, box: Box, ticks: common.Ticks) -> None:
    costs = []
    for size in (250, 1000):
        grow(box, size, ticks)
        ref = box.memory.get_fact("k7").id if by == "id" else "k7"
        costs.append(refresh.ask(box.store, lambda con, ref=ref: steps(con, box, ref)))
    assert 0 < costs[1] <= costs[0] * 1.25, costs


def steps(con: Any, box: Box, ref: str) -> int:
    """How many instructions SQLite's machine runs through to find what a record was derived from."""
    ran: list[int] = []
    look_ = Look(con, box.store, NOW)
    con.set_progress_handler(lambda: ran.append(1) and 0, 1)
    found = Concepts(look_).basis(ref)
    con.set_progress_handler(None, 1)
    assert found is not None
    assert found.key == "k7"
    return len(ran)


def grow(box: Box, size: int, ticks: common.Ticks) -> None:
    rows = [{"kind": "fact", "key": f"k{n}", "text": f"lantern {n}", "sensitivity": "internal"} for n in range(size)]
    path = box.root.parent / "rows.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    box.ok("import", "jsonl", str(path), "--trusted")
    settle(box, ticks)


def cost(box: Box, size: int, ticks: common.Ticks, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many instructions SQLite's machine runs through until it has taken in a write and an edit, in hundreds."""
    ran = 0

    def step() -> int:
        nonlocal ran
        ran += 1
        return 0

    plain = database.connect

    def connect(path: str) -> Any:
        con = plain(path)
        con.set_progress_handler(step, 100)
        return con

    with monkeypatch.context() as patch:
        patch.setattr(database, "connect", connect)
        box.memory.confirm("k7", run=str(size), now=NOW)
        ticks.rest()
        look(box)
        common.edit(box.md("k9"), box.md("k9").read_bytes() + b"more\n")
        ticks.rest()
        look(box)
    return ran


def test_an_entry_in_two_logs_has_one_place_whichever_came_in_first(filled: Box, ticks: common.Ticks) -> None:
    logs = filled.root / "episodes"
    (logs / "2026-12.md").write_bytes((logs / "2026-11.md").read_bytes())
    settle(filled, ticks)
    common.same(filled, NOW)


@pytest.mark.parametrize("last_first", [False, True])
def test_a_fact_that_stood_back_for_its_renaming_is_shown_again(
    last_first: bool, filled: Box, ticks: common.Ticks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever of the keys and ids that hang together is looked at first."""
    left = [(p, p.read_bytes()) for p in (filled.md("key 1"), filled.side("key 1"))]
    filled.memory.rename_fact("key 1", "key 9", now=NOW)
    for path, data in left:  # as a clone whose renaming is not finished
        path.write_bytes(data)
    (filled.root / "facts" / "by hand.md").write_text("---\nkey: key 9\nsensitivity: internal\n---\n\nby hand\n")
    settle(filled, ticks)
    real = pairs._settle

    def in_order(entries: Any, store: Any, folder: Any, upset: Any) -> None:
        real(entries, store, folder, sorted(upset, reverse=last_first))

    monkeypatch.setattr(pairs, "_settle", in_order)
    md, side = filled.md("key 9"), filled.side("key 9")
    made = ids_.new(at(hours=1))
    old = json.loads(side.read_text())["id"]
    for path in (md, side):
        common.edit(
            path, path.read_bytes().replace(old.encode(), made.encode()).replace(b'  "renamed_from": ["key 1"],\n', b"")
        )
    settle(filled, ticks)
    common.same(filled, NOW)


# Changes within one tick


@pytest.mark.parametrize("how", ["in place", "by rename", "the sidecar", "a new file", "removed"])
@pytest.mark.parametrize("waits", [False, True])
def test_a_change_right_after_a_look_is_seen(filled: Box, how: str, waits: bool, ticks: common.Ticks) -> None:
    """The look happens right after a first change, so that the second one may fall into the same tick."""
    for n in range(8):
        key = f"key {n % 6}"
        if how != "removed":
            filled.memory.set_fact(key, f"orchard {n}", now=NOW)
        if waits:
            ticks.rest()
        look(filled)
        md, side = filled.md(key), filled.side(key)
        if how == "in place":
            common.edit(md, md.read_bytes().replace(b"orchard", b"walnuts"))
        elif how == "by rename":
            temp = md.with_name("temp~")
            temp.write_bytes(md.read_bytes().replace(b"orchard", b"walnuts"))
            temp.replace(md)
        elif how == "the sidecar":
            common.edit(side, side.read_bytes().replace(b'"internal"', b'"sensitive"'))
        elif how == "a new file":
            (filled.root / "facts" / f"by hand {n}.md").write_text("---\nsensitivity: internal\n---\n\nwalnuts\n")
        else:
            md.unlink(missing_ok=True)
        common.same(filled, NOW)


def test_a_log_that_changes_right_after_a_look_is_seen(filled: Box) -> None:
    for n in range(8):
        filled.memory.add_episode(f"pebble {n}", now=NOW)
        look(filled)
        data = filled.log().read_bytes()
        common.edit(filled.log(), data.replace(b"pebble", b"garden"))
        common.same(filled, NOW)


# Changes that memcli's writers say, and those that nobody says


def test_a_foreign_change_between_two_writes_is_seen_at_once(filled: Box, ticks: common.Ticks) -> None:
    filled.memory.set_fact("key 1", "orchard", now=NOW)
    ticks.rest()
    (filled.root / "facts" / "foreign.md").write_text("---\nsensitivity: internal\n---\n\nwalnut\n")
    ticks.rest()
    filled.memory.set_fact("key 2", "orchard", now=NOW)
    ticks.rest()
    assert ids(filled, "walnut") == ["foreign"]
    common.same(filled, NOW)


def test_a_folder_whose_time_was_set_back_is_looked_at(filled: Box, ticks: common.Ticks) -> None:
    """As programs do that copy or unpack a store."""
    folder = filled.root / "facts"
    before = folder.stat()
    (folder / "foreign.md").write_text("---\nsensitivity: internal\n---\n\nwalnut\n")
    os.utime(folder, ns=(before.st_atime_ns, before.st_mtime_ns))
    ticks.rest()
    common.same(filled, NOW)
    assert ids(filled, "walnut") == ["foreign"]


def test_a_folder_of_the_future_costs_no_more(filled: Box, ticks: common.Ticks) -> None:
    os.utime(filled.root / "facts", (4e9, 4e9))
    settle(filled, ticks)
    before = common.bytes_of(filled)
    look(filled)
    assert common.bytes_of(filled) == before


def test_an_edit_in_place_beside_a_write_is_seen_at_once(filled: Box, ticks: common.Ticks) -> None:
    md = filled.md("key 4")
    common.edit(md, md.read_bytes().replace(b"lantern", b"walnuts"))
    filled.memory.set_fact("key 2", "orchard", now=NOW)
    assert ids(filled, "walnuts") == ["key 4"]


@pytest.mark.parametrize(
    "touched", [b"", b"{\n", b"null\n[]\n", b'{"layer": "facts"}\n', b'{"layer": "facts", "before": 1', b"\xff\n"]
)
def test_what_writers_say_may_be_damaged(filled: Box, touched: bytes, ticks: common.Ticks) -> None:
    path = filled.root / ".memcli" / "index.touched"
    filled.memory.set_fact("key 1", "orchard", now=NOW)
    path.write_bytes(touched)
    filled.memory.set_fact("key 2", "orchard", now=NOW)
    ticks.rest()
    assert ids(filled, "orchard") == ["key 1", "key 2"]
    common.same(filled, NOW)


def test_a_torn_line_breaks_the_chain_there_and_nowhere_else(filled: Box, ticks: common.Ticks, reads: Taken) -> None:
    path = filled.root / ".memcli" / "index.touched"
    path.write_bytes(b'{"layer": "facts", "bef\n')
    filled.memory.set_fact("key 1", "orchard", now=NOW)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "_all", lambda *_: pytest.fail("everything was looked at"))
        assert ids(filled, "orchard") == ["key 1"]


def test_names_that_writers_cannot_have_said_lead_nowhere(filled: Box, ticks: common.Ticks) -> None:
    path = filled.root / ".memcli" / "index.touched"
    filled.memory.set_fact("key 1", "orchard", now=NOW)
    data = path.read_text().replace("key-1--", "../../key-1--").replace('"names": ["', '"names": ["../memcli", "')
    path.write_text(data)
    assert ids(filled, "orchard") == ["key 1"]


def test_chains_do_not_put_off_the_next_look_at_everything(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    """Something slips in while a writer is at work; steady writing must not hide it for ever."""
    ticks = common.Ticks(monkeypatch, recheck_seconds=0.4)
    box.set("key 1", "lantern")
    settle(box, ticks)
    with box.store.writing() as w:
        w.note({"layer": "facts", "name": "key-1", "drop": True})
        (box.root / "facts" / "slipped.md").write_text("---\nsensitivity: internal\n---\n\nwalnut\n")
    for n in range(12):
        box.memory.set_fact("key 1", f"orchard {n}", now=NOW)
        ticks.rest()
        if "slipped" in ids(box, "walnut"):
            return
        ticks.rest()
        ticks.rest()
    pytest.fail("never seen")


# More records than are watched


@pytest.fixture
def many(filled: Box, ticks: common.Ticks, monkeypatch: pytest.MonkeyPatch) -> Box:
    monkeypatch.setattr(pairs, "WATCHED", 3)
    look(filled, fresh=True)
    settle(filled, ticks)
    return filled


@pytest.mark.parametrize("suffix", [".md", ".meta.json"])
def test_above_the_limit_edits_in_place_are_seen_when_asked_and_in_time(
    many: Box, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = many.md("key 2") if suffix == ".md" else many.side("key 2")
    common.edit(path, path.read_bytes().replace(b"internal", b"sensitive"))
    assert "key 2" in refresh.ask(many.store, lambda con: str(con.execute("SELECT key FROM record").fetchall()))
    common.same(many, NOW, fresh=True)
    common.edit(path, path.read_bytes().replace(b"sensitive", b"restricted"))
    monkeypatch.setattr(pairs, "RECHECK_NS", 0)
    common.same(many, NOW)


@pytest.mark.parametrize("how", ["replaced", "removed", "added", "written"])
def test_above_the_limit_other_changes_are_seen_at_once(many: Box, how: str, ticks: common.Ticks) -> None:
    md = many.md("key 2")
    if how == "replaced":
        temp = md.with_name("temp~")
        temp.write_bytes(md.read_bytes().replace(b"lantern", b"orchard"))
        temp.replace(md)
    elif how == "removed":
        md.unlink()
    elif how == "added":
        (md.parent / "another.md").write_text("orchard\n")
    else:
        many.memory.set_fact("key 2", "orchard", now=NOW)
    common.same(many, NOW)
    ticks.rest()
    common.same(many, NOW)


def test_so_many_changes_that_the_files_to_watch_are_written_down_again(
    filled: Box, ticks: common.Ticks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairs, "_MOST_LOOSE", 3)
    for n in range(9):
        filled.memory.set_fact(f"new {n}", "orchard", now=NOW)
        ticks.rest()
        look(filled)
        md = filled.md(f"new {n // 2}")
        common.edit(md, md.read_bytes().replace(b"orchard", b"walnuts"))
        common.same(filled, NOW)
        filled.memory.forget(f"key {n % 6}", now=NOW) if n < 6 else None
        ticks.rest()
        common.same(filled, NOW)


# The sweep


def test_a_sweep_learns_of_a_time_to_live_that_a_hand_wrote(filled: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    side = filled.side("key 3")
    common.edit(side, side.read_bytes().replace(b'"ttl_minutes": 0', b'"ttl_minutes": 1'))
    monkeypatch.setattr(pairs, "RECHECK_NS", 0)
    planned = sweep.plan(filled.store, at(days=1)).actions
    assert [a.key for a in planned] == ["key 3"]


# Which file of a key is shown


@pytest.mark.parametrize("turn", range(3))
def test_files_that_hang_together_by_key_and_by_id_are_decided_on_together(
    box: Box, ticks: common.Ticks, turn: int
) -> None:
    """a and b share a key, b and c an id, and c was b before: neither a nor b is shown, in whatever order they come in."""
    one, other = "0199e4a0-5b00-7c3e-9a51-0d6a0f1b2c3d", "0199e4a0-5b00-7c3e-9a51-0d6a0f1b2c3e"
    files = [("a", "old", one, []), ("b", "old", other, []), ("c", "new", other, ["old"])]
    for name, key, made, before in files[turn:] + files[:turn]:
        side = fields(id=made, key=key, renamed_from=before or None)
        pair(box.root, front(id=made, key=key, sensitivity="internal"), side, name)
        ticks.rest()
        common.same(box, NOW)
    assert ids(box, "file") == ["new"]


def test_a_label_that_was_raised_by_a_line_in_two_pieces_is_seen(filled: Box, ticks: common.Ticks) -> None:
    made = filled.add("walnut wood")
    settle(filled, ticks)
    line = f"<!-- raise {made} restricted -->\n".encode()
    for part in (line[:60], line[60:]):
        with filled.log().open("ab") as f:
            f.write(part)
        ticks.rest()
        look(filled)
    assert ids(filled, "walnut") == []
    common.same(filled, NOW)


def test_no_file_of_the_current_folder_is_taken_for_one_of_the_store(
    filled: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(filled.root / "facts")
    look(filled)
    (filled.root / "facts").rename(filled.root.parent / "facts")
    assert ids(filled, "lantern") == ["steps"]
    common.same(filled, NOW)
    os.rename(filled.root.parent / "facts", filled.root / "facts")
    common.same(filled, NOW)
