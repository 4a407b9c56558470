"""Whatever happens to a store, an index that follows it says what one made of nothing says."""

import pytest
from support import Box

from . import common
from .play import Play

STEPS = 90


def play(box: Box, monkeypatch: pytest.MonkeyPatch, seed: int, steps: int) -> None:
    """Random things, each followed by a look; sometimes at once, sometimes when the files have come to rest."""
    ticks = common.Ticks(monkeypatch)
    game = Play(box, seed)
    for n in range(steps):
        game.step()
        if game.r.random() < 0.3:
            game.step()  # two changes, one look
        if game.r.random() < 0.5:
            ticks.rest()
        words = common.WORDS if n % 8 == 0 else ()
        try:
            common.same(box, game.now, words=words)
        except AssertionError as e:
            raise AssertionError(f"seed {seed}, step {n}, after {game.done[-6:]}: {e}") from e
        if game.r.random() < 0.7:
            ticks.rest()
            common.looked(box.store, game.now)  # now the index is sure of what it holds


@pytest.mark.parametrize("seed", range(4))
def test_any_history_gives_the_same_answers(box: Box, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    play(box, monkeypatch, seed, STEPS)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(100, 120))
def test_long_histories_give_the_same_answers(box: Box, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    play(box, monkeypatch, seed, 200)
