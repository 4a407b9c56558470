"""Immutable values without the start-up cost of `dataclasses` (decision 0002).

`@value` turns the annotations of a class into slots and a keyword-only constructor, and makes instances frozen,
comparable, printable and replaceable. Type checkers see a frozen dataclass.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar, dataclass_transform

    T = TypeVar("T")
else:

    def dataclass_transform(**_: object) -> object:
        return lambda f: f


@dataclass_transform(kw_only_default=True, frozen_default=True)
def value(cls: "type[T]") -> "type[T]":
    """Class decorator: fields are the annotations in order, defaults (immutable ones only) their class values."""
    names = tuple(cls.__annotations__)
    body = {k: v for k, v in vars(cls).items() if k not in (*names, "__dict__", "__weakref__")}
    defaults = {n: vars(cls)[n] for n in names if n in vars(cls)}
    body |= {
        "__slots__": names,
        "__match_args__": (),
        "__fields__": names,
        "__init__": _init(names, defaults),
        "__setattr__": _frozen,
        "__delattr__": _frozen,
        "__eq__": _equal,
        "__hash__": _hash,
        "__repr__": body.get("__repr__", _repr),
        "__reduce__": _reduce,
        "replace": _replace,
        "__replace__": _replace,
    }
    return type(cls.__name__, cls.__bases__, body)  # type: ignore[return-value]


def _init(names: tuple[str, ...], defaults: "dict[str, Any]") -> "Any":
    # One generated function a class: instances are made by the hundred thousand.
    params = ", ".join(f"{n}=_d[{n!r}]" if n in defaults else n for n in names)
    lines = "".join(f"    _set(self, {n!r}, {n})\n" for n in names) or "    pass\n"
    scope: dict[str, Any] = {"_set": object.__setattr__, "_d": defaults}
    exec(f"def __init__(self, *, {params}):\n{lines}" if names else f"def __init__(self):\n{lines}", scope)
    return scope["__init__"]


def _frozen(self: "Any", *_: object) -> None:
    raise AttributeError(f"{type(self).__name__} is frozen; use .replace(...)")


def _equal(self: "Any", other: object) -> bool:
    if type(self) is not type(other):
        return NotImplemented
    return all(getattr(self, n) == getattr(other, n) for n in self.__fields__)


def _hash(self: "Any") -> int:
    return hash((type(self), *(getattr(self, n) for n in self.__fields__)))


def _repr(self: "Any") -> str:
    return f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in self.__fields__)})"


def _make(cls: "type[T]", fields: "dict[str, Any]") -> "T":
    return cls(**fields)


def _reduce(self: "Any") -> "tuple[Any, ...]":
    return _make, (type(self), as_dict(self))


def _replace(self: "Any", **changes: object) -> "Any":
    return type(self)(**{**as_dict(self), **changes})


def as_dict(item: "Any") -> "dict[str, Any]":
    """The fields of one value by name, in order; not recursive."""
    return {n: getattr(item, n) for n in item.__fields__}
