"""The previous sharing of a pool's nodes, which must stay valid during the waves of a change."""

from collections.abc import Iterable

from gpufleet.catalogue.gpu import Gpu
from gpufleet.findings import Finding, findings_in, has_errors
from gpufleet.fleet.model import Machine
from gpufleet.partition.dra_needs import FindGpu
from gpufleet.partition.partition import Partition, cut
from gpufleet.spec.pool import GpuPool, Provisioner

_finding = findings_in(__file__)

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
