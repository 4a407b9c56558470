"""The sweep writes down what has already become true: expired and faded records go, proposals seen often enough come.

Plan, then act. Every action is checked again under the lock, so a record that was refreshed meanwhile stays. A brake
stops a sweep that would end implausibly much, for example under a wrong clock.
"""

from datetime import datetime, timedelta

from memcli.base import clock, errors, ids
from memcli.base.value import Value, value
from memcli.engine import promotion
from memcli.index import document, pairs, rows
from memcli.index.refresh import ask
from memcli.model import policy
from memcli.model.records import Episode, Fact
from memcli.store import episodes, facts, proposals, recovery

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.base import files
    from memcli.index.database import Connection
    from memcli.store.folder import Store, Writing

PAIR_LAYERS = ("facts", "procedures", "proposed/facts", "proposed/procedures")
_CLOCK_SLACK = timedelta(hours=24)
_BATCH = 500


@value
class Action(Value):
    """One thing that a sweep does. key: "" for episodes.

    reason: expired, faded, pruned (a failed or repeated episode), promoted.
    """

    layer: str
    id: str
    key: str
    name: str
    reason: str


@value
class Plan(Value):
    """What a sweep would do at an instant. live: how many facts there are now; newest: the time of the newest record, one
    day that lies alone ahead of the others passed over; tidy: layers in which no stopped writer has left anything."""

    actions: tuple[Action, ...]
    live: int
    now: datetime
    newest: datetime | None
    tidy: tuple[str, ...] = ()


@value
class Report(Value):
    """What a sweep did: actions carried out, those that no longer held when their turn came, temps that were settled.

    planned: what a dry run would have done.
    """

    done: tuple[Action, ...]
    skipped: tuple[Action, ...]
    settled: tuple[str, ...]
    planned: tuple[Action, ...] = ()


def plan(store: "Store", now: datetime) -> Plan:
    """Everything that has expired, faded or must be pruned at `now`. Writes nothing but the index.

    The index names what may be due; each of them is read before it is planned for. Edits in place are not looked for:
    they change no time to live.
    """
    due = ask(store, lambda con: (*_due(con, store, now), _twins(con, store), pairs.tidy(con)), watch=False)
    live, newest, names, months, twins, tidy = due
    with store.folder(facts.LAYER) as folder:
        actions = [a for name in names if (a := _fact_action(store, folder, name, now)) is not None]
    for month in sorted({*months, *twins.values()}, reverse=True):
        listed = sorted(episodes.read(store, month).entries, key=lambda e: (e.at, e.id), reverse=True)
        reasons = [(e, _episode_reason(store, e, now, live[rows.EPISODE], twin=e.id in twins)) for e in listed]
        actions += [Action(layer=episodes.LAYER, id=e.id, key="", name=month, reason=why) for e, why in reasons if why]
    return Plan(
        actions=(*actions, *_proposed(store, now)), live=live[rows.FACT], now=now, newest=newest, tidy=tuple(tidy)
    )


def _due(
    con: "Connection", store: "Store", now: datetime
) -> "tuple[dict[int, int], datetime | None, list[str], list[str]]":
    """How many records of each layer there are, the time of the newest, the facts and the months that may be due."""
    at = document.seconds(now)
    live = dict(con.execute("SELECT layer, sum(count) FROM tally GROUP BY layer").fetchall())
    counts = {n: int(live.get(n) or 0) for n in (rows.FACT, rows.EPISODE)}
    newest = _newest(con)
    facts_due = con.execute(
        # With the plus SQLite begins with the few that end, not with all that are current.
        "SELECT name FROM record WHERE +layer = 0 AND +rival = 0 AND state != 'conflict' AND rid IN ("
        "SELECT rid FROM record INDEXED BY record_expiry WHERE expires_at <= :at"
        " UNION SELECT rid FROM record INDEXED BY record_fading WHERE fades_at <= :at) ORDER BY name",
        {"at": at},
    ).fetchall()
    # One read of a log tells more than the index could.
    which = "SELECT name FROM record INDEXED BY record_expiry WHERE +layer = 1 AND expires_at <= :at"
    if counts[rows.EPISODE] > store.settings["sweep.max_episodes"]:
        which += " UNION SELECT name FROM record INDEXED BY record_failed WHERE layer = 1 AND outcome = 'failed'"
    months = con.execute(f"SELECT DISTINCT name FROM ({which}) ORDER BY name DESC", {"at": at})
    names = [name for (name,) in facts_due]
    return counts, None if newest is None else document.instant(newest), names, [m for (m,) in months.fetchall()]


def _newest(con: "Connection") -> float | None:
    """The time of the newest record in seconds, None without any.

    A day that lies alone, more than a day ahead of all before it, is passed over: one record with a slipped year would
    stop every sweep until that year. A clock that is wrong is behind the other days too, so the brake still holds.
    """
    newest = _latest(con)
    if newest is None:
        return None
    before = _latest(con, newest - newest % 86400)
    alone = before is not None and newest - before > _CLOCK_SLACK.total_seconds()
    return before if alone else newest


def _latest(con: "Connection", before: float = float("inf")) -> float | None:
    """The time of the newest fact or episode that is older than `before`."""
    most = (
        "SELECT max(written_at) AS newest FROM record INDEXED BY record_written"
        " WHERE whole AND layer = {} AND written_at < :before"
    )
    # One look at the end of the index for each layer; over both at once SQLite would read all of it.
    both = f"{most.format(rows.FACT)} UNION ALL {most.format(rows.EPISODE)}"
    found: float | None = con.execute(f"SELECT max(newest) FROM ({both})", {"before": before}).fetchone()[0]
    return found


def _twins(con: "Connection", store: "Store") -> dict[str, str]:
    """In a store that holds too many episodes, those that a later one says again: by id, with their month.

    The same means the same words, case and a final stop apart, of the same source.
    """
    count = con.execute("SELECT sum(count) FROM tally WHERE layer = 1").fetchone()[0] or 0
    if count <= store.settings["sweep.max_episodes"]:
        return {}
    found = con.execute(
        # The one that stays is the one that lasts; it is of the same source, so that it is served where the others were.
        "SELECT id, name FROM (SELECT id, name, row_number() OVER (PARTITION BY said, outcome, kind, source"
        " ORDER BY expires_at IS NULL DESC, expires_at DESC, seen_at DESC, id DESC)"
        " AS n FROM record INDEXED BY record_said WHERE layer = 1 AND said AND said IN ("
        "SELECT said FROM record INDEXED BY record_said WHERE layer = 1 AND said GROUP BY said HAVING count(*) > 1))"
        " WHERE n > 1"
    )
    return dict(found.fetchall())


def _fact_action(store: "Store", folder: "files.Folder", name: str, now: datetime) -> Action | None:
    fact = facts.named(store, folder, name)
    reason = "" if fact is None else _fact_reason(store, fact, now)
    if fact is None or not reason:
        return None
    return Action(layer=facts.LAYER, id=fact.id, key=fact.key, name=fact.name, reason=reason)


def check_brake(store: "Store", found: Plan) -> None:
    """Raise Brake when the clock is behind the newest record or too many facts would go."""
    if found.newest is not None and found.newest - found.now > _CLOCK_SLACK:
        raise errors.Brake(
            f"the clock ({clock.show(found.now)}) is behind the newest record ({clock.show(found.newest)})",
            hint="set the clock right, or go on with: memcli sweep --yes",
        )
    ending = sum(a.layer == facts.LAYER for a in found.actions)
    share, least = store.settings["sweep.max_share"], store.settings["sweep.max_count"]
    if ending > least and ending > share * found.live:
        raise errors.Brake(
            f"{ending} of {found.live} facts would end at {clock.show(found.now)}",
            hint="look with: memcli sweep --dry-run; go on with: memcli sweep --yes",
        )


def apply(store: "Store", found: Plan) -> Report:
    """Carry a plan out, a batch at a time so that other writers are not kept waiting."""
    done: list[Action] = []
    settled: list[str] = []
    with store.writing(patient=True) as w:
        for layer in (n for n in PAIR_LAYERS if n not in found.tidy):
            settled += recovery.settle_folder(w.store, layer)
        settled += recovery.clean_replacements(w.store)
    due = [a for a in found.actions if a.layer == facts.LAYER]
    for start in range(0, len(due), _BATCH):
        with store.writing(patient=True) as w:
            done += _end_facts(w, due[start : start + _BATCH], found.now)
    by_month: dict[str, list[Action]] = {}
    for action in found.actions:
        if action.layer == episodes.LAYER:
            by_month.setdefault(action.name, []).append(action)
    for month, items in by_month.items():
        with store.writing(patient=True) as w:
            done += _end_episodes(w, month, items, found.now)
    proposed = [a for a in found.actions if a.layer == proposals.LAYER]
    if proposed:
        with store.writing(patient=True) as w:
            done += _settle_proposals(w, proposed, found.now)
    carried = set(done)
    return Report(done=tuple(done), skipped=tuple(a for a in found.actions if a not in carried), settled=tuple(settled))


def _end_facts(w: "Writing", due: list[Action], now: datetime) -> list[Action]:
    done, gone = [], []
    with facts.Shelf(w.store) as shelf:
        for action in due:
            fact = shelf.get(action.key)
            if fact is not None and fact.id == action.id and _fact_reason(w.store, fact, now) == action.reason:
                gone.append((fact, action.reason))
                done.append(action)
    if gone:
        facts.remove(w, gone, now, place="archive")
    return done


def _end_episodes(w: "Writing", month: str, due: list[Action], now: datetime) -> list[Action]:
    listed = {e.id: e for e in episodes.read(w.store, month).entries}
    good = [a for a in due if a.id in listed and (a.reason == "pruned" or policy.expired(listed[a.id], now))]
    episodes.take_out(w, month, {a.id: a.reason for a in good}, now, place="archive")
    return good


def _proposed(store: "Store", now: datetime) -> list[Action]:
    """Proposals that have been seen often enough, or whose time has run out."""
    held = list(proposals.every(store))
    ready = {p.id for p in promotion.due(store, now, held)}
    found = []
    for p in held:
        reason = (
            "promoted" if p.id in ready else "expired" if promotion.lapsed(store, p, now) and p.state == "ok" else ""
        )
        if reason:
            found.append(Action(layer=proposals.LAYER, id=p.id, key=p.key, name=p.name, reason=reason))
    return found


def _settle_proposals(w: "Writing", due: list[Action], now: datetime) -> list[Action]:
    still = {(a.id, a.reason) for a in _proposed(w.store, now)}
    held = {p.id: p for p in proposals.every(w.store)}
    good = []
    for action in (a for a in due if (a.id, a.reason) in still):
        if action.reason == "promoted" and not promotion.sound(w.store, held[action.id]):
            continue  # what came before it in this sweep would lead back to it
        if action.reason == "promoted":
            promotion.promote(w, held[action.id], now)
        good.append(action)
    expired = [(held[a.id], "expired") for a in good if a.reason == "expired"]
    if expired:
        proposals.remove(w, expired, now)
    return good


def _fact_reason(store: "Store", fact: Fact, now: datetime) -> str:
    if not ids.valid(fact.id) or fact.state in ("damaged", "conflict", "half", "bare"):
        return ""  # nothing is taken out that cannot be read as a whole
    if policy.expired(fact, now):
        return "expired"
    settings = store.settings
    old = policy.too_old(fact, now, settings["decay.max_fact_age_days"])
    return "faded" if old or policy.faded(fact, now, settings["decay.fact_half_life_days"]) else ""


def _episode_reason(store: "Store", episode: Episode, now: datetime, count: int, *, twin: bool = False) -> str:
    if episode.state == "damaged":
        return ""
    if policy.expired(episode, now):
        return "expired"
    settings = store.settings
    if count <= settings["sweep.max_episodes"] or policy.protected(episode):
        return ""
    old = (now - episode.at).total_seconds() >= settings["sweep.failed_after_days"] * 86400
    return "pruned" if twin or (episode.outcome == "failed" and old) else ""
