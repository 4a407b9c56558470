"""Search: words, phrases, words to leave out, filters; nothing is a syntax error and nothing withheld is found."""

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.engine import memory

NOW = datetime(2026, 11, 15, 9, tzinfo=timezone.utc)


@pytest.fixture(scope="module")
def m(tmp_path_factory):
    made = memory.init(tmp_path_factory.mktemp("search") / "store")
    made.set_fact(
        "deploy target", "Production runs on Fly.io", source="user:anna", tags=("infra",), domain="infra", now=NOW
    )
    made.set_fact("порядок релиза", "Релиз выпускаем по вторникам", source="user:ivan", now=NOW)
    made.set_fact("c++ style", "We use C++20 and node.js", source="user:anna", importance=0.9, now=NOW)
    made.set_fact("acquisition talks", "Tavolo wants to buy us", sensitivity="restricted", now=NOW)
    made.add_episode(
        "Rolled back in 90 seconds", task="Release 1.18", outcome="failed", session="s1", concepts=("release",), now=NOW
    )
    made.add_episode(
        "The smoke test was green", task="Release 1.19", outcome="completed", session="s2", now=NOW - timedelta(days=9)
    )
    return made


def keys(m, query, **options):
    return [getattr(h.record, "key", None) or h.record.task for h in m.search(query, now=NOW, **options)]


def test_the_best_match_comes_first(m):
    assert keys(m, "where do we deploy production?")[0] == "deploy target"


@pytest.mark.parametrize("query", ["релизы", "РЕЛИЗ", "выпускаем релиз"])
def test_russian_is_found_in_any_form_and_case(m, query):
    assert keys(m, query)[0] == "порядок релиза"


def test_a_phrase_must_stand_as_it_is(m):
    assert keys(m, '"smoke test"') == ["Release 1.19"]
    assert keys(m, '"test smoke"') == []


def test_words_with_a_minus_must_not_stand(m):
    assert keys(m, "release -smoke") == ["Release 1.18"]
    assert keys(m, 'release -"90 seconds"') == ["Release 1.19"]


def test_what_nobody_wrote_is_not_found(m):
    assert keys(m, "quantum gravity") == []
    assert keys(m, "?!") == []


@pytest.mark.parametrize("query", ["tavolo", "acquisition talks", '"buy us"', "restricted"])
def test_what_is_withheld_is_found_by_no_word(m, query):
    assert "acquisition talks" not in keys(m, query)
    assert "acquisition talks" in keys(m, "tavolo acquisition", clearance="restricted")


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"layers": ("episodes",)}, ["Release 1.18", "Release 1.19"]),
        ({"layers": ("facts",), "tags": ("infra",)}, ["deploy target"]),
        ({"domain": "infra"}, ["deploy target"]),
        ({"source": "ivan"}, ["порядок релиза"]),
        ({"source": "user:ivan"}, ["порядок релиза"]),
        ({"session": "s2"}, ["Release 1.19"]),
        ({"outcome": "failed"}, ["Release 1.18"]),
        ({"concept": "release"}, ["Release 1.18"]),
        ({"prefix": "c++"}, ["c++ style"]),
        ({"min_importance": 0.8}, ["c++ style"]),
        ({"until": NOW - timedelta(days=1)}, ["Release 1.19"]),
    ],
)
def test_filters_leave_out_the_rest(m, filters, found):
    assert sorted(keys(m, "", **filters)) == sorted(found)


def test_the_score_is_the_sum_of_its_terms(m):
    hits = m.search("release to Fly.io", now=NOW)
    assert len(hits) > 1
    for hit in hits:
        assert hit.score == pytest.approx(sum(hit.why.values()), abs=0.001)
        assert 0 <= hit.relevance <= 1


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_nothing_that_is_typed_is_a_syntax_error(m, query):
    m.search(query, now=NOW, limit=3)


@pytest.mark.parametrize(
    "query", ['"', '""', "-", "--", '-"', "a AND (b OR", "c++", "node.js", "x:y", "\x00", "'; drop table"]
)
def test_what_breaks_other_engines_is_just_words(m, query):
    keys(m, query)
    assert keys(m, "c++")[0] == "c++ style"
