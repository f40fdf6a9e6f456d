"""Kind `dra-config`: an opaque config of NVIDIA's DRA driver, bare or inside a claim; a
ComputeDomain as the API server takes it."""

import re
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from gpufleet.catalogue.lookup import nearest_fix, nearest_names
from gpufleet.cluster.site import Site
from gpufleet.contract.programs.dra_chart import consumable_shares, validate_chart
from gpufleet.contract.programs.dra_gates import DRIVER, gates_in_force, gates_known
from gpufleet.contract.programs.go_json import integer, kind_of, shown
from gpufleet.contract.programs.rule_tables import note_text, rules_in
from gpufleet.contract.programs.validation import CheckReport, Judgement
from gpufleet.contract.schemas.problems import SchemaProblem, SchemaProblemKind, path_of
from gpufleet.contract.schemas.report import report_problem
from gpufleet.contract.schemas.validator import part_problems, schema_problems
from gpufleet.documents.document import GoDocument
from gpufleet.documents.paths import child, items_at, mapping_at, text_at, value_at
from gpufleet.documents.quantities import quantity
from gpufleet.documents.reading import read_strict
from gpufleet.documents.shapes import as_mapping
from gpufleet.rules.rows import rule_table
from gpufleet_policies.configurations.dra_envelope import (
    HOLDERS,
    SCHEMA_CODES,
    is_holder,
    validate_envelope,
)
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


def _report(problem: SchemaProblem, report: CheckReport, path: str = "") -> None:
    if problem.kind is SchemaProblemKind.UNKNOWN:
        place, name = path_of(problem.steps, path), str(problem.steps[-1])
        report.say("dra-field-unknown", place, fix=problem.fix, value=name)
        return
    report_problem(problem, SCHEMA_CODES, report, path, _SPECIAL.get(problem.steps))


@cache
def _schema(kind: str) -> dict[str, Any]:
    shapes = read_strict(Path(__file__).with_suffix(".yaml").read_bytes()).data["$defs"]
    return {**shapes[kind], "$defs": shapes}


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
_KEYS = frozenset(
    {"apiVersion", "kind", "opaque", "sharing", "iommu", "domainID", "allocationMode"}
)
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


STRATEGIES = {"TimeSlicing": "TimeSlicingSettings", "MPS": "MPSSupport"}
"""Strategy -> the gate it needs."""
INTERVALS = ("Default", "Short", "Medium", "Long")
MULTI_USER_SINCE = (0, 5, 0)
_THREADS, _MEMORY = "defaultActiveThreadPercentage", "defaultPinnedDeviceMemoryLimit"
_DEVICE_MEMORY = "defaultPerDevicePinnedMemoryLimit"
_MIB = 1 << 20
_UUID = re.compile(r"(GPU|MIG)-[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


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
        for problem in part_problems(f"dra-{kind}", _schema(kind), config, nulls=True):
            _report(problem, self._report, path)
        if kind in ("GpuConfig", "MigDeviceConfig"):
            sharing = as_mapping(config.get("sharing"))
            if sharing is not None:
                self._sharing(sharing, child(path, "sharing"), mig=kind == "MigDeviceConfig")
        elif kind == "VfioDeviceConfig":
            self._vfio(mapping_at(config, "iommu"), path)
        else:
            if not text_at(config, "domainID"):
                self._report.say("dra-domain-missing", child(path, "domainID"))
            mode = text_at(config, "allocationMode")
            if kind == "ComputeDomainChannelConfig" and mode not in ("", "All", "Single"):
                place = child(path, "allocationMode")
                self._report.say("dra-allocation-mode-ignored", place, value=mode)

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

    def _sharing(self, sharing: dict[str, Any], path: str, *, mig: bool) -> None:
        """The sharing of a GpuConfig or MigDeviceConfig."""
        report, place = self._report, child(path, "strategy")
        strategy = text_at(sharing, "strategy")
        if strategy not in STRATEGIES:
            report.say(
                "dra-strategy-unknown",
                place,
                value=strategy,
                strategy=strategy or "none given",
                fix=nearest_fix(strategy, STRATEGIES),
            )
        elif not self._gates.get(STRATEGIES[strategy]):
            known = gates_known(self._context)
            report.say(
                "dra-gate-missing",
                place,
                code=None if known else "dra-gate-needed",
                state="not enabled" if known else "off by default",
                value=strategy,
                gate=STRATEGIES[strategy],
            )
        slicing = None if mig else as_mapping(sharing.get("timeSlicingConfig"))
        mps = as_mapping(sharing.get("mpsConfig"))
        if slicing is not None:
            of_slicing = child(path, "timeSlicingConfig")
            _validate_slicing(slicing, of_slicing, strategy, report)
            if strategy == "MPS":
                _other(of_slicing, "TimeSlicingConfig", strategy, report)
        if mps is not None:
            of_mps = child(path, "mpsConfig")
            self._mps(mps, of_mps, strategy)
            if strategy == "TimeSlicing" and mig:
                report.say("dra-mig-mps-config-ignored", of_mps)
            elif strategy == "TimeSlicing":
                _other(of_mps, "MpsConfig", strategy, report)
        shares = consumable_shares(self._context)
        on = self._gates.get("ConsumableShares") and shares not in (None, "", "disabled")
        if strategy == "MPS" and on:
            report.say("dra-consumable-shares-mps", place, shares=shown(shares))

    def _mps(self, mps: dict[str, Any], path: str, strategy: str) -> None:
        report, devices = self._report, self._context.gpu_count
        if "multiUser" in mps and self._version < MULTI_USER_SINCE:
            place = child(path, "multiUser")
            report.say("dra-field-unknown", place, value="multiUser", fix="remove it")
        number = integer(mps.get(_THREADS))
        if number is not None and strategy == "MPS" and not 0 <= number <= 100:
            report.say("dra-threads-invalid", child(path, _THREADS), value=number)
        if mps.get(_MEMORY) is not None:
            _validate_limit(mps[_MEMORY], child(path, _MEMORY), report)
        for key, value in mapping_at(mps, _DEVICE_MEMORY).items():
            place = child(child(path, _DEVICE_MEMORY), key)
            _validate_device(key, place, devices, report)
            _validate_limit(0 if value is None else value, place, report)

    def _vfio(self, iommu: dict[str, Any], path: str) -> None:
        policy = text_at(iommu, "backendPolicy")
        if policy not in ("", "LegacyOnly", "PreferIommuFD"):
            place = child(child(path, "iommu"), "backendPolicy")
            self._report.say("dra-iommu-policy-unknown", place, value=policy)
        chart = self._context.chart
        if chart is not None and chart.value("webhook.enabled") is True:
            self._report.say("dra-vfio-webhook", child(path, "kind"))
        if not self._gates.get("PassthroughSupport"):
            off = "off" if gates_known(self._context) else "off unless values turn it on"
            self._report.say("dra-vfio-gate", child(path, "kind"), off=off)


def _other(path: str, block: str, strategy: str, report: CheckReport) -> None:
    report.say("dra-other-strategy-config", path, block=block, strategy=strategy)


def _validate_slicing(
    slicing: dict[str, Any], path: str, strategy: str, report: CheckReport
) -> None:
    interval = slicing.get("interval")
    if strategy != "TimeSlicing":
        return
    if interval is None:
        report.say("dra-interval-missing", child(path, "interval"))
    elif isinstance(interval, str) and interval not in INTERVALS:
        report.say(
            "dra-interval-unknown",
            child(path, "interval"),
            value=interval,
            allowed=INTERVALS,
            fix=nearest_fix(interval, INTERVALS),
        )


def _validate_limit(value: Any, path: str, report: CheckReport) -> None:
    written = str(value) if isinstance(value, str | int | float) else ""
    amount: Fraction | None = None if isinstance(value, bool) else quantity(written)
    if amount is None:
        report.say("dra-memory-invalid", path, value=shown(value))
        return
    whole = -(-amount.numerator // amount.denominator) // _MIB
    if whole < 1:
        report.say("dra-memory-too-low", path, value=shown(value), written=value, limit="1Mi")
    elif amount != whole * _MIB:
        report.say("dra-memory-rounded", path, value=shown(value), written=value, whole=whole)


def _validate_device(key: str, path: str, devices: int | None, report: CheckReport) -> None:
    if _UUID.fullmatch(key):
        return
    index = int(key) if re.fullmatch(r"[+-]?[0-9]{1,18}", key) else None
    if index is None or index < 0 or (devices is not None and index >= devices):
        report.say("dra-device-unknown", path, value=key, limit=devices)
