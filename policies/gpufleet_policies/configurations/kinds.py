"""The kinds of configuration `check` can validate: one file each, loaded when requested."""

import csv
import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpufleet.cluster.scaling import AutoscalerTarget, TargetKey
from gpufleet.cluster.site import Site
from gpufleet.contract.programs.context import read_context
from gpufleet.contract.programs.validation import AdvertisedByConfig, CheckReport, Judgement
from gpufleet.documents.document import GoDocument
from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.paths import child, value_at
from gpufleet.documents.reading import read_go
from gpufleet.findings import Finding, ordered
from gpufleet.rules.rows import RuleTable
from gpufleet_policies.configurations.manifest import (
    TOGETHER,
    manifest_objects,
    unwrapped,
    wanted_objects,
)
from gpufleet_policies.configurations.objects import Object

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

READ_TOGETHER = ("karpenter", "autoscaler", "kueue")
"""Kinds that read every object of a text themselves."""


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
        inside = manifest_objects(kind, text)
        if inside is not None:
            wanted = wanted_objects(kind, inside, select)
            if isinstance(wanted, Finding):
                return Judgement(ordered([*report.findings, wanted]))
            findings, advertises = _validate_manifest(kind, wanted, select, where)
            advertises = None if report.rejected else advertises
            return Judgement(ordered([*report.findings, *findings]), advertises)
        read, found = unwrapped(kind, read_go(text), select)
    except UnreadableDocumentError as problem:
        if kind not in _JSON_KINDS:
            raise
        refused = CheckReport(rules_of(kind))
        refused.add(_JSON_KINDS[kind], "", f"the config must be JSON: {problem}", "write JSON")
        return Judgement(ordered([*report.findings, *refused.findings]))
    validated = _validate_documents(kind, read, found, where)
    advertises = None if report.rejected else validated.advertises
    return Judgement(ordered([*report.findings, *validated.findings]), advertises)


def _validate_documents(
    kind: str,
    read: Sequence[tuple[str, GoDocument]],
    found: tuple[Finding, ...],
    where: Site,
) -> Judgement:
    """Findings about the documents of one object; the paths of several begin with their key."""
    validate: Judge = _module(kind).validate
    judged = [(path, validate(document, where)) for path, document in read]
    if len(judged) == 1 and not found:
        return judged[0][1]
    findings = [_below(path, finding) for path, one in judged for finding in one.findings]
    return Judgement((*found, *findings))


def _below(path: str, finding: Finding) -> Finding:
    return replace(finding, path=f"{path}: {finding.path}".removeprefix(": ").rstrip(": "))


def _validate_manifest(
    kind: str, wanted: tuple[Object, ...], select: str | None, where: Site
) -> tuple[list[Finding], AdvertisedByConfig | None]:
    """Findings about some objects of a text; paths of one alone are those inside it."""
    if kind in TOGETHER:
        validate: Judge = _module(kind).validate
        together = {"apiVersion": "v1", "kind": "List", "items": [item for _, item in wanted]}
        validated = validate(GoDocument(together), where)
        places = {child("items", number): path for number, (path, _) in enumerate(wanted)}
        return [_moved(finding, places) for finding in validated.findings], None
    findings: list[Finding] = []
    advertises: AdvertisedByConfig | None = None
    where = replace(where, device_classes=_device_classes(wanted))
    for path, item in wanted:
        read, found = unwrapped(kind, GoDocument(item), select)
        validated = _validate_documents(kind, read, found, where)
        if len(wanted) == 1:
            return list(validated.findings), validated.advertises
        findings += [_below(path, finding) for finding in validated.findings]
    return findings, advertises


def _device_classes(objects: Sequence[tuple[str, Mapping[str, Any]]]) -> frozenset[str]:
    """Names of the DeviceClasses among objects."""
    classes = (item for _, item in objects if item.get("kind") == "DeviceClass")
    return frozenset(str(value_at(one, "metadata.name")) for one in classes)


def _moved(finding: Finding, places: Mapping[str, str]) -> Finding:
    """A finding about the items of a List, with the place they have in the text."""

    def place(found: re.Match[str]) -> str:
        return places.get(found[0], found[0])

    path, message = (re.sub(r"items\[\d+\]", place, t) for t in (finding.path, finding.message))
    return replace(finding, path=path, message=message)


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
    classes = _device_classes([("", one) for one in found])
    where = replace(where, targets=targets or {}, device_classes=classes)
    if kind not in (*TOGETHER, *READ_TOGETHER):
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
