"""Is a history of one register linearizable? With the order of the writes given, that can be decided read by read.

The order is that of the chain of values, which the store itself keeps. It must agree with real time (a write that ended
before another began stands before it), and each read must return a value that was the register's at some moment between
its beginning and its end. Herlihy and Wing, "Linearizability", ACM TOPLAS 12(3), 1990; with unique values and a known
order of writes the check is exact.
"""

from typing import NamedTuple


class Op(NamedTuple):
    """One operation. kind: write or read; value: what was written or seen, "" for nothing yet; began, ended: real time."""

    kind: str
    value: str
    began: int
    ended: int


def violations(ops: list[Op], order: list[str]) -> list[str]:
    """What contradicts the order of the writes; [] for a linearizable history."""
    found = []
    place = {"": 0} | {value: n for n, value in enumerate(order, 1)}
    writes = {place[op.value]: op for op in ops if op.kind == "write"}
    found += [f"{op.value} is in no history" for op in ops if op.value not in place]
    listed = [writes[n] for n in sorted(writes)]
    # Each write takes effect at a moment of its own interval: the earliest that the order leaves.
    moments, now = {0: -1}, -1
    for n, op in enumerate(listed, 1):
        now = max(now, op.began)
        if now > op.ended:
            found.append(f"{op.value} ended before what stands before it began")
        moments[n] = now
    latest, end = {len(listed): 1 << 80}, 1 << 80
    for n in range(len(listed) - 1, -1, -1):
        end = min(end, listed[n].ended)
        latest[n] = end  # at the latest then the next write has taken effect
    for op in ops:
        if op.kind == "read" and op.value in place:
            n = place[op.value]
            if op.ended < moments[n]:
                found.append(f"{op.value} was seen before it was written")
            if op.began > latest[n]:
                found.append(f"{op.value or 'nothing'} was seen after the next value was there")
    return found + _backwards(ops, place)


def _backwards(ops: list[Op], place: dict[str, int]) -> list[str]:
    """Reads that see an older value than a read that had ended before they began."""
    reads = sorted((op for op in ops if op.kind == "read" and op.value in place), key=lambda op: op.began)
    ended = sorted(reads, key=lambda op: op.ended)
    found, newest, at = [], 0, 0
    for op in reads:
        while at < len(ended) and ended[at].ended < op.began:
            newest = max(newest, place[ended[at].value])
            at += 1
        if place[op.value] < newest:
            found.append(f"{op.value or 'nothing'} was seen after a newer value")
    return found
