"""Immutable values: constructor, equality, replacement, pickling."""

import copy
import pickle

import pytest

from memcli.base.value import Value, as_dict, value


@value
class Point(Value):
    x: int
    y: int = 0

    def moved(self, by: int) -> "Point":
        return self.replace(x=self.x + by)


@value
class Place(Value):
    x: int
    y: int = 0


def test_fields_in_order_with_defaults() -> None:
    assert as_dict(Point(x=1)) == {"x": 1, "y": 0}
    assert list(as_dict(Point(y=2, x=1))) == ["x", "y"]
    assert repr(Point(x=1)) == "Point(x=1, y=0)"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "Point needs x"),
        ({"y": 1}, "Point needs x"),
        ({"x": 1, "z": 2}, "Point has no field 'z'"),
        ({"x": 1, "moved": 2}, "Point has no field 'moved'"),
        ({"z": 2}, "Point has no field 'z'"),
    ],
)
def test_a_wrong_call_says_which_field(fields: dict[str, int], message: str) -> None:
    with pytest.raises(TypeError) as bad:
        Point(**fields)
    assert str(bad.value) == message


def test_fields_are_named_not_counted() -> None:
    with pytest.raises(TypeError):
        Point(1)  # type: ignore[call-arg]


def test_a_value_is_frozen() -> None:
    point = Point(x=1)
    with pytest.raises(AttributeError, match="frozen"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(AttributeError, match="frozen"):
        del point.x
    with pytest.raises(AttributeError):
        point.other = 1


def test_equal_values_of_one_class_are_equal_and_hash_alike() -> None:
    assert Point(x=1) == Point(x=1, y=0) != Point(x=2)
    assert Point(x=1) != Place(x=1)
    assert len({Point(x=1), Point(x=1), Point(x=2)}) == 2


def test_replace_makes_another() -> None:
    point = Point(x=1, y=2)
    assert point.moved(2) == Point(x=3, y=2)
    assert point == Point(x=1, y=2)
    with pytest.raises(TypeError, match="no field 'z'"):
        point.replace(z=1)


def test_copies_and_pickles_are_equal() -> None:
    point = Point(x=1, y=2)
    assert pickle.loads(pickle.dumps(point)) == copy.deepcopy(point) == point
