"""Claims of dynamic resource allocation: ResourceClaim, ResourceClaimTemplate, DeviceClass."""

import re
from collections.abc import Iterator
from typing import Any

from gpufleet.cluster.claims import DeviceClaim, DeviceClass, DeviceRequest
from gpufleet.cluster.fact import Fact, absent, known, unknown
from gpufleet.documents.shapes import is_list, items, known_texts, mapping
from gpufleet.findings.locator import Locator
from gpufleet_policies.readers.intent import declared_environment
from gpufleet_policies.readers.raw_pods import natural
from gpufleet_policies.readers.reading import at, fact, text


def device_class(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """resource.k8s.io DeviceClass."""
    selectors = _number_of(at(document, "spec.selectors"), "spec.selectors")
    yield DeviceClass(locator=locator, **_declared(document), selectors=selectors)


def claim(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """resource.k8s.io ResourceClaim and ResourceClaimTemplate."""
    is_template = locator.kind == "ResourceClaimTemplate"
    path = "spec.spec.devices.requests" if is_template else "spec.devices.requests"
    yield DeviceClaim(
        locator=locator,
        **_declared(document),
        is_template=is_template,
        requests=tuple(_requests(at(document, path), path)),
        configured=at(document, f"{path.rpartition('.')[0]}.config") is not None,
    )


def _declared(document: dict[str, Any]) -> dict[str, Any]:
    written = mapping(at(document, "metadata.annotations"))
    return {"annotations": known_texts(written), "environment": declared_environment(written)}


def _requests(value: Any, path: str) -> Iterator[DeviceRequest]:
    """From 1.33 a request has `exactly` or `firstAvailable`; before, the request had its fields."""
    for index, request in enumerate(items(value)):
        place = f"{path}[{index}]"
        name = at(request, "name")
        named = name if isinstance(name, str) else str(index)
        choices = at(request, "firstAvailable")
        if is_list(choices):
            for number, choice in enumerate(choices):
                where = f"{place}.firstAvailable[{number}]"
                yield _request(mapping(choice), named, where, alternative=True)
            continue
        exactly = at(request, "exactly")
        if exactly is None:
            yield _request(mapping(request), named, place)
        else:
            yield _request(mapping(exactly), named, f"{place}.exactly")


def _request(
    fields: dict[str, Any], name: str, place: str, *, alternative: bool = False
) -> DeviceRequest:
    return DeviceRequest(
        name=name,
        place=place,
        device_class=fact(fields.get("deviceClassName"), text, f"{place}.deviceClassName"),
        allocation=fact(fields.get("allocationMode"), text, f"{place}.allocationMode").or_default(
            "ExactCount"
        ),
        count=fact(fields.get("count"), natural, f"{place}.count").or_default(1),
        selectors=_number_of(fields.get("selectors"), f"{place}.selectors"),
        alternative=alternative,
        admin_access=fields.get("adminAccess") is True,
        product=_product(fields.get("selectors")),
    )


_PRODUCT = re.compile(
    r"\s*device\.attributes\[['\"]gpu\.nvidia\.com['\"]\]\.productName\s*==\s*(['\"])([^'\"]+)\1\s*"
)
"""A selector that is the product's name and nothing else."""


def _product(selectors: Any) -> str:
    for one in items(selectors):
        expression = at(one, "cel.expression")
        found = _PRODUCT.fullmatch(expression) if isinstance(expression, str) else None
        if found is not None:
            return found.group(2)
    return ""


def _number_of(value: Any, place: str) -> Fact[int]:
    if value is None:
        return absent(place)
    if not is_list(value):
        return unknown(place)
    return known(len(value), place=place) if value else absent(place)
