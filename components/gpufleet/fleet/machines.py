"""Machines of a pool: from a GPU, or from instance types that must agree."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from gpufleet.catalogue import GCP, Catalogue, Gpu, InstanceType, UnknownKeyError
from gpufleet.contract.platform import PlatformValue
from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.model import GIB, Machine
from gpufleet.fleet.platform_rules import platform_rules
from gpufleet.spec.pool import GpuPool

_finding, _rules = findings_in(__file__), rules_in(__file__)

_COUNTED = ("nvidia", "aws")
"""Vendors whose machines need a device count: their pools are compiled."""

MAX_INSTANCE_TYPES = 20
"""Maximum number of instance types of one node group (EKS CreateNodegroup `instanceTypes`)."""


Choice = tuple[tuple[Machine, ...], Gpu | None, tuple[Finding, ...]]


def _refused(*findings: Finding) -> Choice:
    return (), None, findings


def choose(pool: GpuPool, path: str, platform: PlatformValue, catalogue: Catalogue) -> Choice:
    """The pool's machines in order of preference, their GPU, and errors of the choice.

    The list of machines is empty exactly if a finding is an error.
    """
    gpu, findings = _declared_gpu(pool, path, catalogue)
    if findings:
        return _refused(*findings)
    listed = platform.facts.any_seller and pool.instance_types
    if not platform.facts.clouds and not listed:
        return _own_machine(pool, path, platform, gpu)
    if pool.instance_types:
        return _from_instance_types(pool, path, platform, gpu, catalogue)
    assert gpu is not None
    return _from_gpu(pool, path, platform, gpu, catalogue)


def _declared_gpu(
    pool: GpuPool, path: str, catalogue: Catalogue
) -> tuple[Gpu | None, tuple[Finding, ...]]:
    if pool.gpu is None:
        if pool.instance_types:
            return None, ()
        return None, (_finding("pool-hardware-missing", path),)
    try:
        return catalogue.find_gpu(pool.gpu), ()
    except UnknownKeyError as unknown:
        near = ", ".join(unknown.nearest)
        return None, (
            _finding(
                "gpu-unknown",
                path,
                fix=(f"nearest: {near}" if near else "`gpufleet catalogue gpus` lists them"),
                found=pool.gpu,
                nearest=unknown.nearest,
            ),
        )


def _machine(row: InstanceType) -> Machine:
    return Machine(
        name=row.name,
        architecture=row.architecture,
        vcpu=row.vcpu,
        memory_bytes=row.memory_bytes,
        local_nvme_bytes=row.local_nvme_bytes,
        efa_interfaces=len(row.efa_cards) if row.efa_cards else row.efa_interfaces or 0,
        gpus=_devices(row),
        fraction=row.accelerator.fraction,
        instance=row,
    )


def managed(machine: Machine, catalogue: Catalogue) -> Machine:
    """The machine with the fee of its cloud's own provisioner, a share of the on-demand list price
    for every capacity type. AWS rounds to five decimals."""
    row = machine.instance
    rate = None if row is None else catalogue.clouds[row.cloud].managed.get(row.family)
    listed = None if row is None else row.on_demand.micro_usd_per_hour
    fee = None if rate is None or listed is None else int(round(listed * Decimal(rate), -1))
    return replace(machine, fee_micro_usd=fee)


def _from_gpu(
    pool: GpuPool, path: str, platform: PlatformValue, gpu: Gpu, catalogue: Catalogue
) -> Choice:
    rows = [
        row
        for cloud in platform.facts.clouds
        for row in catalogue.instances_with_gpu(gpu.key, cloud)
        if row.accelerator.count is not None
    ]
    if not rows:
        offered = _gpus_of(platform, catalogue)
        size = gpu.nominal_gb or 0
        near = sorted(offered, key=lambda g: (abs((g.nominal_gb or 0) - size), g.key))[:3]
        return _refused(
            _finding(
                "gpu-not-on-platform",
                path,
                fix="nearest in memory there: " + ", ".join(g.key for g in near),
                found=gpu.key,
                platform=platform.name.value,
                offered=sorted(g.key for g in offered),
            )
        )
    counts = sorted({_devices(row) for row in rows})
    # Machines of one pool are of one cloud, the first with any: the sandbox has several.
    first = [row for row in rows if row.cloud == rows[0].cloud]
    wanted = pool.gpus_per_node or min(_devices(row) for row in first)
    if wanted not in counts:
        return _refused(
            _finding(
                "gpus-per-node-not-offered/machine",
                path,
                platform=platform.name,
                found=wanted,
                gpu=gpu.key,
                offered=counts,
                counts=min(counts, key=lambda n: (abs(n - wanted), n)),
            )
        )
    fitting = [row for row in rows if _devices(row) == wanted]
    example = fitting[0]
    same = [
        row
        for row in fitting
        if row.architecture == example.architecture and row.cloud == example.cloud
    ]
    same = platform_rules(platform).offered_machines(same, pool)
    return tuple(_machine(row) for row in same[:MAX_INSTANCE_TYPES]), gpu, ()


def _devices(row: InstanceType) -> int:
    """Devices of a node of this type; 0 if the count was not sourced (`_COUNTED`: never)."""
    return row.accelerator.count or 0


def _gpus_of(platform: PlatformValue, catalogue: Catalogue) -> list[Gpu]:
    keys = {
        row.accelerator.gpu
        for row in catalogue.instances.values()
        if row.cloud in platform.facts.clouds and row.accelerator.fraction == 1
    }
    return [catalogue.gpu(key) for key in keys if catalogue.gpu(key).vendor == "nvidia"]


def _from_instance_types(
    pool: GpuPool, path: str, platform: PlatformValue, gpu: Gpu | None, catalogue: Catalogue
) -> Choice:
    findings: list[Finding] = []
    rows: list[InstanceType] = []
    for index, name in enumerate(pool.instance_types):
        place = f"{path}.instanceTypes[{index}]"
        try:
            row = _instance(name, gpu, pool.gpus_per_node or 1, catalogue)
        except UnknownKeyError as unknown:
            near = ", ".join(unknown.nearest)
            findings.append(
                _finding(
                    "instance-type-unknown",
                    place,
                    fix=(
                        f"nearest: {near}" if near else "`gpufleet catalogue instances` lists them"
                    ),
                    found=name,
                    nearest=unknown.nearest,
                )
            )
            continue
        if row.cloud not in platform.facts.clouds and not platform.facts.any_seller:
            findings.append(_elsewhere(row, place, platform, catalogue))
        elif (
            row.accelerator.count is None and catalogue.gpu(row.accelerator.gpu).vendor in _COUNTED
        ):
            findings.append(
                _finding(
                    "instance-devices-unknown",
                    place,
                    gpu=row.accelerator.gpu,
                    found=name,
                    edition=catalogue.edition,
                )
            )
        elif name in pool.instance_types[:index]:
            findings.append(_finding("instance-type-twice", place, name=name))
        else:
            rows.append(row)
    findings = findings or [*_disagreements(rows, pool, path, gpu)]
    if findings:
        return _refused(*findings)
    return tuple(map(_machine, rows)), catalogue.gpu(rows[0].accelerator.gpu), ()


def _instance(name: str, gpu: Gpu | None, count: int, catalogue: Catalogue) -> InstanceType:
    """The catalogue row; an N1 machine accepts any GPU that can be attached to it."""
    if name.startswith("n1-") and gpu is not None:
        for row in catalogue.instances_with_gpu(gpu.key, GCP):
            if row.attachable and row.accelerator.count == count:
                return catalogue.attached_to(row, name)
    return catalogue.offered.get(name) or catalogue.instance(name)


def _elsewhere(
    row: InstanceType, place: str, platform: PlatformValue, catalogue: Catalogue
) -> Finding:
    same: list[str] = []
    for cloud in platform.facts.clouds:
        same += [r.name for r in catalogue.instances_with_gpu(row.accelerator.gpu, cloud)]
    return _finding(
        "instance-type-not-on-platform",
        place,
        fix=(
            f"with the same GPU there: {', '.join(same[:3])}"
            if same
            else f"{platform.name} has no machine with {row.accelerator.gpu}"
        ),
        found=row.name,
        cloud=row.cloud,
        platform=platform.name.value,
    )


def _disagreements(
    rows: list[InstanceType], pool: GpuPool, path: str, gpu: Gpu | None
) -> Iterator[Finding]:
    """All machines of a pool must be equal for the scheduler."""
    first = rows[0]
    for row in rows[1:]:
        ours, theirs = _shape(first), _shape(row)
        different = [
            f"{key} {theirs[key]} next to {ours[key]}" for key in ours if ours[key] != theirs[key]
        ]
        if different:
            yield _finding(
                "instance-types-differ",
                path,
                machine=row.name,
                other_machine=first.name,
                different=different,
                first=ours,
                other=theirs,
            )
    yield from _rules("machine", path, pool=pool, gpu=gpu, first=first, count=_devices(first))


def _shape(row: InstanceType) -> dict[str, str]:
    return {
        "GPU": row.accelerator.gpu,
        "GPUs": str(row.accelerator.count),
        "fraction": str(row.accelerator.fraction),
        "architecture": row.architecture,
    }


def _own_machine(pool: GpuPool, path: str, platform: PlatformValue, gpu: Gpu | None) -> Choice:
    findings = [*_rules("own machine", path, pool=pool, platform=platform)]
    size = platform_rules(platform).own_machine(pool, path)
    if isinstance(size, Finding):
        return _refused(*findings, size)
    if findings or gpu is None:
        return _refused(*findings)
    machine = Machine(
        name=f"{platform.name}:{pool.name}",
        architecture="amd64",
        vcpu=size.vcpu,
        memory_bytes=None if size.memory_gib is None else size.memory_gib * GIB,
        local_nvme_bytes=None,
        efa_interfaces=0,
        gpus=pool.gpus_per_node or 1,
        fraction=Fraction(1),
        instance=None,
    )
    return (machine,), gpu, ()
