"""Where cognitive-core keeps its memory: a folder with four JSON files, or with the database `memory.db`, read only.

What its records become is in `engine/cognitive.py`.
"""

import json
import os

from memcli.base import errors
from memcli.base.value import Value, value
from memcli.engine import cognitive, load, loose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from memcli.index.database import Connection

    Found = dict[str, list[tuple[str, str, Any]]]

DATABASE = "memory.db"
FILES = ("semantic.json", "episodes.json", "sources.json", "procedures.json")
MAX_BYTES = 512 << 20
_SQLITE = b"SQLite format 3\0"
# By collection: its table, the column with the name, and what belongs to it as (table, its column with the name, order).
_TABLES = {
    "sources": ("sources", "source_id", None),
    "nodes": ("semantic_nodes", "concept", ("relations", "relations", "source", "id")),
    "episodes": ("episodes", "episode_id", ("modal_evidence", "modal_evidence", "episode_id", "id")),
    "procedures": ("procedures", "name", ("steps", "procedure_steps", "procedure_name", "step_order")),
}
_NAMES = {
    "sources": ("source_id",),
    "nodes": ("concept",),
    "episodes": ("episode_id",),
    "procedures": ("name", "procedure_id"),
}


@value
class Brought(Value):
    """What an import did. report: as of any import, its numbers counting the records in the order read.

    places: by number the file or table and the place in it; read: records by kind; dropped: what has no place in a
    store, by cognitive.DROPPED; faults: files that could not be read, with why.
    """

    report: load.Report
    places: dict[int, str]
    read: dict[str, int]
    dropped: dict[str, int]
    faults: tuple[str, ...] = ()


def bring(loader: load.Loader, path: str) -> Brought:
    """Bring in what stands at the path: a folder, one of the files, or the database. Nothing there is written.

    Raises NotFound, BadData for what is no such memory, and what Loader.load raises.
    """
    found: Found = {}
    faults: list[str] = []
    saved: list[str] = []
    claims = 0
    names = _files(path)
    for name in names:
        try:
            if _is_database(name):
                claims += _read_database(name, found)
            else:
                saved.append(_read_json(name, found))
        except errors.BadData as e:
            if len(names) == 1:
                raise
            faults.append(e.message)
    if len(faults) == len(names):
        raise errors.BadData("none of the files of this memory can be read", path=path)
    made = cognitive.Conversion(found, max(saved, default=""), trusted=loader.trusted)
    made.dropped["claims"] = claims
    report = loader.load(made.lines())
    report = report.replace(bad=tuple(sorted((*report.bad, *made.bad))))
    return Brought(report=report, places=made.places, read=made.read, dropped=made.dropped, faults=tuple(faults))


def _files(path: str) -> list[str]:
    """The files to read. The database comes first: once it is there, the JSON files are what it was made of."""
    if not os.path.exists(path):
        raise errors.NotFound("no such file or folder", path=path)
    if os.path.isfile(path):
        return [path]
    if not os.path.isdir(path):
        raise errors.BadData("this is neither a file nor a folder", path=path)
    for names in ((DATABASE,), FILES):
        there = [os.path.join(path, n) for n in names if os.path.isfile(os.path.join(path, n))]
        if there:
            return there
    raise errors.NotFound(
        "no memory of cognitive-core is in this folder", path=path, hint=f"it holds {', '.join(FILES)} or {DATABASE}"
    )


def _is_database(path: str) -> bool:
    try:
        with open(path, "rb") as stream:
            return stream.read(len(_SQLITE)) == _SQLITE or path.endswith(".db")
    except OSError as e:
        raise errors.BadData(f"{os.path.basename(path)}: it cannot be read ({e.strerror})") from None


def _read_json(path: str, found: "Found") -> str:
    """Add the records of one file; returns when it was saved, "" where it does not say so."""
    name = os.path.basename(path)
    try:
        with open(path, "rb") as stream:
            data = stream.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise errors.BadData(f"{name}: larger than {MAX_BYTES >> 20} MiB")
        raw = json.loads(data.decode("utf-8-sig"), parse_int=_int)
    except (OSError, ValueError, RecursionError):
        raise errors.BadData(f"{name}: it is no JSON that can be read") from None
    there = [c for c in _NAMES if isinstance(raw, dict) and isinstance(raw.get(c), dict | list)]
    if not there:
        raise errors.BadData(f"{name}: it holds none of {', '.join(_NAMES)}")
    for collection in there:
        held = raw[collection]
        pairs = held.items() if isinstance(held, dict) else (("", r) for r in held)
        rows = found.setdefault(collection, [])
        for number, (key, row) in enumerate(pairs, 1):
            rows.append((f"{name}, record {number}", key or _name(collection, row), row))
    return _saved(raw)


def _saved(raw: "dict[str, Any]") -> str:
    try:
        return loose.instant(raw, "saved_ts", "saved_at")
    except loose.Unusable:
        return ""


def _int(digits: str) -> "int | float":
    # Python refuses to read more digits than that, and one such number would cost the whole file.
    return int(digits) if len(digits) < 4000 else float("nan")


def _name(collection: str, row: "Any") -> str:
    """The name of a record that no key names. Episodes need none: they are told apart by what they say."""
    names = (row.get(n) for n in _NAMES[collection]) if isinstance(row, dict) else ()
    return next((n for n in names if isinstance(n, str) and n), "episode" if collection == "episodes" else "")


def _read_database(path: str, found: "Found") -> int:
    """Add the records of the database; returns how many claims it holds, which have no place here."""
    from urllib.parse import quote

    from memcli.index import database

    name = os.path.basename(path)
    # Reading a database in WAL mode would make files beside it; without a log to be read, it is taken as it stands.
    logs = any(os.path.exists(path + end) and os.path.getsize(path + end) for end in ("-wal", "-journal"))
    try:
        con = database.connect(f"file:{quote(os.path.abspath(path))}?mode=ro{'' if logs else '&immutable=1'}")
        try:
            con.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
            con.execute("PRAGMA query_only = ON")
            con.execute("PRAGMA trusted_schema = OFF")
            tables = {t for (t,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if not tables & {t for t, _, _ in _TABLES.values()}:
                raise errors.BadData(f"{name}: it is no memory of cognitive-core")
            for collection, (table, key, parts) in _TABLES.items():
                if table in tables:
                    rows = _with_parts(con, tables, table, key, parts)
                    there = found.setdefault(collection, [])
                    for number, row in enumerate(rows, 1):
                        named = row.get(key)
                        there.append((f"{table}, record {number}", named if isinstance(named, str) else "", row))
            return int(next(con.execute("SELECT count(*) FROM claims"))[0]) if "claims" in tables else 0
        finally:
            con.close()
    except database.damage():
        raise errors.BadData(
            f"{name}: it cannot be read as a database", hint="one that is encrypted must be exported first"
        ) from None


def _with_parts(
    con: "Connection", tables: set[str], table: str, key: str, parts: "tuple[str, str, str, str] | None"
) -> "Iterator[dict[str, Any]]":
    """The rows of a table as objects, each with its parts from the other table."""
    held: dict[object, list[dict[str, Any]]] = {}
    field = ""
    if parts is not None and parts[1] in tables:
        field, other, owner, order = parts
        for part in _rows(con, other, order):
            held.setdefault(part.get(owner), []).append(part)
    for row in _rows(con, table, "rowid"):
        yield row | ({field: held.get(row.get(key), [])} if field else {})


def _rows(con: "Connection", table: str, order: str) -> "Iterator[dict[str, Any]]":
    ran = con.execute(f'SELECT * FROM "{table}" ORDER BY "{order}"')
    names = [d[0] for d in ran.description]
    for row in ran:
        yield dict(zip(names, row, strict=True))
