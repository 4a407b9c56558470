"""What differs in one number, or in one last word, is a contradiction; what may hold beside another is none."""

from itertools import combinations

import pytest
from plain_corpus import SAMPLE
from support import Box

from memcli.engine import alike
from memcli.store import facts, folder

PAIRS = [
    ("The plan costs 29 EUR", "The plan costs 39 EUR."),
    ("The service listens on port 8080.", "the service listens on port 7000"),
    ("Anna has 2 cats", "Anna has 4 cats"),
    ("Anna has 1 cat", "Anna has 4 cats"),
    ("The plan costs $29", "The plan costs $39"),
    ("The backup takes 1.5 hours", "The backup takes 2 hours"),
    ("The pod gets 8GB", "The pod gets 16GB"),
    ("Тариф стоит 29 рублей", "Тариф стоит 39 рублей"),
    ("У Анны 2 кота", "У Анны 3 кота"),
    ("Кот Анны чёрный", "Кот Анны рыжий"),
    ("Кошка Анны чёрная.", "Кошка Анны рыжая"),
]
NONE = [
    ("The plan costs 29 EUR", "The plan costs 29.00 EUR", "one number, written twice"),
    ("The plan costs 1000 EUR", "The plan costs 1,000 EUR", "one number, written twice"),
    ("The plan costs 29 EUR", "The team plan costs 39 EUR", "two plans"),
    ("The plan costs 29 EUR", "The plan costs 39 USD", "two currencies"),
    ("The meeting was moved to 2026-03-01", "The meeting was moved to 2026-03-08", "dates"),
    ("We met Anna on 3 March", "We met Anna on 4 March", "dates"),
    ("Anna was born in 1990", "Anna was born in 1991", "years are left alone"),
    ("The call starts at 10:30", "The call starts at 11:30", "times of day"),
    ("On 3 March Anna ran 5 km", "On 4 March Anna ran 6 km", "two numbers"),
    ("The server opens ports 80 and 443", "The server opens ports 80 and 8080", "lists"),
    ("The server opens ports 80 443", "The server opens ports 8080 443", "lists without a comma"),
    ("We support Python 3.11", "We support Python 3.12", "versions"),
    ("The image ships Redis 6.2", "The image ships Postgres 15.1", "versions of different things"),
    ("The library needs version 2", "The library needs version 3", "versions"),
    ("Port 7000 is open", "Port 8080 is open", "numbers that name a thing"),
    ("Server room 12 smells bad", "Server room 13 smells bad", "numbers that name a thing"),
    ("See chapter 3 first", "See chapter 4 first", "numbers that name a thing"),
    ("Anna has at least 2 cats", "Anna has at least 4 cats", "limits"),
    ("Anna has not 2 cats", "Anna has not 4 cats", "denials"),
    ("If it fails it retries 2 times", "If it fails it retries 4 times", "conditions"),
    ("Anna finished 2nd", "Anna finished 3rd", "ordinals"),
    ("Anna has 2 cats. Bob has 4 cats.", "Bob has 4 cats. Anna has 2 cats.", "the same, in another order"),
    ("Anna likes cats", "Anna likes dogs", "a last word that is no adjective"),
    ("Анна любит чёрный", "Анна любит рыжий", "a verb"),
    ("Кот Анны чёрный", "Кошка Анны рыжая", "two animals"),
    ("Кот Анны чёрный", "Кот Анны рыжая", "another gender"),
    ("Кот чёрный", "Кот рыжий", "whose cat, nobody knows"),
    ("Кот Анны и Бори чёрный", "Кот Анны и Бори рыжий", "lists"),
]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_a_pair(one: str, other: str) -> None:
    for a, b in ((one, other), (other, one)):
        assert alike.differ(list(alike.shapes(a)), list(alike.shapes(b)))
        assert not alike.differ(list(alike.shapes(a)), list(alike.shapes(a)))


@pytest.mark.parametrize(("one", "other", "why"), NONE)
def test_no_pair(one: str, other: str, why: str) -> None:
    for a, b in ((one, other), (other, one)):
        assert not alike.differ(list(alike.shapes(a)), list(alike.shapes(b))), why


def test_under_two_keys_it_may_be_two_things() -> None:
    def differ(one: str, other: str) -> bool:
        return alike.differ(
            list(alike.shapes("It costs just 29 EUR", one)), list(alike.shapes("It costs just 39 EUR", other))
        )

    assert not differ("plan a", "plan b")
    assert differ("cost", "price of it")


@pytest.mark.parametrize(
    ("key", "text", "claim", "refuted"),
    [
        ("pricing", "The plan costs 29 EUR.", "The plan costs 39 EUR", True),
        ("pricing", "The plan costs 29 EUR.", "The plan costs 29 EUR", False),
        ("port", "8080", "port 7000", True),
        ("port", "8080", "port 8080", False),
        ("api port", "8080", "The api port 7000", True),
        ("network", "The service listens on port 8080", "The service listens on port 7000", True),
        ("anna pets", "Anna has 2 cats", "Anna has 4 cats", True),
        ("кот", "Кот Анны чёрный", "Кот Анны рыжий", True),
        ("schedule", "The review moved to 2026-03-01", "The review moved to 2026-03-02", False),
    ],
)
def test_a_claim_against_a_fact(box: Box, key: str, text: str, claim: str, refuted: bool) -> None:
    box.set(key, text)
    found = box.data("recall", claim, "--goal", "verify_claim")
    assert found["refuted"] is refuted
    assert [p["kind"] for p in found["contradictions"]] == (["claim"] if refuted else [])


def test_two_facts_are_a_pair_and_what_happened_twice_is_none(box: Box) -> None:
    box.set("anna cats", "Anna has 2 cats")
    box.set("anna at home", "Anna has 4 cats")
    assert [p["kind"] for p in box.data("recall", "how many cats has Anna?")["contradictions"]] == ["value"]
    for count in (5, 6):
        box.add(f"Anna bought {count} apples")
    found = box.data("recall", "how many apples has Anna bought?", "-n", "0")
    assert not any("apples" in p["one"]["text"] for p in found["contradictions"])


def test_the_sample_store_has_no_such_pair() -> None:
    shown = [(fact, alike.of(fact)) for fact in facts.every(folder.Store(str(SAMPLE)))]
    assert len(shown) > 20
    assert [(a.key, b.key) for (a, one), (b, other) in combinations(shown, 2) if alike.differ(one, other)] == []
