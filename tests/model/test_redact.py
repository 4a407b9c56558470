"""What is masked, what stays whole, and the laws of `mask`. Every secret here is put together at run time, so that no
scanner of a hosting site finds one in this file."""

import copy
import gc
import inspect
import pickle
import random
import string
import subprocess
import sys
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memcli.base import errors
from memcli.model import detect, redact

_SOLID = string.ascii_letters + string.digits


def made(length: int, alphabet: str = _SOLID) -> str:
    """A body that looks random and is the same on every run; digits are strewn through it."""
    source = random.Random(f"{length} {alphabet}")
    body = source.choices(alphabet, k=length)
    for i in range(3, length, 7):
        body[i] = source.choice("23456789")
    return "".join(body)


HEX = "0123456789abcdef"
S16, S20, S24, S36, S40, S48 = (made(n) for n in (16, 20, 24, 36, 40, 48))
UUID4, UUID7 = "7c9e6679-7425-40de-944b-e07fc1f90ae7", "018f3c5e-8a2b-7c4d-9e1f-2a3b4c5d6e7f"
SHA256 = made(64, HEX)
B64_LINE = made(64)
PEM = "-" * 5 + "BEGIN RSA " + "PRIVATE KEY" + "-" * 5
PEM_END = PEM.replace("BEGIN", "END")
JWT = ".".join(("eyJ" + made(33), "eyJ" + made(60), made(43)))
BASIC = "dXNlcjpod" + "W50ZXIy"  # user:hunter2
WEAK = "hunter" + "2"
CARD = "4111" + " 1111" * 3
IBAN = "GB82 WEST " + "1234 5698 7654 32"

SECRETS = [
    ("ghp" + "_" + S36, "[GITHUB_TOKEN]"),
    ("use gho" + "_" + S36 + " now", "use [GITHUB_TOKEN] now"),
    ("export GH=ghs" + "_" + S36, "export GH=[GITHUB_TOKEN]"),
    ("github" + "_pat_" + made(22) + "_" + made(59), "[GITHUB_TOKEN]"),
    ("glpat" + "-" + S20 + ".", "[GITLAB_TOKEN]."),
    ("xoxb" + "-123456789012-123456789012-" + S24, "[SLACK_TOKEN]"),
    ("xoxp" + "-1234567890-" + made(32, HEX), "[SLACK_TOKEN]"),
    (
        "https://hooks.slack" + ".com/services/T0" + "00AB12/B00CD34/" + S24,
        "https://hooks.slack.com/services/[SLACK_WEBHOOK]",
    ),
    ("sk" + "_live_" + S24, "[STRIPE_KEY]"),
    ("rk" + "_live_" + S24, "[STRIPE_KEY]"),
    ("stripe sk" + "_test_" + S24 + ", see", "stripe [STRIPE_KEY], see"),
    ("AKI" + "A" + made(16, string.ascii_uppercase), "[AWS_KEY]"),
    ("id ASI" + "A" + made(16, string.ascii_uppercase), "id [AWS_KEY]"),
    ("AKI" + "A" + made(16, "QRSTUV") + ":" + S40, "[AWS_KEY]:[AWS_SECRET]"),
    ("aws_secret_access_key = " + S40, "aws_secret_access_key = [AWS_SECRET]"),
    ("the AWS secret access key is " + S40, "the AWS secret access key is [AWS_SECRET]"),
    ("AIz" + "a" + made(35), "[GOOGLE_KEY]"),
    ("ya29" + "." + made(60), "[GOOGLE_TOKEN]"),
    ("sk" + "-" + S48, "[OPENAI_KEY]"),
    ("sk" + "-proj-" + made(30) + "_" + made(30), "[OPENAI_KEY]"),
    ("sk" + "-ant-api03-" + made(80), "[ANTHROPIC_KEY]"),
    ("sk" + "-or-v1-" + SHA256, "[OPENROUTER_KEY]"),
    ("h" + "f_" + made(34, string.ascii_letters), "[HUGGINGFACE_TOKEN]"),
    ("//registry.npmjs.org/:_authToken=npm" + "_" + S36, "//registry.npmjs.org/:_authToken=[NPM_TOKEN]"),
    ("pypi" + "-AgEIcHlwaS5vcmc" + made(70), "[PYPI_TOKEN]"),
    ("bot" + "123456789:A" + "A" + made(33), "bot[TELEGRAM_TOKEN]"),
    ("S" + "K" + made(32, HEX), "[TWILIO_KEY]"),
    ("S" + "G." + made(22) + "." + made(43), "[SENDGRID_KEY]"),
    ("MT" + made(22) + ".G" + made(5) + "." + made(38), "[DISCORD_TOKEN]"),
    (
        "https://discord.com/api/webhooks/" + "1" * 18 + "/" + made(68),
        "https://discord.com/api/webhooks/[DISCORD_WEBHOOK]",
    ),
    ("dop" + "_v1_" + SHA256, "[DIGITALOCEAN_TOKEN]"),
    ("lin" + "_api_" + S40, "[LINEAR_KEY]"),
    ("r" + "8_" + made(37), "[REPLICATE_TOKEN]"),
    ("gs" + "k_" + made(52), "[GROQ_KEY]"),
    ("AGE-SECRET-" + "KEY-1" + made(58, string.ascii_uppercase), "[AGE_KEY]"),
    ("y" + "0_AgAA" + made(50), "[YANDEX_TOKEN]"),
    ("zz" + "q_" + S40, "[API_KEY]"),
    ("tool-acme" + "-" + S36, "tool-[API_KEY]"),
    (JWT, "[JWT]"),
    (f"a {JWT}, b", "a [JWT], b"),
    ("$2b$" + "12$" + made(53), "[PASSWORD_HASH]"),
    (f"x\n{PEM}\n{B64_LINE}\n{B64_LINE}\nabc=\n{PEM_END}\ny", "x\n[PRIVATE_KEY]\ny"),
    (f"{PEM}\n{B64_LINE}\n{B64_LINE}\n{B64_LINE[:10]}", "[PRIVATE_KEY]"),
    (f"{PEM}\nProc-Type: 4,ENCRYPTED\n\n{B64_LINE}\n", "[PRIVATE_KEY]\n"),
    (f'"key": "{PEM}\\n{B64_LINE}\\n{PEM_END}\\n"', '"key": "[PRIVATE_KEY]\\n"'),
    (PEM.replace("RSA", "OPENSSH") + "\n" + B64_LINE + "\nand then\n", "[PRIVATE_KEY] then\n"),
    ("Authorization: Bearer " + S24, "Authorization: Bearer [BEARER_TOKEN]"),
    ("'Authorization': 'Bearer abc'", "'Authorization': 'Bearer abc'"),
    ("Authorization: Bearer swordfish", "Authorization: Bearer [BEARER_TOKEN]"),
    (f"curl -H 'Authorization: Basic {BASIC}' x", "curl -H 'Authorization: Basic [BASIC_AUTH]' x"),
    (f"Authorization: Bearer {JWT}", "Authorization: Bearer [JWT]"),
    (f"postgres://user:{WEAK}@db.example.com:5432/app", "postgres://user:[PASSWORD]@db.example.com:5432/app"),
    (f"mysql://user:{WEAK}@db.example.com/app", "mysql://user:[PASSWORD]@db.example.com/app"),
    ("redis://:p@ss@cache/0", "redis://:[PASSWORD]@cache/0"),
    (f"https://{made(40, HEX)}@git.example.com/x.git", "https://[TOKEN]@git.example.com/x.git"),
    (f"curl -u admin:{WEAK} https://example.com", "curl -u admin:[PASSWORD] https://example.com"),
    (f"AccountName=x;AccountKey={made(86)}==;End", "AccountName=x;AccountKey=[API_KEY];End"),
    (f"password: {WEAK}", "password: [PASSWORD]"),
    (f"password={WEAK}", "password=[PASSWORD]"),
    (f"Password : {WEAK}.", "Password : [PASSWORD]."),
    ("password: swordfish", "password: [PASSWORD]"),
    ("password: swordfish\nuser: bob", "password: [PASSWORD]\nuser: bob"),
    ("user: bob, password: swordfish, host: db", "user: bob, password: [PASSWORD], host: db"),
    ("password: 123456", "password: [PASSWORD]"),
    (f'{{"password": "{WEAK}", "n": 1}}', '{"password": "[PASSWORD]", "n": 1}'),
    ("DB_PASSWORD='correct horse battery'", "DB_PASSWORD='[PASSWORD]'"),
    ('{\\"password\\": \\"' + WEAK + '\\"}', '{\\"password\\": \\"[PASSWORD]\\"}'),
    (f"**Password:** {WEAK}", "**Password:** [PASSWORD]"),
    (f"password: `{WEAK}`", "password: `[PASSWORD]`"),
    ("<password>swordfish</password>", "<password>[PASSWORD]</password>"),
    (f"| password | {WEAK} |", "| password | [PASSWORD] |"),
    (f"passwd={WEAK} pwd:{WEAK}", "passwd=[PASSWORD] pwd:[PASSWORD]"),
    ("mysql --password swordfish --host db", "mysql --password [PASSWORD] --host db"),
    (f"https://example.com/?password={WEAK}&next=1", "https://example.com/?password=[PASSWORD]&next=1"),
    (f"Server=x;Password={WEAK};Database=y", "Server=x;Password=[PASSWORD];Database=y"),
    (f"the password is {WEAK}, do not share", "the password is [PASSWORD], do not share"),
    (f"the password for the staging db is {WEAK}", "the password for the staging db is [PASSWORD]"),
    ("Password was changed to Tr0ub4dor&3!", "Password was changed to [PASSWORD]"),
    (f"his password {WEAK} still works", "his password [PASSWORD] still works"),
    (f"пароль: {WEAK}", "пароль: [PASSWORD]"),
    (f"пароль {WEAK}", "пароль [PASSWORD]"),
    (f"Пароль от почты: {WEAK}", "Пароль от почты: [PASSWORD]"),
    (f"пароль от вайфая {WEAK}, запомни", "пароль от вайфая [PASSWORD], запомни"),
    ("Пароль — Зима2024", "Пароль — [PASSWORD]"),
    ("Passwort: Geheim#1", "Passwort: [PASSWORD]"),
    (f"mot de passe : {WEAK}", "mot de passe : [PASSWORD]"),
    (f"Contraseña: {WEAK}", "Contraseña: [PASSWORD]"),
    ("Kennwort lautet Geheim1!", "Kennwort lautet [PASSWORD]"),
    ("the password is blue-horse-42", "the password is [PASSWORD]"),
    ("wifi password → Blue-Horse-42", "wifi password → [PASSWORD]"),
    (f"password (root): {WEAK}", "password (root): [PASSWORD]"),
    ("пароль администратора: Qwerty1", "пароль администратора: [PASSWORD]"),
    ("Password:\n  Tr0ub4dor", "Password:\n  [PASSWORD]"),
    ("export PGPASSWORD=swordfish", "export PGPASSWORD=[PASSWORD]"),
    (f"sshpass -p '{WEAK}' ssh x", "sshpass -p '[PASSWORD]' ssh x"),
    ("the passphrase is 'correct horse'", "the passphrase is '[PASSWORD]'"),
    ("PIN: 4821", "PIN: [PIN]"),
    ("the PIN code is 4821.", "the PIN code is [PIN]."),
    (f'api_key = "{S24}"', 'api_key = "[API_KEY]"'),
    (f"API key: {made(32, HEX)}", "API key: [API_KEY]"),
    (f"apiKey: '{S16}'", "apiKey: '[API_KEY]'"),
    (f"API-ключ: {S16}", "API-ключ: [API_KEY]"),
    ("JWT_SECRET=mysupersecret", "JWT_SECRET=[SECRET]"),
    (f"the token is {S16}", "the token is [TOKEN]"),
    (f"secret: {WEAK}", "secret: [SECRET]"),
    ("client_secret='verysecretvalue'", "client_secret='[SECRET]'"),
    (f"token: {S16}", "token: [TOKEN]"),
    (f"export CI_TOKEN={S20}", "export CI_TOKEN=[TOKEN]"),
    (f"session token: {UUID4}", "session token: [TOKEN]"),
    (f"credentials: admin/{WEAK}", "credentials: [SECRET]"),
    ("pass\u200bword: hun\u200bter2", "pass\u200bword: [PASSWORD]"),
    ("gh\u200bp" + "_" + S20 + "\u2060" + S16, "[GITHUB_TOKEN]"),
    (f"İİİİ password: {WEAK}", "İİİİ password: [PASSWORD]"),
    ("ｐａｓｓｗｏｒｄ：" + WEAK, "ｐａｓｓｗｏｒｄ：[PASSWORD]"),
    ("password: «зима 2024»", "password: «[PASSWORD]»"),
]

PERSONAL = [
    ("mail ann.lee+x@example.co.uk.", "mail [EMAIL]."),
    ("o'brien@example.com", "[EMAIL]"),
    ("o’brien@example.com", "[EMAIL]"),
    ("<mailto:a_b@xn--e1afmkfd.xn--p1ai>", "<mailto:[EMAIL]>"),
    ("почта@пример.рф", "[EMAIL]"),
    ("?email=ann@example.com&x", "?email=[EMAIL]&x"),
    ("x@163.com", "[EMAIL]"),
    ("(ann-@example.com)", "([EMAIL])"),
    (f"card {CARD}", "card [CARD]"),
    (CARD.replace(" ", "-") + ", exp 12/30", "[CARD], exp 12/30"),
    (CARD.replace(" ", ""), "[CARD]"),
    (CARD.replace(" ", "\u00a0"), "[CARD]"),
    ("3782" + " 822463 " + "10005", "[CARD]"),
    ("5555" + "555555554444", "[CARD]"),
    ("2200" + " 0000 0000 00" + "04", "[CARD]"),
    ("6304" + "000000000000000", "[CARD]"),
    (f"IBAN {IBAN} ok", "IBAN [IBAN] ok"),
    (IBAN.replace(" ", ""), "[IBAN]"),
    ("de89" + "370400440532013000", "[IBAN]"),
    (f"to {IBAN} BIC", "to [IBAN] BIC"),
    ("SSN 123" + "-45-6789", "SSN [SSN]"),
    ("123" + "-45-6789", "[SSN]"),
    ("social security number: 123" + "456789", "social security number: [SSN]"),
    ("call +1 (415) 555-2671 now", "call [PHONE] now"),
    ("+79161234567", "[PHONE]"),
    ("+7 916 123‑45‑67", "[PHONE]"),
    ("+49 30/1234-567", "[PHONE]"),
    ("+33.1.42.68.53.00", "[PHONE]"),
    ("tel. 415-555-2671", "tel. [PHONE]"),
    ("Phone: (415) 555-2671", "Phone: [PHONE]"),
    ("mobile number 07700 900123", "mobile number [PHONE]"),
    ("тел. 8 (916) 123-45-67", "тел. [PHONE]"),
    ("Телефон: 89161234567", "Телефон: [PHONE]"),
    ("СНИЛС 112-233-445 95", "СНИЛС [SNILS]"),
    ("снилс: 11223344595", "снилс: [SNILS]"),
    ("ИНН 7707083893", "ИНН [INN]"),
    ("ИНН/КПП 7707083893/773601001", "ИНН/КПП [INN]/773601001"),
    ("inn: 500100732259", "inn: [INN]"),
]

INNOCENT = """
a1b2c3d
fix in 4f9d2c8e1b7a
commit 9fceb02d0ae598e95dc970b74767f19372d61af8
sha256:{sha}
image nginx@sha256:{sha}
{sha}
app-{sha}
docker-{sha}.scope
md5-9e107d9d372bb6826bd81d3542a419d6
{u4}
{u7}
urn:uuid:{u4}
01ARZ3NDEKTSV4RRFFQ69G5FAV
req_01HZX3NDEKTSV4RRFFQ69G5FAV
version 10.4.2.1
v1.2.3-rc.4
1.2.3-alpha.1+build.20240115
ISBN 0-306-40615-2
ISBN 978-3-16-148410-0
9783161484100
EAN 4006381333931
2024-01-15T10:00:00Z
2024-01-15T10:00:00.123456+03:00
20240115103000
epoch 1712345678
1712345678901
1712345678901234567
UTC+3 2024-01-15 10:00
/usr/local/lib/python3.11/site-packages/yaml/__init__.py
docs/api-key-rotation.md
C:\\Users\\bob\\AppData\\Local
how-we-moved-the-billing-service-to-postgres-16-in-2024
sk-learn-pipeline-for-customer-churn-v2-2024
test_that_the_token_is_refreshed_after_30_minutes
getUserByVeryLongCamelCaseName2
handle_thisIsAVeryLongIdentifierNameWithManyWords42
AbstractSingletonProxyFactoryBean
Base64UrlSafeEncoderDecoderFactory
c-plus-plus--6ce809eacf90
x--3b9c358f36f0a31b
k--6ce809eacf90
#ff8800 #fff #1e90ffcc
requests==2.31.0
lodash@4.17.21
react@18.2.0-next.4
actions/checkout@v4.1.1
pkg@1.0.0-beta.alpha
integrity sha512-{b86}==
https://example.com/a/b?x=1&y=2#frag
http://localhost:8080/path@2x.png
https://host:443/@user
ssh://git@github.com/org/repo.git
git@github.com:org/repo.git
deploy@host.example.com:/var/www
icon@2x.png
getty@tty1.service
@alice said hello to @bob
@app.route("/x")
a@b.transpose()
.card {{ width: 100px; margin: 0 auto; color: rgb(10, 20, 30) }}
order 1234567890123
order no. 4111 1111 1111 1112
invoice 2024-000123456
part 555-123-4567
part 800-12-3456-77
112-233-445 96
9876543210
192.168.1.10
10.0.0.1:8080 and [2001:db8::1]:443
2001:0db8:85a3:0000:0000:8a2e:0370:7334
01:23:45:67:89:ab
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ{b40} bob@laptop
GB82 WEST 1234 5698 7654 33
AT12 noon we met
4111111111111112
lat +48.858222, lon +2.294500
0.4111111111111111
000-12-3456
666-45-6789
3.14159265358979
password: see the vault
password: required
password: None
Password: ****
password: <your-password>
password: ${{DB_PASSWORD}}
password=$PASSWORD
password = os.environ["DB_PASSWORD"]
password = getpass.getpass()
password: Optional[str] = None
password: str
password: args.password
password: /run/secrets/db
password: https://vault.example.com/db
password: rotate it every month
password: 12 characters or more
password policy: 12 characters
password reset
the password is required
the password is too short
password is 12-character minimum
Password manager: KeePass
PASSWORD_MIN_LENGTH=12
password_hash column
password:
  secretKeyRef:
пароль хранится в сейфе
пароль: см. сейф
смените пароль до 2024-12-01
забыл пароль от почты
the token expires after 30 minutes
token budget: 2000
token: see below
max_tokens=2000
token count is 128000
token_type: bearer
token: sha256
next token: identifier
tokenizer: cl100k_base
secret santa
secret: k8s/prod/db
the secret to speed2x is caching
secretary: Ann
api key rotation every 90 days
key: value1
primary key: id2
keyboard: qwerty123
bearer of bad news
Bearer authentication
Basic usage
basic auth over https
k8s secret my-app-tls-2024
secret: my-app-tls-2024
token: refresh-v2
token = tokens[0]
password = f"{{x}}"
password: CharField(max_length=50)
self.key_password = key_password
Password hashing uses argon2id with 19 MiB
пароль меняется раз в 90 дней
auth token expires at 2024-01-15T10:00:00Z
passwords rotate on 2024-12-01
make sure to pass userId2Name along
tests pass: 128
id 456789012345678904
id 8412345678901202
ean 9783161484102
at 20240115103002
Basic dGVzdA==
pinned: 2024
pin: 13
version pin: v2024.1
bypass: 1234abc
compass: N45E12x
postgres://localhost/app
postgres://$USER:$PASSWORD@host/db
postgres://user:<password>@host/db
-----BEGIN CERTIFICATE-----
it starts with -----BEGIN PRIVATE KEY----- and then lines
ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
xoxb-not-a-real-token
eyJ is how a JWT starts
hf_transformers_are_great_for_text_models
npm_config_registry
pypi-publish
telephone exchange 19 opened
phone 192.168.100.200
mobile 2024-01-15
television 2024
"""


def _innocent() -> list[str]:
    fill = {"sha": SHA256, "u4": UUID4, "u7": UUID7, "b86": made(86), "b40": made(34)}
    lines = INNOCENT.format(**fill).strip().replace("\n  ", "\0  ").split("\n")
    return [line.replace("\0", "\n") for line in lines]


def _passing(shape: str) -> str:
    """The shape with its check digits (the ??) such that it fits the check of an IBAN (ISO 13616)."""
    start = shape.index("??") - 2
    for check in range(2, 99):
        text = shape.replace("??", f"{check:02}")
        code = "".join(filter(str.isalnum, text[start:]))
        if int("".join(str(int(c, 36)) for c in code[4:] + code[:4])) % 97 == 1:
            return text
    raise AssertionError(shape)


# Lengths of Belgium (16), Andorra (24), Germany (22): a group of a UUID and an abbreviated digest can have them.
@pytest.mark.parametrize(
    "shape",
    [
        "01a1dec1-b840-7521-be??-123456789012",
        "01a1dec1-ad??-7521-9555-123456789012",
        "be??a51234567890",
        "de??a5b6c7d8e9f0a1b2c3",
    ],
)
def test_an_id_or_digest_that_happens_to_fit_the_check_of_an_iban_stays_whole(shape):
    assert redact.mask(f"see {_passing(shape)}.") == f"see {_passing(shape)}."


def test_a_belgian_iban_is_found():
    assert redact.mask("pay " + _passing("be??123456789012")) == "pay [IBAN]"


def test_the_tables_are_as_large_as_promised():
    assert len(SECRETS) + len(PERSONAL) >= 120
    assert len(_innocent()) >= 120


@pytest.mark.parametrize(("text", "expected"), SECRETS, ids=range(len(SECRETS)))
def test_secrets_are_replaced_by_their_kind_and_nothing_else_is(text, expected):
    assert redact.mask(text) == expected
    assert redact.mask(text, families=("secret",)) == expected


@pytest.mark.parametrize(("text", "expected"), PERSONAL, ids=range(len(PERSONAL)))
def test_personal_data_is_replaced_by_its_kind_and_nothing_else_is(text, expected):
    assert redact.mask(text) == expected
    assert redact.mask(text, families=("pii",)) == expected


@pytest.mark.parametrize("text", _innocent())
def test_innocent_strings_stay_whole(text):
    assert redact.mask(text) == text


def test_every_kind_of_the_tables_has_an_example():
    shown = {f.kind for text, _ in SECRETS + PERSONAL for f in redact.scan(text)}
    named = {row[0] for row in (*detect._VENDORS, *detect._SHAPES)}
    assert named - shown == {"vault_token", "shopify_token", "docker_token", "atlassian_token"}


def test_this_file_holds_no_literal_key():
    kinds = {row[0] for row in (*detect._VENDORS, *detect._SHAPES)} - {"password", "token"} | {"private_key"}
    found = redact.scan(inspect.getsource(sys.modules[__name__]), families=("secret",))
    assert {f.kind for f in found} & kinds == set()


SOUP = [text for text, _ in SECRETS + PERSONAL] + _innocent()
SOUP += ["password", "token", "api_key", "пароль", "PIN", "is", "for", "hunter" + "2", "9", "a", "A1", "x.com", "</"]
SOUP += [*" \n:=@._-[]+'\"$/{;,\u200b\ud800", ": ", "://", "[EMAIL]", "[PASSWORD]", "bearer ", "eyJ", "tel ", "4111"]
MIXED = st.lists(
    st.one_of(st.sampled_from(SOUP), st.text(max_size=5), st.sampled_from(SOUP).map(lambda s: s[len(s) // 2 :])),
    max_size=12,
).map("".join)
ANY = st.text(st.characters())  # lone surrogates included


@given(st.one_of(MIXED, ANY))
@example("password: swordfish ann@example.com")  # the word stands alone only once the address is a blank
def test_masking_twice_is_masking_once(text):
    once = redact.mask(text)
    assert redact.mask(once) == once
    assert redact.scan(once) == ()
    assert once != "[REDACTED]" or text == once


@given(st.one_of(MIXED, ANY), st.sampled_from([("secret",), ("pii",), ("secret", "pii")]))
def test_findings_are_in_order_apart_and_of_the_families_asked_for(text, families):
    found = redact.scan(text, families=families)
    ends = [0, *(f.end for f in found)]
    assert all(end <= f.start < f.end <= len(text) for end, f in zip(ends, found, strict=False))
    assert {f.family for f in found} <= set(families)


def test_a_finding_does_not_hold_what_was_found():
    (finding,) = redact.scan("ann@example.com")
    assert finding == redact.Finding(start=0, end=15, kind="email", family="pii")
    assert "ann" not in repr(finding)


def test_text_that_never_settles_is_redacted_as_a_whole(monkeypatch):
    always = (redact.Finding(start=0, end=1, kind="pin", family="secret"),)
    monkeypatch.setattr(redact, "scan", lambda text, families: always)
    assert redact.mask("abc") == "[REDACTED]"


def test_only_the_module_makes_redacted():
    with pytest.raises(TypeError, match="only"):
        redact.Redacted("x", {}, object())
    masked = redact.mask("x")
    for forge in (copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))):
        with pytest.raises((TypeError, pickle.PicklingError)):
            forge(masked)


def test_what_str_does_to_redacted_text_is_plain_again():
    masked = redact.mask("x y")
    assert isinstance(masked, redact.Redacted)
    for plain in (
        masked + "z",
        masked[:1],
        f"{masked}",
        masked.upper(),
        masked.replace("x", "y"),
        str.join(masked, "ab"),
    ):
        assert type(plain) is str


def test_counts_say_how_many_of_each_kind_were_masked():
    masked = redact.mask(f"a@b.cc c@d.ee {CARD}")
    assert masked.counts == {"email": 2, "card": 1}
    assert redact.mask("nothing").counts == {}


def test_join_takes_redacted_parts_adds_counts_and_masks_what_joins():
    parts = [redact.mask("a@b.cc"), redact.mask("x"), redact.mask("c@d.ee")]
    joined = redact.join("\n", parts)
    assert (joined, joined.counts) == ("[EMAIL]\nx\n[EMAIL]", {"email": 2})
    assert isinstance(joined, redact.Redacted)
    assert redact.join(" a@b.cc ", parts[1:]) == "x [EMAIL] [EMAIL]"
    with pytest.raises(TypeError, match="takes Redacted"):
        redact.join("\n", [parts[0], "plain"])


def test_refusal_names_the_field_and_the_kind_but_never_the_value():
    redact.refuse_secrets({"text": "all well", "key": "ann@example.com"})
    with pytest.raises(errors.SecretFound, match=r"text.*password") as caught:
        redact.refuse_secrets({"key": "db", "text": f"password: {WEAK}"})
    assert WEAK not in str(caught.value)
    assert caught.value.exit_code == 6


def test_the_import_brings_nothing_but_memcli_and_compiles_no_expression():
    code = (
        "import json, sys; import memcli; was = set(sys.modules); from memcli.model import redact, detect;"
        "print([m for m in set(sys.modules) - was if not m.startswith('memcli')], detect._re.cache_info().currsize);"
        "redact.mask('The nightly job is green again; see the log.'); print(detect._re.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[] 0", "0"]


def test_every_word_that_announces_a_secret_passes_the_cheap_check_before():
    words = detect._KEYS.replace("[ьяюе]м?", "ь").replace("(?:[ -]?code)?", "").replace("(?:-?код)?", "")
    words = words.replace("pass(?:word|wort|wd|phrase|code)?", "pass").replace("?", "")
    assert [w for w in words.split("|") if not any(stem in w for stem in detect._STEMS)] == []


def test_a_secret_longer_than_the_window_is_masked_to_its_end():
    assert redact.mask("password: " + made(5000)) == "password: [PASSWORD]"


HOSTILE = [
    *(
        "a",
        "4",
        "@",
        "a@",
        "a@b.cc",
        "1 ",
        "4111-",
        "eyJ.",
        "eyJ",
        "-----BEGIN ",
        PEM + "\n",
        PEM,
        "password: ",
        "password=",
        "token=",
    ),
    *(
        'password "',
        "password for a ",
        "пароль от ",
        "token is ",
        "bearer ",
        "sk" + "-",
        "sk" + "-ant-",
        "://a:",
        "gb82",
    ),
    *(
        "+1",
        "tel 1",
        "[A",
        "[AA]",
        "inn 1",
        "\u200b",
        "a\u200b",
        "\u0130",
        "$2b" + "$",
        "curl -u a:",
        "<password>",
        "\ud800",
    ),
]


def _seconds(unit: str, size: int) -> float:
    text = (unit * (size // len(unit) + 1))[:size]
    gc.collect()
    start = time.process_time()
    redact.mask(text)
    return time.process_time() - start


@pytest.mark.parametrize("size", [300_000, pytest.param(1_000_000, marks=pytest.mark.full)])
@pytest.mark.parametrize("unit", HOSTILE)
def test_time_grows_linearly_with_hostile_text(unit, size):
    # A ratio of twice the text to the text: 2 when linear, 4 when quadratic. A busy machine gets a second chance.
    ratios = (_seconds(unit, size) / max(_seconds(unit, size // 2), 1e-9) for _ in range(4))
    assert any(ratio < 3 for ratio in ratios)
