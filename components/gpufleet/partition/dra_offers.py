"""Kinds of device that the DRA driver publishes, and the ways in which pods share one claim.

Facts: kubernetes-sigs/dra-driver-nvidia-gpu v0.5.0 `cmd/gpu-kubelet-plugin`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from gpufleet.catalogue.gpu import Gpu
from gpufleet.findings import Finding, findings_in
from gpufleet.findings.row_rules import rules_in
from gpufleet.partition import rules
from gpufleet.partition.grant import UNDIVIDED, Division
from gpufleet.partition.shares import MIB, mps_memory
from gpufleet.spec.device_needs import ClaimTerms, DraSharing

_finding, _rules = findings_in(__file__), rules_in(__file__)

DRIVER = "gpu.nvidia.com"
"""Name of the driver in ResourceSlices, in claims' configurations and in front of attributes."""
DEFAULT_CLIENTS = 2


@dataclass(frozen=True, slots=True)
class ClaimSharing:
    """How the pods of one claim share its devices."""

    mode: DraSharing
    clients: int
    """Number of pods of one claim; 1: claims are exclusive."""
    interval: str | None
    """Length of a turn in the driver's words; None: the driver's default."""
    division: Division = UNDIVIDED
    """Part of a device that each client gets, with the declared MPS limits."""


@dataclass(frozen=True, slots=True)
class DraOffer:
    """One kind of device that a claim can request."""

    profile: str | None
    """MIG profile; None: a whole GPU."""
    device_class: str
    extended_resource: str | None
    """Classic resource name that the DeviceClass answers; None without `extendedResource`."""
    per_node: int
    """Devices of this kind per node; if created on demand, the number without other kinds."""
    memory_bytes: int | None
    multiprocessors: int | None = None
    """Published of MIG devices only; None: a whole GPU, or not sourced."""


def mig_class(profile: str) -> str:
    """DeviceClass of a MIG profile: `mig-1g.10gb.gpufleet.dev`. The driver's chart has one class
    for all profiles, which no extended resource can be tied to."""
    return f"mig-{profile.replace('+', '.').replace(',', '.')}.gpufleet.dev"


def claim_sharing(declared: ClaimTerms) -> ClaimSharing:
    """Sharing that the terms declare, with defaults."""
    shared = declared.sharing is not DraSharing.EXCLUSIVE
    clients = (declared.clients or DEFAULT_CLIENTS) if shared else 1
    memory = declared.pinned_memory_mib
    return ClaimSharing(
        mode=declared.sharing,
        clients=clients,
        interval=declared.interval.value if declared.interval is not None else None,
        division=Division(
            clients,
            is_mps=declared.sharing is DraSharing.MPS,
            limit_bytes=None if memory is None else memory * MIB,
            threads_percent=declared.active_thread_percentage,
        ),
    )


def validate_terms(declared: ClaimTerms, place: str, *, mig: bool) -> Iterator[Finding]:
    """Fields that mean nothing next to each other: the driver would drop or refuse them."""
    return _rules("terms", place, terms=declared, mig=mig)


def validate_shares(
    gpu: Gpu, sharing: ClaimSharing, offers: Sequence[DraOffer], place: str, fraction: Fraction
) -> Iterator[Finding]:
    """Findings if a device cannot be shared by the declared number of clients and limits."""
    if sharing.clients == 1:
        return
    if sharing.mode is DraSharing.MPS:
        found = rules.check_mps(gpu, sharing.clients, place, fraction, None, "clients")
        yield from found or _slice_clients(gpu, sharing, offers, place)
        yield from _memory_limit(gpu, sharing, offers, place)
    for offer in offers:
        what = gpu.key if offer.profile is None else f"a {offer.profile} slice"
        yield from rules.small_shares(what, sharing.clients, offer.memory_bytes, place, "clients")


def _memory_limit(
    gpu: Gpu, sharing: ClaimSharing, offers: Sequence[DraOffer], place: str
) -> Iterator[Finding]:
    """Limits that the clients together cannot reach: the last of them would run out of memory."""
    known = [offer for offer in offers if offer.memory_bytes is not None]
    if sharing.division.limit_bytes is None or not known:
        return
    smallest = min(known, key=lambda offer: offer.memory_bytes or 0)
    asked = sharing.division.limit_bytes // MIB
    most = mps_memory(smallest.memory_bytes or 0, sharing.clients) // MIB
    if asked > most:
        what = gpu.key if smallest.profile is None else f"a {smallest.profile} slice of {gpu.key}"
        yield _finding(
            "mps-client-limit-too-high/claim",
            place,
            value=asked,
            limit=most,
            what=what,
            clients=sharing.clients,
        )


def _slice_clients(
    gpu: Gpu, sharing: ClaimSharing, offers: Sequence[DraOffer], place: str
) -> list[Finding]:
    """A MIG device accepts its part, by compute slices, of the GPU's maximum of MPS clients (NVIDIA
    MIG user guide, CUDA MPS on MIG; read 2026-11-21)."""
    if gpu.mig is None:
        return []
    offered = {offer.profile for offer in offers}
    slices = {
        name: profile.compute_slices
        for name, profile in gpu.mig.profiles.items()
        if name in offered
    }
    most = {
        profile: gpu.mps_max_clients * own // gpu.mig.compute_slices
        for profile, own in slices.items()
    }
    return [
        _finding(
            "mps-too-many-clients/slice",
            place,
            value=sharing.clients,
            limit=limit,
            profile=profile,
            gpu=gpu.key,
            slices=slices[profile],
            compute_slices=gpu.mig.compute_slices,
            mps_max_clients=gpu.mps_max_clients,
        )
        for profile, limit in most.items()
        if sharing.clients > limit
    ]
