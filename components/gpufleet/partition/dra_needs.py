"""Claims with needs: the devices of a pool that meet each, and needs that no device meets.

Attributes and capacities are those that the driver publishes: kubernetes-sigs/dra-driver-nvidia-gpu
`cmd/gpu-kubelet-plugin/deviceinfo.go` and `mig.go` (0545e9e; the same names in v0.4.1). Multi-
processors are published of MIG devices only, and no attribute of a GPU names its NVLink.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from gpufleet.catalogue.gpu import Gpu
from gpufleet.catalogue.lookup import UnknownKeyError
from gpufleet.findings import Finding, error, findings_in, has_errors
from gpufleet.findings.row_rules import rules_in
from gpufleet.partition.dra_offers import (
    ClaimSharing,
    DraOffer,
    claim_sharing,
    mig_class,
    validate_shares,
    validate_terms,
)
from gpufleet.partition.profile_name import similar
from gpufleet.partition.shares import GPU_CLASS, MIB, MIG_CLASS, VFIO_CLASS
from gpufleet.spec.device_needs import (
    DeviceNeed,
    DraSharing,
    NvlinkReach,
)
from gpufleet.spec.sharing import Dra

_finding, _rules = findings_in(__file__), rules_in(__file__)

FindGpu = Callable[[str], Gpu]
"""The GPU of a name; raises UnknownKeyError."""


@dataclass(frozen=True, slots=True)
class NeededDevices:
    """One claim with its needs."""

    asked: DeviceNeed
    """Its requirements as declared; with choices those of the preferred one that the pool meets."""
    mig: bool
    """MIG devices; False: whole GPUs."""
    device_class: str
    product_names: tuple[str, ...]
    """Boards that will do, as the driver calls them."""
    sharing: ClaimSharing
    shared_claims: int
    """ResourceClaims that pods share; 0: a template."""
    offers: tuple[DraOffer, ...]
    """Kinds of device of the pool that meet the need."""
    choices: tuple["NeededDevices", ...] = ()
    """Ways in which it can be met, the preferred one first; empty: the one of this row."""


def find_needs(
    gpu: Gpu,
    declared: Dra,
    offers: Sequence[DraOffer],
    place: str,
    fraction: Fraction,
    *,
    on_demand: bool,
    find_gpu: FindGpu | None,
) -> tuple[tuple[NeededDevices, ...], list[Finding]]:
    """Each claim of the declaration with the devices that meet it, and its findings."""
    needs: list[NeededDevices] = []
    findings = [*_rules("claims", place, declared=declared)]
    for index, need in enumerate(declared.claims):
        path = f"{place}.claims[{index}]"
        finder = _Finder(gpu, declared, offers, fraction, on_demand, find_gpu)
        made, found = finder.one(need, path)
        found += _rules("shares", path, need=need, declared=declared)
        choices: list[NeededDevices] = []
        if need.first_available:
            found += _rules("with choices", path, need=need)
            choices, more = finder.choices(need, path)
            found += more
            made = next((one for one in choices if one.offers), made)
        findings += found
        if made is not None and not has_errors(found):
            needs.append(replace(made, choices=tuple(choices)))
    return tuple(needs), findings


@dataclass(frozen=True, slots=True)
class _Finder:
    """Facts of one pool that its needs are compared with."""

    gpu: Gpu
    declared: Dra
    offers: Sequence[DraOffer]
    fraction: Fraction
    on_demand: bool
    find_gpu: FindGpu | None

    def one(
        self, need: DeviceNeed, path: str, *, elsewhere: bool = False
    ) -> tuple[NeededDevices | None, list[Finding]]:
        """The devices of one need. `elsewhere`: GPUs of other pools will do."""
        mig = (need.devices or self.declared.devices) == "mig"
        boards, found = _boards(self.gpu, need, path, self.find_gpu, elsewhere=elsewhere)
        found = [
            *found,
            *validate_terms(need, path, mig=mig),
            *_rules("need", path, need=need, mig=mig),
        ]
        here = any(name in self.gpu.product_names for name in boards)
        met: tuple[DraOffer, ...] = ()
        if not has_errors(found) and here and not need.first_available:
            met, unmet = _meeting(
                self.gpu, need, self.offers, path, mig=mig, on_demand=self.on_demand
            )
            found += unmet
        sharing = claim_sharing(need)
        found += validate_shares(self.gpu, sharing, met, path, self.fraction)
        if has_errors(found):
            return None, found
        shared = need.sharing is not DraSharing.EXCLUSIVE
        made = NeededDevices(
            asked=need,
            mig=mig,
            device_class=VFIO_CLASS if need.devices == "vfio" else _device_class(met, mig=mig),
            product_names=boards,
            sharing=sharing,
            shared_claims=(need.shared_claims or 1) if shared else 0,
            offers=met,
        )
        return made, found

    def choices(self, need: DeviceNeed, path: str) -> tuple[list[NeededDevices], list[Finding]]:
        """The ways in which a need can be met; an error if the pool has no such way."""
        made: list[NeededDevices] = []
        findings: list[Finding] = []
        for index, choice in enumerate(need.first_available):
            place = f"{path}.firstAvailable[{index}]"
            own = choice.model_dump(exclude_none=True)
            alone = need.model_copy(
                update={"first_available": (), "shared_claims": need.shared_claims, **own}
            )
            one, found = self.one(alone, place, elsewhere=True)
            findings += found
            made += [] if one is None else [one]
        if not has_errors(findings) and not any(one.offers for one in made):
            found = f"none of the ways names {self.gpu.key}, the GPU of the pool"
            fix = "add one, or move the claim to a pool with one of them"
            findings.append(_unmet(path, "firstAvailable", found, fix, len(made), self.gpu.key))
        return made, findings


def _device_class(met: Sequence[DraOffer], *, mig: bool) -> str:
    """The class of the one profile, which quota can count, or that of all MIG devices."""
    if not mig:
        return GPU_CLASS
    profiles = [offer.profile for offer in met if offer.profile is not None]
    return mig_class(profiles[0]) if len(profiles) == 1 else MIG_CLASS


def _boards(
    gpu: Gpu, need: DeviceNeed, path: str, find_gpu: FindGpu | None, *, elsewhere: bool
) -> tuple[tuple[str, ...], list[Finding]]:
    """Product names of the GPUs that will do."""
    if not need.products:
        return _names(gpu, need), []
    findings: list[Finding] = []
    named: dict[str, Gpu] = {}
    for index, text in enumerate(need.products):
        try:
            found = gpu if find_gpu is None else find_gpu(text)
        except UnknownKeyError as problem:
            findings.append(
                error(
                    "dra-claim-product-unknown",
                    f"{path}.products[{index}]",
                    str(problem),
                    f"write `{problem.nearest[0]}`"
                    if problem.nearest
                    else "`gpufleet catalogue gpus` lists the names",
                    value=text,
                    limit=problem.nearest,
                )
            )
            continue
        named[found.key] = found
    if not findings and gpu.key not in named and not elsewhere:
        findings.append(_finding("dra-claim-unmet", path, value=tuple(named), limit=gpu.key))
    return tuple(name for one in named.values() for name in _names(one, need)), findings


def _names(gpu: Gpu, need: DeviceNeed) -> tuple[str, ...]:
    """Product names; for `nvlink: machine` those of boards that NVLink joins without bridges. Names
    of the others have the word of their board, `PCIe` or `NVL`."""
    apart = [b for b, r in gpu.rates.items() if r.nvlink_bridge or not r.nvlink_bytes_per_second]
    if need.nvlink is not NvlinkReach.MACHINE or len(apart) == len(gpu.rates):
        return gpu.product_names
    return tuple(name for name in gpu.product_names if not any(b in name.lower() for b in apart))


def _meeting(
    gpu: Gpu,
    need: DeviceNeed,
    offers: Sequence[DraOffer],
    path: str,
    *,
    mig: bool,
    on_demand: bool,
) -> tuple[tuple[DraOffer, ...], list[Finding]]:
    """Kinds of device that meet the need; with none, the first field that leaves none."""
    left = [offer for offer in offers if (offer.profile is not None) is mig]
    if not left:
        kind, has = ("MIG devices", "gpu") if mig else ("whole GPUs", "mig")
        found = f"the nodes of the pool offer no {kind}"
        fix = f"write `devices: {has}`"
        return (), [_unmet(path, "devices", found, fix, "mig" if mig else "gpu", has)]
    if need.profile is not None:
        known = [offer.profile for offer in left if offer.profile is not None]
        left = [offer for offer in left if offer.profile == need.profile]
        if not left:
            near = similar(need.profile, known, 1)
            found = f"the pool offers {', '.join(known)}"
            fix = f"write `{near[0]}`" if near else "write one of them"
            return (), [_unmet(path, "profile", found, fix, need.profile, tuple(known))]
    amounts = (
        ("memoryMib", "MiB of memory", need.memory_mib, _memory_mib),
        ("multiprocessors", "multiprocessors", need.multiprocessors, _multiprocessors),
    )
    findings: list[Finding] = []
    for field, unit, least, amount in amounts:
        if least is None:
            continue
        unknown = [offer for offer in left if amount(offer) is None]
        if unknown:
            findings.append(
                _finding(
                    "dra-claim-not-known",
                    f"{path}.{field}",
                    value=least,
                    unit=unit,
                    kinds=_kinds(gpu, unknown),
                )
            )
        most, kinds = max(amount(offer) or 0 for offer in left), _kinds(gpu, left)
        left = [offer for offer in left if amount(offer) is None or (amount(offer) or 0) >= least]
        if not left:
            found = f"the claim needs {least} {unit}, and {kinds} of the pool have at most {most}"
            return (), [_unmet(path, field, found, f"write {most} or less", least, most)]
    per_node = [offer.per_node for offer in left]
    most = max(per_node) if on_demand else sum(per_node)
    if need.count > most:
        found = f"a node has {most} such devices, and a claim has all of its devices on one node"
        return (), [*findings, _unmet(path, "count", found, f"write {most}", need.count, most)]
    return tuple(left), findings


def _memory_mib(offer: DraOffer) -> int | None:
    return None if offer.memory_bytes is None else offer.memory_bytes // MIB


def _multiprocessors(offer: DraOffer) -> int | None:
    return offer.multiprocessors


def _kinds(gpu: Gpu, offers: Sequence[DraOffer]) -> str:
    return ", ".join(offer.profile or gpu.key for offer in offers)


def _unmet(path: str, field: str, found: str, fix: str, value: object, limit: object) -> Finding:
    return error("dra-claim-unmet", f"{path}.{field}", found, fix, value=value, limit=limit)
