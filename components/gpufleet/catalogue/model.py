"""Types of the catalogue: plain frozen rows, every one naming its source and its date.

Units: memory is integer bytes, money is integer micro-dollars (1 USD = 1_000_000), bandwidth is
integer bytes per second unless the name says otherwise. Marketing figures keep the unit in their
name (`nominal_gb`). None means that no source gave the figure; it never means zero.
"""

from gpufleet.catalogue.driver_support import GenerationSupport, GpuSupport, OperatorRelease
from gpufleet.catalogue.frozen import FrozenDict, frozen
from gpufleet.catalogue.gpu import (
    EVIDENCE_ORDER,
    Evidence,
    Gpu,
    MigGeometry,
    MigProfile,
    Rates,
    VgpuBoard,
)
from gpufleet.catalogue.instance import (
    AWS,
    GCP,
    MICRO_USD,
    Accelerator,
    Cloud,
    HostLimit,
    InstanceType,
    Price,
    PriceStatus,
)
from gpufleet.catalogue.language_model import Model
from gpufleet.catalogue.software import Chart, NodeImage, Package
from gpufleet.catalogue.source import Source, SourceEntry

__all__ = [
    "AWS",
    "EVIDENCE_ORDER",
    "GCP",
    "MICRO_USD",
    "Accelerator",
    "Chart",
    "Cloud",
    "Evidence",
    "FrozenDict",
    "GenerationSupport",
    "Gpu",
    "GpuSupport",
    "HostLimit",
    "InstanceType",
    "MigGeometry",
    "MigProfile",
    "Model",
    "NodeImage",
    "OperatorRelease",
    "Package",
    "Price",
    "PriceStatus",
    "Rates",
    "Source",
    "SourceEntry",
    "VgpuBoard",
    "frozen",
]
