"""What a Python program passes in: every verb and every field with a wrong type is refused by name, or kept as it reads."""

import inspect
from pathlib import Path
from typing import Any

import pytest
from support import NOW, Box, at

import memcli
from memcli import errors
from memcli.engine import choice, given, load, memorize, procedural, recount, remember, search
from memcli.engine.memory import Memory
from memcli.model.records import Episode, Fact, Procedure

SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
WRONG: tuple[object, ...] = (
    5,
    None,
    [1],
    ["abc"],
    "abc",
    {},
    object(),
    1.5,
    True,
    {"a": object()},
    (None,),
    b"abc",
    -1,
)
REF = "0199e4a0-5b00-7c3e-9a51-0d6a0f1b2c3d"
WORK = (
    "source",
    "confidence",
    "importance",
    "ttl_minutes",
    "sensitivity",
    "tags",
    "modality",
    "allow_secret",
    "allow_pii",
)
# A call of each verb that is right, or fails for want of a record alone.
CALLS: dict[str, tuple[object, ...]] = {
    "set_fact": ("k", "v"), "get_fact": ("k",), "facts": (), "rename_fact": ("k", "j"), "history": ("k",),
    "adopt": ("k",), "adopt_all": (), "forget": ("k",), "restore": ("k",), "add_episode": ("text",), "episodes": (),
    "remember": ("The port is 8080",), "consolidate": ("s",), "consolidate_all": (), "work_set": ("s", "k", "v"),
    "work_add": ("s", "v"), "work_get": ("s", "k"), "work_list": ("s",), "work_clear": ("s",), "search": ("v",),
    "context": (), "block": (), "sweep": (), "doctor": (), "reindex": (), "encode": (), "status": (), "stats": (),
    "export_jsonl": ("x.jsonl",), "import_jsonl": ("nofile",), "import_cognitive": ("nofile",), "retrieve": ("v",),
    "recall": ("v",), "retrieval_stats": (), "episode": (REF,), "confirm": ("k",), "deny": ("k",), "verify": (),
    "relate": ("k", "causes", "j"), "unrelate": ("k", "causes", "j"), "related": ("k",), "chain": ("k",), "graph": (),
    "propose_procedure": ("p", ("do",)), "approve_procedure": ("p",), "reject_procedure": ("p",),
    "record_procedure": ("p",), "best_procedures": ("t",), "procedures": (), "procedure": ("p",), "sources": (),
    "source": ("anna",), "set_source": ("anna",), "allow_source": ("anna",), "block_source": ("anna",), "review": (),
    "review_show": (REF,), "review_accept": (REF,), "review_accept_all": (), "review_reject": (REF,),
    "review_diff": ("HEAD",), "check_against": ("HEAD",), "export_skill": ("p", "skills"), "scrub": ("text",),
    "setting": ("defaults.ttl_minutes",), "audit": (), "prove": ("k", "v"), "git_setup": (),
}  # fmt: skip
NEEDS: dict[str, dict[str, object]] = {"record_procedure": {"success": True}}
MORE: dict[str, tuple[str, ...]] = {
    "set_fact": tuple(inspect.signature(remember.set_fact).parameters)[4:],
    "add_episode": (*tuple(inspect.signature(recount.add_episode).parameters)[3:], *sorted(recount._FIELDS)),
    "remember": tuple(inspect.signature(memorize.run).parameters)[4:],
    "work_set": WORK,
    "work_add": WORK,
    "propose_procedure": tuple(inspect.signature(procedural.propose).parameters)[4:],
    "search": (*search.Filters.__fields__, "last_hours"),
    "block": choice.Query.__fields__,
    "context": (*choice.Query.__fields__, "budget", "clearance", "now"),
    "import_jsonl": tuple(inspect.signature(load.Loader.__init__).parameters)[3:],
    "import_cognitive": tuple(inspect.signature(load.Loader.__init__).parameters)[3:],
}
NOT_OURS = {"default_kind", "fields", "filters", "options", "query", "how"}


def verbs() -> dict[str, tuple[str, ...]]:
    """Each verb with all its fields."""
    found = {}
    for name, verb in inspect.getmembers(Memory, inspect.isfunction):
        if not name.startswith("_"):
            own = [p.name for p in inspect.signature(verb).parameters.values() if p.kind is not p.VAR_KEYWORD][1:]
            more = [n for n in MORE.get(name, ()) if n not in NOT_OURS]
            found[name] = tuple(dict.fromkeys((*own, *more)))
    return found


@pytest.fixture
def m(box: Box, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Memory:
    monkeypatch.setenv("MEMCLI_NOW", NOW)
    monkeypatch.chdir(tmp_path)
    return memcli.open(str(box.root))


def test_every_verb_is_called_here() -> None:
    assert set(CALLS) == set(verbs()) - {"sync"}  # that one needs a bucket: tests/fleet


@pytest.mark.parametrize("verb", sorted(CALLS))
def test_a_field_of_a_wrong_type_is_refused_or_reads_back(verb: str, m: Memory) -> None:
    for field in verbs()[verb]:
        for item in WRONG:
            places = list(inspect.signature(getattr(Memory, verb)).parameters)[1:]
            call = dict(zip(places, CALLS[verb], strict=False)) | NEEDS.get(verb, {}) | {field: item}
            if (verb, field) == ("set_fact", "key"):
                call["text"] = "v"
            made = None
            try:
                made = getattr(m, verb)(**call)
            except errors.MemcliError:
                continue
            except TypeError as e:
                wrong = None if "unexpected keyword" in str(e) or "has no field" in str(e) else e
            else:
                wrong = None
            assert wrong is None, (field, item)
            reads_back(m, getattr(made, "fact", made), (field, item))
    assert [f for f in m.doctor() if f.code.startswith(("damaged", "not_", "torn"))] == []


def reads_back(m: Memory, made: object, case: object) -> None:
    if isinstance(made, Fact) and made.name and not made.derived_from:
        assert m.get_fact(made.key, reveal=True) == made, case
    elif isinstance(made, Episode):
        assert m.episode(made.id, reveal=True) == made, case
    elif isinstance(made, Procedure):
        found = m.procedure(made.key, reveal=True)
        assert found.replace(name=made.name, digest=made.digest) == made, case


LISTED = {
    "set_fact": ("tags", "derived_from"),
    "add_episode": ("tags", "concepts", "findings", "tools", "patterns"),
    "remember": ("tags",),
    "work_set": ("tags",),
    "work_add": ("tags",),
    "propose_procedure": ("tags",),
}


@pytest.mark.parametrize(("verb", "field"), [(v, f) for v, fields in LISTED.items() for f in fields])
@pytest.mark.parametrize(
    "item", [[SECRET], (SECRET,), SECRET, ["a", f"b {SECRET}"]], ids=["list", "tuple", "text", "in"]
)
def test_a_list_of_texts_is_scanned_whatever_holds_it(verb: str, field: str, item: object, m: Memory, box: Box) -> None:
    before = box.tree()
    with pytest.raises(errors.SecretFound):
        getattr(m, verb)(*CALLS[verb], **{field: item})
    assert box.tree() == before


def test_engines_scan_lists_too(box: Box) -> None:
    for field in ("tags", "concepts", "findings", "tools", "patterns"):
        with pytest.raises(errors.SecretFound):
            recount.add_episode(box.store, "text", now=at(), **{field: [SECRET]})
    with pytest.raises(errors.SecretFound):
        remember.set_fact(box.store, "k", "v", now=at(), tags=[SECRET])  # type: ignore[arg-type]
    with pytest.raises(errors.SecretFound):
        memorize.run(box.store, "The port is 1", now=at(), tags=[SECRET])  # type: ignore[arg-type]
    steps = (procedural.Step(name="", action="do", parameters={"deep": [{"token": SECRET}]}),)
    with pytest.raises(errors.SecretFound):
        procedural.propose(box.store, "p", steps, now=at())
    assert SECRET.encode() not in b"".join(box.tree(state=True, index=True).values())


@pytest.mark.parametrize("item", [[{"modality": "image", "source": "b.png"}], {"modality": "image", "source": "b.png"}])
def test_evidence_in_a_list_or_alone_is_kept(item: object, m: Memory) -> None:
    made = m.add_episode("x", evidence=item)
    assert made.evidence == ({"modality": "image", "source": "b.png"},)
    assert m.episode(made.id) == made
    with pytest.raises(errors.SecretFound):
        m.add_episode("x", evidence=[{"source": "a", SECRET: "b"}])


def test_one_text_is_a_list_of_one(m: Memory) -> None:
    assert m.add_episode("x", tags="abc", tools=["a", "b"]).tags == ("abc",)
    m.set_fact("base", "v")
    assert m.set_fact("k", "v", tags="abc", derived_from="base").fact.derived_from == ("base",)
    assert [f.key for f in m.facts(tag="abc")] == ["k"]


@pytest.mark.parametrize(
    ("verb", "call"),
    [
        ("set_fact", {"key": "k", "text": 5}),
        ("set_fact", {"key": "k", "text": "v", "domain": 5}),
        ("set_fact", {"key": "k", "text": "v", "ttl_minutes": 1.5}),
        ("set_fact", {"key": "k", "text": "v", "allow_secret": "no"}),
        ("remember", {"text": 5}),
        ("add_episode", {"text": "x", "at": "2026-01-01"}),
        ("add_episode", {"text": "x", "tags": [1, 2]}),
        ("status", {"now": "2026-01-01T00:00:00Z"}),
        ("status", {"now": at().replace(tzinfo=None)}),
        ("related", {"key": "k", "n": -1}),
        ("episodes", {"n": True}),
        ("episodes", {"n": -1}),
        ("search", {"query": "x", "limit": None}),
    ],
)
def test_the_error_names_the_field(verb: str, call: dict[str, Any], m: Memory) -> None:
    with pytest.raises(errors.UsageError) as e:
        getattr(m, verb)(**call)
    assert any(word in str(e.value) for word in (*call, "TTL", "records")), e.value


def test_a_call_that_python_refuses_stays_a_type_error(m: Memory) -> None:
    for call in (lambda: m.get_fact(), lambda: m.get_fact("a", "b"), lambda: m.get_fact("a", key="b")):  # type: ignore[call-arg, misc]
        with pytest.raises(TypeError):
            call()
    with pytest.raises(TypeError):
        m.search("x", tag="y")
    with pytest.raises(TypeError):
        m.set_fact("k", "v", ttl=5)  # type: ignore[call-arg]


def test_a_file_that_is_not_there(m: Memory, tmp_path: Path) -> None:
    for path in ("nofile", tmp_path, tmp_path / "no"):
        with pytest.raises(errors.NotFound):
            m.import_jsonl(path)  # type: ignore[arg-type]


def test_every_field_of_a_verb_is_in_the_table() -> None:
    read_elsewhere = {"sensitivity", "clearance"}
    for verb, fields in verbs().items():
        assert {*fields} - read_elsewhere <= {*given.FIELDS}, verb


def test_history_and_checks_show_no_withheld_record(m: Memory) -> None:
    m.set_fact("k", "old", sensitivity="restricted", check="path:/")
    m.set_fact("k", "new")
    assert m.history("k") == []
    assert [f.fact.text for f in m.history("k", reveal=True)] == ["old"]
    assert [f.fact.text for f in m.history("k", clearance="restricted")] == ["old"]
    m.set_fact("k", check="path:/")
    assert m.verify() == []
    m.set_fact("open", "v", derived_from=("k",))
    assert m.get_fact("open").derived_from == ()
    assert m.get_fact("open", reveal=True).derived_from == ("k",)


def test_filters_of_the_command_line(m: Memory, box: Box) -> None:
    m.add_episode("a", session="s", outcome="failed", tags=["t", "u"], at=at(days=-2))
    m.add_episode("b", tags="t")
    assert [e.text for e in m.episodes(tag="t")] == ["b", "a"]
    assert [e.text for e in m.episodes(tag=("t", "u"))] == ["a"]
    assert [e.text for e in m.episodes(session="s", outcome="failed")] == ["a"]
    assert [e.text for e in m.episodes(since=at(days=-1))] == ["b"]
    assert [e.text for e in m.episodes(until=at(days=-1))] == ["a"]
    assert [e.text for e in m.episodes(n=1)] == ["b"]
    with pytest.raises(errors.UsageError):
        m.episodes(outcome="nope")
    m.set_fact("x", "1", source="user:anna")
    m.set_fact("y", "2", source="user:sam")
    assert [f.key for f in m.facts(source="anna")] == ["x"]
    assert [f.key for f in m.facts(n=1)] == ["x"]
    (box.root / "facts/z.md").write_text("---\nkey: z\nsensitivity: internal\n---\n\nhand\n")
    assert [w.fact.source.id for w in m.adopt_all(source="user:anna")] == ["anna"]
    assert m.adopt("z", source="user:sam").how == "unchanged"
