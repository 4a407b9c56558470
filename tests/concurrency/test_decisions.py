"""What decides slowly never overrides what was written meanwhile: a sweep, and a consolidation that waits for a model."""

import json
import sys
from collections.abc import Callable

import pytest
from figures import Record
from support import PACKAGE_PARENT, Box, at

from memcli.engine import sweep
from memcli.store import facts, folder

LATER = "2026-11-15T11:00:00Z"
ACTS: dict[str, Callable[[Box], object]] = {
    "new value": lambda box: box.set("key 4", "new", "--ttl", "1h", now=LATER),
    "longer TTL": lambda box: box.ok("fact", "set", "key 4", "--ttl", "90d"),
    "restored": lambda box: box.ok("restore", "key 4", now=LATER),
    "forgotten and set anew": lambda box: (box.ok("forget", "key 4", "--yes"), box.set("key 4", "new", now=LATER)),
}


class Intruder:
    """Another writer who gets the lock just before the `at`th time that this process takes it."""

    def __init__(self, at: int, act: Callable[[], object]) -> None:
        self.at, self.act, self.count, self.busy = at, act, 0, False

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        plain = folder.Writing.__enter__

        def enter(writing: folder.Writing) -> folder.Writing:
            if not self.busy:
                self.count += 1
                if self.count == self.at:
                    self.busy = True
                    self.act()
                    self.busy = False
            return plain(writing)

        monkeypatch.setattr(folder.Writing, "__enter__", enter)


@pytest.mark.figure("sweep or consolidate over a newer write")
@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("lock", [1, 2, 3, 4], ids="before lock {}".format)
def test_a_sweep_leaves_alone_what_was_refreshed_while_it_decided(
    box: Box, act: str, lock: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "_BATCH", 2)
    for n in range(5):
        box.set(f"key {n}", "old", "--ttl", "1h")
    found = sweep.plan(box.store, at(LATER))
    assert len(found.actions) == 5
    intruder = Intruder(lock, lambda: ACTS[act](box))
    intruder.install(monkeypatch)
    report = sweep.apply(box.store, found)
    assert intruder.count >= lock
    assert {a.key for a in report.done} == {f"key {n}" for n in range(4)}
    assert box.get("key 4", now=LATER) == ("new" if "new" in act else "old")


def test_the_test_above_can_fail(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep that carries out what it had planned, whatever has happened since."""
    monkeypatch.setattr(sweep, "_BATCH", 2)
    monkeypatch.setattr(sweep, "_fact_reason", lambda *_: "expired")
    box.set("key 4", "old", "--ttl", "1h")
    found = sweep.plan(box.store, at(LATER))
    Intruder(2, lambda: ACTS["longer TTL"](box)).install(monkeypatch)
    sweep.apply(box.store, found)
    assert box.run("fact", "get", "key 4", now=LATER).code == 3


# A model that thinks for a while, and somebody who writes meanwhile.

THINK = """
import json, sys
sys.path.insert(0, {path!r})
sys.stdin.read()
import memcli
from memcli.base import clock
m = memcli.open({root!r})
for n in range(50):
    m.set_fact(f"meanwhile {{n}}", f"value {{n}}", now=clock.parse("2026-11-15T09:00:00Z"))
m.set_fact("deploy target", "Hetzner", now=clock.parse("2026-11-15T09:00:00Z"))
m.work_add("s", "said meanwhile", now=clock.parse("2026-11-15T09:00:00Z"))
print(json.dumps({{"summary": "The team talked about hosting.", "facts": [{{"key": "deploy target", "value": "Fly.io"}}]}}))
"""


@pytest.mark.also_full
def test_no_lock_and_no_snapshot_is_held_while_a_model_thinks(box: Box, figure: Record) -> None:
    box.ok(
        "work", "add", "We talked about hosting: the deploy target is Fly.io.", "--session", "s", "--importance", "0.9"
    )
    script = box.root.parent / "think.py"
    script.write_text(THINK.format(path=str(PACKAGE_PARENT), root=str(box.root)))
    toml = box.root / "memcli.toml"
    toml.write_text(toml.read_text() + f"\n[llm]\nextract_command = {json.dumps(f'{sys.executable} {script}')}\n")
    box.ok("config", "llm.extract_command", "--allow")
    box.ok("consolidate", "--session", "s")
    held = {f.key: f.text for f in facts.every(box.store)}
    kept = [n for n in range(50) if held.get(f"meanwhile {n}") == f"value {n}"]
    assert len(kept) == 50
    assert held["deploy target"] == "Hetzner"
    assert "said meanwhile" in box.ok("work", "list", "--session", "s").out
    figure("sweep or consolidate over a newer write", 54, bad=50 - len(kept))
