"""Evidence recall of the ranking on LoCoMo, and the fit of its weights.

    python tests/bench/retrieval.py                            the small sets of this folder
    python tests/bench/retrieval.py --locomo PATH [--merged N] [--together] [--fit]
    python tests/bench/retrieval.py --vectors FILE [...]       any of these with vectors, which FILE keeps

LoCoMo (CC BY-NC 4.0) is not part of this repository: PATH is its file, a list of conversations. Each turn is one
episode, a question has the turns that hold its evidence. Recall@k is the share of a question's evidence among the k
best, MRR the mean of 1/rank of the first, both over questions of the categories 1 to 4.
"""

import argparse
import datetime as dt
import json
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parents[1])]

from plain_corpus import Plain, corpus, sample  # noqa: E402

from memcli.engine import blend, features  # noqa: E402
from memcli.model.records import Episode, Fact, Source  # noqa: E402

if TYPE_CHECKING:
    from meant import Encoded, Meant

KS = (5, 10, 20)
NOW = dt.datetime(2026, 11, 15, 9, tzinfo=dt.UTC)
# What has one value for all turns of LoCoMo, so that it cannot be fitted there; set by hand.
STANDING = ("name", "importance", "confidence", "trust", "recency")
# These sum to 1, so that a record that says just what was asked scores about 1.
WHOLE = ("words", "coverage", "passage", "session_best")
# Fitted by themselves, with --vectors; what all other terms come to stands before them as one.
VECTORS, REST = ("vector", "vector_near"), "the rest"
MOST_OF_A_QUESTION = 200
Question = tuple[int, str, list[str]]


encoded: "Encoded | None" = None


def meaning(store: Plain, question: str) -> "Meant | None":
    """The question's vectors, with --vectors."""
    return None if encoded is None else encoded.of(store, question)


def rank(store: Plain, question: str, limit: int) -> list[blend.Scored]:
    return blend.rank(store, question, NOW, limit, meaning(store, question))


def turns(sample: dict[str, Any], merged: int = 1, prefix: str = "") -> list[Episode]:
    """The turns of a conversation. merged: how many sessions become one; 0: no sessions at all."""
    conversation = sample["conversation"]
    numbers = sorted(int(m[1]) for k in conversation if (m := re.fullmatch(r"session_(\d+)", k)))
    made = []
    for number in numbers:
        at = dt.datetime.strptime(conversation[f"session_{number}_date_time"].strip(), "%I:%M %p on %d %B, %Y")
        for i, turn in enumerate(conversation[f"session_{number}"]):
            text = f"{turn['speaker']}: {turn.get('text', '')}"
            if turn.get("blip_caption"):
                text += f" [shares a picture: {turn['blip_caption']}]"
            made.append(
                Episode(
                    id=f"{prefix}{turn['dia_id']}",
                    at=at.replace(tzinfo=dt.UTC) + dt.timedelta(seconds=i),
                    text=text,
                    session=f"{prefix}{(number - 1) // merged}" if merged else "",
                    source=Source(id=turn["dia_id"], kind="file"),
                )
            )
    return made


def questions(sample: dict[str, Any], known: set[str], prefix: str = "") -> list[Question]:
    found = []
    for qa in sample["qa"]:
        want = dict.fromkeys(f"{prefix}{e}" for e in evidence(qa) if f"{prefix}{e}" in known)
        if want:
            found.append((int(qa["category"]), qa["question"], list(want)))
    return found


def evidence(qa: dict[str, Any]) -> list[str]:
    parts = [p for item in qa.get("evidence", []) for p in re.split(r"[;,\s]+", str(item))]
    return [f"D{int(m[1])}:{int(m[2])}" for p in parts if (m := re.match(r"^D:?(\d+):0*(\d+)$", p.strip("()")))]


def marks(order: list[str], want: list[str]) -> list[float]:
    place = [i for i, h in enumerate(order) if h in want]
    return [sum(p < k for p in place) / len(want) for k in KS] + [1 / (place[0] + 1) if place else 0.0]


def report(rows: list[tuple[int, list[float]]], spent: list[float]) -> None:
    spent.sort()
    print(f"{len(rows)} questions; ms p50 {spent[len(spent) // 2]:.1f} p95 {spent[int(len(spent) * 0.95)]:.1f}")
    names = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
    for name, group in [
        ("1-4", [r for r in rows if r[0] < 5]),
        *((names[c], [r for r in rows if r[0] == c]) for c in names),
    ]:
        if group:
            print(
                f"{name:12}"
                + " ".join(f"{100 * sum(r[i] for _, r in group) / len(group):6.1f}" for i in range(len(KS) + 1))
            )


def stores(conversations: list[dict[str, Any]], merged: int, together: bool) -> list[tuple[Plain, list[Question]]]:
    if together:
        every = [e for s in conversations for e in turns(s, merged, f"{s['sample_id']}/")]
        known = {e.id for e in every}
        return [(corpus(every), [q for s in conversations for q in questions(s, known, f"{s['sample_id']}/")])]
    made = []
    for conversation in conversations:
        every = turns(conversation, merged)
        made.append((corpus(every), questions(conversation, {e.id for e in every})))
    return made


def fit(held: list[tuple[Plain, list[Question]]]) -> None:
    """Refit the weights and print them; before, recall when each store in turn is left out of the fit."""
    words_ = [n for n in blend.WEIGHTS if n not in (*STANDING, *VECTORS)]
    if encoded is None:
        fit_of(held, words_)
        return
    print("all weights fitted:")
    fit_of(held, [*words_, *VECTORS])
    print("the weights of vectors fitted, the others as they are without:")
    fit_of(held, [REST, *VECTORS])


def fit_of(held: list[tuple[Plain, list[Question]]], names: list[str]) -> None:
    """The same for some weights."""
    try:
        import numpy as np
    except ImportError:
        sys.exit("--fit needs numpy: pip install numpy")
    stores_ = [[g for q in asked if (g := group(np, names, store, q))] for store, asked in held]
    if len(stores_) > 1:
        rows: list[tuple[int, list[float]]] = []
        for out in range(len(stores_)):
            weights = solve(np, [g for i, s in enumerate(stores_) if i != out for g in s if g[0] < 5])
            for category, x, ids, want in stores_[out]:
                order = np.argsort(-(x @ weights), kind="stable")[:20]
                rows.append((category, marks([ids[i] for i in order], want)))
        print("each store left out of the fit in turn:")
        report(rows, [0.0])
    weights = solve(np, [g for s in stores_ for g in s if g[0] < 5])
    unit = weights[0] if names[0] == REST else sum(weights[names.index(n)] for n in WHOLE)
    for name, weight in zip(names, weights / unit, strict=True):
        print(f'    "{name}": {weight:.3f},')


def group(np: Any, names: list[str], store: Plain, question: Question) -> Any:
    category, text, want = question
    measured = features.measure(store, text, NOW, meaning(store, text))[1]
    x = np.array([m.values for m in measured], np.float32).reshape(len(measured), len(features.NAMES))
    # The far losers teach nothing and cost most of the time.
    best = np.argsort(-(x @ np.array([blend.WEIGHTS[n] for n in features.NAMES], np.float32)))[:MOST_OF_A_QUESTION]
    rest = x @ np.array([0 if n in VECTORS else blend.WEIGHTS[n] for n in features.NAMES], np.float32)
    x = np.column_stack([x, rest])
    columns = [(*features.NAMES, REST).index(n) for n in names]
    return category, x[np.ix_(best, columns)], [measured[i].row.id for i in best], want


def solve(np: Any, groups: list[Any]) -> Any:
    """Weights with the greatest likelihood that the evidence is chosen (listwise softmax, Cao 2007), by Adam."""
    groups = [g for g in groups if set(g[2]) & set(g[3])]
    x = np.concatenate([g[1] for g in groups])
    starts = np.cumsum([0] + [len(g[1]) for g in groups])[:-1]
    sizes = np.array([len(g[1]) for g in groups])
    good = np.concatenate([[(i in g[3]) / len(set(g[2]) & set(g[3])) for i in g[2]] for g in groups])
    spread = x.std(axis=0) + 1e-9
    x = x / spread
    w, m, v = np.zeros(x.shape[1]), 0.0, 0.0
    for step in range(1, 401):
        z = x @ w
        z = np.exp(z - np.repeat(np.maximum.reduceat(z, starts), sizes))
        p = z / np.repeat(np.add.reduceat(z, starts), sizes)
        gradient = x.T @ (p - good) / len(groups) + 1e-3 * w
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        w = w - 0.05 * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
    return w / spread


def russian() -> dict[str, list[float]]:
    """The Russian set, 60 facts: hit@1, hit@5 and MRR for inflected forms and for synonyms."""
    held = json.loads(Path(__file__).with_name("russian.json").read_text("utf-8"))
    source = Source(id="anna", kind="user")
    facts = [
        Fact(id=f["key"], key=f["key"], text=f["text"], source=source, confidence=0.9, created_at=NOW, updated_at=NOW)
        for f in held["facts"]
    ]
    store = corpus(facts)
    found: dict[str, list[float]] = {}
    for kind in ("inflected", "synonym"):
        asked = [q for q in held["questions"] if q["kind"] == kind]
        rows = []
        for q in asked:
            order = [s.row.id for s in rank(store, q["question"], 60) if s.relevance > 0]
            place = order.index(q["key"]) if q["key"] in order else 99
            rows.append([float(place == 0), float(place < 5), 1 / (place + 1) if place < 99 else 0.0])
            if "-v" in sys.argv and place:
                print("   ", kind, q["question"], "->", order[:1], place)
        found[kind] = [sum(r[i] for r in rows) / len(rows) for i in range(3)]
    return found


def samples() -> None:
    """The small sets of this folder: Russian, and the store sample_memory/ with questions that it can and cannot answer."""
    for kind, figures in russian().items():
        print(f"{kind:10} hit@1 {figures[0]:.0%}  hit@5 {figures[1]:.0%}  MRR {figures[2]:.2f}")
    store, names = sample(NOW)
    asked = json.loads(Path(__file__).with_name("sample.json").read_text("utf-8"))
    places = []
    for q in asked["answered"]:
        order = [names[s.row.id] for s in rank(store, q["question"], 60)]
        places.append(order.index(q["answer"]) if q["answer"] in order else 99)
    print("sample     " + "  ".join(f"hit@{k} {sum(p < k for p in places) / len(places):.0%}" for k in (1, 3, 5)))
    verdicts("answered", [(store, q["question"]) for q in asked["answered"]])
    verdicts("unanswered", [(store, q) for q in asked["unanswered"]])


def verdicts(title: str, pairs: list[tuple[Plain, str]]) -> None:
    """How many of these questions get which verdict."""
    found = Counter(blend.verdict(rank(store, question, 5)) for store, question in pairs)
    print(
        f"{title:11}" + "  ".join(f"{v} {found[v] / len(pairs):.1%}" for v in ("strong", "weak", "none")),
        f" of {len(pairs)}",
    )


def crossed(held: list[tuple[Plain, list[Question]]]) -> None:
    """Verdicts on each conversation's own questions, and on those of the next one, which it cannot answer."""
    asked = [[q for c, q, _ in questions_ if c < 5][:: max(len(questions_) // 60, 1)][:40] for _, questions_ in held]
    verdicts("answered", [(held[i][0], q) for i, qs in enumerate(asked) for q in qs])
    verdicts("unanswered", [(held[i - 1][0], q) for i, qs in enumerate(asked) for q in qs])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--locomo", type=Path, help="the file of LoCoMo; without it, the small sets of this folder")
    parser.add_argument("-v", action="store_true", help="print what was not found first")
    parser.add_argument("--merged", type=int, default=1, help="so many sessions become one; 0: no sessions")
    parser.add_argument("--plain", action="store_true", help="by full text alone (BM25), to compare with")
    parser.add_argument("--together", action="store_true", help="all conversations in one store")
    parser.add_argument("--fit", action="store_true", help="refit the weights and print them (needs numpy)")
    parser.add_argument("--vectors", type=Path, help="rank by meaning too; the file keeps what was encoded")
    chosen = parser.parse_args()
    if chosen.plain:
        blend.WEIGHTS.update({n: float(n == "words") for n in blend.WEIGHTS if n not in VECTORS})
    if chosen.vectors is not None:
        from meant import Encoded

        global encoded
        encoded = Encoded(chosen.vectors)
    if chosen.locomo is None:
        samples()
        return
    conversations = json.loads(chosen.locomo.read_text("utf-8"))
    every = stores(conversations, chosen.merged, chosen.together)
    if chosen.fit:
        fit(every)
        return
    found, spent = [], []
    for held, asked in every:
        for category, question, want in asked:
            began = time.perf_counter()
            ranked = rank(held, question, 20)
            spent.append(1000 * (time.perf_counter() - began))
            found.append((category, marks([s.row.id for s in ranked], want)))
    report(found, spent)
    if len(every) > 1:
        crossed(every)


if __name__ == "__main__":
    main()
