"""The cost of strictness: of five hundred harmless public facts at most one in a hundred is withheld or masked."""

import hashlib
import json
import random
import uuid

import pytest
from figures import Record
from support import Box

MOST_BAD = 0.01


def benign() -> list[str]:
    """Ordinary statements of a team, full of numbers and names that look like secrets and are none."""
    dice = random.Random("benign")
    n = dice.randint
    found = []
    for i in range(10):
        commit = hashlib.sha1(f"commit {i}".encode(), usedforsecurity=False).hexdigest()
        made = str(uuid.UUID(int=dice.getrandbits(128), version=4))
        isbn = f"978-0-{n(100, 999)}-{n(10000, 99999)}-{n(0, 9)}"
        found += [
            f"The fix landed in commit {commit}.",
            f"Cherry-pick {commit[:8]} onto release/{n(1, 9)}.{n(0, 20)}.",
            f"The run has the id {made}.",
            f"We ship version {n(0, 9)}.{n(0, 40)}.{n(0, 99)}-rc.{n(1, 9)} on the {n(1, 28)}th.",
            f"Port {n(1024, 65535)} is for the metrics, {n(1024, 65535)} for the debugger.",
            f"The timeout is {n(100, 90000)} ms after {n(2, 9)} retries.",
            f"The incident began at 2026-{n(1, 12):02}-{n(1, 28):02}T{n(0, 23):02}:{n(0, 59):02}:{n(0, 59):02}Z.",
            f"Build {n(10**5, 10**7)} took {n(2, 59)} minutes and {n(10**8, 10**10)} bytes.",
            f"The book is ISBN {isbn}, chapter {n(1, 20)}.",
            f"The image digest is sha256:{hashlib.sha256(bytes([i])).hexdigest()}.",
            f"See https://example.org/docs/{n(1, 99)}/setup.html?page={n(1, 9)}#install for the setup.",
            f"The log is in /var/log/app-{n(1, 9)}/2026-{n(1, 12):02}.log on host web-{n(1, 40)}.",
            f"The column is DECIMAL({n(8, 30)}, {n(0, 6)}) and holds up to {n(10**6, 10**9)}.",
            f"Invoice {n(2020, 2026)}-{n(1000, 9999)} is about {n(100, 90000)}.{n(10, 99)} EUR for hosting.",
            f"The office is at {n(1, 200)} Main Street, third floor, room {n(100, 400)}.",
            f"Anna prefers tabs, Ben prefers {n(2, 8)} spaces.",
            f"The password rule is at least {n(8, 20)} characters with a digit.",
            "The password is kept in the vault, ask the owner of the team.",
            f"API keys are rotated every {n(30, 180)} days by the platform team.",
            f"The token bucket refills {n(1, 100)} tokens a second.",
            f"The secret santa draw is on December {n(1, 23)}.",
            f"Use the header X-Request-Id: {made[:13]} when you trace a request.",
            f"The key of the cache is user:{n(1, 10**6)}:profile, its TTL {n(60, 3600)} seconds.",
            f"Model gpt-{n(3, 5)} with temperature 0.{n(0, 9)} and {n(1000, 9000)} tokens did best.",
            f"The coordinates of the depot are {n(40, 60)}.{n(1000, 9999)}, {n(1, 20)}.{n(1000, 9999)}.",
            f"Kernel {n(4, 6)}.{n(1, 20)}.{n(1, 300)}-{n(10, 99)}-generic has the bug.",
            f"MAC addresses of the lab begin with 02:{n(10, 99)}:{n(10, 99)}.",
            f"The service listens on 10.{n(0, 255)}.{n(0, 255)}.{n(1, 254)}/24 inside the cluster.",
            f"Ticket OPS-{n(1000, 9999)} blocks ticket WEB-{n(1000, 9999)}.",
            f"The ratio went from {n(1, 9)}.{n(10, 99)} to {n(10, 99)}.{n(10, 99)} percent.",
            f"Colours: #{n(0, 0xFFFFFF):06x} for links, #{n(0, 0xFFFFFF):06x} for headings.",
            f"The migration {n(10**13, 10**14 - 1)}_add_index.sql must run first.",
            f"Epoch {n(10**9, 2 * 10**9)} is when the cache was cleared.",
            f"Phone support is open from {n(7, 10)} to {n(16, 20)} on weekdays.",
            f"The meeting is every {n(1, 4)}th Monday, {n(8, 18)}:{n(10, 59)}, room {n(1, 40)}.",
            f"Part number {n(10**4, 10**5)}-{n(10**3, 10**4)}-{n(10, 99)} replaces the fan.",
            f"Chess rating {n(1200, 2400)}, ping {n(4, 90)} ms, score {n(0, 99)}:{n(0, 99)}.",
            f"The checksum of the download is {hashlib.md5(bytes([i]), usedforsecurity=False).hexdigest()}.",
            f"docker run -p {n(1024, 9999)}:80 -e MODE=test app:{n(1, 40)}.{n(0, 9)}",
            f"git rebase -i HEAD~{n(2, 9)} && git push origin feature/{n(100, 999)}-login",
            "Как писать: коротко, без лишних слов, примеры в конце.",
            f"Der Server steht in Halle {n(1, 9)}, Schrank {n(10, 99)}, und heißt fuchs-{n(1, 9)}.",
            f"La réunion est le {n(1, 28)} mars à {n(8, 18)} h {n(10, 59)}.",
            f"部署到区域 {n(1, 9)}，端口 {n(1024, 9999)}。",
            f"Sensor {n(1, 99)} reads {n(10, 40)}.{n(0, 9)} °C at {n(10, 90)} % humidity.",
            f"The bearer of ticket {n(100, 999)} may enter gate {n(1, 40)}.",
            f"Authorization is checked in middleware.py, line {n(10, 900)}.",
            f"base64 makes the payload {n(30, 40)} % larger than the {n(1, 90)} KB original.",
            f"Dr. Meyer talks about sleep and learning on slide {n(1, 80)}.",
            f"Salary bands are reviewed every {n(1, 4)} quarters by HR.",
        ]
    return found


@pytest.mark.also_full
def test_public_facts_are_served_whole(box: Box, figure: Record) -> None:
    texts = benign()
    assert len(texts) == 500
    rows = ({"kind": "fact", "key": f"fact {n}", "text": t, "sensitivity": "public"} for n, t in enumerate(texts))
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    box.ok("import", "jsonl", "-", "--trusted", stdin=lines.encode())
    shown = {row["key"]: row["text"] for row in box.data("fact", "list", "--clearance", "public")}
    bad = [t for n, t in enumerate(texts) if shown.get(f"fact {n}") != t]
    figure("public facts withheld or masked", len(texts), bad=len(bad))
    assert len(bad) <= MOST_BAD * len(texts), bad


def test_what_is_no_harmless_fact_would_be_counted(box: Box) -> None:
    """The test above would pass for a program that masks nothing."""
    text = "write to anna" + "@" + "example.org"
    box.ok("fact", "set", "k", text)
    assert [row for row in box.data("fact", "list", "--clearance", "public") if row["text"] == text] == []
