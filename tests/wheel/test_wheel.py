"""The built wheels, installed without the checkout on the path, behave as the checkout does."""

import json
import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest
from click.testing import CliRunner
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gpufleet.cli.catalogue import command as catalogue
from gpufleet_sandbox.program_cache import go_platform, key
from gpufleet_sandbox.programs import PROGRAMS, SANDBOX_PROGRAMS
from gpufleet_sandbox.tools_folder import tools_folder
from tests.wheel.environments import OURS, Installed, build, install

ROOT = Path(__file__).parents[2]
PRODUCT_SOURCES = {
    "gpufleet": ROOT / "components" / "gpufleet",
    "gpufleet_vcenter": ROOT / "components" / "gpufleet_vcenter",
    "gpufleet_policies": ROOT / "policies" / "gpufleet_policies",
    "gpufleet_planner": ROOT / "planner" / "gpufleet_planner",
}
"""Folder in the wheel -> folder of the checkout that it is made from."""
SANDBOX_SOURCES = {
    "gpufleet_sandbox": ROOT / "sandbox" / "gpufleet_sandbox",
    "gpufleet_sandbox/tools": ROOT / "tools",
}


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of pulumi-gpufleet."""
    return build(ROOT, tmp_path_factory.mktemp("product"))


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of gpufleet-sandbox."""
    return build(ROOT / "sandbox", tmp_path_factory.mktemp("sandbox"))


@pytest.fixture(scope="module")
def alone(product: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """pulumi-gpufleet without any extra."""
    return install(tmp_path_factory.mktemp("alone"), [product])


@pytest.fixture(scope="module")
def both(product: Path, sandbox: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Both distributions, with every extra."""
    extras = ("all", "clouds")
    return install(tmp_path_factory.mktemp("both"), [product, sandbox], extras=extras)


def metadata_of(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode())


def copied_stack(installed: Installed) -> str:
    """The declaration of the stack sandbox-dev, in the folder of an environment."""
    file = installed.folder / "fleet.yaml"
    file.write_text((ROOT / "stacks" / "Pulumi.sandbox-dev.yaml").read_text())
    return file.name


@pytest.mark.parametrize(
    ("name", "sources", "data"),
    [
        ("product", PRODUCT_SOURCES, "gpufleet/py.typed"),
        ("sandbox", SANDBOX_SOURCES, "gpufleet_sandbox/kwok_stages.yaml"),
    ],
)
def test_every_file_of_the_packages_is_inside_and_nothing_else(
    request: pytest.FixtureRequest, name: str, sources: dict[str, Path], data: str
) -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "."],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if tracked.returncode != 0:
        pytest.skip("not a git checkout: which files are sources is not known")
    expected = {
        f"{target}/{path.relative_to(source)}": path.read_bytes()
        for path in (ROOT / name for name in tracked.stdout.split("\0") if name)
        for target, source in sources.items()
        if path.is_file() and path.is_relative_to(source)
    }
    with zipfile.ZipFile(request.getfixturevalue(name)) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        assert names == expected.keys()
        assert [one for one in names if archive.read(one) != expected[one]] == []
    assert data in names


def test_the_metadata(product: Path) -> None:
    metadata = metadata_of(product)
    with zipfile.ZipFile(product) as archive:
        (file,) = (n for n in archive.namelist() if n.endswith("/entry_points.txt"))
        entry_points = archive.read(file).decode()
        licences = [n for n in archive.namelist() if n.endswith("/LICENSE")]
    assert metadata["Name"] == "pulumi-gpufleet"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == "<3.14,>=3.11"
    extras = {"pulumi", "eks", "gke", "vsphere", "policies", "planner", "preflight", "all"}
    assert set(metadata.get_all("Provides-Extra") or ()) == extras
    assert "gpufleet = gpufleet.cli:main" in entry_points
    assert len(licences) == 1


def test_both_wheels_hold_the_licence(product: Path, sandbox: Path) -> None:
    expected = (ROOT / "LICENSE").read_text(encoding="utf-8")
    for wheel in (product, sandbox):
        assert metadata_of(wheel)["License-Expression"] == "Apache-2.0"
        with zipfile.ZipFile(wheel) as archive:
            (name,) = (n for n in archive.namelist() if n.endswith("/licenses/LICENSE"))
            assert archive.read(name).decode() == expected


def test_both_have_one_version_and_the_sandbox_requires_it(product: Path, sandbox: Path) -> None:
    number = metadata_of(product)["Version"]
    assert metadata_of(sandbox)["Name"] == "gpufleet-sandbox"
    assert metadata_of(sandbox)["Version"] == number
    required = metadata_of(sandbox).get_all("Requires-Dist") or []
    assert f"pulumi-gpufleet[pulumi]=={number}" in required
    assert metadata_of(sandbox)["Requires-Python"] == metadata_of(product)["Requires-Python"]


def test_all_that_they_require_is_locked(product: Path, sandbox: Path) -> None:
    locked = set(re.findall(r"^([\w.-]+)", (ROOT / "requirements/dev.txt").read_text(), re.M))
    required = {
        canonicalize_name(Requirement(text).name)
        for wheel in (product, sandbox)
        for text in metadata_of(wheel).get_all("Requires-Dist") or []
    }
    assert required - OURS - locked == set()


def test_alone_it_judges_a_simulated_fleet(alone: Installed) -> None:
    spec = copied_stack(alone)
    compiled = json.loads(alone.run("gpufleet", "compile", spec, "--format", "json"))
    assert [pool["name"] for pool in compiled["fleet"]["pools"]] == [
        "chat",
        "notebooks",
        "training",
    ]
    rendered = json.loads(
        alone.run("gpufleet", "render", spec, "--out", "files", "--format", "json")
    )
    assert {file["status"] for file in rendered} == {"new"}
    validated = json.loads(alone.run("gpufleet", "audit", "files", "--format", "json"))
    assert validated


def test_alone_it_says_what_the_sandbox_needs(alone: Installed) -> None:
    assert "sandbox " in alone.run("gpufleet", "--help")
    assert alone.refused("gpufleet", "sandbox", "up") == (
        "gpufleet: gpufleet-sandbox is not installed: `pip install CHECKOUT CHECKOUT/sandbox`, "
        "or `make up` in a checkout\n"
    )
    assert alone.run("python", "-c", "import sys; print(sys.path)").count(str(ROOT)) == 0


def test_python_finds_the_wheel_and_every_component(both: Installed) -> None:
    code = (
        "import gpufleet, gpufleet_policies, gpufleet_sandbox, json\n"
        "for name in gpufleet.__all__: getattr(gpufleet, name)\n"
        "modules = gpufleet, gpufleet_policies, gpufleet_sandbox\n"
        "print(json.dumps([module.__file__ for module in modules]))"
    )
    for file in json.loads(both.run("python", "-c", code)):
        assert Path(file).is_relative_to(both.python.parents[1])


def test_the_catalogue_is_inside(alone: Installed) -> None:
    """Its other tables are files of the same folder, which the wheel holds as they are."""
    here = CliRunner().invoke(catalogue, ["instances", "--format", "json"])
    assert alone.run("gpufleet", "catalogue", "instances", "--format", "json") == here.stdout


def test_a_policy_pack_for_a_project_of_ones_own(alone: Installed) -> None:
    rules = json.loads(alone.run("gpufleet", "policies", "rules", "--format", "json"))
    assert rules
    alone.run("gpufleet", "policies", "init", "pack")
    assert {file.name for file in (alone.folder / "pack").iterdir()} >= {
        "PulumiPolicy.yaml",
        "__main__.py",
        "requirements.txt",
    }


@pytest.mark.nightly
def test_a_sandbox_of_another_version_is_refused(product: Path, tmp_path: Path) -> None:
    """Its version is written once, in the pyproject.toml of the repository."""
    ignored = shutil.ignore_patterns("build", "__pycache__")
    for name in ("sandbox", "tools"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    number = metadata_of(product)["Version"]
    project = (ROOT / "pyproject.toml").read_text()
    (tmp_path / "pyproject.toml").write_text(
        project.replace(f'\nversion = "{number}"\n', '\nversion = "99.1"\n')
    )
    newer = build(tmp_path / "sandbox", tmp_path)
    assert "pulumi-gpufleet[pulumi]==99.1" in (metadata_of(newer).get_all("Requires-Dist") or [])
    installed = install(tmp_path, [product, newer])
    assert installed.refused("gpufleet", "sandbox", "status") == (
        "gpufleet: gpufleet-sandbox 99.1 works with pulumi-gpufleet 99.1 only, and pulumi-gpufleet "
        f"{number} is installed: `pip install CHECKOUT CHECKOUT/sandbox`, or `make up` in a "
        "checkout, of one release\n"
    )


def test_the_pins_are_those_of_the_checkout_so_nothing_is_built_again(both: Installed) -> None:
    code = (
        "import json\n"
        "from gpufleet_sandbox.program_cache import go_platform, key\n"
        "from gpufleet_sandbox.programs import PROGRAMS\n"
        "from gpufleet_sandbox.tools_folder import tools_folder\n"
        "print(json.dumps({name: key(program, tools_folder(), go_platform())\n"
        "                  for name, program in PROGRAMS.items()}))"
    )
    here = {
        program.name: key(program, tools_folder(), go_platform()) for program in PROGRAMS.values()
    }
    assert json.loads(both.run("python", "-c", code)) == here


@pytest.fixture
def sandbox_command(both: Installed) -> Callable[..., str]:
    from tests.engine.conftest import require  # with the client of Kubernetes: a second

    require(SANDBOX_PROGRAMS)

    def run(*arguments: str) -> str:
        return both.run("gpufleet", "sandbox", *arguments, "--dir", "box", "--format", "json")

    return run


@pytest.mark.sandbox
def test_it_brings_up_a_sandbox_and_leaves_nothing(sandbox_command: Callable[..., str]) -> None:
    try:
        up = json.loads(sandbox_command("up"))
        assert up["running"], up
        assert {"operands", "kwok", "kube-scheduler"} <= {p["name"] for p in up["processes"]}
        assert json.loads(sandbox_command("status"))["running"] is True
    finally:
        down = json.loads(sandbox_command("down"))
    assert down["running"] is False
