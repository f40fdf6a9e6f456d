"""Findings about how a GKE pool is bought, and what that means for repair, upgrades and limits.

Sources: preconditions of Google's own module (GoogleCloudPlatform/cluster-toolkit 1047080
`modules/compute/gke-node-pool/main.tf`), the discovery document container.v1 of 2026-10-27, and the
pages of Google Kubernetes Engine read 2026-11-21.
"""

import re
from collections.abc import Iterable

from gpufleet.findings import Finding, error, info, warning
from gpufleet.fleet.model import Pool
from gpufleet.platforms.gke.auto_class import auto_created
from gpufleet.platforms.gke.names import imported_place
from gpufleet.platforms.gke.shape import COMPUTE_CLASS, GkeShape, upgrade_strategy, wanted_repair
from gpufleet.spec.platforms.gke import UpgradeStrategy

_RESERVATION = re.compile(
    r"^(projects/[a-z][-a-z0-9:.]*[a-z0-9]/reservations/)?[a-z]([-a-z0-9]{0,61}[a-z0-9])?$"
)
_TOOLKIT = "GoogleCloudPlatform/cluster-toolkit 01a7a3e modules/compute/gke-node-pool/main.tf"
_BLOCK = re.compile(
    r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?(/reservationSubBlocks/[a-z]([-a-z0-9]{0,61}[a-z0-9])?)?$"
)


def validate_purchase(pool: Pool, shape: GkeShape, project: str | None) -> Iterable[Finding]:
    """Reservations, repair and upgrades of what is bought, several ways of buying, imports.
    `project` is the cluster's."""
    yield from _import(pool, shape)
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
        if not _RESERVATION.match(reserved.id):
            yield error(
                "gke-reservation-name",
                f"{place}.id",
                f"{reserved.id!r} is not a reservation of Google",
                "write its name, or projects/P/reservations/R for a shared one",
                found=reserved.id,
            )
        for block in reserved.blocks:
            if not _BLOCK.match(block):
                yield error(
                    "gke-reservation-block-name",
                    f"{place}.blocks",
                    f"{block!r} is not a block of a reservation",
                    "write its name, or B/reservationSubBlocks/S for a sub-block",
                    found=block,
                )
        owner = reserved.id.split("/")[1:2]
        if reserved.blocks and project is not None and owner not in ([], [project]):
            yield warning(
                "gke-block-of-shared-reservation",
                f"{place}.blocks",
                f"the reservation is shared by {owner[0]}, and Google's own module makes no node "
                "pool on a block of a shared one",
                "leave `blocks` out, or use a reservation of the cluster's project",
                found=reserved.id,
                source=f"{_TOOLKIT}: shared extended reservations",
            )
        if (reserved.id, reserved.zone, reserved.blocks) in seen:
            yield error(
                "gke-reservation-twice",
                place,
                f"{reserved.id} is listed twice, and would be two node pools of one reservation",
                "remove one",
                found=reserved.id,
            )
        seen.add((reserved.id, reserved.zone, reserved.blocks))
        if len(reserved.blocks) > 1:
            yield error(
                "gke-one-reservation-block",
                f"{place}.blocks",
                f"a node pool takes one block of a reservation, and {len(reserved.blocks)} are "
                "listed",
                "write one block, and a pool for each other",
                found=list(reserved.blocks),
            )
    options = pool.spec.gke
    if options is not None and options.open_reservations:
        modes = [entry.mode for entry in pool.capacity]
        if "onDemand" not in modes:
            yield error(
                "gke-open-reservations-not-on-demand",
                f"{pool.path}.gke.openReservations",
                "only on-demand nodes use open reservations, and the pool buys "
                f"{', '.join(modes)}: GKE takes NO_RESERVATION alone there",
                "remove it, or name the reservation under `reserved`",
                found=modes,
            )


def _import(pool: Pool, shape: GkeShape) -> Iterable[Finding]:
    identifier = pool.spec.import_id
    if identifier is not None and imported_place(identifier) is None:
        yield error(
            "gke-import-id",
            f"{pool.path}.importId",
            f"{identifier!r} is not an id of a node pool",
            "write project/location/cluster/node-pool",
            found=identifier,
        )
    if identifier is None and shape.options.imported == "manage":
        yield error(
            "gke-managed-without-import",
            f"{pool.path}.gke.imported",
            "`manage` is about a node pool that is taken over, and no `importId` names one",
            "remove it, or write importId: project/location/cluster/node-pool",
        )


def _operations(pool: Pool, shape: GkeShape) -> Iterable[Finding]:
    options = shape.options
    for step in shape.steps:
        dynamic = step.flex_start or step.queued
        what = "queued capacity" if step.queued else "flex start"
        if dynamic and wanted_repair(pool, options):
            by_health = pool.health is not None
            yield error(
                "gke-auto-repair-with-flex-start",
                f"{pool.path}.{'health' if by_health else 'gke.autoRepair'}",
                f"GKE refuses automatic repair with {what}",
                "write `mode: observe`, or `by: nvsentinel`"
                if by_health
                else "write `autoRepair: false`, or leave it out",
            )
        if dynamic and pool.nodes.minimum > 0:
            yield error(
                "gke-minimum-with-flex-start",
                f"{pool.path}.nodes.min",
                f"with {what} nodes come when there is capacity: GKE takes a minimum of 0 alone, "
                f"and {pool.nodes.minimum} is declared",
                "write `min: 0`",
                found=pool.nodes.minimum,
                limit=0,
            )
        strategy = upgrade_strategy(options, step)
        if strategy is UpgradeStrategy.SHORT_LIVED and not dynamic:
            yield error(
                "gke-short-lived-upgrade",
                f"{pool.path}.gke.upgrade.strategy",
                f"shortLived upgrades are for nodes that end by themselves, and the pool buys "
                f"{step.capacity.mode}",
                "write `strategy: surge`",
            )
        if strategy is UpgradeStrategy.BLUE_GREEN and (
            dynamic or step.reservation_type == "SPECIFIC_RESERVATION"
        ):
            yield error(
                "gke-blue-green-without-spare",
                f"{pool.path}.gke.upgrade.strategy",
                f"a blue-green upgrade needs every node twice, which {step.capacity.mode} capacity "
                "does not hold",
                "write `strategy: surge`",
            )
    if options.auto_upgrade is False:
        yield info(
            "gke-auto-upgrade-off",
            f"{pool.path}.gke.autoUpgrade",
            "a cluster in a release channel refuses node pools without automatic upgrades, and new "
            "clusters are in one",
            "remove it, or keep the cluster out of channels; `gpufleet preflight` asks",
            source="terraform-google-modules/terraform-google-kubernetes-engine PR 682",
        )
    if options.upgrade.max_surge > 0 and options.upgrade.strategy in (None, UpgradeStrategy.SURGE):
        yield warning(
            "gke-surge-needs-spare-gpus",
            f"{pool.path}.gke.upgrade.maxSurge",
            f"each upgrade asks for {options.upgrade.max_surge} more nodes with GPUs first, and "
            "waits where there are none",
            "write `maxSurge: 0, maxUnavailable: 1`",
            found=options.upgrade.max_surge,
        )


def _fallback_order(pool: Pool, shape: GkeShape) -> Iterable[Finding]:
    if not shape.fallback_order:
        return
    for index, taint in enumerate(pool.spec.taints):
        if taint.key == COMPUTE_CLASS:
            yield error(
                "taint-twice",
                f"{pool.path}.taints[{index}]",
                f"{taint.key} is already there: it keeps the pool's ComputeClass together",
                "remove it",
                found=taint.key,
            )
    if pool.nodes.minimum > 0:
        yield error(
            "gke-ladder-minimum",
            f"{pool.path}.nodes.min",
            f"the pool is bought in {len(shape.steps)} ways, each with its own node pool, and a "
            f"minimum of {pool.nodes.minimum} would apply to each",
            "write `min: 0`, and declare another pool for nodes that always run",
            found=pool.nodes.minimum,
            limit=0,
        )
    if pool.spec.import_id is not None:
        yield error(
            "gke-ladder-import",
            f"{pool.path}.importId",
            "one node pool is imported, and the pool is bought in several ways, each a node pool",
            "keep one entry under capacity",
        )
    yield warning(
        "gke-ladder-limits",
        f"{pool.path}.nodes.max",
        f"each of the {len(shape.steps)} node pools may reach {pool.nodes.maximum} nodes, all "
        f"together {len(shape.steps) * pool.nodes.maximum}: a ComputeClass has no limit of its own",
        "spend is counted so; lower `max` where that is too much",
        found=pool.nodes.maximum,
        together=len(shape.steps) * pool.nodes.maximum,
    )
    modes = [step.capacity.mode for step in shape.steps]
    if "spot" in modes and modes.index("spot") < len(modes) - 1 and pool.intent.value == "training":
        yield warning(
            "gke-ladder-spot-first",
            f"{pool.path}.capacity",
            "spot capacity is tried before capacity that stays, for jobs that a loss ends",
            "put spot last",
            found=modes,
        )
