"""A plain corpus in memory, with which ranking is developed and tested without the index: BM25 over lists."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from memcli.engine import view
from memcli.index import document, rows, signs
from memcli.index.rows import Row
from memcli.model import labels, policy, words
from memcli.model.records import Episode, Fact, Procedure
from memcli.store import folder

SAMPLE = Path(__file__).resolve().parents[1] / "sample_memory"


def row(rid: int, record: Fact | Episode | Procedure, place: int = 0, now: datetime | None = None) -> Row:
    """A record as ranking sees it."""
    strong, weak = document.fields(record)
    seen = policy.last_seen(record) if isinstance(record, Fact) else policy.since(record)
    is_episode = isinstance(record, Episode)
    session = ""
    if isinstance(record, Episode):
        session = record.session or record.run
    elif isinstance(record, Fact):
        session = record.domain
    return Row(
        rid,
        rows.FACT if isinstance(record, Fact) else rows.EPISODE if is_episode else rows.PROCEDURE,
        record.id,
        " ".join(words.terms("\n".join(strong))),
        " ".join(words.terms("\n".join(weak))),
        speaker=words.fold(signs.speaker(record)),
        session=session,
        place=place,
        at=seen.timestamp(),
        flags=signs.flags("\n".join(weak)),
        importance=policy.importance(record),
        key="" if isinstance(record, Episode) else record.key,
        confidence=policy.effective_confidence(record, now or seen) if isinstance(record, Fact) else record.confidence,
        trust=labels.KIND_TRUST[record.source.kind],
    )


class Plain:
    """All rows in memory; `matching` orders by BM25 with the constants of SQLite's FTS5 (k1 1.2, b .75)."""

    def __init__(self, held: Iterable[Row]) -> None:
        self.rows = list(held)
        self.count = len(self.rows)
        self.mean_length = sum(r.length for r in self.rows) / max(self.count, 1)
        self.postings: dict[str, dict[int, int]] = defaultdict(dict)
        self.session: dict[str, list[Row]] = defaultdict(list)
        self.by_rid = {r.rid: r for r in self.rows}
        self.asked: Counter[str] = Counter()
        for r in self.rows:
            for stem, n in Counter(f"{r.strong} {r.weak}".split()).items():
                self.postings[stem][r.rid] = n
            if r.session:
                self.session[r.session].append(r)
        for members in self.session.values():
            members.sort(key=lambda r: r.place)
        self.letters = {s: _groups(s) for s in self.postings}
        self.records: list[Any] = []

    def frequencies(self, stems: Iterable[str]) -> dict[str, int]:
        return {s: len(self.postings.get(s, ())) for s in stems}

    def matching(self, stems: Sequence[str], limit: int) -> list[Row]:
        self.asked["matching"] += 1
        if not stems:
            return self.rows[:limit]
        scores: dict[int, float] = defaultdict(float)
        for stem in stems:
            held = self.postings.get(stem, {})
            idf = max(math.log((self.count - len(held) + 0.5) / (len(held) + 0.5)), 1e-6)
            for rid, n in held.items():
                norm = 1.2 * (0.25 + 0.75 * self.by_rid[rid].length / self.mean_length)
                scores[rid] += idf * n * 2.2 / (n + norm)
        best = sorted(scores, key=lambda r: (-scores[r], r))
        return [self.by_rid[r] for r in best[:limit]]

    def around(self, rows_: Iterable[Row], reach: int) -> list[Row]:
        given = {r.rid for r in rows_}
        wanted = {(r.session, r.place + d) for r in (self.by_rid[i] for i in given) for d in range(-reach, reach + 1)}
        return [
            r for s in {s for s, _ in wanted} for r in self.session[s] if (s, r.place) in wanted and r.rid not in given
        ]

    def of_sessions(self, sessions: Iterable[str], limit: int) -> list[Row]:
        return [r for s in sessions for r in self.session[s][:limit]]

    def spelled_like(self, stem: str, limit: int) -> list[str]:
        mine = _groups(stem)
        alike = [(len(mine & theirs), s) for s, theirs in self.letters.items() if mine & theirs and s != stem]
        return [s for _, s in sorted(alike, key=lambda a: (-a[0], a[1]))[:limit]]


def _groups(stem: str) -> set[str]:
    return {stem[i : i + 3] for i in range(len(stem) - 2)}


def corpus(records: Iterable[Any], now: datetime | None = None) -> Plain:
    """Records in order; the place of an episode is its order in its session, from 1."""
    places: Counter[str] = Counter()
    held: list[Row] = []
    every: list[Any] = []
    for rid, record in enumerate(records, 1):
        session = getattr(record, "session", "") or getattr(record, "run", "")
        places[session] += 1
        held.append(row(rid, record, places[session], now))
        every.append(record)
    made = Plain(held)
    made.records = every
    return made


def sample(now: datetime) -> tuple[Plain, dict[str, str]]:
    """The store sample_memory/ as a reader without a clearance sees it, and the key or task of each record by id."""
    found = folder.open_store(str(SAMPLE))
    seen = view.survey(found, now)
    every = [*seen.facts, *sorted(seen.episodes, key=lambda e: (e.at, e.id)), *seen.procedures]
    return corpus(every, now), {r.id: r.task if isinstance(r, Episode) else r.key for r in every}
