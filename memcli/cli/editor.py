"""Editing a text in the person's editor, through a private file inside the store's own state."""

import os
import shlex

from memcli.base import command, errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.base.files import Folder
    from memcli.store.folder import Store


def edit(store: "Store", text: str) -> str:
    """The text as the editor left it. Raises SystemFailure when the editor fails, UsageError when it is not UTF-8."""
    words = _words()
    name = f"edit-{os.getpid()}.md"
    with store.folder(".memcli", create=True) as d:
        d.remove(name)
        d.create(name, f"{text}\n".encode())
        try:
            if command.edit([*words, d.where(name)]) != 0:
                raise errors.SystemFailure("the editor did not end well; nothing was changed", path=words[0])
            data = d.read(name)
        finally:
            _clear(d, name)
    if data is None:
        raise errors.SystemFailure("the editor took the file away; nothing was changed", path=words[0])
    try:
        found = data.decode()
    except UnicodeDecodeError:
        raise errors.UsageError("the edited text is not UTF-8; nothing was changed") from None
    return found[:-1] if found.endswith("\n") else found


def _words() -> list[str]:
    named = os.environ.get("VISUAL", "").strip() or os.environ.get("EDITOR", "").strip() or "vi"
    try:
        return shlex.split(named)
    except ValueError:
        raise errors.UsageError("VISUAL or EDITOR has a quote without its end") from None


def _clear(d: "Folder", name: str) -> None:
    """Take the file away and, as far as can be, hide no error behind one of this."""
    try:
        d.remove(name)
    except errors.SystemFailure:
        return
