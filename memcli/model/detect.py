"""The rules that say where a text holds a credential. `model/redact.py` runs them, and those of `model/personal.py`.

A rule runs only when its trigger stands in the text, and its expression is compiled only then, so that most texts pay
for a few substring searches. Time grows linearly with the text, whatever it is: a repeat is bounded, or possessive and
then consumed, and no step in Python looks further than a fixed window.

Passwords in prose are a trade-off. After "password:" a value of one word counts, unless it is a word that talks about
passwords ("required", "see"). After "password is", a bare "password", "token:" or "api_key=" it has to look made: a
digit among letters, a symbol, case mixed inside the word. So "password is hunter", "token: swordfish" and pass phrases
without quotes are missed, and "Password: LastPass" is masked. A miss is a leak and a false alarm is a blank, so strong
words (password, PIN) lean to masking; "token", "secret" and "key", which prose uses freely, lean the other way.

Never found: random strings that neither a prefix nor a word announces.
"""

import re
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Span = tuple[int, int, str]  # start, end, kind

compiled = cache(re.compile)  # one cache for all rules, those of personal data too
_re = compiled

# --- Secrets with a shape of their own

_SOLID, _WORD = "[A-Za-z0-9]", "[A-Za-z0-9_-]"
# Kind, prefixes, alphabet and least length of the rest: as the vendors document them, or as their keys show.
_VENDORS: tuple[tuple[str, tuple[str, ...], str, int], ...] = (
    ("github_token", ("ghp_", "gho_", "ghs_", "ghu_", "ghr_"), _SOLID, 30),
    ("github_token", ("github_pat_",), _WORD, 36),
    ("gitlab_token", ("glpat-", "gldt-", "glrt-", "glptt-", "glft-", "glsoat-", "glcbt-"), _WORD, 20),
    ("slack_token", ("xoxa-", "xoxb-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxe-", "xapp-"), _WORD, 15),
    ("stripe_key", ("sk_live_", "rk_live_", "sk_test_", "rk_test_", "whsec_"), _SOLID, 16),
    ("google_key", ("AIza",), _WORD, 30),
    ("google_token", ("ya29.", "GOCSPX-", "1//0"), _WORD, 24),
    ("anthropic_key", ("sk-ant-",), _WORD, 20),
    ("openrouter_key", ("sk-or-v1-",), _SOLID, 24),
    ("openai_key", ("sk-proj-", "sk-svcacct-", "sk-admin-"), _WORD, 24),
    ("openai_key", ("sk-",), _SOLID, 20),
    ("huggingface_token", ("hf_",), _SOLID, 30),
    ("npm_token", ("npm_",), _SOLID, 30),
    ("pypi_token", ("pypi-",), _WORD, 50),
    ("digitalocean_token", ("dop_v1_", "doo_v1_", "dor_v1_"), _SOLID, 40),
    ("linear_key", ("lin_api_", "lin_oauth_"), _SOLID, 30),
    ("replicate_token", ("r8_",), _SOLID, 30),
    ("groq_key", ("gsk_",), _SOLID, 30),
    ("age_key", ("AGE-SECRET-KEY-1",), _SOLID, 40),
    ("yandex_token", ("y0_", "y1_", "y2_", "y3_"), _WORD, 30),
    ("vault_token", ("hvs.", "hvb.", "hvr."), _WORD, 24),
    ("shopify_token", ("shpat_", "shpca_", "shppa_", "shpss_"), _SOLID, 30),
    ("docker_token", ("dckr_pat_",), _WORD, 20),
    ("atlassian_token", ("ATATT3",), _WORD, 40),
)
_PREFIXES = {prefix: (kind, rest, least) for kind, prefixes, rest, least in _VENDORS for prefix in prefixes}
_LONG = 20  # no key of the table is shorter
# Kind, trigger, length of the longest word that it needs, expression whose group 1 is the secret.
_SHAPES = (
    ("aws_key", "AKIA", 20, r"(?<![A-Z0-9])(AKIA[A-Z0-9]{16})(?![A-Z0-9])"),
    ("aws_key", "ASIA", 20, r"(?<![A-Z0-9])(ASIA[A-Z0-9]{16})(?![A-Z0-9])"),
    ("aws_secret", "AKIA", 40, r"AKIA[A-Z0-9]{16}[\s\"',:;|/]{1,8}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])"),
    ("twilio_key", "SK", 34, r"(?<![A-Za-z0-9])(SK[0-9a-f]{32})(?![A-Za-z0-9])"),
    ("sendgrid_key", "SG.", 36, r"(?<![A-Za-z0-9])(SG\.[\w-]{16,}+\.[\w-]{16,}+)"),
    ("telegram_token", ":AA", 41, r"(?<![0-9])([0-9]{8,10}:AA[\w-]{30,}+)"),
    ("slack_webhook", "hooks.slack.com/", 40, r"hooks\.slack\.com/[a-z]{1,12}/([\w/-]{20,}+)"),
    ("discord_webhook", "/api/webhooks/", 60, r"/api/webhooks/([0-9]{15,21}/[\w-]{40,}+)"),
    ("discord_token", ".", 58, r"([MNO](?<![\w-].)[\w-]{23,27}\.[\w-]{6,7}\.[\w-]{27,45})(?![\w-])"),
    # RFC 7515 and 7519: base64url of '{"', then one more part at least (RFC 7516: four).
    ("jwt", "eyJ", 20, r"(?<![\w-])(eyJ[\w-]{8,}+\.[\w-]{8,}+(?:\.[\w-]++){0,3})"),
    ("password_hash", "$", 28, r"(\$(?:2[abxy]|argon2(?:id|i|d)|scrypt|[156y])\$[\w$./,=+-]{20,}+)"),
    # Userinfo of a URL, RFC 3986 section 3.2.1: the password only, up to the last @ of the authority.
    ("password", "://", 8, r"""://[^\s/:@?#"'<>]{0,128}:([^\s/"'<>]{1,256})@"""),
    ("token", "://", 24, r"://((?=[\w-]{0,128}[0-9])[A-Za-z0-9_-]{20,128})@"),
    ("password", "sshpass", 0, r"""sshpass -p ?["']?([^\s"']{1,256})"""),
    ("password", "curl", 0, r"""(?<!\S)(?:-u|--user)[ =]{0,2}["']?[^\s:"']{1,64}:([^\s"']{1,256})"""),
)
# Those that a text without any long word may hold.
_SHORT_SHAPES = tuple(row for row in _SHAPES if row[2] < _LONG)


def secrets(text: str, low: str) -> "Iterator[Span]":
    """Spans of credentials; `low` is the text in lower case, of the same length. The most telling kinds come first."""
    words = [word for word in text.split() if len(word) >= _LONG]
    if "PRIVATE KEY" in text:
        yield from _private_keys(text)
    if words:
        yield from _vendor_keys(text, " ".join(words))
    for kind, _, least, pattern in [row for row in (_SHAPES if words else _SHORT_SHAPES) if row[1] in text]:
        if least < _LONG or any(len(word) >= least for word in words):
            yield from ((*m.span(1), kind) for m in _re(pattern).finditer(text) if _is_real(m[1]))
    if "bearer" in low or "basic" in low:
        yield from _authorizations(text, low)
    if any(stem in low for stem in _STEMS):
        yield from _assignments(text, low)
    if any(len(word) >= 33 and ("_" in word or "-" in word) for word in words):
        yield from _prefixed(text)


# A break is a line end, real or escaped, with quote marks around it. Headers are those of RFC 1421. The last line may
# be short, because the key was cut off there.
_BREAK = r"(?:[\s\"'>|]|\\[nr])"
_BASE64_LINES = (
    rf"(?:{_BREAK}|(?:Proc-Type|DEK-Info|Version|Comment): [^\n\\]{{0,80}})*+[A-Za-z0-9+/=]{{16,}}+"
    rf"(?:{_BREAK}{{1,9}}+[A-Za-z0-9+/=]{{24,}}+)*+(?:{_BREAK}{{1,9}}+[A-Za-z0-9+/=]++)?"
)


def _private_keys(text: str) -> "Iterator[Span]":
    """PEM (RFC 7468) and PGP blocks up to their END; without one, as far as the lines look like base64."""
    begin: re.Match[str] | None = None
    for mark in (*_re(r"-{4,5}(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-{4,5}").finditer(text), None):
        if begin and mark and mark[1] == "END":
            if _re("[A-Za-z0-9+/]{8}").search(text, begin.end(), mark.start()):
                yield begin.start(), mark.end(), "private_key"
        elif begin and (rest := _re(_BASE64_LINES).match(text, begin.end(), mark.start() if mark else len(text))):
            yield begin.start(), rest.end(), "private_key"
        begin = mark if mark and mark[1] == "BEGIN" else None


def _vendor_keys(text: str, words: str) -> "Iterator[Span]":
    for prefix in [p for p in _PREFIXES if p in words]:
        kind, alphabet, least = _PREFIXES[prefix]
        at = text.find(prefix)
        while at >= 0:
            rest = _re(f"{alphabet}{{{least},}}+").match(text, at + len(prefix))
            end = rest.end() if rest else at + len(prefix)
            if rest and not text[at - 1 : at].isalnum() and _is_random(rest[0]):
                yield at, end, kind
            at = text.find(prefix, end)


def _prefixed(text: str) -> "Iterator[Span]":
    """A key of a vendor not listed: a short prefix, then 30 or more mixed characters. Digests and slugs are not."""
    for m in _re(r"(?<![A-Za-z0-9])([A-Za-z][A-Za-z0-9]{1,7})[_-]([A-Za-z0-9]{30,}+)").finditer(text):
        # A random body has its digits strewn about; a long identifier ends in one number; a digest is hexadecimal.
        strewn = len(_re("[0-9]+").findall(m[2])) >= 3
        if strewn and _is_random(m[2]) and m[2].strip("0123456789abcdef") and not m[1].lower().startswith("sha"):
            yield m.start(), m.end(), "api_key"


def _is_random(word: str) -> bool:
    """Both cases, or digits among the letters of a long unbroken part: no slug of lower-case words and numbers."""
    return _mixes_case(word) or any(len(part) >= 16 and _is_alphanumeric(part) for part in _parts(word))


def _parts(word: str) -> list[str]:
    return _re(r"[\W_]+").split(word)


def _mixes_case(word: str) -> bool:
    return word.lower() != word != word.upper()


def _is_alphanumeric(word: str) -> bool:
    return _any(str.isdigit, word) and _any(str.isalpha, word)


def _any(test: "Callable[[str], bool]", word: str) -> bool:
    return any(map(test, word))


# --- Secrets that a word announces


def _authorizations(text: str, low: str) -> "Iterator[Span]":
    """Bearer tokens (RFC 6750) and Basic credentials (RFC 7617: base64 of user:password)."""
    for m in _re(r"(?<![a-z])(bearer|basic)\s{1,3}([a-z0-9._~+/=-]{4,}+)").finditer(low):
        word = text[m.start(2) : m.end(2)].rstrip(".")
        named = "authorization" in low[max(0, m.start() - 20) : m.start()]
        if m[1] == "basic" and _is_basic(word):
            yield m.start(2), m.start(2) + len(word), "basic_auth"
        elif m[1] == "bearer" and not _is_talk(word) and (named or (len(word) >= 12 and _is_random(word))):
            yield m.start(2), m.start(2) + len(word), "bearer_token"


def _is_basic(word: str) -> bool:
    from binascii import Error, a2b_base64

    try:
        return b":" in a2b_base64(word[:400])
    except Error:
        return False


_KEYS = (
    "pass(?:word|wort|wd|phrase|code)?|pwd?|psw|kennwort|mot de passe|contraseña|senha|парол[ьяюе]м?|密码|パスワード|"
    "pin(?:[ -]?code)?|пин(?:-?код)?|secret|секрет|token|токен|key|ключ|credentials?|creds|authorization"
)
# What every one of those words begins with or holds: a text without any of them compiles nothing.
_STEMS = tuple(
    "pass pw psw kennwort contrase senha парол 密码 パスワ pin пин secret секрет token токен key ключ cred authori".split()
)
_KINDS = dict.fromkeys(("pin", "пин"), "pin") | dict.fromkeys(("sec", "сек", "cre"), "secret")
_KINDS |= dict.fromkeys(("tok", "ток", "aut"), "token") | dict.fromkeys(("key", "клю"), "api_key")
_QUALIFIERS = ("api", "access", "secret", "private", "account", "auth", "encryption", "signing", "master", "shared")
_CLOSE = r"""["'`*_\])\\]{0,4}"""
_QUOTED = r"""[bfru]{0,2}(?P<mark>\\?["'`])(?P<quoted>(?:(?!(?P=mark))[^\n]){1,256})(?P=mark)"""
_VALUE = rf"(?:{_QUOTED}|(?P<bare>[^\s;]{{1,256}}))"
_FOR = "for|to|of|on|at|in|from|от|к|ко|на|для|für|zu|pour|du|de|para"
_IS = "is|was|now|set|changed|reset|to|be|это|теперь|ist|lautet|est|es"
# "password for the wifi = X", "password (root): X", "пароль администратора: X" (a sign), "password was changed to X"
_TAIL = (
    rf"(?i){_CLOSE}(?:\s{{1,3}}(?:{_FOR})(?:\s{{1,3}}[\w'/@-]{{1,24}}(?:\.[\w-]{{1,24}}){{0,3}}){{1,4}}?"
    r"|\s?\([^()\n]{1,32}\)|(?:\s[а-яё-]{3,20}){1,2}?)?"
    r"(?:(?P<sign>\s{0,3}(?:=>|->|→|:=|={1,3}|>(?=[^<\s]{1,256}</)|[:|—]|\s-\s)\**\s{0,4})"
    rf"|(?:\s{{1,3}}(?:{_IS})){{1,4}}[\s:=]{{1,3}}){_VALUE}"
)
# "password X", "пароль от почты X"
_GAP = rf"(?i){_CLOSE}(?P<sign>[ \t]{{1,3}})(?:(?:{_FOR})[ \t][\w'/@-]{{1,24}}[ \t])?{_VALUE}"


def _assignments(text: str, low: str) -> "Iterator[Span]":
    """What follows a word such as password, token or api_key; see the trade-off at the head of this module."""
    done = 0
    for key in _re(_KEYS).finditer(low):
        kind = _kind(low, key)
        if kind and key.start() >= done and (tail := _tail(text, key.end())):
            start, end, alone = _value_span(text, key.start(), tail)
            firmness = _firmness(low, key.start(), tail)
            if key[0] == "pass" and firmness < 2:
                continue  # a verb
            named = tail["sign"] == "=" and text[key.start() : key.end()].isupper()  # NAME=value, as in a .env file
            if _counts(kind, firmness, text[start:end], quoted=named or tail["quoted"] is not None, alone=alone):
                is_aws = end - start == 40 and "aws" in low[max(0, key.start() - 24) : key.start()]
                # The window ends at 256 characters, the secret may not. Only now: a refused value is not read on.
                done = _re(r"\S*").match(text, end).end() if end - start >= 250 else end  # type: ignore[union-attr]
                yield start, done, "aws_secret" if is_aws else kind


def _tail(text: str, at: int) -> "re.Match[str] | None":
    return _re(_TAIL).match(text, at) or _re(_GAP).match(text, at)


def _kind(low: str, key: "re.Match[str]") -> str | None:
    before = low[max(0, key.start() - 12) : key.start()]
    if key[0] in ("key", "ключ"):
        return "api_key" if before.rstrip(" _-").endswith(_QUALIFIERS) else None
    # The short ones are parts of other words (compass, opinion); after _ they are words of an identifier.
    if len(key[0]) <= 4 and before[-1:].isalpha():
        return None
    return _KINDS.get(key[0][:3], "password")


def _firmness(low: str, start: int, tail: "re.Match[str]") -> int:
    """2 after a sign of assignment, in a --flag, 1 after "is" or a sign that may mean other things, 0 after a gap."""
    sign = tail["sign"]
    if "</" in (tail["bare"] or ""):
        return 2
    before = low[max(0, start - 24) : start]
    if "--" in before and not _any(str.isspace, before[before.rfind("--") :]):
        return 2
    if sign and sign.isspace():
        return 0
    return 1 if sign is None or "\n" in sign or sign.strip(" *") in ("==", "===", "|", "-") else 2


def _value_span(text: str, key_start: int, tail: "re.Match[str]") -> tuple[int, int, bool]:
    """The value without the punctuation around it, and whether it is the only word up to the end of its phrase."""
    if tail["quoted"] is not None:
        return *tail.span("quoted"), True
    start, stop = tail.span("bare")
    word = text[start:stop].split("</")[0]
    if text[key_start - 1 : key_start] in ("?", "&"):
        word = word.split("&")[0]
    if "," in word:
        word = _re(r",(?=\w{1,32}[=:])").split(word)[0]
    start += len(word) - len(word := word.lstrip("\"'`(["))
    end = start + len(word.rstrip(".,)]}>\"'`"))
    alone = end < stop or _re(r"[ \t]*(?:$|[\n\r;|]|[ \t][^\w\s]|[ \t]\w{1,20} ?[:=])").match(text, stop)
    return start, end, bool(alone)


def _counts(kind: str, firmness: int, word: str, *, quoted: bool, alone: bool) -> bool:
    """Whether a value looks like a credential, given what announced it."""
    if kind == "pin":
        return word.isdigit() and 4 <= len(word) <= 8
    fits = _fits_password if kind == "password" else _fits_token
    if not fits(firmness, word, quoted, alone) or word.endswith(":") or not _is_real(word) or _is_talk(word):
        return False
    if quoted or word.isdigit() or (firmness == 2 and kind == "password"):
        return True
    return not _is_measure(word) and (kind == "password" or not _is_slug(word))


def _fits_password(firmness: int, word: str, quoted: bool, alone: bool) -> bool:
    if firmness == 2:
        return quoted or (len(word) >= 4 and (alone or word.isdigit() or _is_made(word)))
    if firmness == 1 and len(word) >= 4 and (quoted or word.isdigit()):
        return True
    return len(word) >= (4 if firmness else 6) and _is_made(word)


def _fits_token(firmness: int, word: str, quoted: bool, alone: bool) -> bool:
    if firmness == 2 and quoted and len(word) >= 8 and " " not in word:
        return True
    if firmness == 2:
        return len(word) >= 6 and _is_alphanumeric(word)
    return len(word) >= 12 and _is_alphanumeric(word) and (_mixes_case(word) or len(max(_parts(word), key=len)) >= 12)


def _is_made(word: str) -> bool:
    return _is_alphanumeric(word) or _any("!#$%&*+=?@^~|\\{}".__contains__, word) or _mixes_case(word[1:])


def _is_measure(word: str) -> bool:
    """A version, a date, a number with its unit, a colour, an argument: what is said of a secret, not the secret."""
    pattern = (
        r"(?i)v?\d+(?:\.\d+)+[\w.+-]*|\d{4}-\d\d-\d\d[\dt:.z+-]*|\d+-?[a-z-]+|\d+-\d+"
        r"|#[\da-f]{3,8}|[a-z_]\w*[<>]?=\W{0,2}\w.*"
    )
    return bool(_re(pattern).fullmatch(word))


def _is_slug(word: str) -> bool:
    """Plain words with numbers between: the name of a Kubernetes secret, a path in a vault."""
    return bool(_re(r"[a-z]+(?:[-_./:](?:[a-z]+|v?\d+))+").fullmatch(word))


def _is_real(word: str) -> bool:
    """Not a variable, call, path or address where the secret comes from, nor a stand-in: <password>, ****, [TOKEN]."""
    if word.startswith(("${", "$(", "{{", "<", "%(", "~/", "./", "//")) or "://" in word or len(set(word)) == 1:
        return False
    pattern = (
        r"\$[A-Z_0-9]+|\$[a-z_]+|\{[\w.|]*\}?|(?:[a-zA-Z_]\w*\.)*[a-zA-Z_]\w*[(\[].*"
        r"|[a-z_]+(?:\.[a-z_]+)+|(?:/[\w.-]+){2,}/?|(?:[a-z]+_)+(?:pass|password|passwd|pw|secret|token|key)"
    )
    return _any(str.isalnum, word) and not _re(pattern).fullmatch(word)


# Words that follow "password:" or "token is" when somebody talks about passwords: strings, because a set would have to
# be built on every start.
_TALK = (
    " a an and any anything are as at authentication bad basic be bearer below blank bool boolean boundary budget "
    "bytes can cannot changed char chars check confirm correct credentials data default deleted digest disabled empty enabled "
    "encrypted enter env environment error every expired expires expiry failed false field file first fixed for forgot "
    "forgotten from generated get good hash hashed hidden his how if ignored in incorrect input int invalid is it its "
    "keep key known later leaked length less limit list login lost manager mandatory masked may min minimum missing "
    "must my n/a na never new nil no none not null number object ok old omitted on only optional or our pass "
    "passphrase password passwort per pin please policy private prompt prompted protected public random read redacted removed "
    "required reset rotate rotated rotation rules same santa save saved secret secure see sensitive set shared should "
    "show so some stored str strength string strong tba tbd text that the their this to todo token too true type "
    "unchanged undefined unknown unset unused update use used user uses valid value varchar via void was weak what "
    "when where which will with without wrong yes you your "
    "в вводится верный во все где для ещё забыт забыли задан из изменён истёк как на неверный нет не новый обязателен "
    "он от по пока пароль потом пустой см см. смени сменить сменили смотри спроси старый тот устарел хранится это "
    "bei das der die ein erforderlich falsch geändert im ist kein keine leer nicht siehe vergessen von wird "
    "dans est le la les obligatoire oublié par requis sans un une voir "
)
_ALGORITHMS = (
    " sha1 sha256 sha384 sha512 md5 hs256 rs256 es256 base64 base32 bcrypt argon2 argon2id pbkdf2 scrypt oauth oauth2 "
    "ed25519 x509 utf8 jwt 2fa mfa totp k8s 1password s3 oidc saml2 "
)


def _is_talk(word: str) -> bool:
    low = word.lower().strip("!?*_-")
    return f" {low} " in _TALK or (" " not in low and any(f" {p} " in _ALGORITHMS for p in _parts(low)))
