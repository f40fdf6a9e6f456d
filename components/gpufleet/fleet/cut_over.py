"""Cut-over of a pool to another advertiser: from the device plugin to the DRA driver, or back.

Each node passes the same steps, and the old advertiser stops before the new one starts: both at
once offer every GPU twice (NVIDIA/aicr#1327). Both are selected by labels of the node: the
GPU Operator's device plugin by `nvidia.com/gpu.deploy.device-plugin` (NVIDIA/gpu-operator 04751ec
`controllers/state_manager.go`), the DRA driver by `gpufleet.dev/dra` (its chart's nodeSelector).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpufleet.catalogue.gpu import Gpu
from gpufleet.findings import Finding, findings_in, has_errors, rules_in
from gpufleet.fleet.config_names import (
    ALL_DISABLED,
    DEPLOY_DEVICE_PLUGIN_LABEL,
    DEPLOY_MIG_MANAGER_LABEL,
    DRA_LABEL,
    MIG_CONFIG_LABEL,
)
from gpufleet.fleet.model import Fleet, Machine, Pool
from gpufleet.partition.dra import DraCut
from gpufleet.partition.dra_needs import FindGpu
from gpufleet.partition.partition import Partition, cut
from gpufleet.spec.pool import GpuPool, Provisioner

_finding, _rules = findings_in(__file__), rules_in(__file__)

Labels = Mapping[str, str | None]
"""Label -> its value; None: it is removed."""


@dataclass(frozen=True, slots=True)
class CutOver:
    """The labels of one pool's cut-over, in the order in which each node gets them."""

    to_dra: bool
    stop: Labels
    """Stops the old advertiser."""
    partition: Labels
    """MIG manager partitions the GPUs while they are not advertised; empty: no change."""
    start: Labels
    """Starts the new advertiser."""
    old: Mapping[str, int]
    """Resources of a node from the device plugin before; empty if the DRA driver served it."""
    new: Mapping[str, int]
    """Resources of a node from the device plugin after."""
    devices: int
    """Minimum number of devices of a node that the DRA driver publishes."""
    physical: int
    """GPUs of a node."""


def is_cut_over(pool: Pool) -> bool:
    """Whether a change between device plugin and DRA driver is declared and in progress."""
    previous = pool.previous
    return previous is not None and (pool.partition.dra is None) != (previous.partition.dra is None)


def claim_cuts(fleet: Fleet) -> Iterator[tuple[Pool, DraCut]]:
    """Devices that pools offer as claims; in a cut-over back, those that nodes still offer."""
    for pool in fleet.pools:
        cut = pool_claims(pool)
        if cut is not None:
            yield pool, cut


def claim_gates(fleet: Fleet) -> tuple[str, ...]:
    """Feature gates of the DRA driver that pools need, by name."""
    return tuple(sorted({gate for _, cut in claim_cuts(fleet) for gate in cut.gates}))


def pool_claims(pool: Pool) -> DraCut | None:
    """Devices that one pool offers as claims, as in `claim_cuts`."""
    previous = None if pool.previous is None else pool.previous.partition.dra
    return pool.partition.dra or previous


def cut_over(pool: Pool) -> CutOver:
    """The order of labels of a pool for which `is_cut_over` holds."""
    assert pool.previous is not None
    old, new = pool.previous, pool.labels
    to_dra = pool.partition.dra is not None
    differs = {
        key: new.get(key)
        for key in sorted({*old.labels, *new})
        if old.labels.get(key) != new.get(key)
    }
    stop: dict[str, str | None] = (
        {DEPLOY_DEVICE_PLUGIN_LABEL: "false"} if to_dra else {DRA_LABEL: None}
    )
    partition = _partition(old.partition, pool.partition, differs)
    # A label that MIG manager still needs is removed last.
    start = {key: value for key, value in differs.items() if key not in {*stop, *partition}}
    if not to_dra:
        start[DEPLOY_DEVICE_PLUGIN_LABEL] = "true"
    elif partition.get(MIG_CONFIG_LABEL) == ALL_DISABLED and MIG_CONFIG_LABEL not in new:
        start[MIG_CONFIG_LABEL] = None
    return CutOver(
        to_dra=to_dra,
        stop=stop,
        partition=partition,
        start=start,
        old=dict(old.partition.advertised),
        new=dict(pool.advertised),
        devices=_published(pool),
        physical=pool.gpus_per_node,
    )


def validate_cut_overs(pools: Sequence[Pool]) -> Iterable[Finding]:
    """Cut-overs whose two advertisers cannot be selected node by node."""
    for pool in pools:
        if is_cut_over(pool):
            yield from _rules("cut-over", pool.path, pool=pool)


def _published(pool: Pool) -> int:
    """Devices of a node: its partitions, or its GPUs if parts are created on demand."""
    claims = pool_claims(pool)
    assert claims is not None
    if claims.on_demand:
        return pool.gpus_per_node
    return sum(offer.per_node for offer in claims.offers)


def _partition(old: Partition, new: Partition, differs: Labels) -> dict[str, str | None]:
    """Labels for MIG manager between the two advertisers."""
    layouts = [[dict(gpu.devices) for gpu in one.gpus] for one in (old, new)]
    on_demand = new.dra is not None and new.dra.on_demand
    if on_demand and old.mig_enabled:
        return {MIG_CONFIG_LABEL: ALL_DISABLED}
    wanted = differs.get(MIG_CONFIG_LABEL)
    if on_demand or wanted is None or (layouts[0] == layouts[1] and not old.mig_enabled):
        return {}
    return {MIG_CONFIG_LABEL: wanted, DEPLOY_MIG_MANAGER_LABEL: "true"}


# The previous sharing of a pool's nodes, which must stay valid during the waves of a change.

IN_PLACE = frozenset({"exclusive", "timeSlicing", "mps", "mig"})
"""Ways of sharing between which a node changes by its labels. Claims (`dra`) change the advertiser
of the node (`fleet/cut_over.py`), vGPU changes the machine."""


def cut_previous(
    pool: GpuPool,
    path: str,
    gpu: Gpu,
    machine: Machine,
    memory: int | None,
    provisioner: Provisioner,
    *,
    plugin_owner: str | None,
    partition: Partition,
    find_gpu: FindGpu,
) -> tuple[Partition | None, list[Finding]]:
    """The partition of nodes until their wave comes; None without a change in progress.

    `memory` is that of one device, as for the new partition. `plugin_owner` runs the plugin that
    serves the pool, if it is the platform's own.
    """
    if pool.change is None:
        return None, []
    place = f"{path}.change"
    findings = list(_not_in_place(pool, place, provisioner, plugin_owner))
    if has_errors(findings):
        return None, findings
    previous, found = cut(
        gpu,
        machine.gpus,
        pool.change.previous,
        f"{place}.previous",
        fraction=machine.fraction,
        device_memory_bytes=memory,
        find_gpu=find_gpu,
    )
    findings += found
    if previous is not None:
        findings += _nothing_to_see(pool, place, previous, partition)
    return previous, findings


def _not_in_place(
    pool: GpuPool, place: str, provisioner: Provisioner, plugin_owner: str | None
) -> Iterable[Finding]:
    assert pool.change is not None
    modes = (pool.change.previous.mode, pool.sharing.mode)
    other = next((mode for mode in modes if mode not in IN_PLACE and mode != "dra"), None)
    reason = None
    if other is not None:
        reason = f"{other} is not served by the device plugin"
    elif modes == ("dra", "dra"):
        reason = "the DRA driver has one configuration, which applies to all nodes at once"
    elif plugin_owner is not None:
        reason = f"{plugin_owner} creates a new node pool when its GPU sharing changes"
    elif provisioner is not Provisioner.MANAGED:
        reason = f"{provisioner.value} replaces nodes by itself, in its own order"
    if reason is not None:
        yield _finding("change-not-in-place", place, pool=pool.name, reason=reason, modes=modes)


def _nothing_to_see(
    pool: GpuPool, place: str, previous: Partition, partition: Partition
) -> Iterable[Finding]:
    if [dict(g.devices) for g in previous.gpus] == [dict(g.devices) for g in partition.gpus] and (
        dict(previous.advertised) == dict(partition.advertised)
    ):
        yield _finding("change-without-difference", place, pool=pool.name)
    elif dict(previous.advertised) == dict(partition.advertised):
        yield _finding(
            "change-cannot-be-seen", place, pool=pool.name, advertised=dict(partition.advertised)
        )
