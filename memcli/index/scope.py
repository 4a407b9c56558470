"""What a reader asks the index for, and the figures of a store that no question changes."""

from memcli.base.value import Value, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@value
class Scope(Value):
    """Which rows are wanted beside being current and cleared: SQL conditions on `record r`, with their named values.

    phrases: stems that must stand side by side; without: stems that must not all be there.
    """

    conditions: tuple[str, ...] = ()
    values: "dict[str, Any]" = {}  # noqa: RUF012 - nobody changes it
    phrases: tuple[tuple[str, ...], ...] = ()
    without: tuple[tuple[str, ...], ...] = ()


@value
class Totals(Value):
    """How many records there are, whatever is asked. Of those that the reader is cleared for: current, expired and
    blocked ones by layer, faded facts, and current facts that replaced a former value. Of the others: current ones."""

    current: dict[int, int]
    expired: dict[int, int]
    blocked: dict[int, int]
    faded: int
    superseded: int
    withheld: int
