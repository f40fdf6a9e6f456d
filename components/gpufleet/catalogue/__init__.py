"""Facts about GPUs, MIG, instances, prices, models, charts and images, by dated edition.

    from gpufleet.catalogue import load
    load().gpu("A100-80GB").mig

Importing this package parses no data and reads no file.
"""

from gpufleet.catalogue.catalogue import Catalogue
from gpufleet.catalogue.edition import (
    DEFAULT_EDITION,
    Edition,
    UnknownEditionError,
    editions,
)
from gpufleet.catalogue.load import load
from gpufleet.catalogue.lookup import AmbiguousKeyError, UnknownKeyError
from gpufleet.catalogue.model import (
    AWS,
    GCP,
    Accelerator,
    Chart,
    Cloud,
    Evidence,
    Gpu,
    InstanceType,
    MigGeometry,
    MigProfile,
    Model,
    NodeImage,
    Price,
    PriceStatus,
    Rates,
    Source,
    SourceEntry,
)

__all__ = [
    "AWS",
    "DEFAULT_EDITION",
    "GCP",
    "Accelerator",
    "AmbiguousKeyError",
    "Catalogue",
    "Chart",
    "Cloud",
    "Edition",
    "Evidence",
    "Gpu",
    "InstanceType",
    "MigGeometry",
    "MigProfile",
    "Model",
    "NodeImage",
    "Price",
    "PriceStatus",
    "Rates",
    "Source",
    "SourceEntry",
    "UnknownEditionError",
    "UnknownKeyError",
    "editions",
    "load",
]
