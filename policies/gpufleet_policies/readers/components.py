"""GpuFleet as facts, read from the properties that it passes."""

from collections.abc import Callable, Iterator
from typing import Any

from gpufleet.catalogue import Catalogue
from gpufleet_policies.facts.locator import Locator
from gpufleet_policies.readers.fleet import fleet_from

Load = Callable[[], Catalogue]


def component(document: dict[str, Any], locator: Locator, load: Load) -> Iterator[Any]:
    """A component that passes a compiled fleet under `fleet`, as GpuFleet does."""
    fleet = fleet_from(document, locator)
    if fleet is not None:
        yield fleet
