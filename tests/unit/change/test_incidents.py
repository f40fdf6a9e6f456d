"""The plan warns of public upgrade incidents, with the reason that the threads found."""

from typing import Any

import pytest

from gpufleet.change.fleet_change import change_plan
from gpufleet.fleet import Fleet
from gpufleet.platforms.compiled import compile_data
from tests.unit.change.fleets import compiled
from tests.unit.change.incidents import SEEN, UNSEEN, Incident


@pytest.mark.parametrize("incident", [*SEEN, *UNSEEN], ids=lambda one: one.thread)
def test_it_is_warned_of(incident: Incident) -> None:
    plan = change_plan(compiled(incident.old), compiled(incident.new))
    assert incident.codes & {finding.code for finding in plan.findings}
    text = " ".join(f"{finding.message} {finding.fix}" for finding in plan.findings)
    for words in incident.words:
        assert words in text


VGPU = {
    "name": "notebooks",
    "gpu": "A100-80GB",
    "nodes": {"min": 2, "max": 2},
    "sharing": {"vgpu": {"profile": "grid_a100d-20c", "licenseSecret": "lic"}},
    "vsphere": {"attachment": "vgpu", "cpus": 16, "memoryGib": 64, "template": "u24"},
}
WHOLE = {
    "name": "serving",
    "gpu": "L40S",
    "nodes": {"min": 1, "max": 1},
    "vsphere": {"cpus": 16, "memoryGib": 64, "template": "u24"},
}
GUEST = {
    "repository": "registry.example.com/nvidia",
    "image": "vgpu-guest-driver",
    "version": "580.95.05",
}


def vgpu_fleet(release: str, *pools: dict[str, Any], **driver: Any) -> Fleet:
    operator = {
        "version": release,
        "driver": {**GUEST, **driver},
        "imagePullSecret": "private",
    }
    document = {
        "catalogue": "2026.11",
        "platform": "vsphere",
        "cluster": {"name": "lab"},
        "addons": {"gpuOperator": operator},
        "pools": list(pools),
    }
    fleet = compile_data(document).fleet
    assert fleet is not None
    return fleet


def test_an_upgrade_and_driver_objects_are_two_steps() -> None:
    """NVIDIA/cloud-native-docs#459: first the release, then the objects."""
    both = {"dataCenter": {"version": "595.91.07"}}
    start = vgpu_fleet("v26.3.3", VGPU)
    between = vgpu_fleet("v26.7.0", VGPU)
    end = vgpu_fleet("v26.7.0", VGPU, WHOLE, **both)

    def codes(old: Fleet, new: Fleet) -> set[str]:
        return {one.code for one in change_plan(old, new).findings}

    assert "operator-upgrade-in-one-step" in codes(start, end)
    assert "operator-upgrade-in-one-step" not in codes(start, between)
    assert "operator-upgrade-in-one-step" not in codes(between, end)
