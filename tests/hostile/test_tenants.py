"""Tenants never meet: a tenant's word finds that tenant's store or an error, never another's and never all."""

import json
import os
from pathlib import Path

import pytest
from figures import Record
from support import CANARY, Box, Ran, call

from .common import clean, refused

ODD = [
    "", " ", ".", "..", "../other", "other/", "./other", "other/../acme", "/etc", "OTHER", "Acme", "acme ", " acme", "a" * 64, "-acme", "_acme", "acmé", "аcme", "acme\n",
    "*", "acme*", "%", "acme,other", "acme\u200b", "con.", "~", "tenants/acme", "null", "acme\\other",
]  # fmt: skip
COMMANDS = [
    ("status",), ("fact", "list", "--json"), ("fact", "get", "k"), ("context",), ("episode", "list"), ("export", "jsonl", "-"), ("search", CANARY), ("stats",),
    ("fact", "set", "k", "mine"), ("forget", "k", "--yes"), ("sweep", "--yes"), ("doctor", "--fix"),
]  # fmt: skip
TENANTS = ("acme", "other", "a", "0", "x-1_y")


@pytest.fixture
def house(box: Box) -> Box:
    """A store with five tenants, each with a secret of its own."""
    for name in TENANTS:
        box.ok("--tenant", name, "init", str(box.root))
        box.ok("--tenant", name, "fact", "set", "k", f"{CANARY} of {name}.")
        box.ok("--tenant", name, "episode", "add", f"{CANARY} of {name}.")
    return box


def asked(box: Box, tenant: str | None, *words: str) -> Ran:
    return clean(call([*box.words(), *([] if tenant is None else [f"--tenant={tenant}"]), *words]))


def tree(box: Box) -> dict[str, bytes]:
    return box.tree(state=True)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_tenant_is_an_error_where_there_are_tenants(words: tuple[str, ...], house: Box) -> None:
    before = tree(house)
    ran = refused(asked(house, None, *words), 2)
    assert "--tenant NAME" in ran.err
    assert CANARY not in ran.err
    assert tree(house) == before


@pytest.mark.also_full
@pytest.mark.parametrize("tenant", [name for name in ODD if name != "null"], ids=repr)
def test_an_odd_tenant_is_an_error_for_every_command(tenant: str, house: Box, figure: Record) -> None:
    before = tree(house)
    for words in (*COMMANDS, ("init", str(house.root))):
        ran = refused(asked(house, tenant, *words), 2)
        assert CANARY not in ran.err
    assert tree(house) == before
    figure("tenants: crossings", len(COMMANDS) + 1)


def test_an_unknown_tenant_is_not_found(house: Box) -> None:
    before = tree(house)
    for words in COMMANDS:
        ran = refused(asked(house, "nobody", *words), 3)
        assert f"memcli --store {house.root} --tenant nobody init" in ran.err
        assert not any(name in ran.err for name in ("acme", "other"))
    assert tree(house) == before


def test_each_sees_its_own_and_nothing_else(house: Box) -> None:
    for tenant in TENANTS:
        for words in COMMANDS[:8]:
            ran = asked(house, tenant, *words)
            found = {name for name in TENANTS if f"{CANARY} of {name}." in ran.out}
            assert found <= {tenant}, (tenant, words, ran)
        assert f"{CANARY} of {tenant}" in asked(house, tenant, "context").out


def test_each_writes_its_own_and_nothing_else(house: Box) -> None:
    for tenant in TENANTS:
        before = {n: d for n, d in tree(house).items() if not n.startswith(f"tenants/{tenant}/")}
        for words in (*COMMANDS[8:], ("restore", "k"), ("episode", "add", "x"), ("work", "set", "a", "b", "--session", "s"), ("source", "block", "user:x", "--by", "user:keeper"),
                      ("import", "jsonl", "-"), ("fact", "rename", "k", "l")):  # fmt: skip
            assert asked(house, tenant, *words).code in (0, 3, 4)
        assert {n: d for n, d in tree(house).items() if not n.startswith(f"tenants/{tenant}/")} == before


def test_the_environment_names_one_and_the_option_wins(house: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMCLI_TENANT", "acme")
    assert "of acme" in asked(house, None, "context").out
    assert "of other" in asked(house, "other", "context").out
    for odd in ("", " ", "../other", "*"):
        monkeypatch.setenv("MEMCLI_TENANT", odd)
        refused(asked(house, None, "context"), 2)


def test_a_working_folder_inside_one_names_that_one(house: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(house.root / "tenants" / "acme" / "facts")
    assert "of acme" in clean(call(["context"])).out
    refused(call(["--tenant", "other", "context"]), 3)


@pytest.mark.parametrize("what", ["tenant", "facts of a tenant", "tenants", "marker", "state"])
def test_a_link_between_tenants_is_not_followed(what: str, house: Box) -> None:
    tenants = house.root / "tenants"
    link, target = {
        "tenant": (tenants / "evil", tenants / "acme"),
        "facts of a tenant": (tenants / "other" / "facts", tenants / "acme" / "facts"),
        "tenants": (tenants, house.root / "moved"),
        "marker": (tenants / "other" / "memcli.toml", tenants / "acme" / "memcli.toml"),
        "state": (tenants / "other" / ".memcli", tenants / "acme" / ".memcli"),
    }[what]
    if what == "tenants":
        tenants.rename(target)
    elif link.exists():
        _remove(link)
    link.symlink_to(target)
    name = "evil" if what == "tenant" else "other"
    before = {n: d for n, d in tree(house).items() if "acme" in n}
    for words in (*COMMANDS, ("episode", "add", "x"), ("work", "set", "a", "b", "--session", "s")):
        ran = asked(house, name, *words)
        assert f"{CANARY} of acme" not in ran.out + ran.err, (words, ran)
    assert {n: d for n, d in tree(house).items() if "acme" in n} == before


def _remove(path: Path) -> None:
    if path.is_dir():
        import shutil

        shutil.rmtree(path)
    else:
        path.unlink()


def test_a_tenant_that_lost_its_marker_is_no_tenant(house: Box) -> None:
    os.remove(house.root / "tenants" / "acme" / "memcli.toml")
    refused(asked(house, "acme", "context"), 3)
    refused(asked(house, None, "context"), 2)


def test_tenants_are_listed_to_nobody(house: Box) -> None:
    for words in (("where", "--json"), ("status", "--json"), ("doctor", "--json")):
        ran = asked(house, "a", *words)
        assert not any(name in json.dumps(ran.data) for name in ("acme", "other", "x-1_y"))
