"""What `memcli stats --retrieval` prints: the retrieval log in numbers."""

from memcli.base import clock
from memcli.cli import session, show
from memcli.cli.call import Context, Output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from memcli.engine.monitoring import Retrievals, Served, Tally


def stats(ctx: Context, since: str | None, days: int | None) -> Output:
    """The numbers as data and as lines."""
    from memcli.engine import monitoring

    now = session.now(ctx)
    store = session.store(ctx)
    found = monitoring.report(
        store, now=now, since=session.moment(since, now), days=monitoring.DRIFT_DAYS if days is None else days
    )
    notes: tuple[str, ...] = (
        () if store.settings["monitor.enabled"] else ("monitor.enabled is false: nothing new is written down",)
    )
    if found.unreadable:
        notes += (
            f"{found.unreadable} lines of .memcli/retrieval.jsonl cannot be read and count for nothing; it may be deleted",
        )
    return Output(_data(found), "".join(f"{line}\n" for line in _lines(found)), notes=notes)


def _data(found: "Retrievals") -> "dict[str, Any]":
    return {
        "since": clock.show(found.since) if found.since else None,
        **_tally(found.queries),
        "listings": found.listings,
        "repeated": found.repeated,
        "by_command": found.by_command,
        "weeks": [{"week": week.start, **_tally(week)} for week in found.weeks],
        "drift": {"now": found.drift.now, "before": found.drift.before, "change": found.drift.change},
        "most_served": [_served(s) for s in found.served],
        "not_strong": {
            "count": found.poor_count,
            "questions": [
                {
                    "at": clock.show(p.at),
                    "command": show.scrub(p.command),
                    "verdict": p.verdict,
                    "text": show.scrub(p.text),
                }
                for p in found.poor
            ],
        },
        "unreadable": found.unreadable,
        "never_served": {
            "days": found.days,
            "count": found.never_served_count,
            "facts": [_served(s) for s in found.never_served],
        },
    }


def _tally(tally: "Tally") -> "dict[str, Any]":
    return {"queries": tally.queries, "strong": tally.strong, "weak": tally.weak, "none": tally.none}


def _served(served: "Served") -> "dict[str, Any]":
    row: dict[str, Any] = {"id": served.id, "layer": served.layer, "count": served.count}
    return row | ({"key": str(show.scrub(served.key))} if served.key else {})


def _lines(found: "Retrievals") -> "list[str]":
    since = f" since {clock.show(found.since)}" if found.since else ""
    lines = [f"queries: {_said(found.queries)}{since}", f"listings: {found.listings}", f"repeated: {found.repeated}"]
    lines += [f"week of {week.start}: {_said(week)}" for week in found.weeks]
    drift = found.drift
    lines.append(f"not strong: last 30 days {_percent(drift.now)}, the 30 days before {_percent(drift.before)}")
    lines.append(f"questions without a strong answer: {found.poor_count}")
    lines += [f"{p.verdict}: {clock.show(p.at)}\t{show.one_line(p.text)}" for p in found.poor]
    lines += [f"served {s.count}: {_name(s)}" for s in found.served]
    lines.append(f"facts never served in {found.days} days: {found.never_served_count}")
    return lines + [f"never: {_name(s)}" for s in found.never_served]


def _said(tally: "Tally") -> str:
    return f"{tally.queries}, strong {tally.strong}, weak {tally.weak}, none {tally.none}"


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{share:.0%}"


def _name(served: "Served") -> str:
    return f"{served.id}\t{show.one_line(served.key) or served.layer}"
