"""Labels that another machine has raised, carried to what lies in the trash of this one.

The trash is local and in no history. Where one machine forgot a value and another had made it stricter, the deletion
holds, and the copy in the trash would come back under its old label.
"""

from memcli.engine import outgoing
from memcli.model import keys, labels, sidecar
from memcli.store import archive, episodes, facts, procedures, proposals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from memcli.model.labels import Sensitivity
    from memcli.store.folder import Writing

_TRASH = "trash"
_LAYERS = (facts.LAYER, procedures.LAYER, proposals.LAYER, episodes.LAYER)


def carry(w: "Writing", head: str, known: tuple[str, ...]) -> int:
    """Make every value in the trash at least as strict as any version of its record in the history of a commit; how many.

    known: commits whose history was looked at before. Before the work tree changes, so that a sync that is stopped has
    done it. What cannot be read counts as restricted.
    """
    kept = [(layer, name) for layer in _LAYERS for name in archive.names(w.store, layer, _TRASH)]
    if not kept:
        return 0
    strictest = outgoing.strictest(w.store, head, known)
    count = 0
    for layer, name in kept:
        rows = archive.read(w.store, layer, name, _TRASH)
        lines = [line for row in rows if (line := _stricter(row, layer, name, strictest))]
        if lines:
            archive.append(w, layer, name, b"".join(lines), _TRASH)
        count += len(lines)
    return count


def _stricter(row: "dict[str, Any]", layer: str, name: str, strictest: "dict[tuple[str, str], Sensitivity]") -> bytes:
    """The line that says it anew under a stricter label; empty where it is strict enough. The last line of an id holds."""
    places = {str(row["meta"]["id"])} if layer == episodes.LAYER else {name, *_twins(row, layer)}
    least = max((strictest[layer, place] for place in places if (layer, place) in strictest), default=labels.PUBLIC)
    said = labels.stored_sensitivity(row["meta"].get("sensitivity"))
    fronted = labels.stored_sensitivity(row["header"].get("sensitivity")) or labels.PUBLIC
    if said is None or max(said, fronted) >= least:  # what has no known label is restricted as it is
        return b""
    header = row["header"] | ({"sensitivity": str(least)} if "sensitivity" in row["header"] else {})
    meta = row["meta"] | {"sensitivity": str(least)}
    return archive.compact(row | {"at": sidecar.show_instant(row["at"]), "meta": meta, "header": header}) + b"\n"


def _twins(row: "dict[str, Any]", layer: str) -> tuple[str, ...]:
    """The file names that follow from what a line says: the open one, and the one of what is made sensitive."""
    if layer == proposals.LAYER:
        fact = facts.from_row(row)
        if fact is None or not keys.possible(fact.key):
            return ()
        made = (fact.replace(name="", sensitivity=label) for label in (labels.PUBLIC, labels.RESTRICTED))
        return tuple(proposals.file_name(each) for each in made)
    key = row["meta"].get("key")
    if not isinstance(key, str) or not keys.possible(key):
        return ()
    return keys.file_name(key), keys.hidden_name(key)
