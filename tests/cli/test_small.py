"""Options that would do nothing, and calls that lack their object, are told so instead of doing something else."""

import pytest
from support import Box, call


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("fact", "forget", "k", "--no-tombstone", "--yes"), "--purge"),
        (("forget", "k", "--no-tombstone", "--yes"), "--purge"),
        (("export", "skill"), "the procedure's key"),
    ],
)
def test_what_would_do_nothing_is_a_usage_error(words: tuple[str, ...], said: str, box: Box) -> None:
    box.set("k", "v")
    ran = box.run(*words)
    assert ran.code == 2
    assert said in ran.err
    assert box.get("k") == "v"


def test_no_editor_is_started_where_there_is_no_terminal(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    box.set("k", "v")
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    ran = call(box.words("fact", "edit", "k"), b"")
    assert ran.code == 2
    assert "EDITOR" in ran.err


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("sweep.max_share", "5"),
        ("recall.min_trust", "9.0"),
        ("context.budget_tokens", "10"),
        ("promotion.observations", "0"),
        ("remember.episode_from", "1.5"),
    ],
)
def test_a_setting_out_of_range_is_named_with_its_range(setting: str, value: str, box: Box) -> None:
    section, _, name = setting.partition(".")
    path = box.root / "memcli.toml"
    path.write_text(f"{path.read_text()}\n[{section}]\n{name} = {value}\n")
    ran = box.run("status")
    assert ran.code == 4
    assert setting in ran.err
    assert " to 1" in ran.err or " or more" in ran.err


def test_observations_without_a_run_count_once_a_day_whatever_the_name(box: Box) -> None:
    for name in "abc":
        box.ok("remember", "The lunch room is Berlin.", "--source", f"agent:{name}")
    assert len(box.data("review", "list", "--kind", "proposal")) == 1
    box.ok("sweep")
    assert box.run("fact", "get", "lunch room").code == 3
