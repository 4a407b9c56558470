"""Immutable values without the start-up cost of `dataclasses` (docs/decisions/0002).

    @value
    class Point(Value):
        x: int
        y: int = 0

`@value` turns the annotations into slots and a keyword-only constructor; `Value` makes instances frozen, comparable,
printable and replaceable. Type checkers see a frozen dataclass.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self, TypeVar, dataclass_transform

    T = TypeVar("T", bound="Value")
else:

    def dataclass_transform(**_: object) -> object:
        return lambda f: f


_set = object.__setattr__


class Value:
    """Base of all values. `__fields__` names the fields in order, `__defaults__` holds the values of those that have one."""

    __slots__ = ()
    __fields__: "tuple[str, ...]" = ()
    __defaults__: "dict[str, Any]" = {}  # noqa: RUF012 - nobody changes it

    # One constructor for all: to generate one for each class would cost a command 1 ms before it does anything.
    def __init__(self, **fields: object) -> None:
        given = {**self.__defaults__, **fields}
        try:
            for name, item in given.items():
                _set(self, name, item)
        except AttributeError:
            raise TypeError(f"{type(self).__name__} has no field {name!r}") from None
        if len(given) != len(self.__fields__):
            missing = ", ".join(n for n in self.__fields__ if n not in given)
            raise TypeError(f"{type(self).__name__} needs {missing}")

    def replace(self, **changes: object) -> "Self":
        """The same value with some fields changed."""
        return type(self)(**{**as_dict(self), **changes})

    __replace__ = replace  # copy.replace of Python 3.13

    def __setattr__(self, name: str, _: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen; use .replace({name}=...)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, n) == getattr(other, n) for n in self.__fields__)

    def __hash__(self) -> int:
        return hash((type(self), *(getattr(self, n) for n in self.__fields__)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in self.__fields__)})"

    def __reduce__(self) -> "tuple[Any, ...]":
        return _make, (type(self), as_dict(self))


@dataclass_transform(kw_only_default=True, frozen_default=True)
def value(cls: "type[T]") -> "type[T]":
    """Class decorator: fields are the annotations in order, defaults (immutable ones only) their class values."""
    names, own = tuple(cls.__annotations__), vars(cls)
    body = {k: v for k, v in own.items() if k not in (*names, "__dict__", "__weakref__")}
    body |= {"__slots__": names, "__fields__": names, "__defaults__": {n: own[n] for n in names if n in own}}
    return type(cls.__name__, cls.__bases__, body)


def as_dict(item: Value) -> "dict[str, Any]":
    """The fields of one value by name, in order; not recursive."""
    return {n: getattr(item, n) for n in item.__fields__}


def _make(cls: "type[T]", fields: "dict[str, Any]") -> "T":
    return cls(**fields)
