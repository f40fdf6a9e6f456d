"""The shape of the project: what exists is exported, hosted, documented, shown and findable."""

import importlib
import inspect
import pkgutil
import re
import runpy
import subprocess
from collections import defaultdict
from pathlib import Path

import click
import pulumi
import pytest

import gpufleet
from gpufleet.cli import commands

ROOT = Path(__file__).parents[2]
SOURCE_ROOTS = ("components", "policies", "planner")
PACKAGES = (
    "components/gpufleet",
    "components/gpufleet_vcenter",
    "policies/gpufleet_policies",
    "planner/gpufleet_planner",
)
LONGEST_SOURCE = 400
"""Lines. A file that long holds more than one idea."""


def tracked(*patterns: str) -> list[Path]:
    """Files of the repository, those not yet committed included."""
    done = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        pytest.skip("not a git checkout: which files belong to the project is not known")
    return [ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


def components() -> dict[str, type[pulumi.ComponentResource]]:
    """Every public component that the sources define, exported or not."""
    found: dict[str, type[pulumi.ComponentResource]] = {}
    folders = ("platforms", "addons")
    names = ["gpufleet.gpu_fleet"]
    for folder in folders:
        if (ROOT / "components" / "gpufleet" / folder).is_dir():
            package = importlib.import_module(f"gpufleet.{folder}")
            names += [
                m.name for m in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
            ]
    for name in names:
        module = importlib.import_module(name)
        for member, value in vars(module).items():
            is_component = inspect.isclass(value) and issubclass(value, pulumi.ComponentResource)
            if is_component and value.__module__ == name and not member.startswith("_"):
                found[member] = value
    return found


COMPONENTS = components()


def programs(page: Path) -> list[str]:
    """The blocks of Python and YAML on a page."""
    return re.findall(r"```(?:python|yaml)\n(.*?)```", page.read_text(), re.DOTALL)


def test_there_are_components() -> None:
    assert {"GpuFleet", "GpuAddons", "GpuOperator", "SimulatedGpuNodePool"} <= set(COMPONENTS)


@pytest.mark.parametrize("name", sorted(COMPONENTS))
def test_a_component_is_exported_hosted_documented_tested_and_shown(name: str) -> None:
    assert name in gpufleet.__all__
    hosted = runpy.run_path(str(ROOT / "components"))["COMPONENTS"]
    assert COMPONENTS[name] in hosted, "components/__main__.py"
    index = (ROOT / "docs" / "index.md").read_text()
    pages = [page for page in tracked("docs/*.md") if f"({page.name})" in index]
    assert any(name in program for page in pages for program in programs(page)), (
        f"no page that docs/index.md links shows a program that uses {name}"
    )
    tests = (ROOT / "tests" / "unit" / "components").glob("test_*.py")
    assert any(name in test.read_text() for test in tests), "tests/unit/components"
    assert (COMPONENTS[name].__doc__ or "").strip()


@pytest.mark.parametrize("name", sorted(commands()))
def test_a_command_teaches_speaks_json_and_is_documented(name: str) -> None:
    command = importlib.import_module(commands()[name].module).command
    assert isinstance(command, click.Command)
    leaves = list(command.commands.values()) if isinstance(command, click.Group) else [command]
    for leaf in leaves:
        assert leaf.help, f"{name} {leaf.name} has no help"
        options = {option for parameter in leaf.params for option in parameter.opts}
        assert "--format" in options, f"{name} {leaf.name} has no --format"
    pages = [ROOT / "README.md", *tracked("docs/*.md")]
    assert any(re.search(rf"gpufleet {name}\b", page.read_text()) for page in pages)


def test_every_example_says_how_to_run_it_and_is_run() -> None:
    tests = "".join(test.read_text() for test in tracked("tests/*.py"))
    for file in sorted((ROOT / "examples").glob("**/Pulumi.yaml")):
        name = file.parent.relative_to(ROOT / "examples").as_posix()
        page = ROOT / "examples" / name.partition("/")[0] / "README.md"
        assert f"cd examples/{name}" in page.read_text() or f"examples/{name}`" in page.read_text()
        ways = (f'"examples" / "{name}"', f'example("{name}")')
        assert any(way in tests for way in ways), f"no test runs {name}"


def test_every_example_is_in_the_index() -> None:
    folders = {path.name for path in (ROOT / "examples").iterdir() if path.is_dir()}
    index = (ROOT / "examples" / "README.md").read_text()
    assert sorted(re.findall(r"\]\(([\w-]+)/README\.md\)", index)) == sorted(folders)


@pytest.mark.parametrize("page", [str(p.relative_to(ROOT)) for p in tracked("*.md")])
def test_links_resolve(page: str) -> None:
    file = ROOT / page
    text = re.sub(r"```.*?```", "", file.read_text(), flags=re.DOTALL)
    broken: list[str] = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        linked = file.parent / name if name else file
        headings = re.findall(r"^#+ (.*)$", linked.read_text(), re.M) if linked.is_file() else []
        slugs = {re.sub(r"[^\w\- ]", "", h).strip().lower().replace(" ", "-") for h in headings}
        if not linked.exists() or (anchor and anchor not in slugs):
            broken.append(target)
    assert broken == []


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    pages = {page.name for page in tracked("docs/*.md") if page.parent.name == "docs"}
    assert {page for page in pages - {"index.md"} if f"({page})" not in index} == set()


def test_paths_in_the_architecture_exist() -> None:
    roots = ("", *(f"{folder}/" for folder in PACKAGES), "sandbox/")
    missing: list[str] = []
    for path in re.findall(r"`([\w.-]+/[\w./-]*)`", (ROOT / "ARCHITECTURE.md").read_text()):
        if not any((ROOT / f"{root}{path}").exists() for root in roots):
            missing.append(path)
    assert missing == []


def test_pages_that_texts_send_people_to_exist() -> None:
    missing: set[str] = set()
    for file in tracked(*SOURCE_ROOTS, "stacks", "examples", "README.md", "docs"):
        if file.suffix in {".py", ".md", ".yaml"}:
            for name in re.findall(r"\bdocs/[\w/-]+\.md\b", file.read_text()):
                if not (ROOT / name).is_file():
                    missing.add(f"{file.relative_to(ROOT)} -> {name}")
    assert missing == set()


def test_nothing_names_the_machine_it_was_made_on() -> None:
    """Paths of one machine and addresses of mirrors make a clone depend on a place."""
    folder = "/(" + "|".join(("work", "root")) + r")/\w"
    option = r"(?<![-\w])--(extra-)?" + "-".join(("index", "url"))
    proxy = "=".join(("GOPROXY", "http"))
    wrong = re.compile(f"{folder}|{option}|{proxy}")
    found: list[str] = []
    for file in tracked():
        if file.suffix in {".sum"}:
            continue
        for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
            if wrong.search(line):
                found.append(f"{file.relative_to(ROOT)}:{number}: {line.strip()[:80]}")
    assert found == []


@pytest.mark.parametrize("folder", [*SOURCE_ROOTS, "stacks", "benchmarks", "tests"])
def test_no_source_file_grows_past_one_idea(folder: str) -> None:
    long = {
        str(file.relative_to(ROOT)): lines
        for file in tracked(f"{folder}/*.py")
        if (lines := len(file.read_text().splitlines())) > LONGEST_SOURCE
    }
    assert long == {}


def test_no_file_is_a_heap() -> None:
    heaps = {"utils", "util", "helpers", "helper", "common", "misc", "manager"}
    assert [f for f in tracked(*SOURCE_ROOTS) if f.stem.lower() in heaps] == []


UNTYPED = re.compile(r"(platforms/(\w+/preflight\w*|accounts/\w+)|gpufleet_vcenter/\w+)\.py$")
"""Files that handle values of an SDK without types: pyvmomi, boto3, google-cloud, kubernetes."""


def test_types_are_relaxed_only_where_an_sdk_has_none() -> None:
    relaxed = [
        str(file.relative_to(ROOT))
        for file in tracked("components/*/*.py", "components/gpufleet/**/*.py")
        if re.search(r"^# pyright: (basic|standard)$", file.read_text("utf-8"), re.M)
    ]
    assert relaxed
    assert [name for name in relaxed if not UNTYPED.search(name)] == []


def test_a_public_class_name_means_one_thing() -> None:
    """Exceptions: a component and its section of the FleetSpec, which users know by one name."""
    where: dict[str, set[str]] = defaultdict(set)
    for path in tracked(*(f"{root}/**.py" for root in SOURCE_ROOTS)):
        for name in re.findall(r"^class ([A-Za-z]\w*)", path.read_text(), re.MULTILINE):
            where[name].add(path.relative_to(ROOT).as_posix())
    assert len(where) > 500
    sections = "components/gpufleet/spec/addons.py"
    twice = {name: sorted(paths) for name, paths in where.items() if len(paths - {sections}) > 1}
    assert not twice


OTHER_MEANINGS = {
    "CacheRule": "how a serving engine sizes its cache",
    "ContractFact": "a link of the chain of facts behind one finding",
}


def test_there_is_one_class_each_for_a_finding_a_rule_and_a_fact() -> None:
    """A second class for the same thing needs conversions, and they drop what it lacks."""
    found: dict[str, list[str]] = {"Finding": [], "Rule": [], "Fact": [], "Violation": []}
    for root in PACKAGES:
        for path in (ROOT / root).rglob("*.py"):
            if "arguments" in path.parts:
                continue
            for name in re.findall(r"^class (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
                for word, classes in found.items():
                    if name.endswith(word) and name not in OTHER_MEANINGS:
                        classes.append(f"{path.relative_to(ROOT)}:{name}")
    assert found["Finding"] == ["components/gpufleet/findings/finding.py:Finding"]
    assert found["Rule"] == ["components/gpufleet/rules/rule.py:Rule"]
    assert found["Fact"] == ["components/gpufleet/cluster/fact.py:Fact"]
    assert found["Violation"] == ["components/gpufleet/catalogue/provider_inputs.py:InputViolation"]
