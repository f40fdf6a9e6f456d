"""Dynamic Resource Allocation: what the DRA driver serves on a node, and what a claim gets.

Facts: kubernetes-sigs/dra-driver-nvidia-gpu v0.4.1. A claim is shared by letting several pods use
the one ResourceClaim; each claim made from a template has its devices to itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from gpufleet.catalogue.frozen import frozen
from gpufleet.catalogue.gpu import Gpu
from gpufleet.findings import Finding, error, has_errors
from gpufleet.partition import dra_gates, names, rules
from gpufleet.partition.layouts import Cut, lay_out
from gpufleet.partition.shares import RESOURCES, mps_memory, mps_threads_percent, slice_memory
from gpufleet.spec.sharing import Dra, DraSharing, Mig

DRIVER = "gpu.nvidia.com"
"""Name of the driver in ResourceSlices, in claims' configurations and in front of attributes."""
GPU_CLASS = "gpu.nvidia.com"
"""DeviceClass of whole GPUs, made by the driver's chart."""
DEFAULT_CLIENTS = 2


@dataclass(frozen=True, slots=True)
class DraOffer:
    """One kind of device that a claim can ask for."""

    profile: str | None
    """MIG profile; None: a whole GPU."""
    device_class: str
    extended_resource: str | None
    """Classic resource name that the DeviceClass answers; None without `extendedResource`."""
    per_node: int
    """Devices of this kind per node; of kinds that are cut on demand, as many as fit alone."""
    memory_bytes: int | None

    def client_memory(self, made: "DraCut") -> int | None:
        """Memory of one pod of a claim in bytes: a limit under MPS, else an even part."""
        if self.memory_bytes is None:
            return None
        if made.sharing is DraSharing.MPS:
            return mps_memory(self.memory_bytes, made.clients)
        return self.memory_bytes // made.clients


@dataclass(frozen=True, slots=True)
class DraCut:
    """What the DRA driver does on the nodes of a pool."""

    devices: str
    """`gpu` or `mig`."""
    on_demand: bool
    """MIG devices are cut when a claim asks for them, not beforehand."""
    sharing: DraSharing
    clients: int
    """Pods that one claim is meant for; 1 when claims are exclusive."""
    interval: str | None
    """Length of a turn in the driver's words; None: the driver's default."""
    gates: tuple[str, ...]
    """Feature gates the driver must have on."""
    offers: tuple[DraOffer, ...]
    namespaces: tuple[str, ...]
    """Namespaces that get claim templates."""
    compute_domain: bool = False
    """Whether each of them gets a ComputeDomain too."""

    @property
    def threads_percent(self) -> int:
        """MPS: most active threads of one client in percent; 100 otherwise."""
        return mps_threads_percent(self.clients) if self.sharing is DraSharing.MPS else 100


@dataclass(frozen=True, slots=True)
class Found:
    """The answer of `cut`."""

    cut: DraCut
    gpus: tuple[Cut, ...]
    """What each GPU of the node is cut into beforehand."""
    findings: list[Finding]


def mig_class(profile: str) -> str:
    """DeviceClass of a MIG profile: `mig-1g.10gb.gpufleet.dev`. The driver's chart has one class
    for all profiles, which no extended resource can be tied to."""
    return f"mig-{profile.replace('+', '.').replace(',', '.')}.gpufleet.dev"


def cut(
    gpu: Gpu,
    gpus_per_node: int,
    declared: Dra,
    place: str,
    memory: int | None,
    fraction: Fraction = Fraction(1),
) -> Found:
    """What the driver serves, with every finding about the declaration.

    `memory`: bytes of one device, None when it was not sourced. A device that is a `fraction` of a
    GPU is served as it is, and cannot be cut further.
    """
    findings = _check_fields(declared, place)
    whole: Cut = (frozen({}), None)
    gpus = (whole,) * gpus_per_node
    on_demand = declared.devices == "mig" and not declared.layouts
    if declared.devices == "mig":
        unable = rules.check_mig(gpu, place, fraction)
        findings += unable
        if not unable and on_demand:
            findings += _check_on_demand(gpu, place)
        elif not unable:
            mig = Mig.model_construct(layout=declared.layout, layouts=declared.layouts)
            cuts, found = lay_out(gpu, gpus_per_node, mig, place)
            findings += found
            gpus = tuple(cuts)
    shared = declared.sharing is not DraSharing.EXCLUSIVE
    clients = (declared.clients or DEFAULT_CLIENTS) if shared else 1
    offers = () if has_errors(findings) else _offers(gpu, declared, gpus, memory)
    made = DraCut(
        devices=declared.devices,
        on_demand=on_demand,
        sharing=declared.sharing,
        clients=clients,
        interval=declared.interval.value if declared.interval is not None else None,
        gates=_gates(declared, on_demand),
        offers=offers,
        namespaces=declared.namespaces,
        compute_domain=declared.compute_domain,
    )
    findings += _check_shares(gpu, made, place, fraction)
    return Found(made, gpus, findings)


def _gates(declared: Dra, on_demand: bool) -> tuple[str, ...]:
    wanted = {
        dra_gates.DYNAMIC_MIG: on_demand,
        dra_gates.MPS: declared.sharing is DraSharing.MPS,
        dra_gates.TIME_SLICING: declared.sharing is DraSharing.TIME_SLICING,
    }
    return tuple(sorted(name for name, needed in wanted.items() if needed))


def _offers(
    gpu: Gpu, declared: Dra, gpus: Sequence[Cut], memory: int | None
) -> tuple[DraOffer, ...]:
    whole = sum(placement is None for _, placement in gpus)
    offers: list[DraOffer] = []
    on_demand = declared.devices == "mig" and not declared.layouts
    if whole:
        # GPUs of which MIG devices are cut on demand can be claimed whole while nothing is cut.
        resource = RESOURCES["nvidia"] if declared.extended_resource else None
        offers.append(DraOffer(None, GPU_CLASS, resource, whole, memory))
    for profile, count in _slices(gpu, gpus, on_demand).items():
        resource = names.resource_of(profile) if declared.extended_resource else None
        size = slice_memory(gpu, profile)
        offers.append(DraOffer(profile, mig_class(profile), resource, count, size))
    return tuple(offers)


def _slices(gpu: Gpu, gpus: Sequence[Cut], on_demand: bool) -> Mapping[str, int]:
    if not on_demand:
        return names.total(devices for devices, _ in gpus)
    assert gpu.mig is not None
    return {name: p.max_instances * len(gpus) for name, p in gpu.mig.profiles.items()}


def _check_fields(declared: Dra, place: str) -> list[Finding]:
    """Fields that mean nothing next to each other: the driver would drop or refuse them."""
    findings: list[Finding] = []
    shared = declared.sharing is not DraSharing.EXCLUSIVE
    if (declared.layout or declared.layouts) and declared.devices != "mig":
        field = "layout" if declared.layout else "layouts"
        findings.append(
            error(
                "dra-layouts-need-mig",
                f"{place}.{field}",
                "layouts are cut into MIG devices, and `devices` is gpu",
                f"write `devices: mig`, or remove `{field}`",
            )
        )
    if declared.clients is not None and not shared:
        findings.append(
            error(
                "dra-clients-without-sharing",
                f"{place}.clients",
                f"{declared.clients} clients share a claim, and `sharing` is exclusive",
                "write `sharing: timeSlicing` or mps, or remove `clients`",
                value=declared.clients,
            )
        )
    if declared.interval is not None and (
        declared.sharing is not DraSharing.TIME_SLICING or declared.devices == "mig"
    ):
        reason = (
            "MIG devices take turns without one, and the driver refuses the field"
            if declared.devices == "mig"
            else f"`sharing` is {declared.sharing.value}"
        )
        findings.append(
            error(
                "dra-interval-without-turns",
                f"{place}.interval",
                f"the length of a turn is for time-sliced whole GPUs; {reason}",
                "remove `interval`",
                value=declared.interval.value,
                rule="DRA-7" if declared.devices == "mig" else "DRA-6",
            )
        )
    if shared and declared.extended_resource:
        findings.append(
            error(
                "dra-extended-resource-not-shared",
                f"{place}.extendedResource",
                "each pod that asks for an extended resource gets a claim, and so devices, of its "
                f"own: nothing would be shared by {declared.sharing.value}",
                "write `sharing: exclusive`, or let pods name one ResourceClaim",
            )
        )
    if shared and declared.devices == "mig" and not declared.layouts:
        clash = dra_gates.conflicts(_gates(declared, on_demand=True))
        if clash:
            findings.append(
                error(
                    "dra-gates-conflict",
                    f"{place}.sharing",
                    f"the driver would crash: {'; '.join(clash)}",
                    "say in `layouts` what is cut beforehand, or write `sharing: timeSlicing`",
                    gates=_gates(declared, on_demand=True),
                    rule="DRA-11",
                )
            )
    return findings


def _check_on_demand(gpu: Gpu, place: str) -> list[Finding]:
    if gpu.mig is None or not gpu.mig.reset_needed:
        return []
    return [
        error(
            "dra-mig-needs-layouts",
            f"{place}.devices",
            f"{gpu.key} switches MIG mode only by a reset of the GPU, which the driver does not "
            "make: it would serve whole GPUs and never a MIG device",
            "say in `layouts` what is cut beforehand, such as "
            f"`layouts: [{{devices: {names.written(gpu.mig.balanced)}}}]`",
            gpu=gpu.key,
        )
    ]


def _check_shares(gpu: Gpu, made: DraCut, place: str, fraction: Fraction) -> list[Finding]:
    if made.clients == 1:
        return []
    findings: list[Finding] = []
    if made.sharing is DraSharing.MPS:
        found = rules.check_mps(gpu, made.clients, place, fraction, None, "clients")
        findings += found or _check_slice_clients(gpu, made, place)
    for offer in made.offers:
        what = gpu.key if offer.profile is None else f"a {offer.profile} slice"
        findings += rules.small_shares(what, made.clients, offer.memory_bytes, place, "clients")
    return findings


def _check_slice_clients(gpu: Gpu, made: DraCut, place: str) -> list[Finding]:
    """Of the clients MPS takes on a GPU, a MIG device takes its part of the compute slices (NVIDIA
    MIG user guide, CUDA MPS on MIG; read 2026-11-21)."""
    if gpu.mig is None:
        return []
    offered = {offer.profile for offer in made.offers}
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
        error(
            "mps-too-many-clients",
            f"{place}.clients",
            f"{made.clients} MPS clients on a {profile} slice of {gpu.key}, which takes "
            f"{slices[profile]} of {gpu.mig.compute_slices} of the {gpu.mps_max_clients} that a "
            f"whole GPU takes: {limit}",
            f"write `clients: {limit}`",
            value=made.clients,
            limit=limit,
            profile=profile,
        )
        for profile, limit in most.items()
        if made.clients > limit
    ]
