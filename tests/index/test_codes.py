"""Vectors in little space: what is packed comes back nearly, codes find what numbers find, and nothing raises for odd ones."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.index import codes

Vector = list[float]
VECTORS = st.integers(1, 40).flatmap(
    lambda n: st.lists(st.floats(-1e6, 1e6, allow_nan=False), min_size=n, max_size=n).filter(
        lambda v: sum(x * x for x in v) > 1e-9
    )
)


def dot(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def cloud(count: int, dimensions: int = 384, seed: int = 1) -> list[Vector]:
    """Vectors about the same direction, in groups that are close to each other, as those of a model are."""
    rng = random.Random(seed)
    common = [rng.gauss(0, 1) for _ in range(dimensions)]
    topics = [[rng.gauss(0, 1) for _ in range(dimensions)] for _ in range(20)]
    return [
        codes.unit([2 * c + t + rng.gauss(0, 0.7) for c, t in zip(common, rng.choice(topics), strict=True)])
        for _ in range(count)
    ]


@given(VECTORS)
def test_a_packed_vector_is_the_vector_to_a_hundredth(vector: Vector) -> None:
    one = codes.unit(vector)
    scale, body = codes.packed(one)
    assert len(body) == len(one)
    assert math.isclose(codes.cosine(one, scale, body), 1.0, abs_tol=0.01 * math.sqrt(len(one)))


@given(VECTORS)
def test_kept_whole_it_comes_back_whole(vector: Vector) -> None:
    assert codes.unpacked(codes.floats(vector)) == vector


@given(VECTORS)
def test_a_code_is_the_signs(vector: Vector) -> None:
    code = codes.signs(vector)
    assert len(code) == (len(vector) + 7) // 8
    bits = f"{int.from_bytes(code, 'big'):0{len(vector)}b}"
    assert [b == "1" for b in bits] == [x > 0 for x in vector]


@pytest.mark.parametrize("vector", [[0.0, 0.0], [math.nan, 1.0], [math.inf, 1.0], []])
def test_what_has_no_direction_is_refused(vector: Vector) -> None:
    with pytest.raises(ValueError, match="direction"):
        codes.unit(vector)


def test_what_is_the_middle_itself_is_near_to_nothing() -> None:
    assert codes.centred([1.0, 2.0], [1.0, 2.0]) == [0.0, 0.0]
    assert codes.packed([0.0, 0.0]) == (0.0, b"\0\0")
    assert codes.cosine([0.6, 0.8], 0.0, b"\0\0") == 0.0


def test_the_middle_is_taken_out() -> None:
    held = cloud(200)
    centre = codes.middle(held)
    apart = [codes.centred(v, centre) for v in held]
    before = sum(dot(held[0], v) for v in held[1:]) / 199
    after = sum(dot(apart[0], v) for v in apart[1:]) / 199
    assert before > 0.5
    assert abs(after) < 0.1


def test_codes_keep_nearly_all_of_the_exact_ten_best_among_those_compared() -> None:
    held = cloud(3000)
    centre = codes.middle(held[:32])
    apart = [codes.centred(v, centre) for v in held]
    listed = [(i, codes.signs(v)) for i, v in enumerate(apart)]
    kept = 0
    for asked in range(0, 100, 10):
        exact = sorted(range(len(apart)), key=lambda i: -dot(apart[asked], apart[i]))[:10]
        near = codes.nearest(codes.signs(apart[asked]), listed)
        assert near[0] == asked
        assert len(near) == codes.COMPARED
        kept += len(set(exact) & set(near))
    assert kept >= 85


@given(st.binary(max_size=9), st.floats(allow_nan=False))
def test_whatever_a_row_holds_a_cosine_is_one(body: bytes, scale: float) -> None:
    assert -1.0 <= codes.cosine([0.5] * 4, scale, body) <= 1.0


def test_nearest_is_in_order_and_bounded() -> None:
    listed = [(1, b"\xff"), (2, b"\x0f"), (3, b"\x01"), (4, b"\x00")]
    assert codes.nearest(b"\x00", listed, 3) == [4, 3, 2]
    assert codes.nearest(b"\x00", []) == []
