"""Allowed capacity types of a pool: by platform, by machine, and in combination."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from gpufleet.catalogue import InstanceType, PriceStatus
from gpufleet.contract.platform import PlatformValue
from gpufleet.contract.platform_facts import PlatformFacts
from gpufleet.findings import Finding, error, findings_in, rules_in
from gpufleet.fleet.model import Machine, Pool
from gpufleet.fleet.platform_rules import platform_rules
from gpufleet.spec.base import Ownership
from gpufleet.spec.capacity import Capacity
from gpufleet.spec.pool import GpuPool, Provisioner

_finding, _rules = findings_in(__file__), rules_in(__file__)

_ALONE = {
    "capacityBlock": "a block is one reservation in one zone, and its node group has nothing else",
    "queued": "queued provisioning creates all nodes of a request at once, and its node pool "
    "cannot also be spot, reserved or on demand",
}


def default(facts: PlatformFacts) -> tuple[Capacity, ...]:
    """Capacity of a pool that declares none: the platform's first capacity type."""
    return (Capacity.model_validate({facts.capacity[0]: {}}),)


def validate_windows(pools: Sequence[Pool], at: datetime | None) -> Iterable[Finding]:
    """Windows of capacity that have ended or not begun; without a time, a window with a start time
    counts as not begun."""
    yield from (one for pool in pools for one in _not_begun(pool, at))
    if at is not None:
        yield from (f for pool in pools for f in _rules("windows", pool.path, pool=pool, at=at))


def _not_begun(pool: Pool, at: datetime | None) -> Iterable[Finding]:
    """Blocks and reservations that cannot provide the minimum size yet. Google's own module refuses
    them (GoogleCloudPlatform/cluster-toolkit 1047080 `modules/compute/gke-node-pool/main.tf`,
    precondition on `is_reservation_active`). Nodes beyond a full resource group of EC2 are on
    demand, and Karpenter waits for pods."""
    bought = [(entry.capacity_block or entry.reserved, entry.mode) for entry in pool.capacity]
    later = [
        (one.starts, mode)
        for one, mode in bought
        if one is not None and not one.id.startswith("arn:")
        if (one.starts is not None or mode == "capacityBlock")
        and (at is None or (one.starts is not None and at < one.starts))
    ]
    groups = pool.provisioner in {Provisioner.MANAGED, Provisioner.CLUSTER_AUTOSCALER}
    made = groups and pool.ownership is not Ownership.EXISTING
    simulated = pool.platform.facts.simulated
    if pool.nodes.minimum == 0 or not made or simulated or not later:
        return
    if len(later) < len(pool.capacity):
        return  # the other capacity types start them
    starts = min((one for one, _ in later if one is not None), default=None)
    begins = "" if starts is None else f" at {starts.isoformat()}"
    place, least = f"{pool.path}.nodes.min", pool.nodes.minimum
    if later[0][1] == "capacityBlock":
        yield _finding("capacity-block-min-nodes", place, begins=begins, found=least)
    else:
        yield _finding("reservation-min-nodes", place, begins=begins, found=least)


def validate(
    pool: GpuPool,
    path: str,
    platform: PlatformValue,
    provisioner: Provisioner,
    machines: Sequence[Machine],
) -> list[Finding]:
    """Errors in the pool's capacity list."""
    facts = platform.facts
    modes = [entry.mode for entry in pool.capacity]
    findings: list[Finding] = []
    alone = () if provisioner.by_node_pool else _ALONE
    several = {"reserved", *({"capacityBlock"} if provisioner.by_node_pool else ())}
    for index, mode in enumerate(modes):
        place = f"{path}.capacity[{index}].{mode}"
        if mode not in facts.capacity:
            findings.append(
                _finding(
                    "capacity-not-on-platform",
                    place,
                    platform=platform.name,
                    found=mode,
                    allowed=facts.capacity,
                    capacity=facts.capacity[0],
                )
            )
        elif mode in modes[:index] and mode not in several:
            findings.append(_finding("capacity-twice", place, mode=mode))
        elif mode in alone and set(modes) != {mode}:
            others = ", ".join(other for other in modes if other != mode)
            findings.append(
                _finding(
                    "capacity-not-combinable",
                    place,
                    mode=mode,
                    others=others,
                    alone=_ALONE[mode],
                    found=modes,
                )
            )
        else:
            findings += _not_sold(mode, place, machines, facts)
    if not findings:
        findings += platform_rules(platform).validate_capacity(pool, path, provisioner)
    subjects = {"pool": pool, "platform": platform, "facts": facts, "machines": machines}
    return [*findings, *_rules("capacity", path, provisioner=provisioner, **subjects)]


def _refused(mode: str, row: InstanceType) -> bool:
    """Whether the machine type is known not to be sold as this capacity type."""
    if mode == "onDemand" and not row.purchase_options:
        return row.on_demand.offer is PriceStatus.NOT_SOLD
    return mode not in row.purchase_options


def _not_sold(
    mode: str, place: str, machines: Sequence[Machine], facts: PlatformFacts
) -> Iterator[Finding]:
    refused = [
        machine.instance
        for machine in machines
        if machine.instance is not None
        and facts.sells_as_listed
        and _refused(mode, machine.instance)
    ]
    if not refused:
        return
    names = [row.name for row in refused]
    options = [
        option
        for option in facts.capacity
        if option != mode and all(option in row.purchase_options for row in refused)
    ]
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    yield error(
        "capacity-not-sold",
        place,
        f"{shown} {'is' if len(names) == 1 else 'are'} not sold as {mode}",
        f"write one of these under `capacity`: {', '.join(options)}"
        if options
        else "choose another machine",
        found=mode,
        instances=names,
        sold=options,
    )
