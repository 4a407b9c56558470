"""The model command: a prompt on its stdin, one JSON object on its stdout. Optional, never trusted, never waited for in a lock.

`memcli.toml` travels with the store (git), so a command in it runs only where somebody has allowed exactly that command
(store/permits.py). What goes out is `Redacted`; what comes back is data to be checked.
"""

import json
import shlex

from memcli.base import errors
from memcli.base.value import Value, value
from memcli.model import redact, sidecar
from memcli.store import permits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from memcli.model.redact import Redacted
    from memcli.store.folder import Store

ENDPOINT = "vectors.endpoint"
SETTINGS = ("llm.command", "llm.extract_command", ENDPOINT)


@value
class Answer(Value):
    """What the command said: one JSON object, or None and in `note` why there is none ("" when none is configured)."""

    data: "dict[str, Any] | None"
    note: str = ""


def command(store: "Store", name: str = "llm.command") -> str:
    """The command line in force for summaries or extraction; "" for none."""
    said: str = store.settings[name]
    return said or ("" if name == "llm.command" else command(store))


def endpoint(store: "Store") -> str:
    """The host of embeddings and the variable whose secret it gets, as they are allowed; "" for none."""
    host, variable = store.settings[ENDPOINT], store.settings["vectors.key_env"]
    return f"{host} with {variable}" if host and variable else str(host)


def allow(store: "Store", name: str) -> str:
    """Let the command or host that memcli.toml names for this setting be used on this machine. Raises UsageError when it
    names none, Refused for an agent."""
    from memcli.engine import gate

    gate.check_person("allows a command or a host", store)
    said = endpoint(store) if name == ENDPOINT else str(store.settings[name])
    if not said.strip():
        raise errors.UsageError(f"{name} names nothing", hint="set it in memcli.toml first")
    if name != ENDPOINT:
        _split(said)
    permits.allow(store, said)
    return said


def ready(store: "Store", name: str = "llm.command") -> bool:
    """True when there is a command and it may run."""
    said = command(store, name)
    return bool(said) and permits.allowed(store, said)


def ask(store: "Store", prompt: "Redacted", *, name: str = "llm.command") -> Answer:
    """Run the command with the prompt; never raises for what it does or says. Hold no lock meanwhile."""
    from memcli.base import command as programs

    if not isinstance(prompt, redact.Redacted):
        raise TypeError("only Redacted text goes to a model")
    said = command(store, name)
    if not said:
        return Answer(data=None)
    if not permits.allowed(store, said):
        where = name if store.settings[name] else "llm.command"
        return Answer(data=None, note=f"{where} is not allowed on this machine; see: memcli config {where} --allow")
    try:
        done = programs.ask(_split(said), str(prompt), timeout_seconds=store.settings["llm.timeout_seconds"])
    except errors.MemcliError as e:
        return Answer(data=None, note=f"the model command failed ({e.message}); went on without it")
    if done.code != 0:
        return Answer(data=None, note=f"the model command failed (exit {done.code}); went on without it")
    data = parse(done.out)
    return Answer(data=data, note="" if data is not None else "the model's answer was malformed; went on without it")


def parse(said: str) -> "dict[str, Any] | None":
    """The one JSON object in an answer, fenced or with words around it; None for anything else."""
    start, end = said.find("{"), said.rfind("}")
    if start < 0 or end < start:
        return None
    try:
        return sidecar.parse(said[start : end + 1].encode())
    except (sidecar.Damaged, UnicodeEncodeError):
        return None


def quoted(role: str, text: str) -> "Redacted":
    """One message as a JSON line for a prompt, scrubbed."""
    return redact.mask(json.dumps({"role": role or "note", "text": str(redact.mask(text))}, ensure_ascii=False))


def texts(item: object, *, most: int, longest: int) -> list[str] | None:
    """A list of short texts from an answer, blank ones left out; None when it is none."""
    if not isinstance(item, list) or not all(isinstance(t, str) for t in item):
        return None
    return [" ".join(t.split())[:longest] for t in item if t.strip()][:most]


def _split(said: str) -> list[str]:
    try:
        return shlex.split(said)
    except ValueError:
        raise errors.UsageError("the model command cannot be split into words", hint="check its quotes") from None
