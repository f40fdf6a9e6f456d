"""Verdicts of `gpufleet check` for rules: the same checks, not a second version."""

import json
from functools import lru_cache

from gpufleet.catalogue.lookup import bare_product
from gpufleet.contract.foreign.validation import Judgement
from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.findings import error, ordered
from gpufleet_policies.facts.nvidia import NvidiaConfig, OperatorChoices
from gpufleet_policies.facts.pool import NodePool
from gpufleet_policies.rules.context import RuleContext

MIG_LABEL = "nvidia.com/mig.config"
"""Node label that selects a config of mig-parted."""


def verdict(context: RuleContext, config: NvidiaConfig) -> Judgement:
    """Findings of `gpufleet check` about a configuration, for the GPU of the declared pools.

    Of a file with several MIG layouts those are validated that pools here select, each for its GPU;
    where none is selected here, all of them, for any GPU.
    """
    if config.kind != "mig-parted":
        return _validated(config.kind, config.text, _gpu(context), _chart(config), None)
    parts = _configs(config.text)
    chosen = [(name, gpu) for name, gpu in selected_layouts(context) if name in parts]
    if not chosen:
        chosen = [(name, None) for name in parts] or [(None, None)]
    # The rest of the document is checked once, with the first configuration.
    texts = [config.text if at == 0 else parts[str(name)] for at, (name, _) in enumerate(chosen)]
    found = [
        _validated(config.kind, text, gpu, _chart(config), name)
        for text, (name, gpu) in zip(texts, chosen, strict=True)
    ]
    return Judgement(ordered(finding for one in found for finding in one.findings))


def selected_layouts(context: RuleContext) -> tuple[tuple[str, str | None], ...]:
    """MIG layouts that pools, or the operator's default, select here, with the pool's GPU."""
    key = "selected-layouts"
    found: tuple[tuple[str, str | None], ...] | None = context.memo.get(key)
    if found is None:
        names: dict[tuple[str, str | None], None] = {}
        if context.surroundings is not None:
            for pool in context.surroundings.of(NodePool):
                if MIG_LABEL in pool.labels:
                    names[pool.labels[MIG_LABEL], pool.gpu.found] = None
            for choices in context.surroundings.of(OperatorChoices):
                if choices.mig_config_default.is_known:
                    names[choices.mig_config_default.value, None] = None
        found = context.memo[key] = tuple(names)
    return found


@lru_cache(maxsize=64)
def _configs(text: str) -> dict[str, str]:
    """Each config of a mig-parted document as a document of its own; empty where it has none."""
    from gpufleet.documents.reading import read_go

    try:
        data = read_go(text).data
    except UnreadableDocumentError:
        return {}
    configs = data.get("mig-configs") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(configs, dict):
        return {}
    rest = {key: value for key, value in data.items() if key == "version"}
    return {
        str(name): json.dumps({**rest, "mig-configs": {name: entries}}, default=str)
        for name, entries in configs.items()
    }


def _chart(config: NvidiaConfig) -> tuple[str, str]:
    """Name and version of the chart that the configuration is for, or is in; empty: not known."""
    found = config.chart_version if config.version.is_absent else config.version
    digits = found.value.removeprefix("v").replace(".", "") if found.is_known else ""
    return config.chart, found.value if digits.isdecimal() else ""


def _gpu(context: RuleContext) -> str | None:
    """The only GPU model of all pools here; None where there are none, or several."""
    if context.surroundings is None:
        return None
    models = {p.gpu.value for p in context.surroundings.of(NodePool) if p.gpu.is_known}
    return bare_product(models.pop()) if len(models) == 1 else None


@lru_cache(maxsize=1024)
def _validated(
    kind: str, text: str, gpu: str | None, chart: tuple[str, str], select: str | None
) -> Judgement:
    # Its rule tables are large: only programs that have such a configuration pay for them.
    from gpufleet.contract.foreign.kinds import validate_text

    where: dict[str, object] = {}
    written = {k: v for k, v in zip(("name", "version"), chart, strict=True) if v}
    if written:
        where["chart"] = written
    if chart[1] and kind in ("gpu-operator-values", "network-operator-values"):
        where["version"] = chart[1]  # chart and program of the operators have one version
    try:
        return validate_text(kind, text, gpu=gpu, select=select, context=where or None)
    except UnreadableDocumentError as problem:
        return Judgement((error("document-unreadable", "", str(problem)),))
