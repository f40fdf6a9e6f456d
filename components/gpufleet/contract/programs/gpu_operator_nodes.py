"""The operator's parts and the nodes: the plugin's CDI mode, the nodes' image."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpufleet.cluster.program import Reader
from gpufleet.cluster.site import Site
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.paths import child, entries_at, mapping_at, value_at
from gpufleet.documents.shapes import as_list, as_mapping

_CDI_SINCE = (25, 10)
"""First release with CDI on by default (GPU Operator release notes 25.10.0)."""
_VARIABLE = "DEVICE_LIST_STRATEGY"


def validate_list_strategy(
    values: Mapping[str, Any], operator: Reader, report: CheckReport
) -> None:
    """`devicePlugin.env` against CDI: the operator sets `cdi-annotations,cdi-cri`, and variables of
    the user are set after that."""
    written = value_at(values, "cdi.enabled")
    # An unnamed release may be older than CDI by default.
    known = operator.numbers is not None and not operator.is_default
    default = known and operator.at >= _CDI_SINCE
    if not (default if written is None else written is True):
        return
    for index, entry in enumerate(as_list(value_at(values, "devicePlugin.env")) or []):
        item = as_mapping(entry) or {}
        value = item.get("value")
        if item.get("name") != _VARIABLE or not isinstance(value, str):
            continue
        if any(part.strip().startswith("cdi-") for part in value.split(",")):
            continue
        report.add(
            "gpu-operator-list-strategy",
            child(child("devicePlugin.env", index), "value"),
            f"{_VARIABLE} is {value}, and CDI is on"
            + (" by default" if written is None else "")
            + f" in {operator}: it replaces cdi-annotations,cdi-cri, which the operator sets, and "
            "containers get devices that the CDI specification does not name",
            "remove it, or write `cdi: {enabled: false}`",
            value=value,
        )


def validate_images(values: Mapping[str, Any], context: Site, report: CheckReport) -> None:
    """The operator's driver on nodes whose image has one, and for which none is published."""
    if value_at(values, "driver.enabled") not in (None, True):
        return
    for key in context.images:
        image = context.catalogue.image(key)
        if image.driver and not image.operator_may_install_driver:
            report.add(
                "gpu-operator-driver-in-image",
                "driver.enabled",
                f"nodes of this text run {key}, which contains the driver"
                + (" and the toolkit" if image.toolkit else "")
                + ", and no driver container is published for it",
                "write `driver: {enabled: false}`"
                + (" and `toolkit: {enabled: false}`" if image.toolkit else ""),
                image=key,
            )


# Pods among the extraObjects of the GPU Operator's values.

_PRODUCT = "nvidia.com/gpu.product"


def validate_extra_objects(
    values: Mapping[str, Any], documents: Mapping[str, Any], report: CheckReport
) -> None:
    """Pods that request GPUs in a way that cannot work."""
    suffix = _suffix(documents)
    for place, item in entries_at(values, "extraObjects"):
        for path, spec in _pod_specs(item, place):
            if not _asks_for_gpu(spec):
                continue
            if spec.get("hostUsers") is False:
                report.say("gpu-operator-host-users", child(path, "hostUsers"))
            product = mapping_at(spec, "nodeSelector").get(_PRODUCT)
            if suffix and isinstance(product, str) and not product.endswith(suffix):
                report.say(
                    "gpu-operator-product-selector",
                    child(child(path, "nodeSelector"), _PRODUCT),
                    value=product,
                    suffix=suffix,
                )


def _pod_specs(item: Mapping[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for steps in ("spec", "spec.template.spec", "spec.jobTemplate.spec.template.spec"):
        spec = as_mapping(value_at(item, steps))
        if spec is not None and "containers" in spec:
            yield f"{path}.{steps}", spec


def _asks_for_gpu(spec: Mapping[str, Any]) -> bool:
    return any(
        re.match(r"nvidia\.com/(gpu|mig-)", name)
        for _, container in entries_at(spec, "containers")
        for name in mapping_at(container, "resources.limits")
    )


def _suffix(documents: Mapping[str, Any]) -> str:
    """Suffix of the product label by sharing, if every config of the plugin shares GPUs without
    renaming them."""
    for document in documents.values():
        sharing = mapping_at(document, "sharing")
        block = as_mapping(sharing.get("mps")) or as_mapping(sharing.get("timeSlicing"))
        if not block or block.get("renameByDefault") is True:
            return ""
    return "-SHARED" if documents else ""
