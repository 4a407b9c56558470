"""The rules that say where a text holds personal data: cards, accounts, numbers of a state, phones, addresses of mail.

As with the rules of `model/detect.py`, an expression is compiled only when its trigger stands in the text, and time grows
linearly with the text. Never found: names and street addresses.
"""

from memcli.model import detect

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from memcli.model.detect import Span

_re = detect.compiled


def spans(text: str, low: str) -> "Iterator[Span]":
    """Spans of personal data; the arguments are those of `detect.secrets`."""
    digits = sum(map(text.count, "0123456789"))
    if digits >= 13:
        yield from _cards(text)
    if digits >= 9:
        yield from _ibans(low)
        yield from _registered(low)
    if digits >= 7:
        yield from _phones(text, low)
    if "@" in text:
        yield from _emails(text)


def _cards(text: str) -> "Iterator[Span]":
    """Payment cards: ISO/IEC 7812, with its check digit by Luhn; whole, or in the groups that are printed on them."""
    pattern = (
        r"[2-689](?<![\w.].)(?:[0-9]{12,18}|[0-9]{3}([ .-])[0-9]{4}\1[0-9]{4}\1[0-9]{1,7}(?:\1[0-9]{1,3})?"
        r"|[0-9]{3}([ -])[0-9]{6}\2[0-9]{4,5})(?!\w|\.[0-9])"
    )
    for m in _re(pattern).finditer(text):
        digits = "".join(filter(str.isdigit, m[0]))
        if _re(_ISSUED).fullmatch(digits) and _luhn(digits):
            yield m.start(), m.end(), "card"


# First digits and lengths: Visa, Mastercard, Mir, Diners, American Express, JCB, Discover and UnionPay, Maestro, Troy.
# Times in milliseconds, trade numbers (EAN, ISBN) and most other counters begin otherwise or are of another length.
_ISSUED = (
    "4(?:.{12}|.{15}|.{18})|5[1-5].{14}|2[2-7].{14,17}|3[0689].{12,17}|3[47].{13}|35.{14,17}"
    "|(?:6[0-9]|81).{14,17}|(?:5[06-8]|6[0-9]).{11,17}|9792.{12}"
)


def _luhn(digits: str) -> bool:
    """Every second digit from the right is doubled (ISO/IEC 7812-1, annex B)."""
    doubled = (sum(divmod(2 * int(d), 10)) for d in digits[-2::-2])
    return (sum(map(int, digits[::-2])) + sum(doubled)) % 10 == 0


# Length by country, from the registry of ISO 13616.
_IBANS = (
    "ad24ae23al28at20az28ba20be16bg22bh22bi27br29by28ch21cr22cy28cz24de22dj27dk18do28ee20eg29es24fi18fk18fo18fr27gb22"
    "ge22gi23gl18gr27gt28hn28hr21hu28ie22il23iq23is26it27jo30kw30kz20lb28lc32li21lt20lu20lv21ly25mc27md24me22mk19mn20"
    "mr27mt31mu30ni28nl18no15om23pk24pl28ps29pt25qa29ro24rs22ru33sa24sc31sd18se24si19sk24sm27so23st25sv28tl23tn24tr26"
    "ua29va22vg24xk20ye30"
)


def _ibans(low: str) -> "Iterator[Span]":
    """Bank accounts: ISO 13616, remainder 1 modulo 97 with the first four characters moved to the end."""
    for m in _re(r"[0-9](?<=[a-z]{2}.)(?<![a-z0-9].{3})[0-9](?:[ -]?[a-z0-9]){11,30}").finditer(low):
        start = m.start() - 2
        at = _IBANS.find(low[start : start + 2])
        places = [i for i in range(start, m.end()) if low[i].isalnum()]
        size = int(_IBANS[at + 2 : at + 4]) if at % 4 == 0 else 99
        if len(places) < size or low[places[size - 1] + 1 : places[size - 1] + 2].isalnum():
            continue
        code, end = "".join(low[i] for i in places[:size]), places[size - 1] + 1
        if not code[4 : _DIGITS.get(code[:2], 0)].isdigit() and code[:2] in _DIGITS:
            continue
        if int("".join(str(int(c, 36)) for c in code[4:] + code[:4])) % 97 == 1 and not _in_uuid(low, start, end):
            yield start, end, "iban"


# How far the digits of an account number go, where the code of the country could begin a hexadecimal group.
_DIGITS = {"ad": 12, "ae": 23, "ba": 20, "be": 16, "de": 22, "ee": 20}


def _in_uuid(low: str, start: int, end: int) -> bool:
    """Whether the span lies in a UUID (RFC 9562): one in a hundred of those that begin like an IBAN fits its check."""
    window = max(0, start - 36)
    uuids = _re(r"(?<![a-z0-9])[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?![a-z0-9])").finditer(low, window, end + 36)
    return any(m.start() <= start and end <= m.end() for m in uuids)


def _registered(low: str) -> "Iterator[Span]":
    """Numbers that a state gives: US SSN, Russian SNILS and INN, dashed or after their name."""
    pattern = (
        r"[0-9](?<![\w-].)(?:[0-9]{2}-?[0-9]{2}-?[0-9]{4}|[0-9]{2}[ -]?[0-9]{3}[ -]?[0-9]{3}[ -]?[0-9]{2}"
        r"|[0-9]{9}(?:[0-9]{2})?)(?![\w-])"
    )
    for m in _re(pattern).finditer(low):
        named = _re(r"(?<!\w)(ssn|social security|snils|снилс|inn|инн)[^0-9]{1,16}$").search(
            low, max(0, m.start() - 34), m.start()
        )
        kind = _registry(named[1] if named else "", m[0])
        if kind:
            yield m.start(), m.end(), kind


def _registry(name: str, number: str) -> str | None:
    digits = "".join(filter(str.isdigit, number))
    if len(digits) == 9 and (name[:2] in ("ss", "so") or (not name and number.count("-") == 2)):
        # Never issued: area 000, 666, 900-999, group 00, serial 0000 (US Social Security Administration).
        return "ssn" if not _re("000|666|9|...00|.....0000").match(digits) else None
    if len(digits) == 11 and (name[:2] in ("sn", "сн") or (not name and number.count("-") >= 2)):
        # Nine digits weighted 9 to 1, modulo 101, of which the last two digits count (Russian pension fund).
        check = sum(int(d) * w for d, w in zip(digits, range(9, 0, -1), strict=False)) % 101 % 100
        return "snils" if check == int(digits[9:]) else None
    if name in ("inn", "инн") and (len(digits) == 10 or len(digits) == 12):
        return "inn" if _is_inn(digits) else None
    return None


def _is_inn(digits: str) -> bool:
    """One check digit at the end of ten digits, two of twelve: weighted sums modulo 11, then 10 (Russian tax service)."""
    weights = (3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8)
    ends = (9,) if len(digits) == 10 else (10, 11)
    sums = {n: sum(int(d) * w for d, w in zip(digits, weights[-n:], strict=False)) for n in ends}
    return all(total % 11 % 10 == int(digits[n]) for n, total in sums.items())


def _phones(text: str, low: str) -> "Iterator[Span]":
    """Numbers in international form (ITU-T E.164: + and at most 15 digits); national ones only after a phone word."""
    if "+" in text:
        for m in _re(r"\+(?<![\w+.].)[1-9](?:[ ()./-]{0,2}[0-9]){7,14}(?![0-9])").finditer(text):
            if not _is_measured(m[0][1:]):
                yield m.start(), m.end(), "phone"
    if any(word in low for word in ("tel", "phone", "mobil", "cell", "fax", "whatsapp", "handy", "тел", "моб", "факс")):
        for m in _re(_PHONE_WORD).finditer(low):
            if not _is_measured(m[1]):
                yield *m.span(1), "phone"


_PHONE_WORD = (
    r"(?<!\w)(?:tel|tele(?:ph|f)on\w{0,3}|(?:mobile |cell )?phone|mobile?|cell|fax|whatsapp|handy"
    r"|телефон\w{0,3}|тел|моб|факс)"
    r"(?: (?:number|no|nr|is|номер))?[\s:.#№=—-]{1,4}(\(?[0-9](?:[ ()./-]{0,2}[0-9]){6,14})(?![\w])"
)


def _is_measured(number: str) -> bool:
    """A date, an IPv4 address or a decimal number (a latitude, say) that only looks like a phone number."""
    return bool(_re(r".*\d{4}-\d\d-\d\d.*|\d{1,3}(?:\.\d{1,3}){3}|\d+\.\d+").fullmatch(number))


def _emails(text: str) -> "Iterator[Span]":
    """Addresses (RFC 5322 atoms and dots, apostrophes too); not scp forms, systemd units, package@version or code."""
    pattern = r"@((?:[\w-]{1,63}\.){1,8}(?:xn--[a-z0-9-]{1,59}|[^\W\d_]{2,24}))(?![\w(])"
    for m in _re(pattern).finditer(text):
        start = m.start()
        while start and (text[start - 1].isalnum() or text[start - 1] in "._%+'-"):
            start -= 1
        start = m.start() - len(text[start : m.start()].lstrip("._%+'-"))
        if start < m.start() and not _is_machine(text, start, m):
            yield start, m.end(), "email"


def _is_machine(text: str, start: int, m: "re.Match[str]") -> bool:
    if text[start : m.start()] == "git" or text[max(0, start - 2) : start] == "//":
        return True
    if _re(r":[\w.~-]{0,64}/").match(text, m.end()):
        return True
    pattern = r"(?i)v?\d+\.\d.*|\dx\..*|.*\.(?:service|socket|timer|target|mount|slice|png|jpe?g|svg|webp)"
    return bool(_re(pattern).fullmatch(m[1]))
