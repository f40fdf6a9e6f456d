"""The packing file: machine types, shares, what is there already, and the limits; with amounts as
people write them: memory with a unit, CPUs, a part of a GPU."""

import re
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator

from gpufleet.documents.quantities import quantity
from gpufleet.findings import Finding, findings_in
from gpufleet_planner.packing.problem import Mode
from gpufleet_planner.sizing.request import RequestModel, read_model

_MEMORY = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:([KMGT])(i?))?B?\s*", re.IGNORECASE)


def read_memory(value: object) -> int:
    """Bytes of `20GiB`, `20 GB`, `500Mi` or a whole number of bytes; part of a byte counts as one.

    1 GB (and G) is 10^9 bytes, 1 GiB (and Gi) 2^30. Raises ValueError for anything else, and for a
    number without a unit that would be less than a mebibyte: there a unit was forgotten.
    """
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise ValueError("write memory with a unit, such as 20GiB")  # noqa: TRY004  pydantic's
    found = _MEMORY.fullmatch(str(value))
    if found is None:
        raise ValueError("write memory with a unit, such as 20GiB, 20GB or 500MiB")
    number, letter, binary = found.groups(default="")
    amount = Decimal(number) * (1024 if binary else 1000) ** " KMGT".index(letter.upper() or " ")
    if not 0 < amount <= 1 << 50:
        raise ValueError("memory must be above 0 and at most 1 PiB")
    if number == str(value).strip() and amount < 1 << 20:
        raise ValueError(f"{found[1]} without a unit is {found[1]} bytes: write {found[1]}GiB")
    return int(amount.to_integral_value(rounding="ROUND_CEILING"))


def read_cpu(value: object) -> int:
    """Milli-CPUs of `4`, `0.5` or `500m`. Raises ValueError."""
    found = None if isinstance(value, bool) else quantity(str(value).strip())
    if found is None or not 0 < found * 1000 <= 10**8 or (found * 1000).denominator != 1:
        raise ValueError("write CPUs such as 4, 0.5 or 500m")
    return int(found * 1000)


def read_part(value: object) -> Fraction:
    """A part of a GPU: `0.25`, `1/4` or `25%`, above 0 and at most 1. Raises ValueError."""
    text = str(value).strip()
    try:
        part = Fraction(text[:-1]) / 100 if text.endswith("%") else Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError("write a part of a GPU, such as 0.25, 1/4 or 25%") from None
    if isinstance(value, bool) or not 0 < part <= 1:
        raise ValueError("a part of a GPU is above 0 and at most 1")
    return part


_finding = findings_in(__file__)

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$", max_length=63)]
Count = Annotated[int, Field(ge=0, le=1_000_000)]
Memory = Annotated[int, BeforeValidator(read_memory)]
"""Bytes, or a text such as `20GiB`."""
Cpu = Annotated[int, BeforeValidator(read_cpu)]
"""Milli-CPUs of `4`, `0.5` or `500m`."""
CpuLeft = Annotated[int, BeforeValidator(lambda value: value if value == 0 else read_cpu(value))]
MemoryLeft = Annotated[
    int, BeforeValidator(lambda value: value if value == 0 else read_memory(value))
]
MOST_SHARES = 100_000
"""Maximum number of shares in a file. Each is placed, checked and listed separately, 30 to 40
microseconds each: the answer takes seconds."""
PartOfGpu = Annotated[Fraction, BeforeValidator(read_part)]
"""`0.25`, `1/4` or `25%`."""


class MachineRequest(RequestModel):
    """A machine type that may be bought. From the catalogue, or described here."""

    name: Name | None = None
    """Its name in the rest of the file; default: the instance type, else the GPU."""
    instance_type: str | None = None
    """Machine type of the catalogue: brings GPU, GPUs per node, memory and price."""
    purchase: str = "onDemand"
    """Whose price of the catalogue counts: onDemand, spot, ..."""
    gpu: str | None = None
    """GPU of the catalogue; without an instance type."""
    gpus_per_node: Annotated[int, Field(ge=1, le=64)] | None = None
    """1 by default; without an instance type."""
    usd_per_hour: Annotated[Decimal, Field(ge=0, le=1_000_000)] | None = None
    """Price of one node, instead of the catalogue's."""
    max_nodes: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    """Maximum number of nodes to buy; 0: existing nodes only. Default: no limit."""
    mig_strategy: Annotated[str, Field(pattern="^(mixed|single)$")] = "mixed"
    """`single`: all GPUs of a node are partitioned into one profile."""
    modes: tuple[Mode, ...] = tuple(Mode)
    """Allowed uses of its GPUs: whole, mig, mps, timeSlicing. Default: all."""
    cpu: Cpu | None = None
    """CPUs of a node for shares. Default: the catalogue's, all of them."""
    host_memory: Memory | None = None
    """Host memory of a node for shares. Default: the catalogue's, all of it."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.instance_type is None) == (self.gpu is None):
            raise ValueError("write either instanceType or gpu")
        if self.instance_type is not None and self.gpus_per_node is not None:
            raise ValueError("gpusPerNode follows from instanceType: leave it out")
        return self


class SliceRequest(RequestModel):
    """Any MIG instance or whole GPU that is large enough."""

    memory: Memory | None = None
    """Least memory."""
    compute_slices: Annotated[int, Field(ge=0, le=8)] = 0
    """Least compute slices, where it is a MIG instance."""
    mig_only: bool = False
    """Never a whole GPU."""

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.memory is None and not self.compute_slices:
            raise ValueError("write memory, computeSlices or both")
        return self


class FractionRequest(RequestModel):
    """A part of a GPU through MPS or time-slicing."""

    part: PartOfGpu | None = None
    """Minimum part of the GPU's time (time-slicing) or threads (MPS)."""
    memory: Memory | None = None
    """Least memory. Under time-slicing nothing enforces it: shares get an even part."""

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.part is None and self.memory is None:
            raise ValueError("write part, memory or both")
        return self


class ShareRequest(RequestModel):
    """Equal shares: exactly one of mig, slice, gpus, mps, timeSlicing."""

    name: Name
    count: Count = 1
    mig: str | None = None
    """MIG profile, exactly this one: `1g.10gb`."""
    slice: SliceRequest | None = None
    gpus: Annotated[int, Field(ge=1, le=64)] | None = None
    """Whole GPUs of each share, all on one node."""
    memory: Memory | None = None
    """With gpus: minimum memory of each."""
    mps: FractionRequest | None = None
    time_slicing: FractionRequest | None = None
    machines: tuple[str, ...] | None = None
    """Machine types, by name or by GPU, that it may go to. Default: all."""
    cpu: Cpu | None = None
    """CPUs of each share. Default: not counted."""
    host_memory: Memory | None = None
    """Host memory of each share. Default: not counted."""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        kinds = (self.mig, self.slice, self.gpus, self.mps, self.time_slicing)
        given = sum(kind is not None for kind in kinds)
        if given != 1:
            raise ValueError(
                f"write exactly one of mig, slice, gpus, mps, timeSlicing, not {given}"
            )
        if self.memory is not None and self.gpus is None:
            raise ValueError("memory needs gpus: a MIG profile has its own memory")
        return self


class ExistingInstance(RequestModel):
    """A MIG instance that is there."""

    profile: str
    start: Annotated[int, Field(ge=0, le=63)]
    """First memory slot (`nvidia-smi mig -lgi`)."""


class ExistingClients(RequestModel):
    """A GPU that is divided by MPS or time-slicing."""

    replicas: Annotated[int, Field(ge=1, le=1024)]
    used: Count = 0
    """Shares of it that are taken."""


class ExistingGpuRequest(RequestModel):
    """One GPU of an existing node; nothing written: it is free."""

    mig: tuple[ExistingInstance, ...] | None = None
    """Instances; an empty list: in MIG mode without any."""
    whole: bool = False
    """A workload has all of it."""
    mps: ExistingClients | None = None
    time_slicing: ExistingClients | None = None

    @model_validator(mode="after")
    def _one_use(self) -> Self:
        uses = (self.mig, self.whole or None, self.mps, self.time_slicing)
        if sum(use is not None for use in uses) > 1:
            raise ValueError("write one of mig, whole, mps, timeSlicing")
        return self


class ExistingRequest(RequestModel):
    """A node that is there and paid for. Nothing on it is moved."""

    node: Name
    machine: str
    """Name of a machine type of this file."""
    gpus: tuple[ExistingGpuRequest, ...] = ()
    """By index; those left out at the end are free."""
    free_cpu: CpuLeft | None = None
    """CPUs that are left on it. Default: all, where nothing is on its GPUs."""
    free_host_memory: MemoryLeft | None = None
    """Host memory that is left on it. Default: all, where nothing is on its GPUs."""


class PackRequest(RequestModel):
    """A packing file."""

    catalogue: str | None = None
    """Edition; default: the current one."""
    machines: Annotated[tuple[MachineRequest, ...], Field(min_length=1, max_length=200)]
    shares: Annotated[tuple[ShareRequest, ...], Field(min_length=1, max_length=5000)]
    existing: Annotated[tuple[ExistingRequest, ...], Field(max_length=5000)] = ()


def parse_request(data: dict[str, Any]) -> tuple[PackRequest | None, tuple[Finding, ...]]:
    """Plain data of a file -> request, with every structural problem at once."""
    findings: list[Finding] = []
    request = read_model(PackRequest, data, "", "pack-request-invalid", findings)
    total = 0 if request is None else sum(share.count for share in request.shares)
    if request is not None and total > MOST_SHARES:
        largest = max(range(len(request.shares)), key=lambda index: request.shares[index].count)
        path = f"shares[{largest}].count"
        findings.append(_finding("pack-too-many-shares", path, found=total, limit=MOST_SHARES))
    return (None if findings else request), tuple(findings)
