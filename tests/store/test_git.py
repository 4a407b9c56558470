"""What git says no to is told with a next step that works when it is pasted."""

from pathlib import Path

import pytest

from memcli.base import errors
from memcli.store import git


def test_a_folder_with_a_space_can_be_pasted_from_the_hint(tmp_path: Path) -> None:
    with pytest.raises(errors.SystemFailure) as caught:
        git.tell(str(tmp_path), "log")
    assert f"git -C {tmp_path} status" in caught.value.hint
    (tmp_path / "a b").mkdir()
    with pytest.raises(errors.SystemFailure) as caught:
        git.tell(str(tmp_path / "a b"), "log")
    assert f"git -C '{tmp_path}/a b' status" in caught.value.hint
