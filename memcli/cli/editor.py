"""Editing a text in the person's editor, through a private file inside the store's own state."""

import itertools
import os
import shlex

from memcli.base import command, errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from memcli.base.files import Folder
    from memcli.store.folder import Store

    T = TypeVar("T")


def edit(store: "Store", text: str, use: "Callable[[str], T]") -> "T":
    """What `use` makes of the text as the editor left it.

    When that raises, or the editor fails, a changed text is kept in `.memcli`, mode 0600, and the error's hint says where.
    Raises SystemFailure when the editor fails, UsageError when the text is not UTF-8, and what `use` raises.
    """
    words = _words()
    name, given = f"edit-{os.getpid()}.md", f"{text}\n".encode()
    with store.folder(".memcli", create=True) as d:
        d.remove(name)
        d.create(name, given)
        try:
            return use(_edited(d, name, words))
        except BaseException as e:
            kept = _keep(d, name, given)
            if kept and isinstance(e, errors.MemcliError):
                # In quotes where a shell wants them: a folder's name is no advice.
                e.hint = f"your text is kept in {shlex.quote(kept)}{f'; {e.hint}' if e.hint else ''}"
            raise
        finally:
            _clear(d, name)


def _edited(d: "Folder", name: str, words: list[str]) -> str:
    if command.edit([*words, d.where(name)]) != 0:
        raise errors.SystemFailure("the editor did not end well; nothing was changed", path=words[0])
    data = d.read(name)
    if data is None:
        raise errors.SystemFailure("the editor took the file away; nothing was changed", path=words[0])
    try:
        found = data.decode()
    except UnicodeDecodeError:
        raise errors.UsageError("the edited text is not UTF-8; nothing was changed") from None
    return found[:-1] if found.endswith("\n") else found


def _keep(d: "Folder", name: str, given: bytes) -> str:
    """The path of a copy of what the person wrote; "" when nothing was changed or there is no file."""
    try:
        data = d.read(name, limit=None)
        if data is None or data == given:
            return ""
        kept = next(n for i in itertools.count(1) if d.info(n := f"kept-{i}.md") is None)
        d.create(kept, data)
    except errors.MemcliError:
        return ""  # a link, a folder or a pipe is no text; a full disk holds no copy
    return d.where(kept)


def _words() -> list[str]:
    named = os.environ.get("VISUAL", "").strip() or os.environ.get("EDITOR", "").strip()
    if not named and not (os.isatty(0) and os.isatty(1)):
        raise errors.UsageError(
            "no editor is named, and there is no terminal", hint="set EDITOR, or: memcli fact set KEY -"
        )
    try:
        return shlex.split(named or "vi")
    except ValueError:
        raise errors.UsageError("VISUAL or EDITOR has a quote without its end") from None


def _clear(d: "Folder", name: str) -> None:
    """Take the file away and, as far as can be, hide no error behind one of this."""
    try:
        d.remove(name)
    except errors.SystemFailure:
        return
