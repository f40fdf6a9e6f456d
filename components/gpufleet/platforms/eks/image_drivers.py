"""The driver branch of an image's release, for GPUs that get another branch than the rest."""

from collections.abc import Iterable

from gpufleet.contract.driver_ranges import is_older
from gpufleet.findings import Finding, error
from gpufleet.fleet.model import Pool


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
    yield error(
        "driver-not-for-gpu",
        f"{pool.path}.eks.releaseVersion",
        f"release {release} of {image.key} has driver {before} only, and {pool.gpu.key} needs "
        f"{needed} or later: nodes of {pool.name} would advertise no GPU",
        f"choose a release from {first} on: it brings branch {branch} for this GPU",
        found=release,
        limit=first,
        pool=pool.name,
    )
