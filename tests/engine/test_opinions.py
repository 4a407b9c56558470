"""Confirming, denying, and the trust of sources that follows from it."""

from datetime import datetime, timedelta, timezone

import pytest

import memcli
from memcli.base import errors
from memcli.engine import memory, opinions, sourcing, trust
from memcli.model import policy
from memcli.model.records import Source

NOW = datetime(2026, 11, 15, 9, tzinfo=timezone.utc)


@pytest.fixture
def m(tmp_path):
    return memory.init(tmp_path / "store")


def standing(m, name, now=NOW):
    return {s.id: s for s in trust.Ledger(m.store, now).standings()}.get(name)


def test_a_confirmation_adds_five_hundredths_and_renews_the_age(m):
    m.set_fact("k", "v", source="user:anna", confidence=0.6, now=NOW)
    later = NOW + timedelta(days=180)
    said = opinions.confirm(m.store, "k", now=later, source="user:ivan", run="r1")
    assert said.counted
    assert policy.believed(said.fact) == pytest.approx(0.65)
    assert policy.effective_confidence(said.fact, later) == pytest.approx(0.65)


def test_one_run_counts_once_whatever_the_sources_name(m):
    m.set_fact("k", "v", source="user:anna", now=NOW)
    assert opinions.confirm(m.store, "k", now=NOW, source="user:a", run="r1").counted
    assert not opinions.confirm(m.store, "k", now=NOW, source="user:b", run="r1").counted
    assert not opinions.deny(m.store, "k", now=NOW, source="user:c", run="r1").counted


def test_without_a_run_a_source_counts_once_a_day(m):
    m.set_fact("k", "v", now=NOW)
    assert opinions.confirm(m.store, "k", now=NOW, source="user:a").counted
    assert not opinions.confirm(m.store, "k", now=NOW + timedelta(hours=3), source="user:a").counted
    assert opinions.confirm(m.store, "k", now=NOW + timedelta(days=1), source="user:a").counted


def test_the_run_that_wrote_a_fact_cannot_confirm_it(m):
    m.set_fact("k", "v", run="r1", now=NOW)
    assert not opinions.confirm(m.store, "k", now=NOW, source="user:b", run="r1").counted


def test_an_uncounted_opinion_touches_no_file(m, tmp_path):
    m.set_fact("k", "v", now=NOW)
    opinions.confirm(m.store, "k", now=NOW, source="user:a", run="r")
    before = (tmp_path / "store/facts/k.meta.json").stat()
    opinions.confirm(m.store, "k", now=NOW, source="user:a", run="r")
    assert (tmp_path / "store/facts/k.meta.json").stat().st_mtime_ns == before.st_mtime_ns


def test_a_fact_denied_below_three_tenths_waits_for_review(m):
    m.set_fact("k", "v", confidence=0.35, now=NOW)
    said = opinions.deny(m.store, "k", now=NOW, source="user:a", run="r1")
    assert policy.believed(said.fact) == pytest.approx(0.25)
    assert said.fact.needs_review == "denied"
    assert m.get_fact("k", now=NOW).needs_review == "denied"


def test_a_new_value_starts_without_opinions(m):
    m.set_fact("k", "v", now=NOW)
    opinions.deny(m.store, "k", now=NOW, source="user:a", run="r1")
    m.set_fact("k", "w", now=NOW)
    assert m.get_fact("k", now=NOW).denials == ()


def test_trust_of_the_source_moves_half_as_much_and_fades_in_a_year(m):
    m.set_fact("k", "v", source="user:anna", now=NOW)
    opinions.confirm(m.store, "k", now=NOW, source="user:a", run="r1")
    assert standing(m, "anna").trust == pytest.approx(0.825)
    assert standing(m, "anna", NOW + timedelta(days=365)).trust == pytest.approx(0.8125)
    opinions.deny(m.store, "k", now=NOW, source="user:b", run="r2")
    assert standing(m, "anna").trust == pytest.approx(0.775)


def test_trust_of_a_record_is_the_least_of_its_lineage(m):
    m.set_fact("page", "v", source="url:https://example.org", now=NOW)
    m.set_fact("summary", "v", source="user:anna", derived_from=("page",), now=NOW)
    m.set_fact("plan", "v", source="system", derived_from=("summary",), now=NOW)
    assert trust.Ledger(m.store, NOW).fact(m.get_fact("plan", now=NOW)) == pytest.approx(0.5)


def test_a_blocked_source_has_no_trust_and_is_not_served(m):
    m.set_fact("k", "a canary value", source="user:mallory", importance=0.9, now=NOW)
    sourcing.change(m.store, "user:mallory", {"list": "block"}, now=NOW)
    assert trust.Ledger(m.store, NOW).source(Source(id="mallory", kind="user")) == 0.0
    block = m.block("canary", now=NOW)
    assert "a canary value" not in block.text
    assert [c["fate"] for c in block.receipt["candidates"]] == ["blocked"]


def test_a_damaged_source_record_counts_as_a_block(m, tmp_path):
    m.set_fact("k", "a canary value", source="user:mallory", importance=0.9, now=NOW)
    sourcing.change(m.store, "user:mallory", {"list": "block"}, now=NOW)
    (tmp_path / "store/sources/mallory.meta.json").write_text("{")
    m.set_fact("other", "fine", source="user:anna", importance=0.9, now=NOW)
    block = m.context(now=NOW)
    assert "a canary value" not in block
    assert "fine" in block


def test_counts_of_a_source_leave_out_what_is_withheld(m):
    m.set_fact("k", "v", source="user:anna", sensitivity="restricted", now=NOW)
    m.set_fact("open", "v", source="user:bert", now=NOW)
    assert standing(m, "anna") is None
    assert standing(m, "bert").facts == 1


def test_what_a_file_says_of_its_source_is_trusted_as_an_import(m):
    ledger = trust.Ledger(m.store, NOW)
    assert ledger.source(Source(id="anna", kind="user", via="import")) == pytest.approx(0.5)


def test_confirming_what_is_not_there_says_so(m):
    with pytest.raises(errors.NotFound):
        opinions.confirm(m.store, "nothing", now=NOW)


def test_the_public_door_opens_the_same_store(m):
    assert memcli.open(m.path).path == m.path
