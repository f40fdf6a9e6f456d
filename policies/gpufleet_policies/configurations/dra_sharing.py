"""The `sharing` block of GpuConfig and MigDeviceConfig: decoded strictly, then validated."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gpufleet.catalogue.lookup import nearest_fix
from gpufleet.contract.programs.go_json import integer, kind_of, shown
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.paths import child
from gpufleet.documents.quantities import quantity
from gpufleet.documents.shapes import as_mapping

STRATEGIES = {"TimeSlicing": "TimeSlicingSettings", "MPS": "MPSSupport"}
"""Strategy -> the gate it needs."""
INTERVALS = ("Default", "Short", "Medium", "Long")
MULTI_USER_SINCE = (0, 5, 0)
_MIB = 1 << 20
_UUID = re.compile(r"(GPU|MIG)-[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


@dataclass(frozen=True, slots=True)
class StrictFields:
    """One mapping under strict decoding: case counts, unknown fields are refused."""

    data: Mapping[str, Any]
    path: str
    report: CheckReport

    def only(self, known: tuple[str, ...], elsewhere: Mapping[str, str] | None = None) -> None:
        """Report every unknown field; `elsewhere` names the owner of some of them."""
        for key in self.data:
            if key not in known:
                owner = (elsewhere or {}).get(key)
                near = nearest_fix(key, known, "remove it")
                self.report.say(
                    "dra-field-unknown",
                    child(self.path, key),
                    value=key,
                    fix=near if owner is None else f"remove it: only {owner} has it",
                )

    def mapping(self, key: str) -> dict[str, Any] | None:
        """A mapping; None where it is absent, null, or refused with a finding."""
        value = self.data.get(key)
        found = as_mapping(value)
        if found is None and value is not None:
            self.wrong(key, "a mapping")
        return found

    def text(self, key: str) -> str | None:
        """Text; None where it is absent, null, or refused with a finding."""
        value = self.data.get(key)
        if value is None or isinstance(value, str):
            return value
        self.wrong(key, "text")
        return None

    def boolean(self, key: str) -> None:
        """Report a value that is not a boolean."""
        if self.data.get(key) is not None and not isinstance(self.data[key], bool):
            self.wrong(key, "true or false")

    def wrong(self, key: str, wanted: str) -> None:
        """Report a value of the wrong type."""
        value = self.data[key]
        self.report.say(
            "dra-wrong-type",
            child(self.path, key),
            value=shown(value),
            key=key,
            kind=kind_of(value),
            wanted=wanted,
        )


def validate_sharing(
    sharing: dict[str, Any],
    path: str,
    *,
    mig: bool,
    gates: Mapping[str, bool],
    gates_known: bool,
    version: tuple[int, ...],
    devices: int | None,
    report: CheckReport,
) -> str | None:
    """Validate a sharing block; the strategy where it is known."""
    fields = StrictFields(sharing, path, report)
    if mig:
        fields.only(("strategy", "mpsConfig"), {"timeSlicingConfig": "GpuConfig"})
    else:
        fields.only(("strategy", "timeSlicingConfig", "mpsConfig"))
    strategy = fields.text("strategy") or ""
    if strategy not in STRATEGIES:
        report.say(
            "dra-strategy-unknown",
            child(path, "strategy"),
            value=strategy,
            strategy=strategy or "none given",
            fix=nearest_fix(strategy, STRATEGIES),
        )
    elif not gates.get(STRATEGIES[strategy]):
        gate = STRATEGIES[strategy]
        report.say(
            "dra-gate-missing",
            child(path, "strategy"),
            code=None if gates_known else "dra-gate-needed",
            state="not enabled" if gates_known else "off by default",
            value=strategy,
            gate=gate,
        )
    slicing = None if mig else fields.mapping("timeSlicingConfig")
    mps = fields.mapping("mpsConfig")
    if slicing is not None:
        _validate_slicing(slicing, child(path, "timeSlicingConfig"), strategy, report)
    if mps is not None:
        place = child(path, "mpsConfig")
        _validate_mps(mps, place, strategy, version, devices, report)
        if strategy == "TimeSlicing" and mig:
            report.say("dra-mig-mps-config-ignored", place)
        elif strategy == "TimeSlicing":
            _other(place, "MpsConfig", strategy, report)
    if slicing is not None and strategy == "MPS":
        _other(child(path, "timeSlicingConfig"), "TimeSlicingConfig", strategy, report)
    return strategy if strategy in STRATEGIES else None


def _other(path: str, block: str, strategy: str, report: CheckReport) -> None:
    report.say("dra-other-strategy-config", path, block=block, strategy=strategy)


def _validate_slicing(
    slicing: dict[str, Any], path: str, strategy: str, report: CheckReport
) -> None:
    fields = StrictFields(slicing, path, report)
    fields.only(("interval",))
    interval = fields.text("interval")
    if strategy != "TimeSlicing":
        return
    if slicing.get("interval") is None:
        report.say("dra-interval-missing", child(path, "interval"))
    elif interval is not None and interval not in INTERVALS:
        report.say(
            "dra-interval-unknown",
            child(path, "interval"),
            value=interval,
            allowed=INTERVALS,
            fix=nearest_fix(interval, INTERVALS),
        )


def _validate_mps(
    mps: dict[str, Any],
    path: str,
    strategy: str,
    version: tuple[int, ...],
    devices: int | None,
    report: CheckReport,
) -> None:
    known = (
        "defaultActiveThreadPercentage",
        "defaultPinnedDeviceMemoryLimit",
        "defaultPerDevicePinnedMemoryLimit",
    )
    fields = StrictFields(mps, path, report)
    fields.only((*known, "multiUser") if version >= MULTI_USER_SINCE else known)
    fields.boolean("multiUser")
    threads = mps.get(known[0])
    number = integer(threads)
    if threads is not None and number is None:
        fields.wrong(known[0], "a whole number")
    elif number is not None and strategy == "MPS" and not 0 <= number <= 100:
        report.say("dra-threads-invalid", child(path, known[0]), value=number)
    if mps.get(known[1]) is not None:
        _validate_limit(mps[known[1]], child(path, known[1]), report)
    for key, value in (fields.mapping(known[2]) or {}).items():
        place = child(child(path, known[2]), key)
        _validate_device(key, place, devices, report)
        _validate_limit(0 if value is None else value, place, report)


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
