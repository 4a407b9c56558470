"""Vectors in little space, without numpy: a code of signs to look through all of them, eight bits a number to compare few.

All of a model's vectors point much the same way; what tells texts apart is how they differ from that. So each is taken
relative to the model's middle (the mean over some plain sentences) and brought to length one. Its code is one bit a
number, its sign; vectors close to each other differ in few bits (Charikar 2002, similarity by sign of projections).
"""

from array import array
from heapq import nlargest, nsmallest
from math import isfinite, sqrt
from operator import mul

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeVar

    K = TypeVar("K")
    Vector = list[float]

# So many of the best by code are compared number by number. Of the exact ten best, nine or more are among them up to
# 100,000 vectors.
COMPARED = 200


def middle(vectors: "Sequence[Vector]") -> "Vector":
    """The mean of vectors of one length; at least one is needed."""
    return [sum(column) / len(vectors) for column in zip(*vectors, strict=True)]


def unit(vector: "Vector") -> "Vector":
    """A vector brought to length one. Raises ValueError for one without a direction: all zero, or not finite."""
    length = sqrt(sum(map(mul, vector, vector)))
    if not isfinite(length) or length <= 0:
        raise ValueError("a vector without a direction")
    return [x / length for x in vector]


def centred(vector: "Vector", centre: "Vector") -> "Vector":
    """A vector relative to the model's middle, of length one; all zero for one that is the middle itself."""
    apart = [a - b for a, b in zip(vector, centre, strict=True)]
    try:
        return unit(apart)
    except ValueError:
        return [0.0] * len(vector)


def signs(vector: "Vector") -> bytes:
    """One bit a number: whether it is above zero."""
    bits = int("".join(["1" if x > 0 else "0" for x in vector]) or "0", 2)
    return bits.to_bytes((len(vector) + 7) // 8, "big")


def packed(vector: "Vector") -> tuple[float, bytes]:
    """Eight bits a number, and what to multiply them by to get the vector back."""
    most = max(map(abs, vector), default=0.0)
    if not most:
        return 0.0, bytes(len(vector))
    return most / 127, array("b", [round(127 * x / most) for x in vector]).tobytes()


def cosine(vector: "Vector", scale: float, body: bytes) -> float:
    """Cosine of a vector of length one and a packed one, -1..1 whatever the two hold."""
    found = float(scale * sum(map(mul, vector, memoryview(body).cast("b"))))
    return min(max(found, -1.0), 1.0) if isfinite(found) else 0.0


def nearest(code: bytes, codes: "Iterable[tuple[int, bytes]]", most: int = COMPARED) -> list[int]:
    """The numbers of the codes that differ from this one in the fewest bits, nearest first."""
    asked, read = int.from_bytes(code, "big"), int.from_bytes
    apart = [((asked ^ read(other, "big")).bit_count(), number) for number, other in codes]
    return [number for _, number in nsmallest(most, apart)]


def best(cosines: "dict[K, float]", most: int) -> "list[K]":
    """The keys with the greatest cosines, the greatest first."""
    return nlargest(most, cosines, key=cosines.__getitem__)


def floats(vector: "Vector") -> bytes:
    """A vector as it is kept where every digit counts: eight bytes a number."""
    return array("d", vector).tobytes()


def unpacked(data: bytes) -> "Vector":
    """What `floats` made. Raises ValueError for anything else."""
    return array("d", data).tolist()
