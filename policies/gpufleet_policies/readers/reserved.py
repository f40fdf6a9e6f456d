"""Resources that the scheduler reserves for a pod, from its specification as written."""

from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from gpufleet.documents.paths import entries_at, mapping_at
from gpufleet.documents.quantities import quantity
from gpufleet.documents.shapes import mapping


def amounts(value: object) -> dict[str, Fraction]:
    """Resources and their quantities; what is not a quantity is left out."""
    found = ((name, quantity(str(one))) for name, one in mapping(value).items())
    return {name: number for name, number in found if number is not None}


def reserved(spec: Mapping[str, Any]) -> dict[str, Fraction]:
    """Containers together or the largest one that initialises, whichever is more, and overhead
    (kubernetes `pkg/api/v1/resource` PodRequests)."""
    together: dict[str, Fraction] = defaultdict(Fraction)
    before: dict[str, Fraction] = defaultdict(Fraction)
    for key in ("initContainers", "containers"):
        for _, one in entries_at(spec, key):
            resources = mapping(one.get("resources"))
            asked = amounts(resources.get("limits")) | amounts(resources.get("requests"))
            for name, value in asked.items():
                if key == "containers" or one.get("restartPolicy") == "Always":
                    together[name] += value
                else:  # it runs before all but the sidecars above it
                    before[name] = max(before[name], value + together[name])
    found = {name: max(together[name], before[name]) for name in {**together, **before}}
    found |= amounts(mapping_at(spec, "resources").get("requests"))
    for name, value in amounts(spec.get("overhead")).items():
        found[name] = found.get(name, Fraction(0)) + value
    return found
