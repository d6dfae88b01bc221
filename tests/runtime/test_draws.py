import stat

import pytest

from tasks.microdata.errors import InputError
from tasks.runtime.draws import (
    chosen_draw,
    draw_of,
    pseudonym_key_of,
    pseudonym_secret,
    seed_of,
)


def test_a_draw_is_kept_until_a_new_one_is_asked_for(home):
    first = draw_of("survey")
    assert draw_of("survey") == first
    second = draw_of("survey", new=True)
    assert second != first
    assert draw_of("survey") == second
    assert draw_of("another") not in (first, second)
    assert len(seed_of(first)) == 32


def test_a_series_has_one_key_of_pseudonyms_whatever_is_drawn(home):
    key = pseudonym_key_of("survey")
    draws = draw_of("survey"), draw_of("survey", new=True)
    assert pseudonym_key_of("survey") == key
    assert len({key, pseudonym_key_of("another"), *draws}) == 4
    assert len(pseudonym_secret(key)) == 32
    assert stat.S_IMODE((home / "draws" / "seeds" / key).stat().st_mode) == 0o400


def test_a_lost_key_of_pseudonyms_is_not_made_anew(home):
    key = pseudonym_key_of("survey")
    (home / "draws" / "seeds" / key).unlink()
    with pytest.raises(InputError) as refused:
        pseudonym_secret(pseudonym_key_of("survey"))
    assert refused.value.code == "lost-pseudonym-key"
    assert key not in str(refused.value)


def test_the_draw_id_does_not_hold_the_seed_and_the_seed_is_private(home):
    draw = draw_of("survey")
    seed = seed_of(draw)
    assert seed.hex() not in draw
    path = home / "draws" / "seeds" / draw
    assert stat.S_IMODE(path.stat().st_mode) == 0o400
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_chosen_seed_gives_the_same_draw_again(home):
    assert chosen_draw(7) == chosen_draw(7) != chosen_draw(8)


def test_a_lost_seed_is_an_error(home):
    draw = draw_of("s")
    (home / "draws" / "seeds" / draw).unlink()
    with pytest.raises(InputError, match="--new-draw"):
        seed_of(draw)
