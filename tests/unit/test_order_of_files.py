import itertools
import re
from pathlib import Path, PurePath

import pytest

from tests.engine.order_of_files import (
    EVERY_COMMIT,
    NIGHTLY,
    ON_CHANGE,
    VCENTER,
    long_ones_first,
    tier_of,
)

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "engine"
MARKERS = ("engine", "sandbox", "nightly", "chaos")


def test_every_engine_test_file_is_in_one_tier() -> None:
    files = {file.relative_to(FOLDER).as_posix() for file in FOLDER.rglob("test_*.py")}
    assert EVERY_COMMIT.keys() | NIGHTLY.keys() == files
    assert EVERY_COMMIT.keys() & NIGHTLY.keys() == set()


def test_what_runs_after_a_change_names_files_that_are_there() -> None:
    assert ON_CHANGE.keys() < EVERY_COMMIT.keys()
    roots = ("components", "policies", "sandbox", "tests", "tools")
    kinds = ("*.py", "*.yaml", "go.mod")
    sources = [path for root in roots for kind in kinds for path in (ROOT / root).rglob(kind)]
    for end in {end for ends in ON_CHANGE.values() for end in ends}:
        assert any(path.match(end) for path in sources), end
    provider = ROOT / "components/gpufleet_vcenter"
    assert all(any(path.match(end) for end in VCENTER) for path in provider.rglob("*.py"))


def test_a_file_without_a_tier_is_named() -> None:
    with pytest.raises(LookupError, match=r"tests/engine/test_new\.py has no tier"):
        tier_of(PurePath("test_new.py"))


def test_files_stay_whole_and_tests_in_their_order() -> None:
    names = ["test_plans.py", "test_gke.py", "test_kill.py", "test_addons.py"]
    items = [(name, number) for name in names for number in (1, 2)]
    found = long_ones_first(items, lambda item: PurePath(item[0]))
    seconds = [(EVERY_COMMIT | NIGHTLY)[name] for name, _ in found]
    assert seconds == sorted(seconds, reverse=True)
    assert found[0] == ("test_addons.py", 1)
    assert [number for _, number in found] == [1, 2] * len(names)


def test_every_test_is_run_by_one_word_of_the_makefile() -> None:
    """Whatever markers a test has, one of the three selections takes it."""
    written = (ROOT / "Makefile").read_text()
    selections = [
        next(iter(re.findall(rf"^{name} := (.+)$", written, re.MULTILINE)))
        for name in ("UNIT_TESTS", "ENGINE_TESTS", "NIGHTLY_TESTS")
    ]
    for present in itertools.product((False, True), repeat=len(MARKERS)):
        markers = dict(zip(MARKERS, present, strict=True))
        taken = [one for one in selections if eval(one, {"__builtins__": {}}, markers)]
        assert len(taken) == 1, (markers, taken)


def test_tests_that_need_programs_are_where_make_engine_looks() -> None:
    marked = re.compile(r"mark\.(sandbox|engine)\b")
    tests = ROOT / "tests"
    folders = {
        file.relative_to(tests).parts[0]
        for file in tests.rglob("test_*.py")
        if marked.search(file.read_text())
    }
    assert folders <= {"engine", "wheel"}


def test_the_tests_of_each_root_are_run_alone_and_those_of_the_core_are_the_rest() -> None:
    written = (ROOT / "Makefile").read_text().replace("\\\n", "")
    roots = {
        name: next(iter(re.findall(rf"^{name}_TESTS := (.+)$", written, re.MULTILINE))).split()
        for name in ("VCENTER", "POLICY", "PLANNER", "CORE")
    }
    left_out = {word for word in roots.pop("CORE")[1:] if word != "--ignore"}
    assert left_out == {word for words in roots.values() for word in words}
    assert all((ROOT / folder).is_dir() for folder in left_out)
