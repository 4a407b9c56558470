"""Procedures: proposed from runs or by hand, validated by a second pair of eyes, rated by what came of their use.

pending -> trial (approved, fewer than three uses) -> approved; or rejected. A procedure that lies idle or fails is
flagged for review, keeps its validation, and is never deleted by the tool.
"""

import json
import os
import re
from datetime import datetime

from memcli.base import clock, errors, files, ids, sha256
from memcli.base.value import as_dict
from memcli.engine import erase, gate, incoming, intake
from memcli.model import keys, labels, policy, records, redact
from memcli.model.records import Procedure, Step
from memcli.store import procedures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from memcli.model.labels import Sensitivity
    from memcli.store.folder import Store, Writing

RATE_STEP = 0.1
MOST_MS = 60_000 * clock.MAX_TTL_MINUTES
_PART = re.compile(r"(expected|parameters): *(.+)|(optional)", re.DOTALL)
_SKILL_FILE = "SKILL.md"
_SKILL_METADATA = "\nmetadata:\n"
BEST = 5


def propose(
    store: "Store",
    key: str,
    steps: tuple[Step, ...],
    *,
    now: datetime,
    text: str = "",
    title: str = "",
    task_type: str = "",
    trigger: str = "",
    tags: tuple[str, ...] = (),
    source: str | None = None,
    confidence: "str | float | None" = None,
    sensitivity: "str | Sensitivity | None" = None,
    importance: "str | float | None" = None,
    default_kind: str = "unknown",
    include_forgotten: bool = False,
) -> Procedure:
    """Keep a new procedure as pending. include_forgotten: also one that was purged.

    Raises UsageError without steps, Exists, SecretFound, Purged, Locked.
    """
    key = keys.normal(key)
    if not any(s.action.strip() for s in steps):
        raise errors.UsageError("a procedure needs steps", hint='--step "NAME: WHAT TO DO", once a step')
    if include_forgotten:
        gate.check_again(store)
    settings = store.settings
    tags = intake.several(tags, "tags")
    who = records.source(source) if source else intake.default_source(default_kind)
    parts = {"text": intake.clean(text), "title": title or key, "task_type": task_type, "trigger": trigger}
    fixed = {"key": key, "source": who.id, "tags": intake.clean("\n".join(tags), "tags")}
    taken = intake.take(settings, {**fixed, **parts, **_step_texts(steps)}, fixed=(*fixed, *_of_parameters(steps)))
    label = labels.sensitivity(settings["defaults.sensitivity"] if sensitivity is None else sensitivity)
    made = Procedure(
        id=ids.new(now),
        key=key,
        source=who,
        confidence=labels.confidence(settings["defaults.confidence"] if confidence is None else confidence),
        importance=records.DEFAULT_IMPORTANCE if importance is None else labels.unit(importance, "importance"),
        created_at=now,
        updated_at=now,
        sensitivity=max(label, taken.least),
        tags=tags,
        steps=_with_texts(steps, taken.texts),
        text=taken.texts["text"],
        title=taken.texts["title"],
        task_type=taken.texts["task_type"],
        trigger=taken.texts["trigger"],
    )
    with store.writing() as w:
        if procedures.get(store, key) is not None:
            raise errors.Exists("a procedure of this key exists", hint="memcli procedure show KEY")
        erase.check(w, procedures.LAYER, key, procedures.said(made), again=include_forgotten)
        procedures.put(w, made)
    return made


def imported(
    store: "Store", made: Procedure, now: datetime, *, replace: bool
) -> tuple[str, Procedure | None, Procedure | None]:
    """What an import makes of a procedure: how, as it is to be written, and what it is written over.

    Another way of doing it is a new value (replace: else a conflict), and the one here goes to the archive; its record of
    use alone is none. Raises incoming.BadLine for what no file can hold.
    """
    old = procedures.get(store, made.key)
    if old is None:
        incoming.check_storable(procedures.encode, made)
        return "created", made, None
    made = made.replace(name=old.name, sensitivity=max(made.sensitivity, old.sensitivity))
    incoming.check_storable(procedures.encode, made)
    twin = made.replace(id=old.id)
    if old.file_state == "ok" and procedures.encode(old) == procedures.encode(twin):
        return "unchanged", None, old
    if old.file_state == "damaged" or not replace:
        return "conflict", None, old
    if procedures.encode(old)[0] == procedures.encode(twin)[0]:
        return "updated", twin, old
    newer = made.id if made.id > old.id else ids.new(now, after=old.id)
    return "superseded", made.replace(id=newer), old


def approve(
    store: "Store", key: str, *, now: datetime, by: str | None = None, default_kind: str = "unknown"
) -> Procedure:
    """Validate a procedure. It is on trial until it has been used three times.

    Raises Refused when an agent approves what it proposed itself, NotFound, BadData.
    """
    who = gate.judge(store, by, default_kind)
    with store.writing() as w:
        found = _usable(store, key)
        gate.check(who, found)
        state = "approved" if found.runs >= policy.TRIAL_RUNS else "trial"
        return _put(w, found, found.replace(state=state, validated_by=who, needs_review="", updated_at=now))


def reject(
    store: "Store", key: str, *, now: datetime, by: str | None = None, default_kind: str = "unknown"
) -> Procedure:
    """Set a procedure aside: kept, never served. Raises Refused as `approve`, NotFound, BadData."""
    who = gate.judge(store, by, default_kind)
    with store.writing() as w:
        found = _usable(store, key)
        gate.check(who, found)
        return _put(w, found, found.replace(state="rejected", validated_by=who, updated_at=now))


def record(store: "Store", key: str, *, success: bool, now: datetime, duration_ms: int | None = None) -> Procedure:
    """Say how one use went: counts, the moving rate (10 % of the distance) and the mean duration change.

    Raises NotFound, Refused for a procedure that is not validated, UsageError for a duration that cannot be.
    """
    if duration_ms is not None:
        intake.whole(duration_ms, "duration_ms", MOST_MS)
    with store.writing() as w:
        found = _usable(store, key)
        if found.state not in ("trial", "approved"):
            raise errors.Refused(f"this procedure is {found.state}: not for use", hint="memcli procedure approve KEY")
        return _put(w, found, _used(found, success, now, duration_ms))


def best(found: "Iterable[Procedure]", task_type: str, now: datetime, n: int = BEST) -> list[Procedure]:
    """Procedures to use for a kind of task: past their trial first, then validated by a person, then by success; n: 0 = all."""
    fit = [p for p in found if p.state in ("trial", "approved") and p.task_type == task_type]
    return sorted(fit, key=lambda p: policy.procedure_order(p, now))[: labels.most(n) or None]


def parse_step(words: str) -> Step:
    """`NAME: what to do | expected: TEXT | parameters: A=1, B=x | optional` as a step; each part may be left out.

    A leading `?` makes it optional too. ` | ` before any other word belongs to what to do. Raises UsageError.
    """
    parts = words.removeprefix("?").strip().split(" | ")
    said: dict[str, str] = {}
    while len(parts) > 1 and (found := _PART.fullmatch(parts[-1].strip())):
        if said.setdefault(found[1] or found[3], found[2] or "") != (found[2] or ""):
            raise errors.UsageError(f"a step says {found[1]} twice")
        parts.pop()
    name, colon, action = " | ".join(parts).partition(": ")
    return Step(
        name=name if colon else "",
        action=(action if colon else name).strip(),
        parameters=_parameters(said.get("parameters", "")) or None,
        expected=said.get("expected", ""),
        optional=words.startswith("?") or "optional" in said,
    )


def show_parameters(found: "Mapping[str, object]") -> str:
    """The parameters of a step as `parse_step` reads them."""
    return ", ".join(f"{n}={v if isinstance(v, str) else json.dumps(v, ensure_ascii=False)}" for n, v in found.items())


def _parameters(words: str) -> "dict[str, Any]":
    found: dict[str, Any] = {}
    name = ""
    for part in words.split(", ") if words else ():
        new, equals, value = part.partition("=")
        if equals and new.strip():
            name = new.strip()
            found[name] = intake.number_or_text(value)
        elif name:
            found[name] = f"{found[name]}, {part}"  # a value with a comma in it
        else:
            raise errors.UsageError("the parameters of a step are no NAME=VALUE", hint="parameters: env=prod, tries=3")
    return found


def skill(found: Procedure) -> tuple[str, str]:
    """An approved procedure as (folder name, text of SKILL.md), after the Agent Skills specification of August 2026.

    Raises Refused for one that is not approved or is above internal.
    """
    if found.state not in ("trial", "approved"):
        raise errors.Refused(f"this procedure is {found.state}: only validated ones are exported")
    if found.sensitivity > labels.INTERNAL:
        raise errors.Withheld("this procedure is withheld: its label is above internal", hint=None)
    name = _skill_name(found.key)
    about = " ".join(f"{found.title}. {found.text}".split())[:1024]
    rows = [f"{i}. {_skill_step(s)}" for i, s in enumerate(found.steps, 1)]
    rate = f"{found.successes} of {found.runs} runs succeeded" if found.runs else "never run yet"
    metadata = {"source": str(found.source), "id": found.id, "runs": str(found.runs), "successes": str(found.successes)}
    lines = ["---", f"name: {name}", f"description: {json.dumps(about, ensure_ascii=False)}", "metadata:"]
    lines += [f"  {k}: {json.dumps(v, ensure_ascii=False)}" for k, v in metadata.items()]
    lines += ["---", "", f"# {found.title}", "", found.text, "", f"A starting point, adapt it ({rate}).", "", *rows, ""]
    return name, "\n".join(lines)


def write_skill(store: "Store", key: str, directory: str, *, force: bool = False) -> str:
    """Write an approved procedure as NAME/SKILL.md below a folder; the path.

    A SKILL.md that is not an export of this procedure, or was edited since, is only replaced with force.
    Raises NotFound, Exists, Blocked, and what `skill` raises.
    """
    found = procedures.get(store, keys.normal(key))
    if found is None:
        raise errors.NotFound("no procedure of this key", hint="memcli procedure list")
    name, text = skill(found)
    store.check_served(found.source.id, "this procedure")
    made = _signed(str.__str__(redact.mask(text)))
    base, parts = files.absolute(directory), [name]
    while not os.path.isdir(base) and os.path.dirname(base) != base:
        base, missing = os.path.split(base)
        parts.insert(0, missing)
    with files.Folder(base, *parts, create=True) as d:
        path, there = d.where(_SKILL_FILE), d.read(_SKILL_FILE)
        if there is not None and not force and not _is_export(there, found.id):
            raise errors.Exists(
                "the SKILL.md there is not an export of this procedure, or was edited since",
                path=path,
                hint="--force replaces it",
            )
        if there != made.encode():
            d.replace(_SKILL_FILE, made.encode())
    return path


def _signed(text: str) -> str:
    """With a digest of all the rest in its metadata, by which an edit is noticed."""
    digest = sha256.hexadecimal(text.encode())[:16]
    return text.replace(_SKILL_METADATA, f'{_SKILL_METADATA}  digest: "{digest}"\n', 1)


def _is_export(data: bytes, made: str) -> bool:
    """True for an unedited export of the procedure of this id, whatever its value was then."""
    text = data.decode("utf-8", "replace")
    head, mark, rest = text.partition(_SKILL_METADATA)
    _, _, body = rest.partition("\n")
    bare = f"{head}{mark}{body}"
    return bool(mark) and _signed(bare) == text and f'\n  id: "{made}"\n' in head + mark + body


def _skill_step(step: Step) -> str:
    expect = f" Expect: {step.expected}" if step.expected else ""
    given = f" With: {show_parameters(step.parameters)}." if step.parameters else ""
    return f"{step.action}{' (optional)' if step.optional else ''}{given}{expect}"


def _skill_name(key: str) -> str:
    """1 to 64 of a-z, 0-9 and single hyphens."""
    slug = keys.file_name(key).replace("--", "-")
    return slug[:64].strip("-")


def _used(found: Procedure, success: bool, now: datetime, duration_ms: int | None) -> Procedure:
    runs = found.runs + 1
    mean = found.mean_duration_ms
    if duration_ms is not None:
        mean = round(mean + (duration_ms - mean) / runs) if mean else duration_ms
    return found.replace(
        runs=runs,
        successes=found.successes + success,
        rate=round(found.rate + RATE_STEP * (float(success) - found.rate), 6),
        mean_duration_ms=mean,
        last_used_at=now,
        state="approved" if runs >= policy.TRIAL_RUNS else found.state,
    )


def _usable(store: "Store", key: str) -> Procedure:
    found = procedures.get(store, keys.normal(key))
    if found is None:
        raise errors.NotFound("no procedure of this key", hint="memcli procedure list")
    if found.file_state == "damaged":
        raise errors.BadData("the procedure is damaged", path=f"procedures/{found.name}.md")
    return found


def _put(w: "Writing", old: Procedure, new: Procedure) -> Procedure:
    if as_dict(old) != as_dict(new):
        procedures.put(w, new, old)
    return new


def _step_texts(steps: tuple[Step, ...]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for i, s in enumerate(steps):
        texts |= {f"step {i + 1}": intake.clean(s.action), f"step {i + 1} expects": intake.clean(s.expected)}
        texts[f"step {i + 1} is called"] = intake.clean(s.name)
        texts[f"step {i + 1} takes"] = intake.clean(redact.told(s.parameters))
    return texts


def _of_parameters(steps: tuple[Step, ...]) -> list[str]:
    return [f"step {i} takes" for i in range(1, len(steps) + 1)]


def _with_texts(steps: tuple[Step, ...], texts: dict[str, str]) -> tuple[Step, ...]:
    return tuple(
        s.replace(action=texts[f"step {i}"], expected=texts[f"step {i} expects"], name=texts[f"step {i} is called"])
        for i, s in enumerate(steps, 1)
    )
