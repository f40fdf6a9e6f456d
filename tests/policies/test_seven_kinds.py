"""Seven inputs with wrong results, and five more of each kind (seven_kinds.yaml)."""

import json
from pathlib import Path
from typing import Any

import pytest

from gpufleet.findings import Severity
from gpufleet.platforms.compiled import compile_data
from gpufleet_policies.configurations.kinds import validate_text
from gpufleet_policies.fronts.audit.inputs import find_inputs
from gpufleet_policies.fronts.audit.run import audit
from gpufleet_policies.rules.settings import read_settings
from tests.policies.objects import TODAY
from tests.reading import read_yaml

KINDS: list[dict[str, Any]] = read_yaml(Path(__file__).with_name("seven_kinds.yaml"))
INPUTS = [one for kind in KINDS for one in kind["inputs"]]


def test_each_of_the_seven_kinds_has_its_input_and_five_more():
    assert len(KINDS) == 7
    assert [len(kind["inputs"]) for kind in KINDS] == [6] * 7


@pytest.mark.parametrize("one", INPUTS, ids=lambda one: one["name"])
def test_it_is_judged_as_its_vendor_does(one: dict[str, Any], tmp_path: Path):
    found = codes(one, tmp_path)
    assert one["code"] in found if "code" in one else not found, found


def codes(one: dict[str, Any], folder: Path) -> set[str]:
    """Findings of an input, without advice."""
    if "compile" in one:
        fleet = compile_data({**one["compile"], "pools": [desks(one["gpu"], one["type"])]})
        return {found.code for found in fleet.findings if found.severity is Severity.ERROR}
    if "context" in one:
        text = one["files"]["input.yaml"]
        return {f.code for f in validate_text("dra-config", text, context=one["context"]).findings}
    for name, text in files(one).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    findings = audit(find_inputs([str(folder)]), read_settings({}), TODAY).findings
    return {found.code for found in findings}


def desks(gpu: str, profile: str) -> dict[str, Any]:
    return {
        "name": "desks",
        "gpu": gpu,
        "gpusPerNode": 1,
        "nodes": {"min": 0, "max": 2},
        "sharing": {"vgpu": {"profile": profile, "licenseSecret": "lic"}},
        "vsphere": {"attachment": "vgpu", "cpus": 8, "memoryGib": 64, "template": "ubuntu-24.04"},
    }


def files(one: dict[str, Any]) -> dict[str, str]:
    if "claim" in one:
        return {"claim.yaml": json.dumps(claim(**one["claim"]))}
    if "operator" in one:
        chart = {
            "chart": "gpu-operator",
            "version": one["operator"],
            "sourceRef": {"kind": "HelmRepository", "name": "nvidia"},
        }
        spec = {"interval": "1h", "chart": {"spec": chart}, "values": one["values"]}
        release = {
            "apiVersion": "helm.toolkit.fluxcd.io/v2",
            "kind": "HelmRelease",
            "metadata": {"name": "gpu-operator", "namespace": "gpu-operator"},
            "spec": spec,
        }
        return {"release.yaml": json.dumps(release)}
    return one["files"]


def claim(
    requests: int = 1, alternatives: int = 0, selectors: int = 0, constraints: int = 0
) -> dict[str, Any]:
    """A claim with this number of each."""
    exactly: dict[str, Any] = {"deviceClassName": "gpu.nvidia.com"}
    if selectors:
        each = {"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}
        exactly["selectors"] = [each] * selectors
    asked: list[dict[str, Any]] = [{"name": f"r{n}", "exactly": exactly} for n in range(requests)]
    if alternatives:
        first = [
            {"name": f"a{n}", "deviceClassName": "gpu.nvidia.com"} for n in range(alternatives)
        ]
        asked = [{"name": "r0", "firstAvailable": first}]
    devices: dict[str, Any] = {"requests": asked}
    if constraints:
        same = {"requests": ["r0"], "matchAttribute": "gpu.nvidia.com/productName"}
        devices["constraints"] = [same] * constraints
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "many", "namespace": "ml"},
        "spec": {"devices": devices},
    }
