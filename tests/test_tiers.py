"""What the tiers of tests promise: the default one is the same on every machine, and each says what it left out."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parent.parent


def draw_examples() -> list[int]:
    drawn = []

    @settings(settings.get_profile("fixed"), max_examples=500)
    @given(st.integers(0, 10**9))
    def draw(number):
        drawn.append(number)

    draw()
    return drawn


def test_fixed_examples_do_not_depend_on_what_is_imported(request, tmp_path):
    """Hypothesis tries the constants of the modules that it finds imported, and each worker has imported others."""
    if request.config.getoption("--hypothesis-profile") not in (None, "fixed"):
        pytest.skip("this tier draws new examples")
    before = draw_examples()
    module = tmp_path / "module_with_constants.py"
    module.write_text("\n".join(f"C{number} = {number}" for number in range(7_000_000, 7_000_400)))
    spec = importlib.util.spec_from_file_location(module.stem, module)
    sys.modules[module.stem] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(sys.modules[module.stem])
        assert draw_examples() == before
    finally:
        del sys.modules[module.stem]


@pytest.mark.parametrize("markexpr", ["not slow and not long", "slow and not long"])
def test_each_worker_reads_the_same_files_from_a_place_of_its_own_on(request, monkeypatch, markexpr):
    """Workers must collect the same tests; the slow tier reads the files with slow tests alone."""
    conftest = request.config.pluginmanager.get_plugin(str(ROOT / "tests" / "conftest.py"))
    monkeypatch.setattr(conftest, "PASSED_OVER", set())  # what this session passed over is another thing
    workers = [{"workerid": f"gw{number}", "workercount": 3} for number in range(3)]
    configs = [SimpleNamespace(workerinput=one, option=SimpleNamespace(markexpr=markexpr), args=[]) for one in workers]
    for config in configs:
        conftest.begin_with_own_share(config)
    assert len({config.args[0] for config in configs}) == len(configs)
    (read,) = {tuple(sorted(config.args)) for config in configs}
    passed_over = set(map(str, (ROOT / "tests").rglob("test_*.py"))) - set(read)
    assert passed_over == {str(path) for path in conftest.PASSED_OVER}
    slow, quick = (str(ROOT / "tests" / name) for name in ("flows/test_serve.py", "test_names.py"))
    assert slow in read
    assert (quick in passed_over) == markexpr.startswith("slow")


@pytest.mark.long
def test_a_tier_says_what_it_left_out():
    """A file without tests of the default tier, so that nothing runs; with a worker, as `make test` has them."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-m", "not slow and not long", "-n", "1"]
    ran = subprocess.run(
        [*command, "tests/flows/test_serve.py"], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode == pytest.ExitCode.NO_TESTS_COLLECTED, ran.stdout + ran.stderr
    assert re.search(r"^left out: \d+ slow, \d+ long tests", ran.stdout, re.MULTILINE), ran.stdout
