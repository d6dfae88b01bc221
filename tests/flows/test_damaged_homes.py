"""Files of the home that were emptied or overwritten: one sentence names the file and the way back, with exit code 2."""

from __future__ import annotations

import pytest
from certified_runs import issue

from flows.cli import run as sdcert
from flows.cli.doctor.home import _check_seeds
from flows.sweep.record import count_done_trials, read_sweep_records
from flows.sweep.working_set import WorkingSet
from tasks.audit.series.series import Series
from tasks.microdata.errors import InputError
from tasks.runtime.draws import current_draw, find_or_create_draw, find_or_create_pseudonym_key, keep_chosen_seed, read_seed

GARBLED = [b"", b"\n", b"\xff\xfe\x00", b"../../etc/passwd", b"0" * 31]


def error_of(action, *arguments, **options) -> InputError:
    with pytest.raises(InputError) as refused:
        action(*arguments, **options)
    for part in ("where:", "allowed:", "to do:"):
        assert part in str(refused.value)
    return refused.value


@pytest.mark.parametrize("content", GARBLED)
def test_what_names_the_current_draw(home, content):
    before = find_or_create_draw("survey")
    (home / "draws" / "survey.current").write_bytes(content)
    for ask in (find_or_create_draw, current_draw):
        error = error_of(ask, "survey")
        assert error.code == "damaged-draw"
        assert "draws/survey.current" in error.what
        assert "--new-draw" in error.remedy
    assert _check_seeds(home / "draws", "").status == "fail"
    assert find_or_create_draw("survey", new=True) not in (before, content)
    assert current_draw("survey") == find_or_create_draw("survey")


@pytest.mark.parametrize("content", GARBLED)
def test_what_names_the_key_of_pseudonyms(home, content):
    find_or_create_pseudonym_key("survey")
    (home / "draws" / "survey.pseudonyms").write_bytes(content)
    error = error_of(find_or_create_pseudonym_key, "survey")
    assert "draws/survey.pseudonyms" in error.what
    assert "--new-draw" not in error.remedy, "a new draw does not make a new key"
    assert _check_seeds(home / "draws", "").status == "fail"


@pytest.mark.parametrize("content", [b"", b"x" * 32, b"x" * 31])
def test_a_seed_is_looked_at_also_where_everything_is_served_from_the_cache(home, content):
    draw = find_or_create_draw("survey")
    path = home / "draws" / "seeds" / draw
    path.chmod(0o600)
    path.write_bytes(content)
    for ask, of in ((read_seed, draw), (find_or_create_draw, "survey")):
        error = error_of(ask, of)
        assert (error.code, error.where) == ("damaged-seed", "SDCERT_HOME")
        assert f"draws/seeds/{draw}" in str(error)
        assert "--new-draw" in error.remedy
    assert find_or_create_draw("survey", new=True) != draw


def test_a_key_of_pseudonyms_that_was_changed_is_not_used(home):
    path = home / "draws" / "seeds" / find_or_create_pseudonym_key("survey")
    path.chmod(0o600)
    path.write_bytes(b"x" * 32)
    assert error_of(find_or_create_pseudonym_key, "survey").code == "lost-pseudonym-key"


def test_a_chosen_seed_that_was_emptied_is_written_again(home):
    draw = keep_chosen_seed(7)
    (home / "draws" / "seeds" / draw).chmod(0o600)
    (home / "draws" / "seeds" / draw).write_bytes(b"")
    assert read_seed(keep_chosen_seed(7))


@pytest.mark.parametrize("content", [b"", b"[]", b"nonsense", b"[" * 100_000])
def test_the_working_set_of_sweeps(tmp_path, content):
    place = WorkingSet(str(tmp_path / "sweeps"))
    place.write("base/table.arrow", content)
    assert "base/table.arrow" in error_of(place.table, "base").what
    place.write("ingested/source.json", content)
    assert "remove it" in error_of(place.json, "ingested/source.json").remedy
    place.write("sweep-1/sweep.json", content)
    assert read_sweep_records(place) == []
    place.write("sweep-1/plan.json", content)
    assert count_done_trials(place, {"id": "sweep-1", "base": "base"}) == 0


def test_prefects_database(home, monkeypatch):
    from tasks.runtime.servers import refuse_damaged_database

    monkeypatch.delenv("PREFECT_SERVER_DATABASE_CONNECTION_URL", raising=False)
    path = home / "prefect" / "prefect.db"
    refuse_damaged_database()
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    refuse_damaged_database()
    path.write_bytes(b"nonsense" * 1000)
    assert "prefect/prefect.db" in error_of(refuse_damaged_database).what


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"", b"null", b"[1]", b"\xff"])
def test_what_is_made_anew_by_itself_stops_nothing(own, content, capfd, tmp_path):
    issue(tmp_path / "releases" / "survey" / "run")
    for name in ("ledger/head.json", "serve/state.json", "scheduled/1/asked.json", "outbox/1.json", "outbox/given-up.txt",
                 "quarantine/survey/1.json", "quarantine/survey/1.begun", "runs/other/manifest.json"):  # fmt: skip
        path = own.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    for words in (["runs"], ["quarantine", "list"], ["tell", "list"], ["audit", "find"], ["audit", "due"], ["doctor"]):
        capfd.readouterr()
        assert sdcert(words) in (0, 1), words
        assert "something broke" not in capfd.readouterr().err, words
    assert Series("survey").list_past_attempts()
    (own.root / "runs" / "other" / "manifest.json").unlink()  # the search for secrets reads them


def test_the_list_of_who_is_told(own, capfd):
    own.root.mkdir(parents=True)
    (own.root / "telling.yaml").write_bytes(b"\xff{")
    assert sdcert(["tell", "list"]) == 2
    assert "telling.yaml" in capfd.readouterr().err
