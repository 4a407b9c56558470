"""What a Python program passes in, brought to the types that records have, before anything looks at it.

Words mean the same in every verb, so one table says what each field is. One text where a list is meant is a list of one;
None is what is not named. All else of another type is a UsageError that names the field: nothing slips past the scan for
credentials and personal data in a shape that it does not know, and nothing is stored that could not be read.
"""

import os
from datetime import datetime
from functools import wraps

from memcli.base import clock, errors
from memcli.engine import intake
from memcli.model.records import Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    T = TypeVar("T")
    Cast = Callable[[object, str], object]

MOST_RECORDS = 10**9
_ZONE_HINT = "datetime.now(timezone.utc)"


def instant(item: object, what: str) -> datetime:
    """An aware datetime. Raises UsageError naming the field."""
    if not isinstance(item, datetime):
        raise errors.UsageError(f"{what} is not a time", hint=_ZONE_HINT)
    if item.tzinfo is None:
        raise errors.UsageError(f"{what} is a naive time, no time with a zone", hint=_ZONE_HINT)
    return item


def flag(item: object, what: str) -> bool:
    """True or False and nothing that only counts as such. Raises UsageError naming the field."""
    if not isinstance(item, bool):
        raise errors.UsageError(f"{what} is neither True nor False")
    return item


def path(item: object, what: str) -> str:
    """The path of a file or folder as text. Raises UsageError naming the field."""
    return intake.words(
        item if isinstance(item, str) else os.fspath(item) if isinstance(item, os.PathLike) else 0, what
    )


def number(item: object, what: str) -> "str | float":
    """A number, or a word for one, which the verb reads. Raises UsageError naming the field."""
    if isinstance(item, bool) or not isinstance(item, (str, int, float)):
        raise errors.UsageError(f"{what} is not a number")
    return item


def mapping(item: object, what: str) -> "dict[str, Any]":
    """A mapping of what JSON can hold. Raises UsageError naming the field."""
    if not isinstance(item, dict):
        raise errors.UsageError(f"{what} is no mapping")
    return intake.mappings(item, what)[0]


def ways(item: object, _: str) -> "tuple[Step | str, ...]":
    """Steps of a procedure as values or texts. Raises UsageError."""
    listed = item if isinstance(item, (list, tuple)) else (item,)
    return tuple(_way(s) for s in listed)


def _way(item: object) -> "Step | str":
    if not isinstance(item, Step):
        return intake.words(item, "a step")
    return Step(
        name=intake.words(item.name, "the name of a step"),
        action=intake.words(item.action, "the action of a step"),
        parameters=None if item.parameters is None else mapping(item.parameters, "the parameters of a step"),
        expected=intake.words(item.expected, "what a step expects"),
        optional=flag(item.optional, "optional"),
    )


def _whole(most: int) -> "Cast":
    return lambda item, what: intake.whole(item, what, most)


def _named(cast: "Cast", names: str) -> "dict[str, Cast]":
    return dict.fromkeys(names.split(), cast)


# What each field is, whatever verb takes it. Labels (sensitivity, clearance) are read by model.labels.
FIELDS: "dict[str, Cast]" = {
    **_named(intake.words, "key new_key text ref name kind target query task outcome session run agent approach trace"),
    **_named(
        intake.words, "modality domain check source title task_type trigger role if_match by note via state concept"
    ),
    **_named(intake.words, "prefix goal format old new rev transcript url message"),
    **_named(intake.several, "tags tag concepts findings tools patterns derived_from kinds layers"),
    **_named(intake.mappings, "evidence"),
    **_named(mapping, "request"),
    **_named(_whole(intake.MOST_STEPS), "steps"),
    **_named(_whole(clock.MAX_TTL_MINUTES), "ttl_minutes"),
    **_named(_whole(60_000 * clock.MAX_TTL_MINUTES), "duration_ms"),
    **_named(_whole(MOST_RECORDS), "n limit days depth"),
    **_named(number, "confidence importance weight trust min_confidence min_importance last_hours budget"),
    **_named(
        flag, "create allow_secret allow_pii include_forgotten extract reveal purge prove tombstone dry_run yes fix"
    ),
    **_named(
        flag, "deep fresh receipt force success time_sensitive allow_commands trusted supersede untrusted all tidy"
    ),
    **_named(instant, "now at since until as_of"),
    **_named(path, "path directory"),
}
# Where one word is another thing.
OTHERS: "dict[tuple[str, str], Cast]" = {("propose_procedure", "steps"): ways, ("git_setup", "check"): flag}


def checked(verb: str, given: "Mapping[str, object]") -> "dict[str, Any]":
    """The fields of a verb with their types; a name that is in no table is left to the verb. Raises UsageError."""
    found: dict[str, Any] = {}
    for name, item in given.items():
        cast = OTHERS.get((verb, name)) or FIELDS.get(name)
        found[name] = item if cast is None else cast(item, name)
    return found


def guarded(face: "type[T]") -> "type[T]":
    """Class decorator: what is passed to a public verb is checked first."""
    for name, verb in list(vars(face).items()):
        if not name.startswith("_") and hasattr(verb, "__code__"):
            setattr(face, name, _guard(verb))
    return face


def _guard(verb: "Callable[..., Any]") -> "Callable[..., Any]":
    code, name = verb.__code__, verb.__name__
    places = code.co_varnames[1 : code.co_argcount]
    named = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    defaults = dict(zip(reversed(places), reversed(verb.__defaults__ or ()), strict=False)) | (
        verb.__kwdefaults__ or {}
    )
    needed = {n for n in named if defaults.get(n, "needed") is not None}

    @wraps(verb)
    def call(self: object, *args: object, **given: object) -> object:
        if len(args) > len(places) or given.keys() & set(places[: len(args)]):
            return verb(self, *args, **given)  # the interpreter says it best
        given = dict(zip(places, args, strict=False)) | given
        for each in needed & given.keys():
            if given[each] is None:
                raise errors.UsageError(f"{each} is None", hint="leave it out for what it is by itself")
        return verb(self, **checked(name, {n: item for n, item in given.items() if item is not None}))

    return call
