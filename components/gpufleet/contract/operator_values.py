"""Effective values of a chart: raw Helm values are merged last and override typed settings."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gpufleet.cluster.fact import UNKNOWN
from gpufleet.cluster.program import Program
from gpufleet.contract.contract_fact import ContractFact
from gpufleet.documents.paths import value_at

if TYPE_CHECKING:
    from gpufleet.spec.addons import GpuOperator

DEFAULTS: Mapping[str, object] = {
    "driver.rdma.enabled": False,
    "driver.rdma.useHostMofed": False,
    "driver.kernelModuleType": "auto",
    "driver.usePrecompiled": False,
    "gds.enabled": False,
    "gdrcopy.enabled": False,
}
"""Defaults of the GPU Operator chart v26.7.0 for the values that the contract reads
(NVIDIA/gpu-operator `deployments/gpu-operator/values.yaml`)."""

VALUES = "addons.gpuOperator.values"


def value_of(program: Program, key: str) -> object:
    """Value of an installed GPU Operator at a key of `DEFAULTS`; None if not known."""
    found = value_at(program.values, key)
    if found is UNKNOWN or (found is None and not program.complete):
        return None
    return DEFAULTS[key] if found is None else found


def said_of(program: Program, key: str) -> ContractFact:
    """The same as a link of a chain."""
    written, value = program.written_at(key), value_of(program, key)
    if value is None:
        return ContractFact(f"{key} is not known", program.ownership.place)
    if not written:
        return ContractFact(f"{key} is {_yaml(value)} by default", "gpu-operator chart v26.7.0")
    return ContractFact(f"{key} is {_yaml(value)}", written)


def switch(operator: "GpuOperator", part: str, key: str) -> tuple[bool | None, str]:
    """Whether a part is explicitly on or off, and its place: raw values override typed ones."""
    path = f"addons.gpuOperator.{key}.enabled"
    found = value_at(operator.values, f"{key}.enabled")
    if isinstance(found, bool):
        return found, f"{VALUES}.{key}.enabled"
    typed: bool | None = getattr(operator, part).enabled
    return typed, path


def _yaml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
