"""The file of own hardware that a fleet is compared with: machines, power, room, people, years."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any

from pydantic import Field

from gpufleet.catalogue import Catalogue, UnknownKeyError
from gpufleet.findings import Finding, error, has_errors
from gpufleet_planner.sizing.request import RequestModel, read_model

INVALID = "own-hardware-invalid"

Dollars = Annotated[Decimal, Field(ge=0, le=1_000_000_000, max_digits=16, decimal_places=6)]
Part = Annotated[Decimal, Field(ge=0, le=1)]


class OwnMachine(RequestModel):
    """A machine that can be bought."""

    gpu: str
    """Key of the GPU in the catalogue."""
    gpus: Annotated[int, Field(ge=1, le=16)]
    """GPUs of one machine."""
    usd: Dollars
    """Price of one machine, with its part of network and racks."""
    kw: Annotated[Decimal, Field(gt=0, le=500)]
    """Power at full load, in kW."""
    idle_kw: Annotated[Decimal, Field(ge=0, le=500)] | None = None
    """Power without load, in kW. Default: that at full load, the safe side."""


class OwnHardwarePlan(RequestModel):
    """Own hardware over years. Amounts are in US dollars, without taxes."""

    machines: Annotated[tuple[OwnMachine, ...], Field(min_length=1, max_length=100)]
    years: Annotated[int, Field(ge=1, le=15)] = 4
    """Years that are compared."""
    growth: Annotated[Decimal, Field(ge=Decimal("0.1"), le=10)] = Decimal(1)
    """What the need of a year is multiplied by for the next. Default 1: it stays."""
    usd_per_kwh: Dollars = Decimal(0)
    """Price of a kWh."""
    pue: Annotated[Decimal, Field(ge=1, le=5)] = Decimal(1)
    """Power of the whole site, cooling included, by that of its machines."""
    usd_per_kw_month: Dollars = Decimal(0)
    """Rent of a hosting site for each kW of full load."""
    usd_per_year: Dollars = Decimal(0)
    """People and whatever else costs the same in each year."""
    maintenance: Part = Decimal(0)
    """Service contract of a year, as a part of the price of the machines."""
    residual: Part = Decimal(0)
    """What a machine is worth after `years`, as a part of its price; in between by time."""
    interest: Annotated[Decimal, Field(ge=0, le=1)] = Decimal(0)
    """Rate of a year by which later amounts count less."""
    lead_weeks: Annotated[int, Field(ge=0, le=260)] = 0
    """Weeks from the order to machines that run. Until then the cloud is paid."""
    utilisation: Part | None = None
    """Part of the time in which the GPUs that are bought are needed. Default: the pool's expected
    nodes by its most nodes."""


def read_own_hardware(
    data: Mapping[str, Any], catalogue: Catalogue
) -> tuple[OwnHardwarePlan | None, tuple[Finding, ...]]:
    """Plain data of a file as own hardware; None with every problem at once."""
    findings: list[Finding] = []
    plan = read_model(OwnHardwarePlan, data, "", INVALID, findings)
    if plan is None:
        return None, tuple(findings)
    seen: dict[str, str] = {}
    for index, machine in enumerate(plan.machines):
        path = f"machines[{index}]"
        try:
            key = catalogue.gpu(machine.gpu).key
        except UnknownKeyError as unknown:
            keys = "`gpufleet catalogue gpus` lists the keys"
            findings.append(error(INVALID, f"{path}.gpu", str(unknown), keys))
            continue
        if key in seen:
            text = f"{seen[key]} has the GPU {key} too"
            findings.append(error(INVALID, f"{path}.gpu", text, "keep one machine for each GPU"))
        seen.setdefault(key, path)
        if machine.idle_kw is not None and machine.idle_kw > machine.kw:
            text = f"{machine.idle_kw} kW without load is more than {machine.kw} kW at full load"
            findings.append(error(INVALID, f"{path}.idleKw", text, f"write at most {machine.kw}"))
    return (None if has_errors(findings) else plan), tuple(findings)
