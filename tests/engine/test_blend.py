"""The ranking over a plain corpus in memory: what each feature does, that scores are explained, and the verdict."""

import math
import os
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_corpus import Plain, corpus

from memcli.engine import blend, features
from memcli.index import rows, signs, thesaurus
from memcli.index.rows import Row
from memcli.model import words
from memcli.model.records import Episode, Fact, Source

NOW = datetime(2026, 11, 15, 9, tzinfo=timezone.utc)
ANNA = Source(id="anna", kind="user")


def fact(key: str, text: str = "", **more: object) -> Fact:
    given = {
        "id": key,
        "key": key,
        "text": text,
        "source": ANNA,
        "confidence": 0.9,
        "created_at": NOW,
        "updated_at": NOW,
    }
    return Fact(**(given | more))  # type: ignore[arg-type]


def talk(*lines: str, session: str = "s", at: datetime = NOW) -> list[Episode]:
    source = Source(id="chat", kind="file")
    return [
        Episode(id=f"{session}{i:02d}", at=at, text=line, session=session, source=source)
        for i, line in enumerate(lines)
    ]


# Words that no question here has, so that rarities are those of a store that is not empty.
FILLING = [fact(f"filling {n}", f"stuffing number {n} about curtains") for n in range(30)]


def order(records: list[Fact] | list[Episode], question: str, now: datetime = NOW) -> list[str]:
    store = corpus([*records, *FILLING], now)
    return [s.row.id for s in blend.rank(store, question, now, 50) if s.relevance > 0]


def test_a_rare_word_says_more_than_a_common_one() -> None:
    records = [fact(f"deploy {n}", "the deploy runs") for n in range(9)] + [fact("heron", "the heron")]
    assert order(records, "deploy heron")[0] == "heron"


def test_a_word_in_the_key_says_more_than_one_in_the_text() -> None:
    assert order([fact("staging", "a copy of production"), fact("production", "a copy of staging")], "production") == [
        "production",
        "staging",
    ]


def test_another_word_of_like_meaning_is_found_but_the_word_itself_is_first() -> None:
    records = [fact("a", "the physician comes on Monday"), fact("b", "the doctor comes on Tuesday")]
    assert order(records, "doctor") == ["b", "a"]
    assert order([fact("c", "врач придёт в среду")], "доктор") == ["c"]


def test_a_misspelt_word_is_found_where_nobody_wrote_it() -> None:
    records = [fact("a", "we run Kubernetes"), fact("b", "we run Nomad")]
    assert order(records, "kubrenetes") == ["a"]


def test_a_common_word_of_like_meaning_is_no_evidence() -> None:
    records = [fact(f"p{n}", "the physician") for n in range(features.COMMON_LEAST + 1)]
    assert order(records, "doctor") == []


LINES = (
    "Anna: Good morning all",
    "Ivan: What did you plant in the garden?",
    "Anna: Two cherries and a plum",
    "Ivan: Nice to hear",
    "Anna: Bye",
)


def test_an_answer_that_repeats_no_word_is_found_beside_its_question() -> None:
    store = corpus([*talk(*LINES), *talk("Ivan: Hello", "Anna: Bye", "Ivan: Bye", "Anna: Yes", session="t"), *FILLING])
    found = [s.row.id for s in blend.rank(store, "what did Anna plant in the garden", NOW, 3)]
    assert found[0] == "s02"


def test_what_stands_in_a_passage_that_answers_is_found_and_nothing_else() -> None:
    store = corpus([*talk(*LINES), *talk("Ivan: Hello", "Anna: Bye", "Ivan: Bye", "Boris: Yes", session="t"), *FILLING])
    ranked = blend.rank(store, "plant the garden", NOW, 50)
    assert {s.row.id for s in ranked if blend.found(s)} == {"s00", "s01", "s02", "s03", "s04"}
    ranked = blend.rank(store, "the garden of Versailles and its astonishing fountains", NOW, 50)
    assert {s.row.id for s in ranked if blend.found(s)} == {"s01"}


def test_facts_have_no_neighbours() -> None:
    """Facts of one domain have no order: what stands next to a hit gains nothing."""
    held = [fact("hit", "the heron comes", domain="z"), fact("next", "an island", domain="z"), fact("far", "an island")]
    store = corpus([*held, *FILLING], NOW)
    why = {s.row.id: s.why for s in blend.rank(store, "heron on the island", NOW, 9)}
    assert "near" not in why["next"]
    assert why["next"]["passage"] == why["far"]["passage"]


def test_who_is_named_in_the_question_speaks() -> None:
    lines = talk("Anna: I bought a kayak", "Ivan: I bought a kayak", session="a")
    assert order(lines, "what did Ivan buy, a kayak?")[0] == "a01"


def test_a_date_in_the_question_finds_the_day() -> None:
    days = [talk("Anna: we met the auditors", session=f"d{n}", at=NOW - timedelta(days=n)) for n in (1, 30, 200)]
    every = [e for day in days for e in day]
    assert order(every, "when did the auditors meet us yesterday?")[0] == "d100"
    assert order(every, "auditors on 16 October")[0] == "d3000"


def test_cues_of_the_question_prefer_texts_of_that_kind() -> None:
    lines = talk("Anna: the heron came", session="a") + talk("Anna: the heron came on Friday", session="b")
    lines += talk("Anna: the heron came, all seven", session="c")
    assert order(lines, "when did the heron come?")[0] == "b00"
    assert order(lines, "how many came of the heron?")[0] == "c00"


def test_standing_decides_between_equals() -> None:
    same = "the heron nests here"
    assert order([fact("a", same), fact("b", same, importance=0.9)], "heron")[0] == "b"
    assert order([fact("a", same), fact("b", same, confidence=0.4)], "heron")[0] == "a"
    old = NOW - timedelta(days=60)
    assert order([fact("a", same, updated_at=old, created_at=old), fact("b", same)], "heron")[0] == "b"
    unknown = Source(id="who", kind="unknown")
    assert order([fact("b", same, source=unknown), fact("a", same)], "heron")[0] == "a"


def test_without_a_question_what_matters_comes_first() -> None:
    store = corpus([fact("a"), fact("b", importance=0.9), fact("c", confidence=0.95)], NOW)
    ranked = blend.rank(store, "what is it?", NOW, 2)
    assert [s.row.id for s in ranked] == ["b", "c"]
    assert all(s.relevance == 0 and set(s.why) <= set(blend.PLAIN_WEIGHTS) for s in ranked)


QUESTIONS = (
    "heron",
    "when did Anna plant cherries in May?",
    "сколько врачей",
    "",
    "kubernets",
    "东京",
    "\ud800\0 '\"*:",
)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_score_is_the_sum_of_its_terms(question: str) -> None:
    store = corpus([*talk(*LINES), fact("heron", "seven herons in May"), fact("врач", "доктор"), *FILLING], NOW)
    ranked = blend.rank(store, question, NOW, 100)
    assert [s.score for s in ranked] == sorted((s.score for s in ranked), reverse=True)
    for s in ranked:
        assert math.isclose(s.score, sum(s.why.values()), abs_tol=1e-9)
        assert 0.0 <= s.relevance <= 1.0
        assert 0.0 not in s.why.values()


@given(st.text(max_size=60))
def test_any_question_can_be_asked(question: str) -> None:
    store = corpus([*talk(*LINES), *FILLING], NOW)
    blend.verdict(blend.rank(store, question, NOW, 5))


def test_relevance_does_not_depend_on_how_many_records_there_are() -> None:
    few, many = corpus([fact("a", "the heron nests")]), corpus([fact("a", "the heron nests"), *FILLING * 40])
    for store in (few, many):
        (best,) = blend.rank(store, "heron nests", NOW, 1)
        assert best.relevance == 1.0
    assert blend.rank(corpus([]), "heron", NOW, 5) == []


def test_every_feature_has_a_weight_and_every_weight_a_feature() -> None:
    assert set(features.NAMES) == set(blend.WEIGHTS)
    assert set(blend.PLAIN_WEIGHTS) < set(features.NAMES)


def test_the_verdict_follows_what_is_held() -> None:
    store = corpus([fact("heron", "the heron nests on the island"), *FILLING])

    def verdict(question: str) -> str:
        return blend.verdict(blend.rank(store, question, NOW, 5))

    assert verdict("where does the heron nest?") == "strong"
    assert verdict("heron with striped socks") == "weak"
    assert verdict("who won the football cup of the heron?") == "none"
    assert verdict("football") == "none"
    assert verdict("") == "none"
    assert blend.verdict([]) == "none"


class Counting(Plain):
    """Counts the rows that ranking takes, and notes the stems that it asks for."""

    taken = 0

    def matching(self, stems: "tuple[str, ...] | list[str]", limit: int) -> list[Row]:  # type: ignore[override]
        found = super().matching(stems, limit)
        self.taken += len(found)
        return found

    def of_sessions(self, sessions: list[str], limit: int) -> list[Row]:  # type: ignore[override]
        found = super().of_sessions(sessions, limit)
        self.taken += len(found)
        return found

    def around(self, rows_: list[Row], reach: int) -> list[Row]:  # type: ignore[override]
        found = super().around(rows_, reach)
        self.taken += len(found)
        return found


def test_a_large_store_costs_no_more_rows() -> None:
    held = [
        Row(n, rows.EPISODE, f"e{n}", "", "heron nest island", session=f"s{n % 20}", place=n // 20) for n in range(6000)
    ]
    store = Counting(held)
    blend.rank(store, "where does the heron nest?", NOW, 10)
    assert 0 < store.taken <= 600


def test_a_common_word_brings_no_candidates_in_a_large_store_unless_it_is_alone() -> None:
    """It still counts in what the other words have brought."""
    held = [Row(n, rows.FACT, f"f{n}", "", "heron nest" if n % 2 else "heron") for n in range(features.LARGE - 1)]
    store = Plain([*held, Row(5000, rows.FACT, "x", "", "heron zebra"), Row(5001, rows.FACT, "y", "", "zebra")])
    assert {s.row.id for s in blend.rank(store, "heron zebra", NOW, 10)} == {"x", "y"}
    assert len(blend.rank(store, "heron", NOW, 10)) == 10
    small = Plain([*held[:100], *store.rows[-2:]])
    assert len(blend.rank(small, "heron zebra", NOW, 200)) == 102


def test_signs_of_a_text() -> None:
    assert signs.flags("Where is it?") == signs.QUESTION
    assert signs.flags("it took seven days") == signs.NUMBER | signs.TIME
    assert signs.flags("вчера") == signs.TIME
    assert signs.flags("nothing of it") == 0
    assert signs.flags("") == 0
    assert [
        words.fold(signs.speaker(e))
        for e in talk("Anna: hi", "no: colon", "http://x", "A long way to say: this is it, so")
    ] == [
        "anna",
        "no",
        "",
        "",
    ]
    assert signs.speaker(fact("a")) == "anna"


# --- The thesaurus


def test_the_thesaurus_is_sorted_whole_and_made_of_stems() -> None:
    found = thesaurus.neighbours("doctor")
    assert found[0][0] == "physician"
    assert [c for _, c in found] == sorted((c for _, c in found), reverse=True)
    assert all(0 < c <= 1 for _, c in found)
    assert dict(thesaurus.neighbours("врач"))["доктор"] > 0.4
    for stem in ("", "zzzzzz", "a", "яяяяя", "\ud800", "x" * 300):
        assert thesaurus.neighbours(stem) == []


def test_every_entry_of_the_thesaurus_can_be_found() -> None:
    data = thesaurus._data()
    stems = []
    for number in range(int.from_bytes(data[8:12], "little")):
        place = int.from_bytes(data[12 + 4 * number : 16 + 4 * number], "little")
        stems.append(data[place + 1 : place + 1 + data[place]])
    assert len(stems) > 30_000
    assert stems == sorted(set(stems))
    for stem in stems[::97]:
        assert all(other.encode() in stems for other, _ in thesaurus.neighbours(stem.decode())[:1])
        assert words.stem(stem.decode())


def test_the_thesaurus_is_read_through_a_link(tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Some installers link the files of a package to one copy of them."""
    linked = os.path.join(tmp_path, "thesaurus.bin")
    os.symlink(os.path.join(os.path.dirname(thesaurus.__file__), "thesaurus.bin"), linked)
    monkeypatch.setattr(thesaurus, "__file__", os.path.join(tmp_path, "thesaurus.py"))
    monkeypatch.setattr(thesaurus, "_held", [])
    assert thesaurus.neighbours("doctor")
