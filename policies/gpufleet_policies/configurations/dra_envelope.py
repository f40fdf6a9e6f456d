"""ResourceClaims, their templates and DeviceClasses around the configs of NVIDIA's driver.

Sources: kubernetes/kubernetes pkg/apis/resource/validation/validation.go (009801d9),
pkg/apis/resource/v1/defaults.go; types by version come from the catalogue's schemas.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpufleet.catalogue.lookup import nearest_fix
from gpufleet.cluster.site import Site
from gpufleet.contract.dra_api import GROUP, SERVED
from gpufleet.contract.kubernetes_gates import dropped_fields
from gpufleet.contract.programs.dra_gates import DRIVER as PROGRAM
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.contract.schemas.newer_fields import newer_problems
from gpufleet.contract.schemas.problems import SchemaProblemKind, path_of
from gpufleet.contract.schemas.report import SchemaCodes, report_problem
from gpufleet.contract.schemas.validator import has_schema, schema_problems
from gpufleet.documents.paths import child, items_at, mapping_at, value_at
from gpufleet.documents.shapes import as_list, as_mapping
from gpufleet_policies.configurations.dra_cel import validate_selector
from gpufleet_policies.configurations.dra_devices import CLASSES, DRIVER
from gpufleet_policies.configurations.dra_sizes import validate_resource_name

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
    """Validate all but the configs; False where the object is not served, and nothing counts."""
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
        own = steps[:1] == ("metadata",) or steps[-1:] == ("deviceClassName",)
        if "parameters" in steps or (own and not unknown):
            continue  # of others, or with a finding of its own below
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
    requests: list[DraRequest] = []
    for index, entry in enumerate(entries):
        place = child(f"{path}.requests", index)
        item = as_mapping(entry) or {}
        requests += _ways(item, place, version)
    for request in requests:
        _validate_request(request, context, report)
    for at, entry in items_at(devices, "config"):
        _validate_fit(as_mapping(entry) or {}, requests, f"{path}.{at}", report)


def _ways(item: Mapping[str, Any], place: str, version: str) -> Iterator[DraRequest]:
    """The request itself, or its `firstAvailable` entries."""
    name, exactly = str(item.get("name")), as_mapping(item.get("exactly"))
    if exactly is not None:
        yield DraRequest(name, child(place, "exactly"), exactly)
    elif version == "v1beta1" and "deviceClassName" in item:
        yield DraRequest(name, place, item)
    for at, option in items_at(item, "firstAvailable"):
        fields = as_mapping(option) or {}
        yield DraRequest(f"{name}/{fields.get('name')}", f"{place}.{at}", fields)


def _validate_request(request: DraRequest, context: Site, report: CheckReport) -> None:
    _validate_class(request, context, report)
    name = request.fields.get("deviceClassName")
    _validate_selectors(request.fields, str(name), request.path, context, report)


def _validate_class(request: DraRequest, context: Site, report: CheckReport) -> None:
    name, place = request.fields.get("deviceClassName"), child(request.path, "deviceClassName")
    if not isinstance(name, str) or not name:
        return  # the API server refuses it
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
    report.add(
        "dra-class-unknown",
        place,
        f"the driver's chart creates no device class {name}, and this text does not either: "
        "without it nothing is allocated",
        nearest_fix(name, CLASSES),
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
        if isinstance(expression, str) and expression.strip():
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


def _kind_of(device_type: str) -> str:
    return next(kind for kind, one in _CONFIG_TYPES.items() if one == device_type)
