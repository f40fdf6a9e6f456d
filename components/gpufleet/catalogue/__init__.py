"""Facts about GPUs, MIG, instances, prices, models, charts and images, by dated edition.

    from gpufleet.catalogue import load
    load().gpu("A100-80GB").mig

Importing this package parses no data and reads no file. Units: memory is integer bytes, money is
integer micro-dollars (1 USD = 1_000_000), bandwidth is integer bytes per second unless the name
says otherwise; marketing figures keep their unit (`nominal_gb`). None: no source gave the figure.
"""

from gpufleet.catalogue.catalogue import Catalogue
from gpufleet.catalogue.edition import DEFAULT_EDITION, UnknownEditionError, editions
from gpufleet.catalogue.gpu import Evidence, Gpu, MigGeometry, MigProfile, Rates
from gpufleet.catalogue.instance import (
    AWS,
    GCP,
    MICRO_USD,
    InstanceType,
    Price,
    PriceStatus,
)
from gpufleet.catalogue.language_model import Model
from gpufleet.catalogue.load import load
from gpufleet.catalogue.lookup import AmbiguousKeyError, UnknownKeyError
from gpufleet.catalogue.software import Chart, NodeImage, Package
from gpufleet.catalogue.source import Source

__all__ = [
    "AWS",
    "DEFAULT_EDITION",
    "GCP",
    "MICRO_USD",
    "AmbiguousKeyError",
    "Catalogue",
    "Chart",
    "Evidence",
    "Gpu",
    "InstanceType",
    "MigGeometry",
    "MigProfile",
    "Model",
    "NodeImage",
    "Package",
    "Price",
    "PriceStatus",
    "Rates",
    "Source",
    "UnknownEditionError",
    "UnknownKeyError",
    "editions",
    "load",
]
