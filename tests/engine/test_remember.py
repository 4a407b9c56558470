"""Setting, renaming and adopting facts: what a write keeps, what it supersedes, what it refuses."""

import itertools
import json
import os
from datetime import timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support import Box, at, stamp

from memcli.base import errors
from memcli.engine import remember
from memcli.model import labels, policy

LABELS = ("public", "internal", "sensitive", "restricted")


def history(box: Box, key: str) -> list[tuple[str, str]]:
    """(reason, text) of every value of the key, newest first."""
    rows = box.data("fact", "history", key, "--reveal")
    return [(r["reason"], r["text"]) for r in rows]


# What is stored.


@settings(max_examples=60)
@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
@example("a\r\nb\rc\n\r\n")
def test_line_ends_become_lf_and_all_else_is_kept(box: Box, text: str) -> None:
    made = remember.set_fact(
        box.store, "k", text, now=at(), sensitivity="restricted", allow_secret=True, allow_pii=True
    )
    wanted = text.replace("\r\n", "\n").replace("\r", "\n")
    assert (made.fact.text, box.fact("k").text) == (wanted, wanted)


def test_stdin_loses_one_final_newline_and_get_gives_it_back(box: Box) -> None:
    for raw, stored in [(b"v\n", "v"), (b"v", "v"), (b"v\n\n", "v\n"), (b"a\r\nb", "a\nb")]:
        box.ok("fact", "set", "k", "-", stdin=raw)
        assert box.fact("k").text == stored
        assert box.ok("fact", "get", "k").out == stored + "\n"


def test_a_mebibyte_is_the_limit_and_above_it_nothing_is_written(box: Box) -> None:
    box.set("k", "small")
    before = box.tree()
    for text in ("x" * (1 << 20), "ё" * (1 << 19)):
        for key in ("k", "fresh"):
            ran = box.run("fact", "set", key, "-", stdin=text.encode())
            assert (ran.code, ran.out) == (2, "")
            assert "1 MiB" in ran.err
            assert text[:20] not in ran.err
    assert box.tree() == before
    room = (1 << 20) - len(box.md("k").read_bytes()) + len("small")
    box.ok("fact", "set", "k", "-", stdin=b"x" * room)
    assert box.md("k").stat().st_size == 1 << 20
    assert box.get("k") == "x" * room
    assert box.run("fact", "set", "k", "-", stdin=b"x" * (room + 1)).code == 2
    assert box.get("k") == "x" * room


def test_a_header_that_would_be_too_large_is_a_usage_error_and_nothing_is_written(box: Box) -> None:
    before = box.tree()
    with pytest.raises(errors.UsageError):
        box.memory.set_fact("k", "v", tags=tuple(f"tag-{n}" for n in range(20_000)))
    assert box.tree() == before


@pytest.mark.parametrize("key", ["", " ", "\u200b", "a/../b", "..", "a\nb", "a\0b", "x" * 1001, " a", "a\u202eb"])
def test_a_key_that_is_none_is_refused_and_nothing_is_written(box: Box, key: str) -> None:
    before = box.tree(state=True)
    for command in (("set", key, "v"), ("get", key), ("forget", key, "--yes"), ("rename", key, "x"), ("history", key)):
        ran = box.run("fact", *command)
        assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1), command
    assert box.tree(state=True) == before


def test_text_that_is_not_utf8_is_refused(box: Box) -> None:
    before = box.tree()
    assert box.run("fact", "set", "k", "-", stdin=b"\xff\xfe").code == 2
    with pytest.raises(errors.UsageError):
        box.memory.set_fact("k", "\ud800")
    assert box.tree() == before


# Unchanged.


def test_the_same_write_again_is_unchanged_and_touches_no_file(box: Box) -> None:
    words = (
        "deploy target",
        "Fly.io",
        "--source",
        "user:anna",
        "--confidence",
        "high",
        "--ttl",
        "30d",
        "--tag",
        "b",
        "--tag",
        "a",
    )
    words += ("--domain", "infra", "--importance", "0.7", "--sensitivity", "internal", "--run", "r1", "--agent", "x")
    words += ("--derived-from", "database", "--modality", "image")
    assert box.set(*words)["how"] == "created"
    before = box.touched()
    for again in (
        words,
        ("deploy target", "Fly.io"),
        ("deploy target", "Fly.io", "--ttl", "43200", "--confidence", "0.9"),
    ):
        ran = box.ok("fact", "set", *again, now=stamp(days=1))
        assert ran.out == "unchanged\n"
    assert box.touched() == before


def test_metadata_alone_rewrites_only_the_sidecar(box: Box) -> None:
    box.set("k", "v")
    for option in (
        ("--ttl", "5"),
        ("--confidence", "0.2"),
        ("--importance", "0.9"),
        ("--domain", "infra"),
        ("--source", "user:anna"),
    ):
        before = box.touched()
        assert box.data("fact", "set", "k", *option)["how"] == "updated"
        after = box.touched()
        assert after["facts/k.md"] == before["facts/k.md"]
        assert after["facts/k.meta.json"] != before["facts/k.meta.json"]
    assert history(box, "k") == [("current", "v")]


def test_tags_alone_rewrite_only_the_markdown(box: Box) -> None:
    box.set("k", "v")
    before = box.touched()
    assert box.data("fact", "set", "k", "--tag", "new")["how"] == "updated"
    after = box.touched()
    assert after["facts/k.meta.json"] == before["facts/k.meta.json"]
    assert after["facts/k.md"] != before["facts/k.md"]
    assert box.fact("k").tags == ("new",)


@pytest.mark.parametrize(("first", "then"), list(itertools.permutations(LABELS, 2)))
def test_a_label_goes_up_and_down_in_both_files_and_the_name_stays(box: Box, first: str, then: str) -> None:
    box.set("k", "v", "--sensitivity", first)
    names = sorted(p.name for p in (box.root / "facts").iterdir())
    made = box.meta("k")["id"]
    assert box.data("fact", "set", "k", "--sensitivity", then)["how"] == "updated"
    assert f"\nsensitivity: {then}\n" in box.md("k").read_text()
    assert (box.meta("k")["sensitivity"], box.meta("k")["id"]) == (then, made)
    assert sorted(p.name for p in (box.root / "facts").iterdir()) == names
    assert history(box, "k") == [("current", "v")]


# Superseding.


def test_a_new_value_supersedes_and_history_shows_the_chain(box: Box) -> None:
    values = ["one", "two", "three", "two", "one"]
    made = [box.set("k", text, now=stamp(days=n))["id"] for n, text in enumerate(values)]
    assert made == sorted(made)
    assert len(set(made)) == 5
    assert history(box, "k") == [("current", "one"), *[("superseded", t) for t in reversed(values[:-1])]]
    rows = box.data("fact", "history", "k")
    assert [r.get("supersedes", "") for r in rows] == [*made[-2::-1], ""]
    assert [r["ended_at"] for r in rows] == [None, *[stamp(days=n) for n in (4, 3, 2, 1)]]
    assert {r["created_at"] for r in rows} == {stamp()}


@pytest.mark.parametrize("steps", [(0, -1), (0, -3650), (0, 0), (0, -1, -2, -3, 5)])
def test_a_new_id_is_greater_than_the_one_it_follows_even_when_the_clock_goes_back(
    box: Box, steps: tuple[int, ...]
) -> None:
    made = [box.set("k", f"value {n}", now=stamp(days=d))["id"] for n, d in enumerate(steps)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)
    assert [t for _, t in history(box, "k")] == [f"value {n}" for n in reversed(range(len(steps)))]


def test_what_is_not_named_stays_but_a_changed_value_takes_source_and_confidence_anew(box: Box) -> None:
    box.set(
        "k", "v", "--source", "user:anna", "--confidence", "0.95", "--ttl", "30d", "--tag", "a", "--domain", "infra"
    )
    box.ok("fact", "set", "k", "--importance", "0.7", "--sensitivity", "public", "--modality", "image")
    md = box.md("k")
    md.write_text(md.read_text().replace("\ntags:", "\nrelations:\n  - {type: is_a, target: x, weight: 0.5}\ntags:"))
    box.set("k", "w", now=stamp(days=1))
    fact = box.fact("k")
    assert (str(fact.source), fact.confidence) == ("unknown", 0.6)
    assert (fact.ttl_minutes, fact.tags, fact.domain, fact.importance) == (43200, ("a",), "infra", 0.7)
    assert (fact.sensitivity, fact.modality) == (labels.PUBLIC, "image")
    assert fact.relations == ({"type": "is_a", "target": "x", "weight": 0.5},)
    assert (fact.created_at, fact.updated_at) == (at(), at(days=1))
    box.set("k", "x", "--confidence", "0", "--source", "agent:coder")
    assert (str(box.fact("k").source), box.fact("k").confidence) == ("agent:coder", 0.0)


def test_confirmations_belong_to_the_value_that_was_confirmed(box: Box) -> None:
    box.set("k", "v")
    side = box.side("k")
    said = '"confirmed_at": "2026-11-14T00:00:00Z",\n  "confirmations": [\n    {"source": "user:sam", "run": "r", "at": "2026-11-14T00:00:00Z"}\n  ],\n  '
    side.write_text(side.read_text().replace('"body_sha256"', said + '"body_sha256"'))
    box.ok("fact", "set", "k", "--domain", "infra")
    assert len(box.fact("k").confirmations) == 1
    box.set("k", "w")
    assert (box.fact("k").confirmations, box.fact("k").confirmed_at) == ((), None)


def test_the_environment_names_the_source_and_the_word_on_the_line_wins(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMCLI_SOURCE", "agent:coder")
    box.set("k", "v")
    assert str(box.fact("k").source) == "agent:coder"
    box.set("k", "w", "--source", "user:anna")
    assert str(box.fact("k").source) == "user:anna"


# Guards.


def test_create_refuses_a_key_that_is_there_and_writes_nothing(box: Box) -> None:
    assert box.set("k", "v", "--create")["how"] == "created"
    before = box.touched()
    ran = box.run("fact", "set", "k", "w", "--create", "--json")
    assert (ran.code, ran.out, ran.error["code"]) == (5, "", "exists")
    assert box.run("fact", "set", "k", "v", "--create").code == 5
    assert box.touched() == before


def test_if_match_refuses_a_fact_that_changed_and_writes_nothing(box: Box) -> None:
    box.set("k", "v")
    digest = box.data("fact", "get", "k")["digest"]
    assert box.set("k", "w", "--if-match", digest)["how"] == "superseded"
    before = box.touched()
    for words in (("k", "x"), ("k", "w"), ("k",), ("absent", "x")):
        ran = box.run("fact", "set", *words, "--ttl", "9", "--if-match", digest, "--json")
        assert (ran.code, ran.out, ran.error["code"]) == (5, "", "changed"), words
    assert box.touched() == before
    assert box.set("k", "x", "--if-match", box.data("fact", "get", "k")["digest"])["how"] == "superseded"


@pytest.mark.parametrize("change", [("--ttl", "5"), ("--tag", "t"), ("--sensitivity", "public"), ("w",)])
def test_the_digest_changes_with_every_kind_of_write_and_with_a_hand_edit(box: Box, change: tuple[str, ...]) -> None:
    first = box.set("k", "v")["digest"]
    assert box.data("fact", "get", "k")["digest"] == first
    second = box.data("fact", "set", "k", *change)["digest"]
    assert second != first
    assert box.data("fact", "get", "k")["digest"] == second
    box.md("k").write_text(box.md("k").read_text() + "and more\n")
    assert box.run("fact", "set", "k", "x", "--if-match", second).code == 5


def test_metadata_of_a_key_that_is_not_there_is_not_found(box: Box) -> None:
    before = box.tree()
    assert box.run("fact", "set", "k", "--ttl", "5").code == 3
    assert box.tree() == before


BAD_OPTIONS = [
    ("--sensitivity", "secret"),
    ("--sensitivity", ""),
    ("--confidence", "1.1"),
    ("--confidence", "nan"),
    ("--confidence", "very"),
    ("--importance", "-1"),
    ("--importance", "inf"),
    ("--ttl", "-5"),
    ("--ttl", "soon"),
    ("--ttl", "999999999999999999999"),
    ("--ttl", "101y"),
    ("--source", "god:x"),
    ("--source", ""),
    ("--tag", ""),
    ("--tag", "a\nb"),
]


@pytest.mark.parametrize("option", BAD_OPTIONS, ids=" ".join)
def test_a_wrong_option_is_one_line_exit_2_and_nothing_written(box: Box, option: tuple[str, str]) -> None:
    before = box.tree()
    ran = box.run("fact", "set", "k", "the value", *option)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "the value" not in ran.err
    assert box.tree() == before


# Secrets and personal data on the way in.

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bD1fG3hJ5"


@pytest.mark.parametrize(
    "place", ["value", "key", "--tag", "--domain", "--source", "--run", "--agent", "--derived-from"]
)
def test_a_credential_is_refused_wherever_it_stands_and_is_not_repeated(box: Box, place: str) -> None:
    before = box.tree(state=True)
    words = {"value": ("k", TOKEN), "key": (TOKEN, "v")}.get(place, ("k", "v", place, TOKEN))
    ran = box.run("fact", "set", *words, "--json")
    assert (ran.code, ran.out, ran.error["code"]) == (6, "", "secret")
    assert TOKEN not in ran.err
    assert box.tree(state=True) == before


def test_a_credential_is_kept_only_when_told_to_and_restricted(box: Box) -> None:
    made = box.set("k", TOKEN, "--allow-secret", "--sensitivity", "public")
    assert made["sensitivity"] == "restricted"
    assert box.run("fact", "get", "k").code == 6
    assert box.get("k") == TOKEN


def test_personal_data_is_masked_or_kept_as_sensitive(box: Box) -> None:
    ran = box.ok("fact", "set", "k", "ask anna.keller@larder.example about it")
    assert "EMAIL" in ran.err.upper()
    assert box.get("k") == "ask [EMAIL] about it"
    made = box.set("j", "ask anna.keller@larder.example about it", "--allow-pii")
    assert (made["sensitivity"], box.get("j")) == ("sensitive", "ask anna.keller@larder.example about it")


# Time.


def test_an_address_as_source_is_kept_and_makes_nothing_sensitive_and_leaves_scrubbed(box: Box) -> None:
    who, mail = "--source", "user:anna.keller@larder.example"
    assert box.set("k", "v", who, mail)["sensitivity"] == "internal"
    episode = box.add("happened", who, mail)
    box.ok("work", "add", "a note", "--session", "s", who, mail)
    box.ok("procedure", "propose", "p", "--step", "do it", who, mail)
    box.ok("remember", "The port is 8080.", "--importance", "0.1", who, mail)
    box.ok("fact", "confirm", "k", who, mail, "--run", "r1")
    assert box.fact("k").source.id == "anna.keller@larder.example"
    assert box.data("fact", "get", "k")["sensitivity"] == "internal"
    for words in (
        ("fact", "list", "--json"),
        ("fact", "get", "k", "--json"),
        ("fact", "history", "k", "--json"),
        ("episode", "list", "--json"),
        ("episode", "show", episode),
        ("work", "list", "--session", "s", "--json"),
        ("procedure", "show", "p"),
        ("source", "list"),
        ("source", "list", "--json"),
        ("search", "v", "--json"),
        ("retrieve", "v", "--session", "s", "--json"),
        ("retrieve", "v"),
        ("review", "list", "--json"),
        ("review", "show", "port"),
        ("context", "--session", "s", "--format", "json"),
        ("context", "--session", "s"),
        ("graph",),
    ):
        ran = box.ok(*words)
        assert "anna.keller" not in ran.out + ran.err, words
    assert box.run("fact", "set", "j", "v", who, "user:ghp_" + "a1B2" * 9).code == 6


@pytest.mark.parametrize("ttl", ["1", "90m", "36h", "30d"])
def test_a_fact_ends_in_the_second_in_which_its_ttl_runs_out(box: Box, ttl: str) -> None:
    box.set("k", "v", "--ttl", ttl)
    end = policy.expires_at(box.fact("k"))
    assert end is not None
    for seconds, code in ((-1, 0), (0, 3), (1, 3)):
        now = (end + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
        assert box.run("fact", "get", "k", now=now).code == code
        assert (box.ok("fact", "list", now=now).out != "") == (code == 0)
        assert ("expired 1" in box.ok("context", now=now).out) == (code == 3)


@pytest.mark.parametrize("swept", [False, True])
def test_setting_a_fact_that_has_expired_makes_it_anew_and_keeps_its_history(box: Box, swept: bool) -> None:
    first = box.set("k", "old", "--ttl", "1h", "--tag", "a", "--domain", "infra", "--sensitivity", "sensitive")["id"]
    later = stamp(hours=1)
    if swept:
        box.ok("sweep", now=later)
    assert box.run("fact", "set", "k", "--ttl", "5", now=later).code == 3
    made = box.set("k", "new", "--create", now=later)
    assert made["how"] == "created"
    fact = box.fact("k")
    assert (fact.supersedes, fact.tags, fact.domain, fact.ttl_minutes) == (first, (), "", 0)
    assert fact.sensitivity == labels.SENSITIVE  # an omitted label never falls
    assert fact.name.startswith("x--")
    assert (fact.created_at, fact.updated_at) == (at(), at(hours=1))
    assert history(box, "k") == [("current", "new"), ("expired", "old")]


def test_a_new_ttl_counts_from_the_write_that_gave_it(box: Box) -> None:
    box.set("k", "v", "--ttl", "1h")
    box.ok("fact", "set", "k", "--domain", "infra", now=stamp(minutes=50))
    assert box.run("fact", "get", "k", now=stamp(minutes=60)).code == 3
    box.ok("fact", "set", "k", "--ttl", "2h", now=stamp(minutes=50))
    assert box.run("fact", "get", "k", now=stamp(minutes=169)).code == 0
    assert box.run("fact", "get", "k", now=stamp(minutes=170)).code == 3


@settings(max_examples=200)
@given(
    minutes=st.integers(0, 10**15),
    start=st.datetimes().map(lambda t: t.replace(tzinfo=at().tzinfo)),
    now=st.datetimes().map(lambda t: t.replace(tzinfo=at().tzinfo)),
)
def test_expiry_never_raises_and_is_a_threshold(box: Box, minutes: int, start: object, now: object) -> None:
    fact = _FACT.replace(ttl_minutes=minutes, updated_at=start)
    end = policy.expires_at(fact)
    assert policy.expired(fact, now) == (end is not None and now >= end)  # type: ignore[arg-type,operator]


_FACT = remember.Fact(
    id="0199e4a0-5b00-7c3e-9a51-0d6a0f1b2c3d",
    key="k",
    text="v",
    source=remember.Source(id="anna", kind="user"),
    confidence=0.9,
    created_at=at(),
    updated_at=at(),
)


# Hand edits.


def edit_by_hand(box: Box, key: str, text: str) -> None:
    md = box.md(key)
    front = md.read_text().split("---\n\n")[0]
    md.write_text(f"{front}---\n\n{text}\n")


def test_set_over_a_hand_edit_first_adopts_it_then_supersedes_it(box: Box) -> None:
    box.set("k", "written", "--source", "user:anna", "--confidence", "high")
    edit_by_hand(box, "k", "by hand")
    box.set("k", "new", now=stamp(days=1))
    assert history(box, "k") == [("current", "new"), ("superseded", "by hand")]
    former = box.data("fact", "history", "k")[1]
    assert (former["source"], former["confidence"]) == ({"id": "hand", "kind": "user"}, 0.6)
    assert box.fact("k").supersedes == former["id"]
    assert box.data("doctor") == []


@pytest.mark.parametrize(
    "change",
    [
        (),
        ("by hand",),
        ("--tag", "t"),
        ("--ttl", "30d"),
        ("by hand", "--tag", "t", "--ttl", "9"),
        ("--sensitivity", "public"),
    ],
)
def test_any_write_over_a_hand_edit_leaves_a_whole_pair_with_its_text(box: Box, change: tuple[str, ...]) -> None:
    box.set("k", "written", "--source", "user:anna")
    edit_by_hand(box, "k", "by hand")
    box.ok("fact", "set", "k", *change) if change else box.ok("fact", "adopt", "k")
    fact = box.fact("k")
    assert (fact.text, fact.state, str(fact.source)) == ("by hand", "ok", "user:hand")
    if "--tag" in change:
        assert fact.tags == ("t",)
    assert box.data("doctor") == []


@pytest.mark.parametrize(
    "front",
    [
        "",
        "id: anything\n",
        "id: 5\n",
        "id: 0199e4a0-5b00-7c3e-9a51-0d6a0f1b2c3d\n",
        "id: zz99e4a0-5b00-7c3e-9a51-0d6a0f1b2c3d\n",
    ],
)
@pytest.mark.parametrize("way", ["set", "adopt", "tag", "forget"])
def test_a_hand_made_file_with_any_id_can_be_taken_over(box: Box, front: str, way: str) -> None:
    box.md("k").write_text(f"---\n{front}key: k\nsensitivity: internal\n---\n\nby hand\n")
    os.utime(box.md("k"), (at().timestamp(),) * 2)
    words = {
        "set": ("set", "k", "new"),
        "adopt": ("adopt", "k"),
        "tag": ("set", "k", "--tag", "t"),
        "forget": ("forget", "k", "--yes"),
    }
    box.ok("fact", *words[way])
    if way == "forget":
        assert box.fact("k") is None
        box.ok("restore", "k")
    assert box.fact("k").state == "ok"
    assert box.ok("fact", "get", "k").out == ("new\n" if way == "set" else "by hand\n")
    if way == "set":
        assert history(box, "k") == [("current", "new"), ("superseded", "by hand")]
    assert box.data("doctor") == []


def test_adopting_twice_is_adopting_once_and_all_means_all(box: Box) -> None:
    box.set("one", "written")
    edit_by_hand(box, "one", "edited")
    box.md("two").write_text("---\nkey: two\nsensitivity: internal\n---\n\nmade\n")
    box.set("three", "whole")
    assert box.ok("fact", "adopt", "--all").out == "adopted 2\n"
    before = box.touched()
    assert box.ok("fact", "adopt", "--all").out == "unchanged\n"
    assert box.ok("fact", "adopt", "one").out == "unchanged\n"
    assert box.touched() == before
    assert {k: str(box.fact(k).source) for k in ("one", "two", "three")} == {
        "one": "user:hand",
        "two": "user:hand",
        "three": "unknown",
    }


# Renaming.


def test_renaming_keeps_id_value_and_history(box: Box) -> None:
    box.set("old key", "one", "--tag", "a")
    made = box.set("old key", "two")["id"]
    assert box.ok("fact", "rename", "old key", "new key").out == "renamed\n"
    assert box.run("fact", "get", "old key").code == 3
    fact = box.fact("new key")
    assert (fact.id, fact.text, fact.tags, fact.renamed_from) == (made, "two", ("a",), ("old key",))
    assert history(box, "new key") == [("current", "two"), ("superseded", "one")]
    box.set("new key", "three")
    box.ok("fact", "rename", "new key", "third key")
    assert box.fact("third key").renamed_from == ("old key", "new key")
    assert history(box, "third key") == [("current", "three"), ("superseded", "two"), ("superseded", "one")]
    assert box.data("doctor") == []


def test_renaming_there_and_back_keeps_everything(box: Box) -> None:
    box.set("a", "one")
    box.set("a", "two")
    box.ok("fact", "rename", "a", "b")
    box.ok("fact", "rename", "b", "a")
    assert history(box, "a") == [("current", "two"), ("superseded", "one")]
    assert [f.name for f in sorted((box.root / "facts").iterdir())] == ["a.md", "a.meta.json"]


def test_a_hidden_name_stays_hidden(box: Box) -> None:
    box.set("kingfisher one", "v", "--sensitivity", "sensitive")
    box.ok("fact", "set", "kingfisher one", "--sensitivity", "internal")
    box.ok("fact", "rename", "kingfisher one", "kingfisher two")
    assert all(p.name.startswith("x--") for p in (box.root / "facts").iterdir())
    assert box.get("kingfisher two") == "v"


def test_renaming_to_a_key_that_is_there_is_refused_and_to_itself_is_nothing(box: Box) -> None:
    box.set("a", "one")
    box.set("b", "two")
    before = box.touched()
    assert box.run("fact", "rename", "a", "b").code == 5
    assert box.run("fact", "rename", "absent", "c").code == 3
    box.ok("fact", "rename", "a", "a")
    assert box.touched() == before


@pytest.mark.parametrize("swept", [False, True])
def test_a_key_whose_fact_has_expired_is_free_swept_or_not(box: Box, swept: bool) -> None:
    box.set("a", "one")
    box.set("b", "ended", "--ttl", "1h")
    later = stamp(hours=2)
    if swept:
        box.ok("sweep", now=later)
    box.ok("fact", "rename", "a", "b", now=later)
    assert box.ok("fact", "get", "b", now=later).out == "one\n"
    assert ("expired", "ended") in history(box, "b")


def test_a_reader_between_the_two_halves_of_a_renaming_sees_one_fact(box: Box) -> None:
    box.set("a", "v")
    kept = {p: p.read_bytes() for p in (box.md("a"), box.side("a"))}
    box.ok("fact", "rename", "a", "b")
    for path, data in kept.items():
        path.write_bytes(data)
    assert box.ok("fact", "list").out == "b\tv\n"
    made = box.meta("b")["id"]
    entry = {"layer": "facts", "name": "a", "id": made, "renamed": "b"}
    (box.root / ".memcli" / "journal").write_text(json.dumps(entry) + "\n")
    box.set("other", "w")
    assert not box.md("a").exists()
    assert box.get("b") == "v"


@pytest.mark.parametrize(
    "words", [("fact", "get"), ("fact", "confirm"), ("fact", "history"), ("fact", "forget", "--yes")]
)
def test_a_key_that_differs_in_spelling_alone_is_named(words: tuple[str, ...], box: Box) -> None:
    box.set("Build Tool", "uv")
    box.set("build tools", "many")
    ran = box.run(*words[:2], "build-tool", *words[2:])
    assert ran.code == 3
    assert "there is 'Build Tool'" in ran.err
    assert "tools" not in ran.err


def test_what_may_not_be_seen_is_not_named_for_a_key_like_it(box: Box) -> None:
    box.set("Build Tool", "uv", "--sensitivity", "restricted")
    box.set("BUILD TOOL", "make", "--sensitivity", "internal")
    box.ok("fact", "set", "BUILD TOOL", "--sensitivity", "restricted")
    box.set("BUILD  tool", "cmake", "--ttl", "1h")
    ran = box.run("fact", "get", "build tool", now=stamp(hours=2))
    assert ran.code == 3
    assert "uil" not in ran.err.lower().replace("memcli", "")
