"""Lists of a claim or class that the API server limits, rows of features.jsonl, and the name of a
resource that a class answers."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpufleet.cluster.program import KUBERNETES
from gpufleet.cluster.site import Site
from gpufleet.contract.programs.go_json import shown
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.paths import child
from gpufleet.documents.shapes import as_list, as_mapping

_RESOURCE = re.compile(
    r"(?!requests\.)(?![^/]*kubernetes\.io/)[a-z0-9]([-a-z0-9.]{0,236}[a-z0-9])?"
    r"/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)
"""An extended resource; with `requests.` before it the domain has at most 253 characters."""
_FIXES = {
    "requests": "ask for several like devices by `count`, or make another claim",
    "firstAvailable": "keep those that are preferred",
    "selectors": "join expressions by `&&`",
}


def validate_sizes(holder: Mapping[str, Any], path: str, site: Site, report: CheckReport) -> None:
    """Requests, alternatives, constraints, configs, selectors and tolerations, at `path`."""
    limits = site.catalogue.features(KUBERNETES).limits
    for name, place, found in _lists(holder, path):
        row = limits.get(name)
        if row is not None and found > row.limit:
            report.add(
                "dra-value-invalid",
                place,
                f"{found} entries: the API server takes at most {row.limit}",
                _FIXES.get(name, "remove some"),
                value=found,
                limit=row.limit,
            )


def _lists(holder: Mapping[str, Any], path: str) -> Iterator[tuple[str, str, int]]:
    """Name, place and length of each list under an object; opaque parameters are not looked at."""
    for name, value in holder.items():
        place = child(path, name)
        entries = as_list(value)
        if entries is not None:
            yield name, place, len(entries)
        for index, entry in enumerate(entries or ()):
            yield from _lists(as_mapping(entry) or {}, child(place, index))
        inner = as_mapping(value)
        if inner is not None and name != "parameters":
            yield from _lists(inner, place)


def validate_resource_name(spec: Mapping[str, Any], path: str, report: CheckReport) -> None:
    """Source: kubernetes v1.37.2 pkg/apis/core/v1/helper/helpers.go, IsExtendedResourceName."""
    name = spec.get("extendedResourceName")
    if not isinstance(name, str) or _RESOURCE.fullmatch(name):
        return
    report.add(
        "dra-value-invalid",
        path,
        f"{shown(name)} is not the name of an extended resource: DOMAIN/NAME outside "
        "kubernetes.io, and not beginning with `requests.`",
        "write a name such as `nvidia.com/gpu`",
        value=name,
    )
