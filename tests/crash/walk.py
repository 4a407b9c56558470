"""Random histories: one store, command after command, each killed or failed at a random call, held against a model.

The points of `harness` start from a clean store each; here crash follows upon crash, and what one leaves is what the
next one finds. After each step the whole store must read as the model before the step, or as after it.
"""

import dataclasses
import json
import pathlib
import random
import zlib
from collections.abc import Callable

from .harness import KILLS, errno_modes, temps
from .victim import Argv, Outcome, Server, Strike

LABELS = ("public", "internal", "sensitive", "restricted")
KEYS = ("deploy target", "C++", "naïve", "plain", "one more")
CALLS = {"fact": 26, "episode": 6, "doctor": 8}  # strikes fall on the first so many calls
DOCTOR_EVERY = 10
SAID = Outcome(0, "said\n", "")


@dataclasses.dataclass(frozen=True)
class Model:
    """All that a reader with every right can see: (key, text, label) of each fact, and the episodes' texts in order."""

    facts: frozenset[tuple[str, str, str]] = frozenset()
    episodes: tuple[str, ...] = ()

    def against(self, *others: "Model") -> str:
        """What this one has that the others lack, and the reverse, with long texts cut."""
        rows = [{*map(short, other.facts), *other.episodes} for other in (self, *others)]
        return "; ".join(f"+{sorted(rows[0] - row)} -{sorted(row - rows[0])}" for row in rows[1:])

    def with_fact(self, key: str, text: str, label: str) -> "Model":
        return dataclasses.replace(self.without(key), facts=self.without(key).facts | {(key, text, label)})

    def without(self, key: str) -> "Model":
        return dataclasses.replace(self, facts=frozenset(f for f in self.facts if f[0] != key))

    def with_label(self, fact: tuple[str, str, str]) -> "Model":
        """With the fact's label, where it has the same key and text but for that."""
        same = {f for f in self.facts if f[:2] == fact[:2]}
        return dataclasses.replace(self, facts=self.facts - same | {fact}) if same else self

    def with_episode(self, text: str) -> "Model":
        return dataclasses.replace(self, episodes=(text, *self.episodes))


def short(fact: tuple[str, str, str]) -> str:
    key, text, label = fact
    return f"{key}: {text:.12} ({len(text)}, {zlib.crc32(text.encode()):x}) {label}"


class Walk:
    """One store on its way; `step` returns what went wrong."""

    def __init__(
        self,
        server: Server,
        folder: pathlib.Path,
        seed: int,
        modes: tuple[str, ...] = (*KILLS, *KILLS, *KILLS, *errno_modes()),
    ) -> None:
        self.modes = modes
        self.server, self.store = server, str(folder / f"walk{seed}")
        self.random, self.seed, self.count, self.kills = random.Random(seed), seed, 0, 0
        self.model, self.late = Model(), set[tuple[str, str, str]]()
        made = self.ask(("init",))
        assert made.code == 0, made.err

    def ask(self, words: Argv, strike: Strike | None = None) -> Outcome:
        return self.ask_all(words, strike=strike)[0]

    def ask_all(self, *calls: Argv, strike: Strike | None = None) -> list[Outcome]:
        # Half a minute a step: ids and times move on as they would.
        seconds = 30 * self.count
        now = f"2026-11-{15 + seconds // 86400:02}T{seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}Z"
        return self.server.run_all([("--store", self.store, "--now", now, *words) for words in calls], strike)

    def step(self) -> list[str]:
        self.count += 1
        words, after = self.random.choice((self.set, self.set, self.relabel, self.forget, self.tell))()
        if self.count % DOCTOR_EVERY == 0:
            words, after = ("doctor", "--fix"), self.model
        mode = self.random.choice(self.modes)
        outcome = self.ask(words, Strike(self.store, self.random.randint(1, CALLS[words[0]]), mode))
        self.kills += outcome.killed
        seen = self.read()
        problems = self._wrong(outcome, seen, after)
        self._move(outcome, seen if isinstance(seen, Model) else after, after)
        return [f"walk {self.seed}, step {self.count}, {mode}, {words[:3]}: {p}" for p in problems]

    def _move(self, outcome: Outcome, seen: Model, after: Model) -> None:
        if outcome.code == 0:  # has settled what earlier writers left
            self.late = set()
        elif seen == self.model:
            self.late |= {f for f in after.facts - seen.facts if seen.with_label(f) != seen}
        self.model = seen

    def _wrong(self, outcome: Outcome, seen: "Model | str", after: Model) -> list[str]:
        problems = []
        if not outcome.killed and outcome.code not in (0, 7):
            problems.append(f"exit {outcome.code}: {outcome.err}")
        if isinstance(seen, str):
            problems.append(seen)
        elif seen not in (old := self._with_late(self.model)) + (new := self._with_late(after)):
            problems.append(f"neither old nor new: {seen.against(self.model, after)}")
        elif seen in old and seen not in new and outcome.acknowledged(SAID):
            problems.append("was acknowledged and is lost")
        return problems

    def _with_late(self, model: Model) -> list[Model]:
        """The model with any of the labels that a stopped writer left half-changed, and that a later one may finish."""
        models = [model]
        for fact in self.late:
            models += [m.with_label(fact) for m in models]
        return models

    # -- what may happen --

    def set(self) -> tuple[Argv, Model]:
        key, label = self.random.choice(KEYS), self.random.choice(LABELS)
        text = f"value {self.count}" + ", and more" * self.random.choice((0, 1, 500))
        return ("fact", "set", key, text, "--sensitivity", label), self.model.with_fact(key, text, label)

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
        facts, episodes = self.ask_all(
            ("fact", "list", "--clearance", "restricted", "--json"),
            ("episode", "list", "--clearance", "restricted", "--json", "-n", "100000"),
        )
        if facts.code or episodes.code:
            return f"{facts} {episodes}"
        return Model(
            frozenset((f["key"], f["text"], f["sensitivity"]) for f in json.loads(facts.out)["data"]),
            tuple(e["text"] for e in json.loads(episodes.out)["data"]),
        )

    def end(self) -> list[str]:
        """Recovers at last: the model must stand and no temporary file may be left."""
        done = self.ask(("doctor", "--fix"))
        problems = [] if done.code == 0 else [f"doctor exits {done.code}: {done.out}{done.err}"]
        if self.read() not in self._with_late(self.model):
            problems.append("after doctor the store reads otherwise")
        return problems + [f"left: {name}" for name in temps(self.store)]
