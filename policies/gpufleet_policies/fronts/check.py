"""`gpufleet check`: the audit of one document with a context, as a verdict."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Any, cast

from gpufleet.cluster import Locator, UncompiledFleet, WorkloadFacts
from gpufleet.cluster.nvidia import NvidiaConfig
from gpufleet.cluster.pool import NodePool
from gpufleet.contract.programs.context import read_context
from gpufleet.contract.programs.validation import AdvertisedByConfig
from gpufleet.documents.document import Document
from gpufleet.documents.limits import CONFIGURATION, UnreadableDocumentError
from gpufleet.documents.shapes import is_list, is_mapping, known_texts, mapping
from gpufleet.findings import Finding, Level, Severity, error, has_errors, ordered
from gpufleet.findings.locator import NO_OBJECT
from gpufleet.rules.rule import Verdict
from gpufleet_policies.configurations.codes import code_space
from gpufleet_policies.fronts.audit.inputs import Input
from gpufleet_policies.fronts.audit.reading import Reading, read_input, text_of
from gpufleet_policies.fronts.audit.run import AuditContext, completed, context_of, judged
from gpufleet_policies.readers.blocks import inside
from gpufleet_policies.readers.document_text import each_document
from gpufleet_policies.readers.nvidia_configs import parsed
from gpufleet_policies.readers.raw_objects import ReferencedObject
from gpufleet_policies.rules.checked import verdict
from gpufleet_policies.rules.registry import PACK_RULES, type_of, validating
from gpufleet_policies.rules.settings import RuleSettings
from gpufleet_policies.wrappers.files import KUSTOMIZATIONS, is_kustomization_file
from gpufleet_policies.wrappers.judged import Unjudged
from gpufleet_policies.wrappers.registry import wrapper_of

UNREADABLE = "document-unreadable"
"""Code of the finding about an unreadable text."""


class CheckVerdict(StrEnum):
    """Verdict on a file."""

    ACCEPT = "accept"
    """It will work as it reads, and all of it was read."""
    UNJUDGED = "unjudged"
    """No error in the parts that were read, and a part was not validated."""
    WARN = "warn"
    """It will work, but not as it reads, or it wastes money."""
    REJECT = "reject"
    """It fails, or silently does something else."""


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """The result of one file."""

    findings: tuple[Finding, ...]
    advertises: AdvertisedByConfig | None
    """None where the file advertises nothing, or its resources are unknown."""
    not_judged: tuple[Unjudged, ...]
    """Objects that no rule validated, or only in part."""
    waived: tuple[Finding, ...]
    is_judged: bool
    """Whether rules have read anything of it."""

    @property
    def verdict(self) -> CheckVerdict:
        """The worst that any finding makes of it."""
        severities = {finding.severity for finding in self.findings}
        if Severity.ERROR in severities:
            return CheckVerdict.REJECT
        if Severity.WARNING in severities:
            return CheckVerdict.WARN
        whole = self.is_judged and not self.not_judged
        return CheckVerdict.ACCEPT if whole else CheckVerdict.UNJUDGED


def check_file(
    file: Input,
    today: date,
    settings: RuleSettings,
    *,
    kind: str | None = None,
    gpu: str | None = None,
    select: str | None = None,
    context: object = None,
) -> CheckedFile:
    """Apply every rule to one file, with the readers, levels and waivers of the audit.

    Args:
        file: File to read.
        today: UTC; waivers end by it.
        settings: Levels, exceptions, thresholds of the project.
        kind: Kind of configuration of the whole text. None: every object and configuration that is
        recognised in it.
        gpu: Key of the GPU of the nodes.
        select: The config, or key of a ConfigMap, that a node gets.
        context: The context file as data; None: without context. Without it, a GPU and a kind only
        the file itself counts; with one of them, defaults apply to unstated facts.

    Raises:
        OSError: the file cannot be read.
        UnreadableDocumentError: its text cannot be read, or is too large.
    """
    file = replace(file, content=text_of(file)[0])
    reading, *_ = completed([read_input(file), *_kustomizations(file)])
    others = () if kind is None else _other_kinds(kind, reading)
    left_out = () if kind is None else tuple(_left_out(kind, reading))
    reading = reading if kind is None else _read_as(kind, file, reading, select)
    known, wrong = _known(context, gpu, select)
    place = AuditContext(None if kind is gpu is context is None else known, select)
    if isinstance(known.get("environment"), str):
        settings = replace(settings, environment=known["environment"])
    noted = replace(settings, levels={**_NOTES, **settings.levels, **_off(kind)})
    audit = judged([reading], noted, today, place=place)
    # What is read as a kind is the whole text: its paths need no object.
    objects = {str(fact.locator) for fact in reading.facts if fact.locator.kind != _WHOLE}
    found = [_finding(one, settings, several=len(objects) > 1) for one in audit.findings]
    found = [*wrong, *(one for one in found if one.code not in _OF_THE_CALLER)]
    if reading.problem:
        found.append(error(UNREADABLE, "", reading.problem))
    elif any(one.code == UNREADABLE and not one.path for one in found):
        raise UnreadableDocumentError(next(one.message for one in found if one.code == UNREADABLE))
    if others and any(not one.code.endswith("-nothing-to-judge") for one in found):
        raise UnreadableDocumentError(
            f"{kind} does not cover the text: use --as {' or '.join(others)}"
        )
    if kind is not None:
        _refuse_unknown(kind, file, found)
    advertised = None
    configs = [fact for fact in reading.facts if isinstance(fact, NvidiaConfig)]
    if len(configs) == 1 and not has_errors(found):
        there = context_of([reading], settings, today, place=place)
        advertised = verdict(there, configs[0]).advertises
    return CheckedFile(
        ordered(found),
        advertised,
        tuple(dict.fromkeys((*audit.not_judged, *left_out))),
        audit.waived,
        (kind is not None or audit.looked_at > 0)
        and any(
            isinstance(fact, UncompiledFleet)
            or (not isinstance(fact, ReferencedObject) and validating(type_of(fact)))
            for fact in reading.facts
        ),
    )


def _kustomizations(file: Input) -> Iterator[Reading]:
    """Those of the file's folder and the one above, which may name it as a patch: a part of an
    object, which proves nothing by what it lacks."""
    here = Path(file.name)
    for folder in () if is_kustomization_file(file.name) else (here.parent, here.parent.parent):
        for name in KUSTOMIZATIONS:
            if (folder / name).is_file():
                yield read_input(Input(str(folder / name)))


def _other_kinds(kind: str, read: Reading) -> tuple[str, ...]:
    """The kinds of all recognised parts of a text, where `kind` is none of them. The content of
    a ConfigMap is recognised by its first key alone."""
    found = {(one.kind, one.locator.kind) for one in read.facts if isinstance(one, NvidiaConfig)}
    other = {one for one, held_by in found if held_by != "ConfigMap"}
    return () if kind in {*dict(found), "kubernetes-object"} else tuple(sorted(other))


def _refuse_unknown(kind: str, file: Input, found: Iterable[Finding]) -> None:
    """Raise UnreadableDocumentError for a text of another program: the kind has none of its several
    keys, or its known keys hold other values, or it has one of three or more. A text with a
    misspelt key belongs to the kind."""
    named = [one for one in found if "." not in one.path]
    unknown = {one.path for one in named if _is_unknown(one)}
    misspelt = {one.path for one in named if one.code.endswith("-key-misspelt")}
    if not unknown:
        return  # also for text that is not YAML: its finding reports it
    said = [mapping(one.data) for one in each_document(file.content or b"")]
    keys = {str(key) for one in said for key in one}
    # Charts do not report that they ignore empty values.
    empty = {str(key) for one in said for key, value in one.items() if _holds_nothing(value)}
    read = keys - unknown - empty
    wrong = read <= {one.path for one in named if one.severity is Severity.ERROR}
    one_of_many = len(read) == 1 and len(unknown) > 1 and not misspelt
    if len(keys) > 1 and (wrong or one_of_many):
        listed = ", ".join(sorted(keys - read)[:3])
        has = (
            f"knows {', '.join(sorted(read))}, and no other key of the text"
            if read
            else "has none of the keys of the text"
        )
        raise UnreadableDocumentError(f"{kind} {has} ({listed})")


def _is_unknown(one: Finding) -> bool:
    """Whether a kind does not have a key; a key like a MIG profile is a misspelt one."""
    profile = one.code == "mig-profile-malformed"
    return one.code.endswith("-key-unknown") or (profile and not re.search(r"\dg", one.path))


def _holds_nothing(value: object) -> bool:
    nothing = value in (None, [])
    return all(map(_holds_nothing, value.values())) if is_mapping(value) else nothing


_NOTES = {
    code: Level.ADVISORY for code, found in code_space().items() if found.verdict is Verdict.ACCEPT
}
"""Rules whose findings are remarks: shown here, and off elsewhere."""

_WHOLE = "Text"
"""Kind of the locator of a text that is read as one configuration."""

_OF_THE_CALLER = frozenset({"context-key-unknown", "context-value-invalid", "gpu-unknown"})
"""Findings about the caller's options: reported once, not with each configuration."""


_RULES_OF_OTHERS = {
    "karpenter": {"gpu-pool-unbounded", "gpu-pods-exceed-declared-pools"},
    "gpu-operator-values": {"device-plugin-default-absent"},
}
"""Rules about pools and relations whose findings no rule of the kind reports."""


_HELD_BY = {
    "device-plugin-values": ("device-plugin",),
    "gpu-operator-values": ("device-plugin", "mig-parted"),
}
"""Values of charts -> kinds of the configurations in them, or in the ConfigMaps that they name."""


def _off(kind: str | None) -> dict[str, Level]:
    """The rules that do not apply to a file which is read as a kind."""
    if kind is None:
        return {}
    others = _RULES_OF_OTHERS.get(kind, ())
    return {rule.id: Level.OFF for rule in PACK_RULES if rule.id not in others}


def _known(
    context: object, gpu: str | None, select: str | None
) -> tuple[dict[str, Any], tuple[Finding, ...]]:
    """The caller's options, as far as they can be read, and their errors."""
    _, report = read_context(context, gpu, select)
    wrong = {one.path.removeprefix("context.") for one in report.findings}
    written = cast("Mapping[str, Any]", context if isinstance(context, Mapping) else {})
    said = {**written} if gpu is None else {**written, "gpu": gpu}
    return {key: value for key, value in said.items() if key not in wrong}, tuple(report.findings)


def _read_as(kind: str, file: Input, read: Reading, select: str | None) -> Reading:
    """The whole text as one configuration of a kind; of a text of several objects, or with wrappers
    of charts, what they hold of the kind. Raises UnreadableDocumentError."""
    if kind != "kubernetes-object" and _holds_several(file):
        return _chosen(kind, read, select)
    text = CONFIGURATION.decoded(file.content or b"")
    default = Document(None) if kind.endswith("-values") else None  # Helm: the chart's values
    try:
        first = next(iter(each_document(text)), default)
    except UnreadableDocumentError:
        first = Document(None)  # the kind's own reader reports the error
    if first is None:  # no document: nothing is validated
        return Reading(file.name, [], [], 0, comments=read.comments)
    config = NvidiaConfig(
        locator=Locator(_WHOLE, file.name, file=file.name, line=first.line),
        annotations=known_texts(inside(first.data, "metadata.annotations")),
        kind=kind,
        text=text,
        is_named=True,
    )
    reading = Reading(file.name, [config], [first], 1, comments=read.comments)
    for fact, source in zip(read.facts, read.sources, strict=True):
        if isinstance(fact, NodePool) and kind in _RULES_OF_OTHERS:
            reading.facts.append(fact)
            reading.sources.append(source)
    return reading


def _chosen(kind: str, read: Reading, select: str | None) -> Reading:
    """What a text holds of a kind: of several ConfigMaps those with the selected config."""
    kinds = (kind, *_HELD_BY.get(kind, ()))
    own = [one for one in read.facts if isinstance(one, NvidiaConfig) and one.kind in kinds]
    others = " or ".join(_other_kinds(kind, read))
    unread = {one.what for one in read.not_judged} - {"document", "kind"}
    if not unread and all(one.kind != kind for one in own):
        hint = f": use --as {others}" if others else ""
        raise UnreadableDocumentError(f"no object of the text is of {kind}{hint}")
    own = [
        one  # a node selects a configuration by its key, or a part of it by name
        for one in own
        if select in (None, one.key, *mapping(inside(parsed(one.text), "mig-configs")))
    ] or own
    pairs = [
        (replace(fact, is_named=True) if isinstance(fact, NvidiaConfig) else fact, source)
        for fact, source in zip(read.facts, read.sources, strict=True)
        if not isinstance(fact, NvidiaConfig) or fact in own
    ]
    return replace(read, facts=[one for one, _ in pairs], sources=[one for _, one in pairs])


def _holds_several(file: Input) -> bool:
    """Whether a text has several objects of Kubernetes, a List of them, or wrappers of charts."""
    try:
        found = [mapping(one.data) for one in each_document(file.content or b"")]
    except UnreadableDocumentError:
        return False
    objects = all("kind" in one and "apiVersion" in one for one in found)
    several = len(found) > 1 or any(is_list(one.get("items")) for one in found)
    return (objects and several) or any(wrapper_of(one, file.name) for one in found)


def _left_out(kind: str, read: Reading) -> Iterator[Unjudged]:
    """Objects of a text of several that a kind is not about."""
    if read.documents < 2:
        return
    yield from (one for one in read.not_judged if one.what == "kind")
    of_the_kind = {
        fact.locator
        for fact in read.facts
        if kind == "kubernetes-object"
        or (isinstance(fact, NvidiaConfig) and fact.kind == kind)
        or (isinstance(fact, WorkloadFacts) and kind in ("autoscaler", "karpenter"))
    }
    reason = f"{kind} does not read it: remove --as to validate it"
    for where in dict.fromkeys(fact.locator for fact in read.facts):
        if where not in of_the_kind:
            yield Unjudged(read.name, where.line, str(where), "kind", reason)


def _finding(one: Finding, settings: RuleSettings, *, several: bool) -> Finding:
    """A finding with its path in the document, and its object where there are several."""
    is_note = one.code in _NOTES and one.code not in settings.levels
    has_object = several and one.locator.kind != _WHOLE
    return replace(
        one,
        severity=Severity.INFO if is_note else one.severity,
        locator=NO_OBJECT,
        path=one.place if has_object else one.path,
    )
