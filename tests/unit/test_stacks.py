"""Every stack file of the repository: its settings are read, its fleet compiles and is
validated."""

import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pulumi
import pytest

from gpufleet.platforms.compiled import compile_data
from tests.reading import yaml_data

ROOT = Path(__file__).parents[2]
STACKS = ROOT / "stacks"
FILES = sorted(STACKS.glob("Pulumi.*.yaml"))
stack_files = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem.split(".")[1])


def config(file: Path) -> dict[str, Any]:
    return yaml_data(file.read_text())["config"]


@pytest.fixture
def settings() -> dict[str, Any]:
    return runpy.run_path(str(STACKS / "settings.py"))


@pytest.fixture
def as_program() -> Iterator[None]:
    """The folder is the program's: its modules import each other by name."""
    sys.path.insert(0, str(STACKS))
    yield
    sys.path.remove(str(STACKS))
    for name in ("settings", "eks", "gke", "vsphere", "openshift", "openshiftAws", "openshiftGcp"):
        sys.modules.pop(name, None)


def test_every_platform_has_a_stack() -> None:
    platforms = {config(file)["gpufleet:fleet"]["platform"] for file in FILES}
    assert platforms == {"eks", "gke", "vsphere", "openshift", "sandbox"}


@stack_files
def test_its_fleet_compiles(file: Path) -> None:
    compiled = compile_data(config(file)["gpufleet:fleet"])
    assert compiled.deployable, [str(finding) for finding in compiled.findings]


@pytest.mark.parametrize("name", ["openshift-lab", "vsphere-lab"])
def test_fleets_on_premises_compile_without_a_warning(name: str) -> None:
    compiled = compile_data(config(STACKS / f"Pulumi.{name}.yaml")["gpufleet:fleet"])
    worse = [str(f) for f in compiled.findings if f.severity.value != "info"]
    assert worse == [], worse


@stack_files
def test_its_name_says_platform_and_environment(file: Path) -> None:
    fleet = config(file)["gpufleet:fleet"]
    assert file.stem.split(".")[1] == f"{fleet['platform']}-{fleet['environment']}"


@stack_files
def test_its_settings_are_known(file: Path, settings: dict[str, Any]) -> None:
    given = config(file)
    settings["Settings"].model_validate(
        {
            "fleet": given["gpufleet:fleet"],
            **(
                {"connection": given["gpufleet:connection"]}
                if "gpufleet:connection" in given
                else {}
            ),
        }
    )


@pytest.mark.parametrize(
    ("platform", "given", "missing"),
    [
        ("openshift", {}, "gpufleet:connection.openshift is missing"),
        (
            "openshift",
            {"openshift": {"server": "v", "datacenter": "d", "network": "n"}},
            "infrastructureName is missing",
        ),
        ("openshiftAws", {}, "gpufleet:connection.openshiftAws is missing"),
        ("openshiftGcp", {}, "gpufleet:connection.openshiftGcp is missing"),
        ("vsphere", {}, "gpufleet:connection.vsphere is missing"),
    ],
)
@pytest.mark.usefixtures("as_program")
def test_what_is_missing_is_named(
    platform: str, given: dict[str, Any], missing: str, settings: dict[str, Any]
) -> None:
    module = runpy.run_path(str(STACKS / f"{platform}.py"))
    fleet = {"platform": platform}
    stack = settings["Settings"].model_validate({"fleet": fleet, "connection": given})
    with pytest.raises(pulumi.RunError, match=missing):
        module["connection"](stack)


@pytest.mark.usefixtures("as_program")
def test_the_place_of_a_cluster_is_handed_on(settings: dict[str, Any]) -> None:
    given = config(STACKS / "Pulumi.openshift-lab.yaml")
    stack = settings["Settings"].model_validate(
        {"fleet": given["gpufleet:fleet"], "connection": given["gpufleet:connection"]}
    )
    module = runpy.run_path(str(STACKS / "openshift.py"))
    place = module["connection"](stack)["openshift"]
    assert place["infrastructure_name"] == "lab-x7k2p"
    assert place["resource_pool"] == "/DC1/host/gpu/Resources"
    assert module["providers"](stack) == {}
