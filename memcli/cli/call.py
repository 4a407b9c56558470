"""What passes between the command line and a command: Context in, Output back, and the Call that a reader makes.

A command is an ordinary typed function:

    def set_(ctx: Context, key: str, value: str | None = None, *, ttl: str | None = None, tag: tuple[str, ...] = (),
             create: bool = False, n: int = 20) -> Output:
        '''First line: what it does, shown in the list of commands.

        More, if needed.

        Example: memcli fact set "deploy target" "Fly.io"
        '''

The first parameter is the Context. Positional parameters are arguments, the last may be `tuple[str, ...]` and takes
the rest. Keyword-only parameters are options: `ttl` is `--ttl`, `derived_from` is `--derived-from`, `from_` is
`--from`, `n` is `-n`. Types: str, int, float, either with `| None`, bool (a flag, default False) and `tuple[str, ...]`
(repeatable). Annotations must be real objects, so no `from __future__ import annotations` in a command module.
A command that returns `-> Listing` (its data is a list) takes `--jsonl`; every command takes `--json`.

Plain classes with slots: on the hot path two generated value classes would cost more than the whole quick reader.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Context:
    """What the words before and beside a command say: the root options as typed (None: not given) and the format.

    The environment (MEMCLI_STORE and the like) is read below the command line, where these are None.
    """

    __slots__ = ("json", "jsonl", "now", "store", "tenant")

    def __init__(
        self,
        *,
        store: str | None = None,
        tenant: str | None = None,
        now: str | None = None,
        json: bool = False,
        jsonl: bool = False,
    ) -> None:
        self.store = store
        self.tenant = tenant
        self.now = now
        self.json = json
        self.jsonl = jsonl


class Plain(str):
    """A note with words that are a record's: nothing in it is taken for advice, which `advice.follow` would complete."""

    __slots__ = ()


class Output:
    """What a command has to say.

    data: anything JSON can hold, shown by --json. text: written to stdout exactly as it is, final newline or not
    (hidden characters shown as escapes); advice in it is for `advice.follow`. notes: lines for stderr, in every format,
    whose advice (`memcli VERB`) gets the --store and --tenant of the call. exit_code: 0 unless the answer itself is a
    refusal that is not an error (`check` that found something).
    """

    __slots__ = ("data", "exit_code", "notes", "text")

    def __init__(self, data: object, text: str = "", *, notes: tuple[str, ...] = (), exit_code: int = 0) -> None:
        self.data = data
        self.text = text
        self.notes = notes
        self.exit_code = exit_code


class Listing(Output):
    """An Output whose data is a list, so that --jsonl can print one record a line."""

    __slots__ = ()

    data: "list[Any]"


class Call:
    """One command with everything it needs: what both readers make of the same words.

    values: parameter name to value, only the parameters that were given; the function's own defaults do the rest.
    """

    __slots__ = ("ctx", "function", "values")

    def __init__(self, function: "Callable[..., Output]", ctx: Context, values: "dict[str, Any]") -> None:
        self.function = function
        self.ctx = ctx
        self.values = values

    def run(self) -> Output:
        """Call the function. Raises UsageError before anything is done when both JSON forms are asked for."""
        if self.ctx.json and self.ctx.jsonl:
            from memcli.base import errors

            raise errors.UsageError("--json and --jsonl exclude each other")
        return self.function(self.ctx, **self.values)


def lists(function: "Callable[..., Output]") -> bool:
    """Whether the command is declared `-> Listing`, and so takes --jsonl."""
    returned = function.__annotations__.get("return")
    return isinstance(returned, type) and issubclass(returned, Listing)
