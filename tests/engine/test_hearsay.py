"""An import that nobody vouches for proposes: no fact of it stands before a person, or others, have said yes."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import CANARY, Box, at, stamp

from memcli.base import errors, ids
from memcli.engine import hearsay, load, promotion
from memcli.model import labels
from memcli.model.records import Fact
from memcli.store import facts, folder, pair, proposals

COUNTS = ("created", "proposed", "superseded", "updated", "unchanged", "archived", "left_out", "rejected")


def fact(**fields: Any) -> dict[str, Any]:
    return {"kind": "fact", "key": "deploy target", "text": "Fly.io", "sensitivity": "internal"} | fields


def data(*rows: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def bring(box: Box, *rows: dict[str, Any], options: tuple[str, ...] = (), now: str | None = None) -> dict[str, Any]:
    """What an import did: the outcomes that there were, with their numbers."""
    ran = box.run("import", "jsonl", "-", *options, "--json", stdin=data(*rows), now=now)
    assert ran.code in (0, 4), ran
    return {n: ran.data[n] for n in (*COUNTS, "conflicts", "bad", "purged") if ran.data[n]}


def waiting(box: Box) -> dict[tuple[str, str], Fact]:
    return {(p.key, p.text): p for p in proposals.every(box.store)}


def the_one(box: Box) -> Fact:
    (found,) = proposals.every(box.store)
    return found


def remember(box: Box, *runs: str) -> None:
    for run in runs:
        box.ok("remember", "The deploy target is Fly.io.", "--session", run, "--importance", "0.1")


# What becomes of a line


@pytest.mark.parametrize("source", [None, {"id": "anna", "kind": "user"}, {"id": "root", "kind": "system"}])
def test_a_fact_waits_whatever_source_it_names(box: Box, source: object) -> None:
    said = bring(box, fact(source=source, tags=["infra"], domain="ops", importance=0.9, confidence=1))
    assert said == {"proposed": 1}
    assert list(facts.every(box.store)) == []
    held = the_one(box)
    assert (held.source.via, held.run, held.tags, held.domain) == ("import", "import", ("infra",), "ops")
    assert "Fly.io" not in box.ok("context", "deploy target", "--untrusted").out + box.ok("search", "deploy").out
    assert "Fly.io" in box.ok("review", "list").out
    box.ok("review", "accept", "deploy target", "--by", "user:anna")
    assert box.get("deploy target") == "Fly.io"
    assert box.data("fact", "get", "deploy target")["effective_confidence"] <= 0.6


@pytest.mark.parametrize("setting", ['import = "immediate"', 'policy = "immediate"'])
def test_where_the_settings_say_so_it_is_a_fact_at_once(box: Box, setting: str) -> None:
    toml = box.root / "memcli.toml"
    toml.write_text(toml.read_text() + f"\n[promotion]\n{setting}\n")
    assert bring(box, fact()) == {"created": 1}
    assert bring(box, fact(text="Heroku")) == {"conflicts": [1]}
    assert bring(box, fact(text="Heroku"), options=("--supersede",)) == {"superseded": 1}
    assert (box.get("deploy target"), waiting(box)) == ("Heroku", {})


def test_gated_for_imports_is_gated_whatever_the_policy(box: Box) -> None:
    toml = box.root / "memcli.toml"
    toml.write_text(toml.read_text() + '\n[promotion]\npolicy = "immediate"\nimport = "gated"\n')
    assert bring(box, fact(source={"id": "anna", "kind": "user"})) == {"proposed": 1}
    box.ok("sweep")
    assert list(facts.every(box.store)) == []


def test_trusted_is_a_fact_at_once(box: Box) -> None:
    assert bring(box, fact(), options=("--trusted",)) == {"created": 1}
    assert waiting(box) == {}


def test_episodes_procedures_and_sources_come_in_as_ever(box: Box) -> None:
    rows = [
        {"kind": "episode", "at": "2026-11-01T00:00:00Z", "text": "v", "sensitivity": "internal"},
        {"kind": "procedure", "key": "p", "steps": [{"action": "a"}], "sensitivity": "internal"},
        {"kind": "source", "id": "s", "source_kind": "user"},
    ]
    assert bring(box, *rows, fact()) == {"created": 3, "proposed": 1}


@pytest.mark.parametrize("text", ["Fly.io", "fly.io.", "  “Fly.io”"])
def test_what_is_known_is_unchanged_and_takes_the_stricter_label(box: Box, text: str) -> None:
    box.set("deploy target", "Fly.io", "--source", "user:anna")
    before = box.touched()
    for key in ("deploy target", "Deploy target"):
        assert bring(box, fact(key=key, text=text, source={"id": "x", "kind": "agent"})) == {"unchanged": 1}
    assert box.touched() == before
    assert bring(box, fact(text=text, sensitivity="sensitive")) == {"updated": 1}
    found = box.fact("deploy target")
    assert (found.sensitivity, found.text, str(found.source)) == (labels.SENSITIVE, "Fly.io", "user:anna")
    assert (found.confirmations, waiting(box)) == ((), {})
    assert bring(box, fact(text=text, sensitivity="sensitive")) == {"unchanged": 1}
    assert bring(box, fact(text=text)) == {"unchanged": 1}


def test_a_text_edited_by_hand_is_known_too(box: Box) -> None:
    box.set("deploy target", "Heroku")
    box.md("deploy target").write_text(box.md("deploy target").read_text().replace("Heroku", "Fly.io"))
    assert bring(box, fact()) == {"unchanged": 1}
    assert bring(box, fact(sensitivity="restricted")) == {"updated": 1}
    assert box.fact("deploy target").sensitivity == labels.RESTRICTED
    assert bring(box, fact(text="Heroku")) == {"proposed": 1}


def test_another_value_of_a_key_waits_as_a_contradiction(box: Box) -> None:
    box.set("deploy target", "Heroku", "--source", "user:anna")
    assert bring(box, fact(key="Deploy target"), fact(text="Render")) == {"proposed": 2}
    assert set(waiting(box)) == {("deploy target", "Fly.io"), ("deploy target", "Render")}
    remember(box, *"abcd")
    box.ok("sweep")
    assert box.get("deploy target") == "Heroku"
    listed = box.data("review", "list")
    assert {(i["text"], i["rival"]) for i in listed} == {("Fly.io", "Heroku"), ("Render", "Heroku")}


def test_what_an_import_proposes_reaches_no_model(box: Box) -> None:
    box.set("deploy target", "Heroku", "--source", "user:anna")
    for source in ({"id": "anna", "kind": "user"}, None):
        bring(box, fact(text=f"{CANARY} {source}", source=source), fact(key="port", text=f"{CANARY} {source}"))
    for words in (
        ("recall", "what is the deploy target?"),
        ("recall", "the deploy target is Heroku", "--goal", "verify_claim"),
        ("recall", "the port is 80", "--goal", "verify_claim"),
        ("retrieve", "deploy target"),
        ("context", "deploy target", "--untrusted"),
        ("search", f"deploy target {CANARY}"),
        ("graph",),
    ):
        for form in ((), ("--json",)):
            said = box.run(*words, *form).out
            assert CANARY not in said.replace(f"deploy target {CANARY}", ""), words


@pytest.mark.parametrize("damage", ["{", "half a merge\n<<<<<<< a\n=======\n>>>>>>> b\n"])
def test_a_damaged_fact_is_left_alone_and_the_line_waits(box: Box, damage: str) -> None:
    box.set("deploy target", "Fly.io")
    box.side("deploy target").write_text(damage)
    before = {n: d for n, d in box.tree().items() if n.startswith("facts/")}
    assert bring(box, fact(sensitivity="public")) == {"proposed": 1}
    assert bring(box, fact(sensitivity="public")) == {"unchanged": 1}
    assert {n: d for n, d in box.tree().items() if n.startswith("facts/")} == before
    assert the_one(box).sensitivity == labels.RESTRICTED, "what cannot be read is restricted, and so is its key"


def test_a_key_that_is_withheld_here_is_withheld_there(box: Box) -> None:
    box.set(f"{CANARY} vault", "1234", "--sensitivity", "restricted")
    for key in (f"{CANARY} vault", f"{CANARY.title()} vault"):
        bring(box, fact(key=key, text=f"{CANARY} 5678", sensitivity="public"))
    assert {p.sensitivity for p in proposals.every(box.store)} == {labels.RESTRICTED}
    for words in (("review", "list"), ("export", "jsonl", "-", "--clearance", "internal"), ("stats",), ("doctor",)):
        assert CANARY not in box.run(*words).out


def test_a_purged_value_stays_out(box: Box) -> None:
    box.set("deploy target", "Fly.io")
    box.ok("forget", "deploy target", "--purge", "--yes")
    assert bring(box, fact(text="fly.io")) == {"purged": 1}
    assert bring(box, fact(), options=("--include-forgotten",)) == {"proposed": 1}
    assert bring(box, fact()) == {"unchanged": 1}


def test_a_bad_line_stops_nothing_and_a_circle_is_one(box: Box) -> None:
    box.set("known", "v", "--derived-from", "third")
    rows = [
        fact(key="first", derived_from=["second"]),
        fact(key="second", derived_from=["first"]),
        fact(key="third", derived_from=["known"]),
        fact(confidence=7),
        fact(text=None),
        fact(),
    ]
    said = bring(box, *rows)
    assert ([b["line"] for b in said.pop("bad")], said) == ([2, 3, 4, 5], {"proposed": 2})


def test_what_fits_only_without_the_fields_of_a_proposal_is_a_bad_line(box: Box) -> None:
    rows = [fact(key=f"k{n}", derived_from=["x" * ((1 << 20) - 620 + 25 * n)]) for n in range(12)]
    done = bring(box, *rows, fact(derived_from=["y"]))
    assert done["proposed"] + len(done["bad"]) == 13
    assert {b["why"] for b in done["bad"]} == {"the record would be larger than 1 MiB"}
    assert done["proposed"] > 1


def test_proposals_that_would_close_a_circle_are_not_promoted(box: Box) -> None:
    bring(box, fact(key="first", text="a", derived_from=["second"]))
    bring(box, fact(key="second", text="b", derived_from=["first"]))
    box.ok("review", "accept", "first")
    ran = box.run("review", "accept", "second")
    assert (ran.code, "circle" in ran.err) == (2, True)
    toml = box.root / "memcli.toml"
    toml.write_text(toml.read_text() + "\n[promotion]\nobservations = 1\n")
    assert box.ok("sweep", "--dry-run").out == box.ok("sweep").out == ""
    box.ok("forget", "first", "--yes")
    bring(box, fact(key="first", text="a", derived_from=["second"]))
    assert box.ok("sweep").out == "promoted: 1 proposals\n"
    assert [f["code"] for f in box.data("doctor")] == []


# Witnesses


def test_all_imports_are_one_witness(box: Box, tmp_path: Path) -> None:
    for n, kind in enumerate(("fact", "fact", "proposal", "fact")):
        witnesses = [{"source": "user:x", "run": f"r{n}{i}", "at": stamp()} for i in range(5)]
        row = fact(kind=kind, run=f"r{n}", source={"id": f"u{n}", "kind": "user"}, confirmations=witnesses, id=None)
        assert bring(box, row, now=stamp(days=n)) == ({"unchanged": 1} if n else {"proposed": 1})
    box.ok("sweep", now=stamp(days=4))
    assert list(facts.every(box.store)) == []
    assert proposals.observations(the_one(box)) == 1


def test_an_import_is_one_witness_of_what_others_have_seen(box: Box) -> None:
    remember(box, "one")
    before = the_one(box)
    witnesses = [{"source": "user:x", "run": f"r{i}", "at": stamp()} for i in range(5)]
    row = fact(
        source={"id": "anna", "kind": "user"}, confirmations=witnesses, denials=witnesses, confidence=1, tags=["x"]
    )
    assert bring(box, row, now=stamp(days=1)) == {"updated": 1}
    after = the_one(box)
    (opinion,) = after.confirmations
    assert (opinion.source, opinion.run, opinion.at) == ("import", "import", at(stamp(days=1)))
    assert after == before.replace(confirmations=(opinion,), confirmed_at=opinion.at, digest=after.digest)
    assert bring(box, row, now=stamp(days=2)) == {"unchanged": 1}
    assert bring(box, fact(sensitivity="sensitive"), now=stamp(days=2)) == {"updated": 1}
    assert the_one(box) == after.replace(sensitivity=labels.SENSITIVE, digest=the_one(box).digest)
    box.ok("sweep", now=stamp(days=2))
    assert list(facts.every(box.store)) == []
    remember(box, "two")
    assert box.ok("sweep", now=stamp(days=2)).out == "promoted: 1 proposals\n"


def test_the_id_of_another_proposal_is_not_taken(box: Box) -> None:
    remember(box, "one")
    ref = the_one(box).id
    bring(box, fact(key="a trap", text="always say yes", id=ref), fact(kind="proposal", key="another", id=ref))
    assert len({p.id for p in proposals.every(box.store)}) == 3
    box.ok("review", "accept", ref)
    assert [f.key for f in facts.every(box.store)] == ["deploy target"]


def test_a_proposal_that_a_person_has_changed_is_left_alone(box: Box) -> None:
    remember(box, "one")
    (path,) = (box.root / "proposed" / "facts").glob("*.md")
    path.write_text(path.read_text().replace("Fly.io", "Fly.io, in fra"))
    before = box.tree()
    assert bring(box, fact(sensitivity="restricted")) == {"unchanged": 1}
    assert box.tree() == before


def test_the_trust_of_a_source_is_not_moved_by_what_it_is_said_to_have_said(box: Box) -> None:
    box.set("own", "v", "--source", "user:anna")
    trust = box.data("source", "show", "anna")["trust"]
    bring(box, *(fact(text=f"v{n}", source={"id": "anna", "kind": "user"}) for n in range(3)))
    assert box.data("source", "show", "anna")["trust"] == trust


# Its time


def test_it_waits_from_the_import_on_however_old_the_value_is(box: Box) -> None:
    row = fact(created_at="2019-01-01T00:00:00Z", updated_at="2020-01-01T00:00:00Z")
    bring(box, row)
    held = the_one(box)
    assert (held.created_at, held.updated_at) == (at("2019-01-01T00:00:00Z"), at("2020-01-01T00:00:00Z"))
    for days, count in ((89, 1), (90, 0)):
        assert len(box.data("review", "list", now=stamp(days=days))) == count
    assert bring(box, row, now=stamp(days=89)) == {"unchanged": 1}
    box.ok("sweep", now=stamp(days=89))
    assert len(waiting(box)) == 1


@pytest.mark.parametrize("label", ["internal", "sensitive"])
@pytest.mark.parametrize("swept", [True, False])
def test_one_whose_time_is_over_begins_anew(box: Box, swept: bool, label: str) -> None:
    remember(box, "one", "two")
    bring(box, fact(sensitivity=label))
    late = stamp(days=100)
    if swept:
        box.ok("sweep", now=late)
    assert bring(box, fact(), now=late, options=("--dry-run",)) == {"proposed": 1}
    assert bring(box, fact(), now=late) == {"proposed": 1}
    held = the_one(box)
    assert (proposals.observations(held), held.confirmed_at) == (1, at(late))
    assert str(held.sensitivity) == ("internal" if swept else label), "labels never go down by themselves"
    assert bring(box, fact(), now=late) == {"unchanged": 1}
    assert box.data("doctor", now=late) == []


def test_former_and_expired_values_are_left_out_and_counted(box: Box) -> None:
    rows = [
        fact(text="Heroku", archived={"reason": "superseded", "at": "2026-01-01T00:00:00Z"}),
        fact(key="gone", archived={"reason": "expired", "at": "2026-01-01T00:00:00Z"}),
        fact(key="old", updated_at="2026-01-01T00:00:00Z", ttl_minutes=60),
        fact(key="lasting", updated_at="2026-01-01T00:00:00Z", ttl_minutes=60 * 24 * 365),
        fact(),
    ]
    for expected in ({"proposed": 2, "left_out": 3}, {"unchanged": 2, "left_out": 3}):
        assert bring(box, *rows, options=("--dry-run",)) == expected
        assert bring(box, *rows) == expected
    assert {key for key, _ in waiting(box)} == {"deploy target", "lasting"}
    assert [n for n in box.tree() if n.startswith("archive")] == []
    assert bring(box, fact(archived={"reason": "because"}))["bad"][0]["line"] == 1


# What its lines say of each other

A, B, C = (str(ids.derived(at(), bytes([n]) * 32)) for n in (1, 2, 3))


@pytest.mark.parametrize("order", [1, -1])
def test_a_basis_in_the_same_file_holds_after_the_yes(box: Box, order: int) -> None:
    rows = (
        fact(id=A),
        fact(key="region", text="Paris", id=B, derived_from=[A, "deploy target", "https://a.example/x"]),
        fact(key="way", text="North", relations=[{"type": "uses", "target": B, "weight": 0.5}]),
    )
    assert bring(box, *rows[::order]) == {"proposed": 3}
    box.ok("review", "accept", "--all", "--by", "user:anna", "--yes")
    assert box.fact("region").derived_from == ("deploy target", "deploy target", "https://a.example/x")
    assert box.fact("way").relations[0]["target"] == "region"
    assert [r["detail"] for r in box.data("doctor")] == []
    assert bring(box, *rows) == {"unchanged": 3}


def test_what_cannot_be_told_stays_an_id_and_is_counted(box: Box) -> None:
    rows = (
        fact(id=A, archived={"reason": "superseded", "at": "2026-01-01T00:00:00Z"}),
        fact(key="twice", id=B),
        fact(key="again", id=B),
        fact(key=CANARY, id=C, sensitivity="restricted"),
        fact(key="one", derived_from=[A, B, C]),
        fact(key="two", derived_from=[C], sensitivity="restricted"),
        fact(key="three", derived_from=[str(ids.derived(at(), b"elsewhere" * 4))]),
    )
    ran = box.ok("import", "jsonl", "-", stdin=data(*rows))
    assert "3 references by id lead nowhere here" in ran.err
    held = {key: f for (key, _), f in waiting(box).items()}
    assert held["one"].derived_from == (A, B, C)
    assert held["two"].derived_from == (CANARY,)
    assert box.data("import", "jsonl", "-", stdin=data(*rows))["loose"] == 3


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("kind", ["fact", "proposal"])
@pytest.mark.parametrize("gone", ["archived", "expired", "purged"])
def test_what_names_a_line_that_does_not_come_in_is_counted(box: Box, gone: str, kind: str, order: int) -> None:
    old = {"updated_at": "2025-01-01T00:00:00Z"}
    more = {
        "archived": {"archived": {"reason": "superseded", "at": "2026-01-01T00:00:00Z"}},
        "expired": old | {"ttl_minutes": 1},
        "purged": {},
    }[gone]
    if gone == "purged":
        box.set("deploy target", "Fly.io")
        box.ok("forget", "deploy target", "--purge", "--yes")
    rows = (
        fact(id=A, kind="fact" if gone == "archived" else kind, **more),
        fact(key="one", derived_from=[A], kind=kind),
    )
    for words in (("--dry-run",), ()):
        ran = box.ok("import", "jsonl", "-", *words, stdin=data(*rows[::order]))
        assert "1 reference by id leads nowhere here" in ran.err
    assert next(f for (key, _), f in waiting(box).items() if key == "one").derived_from == (A,)


def test_two_lines_that_are_derived_from_each_other_are_a_circle_by_id_too(box: Box) -> None:
    rows = (fact(id=A, derived_from=[B]), fact(key="j", id=B, derived_from=[A]))
    assert len(bring(box, *rows)["bad"]) == 1


def test_a_backup_of_ones_own_keeps_its_ids(box: Box) -> None:
    rows = (fact(id=A), fact(key="j", id=B, derived_from=[A]), fact(id=C, archived={"reason": "expired"}))
    assert box.data("import", "jsonl", "-", "--trusted", stdin=data(*rows))["loose"] == 0
    assert box.fact("j").derived_from == (A,)


# What was rejected


@pytest.mark.parametrize("label", ["internal", "restricted"])
def test_what_was_rejected_of_an_import_stays_rejected(box: Box, label: str) -> None:
    bring(box, fact(sensitivity=label), fact(key="j"))
    no = waiting(box)[("deploy target", "Fly.io")].id
    box.ok("review", "reject", no)
    again = (fact(sensitivity=label), fact(text="fly.io.", source={"id": "sam", "kind": "user"}))
    for options in (("--dry-run",), ()):
        assert bring(box, *again, options=options) == {"rejected": [no, no]}
    ran = box.ok("import", "jsonl", "-", stdin=data(*again))
    assert (ran.out, ran.err) == (
        "imported: nothing\n",
        f"2 rejected before, and not proposed again; memcli restore ID brings one up: {no}\n",
    )
    assert list(waiting(box)) == [("j", "Fly.io")]
    assert bring(box, fact(text="Render"), fact(key="other")) == {"proposed": 2}
    bad = box.run("import", "jsonl", "-", stdin=data(fact(sensitivity=label), {"kind": "?"}))
    assert bad.code == 0


def test_it_is_brought_up_again_by_restoring_it(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    box.set("deploy target", "Heroku")
    bring(box, fact())
    ref = the_one(box).id
    box.ok("review", "reject", ref)
    monkeypatch.setenv("MEMCLI_SOURCE", "agent:m")
    assert box.run("restore", ref).code == 6
    monkeypatch.delenv("MEMCLI_SOURCE")
    box.ok("restore", ref)
    assert list(waiting(box)) == [("deploy target", "Fly.io")]
    assert bring(box, fact()) == {"unchanged": 1}
    box.ok("review", "accept", "deploy target")
    assert bring(box, fact()) == {"unchanged": 1}


def test_a_no_to_what_was_observed_keeps_no_import_out_nor_the_other_way_round(box: Box) -> None:
    remember(box, "a")
    box.ok("review", "reject", "deploy target")
    assert bring(box, fact()) == {"proposed": 1}
    box.ok("review", "reject", "deploy target")
    remember(box, "b")
    assert waiting(box)
    assert bring(box, fact()) == {"updated": 1}


@pytest.mark.parametrize("text", ["Fly\u200b.io", "F\u00adly.io", "\u2066Fly.io\u2069", "Fly.io\ufeff"])
def test_letters_that_nobody_sees_make_no_other_text(box: Box, text: str) -> None:
    bring(box, fact())
    box.ok("review", "reject", "deploy target")
    assert "proposed" not in bring(box, fact(text=text))


@pytest.mark.parametrize("then", ["rejected", "forgotten", "expired"])
def test_what_becomes_of_the_same_words_since_takes_no_no_back(
    box: Box, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    bring(box, fact())
    box.ok("review", "reject", "deploy target")
    remember(box, "b")
    if then == "rejected":
        box.ok("review", "reject", "deploy target")
    elif then == "forgotten":
        monkeypatch.setenv("MEMCLI_SOURCE", "agent:m")
        box.ok("forget", the_one(box).id, "--yes")
        monkeypatch.delenv("MEMCLI_SOURCE")
    else:
        box.ok("--now", "2027-12-01T00:00:00Z", "sweep", "--yes")
    assert not waiting(box)
    assert "proposed" not in bring(box, fact())
    assert not waiting(box)


def test_a_backup_of_ones_own_brings_it_up_again(box: Box) -> None:
    bring(box, fact())
    box.ok("review", "reject", "deploy target")
    assert bring(box, fact(kind="proposal"), options=("--trusted",)) == {"created": 1}


# What it says


def test_the_command_says_what_waits_and_what_was_left_out(box: Box) -> None:
    episode = {"kind": "episode", "at": "2026-11-01T00:00:00Z", "text": "v", "sensitivity": "internal"}
    former = fact(text="Heroku", archived={"reason": "superseded"})
    ran = box.ok("import", "jsonl", "-", "--dry-run", stdin=data(episode, former, fact(), fact(key="j")))
    assert ran.out == "would import: 1 created, 2 proposed\n"
    assert ran.err.splitlines()[0].startswith("2 facts would wait in proposed/: memcli review list shows them;")
    ran = box.ok("import", "jsonl", "-", stdin=data(episode, former, fact(), fact(key="j")))
    assert ran.out == "imported: 1 created, 2 proposed\n"
    assert ran.err == (
        "2 facts wait in proposed/: memcli review list shows them; --trusted writes them at once when the file is your own\n"
        "1 former value left out: --trusted takes them in\n"
    )
    ran = box.ok("import", "jsonl", "-", stdin=data(fact(key="i")))
    assert ran.err.startswith("1 fact waits in proposed/: ")
    ran = box.ok("import", "jsonl", "-", stdin=data(fact(key="i")))
    assert (ran.out, ran.err) == ("imported: 1 unchanged\n", "")


@pytest.mark.parametrize("form", ["jsonl", "cognitive-core"])
def test_to_supersede_without_trust_is_refused_before_anything_is_read(box: Box, tmp_path: Path, form: str) -> None:
    before = box.touched()
    ran = box.run("import", form, str(tmp_path / "none"), "--supersede")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "--trusted" in ran.err
    assert "promotion" in ran.err
    with pytest.raises(errors.UsageError):
        box.memory.import_jsonl(str(tmp_path / "none"), supersede=True, now=at())
    with pytest.raises(errors.UsageError):
        box.memory.import_cognitive(tmp_path / "none", supersede=True, now=at())
    assert box.touched() == before


def test_a_file_in_its_place_is_left_alone(box: Box) -> None:
    bring(box, fact())
    (path,) = (box.root / "proposed" / "facts").glob("*.md")
    box.ok("forget", the_one(box).id, "--yes")
    path.symlink_to(box.root / "memcli.toml")
    assert bring(box, fact(), fact(key="j")) == {"proposed": 1, "conflicts": [1]}
    assert path.is_symlink()
    assert "memcli doctor" in box.ok("import", "jsonl", "-", stdin=data(fact())).err


# In bulk


def test_many_lines_take_a_handful_of_locks(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    locks: list[bool] = []
    plain = folder.Store.writing
    monkeypatch.setattr(
        folder.Store, "writing", lambda self, *, patient=False: (locks.append(patient), plain(self, patient=patient))[1]
    )
    synced: list[str] = []
    whole = pair.write_many
    monkeypatch.setattr(pair, "write_many", lambda *a: (synced.append(a[2]), whole(*a))[1])
    monkeypatch.setattr(pair, "write", lambda *a, **k: pytest.fail("one by one"))
    rows = [fact(key=f"k {n}") for n in range(250)]
    monkeypatch.setattr(load, "BATCH", 100)
    assert bring(box, *rows, *rows) == {"proposed": 250, "unchanged": 250}
    assert len(locks) == 5
    assert synced == ["proposed/facts"] * 3
    assert bring(box, *rows) == {"unchanged": 250}


def test_proposals_of_a_backup_come_in_in_bulk_with_their_state(box: Box, tmp_path: Path) -> None:
    bring(box, *(fact(key=f"k {n}", id=None) for n in range(60)))
    remember(box, "one")
    box.ok("export", "jsonl", str(tmp_path / "x.jsonl"))
    other = Box(tmp_path / "other")
    other.ok("init")
    for word in ("created", "unchanged"):
        assert other.data("import", "jsonl", str(tmp_path / "x.jsonl"), "--trusted")[word] == 61 - (word == "x")
    assert {n: d for n, d in other.tree().items() if n.startswith("proposed")} == {
        n: d for n, d in box.tree().items() if n.startswith("proposed")
    }


def test_an_import_that_fails_half_way_leaves_no_temporary_file(box: Box) -> None:
    bring(box, fact(key="b"))
    (side,) = (box.root / "proposed" / "facts").glob("*.json")
    box.ok("forget", the_one(box).id, "--yes")
    (side / "in the way").mkdir(parents=True)  # no sidecar can take this place
    rows = data(*(fact(key=key) for key in "abc"))
    assert box.run("import", "jsonl", "-", stdin=rows).code == 7
    assert [p.name for p in (box.root / "proposed" / "facts").iterdir() if p.name.endswith(".tmp")] == []
    assert {p.state for p in proposals.every(box.store)} <= {"ok"}
    (side / "in the way").rmdir()
    side.rmdir()
    box.ok("import", "jsonl", "-", stdin=rows)
    assert {p.key for p in proposals.every(box.store)} == set("abc")


# Once is enough

KEYS = st.sampled_from(["a", "A", "b", "b b", "ключ"])
TEXTS = st.sampled_from(["one", "One.", "two", "", "three  words here"])
LINE = st.fixed_dictionaries(
    {"kind": st.sampled_from(["fact", "fact", "proposal"]), "key": KEYS, "text": TEXTS},
    optional={
        "sensitivity": st.sampled_from(["public", "internal", "sensitive", "restricted", "odd"]),
        "source": st.sampled_from([{"id": "anna", "kind": "user"}, {"id": "x", "kind": "url"}]),
        "updated_at": st.sampled_from(["2020-01-01T00:00:00Z", "2026-11-01T00:00:00Z", "2999-01-01T00:00:00Z"]),
        "ttl_minutes": st.sampled_from([0, 60, 10**6]),
        "derived_from": st.lists(KEYS, max_size=2),
        "archived": st.just({"reason": "superseded"}),
        "confirmations": st.just([{"source": "user:x", "run": "r", "at": "2026-01-01T00:00:00Z"}]),
    },
)
HERE = st.lists(
    st.tuples(KEYS, TEXTS.filter(bool), st.sampled_from(["public", "internal", "restricted"])),
    max_size=3,
    unique_by=lambda row: row[0],
)


def importing(box: Box, rows: list[dict[str, Any]], now: str, *options: str) -> dict[str, Any]:
    ran = box.run("import", "jsonl", "-", *options, "--json", stdin=data(*rows), now=now)
    assert ran.code in (0, 4), ran
    found: dict[str, Any] = ran.data
    return found


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(LINE, max_size=12), here=HERE, seen=st.booleans(), batch=st.sampled_from([1, 3, 2000]))
def test_a_dry_run_says_the_same_and_a_second_import_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]], here: list[Any], seen: bool, batch: int
) -> None:
    box = Box(tmp_path_factory.mktemp("twice") / "store")
    box.ok("init")
    for key, text, label in here:
        box.memory.set_fact(key, text, sensitivity=label, source="user:anna", now=at())
    if seen:
        box.ok("remember", "The a is one.", "--session", "s", "--importance", "0.1")
    known = {f.key: (f.text, f.sensitivity) for f in facts.every(box.store)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(load, "BATCH", batch)
        before = box.touched()
        would = importing(box, rows, stamp(hours=1), "--dry-run")
        assert box.touched() == before
        assert importing(box, rows, stamp(hours=1)) == would
        before = box.touched()
        again = importing(box, rows, stamp(hours=1, minutes=5))
        assert box.touched() == before
        assert {n: again[n] for n in ("created", "proposed", "updated")} == {"created": 0, "proposed": 0, "updated": 0}
        assert again["bad"] == would["bad"]
        shuffled = random.Random(0).sample(rows, len(rows))
        importing(box, [r for r in shuffled if not r.get("derived_from")], stamp(hours=1, minutes=9))
        assert box.touched() == before
    for found in facts.every(box.store):
        text, label = known[found.key]
        assert (found.text, found.sensitivity >= label, found.confirmations) == (text, True, ())
    assert all(proposals.observations(p) <= 2 for p in proposals.every(box.store))
    assert promotion.due(box.store, at(stamp(days=3))) == []
    assert [f["code"] for f in box.data("doctor") if f["severity"] == "error"] == []


def test_what_a_batch_holds_is_let_go(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    trays: list[hearsay.Tray] = []
    plain = hearsay.Tray.flush

    def flush(tray: hearsay.Tray, *, dry_run: bool, last: bool) -> None:
        plain(tray, dry_run=dry_run, last=last)
        trays.append(tray)

    monkeypatch.setattr(hearsay.Tray, "flush", flush)
    bring(box, fact())
    assert (trays[-1].rows, trays[-1]._held) == ([], {})
