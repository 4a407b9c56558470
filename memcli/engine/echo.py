"""Cutting our own context output out of a text, so that what memory said is never learned again as new."""

import re

_BLOCK = re.compile(r"<memory-([0-9a-f]{8})>.*?(?:</memory-\1>(?:(?:\\n|\s)*memory \1:[^\n\"]*)?|\Z)", re.S)
_ACCOUNT = re.compile(r"^[ \t]*memory [0-9a-f]{8}: shown \d+ of \d+[^\n]*$", re.M)
# A note that was copied out of a block, known by its citation: [high; user:anna; 12 days; UUID].
_CITATION = re.compile(r"; [0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\]")


def cut(text: str) -> str:
    """The text without context blocks (to the end where one is not closed) and without lines copied from one."""
    if "memory" in text:
        text = _ACCOUNT.sub("", _BLOCK.sub("", text))
    if _CITATION.search(text) is None:
        return text
    return "\n".join(line for line in text.split("\n") if _CITATION.search(line) is None)
