"""What a statement is about, as far as its words tell: a person, a project or a tool; English and Russian.

Better none than a wrong one: a person needs a name on one side and a role on the other, a project the word, a tool a name
and a word such as "library". Everything else has no domain.
"""

import re

PEOPLE, PROJECTS, TOOLS = "people", "projects", "tools"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ROLES = _words(
    "engineer developer programmer designer analyst architect director founder cofounder co-founder ceo cto cfo coo cio vp "
    "intern colleague coworker teammate boss supervisor contractor consultant freelancer scientist researcher recruiter "
    "accountant lawyer mentor maintainer administrator admin sysadmin technician secretary salesperson marketer professor "
    "teacher doctor nurse wife husband brother sister mother father son daughter friend girlfriend boyfriend "
    "тимлид техлид лид разработчик разработчица программист программистка инженер дизайнер аналитик директор начальник "
    "руководитель руководительница начальница тестировщик тестировщица архитектор администратор админ сисадмин бухгалтер "
    "юрист стажёр стажер стажёрка стажерка коллега основатель основательница маркетолог рекрутер продакт проджект девопс "
    "наставник наставница ментор бэкендер фронтендер ответственный ответственная менеджер преподаватель учитель врач жена "
    "муж брат сестра мама папа друг подруга"
)
# Words that name a role only after these (a package manager is a tool); alone they do as well, but for those marked here.
_DOUBTFUL = {
    "manager": "product project engineering office account general marketing sales hr release support delivery program "
    "team community operations line people hiring it qa",
    "lead": "tech technical team backend frontend front-end back-end engineering design product project qa data mobile ios "
    "android security platform infrastructure devops research marketing support dev development",
    "owner": "product business",
    "officer": "security privacy compliance executive technology financial operating protection data",
    "head": "department team",
    "tester": "qa software manual",
    "writer": "technical content",
    "master": "scrum",
    "representative": "sales support",
}
_NOT_ALONE = _words("owner head writer master tester officer representative")
# `manager` in Russian stands before what is managed.
_RU_MANAGED = re.compile(r"менеджер (?:пакетов|паролей|задач|процессов|файлов|окон|версий|зависимостей|памяти|сессий)")

_TOOLS = _words(
    "tool library framework database service editor ide compiler interpreter linter formatter debugger profiler runtime "
    "plugin extension cli utility sdk orm queue broker cache proxy browser shell terminal platform daemon crate toolkit "
    "bundler transpiler emulator hypervisor orchestrator scheduler parser engine language "
    "утилита библиотека фреймворк сервис редактор компилятор интерпретатор линтер отладчик плагин расширение очередь брокер "
    "кэш прокси браузер терминал платформа движок инструмент субд программа"
)
_TOOL_PAIRS = (
    "package manager|password manager|process manager|window manager|version manager|task runner|test runner|build system|"
    "operating system|version control system|load balancer|web server|application server|reverse proxy|message bus|"
    "менеджер пакетов|менеджер паролей|система сборки|операционная система|система контроля версий|веб-сервер|"
    "база данных|язык программирования"
).split("|")
_PROJECT = _words("project initiative проект инициатива")
# Before "project" these name none: "new project", "next project".
_NO_NAME = _words(
    "new next current main big old first second last side pet whole this our my the another any every each some that "
    "новый следующий текущий главный основной старый первый второй последний весь этот наш мой другой каждый "
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august "
    "september october november december понедельник вторник среда четверг пятница суббота воскресенье"
)
_DETERMINER = re.compile(r"(?:a|an|the|our|my|new|наш|наша|наше|мой|моя|новый|новая)\s+", re.I)
_END_OF_PHRASE = re.compile(
    r"[,(;:]|\s[—–-]\s|\s(?:for|of|in|on|at|that|which|who|to|with|by|from|and|or|since|written|used|"
    r"для|в|на|по|за|с|из|и|или|который|которая|которое|от|над|у)\s",
    re.I,
)
_PERSON = re.compile(r"(?:O['’])?[A-ZА-ЯЁ][a-zа-яё]+(?:['’-][A-ZА-ЯЁ]?[a-zа-яё]+|[A-Z][a-z]+)?")
_TITLE = re.compile(r"(?:dr|mr|mrs|ms|prof)\.?\s+", re.I)
_ADJECTIVE = re.compile(r".+(?:ый|ий|ой|ая|яя)|наш|наша|мой|моя|[a-z0-9./+-]+", re.I)
_QUOTES = " \"'«»“”`"
_MOST_NAME_WORDS, _MOST_PHRASE_WORDS = 3, 6


def domain(subject: str, said: str, *, definite: bool = False) -> str:
    """The domain of a statement: "people", "projects", "tools", or "" for anything else.

    subject: as it is written, without article; definite: an article or "our" stood before it, so that it is a name only
    with a capital; said: what is said of it.
    """
    phrase = _phrase(said)
    if _is_person(subject) and _is_role(phrase):
        return PEOPLE
    if _is_role(_phrase(subject)) and _is_person(said):
        return PEOPLE
    if _is_project(subject) or (_is_title(subject) and _head(phrase, _PROJECT)):
        return PROJECTS
    if _is_tool_name(subject, definite) and _is_tool(phrase):
        return TOOLS
    return ""


def _phrase(text: str) -> list[str]:
    """The words of the noun phrase that opens a text, without determiners."""
    bare = text.strip(_QUOTES)
    for _ in range(2):
        bare = _DETERMINER.sub("", bare, count=1) if _DETERMINER.match(bare) else bare
    return _END_OF_PHRASE.split(f"{bare} ", maxsplit=1)[0].lower().strip(_QUOTES + ".!").split()


def _is_person(text: str) -> bool:
    """One to three capitalised words of letters, with or without a title."""
    parts = _TITLE.sub("", text.strip(_QUOTES + ".!"), count=1).split()
    plain = 1 <= len(parts) <= _MOST_NAME_WORDS and all(_PERSON.fullmatch(p) for p in parts)
    return plain and not any(p.lower() in _NO_NAME | _ROLES | _TOOLS | _PROJECT | _DOUBTFUL.keys() for p in parts)


def _is_role(phrase: list[str]) -> bool:
    if not 1 <= len(phrase) <= _MOST_PHRASE_WORDS or _RU_MANAGED.search(" ".join(phrase)):
        return False
    last, before = phrase[-1], phrase[-2] if len(phrase) > 1 else ""
    if last in _ROLES and last.isascii():
        return True
    if last in _DOUBTFUL:
        return before in _DOUBTFUL[last].split() if before else last not in _NOT_ALONE
    return _head(phrase, _ROLES)


def _head(phrase: list[str], heads: frozenset[str]) -> bool:
    """True when a word of `heads` is what the phrase is about: the last in English, in Russian the first noun."""
    if not 1 <= len(phrase) <= _MOST_PHRASE_WORDS:
        return False
    if phrase[-1] in heads and phrase[-1].isascii():
        return True
    for word in phrase:
        noun = word.rpartition("-")[2]
        if noun in heads and not noun.isascii():
            return True
        if not _ADJECTIVE.fullmatch(word):
            return False
    return False


def _is_project(subject: str) -> bool:
    """`Project Atlas`, `проект «Атлас»`, `Atlas project`: the word beside a name."""
    parts = subject.replace("«", "").replace("»", "").strip(_QUOTES).split()
    if len(parts) < 2:
        return False
    first, second, last = parts[0], parts[1].strip(_QUOTES), parts[-1]
    if first.lower() in _PROJECT:
        return second[:1].isupper() and second.lower() not in _ROLES | _DOUBTFUL.keys()
    named = first[:1].isupper() and first.lower() not in _NO_NAME
    return last.lower() in _PROJECT and last.isascii() and named and len(parts) <= _MOST_NAME_WORDS


def _is_title(subject: str) -> bool:
    """One to three words that begin with a capital or a digit."""
    parts = subject.strip(_QUOTES).split()
    good = 1 <= len(parts) <= _MOST_NAME_WORDS and all(p[:1].isupper() or p[:1].isdigit() for p in parts)
    return good and parts[0][:1].isupper() and not any(p.lower() in _NO_NAME for p in parts)


def _is_tool_name(subject: str, definite: bool) -> bool:
    """A name: capitalised words (in Cyrillic two at least, since a sentence begins with one), or one word in small letters."""
    parts = subject.strip(_QUOTES).split()
    if not parts or any(p.lower() in _TOOLS | _PROJECT for p in parts):
        return False
    if not any(c.isascii() and c.isalpha() for c in subject):
        return len(parts) > 1 and _is_title(subject)
    return _is_title(subject) or (len(parts) == 1 and not definite)


def _is_tool(phrase: list[str]) -> bool:
    said = " ".join(phrase)
    return any(said.endswith(p) or said.startswith(p) for p in _TOOL_PAIRS) or _head(phrase, _TOOLS)
