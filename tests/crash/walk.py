"""Random histories: one store, command after command, each killed or failed at a random call, held against a model.

The points of `harness` start from a clean store each; here crash follows upon crash, and what one leaves is what the
next one finds. After each step the whole store must read as the model before the step, or as after it.
"""

import dataclasses
import json
import pathlib
import random
from collections.abc import Callable

from .harness import KILLS, Argv, Outcome, Server, Strike, errno_modes, temps

LABELS = ("public", "internal", "sensitive", "restricted")
KEYS = ("deploy target", "C++", "naïve", "plain", "one more")
CALLS = 40  # strikes fall on the first so many calls; beyond the command's last one nothing happens
DOCTOR_EVERY = 10
SAID = Outcome(0, "said\n", "")


@dataclasses.dataclass(frozen=True)
class Model:
    """All that a reader with every right can see: key -> (text, label), and the episodes' texts."""

    facts: frozenset[tuple[str, str, str]] = frozenset()
    episodes: tuple[str, ...] = ()

    def with_fact(self, key: str, text: str, label: str) -> "Model":
        return dataclasses.replace(self.without(key), facts=self.without(key).facts | {(key, text, label)})

    def without(self, key: str) -> "Model":
        return dataclasses.replace(self, facts=frozenset(f for f in self.facts if f[0] != key))

    def with_episode(self, text: str) -> "Model":
        return dataclasses.replace(self, episodes=tuple(sorted((*self.episodes, text))))


class Walk:
    """One store on its way; `step` returns what went wrong."""

    def __init__(self, server: Server, folder: pathlib.Path, seed: int) -> None:
        self.server, self.store = server, str(folder / f"walk{seed}")
        self.random, self.seed, self.count, self.kills = random.Random(seed), seed, 0, 0
        self.model = Model()
        made = self.ask(("init",))
        assert made.code == 0, made.err

    def ask(self, words: Argv, strike: Strike | None = None) -> Outcome:
        # Half a minute a step: ids, updated_at and months move on as they would.
        now = f"2026-11-15T{9 + self.count // 120 % 12:02}:{self.count // 2 % 60:02}:{self.count % 2 * 30:02}Z"
        return self.server.run(("--store", self.store, "--now", now, *words), strike)

    def step(self) -> list[str]:
        self.count += 1
        words, after = self.random.choice((self.set, self.set, self.relabel, self.forget, self.tell))()
        if self.count % DOCTOR_EVERY == 0:
            words, after = ("doctor", "--fix"), self.model
        mode = self.random.choice((*KILLS, *KILLS, *errno_modes()))
        outcome = self.ask(words, Strike(self.store, self.random.randint(1, CALLS), mode))
        self.kills += outcome.killed
        seen = self.read()
        problems = self._wrong(outcome, seen, after)
        self.model = seen if isinstance(seen, Model) else after
        return [f"walk {self.seed}, step {self.count}, {mode}, {words[:3]}: {p}" for p in problems]

    def _wrong(self, outcome: Outcome, seen: "Model | str", after: Model) -> list[str]:
        problems = []
        if not outcome.killed and outcome.code not in (0, 7):
            problems.append(f"exit {outcome.code}: {outcome.err}")
        if seen not in (self.model, after):
            problems.append(f"read {seen}, neither {self.model} nor {after}")
        elif seen != after and outcome.acknowledged(SAID):
            problems.append("was acknowledged and is lost")
        return problems

    # -- what may happen --

    def set(self) -> tuple[Argv, Model]:
        key, label = self.random.choice(KEYS), self.random.choice(LABELS)
        text = f"value {self.count} " + "x" * self.random.choice((0, 10, 5000))
        return ("fact", "set", key, text.strip(), "--sensitivity", label), self.model.with_fact(
            key, text.strip(), label
        )

    def _known(self, act: Callable[[str, str, str], tuple[Argv, Model]]) -> tuple[Argv, Model]:
        return act(*self.random.choice(sorted(self.model.facts))) if self.model.facts else self.set()

    def relabel(self) -> tuple[Argv, Model]:
        label = self.random.choice(LABELS)
        return self._known(
            lambda key, text, _: (
                ("fact", "set", key, text, "--sensitivity", label),
                self.model.with_fact(key, text, label),
            )
        )

    def forget(self) -> tuple[Argv, Model]:
        return self._known(lambda key, *_: (("fact", "forget", key, "--yes"), self.model.without(key)))

    def tell(self) -> tuple[Argv, Model]:
        text = f"episode {self.count}"
        return ("episode", "add", text), self.model.with_episode(text)

    # -- what is seen --

    def read(self) -> "Model | str":
        facts = self.ask(("fact", "list", "--clearance", "restricted", "--json"))
        episodes = self.ask(("episode", "list", "--clearance", "restricted", "--json"))
        if facts.code or episodes.code:
            return f"{facts} {episodes}"
        return Model(
            frozenset((f["key"], f["text"], f["sensitivity"]) for f in json.loads(facts.out)["data"]),
            tuple(sorted(e["text"] for e in json.loads(episodes.out)["data"])),
        )

    def end(self) -> list[str]:
        """Recovers at last: the model must stand and no temporary file may be left."""
        done = self.ask(("doctor", "--fix"))
        problems = [] if done.code == 0 else [f"doctor exits {done.code}: {done.out}{done.err}"]
        if self.read() != self.model:
            problems.append(f"after doctor: {self.read()}, not {self.model}")
        return problems + [f"left: {name}" for name in temps(self.store)]
