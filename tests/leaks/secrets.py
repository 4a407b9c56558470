"""Secrets of twenty kinds, made up at run time: no file of ours holds anything that looks like one.

Each has a core, which no other text shares; finding the core in any form means that the secret has got out.
"""

import base64
import random
import string
from collections.abc import Iterable, Iterator
from typing import NamedTuple

GRAM = 8  # bytes of a form by which it is looked up; no core is shorter


class Secret(NamedTuple):
    """A secret text and the part of it that is looked for."""

    kind: str
    text: str
    core: str


def _letters(dice: random.Random, count: int, letters: str = string.ascii_lowercase + string.digits) -> str:
    return "".join(dice.choices(letters, k=count))


def _digits(dice: random.Random, count: int) -> str:
    return _letters(dice, count, string.digits)


def _luhn(digits: str) -> str:
    """The digits with the check digit of a payment card (ISO/IEC 7812-1)."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        doubled = int(digit) * (2 if place % 2 == 0 else 1)
        total += doubled - 9 if doubled > 9 else doubled
    return digits + str(-total % 10)


def _iban(dice: random.Random) -> str:
    """A German account number with its check digits (ISO 13616)."""
    account = _digits(dice, 18)
    check = 98 - int(account + "131400") % 97
    return f"DE{check:02}{account}"


def _word(dice: random.Random) -> str:
    return _letters(dice, 14, string.ascii_lowercase)


def _mixed(dice: random.Random, count: int) -> str:
    return _letters(dice, count, string.ascii_letters + string.digits)


# kind -> (what stands before, the core, what stands after)
def _make(kind: str, dice: random.Random) -> tuple[str, str, str]:
    word, mixed = _word(dice), _mixed(dice, 36)
    return {
        "cloud key": ("AK" + "IA", _letters(dice, 16, string.ascii_uppercase + "234567"), ""),
        "forge token": ("gh" + "p_", mixed, ""),
        "chat token": ("xo" + "xb-", f"{_digits(dice, 12)}-{mixed[:24]}", ""),
        "model key": ("s" + "k-proj-", mixed, ""),
        "maps key": ("AI" + "za", mixed[:35], ""),
        "payment key": ("sk" + "_live_", mixed[:24], ""),
        "package token": ("np" + "m_", mixed, ""),
        "private key": ("-----BEGIN " + "PRIVATE KEY-----\n", mixed * 2, "\n-----END " + "PRIVATE KEY-----"),
        "web token": ("ey" + "J" + "hbGciOiJIUzI1NiJ9.ey" + "J", f"{mixed}.{mixed[::-1]}", ""),
        "password": ("the pass" + "word is ", f"{word}!7", ""),
        "door code": ("the code of the door at ", word, f" is {_digits(dice, 4)}"),
        "social security": (
            "her number is ",
            f"{dice.randint(100, 699)}-{dice.randint(10, 99)}-{_digits(dice, 4)}",
            "",
        ),
        "card": ("paid with ", _luhn("4" + _digits(dice, 14)), ""),
        "account": ("pay into ", _iban(dice), ""),
        "mail": ("write to ", f"{word}@{_word(dice)}.example", ""),
        "phone": ("call +49 ", _digits(dice, 11), " after six"),
        "health": ("Anna is treated for ", word, " since May"),
        "salary": ("the salary at ", word, f" is {_digits(dice, 5)} a year"),
        "coded": ("", base64.b64encode(_word(dice).encode() * 2).decode().rstrip("="), ""),
        "address": ("she lives at 14 ", word, " Lane"),
    }[kind]


KINDS = (
    "cloud key", "forge token", "chat token", "model key", "maps key", "payment key", "package token", "private key", "web token", "password",
    "door code", "social security", "card", "account", "mail", "phone", "health", "salary", "coded", "address",
)  # fmt: skip


def secrets(each: int, seed: str) -> list[Secret]:
    """So many of each kind."""
    dice, found = random.Random(seed), []
    for kind in KINDS:
        for _ in range(each):
            before, core, after = _make(kind, dice)
            found.append(Secret(kind, before + core + after, core))
    return found


def forms(core: str) -> Iterator[tuple[str, str]]:
    """(name, text) of the seven forms in which a core might slip through."""
    low = core.lower()
    yield "as it is", core
    yield "lower case", low
    yield "slug", "".join(c if c.isalnum() else "-" for c in low).strip("-")
    yield "reversed", core[::-1]
    yield "hex", core.encode().hex()
    yield "split", "-".join(core)
    for shift in range(3):
        coded = base64.b64encode(b"x" * shift + core.encode()).decode()
        yield "base64", coded[(0, 2, 3)[shift] : -4]


class Finder:
    """Looks for many cores in one pass over a text."""

    def __init__(self, cores: Iterable[str]) -> None:
        self._by_gram: dict[bytes, list[tuple[bytes, str, str]]] = {}
        for core in cores:
            for name, form in forms(core):
                data = form.encode()
                assert len(data) >= GRAM, core
                self._by_gram.setdefault(data[:GRAM], []).append((data, core, name))

    def find(self, data: bytes) -> set[tuple[str, str]]:
        """(core, form) of all that stand in the bytes."""
        found = set()
        for at in range(len(data) - GRAM + 1):
            for form, core, name in self._by_gram.get(data[at : at + GRAM], ()):
                if data.startswith(form, at):
                    found.add((core, name))
        return found
