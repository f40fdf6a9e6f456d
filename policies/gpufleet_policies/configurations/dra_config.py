"""Kind `dra-config`: an opaque config of NVIDIA's DRA driver, bare or inside a claim; a
ComputeDomain as the API server takes it."""

import math
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
from gpufleet_policies.names import meanings

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
    before = as_mapping(value_at(context.previous, "spec"))
    report.apply("dra domain", spec=spec, chart=context.chart, before=before)


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
_DRIVERS = meanings("config of NVIDIA's DRA driver")
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
    """Validate a config, an `opaque` block, a claim (template), device class or ComputeDomain."""
    report = CheckReport(RULES, texts=Path(__file__).parent)
    note_text(read, report, "dra")
    gates = dict(gates_in_force(context, report))
    chart = CheckReport(RULES)
    validate_chart(context, gates, chart)
    report.extend(chart.findings)
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


STRATEGIES = ("TimeSlicing", "MPS")
INTERVALS = ("Default", "Short", "Medium", "Long")
_MEMORY = "defaultPinnedDeviceMemoryLimit"
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
        report, kind = self._report, parameters.get("kind")
        report.apply("dra opaque", path, driver=driver, kind=kind, wanted=wanted)
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
            self._vfio(text_at(config, "iommu.backendPolicy"), path)
        else:
            report, mode = self._report, text_at(config, "allocationMode")
            domain = text_at(config, "domainID")
            report.apply("dra domain config", path, domain=domain, kind=kind, mode=mode)

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
        report, strategy = self._report, text_at(sharing, "strategy")
        mps, shares = as_mapping(sharing.get("mpsConfig")), consumable_shares(self._context)
        slicing = None if mig else as_mapping(sharing.get("timeSlicingConfig"))
        subjects: dict[str, Any] = {
            "strategy": strategy,
            "gates": self._gates,
            "known": gates_known(self._context),
            "slicing": slicing,
            "mps": mps,
            "fields": list(mps or ()),
            "threads": integer((mps or {}).get("defaultActiveThreadPercentage")),
            "mig": mig,
            "driver": self._version,
            "shares": shares,
            "shown": shown(shares),
        }
        if strategy not in STRATEGIES:
            report.say(
                "dra-strategy-unknown",
                child(path, "strategy"),
                value=strategy,
                strategy=strategy or "none given",
                fix=nearest_fix(strategy, STRATEGIES),
            )
        report.apply("dra strategy", path, **subjects)
        interval = value_at(slicing, "interval")
        if strategy == "TimeSlicing" and isinstance(interval, str) and interval not in INTERVALS:
            report.say(
                "dra-interval-unknown",
                f"{path}.timeSlicingConfig.interval",
                value=interval,
                allowed=INTERVALS,
                fix=nearest_fix(interval, INTERVALS),
            )
        report.apply("dra blocks", path, **subjects)
        self._memory(mps or {}, f"{path}.mpsConfig")
        report.apply("dra mps", path, **subjects)

    def _memory(self, mps: dict[str, Any], path: str) -> None:
        """Limits of memory under MPS: for all devices, and for single ones."""
        report = self._report
        if mps.get(_MEMORY) is not None:
            _validate_limit(mps[_MEMORY], child(path, _MEMORY), report)
        for key, value in mapping_at(mps, _DEVICE_MEMORY).items():
            place = child(child(path, _DEVICE_MEMORY), key)
            _validate_device(key, place, self._context.gpu_count, report)
            _validate_limit(0 if value is None else value, place, report)

    def _vfio(self, policy: str, path: str) -> None:
        report, chart = self._report, self._context.chart
        report.apply(
            "dra vfio",
            path,
            policy=policy,
            webhook=chart is not None and chart.value("webhook.enabled") is True,
            gates=self._gates,
            off="off" if gates_known(self._context) else "off unless values turn it on",
        )


def _validate_limit(value: Any, path: str, report: CheckReport) -> None:
    written = str(value) if isinstance(value, str | int | float) else ""
    amount: Fraction | None = None if isinstance(value, bool) else quantity(written)
    whole = None if amount is None else math.ceil(amount) // _MIB
    cut = whole is not None and amount != whole * _MIB
    report.apply("dra limit", path, value=shown(value), written=value, whole=whole, cut=cut)


def _validate_device(key: str, path: str, devices: int | None, report: CheckReport) -> None:
    if _UUID.fullmatch(key):
        return
    index = int(key) if re.fullmatch(r"[+-]?[0-9]{1,18}", key) else None
    if index is None or index < 0 or (devices is not None and index >= devices):
        report.say("dra-device-unknown", path, value=key, limit=devices)
