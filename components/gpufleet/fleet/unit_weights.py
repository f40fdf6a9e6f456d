"""Exact fraction of a node that one unit of an advertised resource represents.

The weight of a slice is half its share of the compute slices plus half its share of the memory
slots: one of the two is not enough (seven 1g.10gb use all compute and seven of eight memory slots).
The slices of a GPU cannot use more than all of either, so their weights add up to at most 1. The
remainder cannot be assigned to a pod and is stranded.
"""

from fractions import Fraction

from gpufleet.catalogue.gpu import MigGeometry
from gpufleet.fleet.model import Pool
from gpufleet.partition.profile_name import gpu_instance_of, parse, resource_of


def unit_weights(pool: Pool) -> dict[str, Fraction]:
    """Resource -> share of the node of one unit. Units of one kind are equal."""
    partition, count = pool.partition, len(pool.partition.gpus)
    weights: dict[str, Fraction] = {}
    for share in partition.shares:
        if partition.dra is not None and partition.dra.on_demand:
            # Created on demand: the weight of each kind is computed separately.
            device = _device(pool.gpu.mig, share.profile)
            weights[share.resource] = device / count / share.replicas
            continue
        total = sum(
            (
                Fraction(1, count)
                for gpu in partition.gpus
                if not gpu.mig_enabled and share.profile is None
            ),
            Fraction(0),
        )
        for gpu in partition.gpus:
            for profile, number in gpu.devices.items():
                if share.profile is not None and _same(profile, share.profile):
                    total += number * _device(pool.gpu.mig, profile) / count
        weights[share.resource] = total / share.per_node if share.per_node else Fraction(0)
    return weights


def unit_capacity(pool: Pool) -> dict[str, int]:
    """Resource -> units of one node that pods can hold."""
    return {share.resource: share.per_node for share in pool.partition.shares}


def _same(profile: str, wanted: str) -> bool:
    return resource_of(profile) == resource_of(wanted)


def _device(geometry: MigGeometry | None, profile: str | None) -> Fraction:
    """Share of a GPU of one device."""
    if profile is None or geometry is None:
        return Fraction(1)
    parent = gpu_instance_of(profile)
    cut = next((p for name, p in geometry.profiles.items() if _same(name, parent)), None)
    if cut is None:
        return Fraction(0)
    parsed = parse(profile)
    slices = None if parsed is None else parsed.compute_instance_slices
    part = Fraction(1) if slices is None else Fraction(slices, cut.compute_slices)
    compute = Fraction(cut.compute_slices, geometry.compute_slices)
    memory = Fraction(cut.memory_slots, geometry.memory_slots)
    return part * (compute + memory) / 2


# Names of resources as kube-state-metrics writes them (kubernetes/kube-state-metrics v2).


def sanitised(name: str) -> str:
    """A resource as a label value: `nvidia_com_mig_1g_10gb`."""
    return "".join(c if c.isalnum() or c == "_" else "_" for c in name)
