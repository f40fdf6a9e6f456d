"""Kind `gpu-operator-values`: values of the GPU Operator's chart, or its custom resources; the
operator's parts and the nodes: the plugin's CDI mode, the nodes' image."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpufleet.catalogue import Catalogue
from gpufleet.catalogue.features import numbers
from gpufleet.cluster.program import Program, Reader
from gpufleet.cluster.site import Site
from gpufleet.contract.advertising_programs import offered_twice
from gpufleet.contract.programs.chart_values import report_values
from gpufleet.contract.programs.custom_resources import objects_of
from gpufleet.contract.programs.dra_gates import DRIVER, gates_of, validate_gates
from gpufleet.contract.programs.go_json import kind_of
from gpufleet.contract.programs.gpu_operator_nested import (
    CODES,
    KINDS,
    slices_time,
    special_code,
    validate_counters,
    validate_defaults,
    validate_mig_config,
    validate_objects,
    validate_plugin_config,
)
from gpufleet.contract.programs.gpu_operator_runtime import (
    validate_driver_version,
    validate_environment,
    validate_runtime_paths,
    validate_value_images,
)
from gpufleet.contract.programs.rule_tables import note_text, rules_in
from gpufleet.contract.programs.validation import CheckReport, Judgement
from gpufleet.contract.schemas.chart_values import is_switch
from gpufleet.documents.document import GoDocument
from gpufleet.documents.paths import child, entries_at, mapping_at, value_at
from gpufleet.documents.shapes import as_list, as_mapping
from gpufleet.rules.rows import rule_table

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
    for place, item in entries_at(values, "devicePlugin.env"):
        value = item.get("value")
        if item.get("name") != _VARIABLE or not isinstance(value, str):
            continue
        if any(part.strip().startswith("cdi-") for part in value.split(",")):
            continue
        report.add(
            "gpu-operator-list-strategy",
            child(place, "value"),
            f"{_VARIABLE} is {value}, and CDI is on"
            + (" by default" if written is None else "")
            + f" in {operator}: it replaces cdi-annotations,cdi-cri, which the operator sets, and "
            "containers get devices that the CDI specification does not name",
            "remove it, or write `cdi: {enabled: false}`",
            value=value,
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


_OF_DRIVER = ("dra-gates-conflict", "dra-gate-unknown")
RULES = rule_table(
    *rules_in("gpu_operator"),
    *(one for one in rules_in("dra") if one.id in _OF_DRIVER),
    *rules_in("unknown_keys", "text_notes"),
)

_OPERANDS = {
    "devicePlugin.version": "device-plugin",
    "toolkit.version": "container-toolkit",
    "migManager.version": "mig-manager",
    "driver.manager.version": "driver-manager",
}
"""Versions in values -> components of the catalogue's row of the chart."""
_SWITCHES = ("enabled", "create", "deployCR", "usePrecompiled")


def validate(read: GoDocument, context: Site) -> Judgement:
    """Validate values, a ClusterPolicy, NVIDIADriver, GPUCluster, or a List of these."""
    report = CheckReport(RULES)
    note_text(read, report)
    values = {} if read.data is None else as_mapping(read.data)
    if _is_json_patch(read.data):
        report.say("gpu-operator-patch/json", "")
        return report.validation()
    if values is None:
        report.say("gpu-operator-no-mapping", "", kind=kind_of(read.data))
        return report.validation()
    objects = objects_of(values, KINDS)
    if objects is not None:
        validate_objects(objects, context, report)
        return report.validation()
    operator = context.release_of("gpu-operator")
    older = operator.is_default and _pins_older_operands(values, context.catalogue)
    if not older:
        report.apply("ignored", values=values, at=operator.numbers)
    _validate_switches(values, "", report)
    reboots = any(
        entry.get("name") == "WITH_REBOOT" and str(entry.get("value")) == "true"
        for _, entry in entries_at(values, "migManager.env")
    )
    minor = ".".join(map(str, context.minor or ()))
    report.apply("values", values=values, site=context, reboots=reboots, minor=minor)
    for key in context.images:
        report.apply("image", values=values, image=context.catalogue.image(key))
    validate_defaults(values, "", report)
    inner = context.reading(
        replace(context.program("gpu-operator") or Program(), name="gpu-operator", values=values)
    )
    documents = validate_plugin_config(values, inner, report)
    validate_mig_config(values, inner, report)
    validate_counters(values, slices_time(documents), report)
    validate_value_images(values, report)
    validate_driver_version(value_at(values, "driver.version"), "driver.version", report)
    validate_runtime_paths(values, "", report)
    validate_environment(values, "", report)
    validate_list_strategy(values, operator, report)
    gates = gates_of(value_at(values, "draDriver.featureGates"))
    validate_gates(gates, "draDriver.featureGates", inner.release_of(DRIVER), report)
    _validate_neighbours(values, context, report)
    validate_extra_objects(values, documents, report)
    report_values(values, operator, report, "", CODES, special_code, older=older)
    return report.validation()


def _pins_older_operands(values: Mapping[str, Any], catalogue: Catalogue) -> bool:
    """Whether values name images older than those of the catalogue's chart: such values are a copy
    from an older chart, and their keys are those of its release."""
    components = catalogue.chart("gpu-operator").components
    for path, component in _OPERANDS.items():
        written = value_at(values, path)
        pinned = numbers(written) if isinstance(written, str) else ()
        current = numbers(components.get(component, ""))
        if pinned and current and pinned < current:
            return True
    return False


def _is_json_patch(data: Any) -> bool:
    """Whether the document is a list of RFC 6902 operations."""
    entries = as_list(data) or []
    operations = [as_mapping(entry) or {} for entry in entries]
    return bool(operations) and all("op" in one and "path" in one for one in operations)


def _validate_switches(values: Mapping[str, Any], path: str, report: CheckReport) -> None:
    for key, value in values.items():
        place = f"{path}.{key}" if path else key
        if place in ("node-feature-discovery", "extraObjects") or key in ("data", "env"):
            continue
        inner = as_mapping(value)
        if inner is not None:
            _validate_switches(inner, place, report)
        elif key in _SWITCHES and is_switch(value):
            report.say("gpu-operator-switch-as-text", place, value=value, place=place)


def _validate_neighbours(values: Mapping[str, Any], context: Site, report: CheckReport) -> None:
    """Check against other charts of the same cluster."""
    beside = [one for one in context.programs if one.name not in (None, "gpu-operator")]
    own = Program(name="gpu-operator", values=values)
    if any(not twice.plugins for twice in offered_twice((own, *beside))):
        report.say("gpu-operator-dra-too", "devicePlugin.enabled")
    network = next((one for one in beside if one.name == "network-operator"), None)
    theirs = network is not None and network.switch("nfd.enabled", True).found is True
    ours = value_at(values, "nfd.enabled")
    if theirs and (ours is None or ours):
        report.say("gpu-operator-nfd-twice", "nfd.enabled")
