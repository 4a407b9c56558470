"""The rules of working memory, without a disk: window, protection, capacity, RAM, messages, cleaning."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.model import working
from memcli.model.records import Source
from memcli.model.working import Entry, Item, Session

NOW = datetime(2026, 11, 15, 9, tzinfo=UTC)
WHO = Source(id="anna", kind="user")


def item(n: int, importance: float = 0.5, role: str = "", **fields: object) -> Item:
    made = {"id": f"{n:04}", "text": f"t{n}", "created_at": NOW + timedelta(seconds=n), "source": WHO}
    return Item(**made | {"importance": importance, "role": role} | fields)


def ids(items: tuple[Item, ...]) -> list[int]:
    return [int(i.id) for i in items]


def test_the_window_drops_its_oldest() -> None:
    kept, out = working.slide([item(n) for n in range(25)], 20)
    assert ids(kept) == list(range(5, 25))
    assert ids(out) == list(range(5))


def test_what_is_important_is_not_pushed_out() -> None:
    kept, out = working.slide([item(0, 0.8), item(1, 0.79), *(item(n) for n in range(2, 24))], 20)
    assert 0 in ids(kept)
    assert 1 in ids(out)
    assert len(kept) == 21  # twenty and the protected one


@pytest.mark.parametrize(("window", "cap"), [(4, 5), (20, 5), (24, 6), (100, 25)])
def test_the_protected_list_has_a_cap(window: int, cap: int) -> None:
    assert working.protected_cap(window) == cap
    items = [item(n, 0.9) for n in range(window + cap + 3)]
    kept, _ = working.slide(items, window)
    assert len(kept) == window + cap
    assert ids(kept) == list(range(3, window + cap + 3))


def test_of_many_important_ones_the_most_important_is_protected() -> None:
    kept, _ = working.slide([item(0, 1.0), *(item(n, 0.8) for n in range(1, 40))], 4)
    assert 0 in ids(kept)


def test_messages_are_no_concern_of_the_window() -> None:
    items = [item(n, role="user") for n in range(30)]
    assert working.slide(items, 5) == (tuple(items), ())


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=80), st.integers(1, 30))
def test_sliding_twice_is_sliding_once(made: list[tuple[float, bool]], window: int) -> None:
    items = [item(n, importance, "user" if role else "") for n, (importance, role) in enumerate(made)]
    kept, out = working.slide(items, window)
    assert working.slide(kept, window) == (kept, ())
    assert sorted(ids(kept) + ids(out)) == list(range(len(items)))
    assert sum(not i.role for i in kept) <= window + working.protected_cap(window)


@pytest.mark.parametrize(
    ("window", "ram", "shrunk"),
    [
        (20, None, 20),
        (20, 0.68, 20),
        (20, 0.681, 15),
        (20, 0.80, 15),
        (20, 0.801, 10),
        (3, 0.9, 2),
        (2, 0.9, 2),
        (1, 0.9, 1),
        (3, 0.7, 3),
        (4, 0.7, 3),
        (2, 0.7, 2),
    ],
)
def test_the_window_shrinks_when_ram_is_short(window: int, ram: float | None, shrunk: int) -> None:
    assert working.shrunk(window, ram) == shrunk


@pytest.mark.parametrize(
    ("ram", "minutes", "below"),
    [(None, 30, 0.2), (0.7, 30, 0.2), (0.71, 15, 0.3), (0.85, 15, 0.3), (0.86, 5, 0.5)],
)
def test_cleaning_by_ram(ram: float | None, minutes: int, below: float) -> None:
    assert working.cleaning(ram) == (minutes, below)


def test_what_is_stale_is_old_and_unimportant() -> None:
    old, new = NOW + timedelta(minutes=31), NOW + timedelta(minutes=30)
    assert working.stale(item(0, 0.19), old, 30, 0.2)
    assert not working.stale(item(0, 0.19), new, 30, 0.2)
    assert not working.stale(item(0, 0.2), old, 30, 0.2)


def test_entries_are_capped_by_the_time_of_their_writing() -> None:
    entries = [Entry(id=str(n), key=str(n), text="v", created_at=NOW, updated_at=NOW, source=WHO) for n in range(102)]
    kept, out = working.cap(entries, 100)
    assert [e.key for e in out] == ["0", "1"]
    assert len(kept) == 100


def test_expiry_is_to_the_second() -> None:
    held = item(0, ttl_minutes=5)
    assert not working.expired(held, NOW + timedelta(minutes=5, seconds=-1))
    assert working.expired(held, NOW + timedelta(minutes=5))
    assert not working.expired(item(0, ttl_minutes=10**12), NOW)
    assert working.live(Session(id="s", items=(held,)), NOW + timedelta(hours=1)).items == ()


def fold(items: list[Item]) -> list[int]:
    return ids(working.to_fold(items, threshold=30, keep=15))


def test_messages_are_summed_up_from_thirty_on() -> None:
    assert fold([item(n, role="user") for n in range(29)]) == []
    assert fold([item(n, role="user") for n in range(30)]) == list(range(15))


def test_the_systems_messages_stay() -> None:
    items = [item(n, role="system" if n in (0, 7) else "user") for n in range(32)]
    assert fold(items) == [n for n in range(1, 17) if n != 7]


def test_an_earlier_summary_is_summed_up_too_but_not_alone() -> None:
    items = [item(0, role="summary"), *(item(n, role="user") for n in range(1, 31))]
    assert fold(items) == list(range(16))
    alone = [
        item(0, role="summary"),
        *(item(n, role="system") for n in range(1, 20)),
        *(item(n, role="user") for n in range(20, 35)),
    ]
    assert fold(alone) == []


def test_notes_are_no_messages() -> None:
    assert fold([item(n) for n in range(60)]) == []


def test_the_list_never_passes_the_hard_cap() -> None:
    items = [item(n, role="system" if n < 5 else "user") for n in range(44)]
    kept, out = working.hold(items, 40)
    assert len(kept) == 40
    assert ids(out) == [5, 6, 7, 8]
    kept, out = working.hold([item(n, role="system") for n in range(44)], 40)
    assert ids(out) == [0, 1, 2, 3]


def test_what_is_named_makes_room_first_whatever_its_role() -> None:
    items = [item(n, role="system" if n == 3 else "user") for n in range(10)]
    named = {f"{n:04}" for n in range(3, 10)}
    kept, out = working.hold(items, 5, named)
    assert (ids(kept), ids(out)) == ([0, 1, 2, 8, 9], [3, 4, 5, 6, 7])
    assert ids(working.hold(items, 2, named)[0]) == [1, 2]
