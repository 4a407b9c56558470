"""What consolidation looks at: the items of a session and of its transcript, less those that are not served."""

from datetime import datetime

from memcli.engine import work
from memcli.engine.digest import SOURCE
from memcli.model import redact
from memcli.model.working import Entry, Item, Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from memcli.engine.transcript import Transcript
    from memcli.store.folder import Store

# A message of a transcript of which the episode is made, but not all facts: its id with this behind it.
HALF = ":e"


def held(session: Session) -> list[Item]:
    """Entries as notes, then notes and messages."""
    return [*(_as_item(e) for e in session.entries), *session.items]


def without_blocked(store: "Store", items: list[Item]) -> tuple[list[Item], int]:
    """Less those of a blocked source, and how many of these nothing has been made of: they wait for it to be allowed."""
    blocked = work.blocked(store, items)
    idle = [i for i in items if i.id in blocked and not (i.episode and i.facts) and _due(store, i)]
    return [i for i in items if i.id not in blocked], len(idle)


def _due(store: "Store", item: Item) -> bool:
    least = min(store.settings["consolidate.episode_from"], store.settings["consolidate.facts_from"])
    return bool(item.importance >= least)


def _as_item(entry: Entry) -> Item:
    names = ("id", "modality", "importance", "source", "confidence", "sensitivity", "tags", "episode", "facts")
    fields: dict[str, Any] = {n: getattr(entry, n) for n in names}
    return Item(text=f"{entry.key}: {entry.text}", created_at=entry.updated_at, **fields)


def said(transcript: "Transcript | None", session: Session, now: datetime) -> list[Item]:
    """The messages of a transcript that are not done and not in working memory anyway."""
    taken = set(session.taken)
    present = {(i.role, i.text) for i in session.items}
    return [
        Item(
            id=m.id,
            text=str.__str__(redact.mask(m.text, families=("secret",))),
            created_at=m.at or now,
            role=m.role,
            source=SOURCE,
            episode=m.id + HALF in taken,
        )
        for m in (transcript.messages if transcript else ())
        if m.id not in taken and (m.role, m.text) not in present
    ]
