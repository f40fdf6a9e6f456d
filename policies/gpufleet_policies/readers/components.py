"""GpuFleet as facts, read from the properties that it passes."""

from collections.abc import Iterator
from typing import Any

from gpufleet.findings.locator import Locator
from gpufleet_policies.readers.fleet import fleet_from


def component(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """A component that passes a compiled fleet under `fleet`, as GpuFleet does."""
    fleet = fleet_from(document, locator)
    if fleet is not None:
        yield fleet
