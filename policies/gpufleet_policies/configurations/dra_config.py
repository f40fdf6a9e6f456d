"""Kind `dra-config`: an opaque config of NVIDIA's DRA driver, bare or inside a claim; a
ComputeDomain as the API server takes it."""

from pathlib import Path
from typing import Any

from gpufleet.catalogue.lookup import nearest_names
from gpufleet.cluster.site import Site
from gpufleet.contract.programs.dra_chart import consumable_shares, validate_chart
from gpufleet.contract.programs.dra_gates import DRIVER, gates_in_force, gates_known
from gpufleet.contract.programs.go_json import kind_of, shown
from gpufleet.contract.programs.rule_tables import note_text, rules_in
from gpufleet.contract.programs.validation import CheckReport, Judgement
from gpufleet.contract.schemas.problems import SchemaProblem, SchemaProblemKind, path_of
from gpufleet.contract.schemas.report import report_problem
from gpufleet.contract.schemas.validator import schema_problems
from gpufleet.documents.document import GoDocument
from gpufleet.documents.paths import child, items_at, mapping_at, value_at
from gpufleet.documents.shapes import as_mapping
from gpufleet.rules.rows import rule_table
from gpufleet_policies.configurations.dra_envelope import (
    HOLDERS,
    SCHEMA_CODES,
    is_holder,
    validate_envelope,
)
from gpufleet_policies.configurations.dra_sharing import StrictFields, validate_sharing
from gpufleet_policies.configurations.dra_sizes import validate_sizes

_SPECIAL: dict[tuple[str | int, ...], str] = {
    ("spec", "numNodes"): "dra-domain-nodes",
    ("spec", "channel"): "dra-domain-channel",
    ("spec", "channel", "allocationMode"): "dra-domain-mode",
}
"""Fields whose values have a separate finding code."""


def validate_domain(document: dict[str, Any], context: Site, report: CheckReport) -> None:
    """The definition of ComputeDomain, and the stricter copy in the GPU Operator."""
    whole = {"metadata": {"name": "x"}, **document}
    for problem in schema_problems(whole):
        if problem.steps[:1] != ("metadata",):
            _report(problem, report)
    spec = as_mapping(document.get("spec")) or {}
    chart = context.chart
    if spec.get("numNodes") is None and chart is not None and chart.name == "gpu-operator":
        report.say("dra-domain-nodes-required", "spec.numNodes")
    before = as_mapping(value_at(context.previous, "spec"))
    if before is not None and before != spec:
        report.say("dra-domain-immutable", "spec")


def _report(problem: SchemaProblem, report: CheckReport) -> None:
    if problem.kind is SchemaProblemKind.UNKNOWN:
        path, name = path_of(problem.steps, ""), str(problem.steps[-1])
        report.say("dra-field-unknown", path, fix=problem.fix, value=name)
        return
    report_problem(problem, SCHEMA_CODES, report, code=_SPECIAL.get(problem.steps))


RULES = rule_table(*rules_in("dra"))

API_VERSION = "resource.nvidia.com/v1beta1"
_GPU_DRIVER, _DOMAIN_DRIVER = "gpu.nvidia.com", "compute-domain.nvidia.com"
_DRIVERS = {
    "GpuConfig": _GPU_DRIVER,
    "MigDeviceConfig": _GPU_DRIVER,
    "VfioDeviceConfig": _GPU_DRIVER,
    "ComputeDomainChannelConfig": _DOMAIN_DRIVER,
    "ComputeDomainDaemonConfig": _DOMAIN_DRIVER,
}
_HOLDERS = {
    kind: steps if kind == "DeviceClass" else (*steps, "devices") for kind, steps in HOLDERS.items()
}
"""Kind -> where its configs are."""
_NO_HOLDERS = ("ResourceSlice", "DeviceTaintRule", "ComputeDomainClique")
"""Kinds of the same APIs that hold none."""
_TYPE_META = ("apiVersion", "kind")
_KEYS = frozenset({*_TYPE_META, "opaque", "sharing", "iommu", "domainID", "allocationMode"})
"""The driver of configs; a document without configs belongs to another program."""


def validate(read: GoDocument, context: Site) -> Judgement:
    """Validate a config, an `opaque` block, a claim, claim template, device class or
    ComputeDomain."""
    report = CheckReport(RULES, texts=Path(__file__).parent)
    note_text(read, report, "dra")
    gates = dict(gates_in_force(context, report))
    validate_chart(context, gates, report)
    validating = _Judging(context, gates, report)
    document = as_mapping(read.data)
    if document is None:
        report.say("dra-no-config/document", "", data=kind_of(read.data))
        return report.validation()
    kind = document.get("kind")
    if is_holder(document):
        if validate_envelope(document, context, report):
            steps = _HOLDERS[str(kind)]
            place = ".".join(steps)
            validate_sizes(mapping_at(document, place), place, context, report)
            validating.holder(document, (*steps, "config"))
    elif "opaque" in document and "kind" not in document:
        validating.opaque(document["opaque"], "opaque")
    elif kind == "ComputeDomain" and document.get("apiVersion") == API_VERSION:
        validate_domain(document, context, report)
    elif str(kind) not in _DRIVERS and ("metadata" in document or not _KEYS & document.keys()):
        _report_other(document, report)
    else:
        validating.config(document, "")
    return report.validation()


def _report_other(document: dict[str, Any], report: CheckReport) -> None:
    """An object of Kubernetes that holds no config."""
    kind = shown(document.get("kind"))
    near = (
        nearest_names(str(document.get("kind")), (*_HOLDERS, "ComputeDomain"), limit=1)
        if document.get("kind") not in _NO_HOLDERS
        else ()
    )
    report.say(
        "dra-no-config",
        "kind" if near else "",
        kind=kind,
        apiversion=shown(document.get("apiVersion")),
        fix=f"write `kind: {near[0]}`" if near else "give the file that holds it, or another --as",
    )


class _Judging:
    """The configs of one document against one driver."""

    def __init__(self, context: Site, gates: dict[str, bool], report: CheckReport) -> None:
        self._context, self._gates, self._report = context, gates, report
        self._version = context.release_of(DRIVER).at

    def holder(self, document: dict[str, Any], steps: tuple[str, ...]) -> None:
        """Every opaque config of an object of the cluster's own API."""
        for place, entry in items_at(document, ".".join(steps)):
            opaque = value_at(entry, "opaque")
            if opaque is not None:
                self.opaque(opaque, child(place, "opaque"))

    def opaque(self, value: Any, path: str) -> None:
        """An `opaque` block: driver and parameters."""
        block = as_mapping(value) or {}
        driver, parameters = block.get("driver"), as_mapping(block.get("parameters"))
        known = (parameters or {}).get("apiVersion") == API_VERSION
        if driver not in (_GPU_DRIVER, _DOMAIN_DRIVER) and not known:
            return  # another driver reads it
        place = child(path, "parameters")
        if parameters is None:
            self._report.say(
                "dra-no-config/parameters", place, parameters=kind_of(block.get("parameters"))
            )
            return
        wanted = _DRIVERS.get(str(parameters.get("kind")))
        if wanted is not None and wanted != driver:
            self._report.say(
                "dra-driver-mismatch",
                child(path, "driver"),
                value=driver,
                kind=parameters.get("kind"),
                wanted=wanted,
            )
        self.config(parameters, place)

    def config(self, config: dict[str, Any], path: str) -> None:
        """One config."""
        api, kind = config.get("apiVersion"), config.get("kind")
        if api != API_VERSION or not isinstance(kind, str) or kind not in _DRIVERS:
            self._unknown(api, kind, path)
            return
        fields = StrictFields(config, path, self._report)
        if kind == "GpuConfig":
            fields.only((*_TYPE_META, "sharing"))
            self._sharing(fields.mapping("sharing"), child(path, "sharing"), mig=False)
        elif kind == "MigDeviceConfig":
            fields.only((*_TYPE_META, "sharing"))
            self._sharing(fields.mapping("sharing"), child(path, "sharing"), mig=True)
        elif kind == "VfioDeviceConfig":
            fields.only((*_TYPE_META, "iommu"))
            self._iommu(fields.mapping("iommu"), child(path, "iommu"))
            self._vfio(path)
        elif kind == "ComputeDomainChannelConfig":
            fields.only((*_TYPE_META, "domainID", "allocationMode"))
            self._domain(fields, path)
            self._allocation_mode(fields, path)
        else:
            fields.only((*_TYPE_META, "domainID"))
            self._domain(fields, path)

    def _unknown(self, api: Any, kind: Any, path: str) -> None:
        right = "GpuConfig"
        if isinstance(kind, str):
            near = nearest_names(kind, _DRIVERS, limit=1)
            right = kind if kind in _DRIVERS else near[0] if near else right
        self._report.say(
            "dra-kind-unknown",
            child(path, "apiVersion" if api != API_VERSION else "kind"),
            api=shown(api),
            kind=shown(kind),
            right=right,
        )

    def _sharing(self, sharing: dict[str, Any] | None, path: str, *, mig: bool) -> None:
        if sharing is None:
            return
        strategy = validate_sharing(
            sharing,
            path,
            mig=mig,
            gates=self._gates,
            gates_known=gates_known(self._context),
            version=self._version,
            devices=self._context.gpu_count,
            report=self._report,
        )
        shares = consumable_shares(self._context)
        on = self._gates.get("ConsumableShares") and shares not in (None, "", "disabled")
        if strategy == "MPS" and on:
            self._report.say(
                "dra-consumable-shares-mps", child(path, "strategy"), shares=shown(shares)
            )

    def _iommu(self, iommu: dict[str, Any] | None, path: str) -> None:
        if iommu is None:
            return
        fields = StrictFields(iommu, path, self._report)
        fields.only(("backendPolicy", "enableAPIDevice"))
        fields.boolean("enableAPIDevice")
        policy = fields.text("backendPolicy")
        if policy not in (None, "", "LegacyOnly", "PreferIommuFD"):
            self._report.say("dra-iommu-policy-unknown", child(path, "backendPolicy"), value=policy)

    def _vfio(self, path: str) -> None:
        chart = self._context.chart
        if chart is not None and chart.value("webhook.enabled") is True:
            self._report.say("dra-vfio-webhook", child(path, "kind"))
        if not self._gates.get("PassthroughSupport"):
            off = "off" if gates_known(self._context) else "off unless values turn it on"
            self._report.say("dra-vfio-gate", child(path, "kind"), off=off)

    def _domain(self, fields: StrictFields, path: str) -> None:
        if not fields.text("domainID"):
            self._report.say("dra-domain-missing", child(path, "domainID"))

    def _allocation_mode(self, fields: StrictFields, path: str) -> None:
        mode = fields.text("allocationMode")
        if mode not in (None, "", "All", "Single"):
            self._report.say(
                "dra-allocation-mode-ignored", child(path, "allocationMode"), value=mode
            )
