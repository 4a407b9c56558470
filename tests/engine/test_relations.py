"""Relations between facts, walks over them, and drawings that hold in any viewer."""

from datetime import datetime, timezone
from html.parser import HTMLParser

import pytest
from support import stamp

from memcli.base import errors
from memcli.engine import drawing, memory, relations

NOW = datetime(2026, 11, 15, 9, tzinfo=timezone.utc)


@pytest.fixture
def m(tmp_path):
    made = memory.init(tmp_path / "store")
    for key in ("redis", "cache", "database", "store", "hosting"):
        made.set_fact(key, f"about {key}", now=NOW)
    return made


def graph(m, **options):
    return relations.Graph(m.store, NOW, **options)


def relate(m, *words, **options):
    return relations.relate(m.store, *words, now=NOW, **options)


def test_a_relation_stands_in_the_front_matter_one_a_line(m, tmp_path):
    relate(m, "redis", "is_a", "cache", weight=0.8)
    relate(m, "redis", "part_of", "hosting")
    text = (tmp_path / "store/facts/redis.md").read_text()
    assert "relations:\n  - {type: is_a, target: cache, weight: 0.8}\n  - {type: part_of, target: hosting" in text


def test_the_same_relation_twice_touches_nothing(m, tmp_path):
    relate(m, "redis", "is_a", "cache", weight=0.8)
    before = (tmp_path / "store/facts/redis.md").stat().st_mtime_ns
    assert relate(m, "redis", "is_a", "cache", weight=0.8)[1] is False
    assert (tmp_path / "store/facts/redis.md").stat().st_mtime_ns == before
    assert relate(m, "redis", "is_a", "cache", weight=0.9)[1] is True


def test_related_shows_both_directions_strongest_first(m):
    relate(m, "redis", "is_a", "cache", weight=0.3)
    relate(m, "store", "related", "redis", weight=0.9)
    assert [(e.source, e.target) for e in graph(m).related("redis")] == [("store", "redis"), ("redis", "cache")]


def test_a_walk_goes_breadth_first_and_survives_cycles(m):
    relate(m, "redis", "is_a", "cache", weight=0.5)
    relate(m, "cache", "is_a", "store", weight=0.5)
    relate(m, "store", "is_a", "redis")
    steps = graph(m).chain("redis", depth=5)
    assert [(s.key, s.depth, s.weight) for s in steps] == [("cache", 1, 0.5), ("store", 2, 0.25)]


def test_links_in_a_text_count_as_related(m):
    m.set_fact("note", "See [[database]] and [[redis|the cache]].", now=NOW)
    found = graph(m).related("note")
    assert {(e.kind, e.target, e.weight) for e in found} == {("related", "database", 0.5), ("related", "redis", 0.5)}


def test_an_unknown_target_is_kept_and_said(m):
    relate(m, "redis", "related", "not yet written")
    assert [e.known for e in graph(m).related("redis")] == [False]


def test_a_withheld_fact_is_in_no_graph_by_no_name(m):
    m.set_fact("merger talks", "secret", sensitivity="restricted", now=NOW)
    relate(m, "redis", "related", "merger talks")
    relate(m, "merger talks", "related", "cache")
    found = graph(m)
    assert "merger" not in repr(found.edges)
    assert "merger" not in drawing.draw(found.edges, "mermaid")


def test_what_is_about_a_withheld_fact_is_withheld_as_its_value_is(box):
    box.set("merger talks", "secret", "--sensitivity", "sensitive")
    box.set("cache", "redis")
    box.ok("fact", "relate", "merger talks", "related", "cache")
    for words in (
        ("fact", "get", "merger talks"),
        ("fact", "related", "merger talks"),
        ("fact", "chain", "merger talks"),
        ("graph", "merger talks"),
    ):
        ran = box.run(*words)
        assert (ran.code, ran.out) == (6, "")
        assert "this fact is withheld: its label is above internal" in ran.err
    for words in (("related",), ("chain",)):
        assert "cache" in box.ok("fact", *words, "merger talks", "--clearance", "sensitive").out
        assert box.run("fact", *words, "nothing known").code == 3
    for call in (box.memory.related, box.memory.chain, box.memory.graph):
        with pytest.raises(errors.Withheld):
            call("merger talks", now=NOW)
    box.set("merger talks", "secret", "--ttl", "1")
    assert (
        box.run("fact", "related", "merger talks", now=stamp(days=1)).code
        == box.run("fact", "get", "merger talks", now=stamp(days=1)).code
        == 3
    )


def test_a_relation_that_is_not_there_cannot_be_taken_away(m):
    with pytest.raises(errors.NotFound):
        relations.unrelate(m.store, "redis", "is_a", "cache", now=NOW)


@pytest.mark.parametrize("kind", ["", "Is A", "x" * 41, "a-b", "\n"])
def test_odd_kinds_are_refused(m, kind):
    with pytest.raises(errors.UsageError):
        relate(m, "redis", kind, "cache")


class _Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.texts = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)


def test_the_page_is_one_file_that_fetches_and_runs_nothing(m):
    hostile = '"><script>alert(1)</script><img src=x onerror=alert(1)>'
    m.set_fact(hostile, "v", now=NOW)
    relate(m, "redis", "related", hostile)
    page = _Page()
    page.feed(drawing.draw(graph(m).edges, "html"))
    assert {tag for tag, _ in page.tags}.isdisjoint({"script", "img", "link", "iframe"})
    assert not any(name in attrs for _, attrs in page.tags for name in ("src", "href", "onerror"))
    assert any("<script>" in t for t in page.texts), "the key is shown as text"


def test_dot_and_mermaid_quote_what_would_break_them(m):
    m.set_fact('a "quoted" ]] key', "v", now=NOW)
    relate(m, "redis", "related", 'a "quoted" ]] key')
    edges = graph(m).edges
    assert '[label="a \\"quoted\\" ]] key"]' in drawing.draw(edges, "dot")
    assert "#34;quoted#34; #93;#93; key" in drawing.draw(edges, "mermaid")
