"""What an audit finds between entries: the same text twice, nearly the same, and two values of one thing.

Near-linear in the number of entries: those that may be alike share one of their rarest words, and no word leads to more
than a few of them.
"""

import re
from array import array
from collections import Counter
from functools import cache
from hashlib import blake2b

from memcli.engine import evidence
from memcli.engine.audit_entry import Entry, Finding, of
from memcli.model import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_re = cache(re.compile)
LIKE = (
    0.75  # of the words of both, so many must be shared where one holds all of the other's; LIKE_BOTH where none does
)
LIKE_BOTH = 0.85
LEAST_SHARED, LEAST_SHARED_BOTH = 4, 8
_FIRST_UNSPACED = "\u0e00"
SAME_WORDS = 4  # fewer words may be said of many things
LOG_WORDS = 12  # what a log says on two days is two events, unless it says much
_MOST_CHARS = 4000
_MOST_TERMS = 400
_BRIEF_CHARS, _BRIEF_LINES = 500, 3
_MOST_COMPARED = 24
_MOST_OF_SUBJECT = 12
_TURNING = frozenset(
    "not no nor never without off out before after under over down up only except unless until dont doesnt cant wont isnt "
    "не нет ни без никогда нельзя кроме до после над под".split()
)
_SEPARATED = (": ", " is ", " are ", " — ", " – ", " - ", " это ")
_LEADS = frozenset("in on at of for by with from to via в во на у по для из с со".split())
# Headings that name no thing of their own: what stands under two of them may be of one subject.
_GENERIC = frozenset(
    "memory memories notes note facts fact general misc other index user profile preferences infra infrastructure project "
    "context daily log long-term knowledge about settings key information память заметки факты общее профиль "
    "предпочтения проект контекст журнал настройки разное".split()
)


def duplicates(entries: "Sequence[Entry]") -> "Iterator[tuple[int, Finding]]":
    """The number of each entry whose text an earlier one of its sort has, with the finding."""
    first: dict[bytes, int] = {}
    for number, entry in enumerate(entries):
        said = _re(r"\w+").findall(words.fold(entry.text))
        if not said or entry.form == "bond":
            continue
        if _short(said, entry.text) or entry.form == "code":
            said = [*said, "\n", words.fold(entry.title)] if entry.title else [*said, "\n", entry.path]
        if entry.dated and len(said) < LOG_WORDS:
            said = [*said, "\n", str(entry.at)]
        sign = blake2b(f"{_sort(entry)}\n{' '.join(said)}".encode("utf-8", "replace"), digest_size=12).digest()
        earlier = first.setdefault(sign, number)
        if earlier != number:
            other = entries[earlier]
            yield number, of(entry, "duplicate", f"the same as {other.place}", other=other)


def _short(said: list[str], text: str) -> bool:
    """Whether a text has too few words to be told apart by; scripts without spaces have one long word."""
    if len(said) >= SAME_WORDS:
        return False
    return all(c < _FIRST_UNSPACED for word in said for c in word) or len(words.terms(text)) < SAME_WORDS


def similar(entries: "Sequence[Entry]", passed: set[int]) -> "Iterator[Finding]":
    """Entries that say nearly the same as an earlier one. passed: numbers of those that are not looked at."""
    known: dict[str, int] = {}
    count: list[int] = []
    held: list[array[int]] = []
    for number, entry in enumerate(entries):
        row: list[int] = []
        if number not in passed and entry.form == "text":
            row = [known.setdefault(t, len(known)) for t in dict.fromkeys(words.terms(entry.text[:_MOST_CHARS]))]
        count += [0] * (len(known) - len(count))
        for term in row[:_MOST_TERMS]:
            count[term] += 1
        held.append(array("I", row[:_MOST_TERMS]))
    leading: dict[int, list[int]] = {}
    for number, row_ in enumerate(held):
        if len(row_) < LEAST_SHARED:
            continue
        rare = sorted(row_, key=lambda t: (count[t], t))
        # Two of the rarest are shared by any two that share so much (Chaudhuri, Ganti and Kaushik, 2006).
        prefix = rare[: len(rare) - int(LIKE * len(rare) + 0.999) + 2]
        seen: Counter[int] = Counter()
        for term in prefix:
            seen.update(leading.get(term, ())[-_MOST_COMPARED:])
            leading.setdefault(term, []).append(number)
        likely = sorted(n for n, times in seen.items() if times > 1)
        other = next((n for n in likely if _alike(held[n], row_) and _same_point(entries[n], entries[number])), -1)
        if other >= 0:
            yield of(entries[number], "similar", f"nearly the same as {entries[other].place}", other=entries[other])


def _alike(one: "array[int]", other: "array[int]") -> bool:
    """Enough words shared, in the same order."""
    if not LIKE * len(one) <= len(other) <= len(one) / LIKE:
        return False
    a, b = set(one), set(other)
    shared = len(a & b)
    of_both = shared / (len(a) + len(b) - shared)
    within = shared in (len(a), len(b))
    if shared < (LEAST_SHARED if within else LEAST_SHARED_BOTH) or of_both < (LIKE if within else LIKE_BOTH):
        return False
    return [t for t in one if t in b] == [t for t in other if t in a]


def _same_point(one: Entry, other: Entry) -> bool:
    """Whether the words that differ are neither names nor numbers, and turn nothing round."""
    if _sort(one) != _sort(other) or (one.dated and one.at != other.at):
        return False
    a, b = (_re(r"[\w'’+#.-]*\w[+#]*").findall(e.text[:_MOST_CHARS]) for e in (one, other))
    if [words.fold(w) for w in a] == [words.fold(w) for w in b] or _addresses(one) != _addresses(other):
        return False
    low_a, low_b = ({words.fold(w).replace("'", "").replace("’", "") for w in found} for found in (a, b))
    if (low_a & _TURNING) != (low_b & _TURNING):
        return False
    for found, missing in ((a, low_b), (b, low_a)):
        for place, word in enumerate(found):
            if words.fold(word).replace("'", "").replace("’", "") in missing:
                continue
            if any(c.isdigit() for c in word) or (place and word[:1].isupper()):
                return False
    titles = {words.fold(e.title) for e in (one, other)}
    return len(titles) == 1 or not _apart(one, other)


def _addresses(entry: Entry) -> set[str]:
    return set(_re(r"\w+://\S+").findall(entry.text[:_MOST_CHARS])) if "://" in entry.text else set()


def contradictions(entries: "Sequence[Entry]", passed: set[int]) -> "Iterator[Finding]":
    """Entries that give one thing another value than an earlier one does; for each entry at most one."""
    by_subject: dict[frozenset[str], list[tuple[int, str, evidence.Said]]] = {}
    for number, entry in enumerate(entries):
        if number in passed or entry.form != "text" or entry.dated:
            continue
        for pattern, said in _told(entry, number):
            rivals = by_subject.setdefault(said.subject, [])
            against = next((r for r in rivals if _against(entries, r, (number, pattern, said))), None)
            if against is not None:
                other = entries[against[0]]
                yield of(entry, "contradiction", f"says something else than {other.place}", other=other)
                break
            if len(rivals) < _MOST_OF_SUBJECT:
                rivals.append((number, pattern, said))


def _told(entry: Entry, number: int) -> "Iterator[tuple[str, evidence.Said]]":
    """The statements of an entry that give something a value: of a fact its key too."""
    side = evidence.Side(layer=entry.layer, id=str(number), name=entry.title, text="")
    if entry.layer == "facts" and len(entry.text) <= 200:
        yield "key", evidence.Said(entry.title, entry.text.rstrip(" ."), side)
    text = entry.text[:_MOST_CHARS]
    # What is long says more than one thing, and its lines belong together.
    brief = len(text) <= _BRIEF_CHARS and text.count("\n") < _BRIEF_LINES
    if brief and any(mark in text for mark in _SEPARATED):
        for found, denied in evidence.stated(text):
            said = evidence.Said(found.key, found.text, side, denied=denied)
            if said.subject:
                yield found.pattern, said


def _against(
    entries: "Sequence[Entry]", one: tuple[int, str, evidence.Said], other: tuple[int, str, evidence.Said]
) -> bool:
    (n, pattern, said), (m, pattern_too, said_too) = one, other
    if n == m or not evidence.contradict(said, said_too):
        return False
    if len(said.subject) < 2 and entries[n].layer != "facts":
        near = entries[n].path == entries[m].path and entries[n].title == entries[m].title
        if not near:
            return False
    elif entries[n].layer != "facts" and _apart(entries[n], entries[m]):
        return False
    if said.denied or said_too.denied:
        return True
    return _exclusive(said, said_too, prose="is" in (pattern, pattern_too))


def _exclusive(one: evidence.Said, other: evidence.Said, *, prose: bool) -> bool:
    """Whether two values are of one kind, so that only one can hold: places, names, numbers, single words."""
    firsts = [(s.text.split() or [""])[0].strip("\"'«“(`*") for s in (one, other)]
    leads = [f.lower() if f.lower() in _LEADS else "" for f in firsts]
    if leads[0] != leads[1]:
        return False
    if leads[0]:
        firsts = [(s.text.split()[1:] or [""])[0].strip("\"'«“(`*") for s in (one, other)]
    if any(f[:1].isdigit() for f in firsts):
        return all(f[:1].isdigit() for f in firsts) and max(len(one.stems), len(other.stems)) <= 5
    if max(len(one.stems), len(other.stems)) > 4:
        return False
    if all(f[:1].isupper() or any(c.isdigit() for c in f) for f in firsts) and prose:
        return True
    return not prose and max(len(one.stems), len(other.stems)) <= 2


def _apart(one: Entry, other: Entry) -> bool:
    """Whether two entries stand under headings, or in files, that name different things."""
    a, b = (_named(e, with_file=one.path != other.path) for e in (one, other))
    return bool(a and b) and not (a <= b or b <= a)


def _named(entry: Entry, *, with_file: bool) -> set[str]:
    """What its headings, and the name of its file, are about."""
    stem = entry.path.rpartition("/")[2].partition(".")[0] if with_file and not entry.layer else ""
    found = _re(r"[^\W_]+").findall(words.fold(f"{entry.title} {stem}"))
    return {w for w in found if w not in _GENERIC}


def _sort(entry: Entry) -> str:
    """Entries of one sort are compared: a log may tell what a fact says."""
    return f"{entry.layer}{'log' if entry.dated else ''}{entry.form}"
