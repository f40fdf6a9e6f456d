"""Value of the GPU Operator's chart for each typed setting.

One table serves rendering, the contract check and the comparison with raw values. Keys:
NVIDIA/gpu-operator v26.7.0 `deployments/gpu-operator/values.yaml` (read 2026-11-21).
"""

from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic.alias_generators import to_camel

from gpufleet.catalogue.edition import read_rows

if TYPE_CHECKING:
    from pydantic import BaseModel

    from gpufleet.spec.gpu_operator import GpuOperatorSettings

CHART_KEYS: Mapping[str, str] = {
    row["field"]: row["key"] for row in read_rows(Path(__file__).parent, "gpu_operator_keys")
}
"""Field of `GpuOperatorSettings` -> dotted key of the values."""


def typed_settings(
    settings: "GpuOperatorSettings", *, written: bool = False
) -> Iterator[tuple[str, str, Any]]:
    """Each setting that has a value: its field, its key in the chart, its value in YAML form.

    `written` leaves out defaults that the author did not write.
    """
    for field, key in CHART_KEYS.items():
        value = _at(settings, field, written)
        if value is not None and value not in ("", {}):
            yield field, key, _plain(value)


def declared_path(field: str) -> str:
    """A field in the spelling of the file: `driver.kernelModuleType`."""
    return ".".join(to_camel(part) for part in field.split("."))


def _at(settings: "BaseModel", field: str, written: bool) -> Any:
    at: Any = settings
    for part in field.split("."):
        if at is None or (written and part not in at.model_fields_set):
            return None
        at = getattr(at, part)
    return at


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value
