"""ResourceClaims, their templates and DeviceClasses around the configs of NVIDIA's driver.

Sources: kubernetes/kubernetes pkg/apis/resource/validation/validation.go (009801d9),
pkg/apis/resource/v1/defaults.go; types by version come from the catalogue's schemas.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpufleet.cluster.site import Site
from gpufleet.contract.dra_api import GROUP, SERVED, dropped_fields
from gpufleet.contract.programs.dra_gates import DRIVER as PROGRAM
from gpufleet.contract.programs.go_json import integer, shown
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.contract.schemas.newer_fields import newer_problems
from gpufleet.contract.schemas.problems import SchemaProblemKind, path_of
from gpufleet.contract.schemas.report import SchemaCodes, report_problem
from gpufleet.contract.schemas.validator import has_schema, schema_problems
from gpufleet.documents.paths import child, items_at, mapping_at, value_at
from gpufleet.documents.shapes import as_list, as_mapping
from gpufleet_policies.configurations.dra_cel import validate_selector
from gpufleet_policies.configurations.dra_devices import CLASSES, DRIVER, FORMER, attribute_names
from gpufleet_policies.configurations.dra_sizes import validate_references, validate_resource_name

HOLDERS = {
    "ResourceClaim": ("spec",),
    "ResourceClaimTemplate": ("spec", "spec"),
    "DeviceClass": ("spec",),
}
"""Kind -> where its devices or selectors are."""
SCHEMA_CODES = SchemaCodes(
    wrong_type="dra-wrong-type",
    choice="dra-value-invalid",
    bound="dra-value-invalid",
    required="dra-field-missing",
    other="dra-value-invalid",
)
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_FORMS = re.compile(r"^(?:nvidia[-.])?(gpu|mig|vfio)s?(?=\.)")
"""Other forms of the first word of a class: `gpus.nvidia.com`."""
_CONFIG_TYPES = {"GpuConfig": "gpu", "MigDeviceConfig": "mig", "VfioDeviceConfig": "vfio"}


@dataclass(frozen=True, slots=True)
class DraRequest:
    """One way in which a request can be met."""

    name: str
    """`request`, or `request/subrequest` of `firstAvailable`."""
    path: str
    fields: Mapping[str, Any]
    """Class, selectors, count."""

    @property
    def type(self) -> str | None:
        """Type of NVIDIA's devices of the class; None for other classes."""
        return CLASSES.get(str(self.fields.get("deviceClassName")))


def is_holder(document: Mapping[str, Any]) -> bool:
    """Whether the document is one of Kubernetes' own objects that can hold a config."""
    return str(document.get("kind")) in HOLDERS and str(document.get("apiVersion")).startswith(
        GROUP
    )


def validate_envelope(document: dict[str, Any], context: Site, report: CheckReport) -> bool:
    """Validate all but the configs; False where the object's API version is not served."""
    api, kind = str(document["apiVersion"]), str(document["kind"])
    version = api.removeprefix(GROUP)
    if version not in SERVED:
        report.add(
            "dra-api-not-served",
            "apiVersion",
            f"no supported Kubernetes serves {api}",
            f"write `apiVersion: {GROUP}v1` and its fields (Kubernetes 1.34)",
            value=api,
        )
        return False
    cluster = context.minor
    if cluster is not None and cluster < SERVED[version]:
        needed = ".".join(map(str, SERVED[version]))
        report.add(
            "dra-api-not-served",
            "apiVersion",
            f"{api} came with Kubernetes {needed}, the cluster has {'.'.join(map(str, cluster))}",
            f"use Kubernetes {needed} or newer",
            value=api,
            limit=needed,
        )
        return False
    _validate_shape(document, version, report)
    for problem in newer_problems(document, cluster) if cluster is not None else ():
        report_problem(problem, SCHEMA_CODES, report, code="dra-field-too-new")
    path = ".".join(HOLDERS[kind])
    for place, off in dropped_fields(mapping_at(document, path), path, context):
        report.add(
            "dra-kubernetes-gate-off",
            place,
            f"{off.message}: the API server drops the field and does not report it",
            f"use Kubernetes {off.on_since}, or switch the gate on and name it in `featureGates`",
            gate=off.gate,
        )
    spec = mapping_at(document, path)
    if kind == "DeviceClass":
        validate_resource_name(spec, f"{path}.extendedResourceName", report)
        _validate_selectors(spec, None, path, context, report)
        return True
    _validate_devices(mapping_at(spec, "devices"), f"{path}.devices", version, context, report)
    return True


def _validate_shape(document: dict[str, Any], version: str, report: CheckReport) -> None:
    """Types, unknown and missing fields, as the API server of this version sees them."""
    if not has_schema(document["apiVersion"], document["kind"]):
        return
    whole = {"metadata": {"name": "x"}, **document}
    for problem in schema_problems(whole):
        steps, unknown = problem.steps, problem.kind is SchemaProblemKind.UNKNOWN
        # The server accepts a template without a claim; a later check reports the empty request.
        empty = steps == ("spec", "spec") and problem.kind is SchemaProblemKind.REQUIRED
        own = steps[:1] == ("metadata",) or steps[-1:] == ("deviceClassName",) or empty
        if "parameters" in steps or (own and not unknown):
            continue  # of others, or with its own finding below
        if not unknown:
            report_problem(problem, SCHEMA_CODES, report)
            continue
        name = str(steps[-1])
        fix = problem.fix
        if name == "exactly" and version == "v1beta1":
            fix = "write the fields of `exactly` next to `name`, or use resource.k8s.io/v1"
        elif version != "v1beta1" and steps[-3:-2] == ("requests",) and name in _FLAT:
            fix = f"write `exactly: {{{name}: ...}}`: only v1beta1 has it next to `name`"
        elif steps == ("spec", "devices") and document["kind"] == "ResourceClaimTemplate":
            fix = "write `devices` in `spec.spec`, which is the spec of the claim"
        report.add(
            "dra-field-unknown",
            path_of(steps, ""),
            f'strict decoding error: unknown field "{name}"',
            fix,
            value=name,
        )


_FLAT = ("deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations")


def _validate_devices(
    devices: Mapping[str, Any],
    path: str,
    version: str,
    context: Site,
    report: CheckReport,
) -> None:
    entries = as_list(devices.get("requests")) or []
    if not entries:
        report.add(
            "dra-no-requests",
            f"{path}.requests",
            "the claim has no request: nothing is allocated, and its config has no effect",
            "write `requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]`",
        )
    names: set[str] = set()
    requests: list[DraRequest] = []
    for index, entry in enumerate(entries):
        place = child(f"{path}.requests", index)
        item = as_mapping(entry) or {}
        name = _name(item, place, names, report)
        requests += _ways(item, name, place, version, report)
    for request in requests:
        _validate_request(request, context, report)
    known = names | {request.name for request in requests}
    for group in ("config", "constraints"):
        for index, entry in enumerate(as_list(devices.get(group)) or []):
            place = child(f"{path}.{group}", index)
            item = as_mapping(entry) or {}
            validate_references(item, known, place, report)
            if group == "config" and as_mapping(item.get("opaque")) is None:
                path = child(place, "opaque")
                report.add("dra-field-missing", path, "a config needs opaque", "write `opaque`")
            if group == "config":
                _validate_fit(item, requests, place, report)
            else:
                _validate_constraint(item, requests, place, report)


def _name(item: Mapping[str, Any], place: str, names: set[str], report: CheckReport) -> str:
    written = item.get("name")
    name = written if isinstance(written, str) and _LABEL.fullmatch(written) else ""
    if not name or name in names:
        report.add(
            "dra-request-name",
            child(place, "name"),
            f"two requests are called {name}"
            if name
            else f"the name of a request is {shown(written)}, a DNS-1123 label is needed",
            "give each a different name" if name else "write `name: gpu`",
            value=name or shown(written),
        )
    names |= {name} - {""}
    return name or str(written)


def _ways(
    item: Mapping[str, Any], name: str, place: str, version: str, report: CheckReport
) -> Iterator[DraRequest]:
    """The request itself, or its `firstAvailable` entries."""
    options = as_list(item.get("firstAvailable")) or []
    exactly = as_mapping(item.get("exactly"))
    flat = version == "v1beta1"
    one = "deviceClassName" in item if flat else exactly is not None
    if bool(options) == one:
        if not flat and not options and "deviceClassName" in item:
            return  # reported as an unknown field, with the same fix
        choice = "deviceClassName" if flat else "exactly"
        report.add(
            "dra-request-kind",
            place,
            f"exactly one of {choice} or firstAvailable is required",
            f"keep one of {choice} and firstAvailable"
            if options
            else "write `exactly: {deviceClassName: gpu.nvidia.com}`"
            if not flat
            else "write `deviceClassName: gpu.nvidia.com`",
        )
    if one:
        fields = item if flat else exactly or {}
        yield DraRequest(name, place if flat else child(place, "exactly"), fields)
    names: set[str] = set()
    for index, option in enumerate(options):
        path = child(child(place, "firstAvailable"), index)
        fields = as_mapping(option) or {}
        yield DraRequest(f"{name}/{_name(fields, path, names, report)}", path, fields)


def _validate_request(request: DraRequest, context: Site, report: CheckReport) -> None:
    _validate_class(request, context, report)
    mode, count = request.fields.get("allocationMode"), request.fields.get("count")
    number = integer(count)
    place = child(request.path, "count")
    if number is not None and (number < 0 or (number > 0 and mode == "All")):
        report.add(
            "dra-count-invalid",
            place,
            f"count is {number}"
            + (" and allocationMode is All, which takes none" if mode == "All" else ""),
            "remove `count`" if mode == "All" else "write 1 or more",
            value=number,
        )
    elif number == 0 and mode != "All":
        report.add(
            "dra-count-zero", place, "count 0 is treated as absent: one device is allocated",
            "write 1 or more, or remove the request",
        )  # fmt: skip
    name = request.fields.get("deviceClassName")
    _validate_selectors(request.fields, str(name), request.path, context, report)


def _validate_class(request: DraRequest, context: Site, report: CheckReport) -> None:
    name, place = request.fields.get("deviceClassName"), child(request.path, "deviceClassName")
    if not isinstance(name, str) or not name:
        report.add(
            "dra-class-missing",
            place,
            "a request needs a device class",
            f"one of {', '.join(CLASSES)}",
        )
        return
    chart = context.chart
    off = chart is not None and chart.name == PROGRAM and (
        chart.value("resources.gpus.enabled") is False
    )  # fmt: skip
    if off and CLASSES.get(name) is not None:
        report.add(
            "dra-class-off",
            place,
            f"the chart has resources.gpus.enabled: false and creates no class {name}",
            "write `resources: {gpus: {enabled: true}}` and `gpuResourcesEnabledOverride: true`",
            value=name,
        )
    if name in CLASSES or name in context.device_classes or not name.endswith("nvidia.com"):
        return
    near = [known for known in CLASSES if _FORMS.sub(r"\1", name) == known]
    alike = bool(near)
    report.add(
        "dra-class-misspelt" if alike else "dra-class-unknown",
        place,
        f"the driver's chart creates no device class {name}"
        + ("" if alike else ", and this text does not either: without it nothing is allocated"),
        f"write `{near[0]}`" if alike else f"one of {', '.join(CLASSES)}",
        value=name,
    )


def _validate_selectors(
    fields: Mapping[str, Any],
    device_class: str | None,
    path: str,
    context: Site,
    report: CheckReport,
) -> None:
    for at, entry in items_at(fields, "selectors"):
        place = f"{path}.{at}"
        cel = as_mapping(value_at(entry, "cel"))
        expression = (cel or {}).get("expression")
        if isinstance(expression, str):
            gpu = None if context.gpu is None else context.gpu.key
            where = child(child(place, "cel"), "expression")
            validate_selector(expression, device_class, gpu, where, report)
        elif cel is None:
            report.add(
                "dra-field-missing",
                child(place, "cel"),
                "a selector needs cel",
                "write `cel: {expression: ...}`",
            )


def _validate_fit(
    item: Mapping[str, Any], requests: list[DraRequest], place: str, report: CheckReport
) -> None:
    """Whether the devices of the requests take the config of this kind."""
    opaque = as_mapping(item.get("opaque")) or {}
    kind = str(value_at(opaque, "parameters.kind"))
    wanted = _CONFIG_TYPES.get(kind)
    if wanted is None or opaque.get("driver") != DRIVER:
        return
    named = [name for name in as_list(item.get("requests")) or [] if isinstance(name, str)]
    for name in named:
        for request in requests:
            if name not in (request.name, request.name.partition("/")[0]):
                continue
            if request.type is not None and request.type != wanted:
                report.add(
                    "dra-config-mismatch",
                    f"{place}.opaque.parameters.kind",
                    f"cannot apply {kind} to a device of type {request.type}, which request "
                    f"{request.name} allocates",
                    f"write `kind: {_kind_of(request.type)}`",
                    value=kind,
                )
    types = {request.type for request in requests}
    if types and not named and None not in types and wanted not in types:
        report.add(
            "dra-config-unused",
            f"{place}.opaque.parameters.kind",
            f"no request allocates a device that takes {kind}: the config has no effect",
            f"write `kind: {_kind_of(str(next(iter(types))))}`",
            value=kind,
        )


def _kind_of(device_type: str) -> str:
    return next(kind for kind, one in _CONFIG_TYPES.items() if one == device_type)


def _validate_constraint(
    item: Mapping[str, Any], requests: list[DraRequest], place: str, report: CheckReport
) -> None:
    keys = ("matchAttribute", "distinctAttribute")
    if sum(key in item for key in keys) != 1:
        text = f"exactly one of {keys[0]} and {keys[1]} is required"
        report.add("dra-field-missing", child(place, keys[0]), text, f"write one {keys[0]}")
    for key in keys:
        value = item.get(key)
        if not isinstance(value, str):
            continue
        domain, slash, name = value.partition("/")
        types = {request.type for request in requests}
        if not slash or (
            domain == DRIVER
            and None not in types
            and name not in FORMER
            and not any(name in attribute_names(kind) for kind in types)
        ):
            report.add(
                "dra-constraint-attribute",
                child(place, key),
                f"{value} is not an attribute with its domain"
                if not slash
                else f"the driver publishes no attribute {name}: no devices satisfy the constraint",
                f"write such as {DRIVER}/parentUUID or resource.kubernetes.io/pcieRoot",
                value=value,
            )
