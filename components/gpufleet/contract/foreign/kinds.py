"""The kinds of configuration `check` can judge: one file each, loaded when asked for."""

import importlib
from collections.abc import Callable
from typing import Any

from gpufleet.contract.foreign.context import Context, read_context
from gpufleet.contract.foreign.document import read_document
from gpufleet.contract.foreign.go_yaml import Read, UnreadableTextError
from gpufleet.contract.foreign.judgement import Judgement, Report, RuleTable
from gpufleet.findings import ordered

KINDS = {
    "mig-parted": "mig_parted",
    "mig-placement": "mig_placement",
    "mig-strategy": "mig_strategy",
    "device-plugin": "device_plugin",
    "dra-config": "dra_config",
    "gpu-operator-values": "gpu_operator_values",
    "network-operator-values": "network_operator_values",
    "rdma-shared-config": "rdma_shared_config",
    "sriov-config": "sriov_config",
    "karpenter": "karpenter_objects",
    "autoscaler": "autoscaler_objects",
}
"""Kind -> module of this package."""

Judge = Callable[[Read, Context], Judgement]

_JSON_KINDS = {"rdma-shared-config": "rdma-not-json", "sriov-config": "sriov-not-json"}
"""Kinds whose reader takes JSON alone: text that is none is refused, not unreadable."""


def rules_of(kind: str) -> RuleTable:
    """Every rule of a kind, by finding code."""
    return _module(kind).RULES


def judge_text(
    kind: str,
    text: str | bytes,
    *,
    gpu: str | None = None,
    select: str | None = None,
    context: object = None,
) -> Judgement:
    """Judge a document of a kind.

    `context` is the context file as data. Raises UnreadableTextError for text that nobody can read
    and KeyError for a kind that does not exist.
    """
    where, report = read_context(context, gpu, select)
    try:
        read, found = read_document(kind, text, select)
    except UnreadableTextError as problem:
        if kind not in _JSON_KINDS:
            raise
        refused = Report(rules_of(kind))
        refused.add(_JSON_KINDS[kind], "", f"the config must be JSON: {problem}", "write JSON")
        return Judgement(ordered([*report.findings, *refused.findings]))
    if read is None:
        return Judgement(ordered([*report.findings, *found]))
    judge: Judge = _module(kind).judge
    judgement = judge(read, where)
    findings = [*report.findings, *found, *judgement.findings]
    advertises = None if report.rejected or found else judgement.advertises
    return Judgement(ordered(findings), advertises)


def _module(kind: str) -> Any:
    return importlib.import_module(f"gpufleet.contract.foreign.{KINDS[kind]}")
