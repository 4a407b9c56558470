"""The Python face: the verbs of the command line with the same words, frozen values, the same errors."""

import copy
import importlib
import inspect
import pickle
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from support import CANARY, NOW, Box, at, call, stamp

import memcli
from memcli import errors
from memcli.cli import table
from memcli.engine import forget, remember
from memcli.engine.memory import Memory
from memcli.model import labels, redact


@pytest.fixture
def m(box: Box) -> Memory:
    return memcli.open(str(box.root))


def test_what_python_writes_the_command_line_reads_and_the_other_way_round(box: Box, m: Memory) -> None:
    written = m.set_fact("deploy target", "Fly.io", source="user:anna", tags=("deploy",), ttl_minutes=60, now=at())
    assert (written.how, written.fact.text) == ("created", "Fly.io")
    assert box.data("fact", "get", "deploy target")["digest"] == written.fact.digest
    box.set("deploy target", "Hetzner")
    assert m.get_fact("deploy target", now=at()).text == "Hetzner"
    assert [f.fact.text for f in m.history("deploy target")] == ["Fly.io"]
    made = m.add_episode("text", task="t", outcome="failed", findings=("f",), now=at())
    assert box.data("episode", "show", made.id)["findings"] == ["f"]
    assert [e.id for e in m.episodes(now=at())] == [made.id]


def test_the_two_ways_write_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.urandom", lambda n: bytes(range(n)))
    by_python = memcli.init(str(tmp_path / "a"))
    by_python.set_fact("k", "v", confidence=0.9, importance=0.7, sensitivity="public", domain="infra", source="user:anna", run="r", agent="x", modality="image", derived_from=("j",), tags=("t",), now=at())  # fmt: skip
    by_python.add_episode("text", task="t", tags=("a",), steps=3, now=at())
    by_words = Box(tmp_path / "b")
    by_words.ok("init")
    by_words.set("k", "v", "--confidence", "0.9", "--importance", "0.7", "--sensitivity", "public", "--domain", "infra", "--source", "user:anna", "--run", "r", "--agent", "x", "--modality", "image", "--derived-from", "j", "--tag", "t")  # fmt: skip
    by_words.add("text", "--task", "t", "--tag", "a", "--steps", "3")
    assert Box(tmp_path / "a").tree() == by_words.tree()


def test_every_verb_is_there(m: Memory, tmp_path: Path) -> None:
    m.set_fact("k", "v", now=at())
    m.rename_fact("k", "j", now=at())
    assert m.adopt("j", now=at()).how == "unchanged"
    m.forget("j", now=at())
    assert m.restore("j", now=at()).text == "v"
    assert m.facts(now=at())[0].key == "j"
    assert m.sweep(now=at()).done == ()
    assert m.doctor(now=at()) == []
    assert m.status(now=at())["facts"] == 1
    assert m.stats(now=at())["facts"]["current"] == 1
    assert m.export_jsonl(str(tmp_path / "x.jsonl")) == 1
    other = memcli.init(str(tmp_path / "other"))
    assert other.import_jsonl(str(tmp_path / "x.jsonl"), trusted=True, now=at()).created == 1
    assert other.get_fact("j", now=at()) == m.get_fact("j", now=at())
    assert "v" in m.context(now=at())
    assert m.block("v", now=at(), budget=500).receipt["budget"]["used"] <= 500
    assert m.path in repr(m)


# Command -> the attribute of Memory (or of memcli) that does the same.
VERBS = {
    "init": "memcli.init",
    "where": "path",
    "status": "status",
    "stats": "stats",
    "doctor": "doctor",
    "check": "check_against",
    "audit": "audit",
    "reindex": "reindex",
    "config": "setting",
    "fact set": "set_fact",
    "fact get": "get_fact",
    "fact list": "facts",
    "fact rename": "rename_fact",
    "fact history": "history",
    "fact forget": "forget",
    "fact restore": "restore",
    "fact adopt": "adopt",
    "fact confirm": "confirm",
    "fact deny": "deny",
    "fact relate": "relate",
    "fact unrelate": "unrelate",
    "fact related": "related",
    "fact chain": "chain",
    "episode add": "add_episode",
    "episode list": "episodes",
    "episode show": "episode",
    "work set": "work_set",
    "work add": "work_add",
    "work get": "work_get",
    "work list": "work_list",
    "work clear": "work_clear",
    "remember": "remember",
    "consolidate": "consolidate",
    "context": "context",
    "procedure propose": "propose_procedure",
    "procedure approve": "approve_procedure",
    "procedure reject": "reject_procedure",
    "procedure record": "record_procedure",
    "procedure best": "best_procedures",
    "procedure list": "procedures",
    "procedure show": "procedure",
    "source list": "sources",
    "source show": "source",
    "source set": "set_source",
    "source allow": "allow_source",
    "source block": "block_source",
    "forget": "forget",
    "restore": "restore",
    "search": "search",
    "retrieve": "retrieve",
    "recall": "recall",
    "graph": "graph",
    "review list": "review",
    "review show": "review_show",
    "review accept": "review_accept",
    "review reject": "review_reject",
    "review diff": "review_diff",
    "verify": "verify",
    "sweep": "sweep",
    "scrub": "scrub",
    "import": "import_jsonl",
    "export": "export_jsonl",
    "git setup": "git_setup",
    "sync": "sync",
}
# What a person does at a terminal, and what git calls.
BY_HAND = {"fact edit", "review walk", "merge-driver"}


def test_the_errors_are_a_module_of_their_own() -> None:
    from memcli.base import errors as base

    code = "import sys, memcli; assert not any('base' in m for m in sys.modules if m.startswith('memcli')); "
    code += "import memcli.errors as a; from memcli import errors as b; assert a is b is memcli.errors"
    subprocess.run([sys.executable, "-c", code], check=True)
    every = {n: c for n, c in vars(base).items() if inspect.isclass(c) and issubclass(c, Exception)}
    assert {n: getattr(errors, n) for n in errors.__all__} == every


def test_every_command_is_a_verb_of_python() -> None:
    assert {*VERBS, *BY_HAND} >= set(table.COMMANDS), "a command without a verb in engine/memory*.py"
    assert {*VERBS, *BY_HAND} <= set(table.COMMANDS), "a verb of a command that is gone"
    for name in VERBS.values():
        owner, _, attribute = name.rpartition(".")
        found = getattr(memcli if owner else Memory, attribute)
        assert found.__doc__, name


def test_every_verb_is_typed_and_says_what_it_does() -> None:
    for name, verb in inspect.getmembers(Memory, inspect.isfunction):
        if name.startswith("_"):
            continue
        hints = inspect.signature(verb)
        assert verb.__doc__, name
        assert hints.return_annotation is not inspect.Signature.empty, name
        assert all(p.annotation is not p.empty for n, p in hints.parameters.items() if n != "self"), name


def test_opinions_relations_and_checks(box: Box, m: Memory) -> None:
    for key in ("cause", "effect", "example"):
        m.set_fact(key, f"the {key}", source="user:anna", now=at())
    assert m.confirm("cause", source="user:sam", run="r1", now=at()).counted
    assert not m.confirm("cause", source="user:sam", run="r1", now=at()).counted
    assert m.deny("cause", source="user:ivan", run="r2", now=at()).fact.denials
    m.relate("cause", "causes", "effect", weight=0.8, now=at())
    m.relate("effect", "related", "example", now=at())
    assert [(e.kind, e.target, e.weight) for e in m.related("cause", now=at())] == [("causes", "effect", 0.8)]
    assert [(s.key, s.depth) for s in m.chain("cause", now=at())] == [("effect", 1), ("example", 2)]
    assert m.graph("cause", now=at()).startswith("graph LR")
    assert m.graph(format="dot", now=at()) == box.ok("graph", "--format", "dot").out
    m.unrelate("cause", "causes", "effect", now=at())
    assert m.related("cause", now=at()) == []
    m.set_fact("cause", check=f"path:{box.root}", now=at())
    assert [v.state for v in m.verify(now=at())] == ["fresh"]
    for verb in (m.related, m.chain, m.graph):
        with pytest.raises(errors.NotFound):
            verb("absent", now=at())


def test_procedures(box: Box, m: Memory, tmp_path: Path) -> None:
    made = m.propose_procedure("release", ("Freeze: announce it", "?ship"), task_type="rel", source="agent:a", now=at())
    assert (made.state, [(s.name, s.optional) for s in made.steps]) == ("pending", [("Freeze", False), ("", True)])
    with pytest.raises(errors.Refused):
        m.approve_procedure("release", by="agent:a", now=at())
    assert m.approve_procedure("release", by="user:anna", now=at()).state == "trial"
    assert m.record_procedure("release", success=True, duration_ms=5, now=at()).successes == 1
    assert [p.key for p in m.best_procedures("rel", now=at())] == ["release"]
    assert m.procedure("release") == m.procedures(state="trial", now=at())[0]
    path = Path(m.export_skill("release", str(tmp_path / "skills")))
    assert path.read_text().startswith("---\nname: release\n")
    assert m.reject_procedure("release", by="user:anna", now=at()).state == "rejected"
    assert m.best_procedures("rel", now=at()) == []
    m.propose_procedure("hidden", ("do",), sensitivity="restricted", now=at())
    assert [p.key for p in m.procedures(now=at())] == ["release"]
    with pytest.raises(errors.Withheld):
        m.procedure("hidden")
    assert m.procedure("hidden", reveal=True).key == "hidden"


def test_sources(box: Box, m: Memory) -> None:
    m.set_fact("k", "v", source="user:anna", now=at())
    assert m.set_source("anna", kind="user", trust=0.9, note="tech lead", by="user:boris", now=at()).trust == 0.9
    assert [(s.id, s.facts) for s in m.sources(now=at())] == [("anna", 1)]
    assert m.block_source("anna", by="user:keeper", now=at()).list == "block"
    assert m.facts(now=at()) == []
    assert m.source("anna", now=at()).trust == 0.0
    m.allow_source("anna", by="user:boris", now=at())
    assert [f.key for f in m.facts(now=at())] == ["k"]
    with pytest.raises(errors.NotFound):
        m.source("nobody", now=at())


def test_review_and_revisions(box: Box, m: Memory) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-C", box.root, *words], check=True, capture_output=True)

    m.set_fact("kept", "v", source="user:anna", now=at())
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "x")
    m.remember("The port is 8080. The vault is deep.", importance=0.1, now=at())
    m.remember(f"The garden is {CANARY}", sensitivity="restricted", importance=0.1, now=at())
    waiting = m.review(now=at())
    assert [(i.kind, i.key) for i in waiting] == [("proposal", "port"), ("proposal", "vault")]
    assert m.review(kinds=("doubted",), now=at()) == []
    assert m.review_show(waiting[0].ref, now=at()) == waiting[0]
    with pytest.raises(errors.Withheld):
        m.review_show("garden", now=at())
    m.review_accept("port", by="user:anna", now=at())
    m.review_reject("vault", by="user:anna", now=at())
    assert m.review(now=at()) == []
    assert [(c.kind, c.key) for c in m.review_diff("HEAD")] == [("added", "port")]
    assert m.review_diff("HEAD", "HEAD") == []
    assert m.check_against("HEAD") == []  # who accepted it stands in it
    m.set_fact("orphan", "nobody knows who said so", source="unknown", now=at())
    assert [f.code for f in m.check_against("HEAD")] == ["unsourced"]


def test_what_else_the_command_line_says(box: Box, m: Memory) -> None:
    made = m.add_episode("text", task="t", now=at())
    assert m.episode(made.id, now=at()) == made
    hidden = m.add_episode(CANARY, sensitivity="restricted", now=at())
    with pytest.raises(errors.Withheld):
        m.episode(hidden.id, now=at())
    with pytest.raises(errors.NotFound):
        m.episode(made.id, now=at(days=91))
    assert m.scrub("mail anna@example.org") == "mail [EMAIL]"
    assert m.scrub("mail anna@example.org").counts == {"email": 1}
    assert m.setting("promotion.observations") == 3
    with pytest.raises(errors.NotFound):
        m.setting("no.such")
    assert [e.text for e in m.retrieve("text", now=at()).episodes] == ["text"]


def test_facts_are_filtered_and_sorted(m: Memory) -> None:
    for n, key in enumerate(["b", "a", "ab"]):
        m.set_fact(key, str(n), tags=("t",) if n else None, domain="d" if n < 2 else None, now=at())
    m.set_fact("secret", CANARY, sensitivity="restricted", now=at())

    def listed(**options: str) -> list[str]:
        return [f.key for f in m.facts(now=at(), **options)]  # type: ignore[arg-type]

    assert listed() == ["a", "ab", "b"]
    assert listed(tag="t") == ["a", "ab"]
    assert listed(domain="d") == ["a", "b"]
    assert listed(prefix="a") == ["a", "ab"]
    assert listed(clearance="restricted") == ["a", "ab", "b", "secret"]


def test_values_are_frozen_comparable_and_replaceable(m: Memory) -> None:
    fact = m.set_fact("k", "v", now=at()).fact
    with pytest.raises(AttributeError):
        fact.text = "w"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        del fact.text
    with pytest.raises(AttributeError):
        fact.anything = 1  # type: ignore[attr-defined]
    assert m.get_fact("k", now=at()) == fact
    assert fact.replace(text="w").text == "w"
    assert fact.text == "v"
    assert pickle.loads(pickle.dumps(fact)) == copy.copy(fact) == fact
    assert "text='v'" in repr(fact)
    with pytest.raises(TypeError):
        fact.replace(nothing=1)


def test_a_withheld_fact_is_refused_until_it_is_revealed(m: Memory) -> None:
    m.set_fact("k", CANARY, sensitivity="sensitive", now=at())
    with pytest.raises(errors.Withheld) as caught:
        m.get_fact("k", now=at())
    assert caught.value.exit_code == 6
    assert CANARY not in str(caught.value)
    assert m.get_fact("k", reveal=True, now=at()).text == CANARY
    assert CANARY not in m.context(now=at())
    assert CANARY in m.context(clearance="sensitive", now=at())


def test_what_leaves_is_of_its_own_type(m: Memory) -> None:
    m.set_fact("k", "v", now=at())
    assert type(m.context(now=at())) is redact.Redacted


ERRORS = [
    (lambda m: m.get_fact("absent"), "NotFound", 3),
    (lambda m: m.get_fact(" "), "UsageError", 2),
    (lambda m: m.set_fact("k", "w", create=True), "Exists", 5),
    (lambda m: m.set_fact("k", "w", if_match="0"), "Changed", 5),
    (lambda m: m.set_fact("k", "w", confidence=2), "UsageError", 2),
    (lambda m: m.set_fact("k", "w", ttl_minutes=-1), "UsageError", 2),
    (lambda m: m.set_fact("k", "w", sensitivity="odd"), "UsageError", 2),
    (lambda m: m.set_fact("k", "password: hunter2-correct-horse"), "SecretFound", 6),
    (lambda m: m.add_episode(""), "UsageError", 2),
    (lambda m: m.add_episode("x", outcome="odd"), "UsageError", 2),
    (lambda m: m.forget("absent"), "NotFound", 3),
    (lambda m: m.restore("absent"), "NotFound", 3),
    (lambda m: m.rename_fact("absent", "x"), "NotFound", 3),
    (lambda m: m.block(budget="x"), "UsageError", 2),
    (lambda m: m.block(request={"turns": 3}), "UsageError", 2),
    (lambda m: m.facts(clearance="all"), "UsageError", 2),
    (lambda m: m.get_fact("k", now=datetime(2026, 1, 1)), "UsageError", 2),
]


@pytest.mark.parametrize(("verb", "name", "code"), ERRORS, ids=range(len(ERRORS)))
def test_errors_are_those_of_the_command_line(
    box: Box, m: Memory, verb: object, name: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMCLI_NOW", NOW)
    m.set_fact("k", "v")
    before = box.tree()
    with pytest.raises(getattr(errors, name)) as caught:
        verb(m)  # type: ignore[operator]
    assert caught.value.exit_code == code
    assert isinstance(caught.value, errors.MemcliError)
    assert box.tree() == before


def test_open_finds_a_store_as_the_command_line_does(box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(errors.NoStore):
        memcli.open(str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(errors.NoStore):
        memcli.open()
    monkeypatch.chdir(box.root / "facts")
    assert memcli.open().path == str(box.root)
    monkeypatch.setenv("MEMCLI_STORE", str(box.root))
    monkeypatch.chdir(tmp_path)
    assert memcli.open().path == str(box.root)


def test_a_tenant_has_to_be_named(tmp_path: Path) -> None:
    acme = memcli.init(str(tmp_path), tenant="acme")
    acme.set_fact("k", "of acme", now=at())
    with pytest.raises(errors.UsageError):
        memcli.open(str(tmp_path))
    with pytest.raises(errors.NotFound):
        memcli.open(str(tmp_path), tenant="globex")
    with pytest.raises(errors.UsageError):
        memcli.open(str(tmp_path), tenant="../acme")
    assert memcli.open(str(tmp_path), tenant="acme").get_fact("k", now=at()).text == "of acme"


def test_time_is_an_argument_then_the_environment_then_the_clock(m: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    early = timezone(timedelta(hours=-5))
    assert m.set_fact("a", "v", now=datetime(2026, 11, 15, 4, 0, 0, 999, tzinfo=early)).fact.updated_at == at()
    monkeypatch.setenv("MEMCLI_NOW", stamp(days=1))
    assert m.set_fact("b", "v").fact.updated_at == at(days=1)
    monkeypatch.delenv("MEMCLI_NOW")
    assert abs(m.set_fact("c", "v").fact.updated_at - datetime.now(timezone.utc)) < timedelta(minutes=1)


def test_nothing_is_held_between_calls(box: Box, m: Memory) -> None:
    m.set_fact("k", "v", now=at())
    box.set("k", "w")
    assert m.get_fact("k", now=at()).text == "w"
    box.ok("forget", "k", "--yes")
    with pytest.raises(errors.NotFound):
        m.get_fact("k", now=at())


def test_the_names_of_fields_are_those_of_the_options() -> None:
    fields = (
        remember.FactFields.__annotations__
        if hasattr(remember, "FactFields")
        else inspect.signature(remember.set_fact).parameters
    )
    option = {"ttl_minutes": "--ttl", "tags": "--tag", "default_kind": None}
    from memcli.cli import fact, quick

    known = {
        quick.option_name(n) for n, p in inspect.signature(fact.set_).parameters.items() if p.kind is p.KEYWORD_ONLY
    }
    for name, parameter in inspect.signature(remember.set_fact).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY and name not in ("now", "default_kind"):
            assert option.get(name, quick.option_name(name)) in known, name
    assert fields


def test_importing_the_package_loads_nothing_of_it() -> None:
    code = "import sys, memcli; print([n for n in sys.modules if n.startswith('memcli.')])"
    import sys

    from support import environment

    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    assert memcli.Memory is Memory
    with pytest.raises(AttributeError):
        importlib.import_module("memcli").nothing  # noqa: B018


def test_labels_compare_and_print_as_words(m: Memory) -> None:
    fact = m.set_fact("k", "v", sensitivity="public", now=at()).fact
    assert fact.sensitivity < labels.INTERNAL
    assert str(fact.sensitivity) == "public"
    assert m.set_fact("k", sensitivity=labels.SENSITIVE, now=at()).fact.sensitivity == labels.SENSITIVE


def test_the_example_of_the_package_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert call(["init", "path/to/store"]).code == 0
    doc = memcli.__doc__
    assert doc is not None
    lines = [line for line in doc.splitlines() if "=" in line or line.startswith(("import", "m.", "print"))]
    assert len(lines) >= 3
    exec("\n".join(lines), {})
    assert memcli.open("path/to/store").get_fact("deploy target").text == "Fly.io, region fra"


def test_history_is_strict(m: Memory) -> None:
    m.set_fact("k", "one", now=at())
    m.set_fact("k", "two", sensitivity="restricted", now=at())
    assert [str(f.fact.sensitivity) for f in m.history("k", reveal=True)] == ["restricted"]
    assert m.history("k") == []
    assert forget.history(m.store, "k") == m.history("k", clearance="restricted")


def test_a_path_in_the_place_of_a_store_leads_to_open(tmp_path: Path) -> None:
    memcli.init(str(tmp_path))
    for path in (str(tmp_path), tmp_path):
        with pytest.raises(errors.UsageError, match="open") as caught:
            memcli.Memory(path)  # type: ignore[arg-type]
        assert "memcli.open" in caught.value.hint
