"""Dynamic Resource Allocation: devices of the DRA driver on a node, and devices of a claim.

Facts: kubernetes-sigs/dra-driver-nvidia-gpu v0.5.0. A claim is shared if several pods use one
ResourceClaim; each claim made from a template has exclusive devices.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from gpufleet.catalogue.frozen import frozen
from gpufleet.catalogue.gpu import Gpu, MigGeometry, MigProfile
from gpufleet.findings import Finding, findings_in, has_errors
from gpufleet.findings.row_rules import rules_in
from gpufleet.partition import dra_gates, rules
from gpufleet.partition.dra_needs import FindGpu, NeededDevices, find_needs
from gpufleet.partition.dra_offers import (
    ClaimSharing,
    DraOffer,
    claim_sharing,
    mig_class,
    validate_shares,
    validate_terms,
)
from gpufleet.partition.layouts import Cut, lay_out
from gpufleet.partition.profile_name import resource_of, total, written
from gpufleet.partition.shares import GPU_CLASS, RESOURCES, slice_memory
from gpufleet.partition.slot_table import MEDIA_ENGINES
from gpufleet.spec.device_needs import DraSharing, NvlinkReach
from gpufleet.spec.sharing import Dra, Mig

_finding, _rules = findings_in(__file__), rules_in(__file__)


@dataclass(frozen=True, slots=True)
class DraCut:
    """Configuration of the DRA driver on the nodes of a pool."""

    devices: str
    """`gpu` or `mig`."""
    on_demand: bool
    """MIG devices are created when a claim requests them, not in advance."""
    sharing: ClaimSharing
    """How pods share one of the claims for a kind of device."""
    gates: tuple[str, ...]
    """Feature gates the driver must have on."""
    offers: tuple[DraOffer, ...]
    namespaces: tuple[str, ...]
    """Namespaces that get claim templates."""
    compute_domain: bool = False
    """Whether each of them gets a ComputeDomain too."""
    channel_for_all: bool = False
    """Whether the pods of every claim get a channel, not only those that need the domain."""
    needs: tuple[NeededDevices, ...] = ()
    """Claims with needs, in order of the declaration."""
    consumable_shares: str | None = None
    """`memory`, `unlimited` or a number: how several claims share a device; None: they do not."""

    @property
    def clients(self) -> int:
        """Number of pods of one claim for a kind of device; 1: claims are exclusive."""
        return self.sharing.clients


@dataclass(frozen=True, slots=True)
class Found:
    """The answer of `cut`."""

    cut: DraCut
    gpus: tuple[Cut, ...]
    """Partition of each GPU of the node that is created in advance."""
    findings: list[Finding]


def cut(
    gpu: Gpu,
    gpus_per_node: int,
    declared: Dra,
    place: str,
    memory: int | None,
    fraction: Fraction = Fraction(1),
    find_gpu: FindGpu | None = None,
) -> Found:
    """The devices that the driver serves, with every finding about the declaration.

    `memory`: bytes of one device; None: not sourced. A device that is a `fraction` of a
    GPU is served whole and cannot be partitioned.
    """
    findings = [*_check_fields(declared, place)]
    whole: Cut = (frozen({}), None)
    gpus = (whole,) * gpus_per_node
    on_demand = declared.devices == "mig" and not declared.layouts
    if declared.devices == "mig":
        unable = rules.check_mig(gpu, place, fraction)
        findings += unable
        if not unable and on_demand and gpu.mig is not None and gpu.mig.reset_needed:
            names = written(gpu.mig.balanced)
            findings.append(_finding("dra-mig-needs-layouts", place, gpu=gpu.key, names=names))
        if not unable and not on_demand:
            mig = Mig.model_construct(layout=declared.layout, layouts=declared.layouts)
            cuts, found = lay_out(gpu, gpus_per_node, mig, place)
            findings += found
            gpus = tuple(cuts)
    sharing = claim_sharing(declared)
    offers = () if has_errors(findings) else _offers(gpu, declared, gpus, memory)
    findings += validate_shares(gpu, sharing, offers, place, fraction)
    needs: tuple[NeededDevices, ...] = ()
    if offers:
        needs, found = find_needs(
            gpu, declared, offers, place, fraction, on_demand=on_demand, find_gpu=find_gpu
        )
        findings += found
    made = DraCut(
        devices=declared.devices,
        on_demand=on_demand,
        sharing=sharing,
        gates=_gates(declared, on_demand),
        offers=offers,
        namespaces=declared.namespaces,
        compute_domain=declared.compute_domain
        or any(need.nvlink is NvlinkReach.DOMAIN for need in declared.claims),
        channel_for_all=declared.compute_domain,
        needs=needs,
        consumable_shares=None
        if declared.consumable_shares is None
        else str(declared.consumable_shares),
    )
    return Found(made, gpus, findings)


def _gates(declared: Dra, on_demand: bool) -> tuple[str, ...]:
    ways = {declared.sharing, *(need.sharing for need in declared.claims)}
    wanted = {
        dra_gates.DYNAMIC_MIG: on_demand,
        dra_gates.MPS: DraSharing.MPS in ways,
        dra_gates.TIME_SLICING: DraSharing.TIME_SLICING in ways,
        dra_gates.PASSTHROUGH: any(need.devices == "vfio" for need in declared.claims),
        dra_gates.SHARES: declared.consumable_shares is not None,
    }
    return tuple(sorted(name for name, needed in wanted.items() if needed))


def _offers(
    gpu: Gpu, declared: Dra, gpus: Sequence[Cut], memory: int | None
) -> tuple[DraOffer, ...]:
    whole = sum(placement is None for _, placement in gpus)
    offers: list[DraOffer] = []
    on_demand = declared.devices == "mig" and not declared.layouts
    if whole:
        # GPUs with MIG devices on demand can be claimed whole while they have no MIG device.
        resource = RESOURCES["nvidia"] if declared.extended_resource else None
        offers.append(DraOffer(None, GPU_CLASS, resource, whole, memory))
    for profile, count in _slices(gpu, gpus, on_demand).items():
        resource = resource_of(profile) if declared.extended_resource else None
        size = slice_memory(gpu, profile)
        row = None if gpu.mig is None else gpu.mig.profiles.get(profile)
        units = None if row is None else row.multiprocessors
        offers.append(DraOffer(profile, mig_class(profile), resource, count, size, units))
    return tuple(offers)


def _slices(gpu: Gpu, gpus: Sequence[Cut], on_demand: bool) -> Mapping[str, int]:
    if not on_demand:
        return total(devices for devices, _ in gpus)
    assert gpu.mig is not None
    return {name: p.max_instances * len(gpus) for name, p in gpu.mig.profiles.items()}


def _check_fields(declared: Dra, place: str) -> Iterator[Finding]:
    """Fields that mean nothing next to each other: the driver would drop or refuse them."""
    yield from _rules("dra", place, declared=declared)
    yield from validate_terms(declared, place, mig=declared.devices == "mig")
    yield from _rules("dra shared", place, declared=declared)
    ways = {declared.sharing, *(need.sharing for need in declared.claims)}
    shared = ways != {DraSharing.EXCLUSIVE}
    if shared and declared.devices == "mig" and not declared.layouts:
        clash = dra_gates.conflicts(_gates(declared, on_demand=True))
        if clash:
            yield _finding(
                "dra-gates-conflict",
                place,
                gates=_gates(declared, on_demand=True),
                rule="DRA-11",
                clash="; ".join(clash),
            )


# The counters by which the DRA driver keeps the devices of one GPU apart.
#
# Every GPU has one set of counters. The whole GPU takes all of it; a MIG device takes one counter
# for each memory slot it covers, and its multiprocessors, memory and media engines. So all devices
# that the scheduler allocates together are a layout the GPU can hold, and the scheduler needs no
# geometry. Source: kubernetes-sigs/dra-driver-nvidia-gpu v0.5.0
# `cmd/gpu-kubelet-plugin/partitions.go`; copy engines are left out, because their figures are no
# budget.

_ENGINE_COUNTERS = {
    "nvdec": "decoders",
    "nvenc": "encoders",
    "jpeg": "jpeg-engines",
    "ofa": "ofa-engines",
}


def counters(geometry: MigGeometry) -> Mapping[str, int]:
    """The counters of one GPU, full: the most any profile has, and 1 for each memory slot.

    An amount that is not known for every profile has no counter: it would refuse layouts.
    """
    totals = {f"memory-slice-{slot}": 1 for slot in range(geometry.memory_slots)}
    tables = [_amounts(profile) for profile in geometry.profiles.values()]
    for name in tables[0]:
        amounts = [amount for table in tables if (amount := table[name]) is not None]
        if len(amounts) == len(tables):
            totals[name] = max(amounts)
    return frozen(totals)


def _amounts(profile: MigProfile) -> dict[str, int | None]:
    amounts = {
        "memory": profile.usable_bytes,
        "multiprocessors": profile.multiprocessors,
    }
    for engine in MEDIA_ENGINES:
        amounts[_ENGINE_COUNTERS[engine]] = profile.engines.get(engine)
    return amounts
