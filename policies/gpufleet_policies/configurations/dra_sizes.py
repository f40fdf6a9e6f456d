"""Lists of a claim or class that the API server limits, rows of features.jsonl, forms of names,
names in configs and constraints, and the extended resource of a class."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpufleet.catalogue.lookup import nearest_fix
from gpufleet.cluster.program import KUBERNETES
from gpufleet.cluster.site import Site
from gpufleet.contract.programs.go_json import kind_of, shown
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.paths import child, items_at
from gpufleet.documents.shapes import as_list, as_mapping
from gpufleet_policies.names import meanings

_RESOURCE = re.compile(
    r"(?!requests\.)(?![^/]*kubernetes\.io/)[a-z0-9]([-a-z0-9.]{0,236}[a-z0-9])?"
    r"/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)
"""An extended resource; with `requests.` before it the domain has at most 253 characters."""
_DOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_WORD = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_ATTRIBUTE = (
    rf"(?!.{{63}}.*/)({_DOMAIN}/[A-Za-z_]\w{{0,31}}|[^/]*)",
    "an attribute: a domain of at most 63 characters, `/` and an identifier of at most 32",
    "such as `gpu.nvidia.com/uuid`",
)
_FORMS = {
    "deviceClassName": (rf"({_DOMAIN})?", "the name of a class", "such as `gpu.nvidia.com`"),
    "driver": (rf"(?i)(?!.{{64}}){_DOMAIN}", "the name of a driver", "such as `gpu.nvidia.com`"),
    "key": (rf"({_DOMAIN}/)?{_WORD}", "the key of a taint", "such as `example.com/repair`"),
    "value": (rf"({_WORD})?", "the value of a taint", "letters, digits, `-`, `_` and `.`"),
    "matchAttribute": _ATTRIBUTE,
    "distinctAttribute": _ATTRIBUTE,
}
"""Field of a claim or class -> its form, its description, and the text to write. An attribute
without its domain, and a missing class, have separate findings."""
_PARAMETERS = 10 * 1024
"""Bytes of opaque parameters: OpaqueParametersMaxLength of pkg/apis/resource/types.go (v1.36.0)."""
_FIXES = meanings("list that Kubernetes limits")


def validate_sizes(holder: Mapping[str, Any], path: str, site: Site, report: CheckReport) -> None:
    """Requests, alternatives, constraints, configs, selectors and tolerations, at `path`: how many
    there are, and the form of their names and parameters."""
    limits = site.catalogue.features(KUBERNETES).limits
    for name, place, value in _fields(holder, path):
        row, found = limits.get(name), len(as_list(value) or ())
        if row is not None and found > row.limit:
            report.say(
                "dra-value-invalid/entries",
                place,
                value=found,
                limit=row.limit,
                fix=_FIXES.get(name, "remove some"),
            )
        form = _FORMS.get(name)
        if form is not None and isinstance(value, str) and not re.fullmatch(form[0], value):
            report.say(
                "dra-value-invalid/form",
                place,
                value=value,
                written=shown(value),
                form=form[1],
                example=form[2],
            )
        if name == "opaque":
            _validate_parameters(as_mapping(value) or {}, child(place, "parameters"), report)


def _validate_parameters(opaque: Mapping[str, Any], place: str, report: CheckReport) -> None:
    """An object of at most 10 KiB; what NVIDIA's drivers read is validated with the config."""
    parameters = opaque.get("parameters")
    of_nvidia = str(opaque.get("driver")).endswith("nvidia.com")
    if as_mapping(parameters) is None and not of_nvidia:
        kind = kind_of(parameters)
        report.say("dra-value-invalid/object", place, value=shown(parameters), kind=kind)
    size = len(json.dumps(parameters, separators=(",", ":"), default=str).encode())
    if size > _PARAMETERS:
        report.say("dra-value-invalid/size", place, value=size, limit=_PARAMETERS)


def _fields(holder: Mapping[str, Any], path: str) -> Iterator[tuple[str, str, Any]]:
    """Name, place and value of each field under an object; opaque parameters are not looked at."""
    for name, value in holder.items():
        place = child(path, name)
        yield name, place, value
        for index, entry in enumerate(as_list(value) or ()):
            yield from _fields(as_mapping(entry) or {}, child(place, index))
        inner = as_mapping(value)
        if inner is not None and name != "parameters":
            yield from _fields(inner, place)


def validate_resource_name(spec: Mapping[str, Any], path: str, report: CheckReport) -> None:
    """Source: kubernetes v1.37.2 pkg/apis/core/v1/helper/helpers.go, IsExtendedResourceName."""
    name = spec.get("extendedResourceName")
    if not isinstance(name, str) or _RESOURCE.fullmatch(name):
        return
    report.say("dra-value-invalid", path, value=name, name=shown(name))


def validate_references(
    item: Mapping[str, Any], known: set[str], place: str, report: CheckReport
) -> None:
    """The requests that a config or constraint names: each is there, and named once."""
    before: set[str] = set()
    for at, name in items_at(item, "requests"):
        if isinstance(name, str) and name in before:
            report.say("dra-value-invalid/twice", f"{place}.{at}", value=name)
        elif isinstance(name, str) and name not in known:
            fix = nearest_fix(name, sorted(known))
            report.say("dra-request-absent", f"{place}.{at}", fix=fix, value=name)
        before.add(str(name))
