"""What a tombstone would keep out, the proof of forgetting finds: in every place, however it is written and cut."""

import json
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import CANARY, Box

from memcli.engine import history, needles, prove
from memcli.store import tombstones

KEY = "home address"
TEXTS = [
    f'14 "{CANARY}" Lane, Oxford',
    "Улица Зимородка, дом ёлки 14, квартира Ё",
    "Straße 7 ¼, ﬁrst ﬂoor Åre",
    "C:\\new\\table 5",
]
WAYS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "capitals": str.upper,
    "small": str.casefold,
    "wrapped": lambda t: t.replace(" ", "\n"),
    "wrapped and indented": lambda t: t.replace(" ", "\r\n\t  "),
    "two spaces": lambda t: t.replace(" ", "  "),
    "far apart": lambda t: t.replace(" ", " " * 5000),
    "no-break spaces": lambda t: t.replace(" ", "\N{NO-BREAK SPACE}"),
    "typographic quotes": lambda t: f"“{t.replace(chr(34), chr(0xAB))}”",
    "no quotes": lambda t: t.replace('"', ""),
    "another form": lambda t: unicodedata.normalize("NFKD", t),
    "full width": lambda t: "".join(chr(ord(c) + 0xFEE0) if "!" < c < "~" and c != "\\" else c for c in t),
}
FORMS: dict[str, Callable[[str], bytes]] = {
    "text": str.encode,
    "JSON": lambda t: json.dumps({"text": t}, ensure_ascii=False).encode(),
    "ASCII JSON": lambda t: json.dumps([f"x {t}"]).encode(),
    "in noise": lambda t: b"\xff\x00\xc3\n" + t.encode() + b"\n\xe2\x82",
    "many escapes before": lambda t: json.dumps("ю" * 30_000 + t).encode(),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_what_a_tombstone_keeps_out_is_found(text: str, way: str, form: str) -> None:
    said = WAYS[way](text)
    assert tombstones.normal(said) == tombstones.normal(text)
    data, wanted = FORMS[form](said), needles.of([(KEY, text)])
    assert needles.count(data, wanted) == 1
    for size in (1, 7, 4096) if len(data) < 1000 else (4096, 4097):
        search = needles.Search(wanted)
        for at in range(0, len(data), size):
            search.feed(data[at : at + size])
        assert search.end() == 1, size


ANY = st.text(st.one_of(st.sampled_from(" \n\t\"'»\\.uU0aAéÉё\u0301ﬁß½"), st.characters(codec="utf-8")), max_size=60)


@given(text=ANY, before=ANY, after=ANY, sizes=st.lists(st.integers(1, 9), min_size=1), escaped=st.booleans())
def test_however_the_stream_is_cut_the_count_is_the_same(
    text: str, before: str, after: str, sizes: list[int], escaped: bool
) -> None:
    wanted = needles.of([("k", text)])
    whole = f"{before} {text} {after}"
    data = (json.dumps(whole) if escaped else whole).encode()
    search, at, turn = needles.Search(wanted), 0, 0
    while at < len(data):
        size = sizes[turn % len(sizes)]
        search.feed(data[at : at + size])
        at, turn = at + size, turn + 1
    assert search.end() == needles.count(data, wanted)
    if any(n.text and not n.near for n in wanted.folded):
        assert needles.count(data, wanted) >= 1


def test_memory_is_bounded_whatever_the_data() -> None:
    import tracemalloc

    wanted = needles.of([(KEY, TEXTS[0])])
    odd = (
        b"\\",
        b"x",
        b" ",
        b"\xff",
        "ю".encode(),
        "е\u0301".encode(),
        "\u0301".encode(),
        b"\\u044e",
        b"\\ud83d\\ude00",
    )
    for piece in odd:
        search = needles.Search(wanted)
        tracemalloc.start()
        for _ in range(8):
            search.feed(piece * 5_000)
        search.feed(TEXTS[0].encode())
        assert search.end() == 1
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
        tracemalloc.stop()


def test_a_short_text_is_a_whole_word_of_a_file_that_names_its_key() -> None:
    wanted = needles.of([("Port", "8080")])
    for data, found in (
        (b"PORT: 8080", 1),
        (b"8080" + b" " * 100_000 + b"x" * 100_000 + b" port", 1),
        (b"port 80801 x8080 8080_", 0),
        (b"8080 alone", 0),
    ):
        for size in (1, 5, 1000) if len(data) < 1000 else (999, 1000):
            search = needles.Search(wanted)
            for at in range(0, len(data), size):
                search.feed(data[at : at + size])
            assert search.end() == found, (data[:20], size)


PLACES = "facts/x.md episodes/x.md procedures/x.md archive/x.jsonl .memcli/trash/facts/x.jsonl .memcli/work/x.json notes".split()


@pytest.mark.parametrize("way", [w for w in WAYS if w != "far apart"])
def test_in_every_place_and_in_git(box: Box, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import subprocess

    box.ok("init", str(box.root), "--git")
    text, said = TEXTS[0], WAYS[way](TEXTS[0])
    for at, place in enumerate(PLACES):
        path = box.root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(FORMS["ASCII JSON" if at % 2 else "in noise"](said))
    for words in (("add", "-f", "notes"), ("commit", "-q", "-m", "x")):
        subprocess.run(["git", "-C", str(box.root), *words], check=True)
    for size in (1 << 20, 11):
        monkeypatch.setattr(prove, "_PIECE_BYTES", size)
        monkeypatch.setattr(history, "_PIECE_BYTES", size)
        found = prove.run(box.store, [(KEY, text)], names=(), layer="facts")
        assert sorted(t.path for t in found.found) == sorted(PLACES)
        assert found.git is not None
        assert len(found.git.holding) == 1
