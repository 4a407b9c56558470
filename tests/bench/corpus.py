"""Deterministic synthetic memories in the exchange format of `memcli import jsonl`: the same arguments, the same bytes.

    python tests/bench/corpus.py FACTS [DUE] > corpus.jsonl

Facts have one to three sentences, three in ten are Russian (their file names need python-slugify), labels, sources and
tags are mixed as in a real store, and one episode follows for every five facts. At `NOW` the first DUE facts have
expired and nothing else has expired or faded.
"""

import datetime as dt
import json
import random
import sys
from collections.abc import Iterator
from typing import Any

NOW = dt.datetime(2026, 11, 15, 9, 0, tzinfo=dt.UTC)
RARE = "zanzibarite"  # in every hundredth fact, for searches
# Words that stand in a third of all records: the worst that a question can be made of.
COMMON = "how do we deploy the release?"
ENGLISH = (
    "the of and to in a is that for it as was with on by be at this from are which user project prefers uses service "
    "deploy database team config meeting server agent release review branch memory should always never because after "
    "before when then report value error test build window queue worker invoice customer staging rollback"
).split()
RUSSIAN = (
    "и в не на что с по это как из для она они была при проект пользователь сервис база команда сервер ветка релиз "
    "память ошибка тест сборка нужно всегда никогда потому после когда затем отчёт встреча настройка значение проверка"
).split()
DOMAINS = ("infra", "people", "preferences", "billing", "frontend", "data", "ops", "legal")
SOURCES = (("anna", "user"), ("planner", "agent"), ("docs/runbook.md", "file"), ("https://example.org/post", "url"))
LABELS = (("public", "internal", "sensitive", "restricted"), (30, 50, 15, 5))


def records(facts: int, due: int = 0, *, seed: int = 1) -> Iterator[dict[str, Any]]:
    """The facts, then their episodes in order of time."""
    rng = random.Random(seed)
    for number in range(facts):
        yield _fact(rng, number, expired=number < due)
    for minutes in sorted((rng.randrange(60 * 24 * 80) for _ in range(facts // 5)), reverse=True):
        yield {
            "kind": "episode",
            "text": _sentence(rng, _words(rng)),
            "task": _sentence(rng, ENGLISH),
            "at": _before(minutes),
            "outcome": rng.choice(("completed", "completed", "partial", "unknown")),
            "session": f"s{minutes // 240}",
            "source": {"id": "coder", "kind": "agent"},
            "sensitivity": "internal",
        }


def _fact(rng: random.Random, number: int, *, expired: bool) -> dict[str, Any]:
    words = _words(rng)
    text = " ".join(_sentence(rng, words) for _ in range(rng.randint(1, 3)))
    tags = sorted(set(rng.choices(DOMAINS, k=rng.randint(1, 3))))
    source, kind = rng.choice(SOURCES)
    return {
        "kind": "fact",
        "key": f"{' '.join(rng.choices(words, k=3))} {number:06d}",
        "text": f"{text} Mind the {RARE}." if number % 100 == 0 else text,
        "domain": tags[0],
        "tags": tags,
        "source": {"id": source, "kind": kind},
        "confidence": rng.choice((0.9, 0.9, 0.6)),
        "ttl_minutes": 1440 if expired else rng.choice((0, 0, 0, 525600)),
        "sensitivity": rng.choices(*LABELS)[0],
        "at": _before(rng.randrange(60 * 24 * 30, 60 * 24 * 60)),
    }


def _words(rng: random.Random) -> list[str]:
    return RUSSIAN if rng.random() < 0.3 else ENGLISH


def _sentence(rng: random.Random, words: list[str]) -> str:
    return " ".join(rng.choices(words, k=rng.randint(6, 18))).capitalize() + "."


def _before(minutes: int) -> str:
    return (NOW - dt.timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


if __name__ == "__main__":
    for record in records(*map(int, sys.argv[1:])):
        print(json.dumps(record, ensure_ascii=False))
