"""The episode that stands for what a session held: its text, its task, its id, and whether it stands already."""

from datetime import datetime

from memcli.base import clock, ids, sha256
from memcli.base.value import Value, value
from memcli.engine import compress, echo, extract, intake, statements
from memcli.model import labels, redact
from memcli.model.records import Episode, Source
from memcli.store import episodes, proposals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from memcli.model.working import Item
    from memcli.store.folder import Store

SOURCE = Source(id="session_extract", kind="inference")
MOST_CHARS = 8000
_MOST_TASK_CHARS = 120


@value
class About(Value):
    """What is known of a run beside what was said: all of it may be empty."""

    task: str = ""
    outcome: str = ""
    agent: str = ""


def make(
    store: "Store",
    session: str,
    group: "Sequence[Item]",
    about: About,
    *,
    now: datetime,
    made: extract.Artifacts | None = None,
) -> Episode:
    """The episode of some items of a session; its id follows from them. made: what a model had to say, already checked."""
    made = made or extract.Artifacts()
    texts = {"text": made.summary or _text(group), "task": about.task or made.task or _task(group)}
    texts |= {"approach": made.approach, "agent": about.agent}
    for name in ("findings", "patterns"):
        texts |= {f"{name}.{i}": t for i, t in enumerate(getattr(made, name))}
    taken = intake.take(store.settings, texts, mask_secrets=True)
    at = min(max(i.created_at for i in group), now)
    return Episode(
        id=ids.derived(at, sha256.binary("\n".join([session, *sorted(i.id for i in group)]).encode())),
        at=at,
        text=taken.texts["text"],
        task=taken.texts["task"],
        outcome=about.outcome or made.outcome,
        session=name_of_run(session),
        agent=taken.texts["agent"],
        source=source(group),
        importance=max(i.importance for i in group),
        sensitivity=max(labels.INTERNAL, taken.least, *(i.sensitivity for i in group)),
        ttl_minutes=store.settings["defaults.episode_ttl_minutes"],
        tags=tuple(dict.fromkeys(t for i in group for t in i.tags)),
        approach=taken.texts["approach"],
        findings=tuple(taken.texts[f"findings.{i}"] for i in range(len(made.findings))),
        patterns=tuple(taken.texts[f"patterns.{i}"] for i in range(len(made.patterns))),
    )


def stands(store: "Store", text: str, at: datetime, made: str = "") -> bool:
    """True when this episode is there already: by its id, or by its text, however written, within the hour.

    The hour is the setting consolidate.same_within_minutes.
    """
    near = 60 * store.settings["consolidate.same_within_minutes"]
    wanted = proposals.same("", text)
    for month in sorted({episodes.month_of(clock.shifted(at, seconds=away)) for away in (-near, 0, near)}):
        for entry in episodes.read(store, month).entries:
            if entry.id == made or (
                abs((entry.at - at).total_seconds()) <= near and proposals.same("", entry.text) == wanted
            ):
                return True
    return False


def name_of_run(session: str) -> str:
    """The session's id as tracked files may carry it: one that holds personal data is replaced by a hash of it."""
    return f"session-{sha256.hexadecimal(session.encode())[:16]}" if redact.scan(session) else session


def source(group: "Sequence[Item]") -> Source:
    """An untrusted source stays; all else is an inference of this session."""
    doubtful = [i.source for i in group if i.source.kind in labels.UNTRUSTED_KINDS]
    return doubtful[0] if doubtful else SOURCE


def _text(group: "Sequence[Item]") -> str:
    """Notes as they are, the most important first where there is no room for all; messages as a summary."""
    notes = [i for i in group if not i.role]
    talk = [i for i in group if i.role]
    lines: dict[str, str] = {}
    room = MOST_CHARS // 2 if talk else MOST_CHARS
    for item in sorted(notes, key=lambda i: -i.importance):
        line = "- " + " ".join(echo.cut(item.text).split())
        if len(line) + 1 <= room:
            room -= len(line) + 1
            lines[item.id] = line
    body = [lines[i.id] for i in notes if i.id in lines]
    if len(body) < len(notes):
        body.append(f"- ({len(notes) - len(body)} more notes were left out for space)")
    if talk:
        body.append(compress.extract(talk, most_chars=MOST_CHARS // 2))
    return "\n".join(body)


def _task(group: "Sequence[Item]") -> str:
    """What the user asked first."""
    for item in group:
        if item.role == "user":
            for sentence in statements.sentences(item.text):
                return sentence if len(sentence) <= _MOST_TASK_CHARS else sentence[: _MOST_TASK_CHARS - 1] + "…"
    return ""
