"""A ComputeDomain as the API server takes it."""

from typing import Any

from gpufleet.contract.foreign.context import CheckContext
from gpufleet.contract.foreign.dra_sharing import StrictFields
from gpufleet.contract.foreign.go_json import as_mapping, integer, shown
from gpufleet.contract.foreign.validation import CheckReport

_MODES = ("Single", "All")


def validate_domain(document: dict[str, Any], context: CheckContext, report: CheckReport) -> None:
    """Rules of the definition of ComputeDomain, and of the stricter copy in the GPU Operator."""
    spec = as_mapping(document.get("spec")) or {}
    fields = StrictFields(spec, "spec", report)
    fields.only(("numNodes", "channel"))
    nodes = spec.get("numNodes")
    number = integer(nodes)
    if nodes is not None and (number is None or number < 0):
        report.add(
            "dra-domain-nodes",
            "spec.numNodes",
            f"numNodes is {shown(nodes)}, a whole number from 0 on is needed",
            "write `numNodes: 0`",
            value=shown(nodes),
            limit=0,
        )
    if nodes is None and context.chart is not None and context.chart.name == "gpu-operator":
        report.add(
            "dra-domain-nodes-required",
            "spec.numNodes",
            "the definition bundled with the GPU Operator requires numNodes",
            "write `numNodes: 0`",
        )
    channel = fields.mapping("channel")
    if channel is None:
        report.add(
            "dra-domain-channel",
            "spec.channel",
            "a ComputeDomain needs a channel",
            "write `channel: {resourceClaimTemplate: {name: ...}}`",
        )
        return
    mode = StrictFields(channel, "spec.channel", report).text("allocationMode")
    if mode is not None and mode not in _MODES:
        report.add(
            "dra-domain-mode",
            "spec.channel.allocationMode",
            f"allocationMode is {mode}, All and Single are allowed",
            "one of Single, All",
            value=mode,
        )
    before = as_mapping((as_mapping(context.previous) or {}).get("spec"))
    if before is not None and before != spec:
        report.add(
            "dra-domain-immutable",
            "spec",
            "the spec of a ComputeDomain cannot change",
            "delete the ComputeDomain and make it anew",
        )
