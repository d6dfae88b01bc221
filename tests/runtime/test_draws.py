import stat

import pytest

from tasks.microdata.errors import InputError
from tasks.runtime.draws import (
    find_or_create_draw,
    find_or_create_pseudonym_key,
    keep_chosen_seed,
    keep_seed,
    pseudonym_secret,
    read_seed,
)


def test_a_draw_is_kept_until_a_new_one_is_asked_for(home):
    first = find_or_create_draw("survey")
    assert find_or_create_draw("survey") == first
    second = find_or_create_draw("survey", new=True)
    assert second != first
    assert find_or_create_draw("survey") == second
    assert find_or_create_draw("another") not in (first, second)
    assert len(read_seed(first)) == 32


def test_a_series_has_one_key_of_pseudonyms_whatever_is_drawn(home):
    key = find_or_create_pseudonym_key("survey")
    draws = find_or_create_draw("survey"), find_or_create_draw("survey", new=True)
    assert find_or_create_pseudonym_key("survey") == key
    assert len({key, find_or_create_pseudonym_key("another"), *draws}) == 4
    assert len(pseudonym_secret(key)) == 32
    assert stat.S_IMODE((home / "draws" / "seeds" / key).stat().st_mode) == 0o400


def test_a_lost_key_of_pseudonyms_is_not_made_anew(home):
    key = find_or_create_pseudonym_key("survey")
    (home / "draws" / "seeds" / key).unlink()
    with pytest.raises(InputError) as refused:
        pseudonym_secret(find_or_create_pseudonym_key("survey"))
    assert refused.value.code == "lost-pseudonym-key"
    assert key not in str(refused.value)


def test_the_draw_id_does_not_hold_the_seed_and_the_seed_is_private(home):
    draw = find_or_create_draw("survey")
    seed = read_seed(draw)
    assert seed.hex() not in draw
    path = home / "draws" / "seeds" / draw
    assert stat.S_IMODE(path.stat().st_mode) == 0o400
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_chosen_seed_gives_the_same_draw_again(home):
    assert keep_chosen_seed(7) == keep_chosen_seed(7) != keep_chosen_seed(8)


def test_a_lost_seed_is_an_error(home):
    draw = find_or_create_draw("s")
    (home / "draws" / "seeds" / draw).unlink()
    with pytest.raises(InputError, match="--new-draw"):
        read_seed(draw)


def current(home, name: str):
    return home / "draws" / name


@pytest.mark.parametrize(("ask", "name"), [(find_or_create_draw, "s.current"), (find_or_create_pseudonym_key, "s.pseudonyms")])
def test_what_says_which_secret_is_current_is_believed_only_as_it_was_written(home, ask, name):
    first, chosen, path = ask("s"), keep_chosen_seed(1), current(home, name)
    whole = path.read_text()
    other = ask("another")
    for changed in (
        whole.replace(first, chosen),  # a seed that somebody chose, and knows
        current(home, name.replace("s.", "another.")).read_text(),
        f"{first} {'0' * 64}",
        "",
        "x y z",
    ):
        path.write_text(changed)
        with pytest.raises(InputError, match=r"was (changed|emptied)") as caught:
            ask("s")
        assert caught.value.code == "damaged-draw"
    path.write_text(whole)
    assert ask("s") == first != other


@pytest.mark.parametrize(("ask", "name"), [(find_or_create_draw, "s.current"), (find_or_create_pseudonym_key, "s.pseudonyms")])
def test_what_an_older_version_wrote_is_taken_where_the_ledger_says_the_same(home, ask, name):
    first, path = ask("s"), current(home, name)
    path.write_text(first)
    assert ask("s", earlier=lambda: first) == first
    assert ask("s", earlier=lambda: "other") == first, "it has its seal now"
    path.write_text(first)
    with pytest.raises(InputError, match="was changed"):
        ask("s", earlier=lambda: "0" * 32)
    path.write_text(keep_chosen_seed(1))
    assert ask("s") not in (first, keep_chosen_seed(1)), "nothing was ever made with it"


def test_a_seed_that_is_not_what_its_name_says_is_refused_and_can_be_put_back(home):
    draw = find_or_create_draw("s")
    seed, path = read_seed(draw), home / "draws" / "seeds" / draw
    path.chmod(0o600)
    for content in (b"", b"x" * 32, seed + b"x"):
        path.write_bytes(content)
        with pytest.raises(InputError, match="not the one that its name says"):
            read_seed(draw)
    assert keep_seed(seed) == draw
    assert read_seed(draw) == seed


@pytest.mark.parametrize(("ask", "name"), [(find_or_create_draw, "s.current"), (find_or_create_pseudonym_key, "s.pseudonyms")])
def test_a_pointer_that_is_gone_is_written_again_as_the_ledger_has_it(home, ask, name):
    first = ask("s")
    current(home, name).unlink()
    assert ask("s", earlier=lambda: first) == first
    assert ask("s") == first, "it is there again, with its seal"
