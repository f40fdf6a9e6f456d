"""The program without Pulumi: what an installation without extras brings, and what it can do."""

import json
import subprocess
import sys
import time
import venv
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from gpufleet.cli import commands as program_commands
from tests.examples import at_night
from tests.planner.rightsize.test_command import measured
from tests.unit.adopt.test_inputs import KARPENTER, fleet_of, rendered_dump
from tests.unit.cli.test_cost import SPEC, answer
from tests.wheel.environments import Installed, build, install

ROOT = Path(__file__).parents[2]
MOST_BYTES = 25_000_000
"""Sizes of all wheels that an installation of the program downloads."""
MOST_SECONDS = 60
"""From an empty environment to the first finding."""
PULUMI = ("pulumi", "pulumi_kubernetes", "pulumi_aws", "pulumi_gcp", "grpc", "pyVmomi")
IDLE = """\
apiVersion: v1
kind: Pod
metadata: {name: shell, namespace: ml}
spec:
  containers:
    - name: shell
      image: ubuntu:24.04
      command: [sleep, infinity]
      resources: {limits: {nvidia.com/gpu: 1}}
"""
HEALTHY = {
    "apiVersion": "v1",
    "kind": "List",
    "items": [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "cpu-a"},
            "status": {
                "allocatable": {"cpu": "8"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
    ],
}
NEED_MORE = {
    "preflight": (["fleet.yaml"], "pip install 'CHECKOUT[preflight]'"),
    "vsphere": (
        ["inventory", "--server", "vc.example.com", "--datacenter", "DC", "--cluster", "C"],
        "pip install 'CHECKOUT[vsphere]'",
    ),
    "sandbox": (["up"], "pip install CHECKOUT CHECKOUT/sandbox"),
}
"""Commands that query a cloud, a vCenter or a control plane: a call, and its error without the
packages for that."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def light(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return install(tmp_path_factory.mktemp("light"), [wheel])


def commands(folder: Path) -> dict[str, list[str]]:
    """One call of each command that needs files only."""
    texts = {
        "fleet.yaml": yaml.safe_dump(SPEC),
        "pod.yaml": IDLE,
        "shares.yaml": "machines: [{name: a100, instanceType: p4de.24xlarge}]\n"
        "shares: [{name: notebooks, count: 30, mig: 1g.10gb}]\n",
        "dump.json": json.dumps(rendered_dump(fleet_of(KARPENTER))),
        "metrics.json": answer(),
        "nodes.json": json.dumps(HEALTHY),
        "hardware.yaml": "machines: [{gpu: L4, gpus: 4, usd: 40000, kw: 1.2}]\n",
        "use.json": measured("10000", "0.2", 3600),
        "workloads.yaml": (ROOT / "examples" / "plan" / "slices.yaml").read_text(),
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    return {
        "compile": ["fleet.yaml"],
        "explain": ["fleet.yaml"],
        "render": ["fleet.yaml", "--out", "files"],
        "check": ["pod.yaml"],
        "change": ["fleet.yaml", "fleet.yaml"],
        "calendar": ["fleet.yaml", "--for", "30d"],
        "partition": ["--gpu", "H100-80GB", "--want", '{"1g.10gb": 7}'],
        "size": ["--model", "Qwen/Qwen2.5-1.5B-Instruct", "--context", "4096"],
        "plan": ["workloads.yaml"],
        "pack": ["shares.yaml"],
        "cost": ["metrics.json", "--spec", "fleet.yaml"],
        "own": ["fleet.yaml", "hardware.yaml"],
        "mirror": ["fleet.yaml"],
        "adopt": ["dump.json"],
        "rightsize": ["use.json", "--platform", "eks", "--region", "us-east-1"],
        "catalogue": ["gpus"],
        "schema": [],
        "audit": ["pod.yaml"],
        "doctor": ["nodes.json"],
        "policies": ["rules"],
    }


IN_ONE_PROCESS = """
import importlib, json, sys
from click.testing import CliRunner
from gpufleet.cli import commands

for name, arguments in json.loads(sys.argv[1]).items():
    command = importlib.import_module(commands()[name].module).command
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 0 and done.stdout.strip(), (name, done.output, done.exception)
"""


def test_every_command_works_or_names_what_it_needs(light: Installed) -> None:
    given = commands(light.folder)
    assert given.keys() | NEED_MORE.keys() == program_commands().keys()
    light.run("python", "-c", IN_ONE_PROCESS, json.dumps(given))
    assert light.run("gpufleet", "explain", "fleet.yaml").strip()
    for name, (arguments, text) in NEED_MORE.items():
        assert text in light.refused("gpufleet", name, *arguments), name


def test_without_pulumi_no_component_and_the_text_says_what_to_install(light: Installed) -> None:
    code = f"""
import gpufleet, importlib.util, json
assert not [name for name in {PULUMI} if importlib.util.find_spec(name)]
texts = {{}}
for name in gpufleet.__all__:
    try:
        getattr(gpufleet, name)
    except ModuleNotFoundError as missing:
        texts[name] = str(missing)
print(json.dumps(texts))
"""
    texts = json.loads(light.run("python", "-c", code))
    assert len(texts) > 25
    assert texts["GpuFleet"] == (
        "gpufleet.GpuFleet needs the package pulumi, which the extra `pulumi` brings: "
        "`pip install 'CHECKOUT[pulumi]'`"
    )
    assert {text.rpartition("`pip")[2] for text in texts.values()} == {
        " install 'CHECKOUT[pulumi]'`"
    }


@pytest.mark.parametrize(
    ("extra", "component"),
    [
        ("eks", "EksGpuNodeGroup"),
        *at_night(
            ("gke", "GkeGpuNodePool"), ("vsphere", "VsphereGpuNodeGroup"), changed="pyproject.toml"
        ),
    ],
)
def test_each_platform_names_its_extra_and_has_enough_with_it(
    light: Installed, extra: str, component: str
) -> None:
    code = f"from gpufleet import GpuFleet, {component}"
    with light.with_extras("pulumi"):
        assert f"`pip install 'CHECKOUT[{extra}]'`" in light.failed("python", "-c", code)
    with light.with_extras(extra):
        light.run("python", "-c", code)


def test_preflight_has_enough_with_its_extra(light: Installed) -> None:
    arguments, missing = NEED_MORE["preflight"]
    (light.folder / "fleet.yaml").write_text(yaml.safe_dump(SPEC))
    with light.with_extras("preflight"):
        # It sends a query, and has no credentials.
        assert missing not in light.refused("gpufleet", "preflight", *arguments)


def test_the_component_package_starts_with_its_own_requirements(light: Installed) -> None:
    """`pulumi package add` installs components/requirements.txt and starts components/."""
    (text,) = (ROOT / "components" / "requirements.txt").read_text().split()
    code = f"import runpy; print(len(runpy.run_path({str(ROOT / 'components')!r})['COMPONENTS']))"
    with light.with_extras(*Requirement(f"x{text.removeprefix('..')}").extras):
        assert int(light.run("python", "-c", code)) > 25


@pytest.mark.nightly
def test_an_empty_environment_reports_a_finding_within_a_minute(
    wheel: Path, tmp_path: Path
) -> None:
    """The download is measured apart: the installation may use that folder only."""
    folder, place = tmp_path / "wheels", tmp_path / "environment"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    download = [*pip, "download", "--quiet", "--dest", str(folder), str(wheel)]
    done = subprocess.run(download, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no package index: {done.stderr[-200:]}")
    sizes = {file.name: file.stat().st_size for file in folder.iterdir()}
    assert sum(sizes.values()) < MOST_BYTES, sizes
    names = {parse_wheel_filename(name)[0] for name in sizes}
    assert names & {canonicalize_name(name) for name in PULUMI} == set()

    (tmp_path / "pod.yaml").write_text(IDLE)
    begin = time.monotonic()
    venv.create(place, with_pip=True)
    inside = [str(place / "bin" / "pip"), "install", "--quiet", "--no-index"]
    subprocess.run([*inside, "--find-links", str(folder), str(wheel)], check=True)
    audit = [str(place / "bin" / "gpufleet"), "audit", str(tmp_path / "pod.yaml")]
    found = subprocess.run(audit, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - begin
    assert "gpu-idle-command" in found.stdout, found.stderr
    assert seconds < MOST_SECONDS
    print(f"{sum(sizes.values()):,} bytes in {len(sizes)} wheels, {seconds:.1f} s")
