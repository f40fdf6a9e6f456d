"""Rules about configurations of NVIDIA's, Karpenter's and KEDA's software: one for each code of
`gpufleet check`, with its verdicts.

They are the rules of `gpufleet.contract.programs`. A document is validated once, and each rule
reports the findings of its code.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from gpufleet.catalogue.features import numbers
from gpufleet.catalogue.lookup import bare_product
from gpufleet.cluster import WorkloadFacts
from gpufleet.cluster.fact import Fact, known, unknown
from gpufleet.cluster.fleet import PRODUCTION
from gpufleet.cluster.nvidia import NvidiaConfig, OperatorChoices
from gpufleet.cluster.pool import NodePool
from gpufleet.cluster.program import Program
from gpufleet.cluster.scaling import AutoscalerTarget, TargetKey
from gpufleet.contract.machine_images import named_image
from gpufleet.contract.programs.autoscaler_signals import batches, is_accelerator
from gpufleet.contract.programs.context import UNKNOWN_RELEASE
from gpufleet.contract.programs.validation import Judgement
from gpufleet.contract.relation import DRA_DRIVER
from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.shapes import is_mapping, mapping
from gpufleet.findings import Finding, Level, Severity, error, ordered
from gpufleet.messages import one_line
from gpufleet.rules.context import RuleContext, SameObject, once
from gpufleet.rules.rows import SHARED
from gpufleet.rules.rule import Proof, Rule
from gpufleet_policies.configurations.codes import code_space, group_of
from gpufleet_policies.configurations.kinds import (
    READERS,
    WHOLE_KINDS,
    validate_objects,
    validate_text,
)
from gpufleet_policies.rules.pools import all_pools

MIG_LABEL = "nvidia.com/mig.config"
"""Node label that selects a config of mig-parted."""


def verdict(context: RuleContext, config: NvidiaConfig) -> Judgement:
    """Findings of `gpufleet check` about a configuration, for the GPU of the declared pools.

    For a file with several MIG layouts the layouts that pools here select are validated, each for
    its GPU; where none is selected here, all layouts, for any GPU.
    """
    if config.document is not None:
        return _together(context, config)
    if config.is_named or config.kind != "mig-parted":
        return _validated(context, config, config.text, _gpu(context), config.select)
    if context.select is not None:
        return _validated(context, config, config.text, _gpu(context), None)
    parts = _configs(config.text)
    chosen = [(name, gpu) for name, gpu in selected_layouts(context) if name in parts]
    if not chosen:
        chosen = [(name, None) for name in parts] or [(None, None)]
    # The rest of the document is checked once, with the first configuration.
    texts = [config.text if at == 0 else parts[str(name)] for at, (name, _) in enumerate(chosen)]
    found = [
        _validated(context, config, text, gpu, name)
        for text, (name, gpu) in zip(texts, chosen, strict=True)
    ]
    # A label of a node may choose any other: what fits no GPU at all is wrong all the same.
    unfit = [
        one
        for name in parts.keys() - dict(chosen).keys()
        for one in _validated(context, config, parts[name], None, name).findings
        if one.code == "mig-layout-nowhere"
    ]
    if len(found) == 1 and not unfit:
        return found[0]
    return Judgement(ordered([*unfit, *(finding for one in found for finding in one.findings)]))


def _together(context: RuleContext, config: NvidiaConfig) -> Judgement:
    """Findings about an object among those of its kind that are declared here."""
    # Overlays of one operator's object lie in several folders of a repository.
    file = config.locator.file if config.kind.endswith("-values") else ""
    key = ("together", config.kind, file)
    if context.surroundings is None:
        return _objects(context, (config,))[SameObject(config)]
    if key not in context.memo:
        alike = [
            one
            for one in context.declared(NvidiaConfig)
            if one.kind == config.kind
            and one.document is not None
            and (not file or one.locator.file == file)
        ]
        # Of two objects that exclude each other the same one is reported, whatever their order.
        alike.sort(key=lambda one: str(one.locator))
        context.memo[key] = _objects(context, alike)
    found: dict[SameObject, Judgement] = context.memo[key]
    return found[SameObject(config)]


def _objects(context: RuleContext, configs: Sequence[NvidiaConfig]) -> dict[SameObject, Judgement]:
    found = validate_objects(
        configs[0].kind,
        [one.document for one in configs if one.document is not None],
        gpu=_gpu(context),
        context=_place(context, configs[0]) or None,
        targets=_targets(context) if configs[0].kind == "autoscaler" else None,
    )
    return {
        SameObject(one): _own(context, Judgement(findings))
        for one, findings in zip(configs, found, strict=True)
    }


def _place(context: RuleContext, config: NvidiaConfig) -> dict[str, object]:
    """The known context of `gpufleet check` in this run."""
    place: dict[str, object] = dict(context.place or {})
    environment = context.environment_of(config)
    if environment.is_known and environment.value.lower() in PRODUCTION:
        place.setdefault("environment", "prod")
    minor = kubernetes_minor(context)
    if minor.is_known:
        place.setdefault("kubernetesVersion", ".".join(map(str, minor.value)))
    for key, value in _reader(context, config.kind).items():
        place.setdefault(key, value)
    if config.kind == "gpu-operator-values" and (images := _node_images(context)):
        place.setdefault("images", list(images))
    return place


def _reader(context: RuleContext, kind: str) -> dict[str, Any]:
    """Gates and release of the program that reads objects of a kind, as declared here; a gate that
    it does not name has its default. Undeclared or contradictory values are omitted."""
    gates: list[dict[str, bool]] = []
    for chart in context.declared(Program):
        path = _GATES.get(kind, {}).get(chart.name or "")
        if path is None or chart.values is None or not chart.complete or chart.hides(path):
            continue
        written = chart.value(path)
        if is_mapping(written) or chart.name == DRA_DRIVER:
            # Karpenter's chart writes its gates with a small letter first.
            named = mapping(written).items()
            gates.append({f"{k[:1].upper()}{k[1:]}": on for k, on in named if isinstance(on, bool)})
    found: dict[str, Any] = {}
    if gates and all(one == gates[0] for one in gates):
        found["featureGates"] = gates[0]
    if kind in WHOLE_KINDS and (release := _release(context, READERS.get(kind))):
        found["version"] = release
    return found


def _release(context: RuleContext, chart: str | None) -> str | None:
    """Release of a program that is declared here; None: not known, or several."""
    found = {one.release.found for one in context.declared(Program) if one.name == chart}
    return found.pop() if len(found) == 1 else None


@once
def kubernetes_minor(context: RuleContext) -> Fact[tuple[int, int]]:
    """Minor version of Kubernetes: of the context, else of the fleet, else the lowest that node
    groups here name."""
    given = (context.place or {}).get("kubernetesVersion")
    declared = given or (context.fleet and context.fleet.kubernetes_version)
    if declared:
        named = {str(declared): "kubernetesVersion"}
    else:
        written = (pool.kubernetes for pool in context.declared(NodePool))
        named = {one.value: one.place for one in written if one.is_known}
    if not named:
        return unknown("kubernetesVersion")
    from gpufleet.spec.cluster import minor_of  # it loads the models of a declaration

    minors = [(minor_of(text), at) for text, at in named.items() if _MINOR.match(text)]
    if not minors:
        return unknown("kubernetesVersion")
    minor, place = min(minors)
    return known(minor, place=place)


_GATES = {
    "karpenter": {"karpenter": "settings.featureGates"},
    "dra-config": {DRA_DRIVER: "featureGates", "gpu-operator": "draDriver.featureGates"},
}
"""Kind -> program -> value of its chart that holds gates of the kind's reader."""
_MINOR = re.compile(r"[0-9]+\.[0-9]+")


def _node_images(context: RuleContext) -> tuple[str, ...]:
    """Keys of the catalogue: images of the declared GPU nodes of every maker, without nodes
    whose label keeps the operator's driver away."""
    # Who brings what is the contract's: its models are only imported where an operator is declared.
    from gpufleet.contract.owners import DEPLOY_LABELS

    label = DEPLOY_LABELS["driver"]
    pools = (
        pool
        for pool in all_pools(context)
        if pool.is_certainly_gpu and pool.image.is_known and pool.labels.get(label) != "false"
    )
    images = (named_image(pool.image.value, context.catalogue) for pool in pools)
    return tuple(dict.fromkeys(image.key for image in images if image is not None))


def declares(context: RuleContext, chart: str) -> bool:
    """Whether a release of a chart is declared here."""
    return any(one.name == chart for one in context.declared(Program))


def _targets(context: RuleContext) -> dict[TargetKey, AutoscalerTarget]:
    """Workloads that autoscalers may name."""
    found: dict[TargetKey, AutoscalerTarget] = {}
    for workload in context.declared(WorkloadFacts):
        containers = [one for group in workload.pod_groups for one in group.containers]
        asked = {name for one in containers for name in (*one.limits, *one.requests)}
        target = AutoscalerTarget(
            any(one.image.is_known and batches(one.image.value) for one in containers),
            frozenset(name for name in asked if is_accelerator(name)),
            any("cpu" not in {**one.limits, **one.requests} for one in containers if not one.init),
        )
        where = workload.locator
        found.setdefault((where.kind, where.namespace or "default", where.name), target)
    return found


@once
def selected_layouts(context: RuleContext) -> tuple[tuple[str, str | None], ...]:
    """MIG layouts that pools, or the operator's default, select here, with the pool's GPU."""
    pools = [pool for pool in context.declared(NodePool) if MIG_LABEL in pool.labels]
    defaults = [one.mig_config_default for one in context.declared(OperatorChoices)]
    names = [
        *((pool.labels[MIG_LABEL], pool.gpu.found) for pool in pools),
        *((default.value, None) for default in defaults if default.is_known),
    ]
    return tuple(dict.fromkeys(names))


@lru_cache(maxsize=64)
def _configs(text: str) -> dict[str, str]:
    """Each config of a mig-parted document as a separate document; empty where it has none."""
    from gpufleet.documents.reading import read_go

    try:
        data = mapping(read_go(text).data)
    except UnreadableDocumentError:
        return {}
    configs = mapping(data.get("mig-configs"))
    rest = {key: value for key, value in data.items() if key == "version"}
    return {
        str(name): json.dumps({**rest, "mig-configs": {name: entries}}, default=str)
        for name, entries in configs.items()
    }


def _chart(config: NvidiaConfig) -> tuple[str, str]:
    """Name and version of the chart that the configuration is for, or is in; empty: nothing names
    one."""
    found = config.chart_version if config.version.is_absent else config.version
    return config.chart, UNKNOWN_RELEASE if found.is_unknown else found.found or ""


def _gpu(context: RuleContext) -> str | None:
    """The only GPU model of all pools here; None where there are none, or several, or the context
    names it."""
    if context.place is not None and {"gpu", "product"} & set(context.place):
        return None
    models = {p.gpu.value for p in context.declared(NodePool) if p.gpu.is_known}
    return bare_product(models.pop()) if len(models) == 1 else None


def _validated(
    context: RuleContext, config: NvidiaConfig, text: str, gpu: str | None, select: str | None
) -> Judgement:
    place = _place(context, config)
    chart = _chart(config)
    written = {k: v for k, v in zip(("name", "version"), chart, strict=True) if v}
    if written:
        place.setdefault("chart", written)
    chosen = context.select if select is None else select
    try:
        found = validate_text(config.kind, text, gpu=gpu, select=chosen, context=place or None)
        return _own(context, found)
    except UnreadableDocumentError as problem:
        return Judgement((error("document-unreadable", "", str(problem)),))


def _own(context: RuleContext, found: Judgement) -> Judgement:
    """Without what is wrong with gates of a program here: reported where they are written."""
    if "featureGates" in (context.place or {}):
        return found
    kept = (one for one in found.findings if not one.path.startswith("context.featureGates"))
    return replace(found, findings=tuple(kept))


def _by_rule(context: RuleContext, config: NvidiaConfig) -> Mapping[str, Sequence[Finding]]:
    """Faults of a configuration, by code; computed once for an object."""
    key = ("configuration", SameObject(config))
    found: dict[str, list[Finding]] | None = context.memo.get(key)
    if found is None:
        # A validation that breaks is reported by one rule, not by each.
        context.memo[key] = {}
        findings = verdict(context, config).findings
        found = context.memo[key] = _proven(context, config, findings)
    return found


def _proven(
    context: RuleContext, config: NvidiaConfig, findings: Iterable[Finding]
) -> dict[str, list[Finding]]:
    rules = code_space()
    # A finding without a rule would be lost unseen: KeyError.
    kept = [one for one in findings if _is_proven(context, config, rules[one.code])]
    found: dict[str, list[Finding]] = {}
    for one in kept:
        since = mapping(one.evidence.get("since"))
        ours = ((_release(context, chart), first) for chart, first in since.items())
        if not any(own and numbers(own) < numbers(first) for own, first in ours):
            found.setdefault(one.code, []).append(_draft(config, one))
    return found


def _is_proven(context: RuleContext, config: NvidiaConfig, rule: Rule) -> bool:
    if rule.chart and context.place is None and not declares(context, rule.chart):
        return False  # the values of the chart that decide the rule are not known
    if config.is_named:
        return True
    if rule.proof is Proof.NAMED:
        return False
    if not config.complete and config.document and config.kind in WHOLE_KINDS:
        return rule.proof is Proof.VALUE
    return config.complete or rule.proof is not Proof.WHOLE


def _draft(config: NvidiaConfig, found: Finding) -> Finding:
    certain = found.severity is Severity.ERROR
    shared = found.code.startswith(SHARED)
    return replace(
        found,
        evidence={**found.evidence, "kind": config.kind} if shared else found.evidence,
        path=one_line(config.written_at(found.path)),
        message=one_line(found.message),
        fix=None if found.fix is None else one_line(found.fix),
        level=Level.MANDATORY if certain else Level.ADVISORY,
    )


CONFIG_RULES = tuple(
    replace(rule, found_by=_by_rule, group=group_of(rule)) for rule in code_space().values()
)
