"""Findings about a GKE pool's capacity types, and their effects on repair, upgrades and limits;
those that fields alone show are rows of `findings.jsonl`.

Sources: preconditions of Google's own module (GoogleCloudPlatform/cluster-toolkit 1047080
`modules/compute/gke-node-pool/main.tf`), the discovery document container.v1 of 2026-10-27, and the
pages of Google Kubernetes Engine read 2026-11-21.
"""

import re
from collections.abc import Iterable

from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Pool
from gpufleet.platforms.gke.compute_class import auto_created
from gpufleet.platforms.gke.names import imported_place
from gpufleet.platforms.gke.shape import GkeShape, upgrade_strategy, wanted_repair
from gpufleet.spec.platforms.gke import UpgradeStrategy

_finding = findings_in(__file__)

_TOOLKIT = "GoogleCloudPlatform/cluster-toolkit 01a7a3e modules/compute/gke-node-pool/main.tf"
_BLOCK = re.compile(
    r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?(/reservationSubBlocks/[a-z]([-a-z0-9]{0,61}[a-z0-9])?)?$"
)


def validate_purchase(pool: Pool, shape: GkeShape, project: str | None) -> Iterable[Finding]:
    """Reservations, repair and upgrades of the capacity types, several capacity types, imports.
    `project` is the cluster's."""
    identifier = pool.spec.import_id
    if identifier is not None and imported_place(identifier) is None:
        yield _finding("gke-import-id", pool.path, found=identifier)
    yield from _reservations(pool, project)
    if not auto_created(pool):
        yield from _operations(pool, shape)
        yield from _fallback_order(pool, shape)


def _reservations(pool: Pool, project: str | None) -> Iterable[Finding]:
    seen: set[tuple[str, str | None, tuple[str, ...]]] = set()
    for index, entry in enumerate(pool.capacity):
        reserved = entry.reserved
        if reserved is None:
            continue
        place = f"{pool.path}.capacity[{index}].reserved"
        for block in reserved.blocks:
            if not _BLOCK.match(block):
                yield _finding("gke-reservation-block-name", place, found=block)
        owner = reserved.id.split("/")[1:2]
        if reserved.blocks and project is not None and owner not in ([], [project]):
            yield _finding(
                "gke-block-of-shared-reservation",
                place,
                owner=owner[0],
                found=reserved.id,
                source=f"{_TOOLKIT}: shared extended reservations",
            )
        if (reserved.id, reserved.zone, reserved.blocks) in seen:
            yield _finding("gke-reservation-twice", place, found=reserved.id)
        seen.add((reserved.id, reserved.zone, reserved.blocks))


def _operations(pool: Pool, shape: GkeShape) -> Iterable[Finding]:
    options = shape.options
    for step in shape.steps:
        dynamic = step.flex_start or step.queued
        what = "queued capacity" if step.queued else "flex start"
        if dynamic and wanted_repair(pool, options):
            by_health = pool.health is not None
            yield _finding(
                "gke-auto-repair-with-flex-start",
                f"{pool.path}.{('health' if by_health else 'gke.autoRepair')}",
                fix=(
                    "write `mode: observe`, or `by: nvsentinel`"
                    if by_health
                    else "write `autoRepair: false`, or remove it"
                ),
                what=what,
            )
        if dynamic and pool.nodes.minimum > 0:
            yield _finding(
                "gke-minimum-with-flex-start",
                pool.path,
                what=what,
                found=pool.nodes.minimum,
                limit=0,
            )
        strategy = upgrade_strategy(options, step)
        if strategy is UpgradeStrategy.SHORT_LIVED and not dynamic:
            yield _finding("gke-short-lived-upgrade", pool.path, mode=step.capacity.mode)
        if strategy is UpgradeStrategy.BLUE_GREEN and (
            dynamic or step.reservation_type == "SPECIFIC_RESERVATION"
        ):
            yield _finding("gke-blue-green-without-spare", pool.path, mode=step.capacity.mode)


def _fallback_order(pool: Pool, shape: GkeShape) -> Iterable[Finding]:
    if not shape.fallback_order:
        return
    yield _finding(
        "gke-ladder-limits",
        pool.path,
        count=len(shape.steps),
        found=pool.nodes.maximum,
        together=len(shape.steps) * pool.nodes.maximum,
    )
    modes = [step.capacity.mode for step in shape.steps]
    if "spot" in modes and modes.index("spot") < len(modes) - 1 and pool.intent.value == "training":
        yield _finding("gke-ladder-spot-first", pool.path, found=modes)
