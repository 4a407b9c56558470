r"""Text that may have been written by anyone, made safe to show: nothing in it can move a cursor, hide or reorder.

Control characters, escapes, bidi controls, zero-width and tag characters and lone surrogates become visible escapes
(`\x1b`, `\u202e`, `\U000e0041`). Everything else stays as it is, so plain text is returned unchanged and fast.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

# C0, DEL and C1; soft hyphen; bidi controls; zero-width and other invisible format characters; line separators;
# lone surrogates; tags. The joiners U+200C and U+200D stand apart, see _JOINED.
_HIDDEN = (
    "\\x00-\\x1f\\x7f-\\x9f\\xad\\u061c\\u070f\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff"
    "\\ufff9-\\ufffb\\ud800-\\udfff\\U00013430-\\U0001343f\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a"
    "\\U000e0000-\\U000e007f"
)
# Where a joiner does honest work: between letters of Arabic and Indic scripts, and inside one emoji.
_JOINED = "[\\u0600-\\u0dff\\u2190-\\u2bff\\ufe0f\\U0001f000-\\U0001faff]"

_compiled: "re.Pattern[str] | None" = None


def inert(text: str, *, keep: str = "\n\t") -> str:
    """The text with every character that could act on a terminal or hide shown as an escape.

    keep: characters left alone, by default newline and tab. Applying it twice changes nothing more. Never raises.
    """
    bare = text
    for character in keep:
        bare = bare.replace(character, "")
    # All hidden characters are unprintable to Python, so this one C call settles nearly every text.
    if bare.isprintable():
        return text
    return _unsafe().sub(lambda found: found[0] if found[0] in keep else _escape(found[0]), text)


def one_line(text: str) -> str:
    r"""The text inert and on one line: newlines show as `\n`, tabs as `\t`."""
    return inert(text.replace("\n", "\\n").replace("\t", "\\t"), keep="")


def strip_hidden(text: str, *, keep: str = "\n\t") -> tuple[str, int]:
    """The text without the characters that `inert` would show, and how many went. For readers that are not people."""
    removed = 0

    def drop(found: "re.Match[str]") -> str:
        nonlocal removed
        if found[0] in keep:
            return found[0]
        removed += 1
        return ""

    return (text, 0) if text.isprintable() else (_unsafe().sub(drop, text), removed)


def inert_json(document: str) -> str:
    r"""An encoded JSON document with the same characters as `\uXXXX` escapes: it still means the same.

    The encoder has escaped newlines inside strings, so a bare newline is layout and stays.
    """
    if document.replace("\n", "").isprintable():
        return document
    return _unsafe().sub(lambda found: found[0] if found[0] == "\n" else _json_escape(found[0]), document)


def _unsafe() -> "re.Pattern[str]":
    # `re` costs half a bare Python start; most runs show plain text only and never come here.
    global _compiled
    if _compiled is None:
        import re

        _compiled = re.compile(f"[{_HIDDEN}]|(?<!{_JOINED})[\\u200c\\u200d]|[\\u200c\\u200d](?!{_JOINED})")
    return _compiled


def _escape(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(character: str) -> str:
    code = ord(character)
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
