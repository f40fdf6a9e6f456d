"""Branches of drivers whose support has ended. Months: NVIDIA data center drivers, supported
drivers and CUDA toolkit versions, read 2026-11-23."""

from datetime import date
from typing import Any

import pytest

from gpufleet.catalogue import load
from gpufleet.findings import Severity
from gpufleet.platforms.compiled import compile_data

ENDS = {"535": "2026-06", "580": "2028-06", "595": "2027-03", "610": "2026-08", "620": "2029-09"}


def found(day: date | None = None, vgpu: bool = True, **driver: Any) -> list[tuple[str, Any, Any]]:
    guests = {"sharing": {"vgpu": {"profile": "grid_a100d-20c", "licenseSecret": "nls"}}}
    attachment = {"attachment": "vgpu"} if vgpu else {}
    pool = {
        "name": "p",
        "gpu": "A100-80GB",
        "nodes": {"min": 1, "max": 1},
        "vsphere": {"cpus": 16, "memoryGib": 64, "template": "t", **attachment},
        **(guests if vgpu else {}),
    }
    spec = {
        "catalogue": "2026.11",
        "platform": "vsphere",
        "cluster": {"name": "c"},
        "addons": {
            "gpuOperator": {
                "driver": {"repository": "r.example.com/n", **driver},
                "imagePullSecret": "private",
            }
        },
        "pools": [pool],
    }
    result = compile_data(spec, as_of=day)
    assert all(f.severity is Severity.WARNING for f in result.findings if "branch-ended" in f.code)
    return [
        (f.path, f.evidence["value"], f.evidence["limit"])
        for f in result.findings
        if f.code == "driver-branch-ended"
    ]


def test_months_are_those_that_nvidia_publishes() -> None:
    rows = load().drivers.branches
    assert {branch: row.end_of_life for branch, row in rows.items()} == ENDS


@pytest.mark.parametrize(
    ("day", "version", "ended"),
    [
        (date(2026, 6, 30), "535.274.02", False),
        (date(2026, 7, 1), "535.274.02", True),
        (None, "535.274.02", True),  # the day of the edition
        (date(2028, 6, 30), "580.95.05", False),
        (date(2028, 7, 1), "580.95.05", True),
        (None, "580.95.05", False),
        (None, "560.35.03", False),  # in no row: not known
    ],
)
def test_a_branch_ends_with_its_month(day: date | None, version: str, ended: bool) -> None:
    expected = [("addons.gpuOperator.driver.version", version, ENDS[version[:3]])] if ended else []
    assert found(day, version=version) == expected


def test_hosts_and_whole_gpus_have_branches_too() -> None:
    both = {"version": "535.274.02", "hostVersion": "535.274.03"}
    paths = [path for path, _, _ in found(**both)]
    assert paths == ["addons.gpuOperator.driver.version", "addons.gpuOperator.driver.hostVersion"]
    own = {"version": "580.95.05", "dataCenter": {"version": "610.43.02"}}
    assert [path for path, _, _ in found(**own)] == ["addons.gpuOperator.driver.dataCenter.version"]
    assert found(vgpu=False, version="535.274.02") == []
