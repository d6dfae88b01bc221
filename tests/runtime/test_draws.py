import stat

import pytest

from tasks.microdata.errors import InputError
from tasks.runtime.draws import (
    Attempt,
    attempts,
    chosen_draw,
    draw_of,
    pseudonym_key_of,
    pseudonym_secret,
    record_attempt,
    seed_of,
)


def attempt(run="r1", source="table:1", masking="m1", draw="d1", policy="p1"):
    return Attempt(run, "2026-01-01T00:00:00", source, masking, draw, policy)


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


def test_attempts_are_counted_per_source_and_repetitions_are_not(home):
    assert record_attempt("s", attempt()) == 1
    assert record_attempt("s", attempt(run="r2")) == 1
    assert record_attempt("s", attempt(draw="d2")) == 2
    assert record_attempt("s", attempt(policy="p2")) == 3
    assert record_attempt("s", attempt(source="table:2")) == 1
    assert record_attempt("another", attempt()) == 1
    assert len(attempts("s")) == 5


def test_a_line_torn_by_a_crash_does_not_stop_the_count(home):
    record_attempt("s", attempt())
    with (home / "attempts" / "s.jsonl").open("a") as file:
        file.write('{"run": "half')
    assert record_attempt("s", attempt(draw="d2")) == 2


def test_a_lost_seed_is_an_error(home):
    draw = draw_of("s")
    (home / "draws" / "seeds" / draw).unlink()
    with pytest.raises(InputError, match="--new-draw"):
        seed_of(draw)
