"""The driver branch of an image's release, for GPUs that get another branch than the rest."""

from collections.abc import Iterable

from gpufleet.contract.driver_ranges import is_older
from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Pool

_finding = findings_in(__file__)


def validate_release_driver(pool: Pool, release: str) -> Iterable[Finding]:
    """A release, `v20260801`, from before the image had the branch that the pool's GPU needs."""
    image, support = pool.image, pool.gpu.support
    if image is None or support is None or pool.gpu.key not in image.branches:
        return
    branch, first = image.branches[pool.gpu.key]
    before = image.driver_branch
    needed = support.first_driver
    if before is None or needed is None or not is_older(before, needed):
        return
    if release.removeprefix("v") >= first:
        return
    yield _finding(
        "driver-not-for-gpu",
        pool.path,
        found=release,
        image=image.key,
        before=before,
        gpu=pool.gpu.key,
        needed=needed,
        pool=pool.name,
        limit=first,
        branch=branch,
    )
