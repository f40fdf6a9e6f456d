"""Driver branches that NVIDIA no longer supports on a given day.

vGPU for Compute and the data-centre driver of one branch have the same support period (NVIDIA AI
Enterprise, lifecycle of infrastructure software); months are catalogue rows (`drivers.jsonl`).
"""

from collections.abc import Iterator, Sequence
from datetime import date

from gpufleet.catalogue import Catalogue
from gpufleet.catalogue.driver_support import DriverBranch
from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Pool
from gpufleet.spec.fleet_spec import FleetSpec

_finding = findings_in(__file__)

_DRIVER = "addons.gpuOperator.driver"


def validate_branches(
    spec: FleetSpec, pools: Sequence[Pool], catalogue: Catalogue, day: date
) -> Iterator[Finding]:
    """Versions in a declaration of vGPU guests whose branch has ended. A branch without a row is
    not known, and gets no finding."""
    if not any(pool.partition.vgpu is not None for pool in pools):
        return
    driver = spec.addons.gpu_operator.driver
    versions = {
        f"{_DRIVER}.version": driver.version,
        f"{_DRIVER}.dataCenter.version": driver.data_center and driver.data_center.version,
        f"{_DRIVER}.hostVersion": driver.host_version,
    }
    supported = sorted(
        (branch for branch, row in catalogue.drivers.branches.items() if not _ended(row, day)),
        key=int,
    )
    for path, version in versions.items():
        row = None if version is None else catalogue.drivers.branches.get(_branch(version))
        if version is None or row is None or not _ended(row, day):
            continue
        yield _finding(
            "driver-branch-ended",
            path,
            branch=_branch(version),
            kind=row.kind,
            limit=row.end_of_life,
            supported=" or ".join(supported),
            value=version,
            source=row.source.key,
        )


def _branch(version: str) -> str:
    return version.partition(".")[0]


def _ended(row: DriverBranch, day: date) -> bool:
    return f"{day:%Y-%m}" > row.end_of_life
