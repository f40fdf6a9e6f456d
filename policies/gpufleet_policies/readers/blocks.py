"""Reading properties of cloud resources: Pulumi's spelling, and Terraform's turned into it."""

import re
from typing import Any

from gpufleet.cluster.fact import UNKNOWN, Fact, absent, known, unknown
from gpufleet.cluster.pool import region_of_zones
from gpufleet.documents.paths import value_at
from gpufleet.documents.shapes import is_list, is_mapping, known_texts
from gpufleet_policies.names import meanings, names
from gpufleet_policies.readers.reading import boolean, fact, text, whole, without
from gpufleet_policies.resolve.hcl import INSERTED
from gpufleet_policies.wrappers.release import parse_yaml

_VERBATIM = frozenset(names("map with keys of the user"))
"""Maps whose keys are the author's words."""

LISTS = meanings("list of the Kubernetes provider")
"""Blocks of the provider hashicorp/kubernetes that are lists in the API, which names them so.
Source: hashicorp/terraform-provider-kubernetes kubernetes/schema_pod_spec.go and its neighbours."""
_MAPS = frozenset(names("map of the Kubernetes provider"))
_NUMBERS = frozenset(names("number of the Kubernetes provider"))
"""Attributes that the provider has as text."""

_UNDERSCORE = re.compile(r"_([a-z0-9])")


def camel(name: str) -> str:
    """`instance_types` as `instanceTypes`."""
    return _UNDERSCORE.sub(lambda found: found[1].upper(), name)


def camel_keys(value: Any) -> Any:
    """A Terraform value with Pulumi's key spelling, the author's own maps as they are."""
    if is_mapping(value):
        return {
            (key := camel(name)): item if key in _VERBATIM else camel_keys(item)
            for name, item in value.items()
        }
    if is_list(value):
        return [camel_keys(item) for item in value]
    return value


def api_object(value: Any) -> Any:
    """A value of the provider hashicorp/kubernetes as the API has it: blocks that are no list there
    are objects, counts in texts are numbers, what is not written is left out."""
    if is_list(value):
        return [api_object(one) for one in value]
    if not is_mapping(value):
        return value
    found: dict[str, Any] = {}
    for name, item in value.items():
        if name in _MAPS:
            found[camel(name)] = item
        elif name in _NUMBERS and isinstance(item, str) and item.isdecimal():
            found[camel(name)] = int(item)
        elif name == "port" and isinstance(item, int | str):  # in the `port` of a Service
            found[name] = item
        elif name in LISTS or not (is_list(item) and item and is_mapping(item[0])):
            found[LISTS.get(name) or camel(name)] = api_object(item)
        else:
            found[camel(name)] = api_object(item[0])
    return {name: item for name, item in found.items() if item not in (None, [])}


def literal(written: str) -> Any:
    """The data of a text of YAML in Terraform, UNKNOWN where an expression is inserted. Raises
    UnreadableDocumentError."""
    return without(parse_yaml(written), lambda one: isinstance(one, str) and INSERTED in one)


def block(value: Any) -> Any:
    """A nested block: Pulumi has a mapping where Terraform has a list of at most one."""
    if is_list(value):
        return value[0] if value else None
    return value


def inside(document: Any, path: str) -> Any:
    """The plain value under a dotted path, through blocks; None when absent, UNKNOWN when hidden.

    An explicit null is absent: Terraform writes every unset attribute as null.
    """
    return value_at(document, path, unreadable=UNKNOWN, opened=block)


def number(document: Any, path: str) -> Fact[int]:
    """A whole number under a path."""
    return fact(inside(document, path), whole, path)


def word(document: Any, path: str, *others: str) -> Fact[str]:
    """A text under a path, else under the first of others that has one; empty text is absent, as
    Terraform writes it."""
    found = inside(document, path)
    if found in (None, "") and others:
        return word(document, *others)
    return fact(found or None if isinstance(found, str) else found, text, path)


def flag(document: Any, path: str) -> Fact[bool]:
    """True or false under a path."""
    return fact(inside(document, path), boolean, path)


def texts(document: Any, path: str) -> Fact[tuple[str, ...]]:
    """A list of texts under a path; unknown when one of them is, absent when empty."""
    found = inside(document, path)
    if found is None or found == []:
        return absent(path)
    if not is_list(found) or not all(isinstance(one, str) for one in found):
        return unknown(path)
    return known(tuple(found), place=path)


def own_texts(document: Any) -> dict[str, str]:
    """Labels and annotations of an object whose values are known."""
    labels = known_texts(inside(document, "metadata.labels"))
    return {**labels, **known_texts(inside(document, "metadata.annotations"))}


def all_known(value: Any) -> bool:
    """Whether a map, or its absence, is fully readable."""
    if value is None:
        return True
    return is_mapping(value) and UNKNOWN not in value.values()


_REGION = re.compile(r"^[a-z]+-[a-z0-9-]{1,40}[0-9]$")
_ARNS = ("arn", "nodeGroupArn")


def region_of(document: Any, *places: str) -> Fact[str]:
    """From `region`, from these other places, from its ARN or its zones; absent without any.

    A value that is not a region, like a zone at GKE's `location`, is ignored.
    """
    for place in ("region", *places):
        found = word(document, place)
        if found.is_known and _REGION.match(found.value):
            return known(found.value, place=place)
    for place in _ARNS:
        found = word(document, place)
        parts = found.value.split(":") if found.is_known else []
        if len(parts) > 4 and _REGION.match(parts[3]):
            return known(parts[3], place=place)
    zone, zones = word(document, "availabilityZone"), texts(document, "availabilityZones")
    named = (zone.value,) if zone.is_known else zones.value if zones.is_known else ()
    region = region_of_zones(named)
    return absent("region") if region is None else known(region, place="availabilityZones")
