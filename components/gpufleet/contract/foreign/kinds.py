"""The kinds of configuration `check` can judge: one file each, loaded when asked for."""

import importlib
from collections.abc import Callable
from typing import Any

from gpufleet.contract.foreign.context import Context, read_context
from gpufleet.contract.foreign.document import read_document
from gpufleet.contract.foreign.go_yaml import Read
from gpufleet.contract.foreign.judgement import Judgement, RuleTable
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
}
"""Kind -> module of this package."""

Judge = Callable[[Read, Context], Judgement]


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
    read, found = read_document(kind, text, select)
    if read is None:
        return Judgement(ordered([*report.findings, *found]))
    judge: Judge = _module(kind).judge
    judgement = judge(read, where)
    findings = [*report.findings, *found, *judgement.findings]
    return Judgement(ordered(findings), None if report.rejected or found else judgement.advertises)


def _module(kind: str) -> Any:
    return importlib.import_module(f"gpufleet.contract.foreign.{KINDS[kind]}")
