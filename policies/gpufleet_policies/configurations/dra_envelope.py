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
        report.say("dra-api-not-served", "apiVersion", value=api)
        return False
    cluster = context.minor
    if cluster is not None and cluster < SERVED[version]:
        needed = ".".join(map(str, SERVED[version]))
        report.say(
            "dra-api-not-served/older",
            "apiVersion",
            value=api,
            limit=needed,
            cluster=".".join(map(str, cluster)),
        )
        return False
    _validate_shape(document, version, report)
    for problem in newer_problems(document, cluster) if cluster is not None else ():
        report_problem(problem, SCHEMA_CODES, report, code="dra-field-too-new")
    path = ".".join(HOLDERS[kind])
    for place, off in dropped_fields(mapping_at(document, path), path, context):
        report.say(
            "dra-kubernetes-gate-off",
            place,
            gate=off.gate,
            reason=off.message,
            on_since=off.on_since,
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
        report.say("dra-field-unknown", path_of(steps, ""), value=name, fix=fix)


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
        report.say("dra-no-requests", f"{path}.requests")
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
                report.say("dra-field-missing", path)
            if group == "config":
                _validate_fit(item, requests, place, report)
            else:
                _validate_constraint(item, requests, place, report)


def _name(item: Mapping[str, Any], place: str, names: set[str], report: CheckReport) -> str:
    written = item.get("name")
    name = written if isinstance(written, str) and _LABEL.fullmatch(written) else ""
    if name in names:
        report.say("dra-request-name", child(place, "name"), value=name)
    elif not name:
        report.say("dra-request-name/label", child(place, "name"), value=shown(written))
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
    if not (flat or options or one) and "deviceClassName" in item:
        return  # reported as an unknown field, with the same fix
    if bool(options) == one:
        report.apply("dra ways", place, flat=flat, single=one)
    if one:
        fields = item if flat else exactly or {}
        yield DraRequest(name, place if flat else child(place, "exactly"), fields)
    names: set[str] = set()
    for index, option in enumerate(options):
        path = child(child(place, "firstAvailable"), index)
        fields = as_mapping(option) or {}
        yield DraRequest(f"{name}/{_name(fields, path, names, report)}", path, fields)


def _validate_request(request: DraRequest, context: Site, report: CheckReport) -> None:
    fields, chart = request.fields, context.chart
    written = fields.get("deviceClassName")
    name = written if isinstance(written, str) else ""
    if not name:
        place = child(request.path, "deviceClassName")
        report.say("dra-class-missing", place, classes=", ".join(CLASSES))
    report.apply(
        "dra request",
        request.path,
        name=name,
        type=request.type,
        classes=list(CLASSES),
        others=context.device_classes,
        near=next((known for known in CLASSES if _FORMS.sub(r"\1", name) == known), None),
        program=chart and chart.name,
        gpus=chart and chart.value("resources.gpus.enabled") is not False,
        mode=fields.get("allocationMode"),
        count=integer(fields.get("count")),
    )
    _validate_selectors(fields, str(written), request.path, context, report)


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
            report.say("dra-field-missing/selector", child(place, "cel"))


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
                report.say(
                    "dra-config-mismatch",
                    f"{place}.opaque.parameters.kind",
                    value=kind,
                    type=request.type,
                    name=request.name,
                    wanted=_kind_of(request.type),
                )
    types = {request.type for request in requests}
    if types and not named and None not in types and wanted not in types:
        report.say(
            "dra-config-unused",
            f"{place}.opaque.parameters.kind",
            value=kind,
            wanted=_kind_of(str(next(iter(types)))),
        )


def _kind_of(device_type: str) -> str:
    return next(kind for kind, one in _CONFIG_TYPES.items() if one == device_type)


def _validate_constraint(
    item: Mapping[str, Any], requests: list[DraRequest], place: str, report: CheckReport
) -> None:
    keys = ("matchAttribute", "distinctAttribute")
    if sum(key in item for key in keys) != 1:
        report.say("dra-field-missing/attribute", child(place, keys[0]))
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
            what = "is not an attribute with its domain"
            if slash:
                what = "is not published by the driver: no devices satisfy the constraint"
            report.say("dra-constraint-attribute", child(place, key), value=value, what=what)
