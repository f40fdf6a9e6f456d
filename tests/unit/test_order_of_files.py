import itertools
import re
from itertools import chain
from pathlib import Path, PurePath

import pytest

from tests.engine.order_of_files import EVERY_COMMIT, NIGHTLY, long_ones_first, tier_of
from tests.examples import PART, is_named
from tests.on_change import ON_CHANGE, SWEEPS, VCENTER, has_file_changed, mark_resting, named, rests

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "engine"
MARKERS = ("engine", "sandbox", "nightly", "chaos")


def test_every_engine_test_file_is_in_one_tier() -> None:
    files = {file.relative_to(FOLDER).as_posix() for file in FOLDER.rglob("test_*.py")}
    assert EVERY_COMMIT.keys() | NIGHTLY.keys() == files
    assert EVERY_COMMIT.keys() & NIGHTLY.keys() == set()


def test_what_runs_after_a_change_names_tests_and_files_that_are_there() -> None:
    for name in (*ON_CHANGE, *SWEEPS):
        file, _, test = name.partition("::")
        path = ROOT / "tests" / file
        assert path.is_dir() if name.endswith("/") else path.is_file(), name
        assert not test or f"\ndef {test}(" in path.read_text(), name
    roots = (
        "components",
        "docs",
        "examples",
        "planner",
        "policies",
        "requirements",
        "sandbox",
        "stacks",
    )
    roots += ("templates", "tests", "tools")
    paths = [*ROOT.iterdir(), *chain.from_iterable((ROOT / root).rglob("*") for root in roots)]
    files = [path.relative_to(ROOT).as_posix() for path in paths]
    sources = {end for ends in SWEEPS.values() for end in ends or ()}
    sources |= {end for rested in ON_CHANGE.values() for end in rested.sources}
    assert [end for end in sources if not any(is_named(file, end) for file in files)] == []


def never_resting(file: str) -> list[str]:
    """Tests of a file below `tests` that run with every commit, in part at least."""
    text = (ROOT / "tests" / file).read_text()
    names = re.findall(
        r"((?:@pytest.mark.nightly\n(?:@.*\n)*)?)^def (test_\w+)", text, re.MULTILINE
    )
    return [n for nightly, n in names if not nightly and not named(f"{file}::{n}", ON_CHANGE)]


def test_each_test_of_a_change_has_one_of_every_commit() -> None:
    for name, rested in ON_CHANGE.items():
        assert never_resting(rested.instead), name
        assert rested.instead.removeprefix("engine/") not in NIGHTLY, name
    files = {name.removeprefix("engine/").partition("::")[0] for name in ON_CHANGE}
    assert not files & NIGHTLY.keys()


def test_the_product_on_the_real_engine_is_tested_with_every_commit() -> None:
    """A deployment, an update, shares, each platform, policies, admission and the doctor."""
    for name in (
        *("test_deploy.py", "test_sandbox_stack.py", "test_sharing.py", "test_dra.py"),
        *("test_eks.py", "test_gke.py", "vsphere/test_group.py", "test_recorded_state.py"),
        *("test_policies.py", "test_admission.py", "test_doctor.py", "test_addons.py"),
    ):
        assert name in EVERY_COMMIT
        assert never_resting(f"engine/{name}"), name


def test_sources_of_the_provider_are_all_of_its_files() -> None:
    provider = ROOT / "components/gpufleet_vcenter"
    files = [path.relative_to(ROOT).as_posix() for path in provider.rglob("*.py")]
    assert all(any(is_named(file, end) for end in VCENTER) for file in files)


class Item:
    """As much of a test as is asked."""

    def __init__(self, nodeid: str) -> None:
        self.nodeid = nodeid
        self.nightly = False

    def add_marker(self, mark: pytest.MarkDecorator) -> None:
        self.nightly = mark.name == "nightly"


@pytest.mark.parametrize(
    ("changed", "resting", "tried"),
    [
        ((), True, 2),
        (("docs/index.md",), True, 2),
        (("policies/gpufleet_policies/rules/registry.py",), False, 8),
        (("tests/policies/test_cases.py",), True, 8),
        (("tests/corpus/test_jury.py",), False, 2),
        (None, False, 8),  # Git does not know
    ],
)
def test_a_change_runs_what_tests_it(
    monkeypatch: pytest.MonkeyPatch, changed: tuple[str, ...] | None, resting: bool, tried: int
) -> None:
    known = None if changed is None else frozenset(changed)
    monkeypatch.setattr("tests.examples.changed_files", lambda: known)
    monkeypatch.setattr("tests.on_change.has_file_changed", has_file_changed.__wrapped__)
    monkeypatch.setattr("tests.on_change.ALL", False)
    assert rests("tests/corpus/test_jury.py::test_every_finding_is_labelled[a]") is resting
    cases = [Item(f"tests/policies/test_cases.py::test_it[{number}]") for number in range(2 * PART)]
    others = [Item("tests/unit/spec/test_it.py::test_it"), Item(f"tests/{_FRONTS}::test_it[1]")]
    mark_resting([*cases, *others])  # type: ignore[list-item]
    assert not cases[0].nightly
    assert sum(not one.nightly for one in cases) == tried
    assert not any(one.nightly for one in others)


_FRONTS = "policies/differential/test_fronts.py"


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
