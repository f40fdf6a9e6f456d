"""The kinds of configuration `check` can validate: one file each, loaded when requested."""

import csv
import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpufleet.catalogue.lookup import nearest_fix
from gpufleet.cluster.scaling import AutoscalerTarget, TargetKey
from gpufleet.cluster.site import Site
from gpufleet.contract.programs.context import read_context
from gpufleet.contract.programs.validation import CheckReport, Judgement
from gpufleet.documents.document import GoDocument
from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.paths import child, value_at
from gpufleet.documents.reading import read_go
from gpufleet.documents.shapes import as_mapping
from gpufleet.findings import Finding, error, ordered
from gpufleet.rules.rows import RuleTable, rule_table, written_rules
from gpufleet_policies.configurations.recognition import kind_of_text

with Path(__file__).with_suffix(".csv").open(newline="", encoding="utf-8") as _file:
    _ROWS = tuple(csv.DictReader(_file))

KINDS = {row["kind"]: row["module"] for row in _ROWS}
"""Kind -> its module, and the name in it where a module has several kinds."""

READERS = {row["kind"]: row["read_by"] for row in _ROWS if row["read_by"]}
"""Kind -> the program that reads it, which `version` of the context is about."""

Judge = Callable[[GoDocument, Site], Judgement]

_JSON_KINDS = {"rdma-shared-config": "rdma-not-json", "sriov-config": "sriov-not-json"}
"""Kinds whose reader accepts only JSON: other text is refused, not unreadable."""

WHOLE_KINDS = frozenset({"karpenter", "autoscaler", "dra-config", "kueue"})
"""Kinds whose objects are validated whole: of a part only some values prove anything."""

READ_TOGETHER = (
    *("karpenter", "autoscaler", "kueue"),
    *("gpu-operator-values", "network-operator-values"),
)
"""Kinds whose objects are validated against each other, as a List."""

_KEYS = {"mig-parted": ("config.yaml",)}
"""Keys of a ConfigMap that hold the document of a kind, by convention of its reader."""

RULES = rule_table(*written_rules(Path(__file__).with_name("manifest_rules.jsonl")))
"""Errors of a text before its documents are validated."""


def rules_of(kind: str) -> RuleTable:
    """Every rule of a kind, by finding code."""
    return _module(kind).RULES


def validate_text(
    kind: str,
    text: str | bytes,
    *,
    gpu: str | None = None,
    select: str | None = None,
    context: object = None,
) -> Judgement:
    """Validate a document of a kind.

    `context` is the context file as data. Raises UnreadableDocumentError for unreadable text and
    KeyError for an unknown kind.
    """
    where, report = read_context(context, gpu, select, READERS.get(kind, ""))
    try:
        read, found = unwrapped(kind, read_go(text), select)
    except UnreadableDocumentError as problem:
        if kind not in _JSON_KINDS:
            raise
        refused = CheckReport(rules_of(kind))
        refused.add(_JSON_KINDS[kind], "", f"the config must be JSON: {problem}", "write JSON")
        return Judgement(ordered([*report.findings, *refused.findings]))
    validate: Judge = _module(kind).validate
    judged = [(path, validate(document, where)) for path, document in read]
    below = [
        replace(finding, path=f"{path}: {finding.path}".rstrip(": ") if path else finding.path)
        for path, one in judged
        for finding in one.findings
    ]
    alone = len(judged) == 1 and not (found or report.rejected)
    advertises = judged[0][1].advertises if alone else None
    return Judgement(ordered([*report.findings, *found, *below]), advertises)


def validate_objects(
    kind: str,
    found: Sequence[Mapping[str, Any]],
    *,
    gpu: str | None = None,
    context: object = None,
    targets: Mapping[TargetKey, AutoscalerTarget] | None = None,
) -> tuple[tuple[Finding, ...], ...]:
    """Findings about objects that were read already, for each object in the order they are given.

    Most kinds are validated together: a pool with the node class that it names, whatever file has
    it. Findings about the context come with the first object.
    """
    where, report = read_context(context, gpu, reader=READERS.get(kind, ""))
    classes = (value_at(one, "metadata.name") for one in found if one.get("kind") == "DeviceClass")
    where = replace(where, targets=targets or {}, device_classes=frozenset(map(str, classes)))
    if kind not in READ_TOGETHER:
        alone = [_module(kind).validate(GoDocument(one), where).findings for one in found]
        return tuple(ordered([*report.findings, *findings]) for findings in alone)
    whole = GoDocument({"apiVersion": "v1", "kind": "List", "items": list(found)})
    validated = _module(kind).validate(whole, where)
    each: list[list[Finding]] = [[] for _ in found]
    for finding in (*report.findings, *validated.findings):
        at = _ITEM.match(finding.path)
        path = finding.path if at is None else finding.path[at.end() :]
        each[0 if at is None else int(at[1])].append(replace(finding, path=path))
    return tuple(ordered(one) for one in each)


_ITEM = re.compile(r"items\[(\d+)\]\.?")


def _module(kind: str) -> Any:
    module, _, name = KINDS[kind].partition(":")
    found = importlib.import_module(module)
    return getattr(found, name) if name else found


def unwrapped(
    kind: str, read: GoDocument, select: str | None
) -> tuple[list[tuple[str, GoDocument]], tuple[Finding, ...]]:
    """(key path, document) of what is to be validated: one, or each key of a ConfigMap that has
    several. In a ConfigMap of the device plugin `select` names the key, as the node label does. The
    path of a single document is empty. Raises UnreadableDocumentError."""
    document = as_mapping(read.data)
    if kind == "kubernetes-object":  # a ConfigMap is one itself
        return [("", read)], ()
    if document is None or document.get("kind") != "ConfigMap" or "apiVersion" not in document:
        return [("", read)], ()
    entries = as_mapping(document.get("data")) or {}
    keys = _keys(kind, entries, select)
    if not keys:
        return [], (_absent(kind, entries, select),)
    found: list[tuple[str, GoDocument]] = []
    problems: list[Finding] = []
    for key in keys:
        path, value = child("data", key), entries[key]
        if isinstance(value, str):
            found.append((path if len(keys) > 1 else "", read_go(value)))
        else:
            problems.append(
                error(
                    "configmap-value-invalid",
                    path,
                    "a value of a ConfigMap must be text, and this is not",
                    f"write `{key}: |` and indent the document below it",
                )
            )
    return found, tuple(problems)


def _keys(kind: str, entries: Mapping[str, Any], select: str | None) -> tuple[str, ...]:
    """Keys whose documents are validated: the selected one, the reader's default, or all possible
    ones."""
    if kind == "device-plugin" and select is not None:
        return (select,) if select in entries else ()
    named = tuple(name for name in _KEYS.get(kind, ()) if name in entries)
    if named or len(entries) < 2:
        return named or tuple(entries)
    # Every key of a device plugin's ConfigMap can be the value of a node label.
    return tuple(
        key
        for key, text in entries.items()
        if kind == "device-plugin" or (isinstance(text, str) and kind_of_text(text) == kind)
    )


def _absent(kind: str, entries: Mapping[str, Any], select: str | None) -> Finding:
    keys = ", ".join(entries) or "none"
    if kind == "device-plugin" and select is not None:
        return error(
            "device-plugin-key-absent",
            child("data", select),
            f"the ConfigMap has no key {select!r}, it has {keys}: the config-manager sidecar fails "
            "on nodes labelled so",
            nearest_fix(select, entries, f"one of {keys}"),
            value=select,
            rules=("OUR-8", "5.3"),
        )
    wanted = " or ".join(_KEYS.get(kind, ("one key",)))
    return error(
        "configmap-key-absent",
        "data",
        f"the ConfigMap has the keys {keys}, and no key holds a document of this kind",
        f"write {wanted} with the document",
    )
