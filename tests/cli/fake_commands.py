"""Commands that do nothing but say what they were called with; between them they have every kind of parameter."""

import os

from memcli.base import errors
from memcli.cli.call import Context, Listing, Output


def said(ctx: Context, **values: object) -> dict[str, object]:
    """What a command got, types included: repr tells 1 from 1.0 and True."""
    names = ("store", "tenant", "now", "json", "jsonl")
    return {"ctx": {name: getattr(ctx, name) for name in names}, "values": {k: repr(v) for k, v in values.items()}}


def bare(ctx: Context) -> Output:
    """Do nothing at all.

    Example: memcli bare
    """
    return Output(said(ctx), "bare\n")


def set_(
    ctx: Context,
    key: str,
    value: str | None = None,
    *,
    ttl: str | None = None,
    tag: tuple[str, ...] = (),
    importance: float | None = None,
    derived_from: tuple[str, ...] = (),
    from_: str | None = None,
    create: bool = False,
    n: int = 20,
) -> Output:
    """Keep a value under a key.

    The same value again changes nothing.

    Example: memcli fact set "deploy target" "Fly.io, region fra" --source user:anna --tag ops --tag deploy --ttl 30d
    Example: memcli fact set note -

    Example: memcli fact set last -- "- a dash"
    """
    values = {"key": key, "value": value, "ttl": ttl, "tag": tag, "importance": importance, "n": n}
    return Output(said(ctx, **values, derived_from=derived_from, from_=from_, create=create), f"{key}\n")


def list_(
    ctx: Context, words: tuple[str, ...] = (), *, layer: tuple[str, ...] = ("facts",), all: bool = False
) -> Listing:
    """List everything, one line each."""
    return Listing([said(ctx, words=words, layer=layer, all=all), {"a": "b"}], "one\ntwo\n", notes=("2 of 3 shown",))


def many(ctx: Context, first: int, words: tuple[str, ...], *, session: str, at: str = "now") -> Output:
    """Take one number and at least one word, with an option that must be given."""
    return Output(said(ctx, first=first, words=words, session=session, at=at))


def numbers(
    ctx: Context, one: int, two: float | None = None, *, steps: int | None = None, budget: float = 0.5
) -> Output:
    """Take numbers of every sort."""
    return Output(said(ctx, one=one, two=two, steps=steps, budget=budget))


def say(ctx: Context, text: str, *, note: tuple[str, ...] = (), code: int = 0) -> Output:
    """Say a text and notes, and end with a code."""
    return Output(text, text, notes=note, exit_code=code)


def fail(ctx: Context, how: str) -> Output:
    """Fail in one of many ways."""
    secret = "sk-live-planted-secret"
    if how == "changed":
        raise errors.Changed("the fact is\nnot what you saw \x1b[31m", path="facts/a\x07.md")
    if how == "bare":
        raise errors.NotFound("no such fact")
    if how == "os":
        os.stat(os.path.join(os.sep, "nowhere", "at all"))
    if how == "pipe":
        raise BrokenPipeError(32, "Broken pipe", "a helper")
    if how == "deep":
        return fail(ctx, how)
    if how == "memory":
        raise MemoryError(secret)
    if how == "interrupt":
        raise KeyboardInterrupt
    raise {"key": KeyError, "value": ValueError, "unicode": UnicodeError}[how](secret)


def descriptor(ctx: Context) -> Output:
    """End with the number of the next file descriptor as exit code."""
    number = os.open(os.devnull, os.O_RDONLY)
    os.close(number)
    return Output(None, exit_code=number)


def rest(ctx: Context, *words: str) -> Output:
    """Not allowed: a command names its parameters."""
    return Output(said(ctx, words=words))


def typed(ctx: Context, words: list[str]) -> Output:
    """Not allowed: a list is no type for a command."""
    return Output(said(ctx, words=words))


GROUPS = {"fact": "What is known.", "show": "What is shown."}
COMMANDS = {
    "bare": (__name__, "bare"),
    "fact set": (__name__, "set_"),
    "fact list": (__name__, "list_"),
    "fact many": (__name__, "many"),
    "numbers": (__name__, "numbers"),
    "show say": (__name__, "say"),
    "fail": (__name__, "fail"),
    "descriptor": (__name__, "descriptor"),
}
