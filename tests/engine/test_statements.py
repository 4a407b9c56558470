"""What counts as a statement, and above all what does not."""

import time

import pytest

from memcli.engine import statements

# text -> (key, what is said)
POSITIVES = {
    # X is Y
    "The deploy target is Fly.io.": ("deploy target", "Fly.io"),
    "The deploy target is Fly.io, region fra.": ("deploy target", "Fly.io, region fra"),
    "Postgres 16 is our main database": ("Postgres 16", "our main database"),
    "Our staging server is hosted in Falkenstein.": ("staging server", "hosted in Falkenstein"),
    "Deploys are on Tuesdays and Thursdays.": ("Deploys", "on Tuesdays and Thursdays"),
    "Anna Keller is the tech lead": ("Anna Keller", "the tech lead"),
    "- The API rate limit is 600 requests a minute": ("API rate limit", "600 requests a minute"),
    "1. The **job queue** is Redis": ("job queue", "Redis"),
    "However, the release branch is `main`.": ("release branch", "main"),
    "Note that the backup window is 02:00 to 03:00 UTC.": ("backup window", "02:00 to 03:00 UTC"),
    "And the on-call phone is in the top drawer.": ("on-call phone", "in the top drawer"),
    "Currently the payment provider is Stripe": ("payment provider", "Stripe"),
    "Node.js is pinned to version 22": ("Node.js", "pinned to version 22"),
    "My timezone is CET": ("my timezone", "CET"),
    "My preferred editor is Helix": ("my preferred editor", "Helix"),
    "US region is us-east-1": ("US region", "us-east-1"),
    "Code review is required for billing": ("code review", "required for billing"),
    "The theme color is green": ("theme color", "green"),
    "The release date is May 5": ("release date", "May 5"),
    # labels before it
    "Answer: The capital of France is Paris.": ("capital of France", "Paris"),
    "Final answer: Postgres is the source of truth": ("Postgres", "the source of truth"),
    "Ответ: столица Франции — Париж.": ("столица Франции", "Париж"),
    "Assistant: Note: the cache TTL is 300 seconds": ("cache TTL", "300 seconds"),
    "Вывод: Redis — это очередь задач": ("Redis", "очередь задач"),
    # X: Y
    "Deploy target: Fly.io": ("deploy target", "Fly.io"),
    "Release day: Thursday, 10:00 UTC": ("release day", "Thursday, 10:00 UTC"),
    "**Billing owner**: Boris": ("billing owner", "Boris"),
    "* Check command: make check": ("check command", "make check"),
    "CI/CD: GitHub Actions": ("CI/CD", "GitHub Actions"),
    "Основная база: Postgres 16": ("основная база", "Postgres 16"),
    # X — Y and X - Y
    "Anna Keller — tech lead": ("Anna Keller", "tech lead"),
    "Fly.io – our hosting provider": ("Fly.io", "our hosting provider"),
    "Boris - billing and payments": ("Boris", "billing and payments"),
    "Postgres — основная база данных.": ("Postgres", "основная база данных"),
    "Релиз - по четвергам": ("Релиз", "по четвергам"),
    "Наш хостинг — Hetzner": ("хостинг", "Hetzner"),
    # X это Y
    "Redis это очередь задач": ("Redis", "очередь задач"),
    "Staging — это сервер в Фалькенштейне.": ("Staging", "сервер в Фалькенштейне"),
    "Boris - это ответственный за биллинг": ("Boris", "ответственный за биллинг"),
    "Кстати, ключевой клиент — это кофейня «Зерно»": ("ключевой клиент", "кофейня «Зерно»"),
    # preferences
    "I prefer tabs over spaces.": ("preference: tabs over spaces", "I prefer tabs over spaces"),
    "We always prefer small pull requests": ("preference: small pull requests", "We always prefer small pull requests"),
    "The user prefers answers in Russian": (
        "preference: answers in Russian",
        "The user prefers answers in Russian",
    ),
    "Я предпочитаю короткие ответы": ("preference: короткие ответы", "Я предпочитаю короткие ответы"),
    "Предпочитаю вим": ("preference: вим", "Предпочитаю вим"),
    "Мой любимый редактор — Helix": ("мой любимый редактор", "Helix"),
}

NEGATIVES = [
    # questions
    "Is Postgres the main database?",
    "Is Postgres the main database",
    "What is the deploy target?",
    "What is the deploy target",
    "How is the queue monitored",
    "The deploy target is Fly.io, right?",
    "Question: the deploy target is which one",
    "Are the backups encrypted",
    "Что это такое?",
    "Какой это сервер",
    "Redis — это очередь?",
    "Вопрос: хостинг — Hetzner",
    "Deploy target: Fly.io or Hetzner?",
    "Would you say the port is 8080",
    "Где бэкапы — известно",
    # hypotheticals and hedges
    "If the port is 8080, nginx fails.",
    "The port is 8080 if nginx is off.",
    "The deploy target might be Fly.io",
    "Maybe the deploy target is Fly.io",
    "I think the deploy target is Fly.io.",
    "The cause is probably DNS.",
    "It would be nice: Postgres is fast",
    "Suppose the main database is MySQL.",
    "The release is perhaps on Friday",
    "The queue is what we should use",
    "Если основная база — Postgres, то всё просто.",
    "Возможно, хостинг — Hetzner",
    "Основная база может быть — Postgres",
    "Кажется, Redis это очередь",
    "Хостинг был бы — Hetzner",
    "Допустим, сервер — staging",
    "Example: the deploy target is Heroku",
    "Например: хостинг — Hetzner",
    "Hypothesis: the leak is in the cache",
    "The lead may be Anna: she is the oldest",
    # negations
    "The deploy target is not Heroku.",
    "The deploy target isn't Heroku",
    "Heroku is no longer the deploy target",
    "Heroku: not used",
    "Nothing is cached",
    "The old server is never rebooted",
    "There is no staging server",
    "Heroku — не наш хостинг.",
    "Redis это не база",
    "Основная база: нет",
    "Staging — никогда",
    # commands
    "Make sure the port is 8080.",
    "Check that the port is 8080",
    "Use: make test",
    "Run: npm install",
    "Please check: the port is 8080",
    "Set the port: 8080",
    "Let's see - the port is 8080",
    "Проверь: порт 8080",
    "Запусти сервер — порт 8080",
    "Давайте так: хостинг Hetzner",
    "TODO: the port is hard-coded",
    # talk and what holds for the moment
    "This is the deploy target.",
    "It is 8080.",
    "That is correct: the port is 8080",
    "The build is broken.",
    "The tests are running",
    "The bug is fixed now",
    "Here is the plan: we move on Monday",
    "The problem is that the cache is stale",
    "Great work - thanks",
    "Done — all tests pass",
    "We moved it — finally",
    "Anna said the port is 8080",
    "He is the lead",
    "Today the server is slow",
    "You are the tech lead",
    "Это хорошо.",
    "Спасибо — отлично",
    "Мы решили — переезжаем",
    "Anna: I will look at it",
    # logs, code, quotations, marks
    "2026-10-12 09:30:00 - server - started",
    "TypeError: unsupported operand",
    "INFO: server started",
    "https://example.com: down",
    "memcli/engine/rank.py: 95 lines",
    "name: Anna",
    "The key is 42",
    "def f(x): return x",
    '"deploy target": "Fly.io"',
    "> The deploy target is Heroku",
    "# Deploy: how it works",
    "| deploy target | is Fly.io |",
    "- [ ] The port is documented",
    "10 - 20",
    "a == b: true",
    "```\nThe port is 8080\n```",
    "Deploy target: {",
    "step one - step two - step three",
    # our own context block
    '<memory-12ab34cd>\nNotes\n- deploy target: "Fly.io" [high; user:anna; 12 days; '
    "0199e4a0-5b00-7c3e-9a51-0d6a0f1b2c3d]\nThe port is 8080\n</memory-12ab34cd>\nmemory 12ab34cd: shown 1 of 1",
    '- deploy target: "Fly.io" [high; user:anna; 12 days; 0199e4a0-5b00-7c3e-9a51-0d6a0f1b2c3d]',
]


def said(text: str, **options: str) -> list[tuple[str, str]]:
    return [(s.key, s.text) for s in statements.find(text, **options)]


def test_the_tables_are_long_enough() -> None:
    assert len(POSITIVES) >= 40
    assert len(NEGATIVES) >= 60
    assert len(set(NEGATIVES)) == len(NEGATIVES)


@pytest.mark.parametrize("text", POSITIVES)
def test_a_statement_is_found(text: str) -> None:
    assert said(text) == [POSITIVES[text]]


@pytest.mark.parametrize("text", NEGATIVES)
def test_this_is_no_statement(text: str) -> None:
    assert said(text) == []


def test_preferences_have_their_domain() -> None:
    found = statements.find("I prefer tabs.\nMy favourite editor is Helix\nПредпочитаю вим\nThe port is 8080")
    assert [s.domain for s in found] == ["preferences", "preferences", "preferences", ""]


# domain -> texts that state something of that kind; their key is the subject
DOMAINS = {
    "people": [
        "Anna is our backend lead.",
        "Anna Keller is the tech lead",
        "Anna Keller — tech lead",
        "Boris is a developer in the billing team",
        "Mike O'Neil is a contractor from Acme",
        "Jean-Luc is the CTO",
        "Dr. Smith is our security consultant",
        "Olga is the product manager for payments",
        "Our backend lead is Anna",
        "Product manager: Olga Ivanova",
        "Tech lead - Anna",
        "Project manager is Anna",
        "Maria is my sister",
        "Анна — тимлид",
        "Анна - тимлид платежей",
        "Анна Петрова — наш ведущий backend-разработчик",
        "Борис — ведущий инженер команды платежей",
        "Boris - это ответственный за биллинг",
        "Руководитель проекта — Анна",
        "Мой начальник — Пётр Иванов",
        "Ольга — менеджер по продажам",
    ],
    "projects": [
        "Project Atlas is a rewrite of billing",
        "Project Atlas: the new billing",
        "Atlas is our internal project for invoices",
        "The Atlas project is on hold",
        "Project Atlas deadline is May 5",
        "Проект Атлас — переписываем биллинг",
        "Проект «Атлас» — новый биллинг",
        "Атлас — внутренний проект по аналитике",
        "Atlas — это наш проект",
    ],
    "tools": [
        "ripgrep is a tool for searching code",
        "ripgrep is a fast command-line tool",
        "Postgres 16 is our main database",
        "Postgres is a relational database that we host",
        "Sentry is the error tracking service",
        "Node.js is a JavaScript runtime",
        "Homebrew is a package manager",
        "Rust is a programming language",
        "fzf: a fuzzy finder utility",
        "Helix — editor",
        "pydantic is a library, version 2",
        "Redis — это очередь задач",
        "Redis это брокер",
        "ruff — быстрый линтер",
        "Pass — менеджер паролей",
        "Яндекс Метрика — сервис аналитики",
    ],
    # statements, but of none of these kinds
    "": [
        "The deploy target is Fly.io",
        "The cache is a service",
        "The database is a managed service",
        "Our queue is a library",
        "Кэш — это сервис",
        "Boris - billing and payments",
        "Fly.io – our hosting provider",
        "Acme is our biggest customer",
        "Billing owner: Boris",
        "Marketing is the owner of the budget",
        "Friday is the release day",
        "Friday is our lead day",
        "Project status: green",
        "Project deadline is Friday",
        "New project is a rewrite",
        "The project is a rewrite of billing",
        "Next project: invoices",
        "Main database: Postgres",
        "The package manager is uv",
        "Менеджер паролей — Pass",
        "The lead time is two weeks",
        "Lead time - two weeks",
        "Code review is required for billing",
        "Staging — это сервер в Фалькенштейне",
        "The tool budget is 100 EUR",
        "The engineering office is in Berlin",
        "Anna's desk is in room 5",
        "Release day: Thursday",
    ],
}
NO_ENTITIES = [
    "Is Anna our backend lead?",
    "Anna is not our backend lead",
    "If Anna is the tech lead, ask her",
    "Maybe Anna is our backend lead",
    "Anna might be the tech lead",
    "He is our backend lead",
    "Someone is the tech lead",
    "Анна — не тимлид",
    "Анна — тимлид?",
    "Возможно, Анна — тимлид",
    "Project Atlas is not a rewrite",
    "Would Project Atlas be a rewrite",
    "Если Атлас — проект, то чей",
    "ripgrep isn't a library",
    "Suppose Redis is a queue",
    "Redis — это очередь?",
    "Use: ripgrep, a tool",
    "Example: Anna is our backend lead",
]


@pytest.mark.parametrize(("domain", "text"), [(d, t) for d, texts in DOMAINS.items() for t in texts])
def test_what_a_statement_is_about_is_its_domain(domain: str, text: str) -> None:
    assert [s.domain for s in statements.find(text)] == [domain]


@pytest.mark.parametrize("text", NO_ENTITIES)
def test_a_name_and_a_role_make_no_statement_of_what_is_none(text: str) -> None:
    assert said(text) == []


def test_the_names_of_entities_stay_as_they_are() -> None:
    text = "The Atlas project is on hold. Проект «Атлас» — новый биллинг. Our backend lead is Anna. Анна — тимлид."
    assert [s.key for s in statements.find(text)] == ["Atlas project", "Проект «Атлас»", "backend lead", "Анна"]


def test_i_and_my_are_the_users_only() -> None:
    assert said("I prefer tabs. My editor is vim. The user prefers tea.", speaker="assistant") == [
        ("preference: tea", "The user prefers tea")
    ]


def test_several_sentences_each_once() -> None:
    text = "The port is 8080. Is it open? The host is Hetzner; the port is 8080.\n\nThe Port is 8080!"
    assert said(text) == [("port", "8080"), ("host", "Hetzner")]


def test_a_word_that_ends_like_an_abbreviation_ends_its_sentence() -> None:
    assert said("Хостинг — Hetzner, наш биллинг. The port is 8080. He wrote forms. The host is Fly.io.") == [
        ("Хостинг", "Hetzner, наш биллинг"),
        ("port", "8080"),
        ("host", "Fly.io"),
    ]
    assert said("The window is e.g. Tuesday (approx. 9:00)") == [("window", "e.g. Tuesday (approx. 9:00)")]


def test_two_values_of_one_key_are_both_told() -> None:
    assert said("The port is 8080. The port is 9090.") == [("port", "8080"), ("port", "9090")]


ODD = [
    "[" * 200_000,
    " " * 200_000,
    "a - " * 50_000,
    "это " * 50_000,
    "*" * 200_000,
    ". a" * 60_000,
    "Answer: " * 40_000,
]
ODD += ["<memory-" * 30_000, "<memory-12ab34cd>" * 20_000, "```\n" * 50_000, "word " * 60_000 + "is x"]


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_odd_texts_cost_little(text: str) -> None:
    start = time.process_time()
    assert statements.find(text) == []
    assert time.process_time() - start < 2
