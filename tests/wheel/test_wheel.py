"""The built wheel, installed where the checkout is not on the path, does what the checkout does."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from email.parser import Parser
from pathlib import Path

import pytest

from gpufleet_sandbox.program_cache import go_platform, key
from gpufleet_sandbox.programs import PROGRAMS, SANDBOX_PROGRAMS
from gpufleet_sandbox.tools_folder import tools_folder
from tests.engine.conftest import require

pytestmark = pytest.mark.sandbox

ROOT = Path(__file__).parents[2]
SOURCES = {
    "gpufleet": ROOT / "components" / "gpufleet",
    "gpufleet_policies": ROOT / "policies" / "gpufleet_policies",
    "gpufleet/sandbox/tools": ROOT / "tools",
}
"""Folder in the wheel -> folder of the checkout that it is made from."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built as a release is; nothing is downloaded for it."""
    out = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out)]
    done = subprocess.run([*build, str(ROOT)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = out.glob("*.whl")
    return built


@dataclass(frozen=True)
class Installed:
    """An environment that has the wheel, and the packages it needs; not the checkout."""

    python: Path
    folder: Path
    """An empty folder, the working directory of every command."""

    def run(self, *command: str, status: int = 0, **variables: str) -> str:
        """Standard output of a command of this environment, which must end with `status`."""
        environment = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **variables}
        if "GPUFLEET_CACHE" in os.environ:
            environment["GPUFLEET_CACHE"] = os.environ["GPUFLEET_CACHE"]
        program = self.python.parent / command[0]
        done = subprocess.run(
            [str(program), *command[1:]],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, (command, done.stdout[-2000:], done.stderr[-2000:])
        return done.stdout


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    place = tmp_path_factory.mktemp("environment")
    venv.create(place, with_pip=False)
    python = place / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python)]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel)], check=True)
    # The dependencies of this environment. Its own .pth files, and with them an editable
    # installation of the checkout, are not followed from here.
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    pth = place / "lib" / version / "site-packages" / "dependencies.pth"
    pth.write_text(sysconfig.get_paths()["purelib"] + "\n")
    return Installed(python, tmp_path_factory.mktemp("elsewhere"))


@pytest.fixture
def spec(installed: Installed) -> str:
    file = installed.folder / "fleet.yaml"
    file.write_text((ROOT / "stacks" / "Pulumi.sandbox-dev.yaml").read_text())
    return file.name


def test_every_file_of_the_packages_is_inside_and_nothing_else(wheel: Path) -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "."],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if tracked.returncode != 0:
        pytest.skip("not a git checkout: which files are sources is not known")
    wanted = {
        f"{target}/{path.relative_to(source)}"
        for path in (ROOT / name for name in tracked.stdout.split("\0") if name)
        for target, source in SOURCES.items()
        if path.is_file() and path.is_relative_to(source)
    }
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert inside == wanted
    for data in ("gpufleet/py.typed", "gpufleet/sandbox/kwok_stages.yaml"):
        assert data in inside


def test_the_metadata(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(name).decode())
        entry_points = archive.read(name.replace("METADATA", "entry_points.txt")).decode()
        licences = [n for n in archive.namelist() if n.endswith("/LICENSE")]
    assert metadata["Name"] == "pulumi-gpufleet"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == "<3.14,>=3.11"
    extras = {"eks", "gke", "vsphere", "policies", "planner", "preflight", "all"}
    assert extras <= set(metadata.get_all("Provides-Extra") or ())
    assert "gpufleet = gpufleet.cli:main" in entry_points
    assert len(licences) == 1


def test_python_finds_the_wheel_and_every_component(installed: Installed) -> None:
    code = (
        "import gpufleet, gpufleet_policies, json\n"
        "for name in gpufleet.__all__: getattr(gpufleet, name)\n"
        "print(json.dumps([gpufleet.__file__, gpufleet_policies.__file__]))"
    )
    for file in json.loads(installed.run("python", "-c", code)):
        assert Path(file).is_relative_to(installed.python.parents[1])


def test_the_commands_that_judge(installed: Installed, spec: str) -> None:
    compiled = json.loads(installed.run("gpufleet", "compile", spec, "--format", "json"))
    assert [pool["name"] for pool in compiled["fleet"]["pools"]] == [
        "chat",
        "notebooks",
        "training",
    ]
    assert "3g.40gb" in installed.run("gpufleet", "explain", spec, "notebooks")
    asked = installed.run("gpufleet", "partition", "--gpu", "H100-80GB", "--want", '{"1g.10gb": 7}')
    assert "can be placed" in asked
    assert json.loads(installed.run("gpufleet", "schema", "--format", "json"))["$defs"]
    rendered = json.loads(
        installed.run("gpufleet", "render", spec, "--out", "files", "--format", "json")
    )
    assert {file["status"] for file in rendered} == {"new"}


@pytest.mark.parametrize(
    "table", ["gpus", "mig", "instances", "prices", "models", "charts", "images", "sources"]
)
def test_the_catalogue_is_inside(installed: Installed, table: str) -> None:
    here = subprocess.run(
        [sys.executable, "-m", "gpufleet.cli", "catalogue", table, "--format", "json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert installed.run("gpufleet", "catalogue", table, "--format", "json") == here.stdout


def test_a_policy_pack_for_a_project_of_ones_own(installed: Installed) -> None:
    rules = json.loads(installed.run("gpufleet", "policies", "rules", "--format", "json"))
    assert rules
    installed.run("gpufleet", "policies", "init", "pack")
    assert {file.name for file in (installed.folder / "pack").iterdir()} >= {
        "PulumiPolicy.yaml",
        "__main__.py",
        "requirements.txt",
    }


def test_the_pins_are_those_of_the_checkout_so_nothing_is_built_again(
    installed: Installed,
) -> None:
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
    assert json.loads(installed.run("python", "-c", code)) == here


@pytest.fixture
def sandbox_command(installed: Installed) -> Callable[..., str]:
    require(SANDBOX_PROGRAMS)

    def run(*arguments: str) -> str:
        return installed.run("gpufleet", "sandbox", *arguments, "--dir", "box", "--format", "json")

    return run


def test_it_brings_up_a_sandbox_and_leaves_nothing(sandbox_command: Callable[..., str]) -> None:
    try:
        up = json.loads(sandbox_command("up"))
        assert up["running"], up
        assert {"operands", "kwok", "kube-scheduler"} <= {p["name"] for p in up["processes"]}
    finally:
        down = json.loads(sandbox_command("down"))
    assert down["running"] is False
