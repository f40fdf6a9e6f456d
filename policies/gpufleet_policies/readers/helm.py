"""Helm releases and values files of charts that GPU fleets use, as facts."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from gpufleet.catalogue import Catalogue, load
from gpufleet_policies.facts.locator import Locator
from gpufleet_policies.facts.monitoring import MetricsSource
from gpufleet_policies.facts.nvidia import ChartRelease, NvidiaConfig, OperatorChoices
from gpufleet_policies.facts.tristate import UNKNOWN, Fact, absent
from gpufleet_policies.readers.blocks import environment, inside, known_texts, word
from gpufleet_policies.readers.chart_workloads import NAMES as CHARTS_OF_PODS
from gpufleet_policies.readers.chart_workloads import workload_of_values
from gpufleet_policies.readers.nvidia_configs import as_text, declared, parsed
from gpufleet_policies.readers.nvidia_objects import choices, values_path
from gpufleet_policies.readers.reading import boolean, fact, mapping, text

Load = Callable[[], Catalogue]

KNOWN_CHARTS = (
    "gpu-operator",
    "nvidia-device-plugin",
    "network-operator",
    "nvidia-dra-driver-gpu",
    "dcgm-exporter",
    "karpenter",
    "kueue",
    "keda",
    *CHARTS_OF_PODS,
)
"""Charts whose values the rules understand, by name."""

_SIGNS: dict[str, tuple[frozenset[str], ...]] = {
    "gpu-operator": (
        frozenset({"migManager", "dcgmExporter"}),
        frozenset({"toolkit", "driver"}),
        frozenset({"devicePlugin", "operator"}),
        frozenset({"mig", "migManager"}),
        frozenset({"mig", "devicePlugin"}),
        frozenset({"driver", "mig"}),
        frozenset({"driver", "dcgmExporter"}),
        frozenset({"driver", "devicePlugin"}),
        frozenset({"driver", "sandboxWorkloads"}),
    ),
    "network-operator": (
        frozenset({"nicConfigurationOperator"}),
        frozenset({"sriovNetworkOperator", "deployCR"}),
        frozenset({"sriov-network-operator"}),
        frozenset({"nfd", "sriovNetworkOperator"}),
    ),
    "nvidia-dra-driver-gpu": (
        frozenset({"gpuResourcesEnabledOverride"}),
        frozenset({"nvidiaDriverRoot", "resources"}),
    ),
    "nvidia-device-plugin": (
        frozenset({"migStrategy"}),
        frozenset({"failOnInitError"}),
        frozenset({"deviceListStrategy"}),
    ),
    "kueue": (frozenset({"managerConfig"}),),
    "vllm-stack": (frozenset({"servingEngineSpec"}),),
    "jupyterhub": (frozenset({"singleuser", "hub"}), frozenset({"singleuser", "cull"})),
}
"""Sets of top-level keys that only this chart has together."""


def chart_of_values(document: Mapping[str, Any], path: str) -> str | None:
    """The chart that values belong to: from the path, else from their keys; None: not known.

    Only files called like values files are recognised by their path, so that an unrelated file in a
    folder `kueue/` stays what it is.
    """
    pure = PurePath(path)
    stem = pure.name.lower()
    if "values" in stem:
        for part in (stem, *(p.lower() for p in reversed(pure.parts[:-1]))):
            for chart in sorted(KNOWN_CHARTS, key=len, reverse=True):
                if chart in part:
                    return chart
    keys = set(document)
    for chart, signs in _SIGNS.items():
        if any(sign <= keys for sign in signs):
            return chart
    return None


def release(document: dict[str, Any], locator: Locator, catalogue: Load) -> Iterator[Any]:
    """`kubernetes:helm.sh/v3:Release`, `helm_release`."""
    chart = word(document, "chart")
    if not chart.is_known:
        return
    values = inside(document, "values")
    written: Any = values
    if isinstance(values, list):  # Terraform: a list of documents, later ones win
        written = {}
        for one in values:
            data = parsed(one) if isinstance(one, str) else None
            written = _merged(written, data) if isinstance(data, dict) else UNKNOWN
            if written is UNKNOWN:
                break
    for setting in _settings(document):
        written = _merged(written, setting) if isinstance(written, dict | None) else written
    if values is None and not isinstance(written, dict):
        written = {}
    name = word(document, "name")
    namespace = word(document, "namespace")
    where = replace(
        locator,
        kind="Release",
        name=name.value if name.is_known else locator.name,
        namespace=namespace.value if namespace.is_known else "",
    )
    known_values = written if isinstance(written, dict) else {}
    yield from of_values(
        chart_name(chart.value),
        known_values,
        where,
        version=word(document, "version"),
        place="values",
        complete=isinstance(written, dict),
        namespace=where.namespace,
        catalogue=catalogue,
    )


def _settings(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Terraform's `set` blocks."""
    for one in document.get("set") or []:
        name, value = inside(one, "name"), inside(one, "value")
        if not isinstance(name, str) or "[" in name:
            continue
        nested: Any = (
            {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value
        )
        for step in reversed(name.replace("\\.", "\0").split(".")):
            nested = {step.replace("\0", "."): nested}
        yield nested


def _merged(under: Any, over: Any) -> Any:
    if not isinstance(under, dict) or not isinstance(over, dict):
        return over
    return {**under, **{k: _merged(under.get(k), v) for k, v in over.items()}}


def chart_name(reference: str) -> str:
    """`gpu-operator` of `oci://registry.example/charts/gpu-operator` or `nvidia/gpu-operator`."""
    return reference.rstrip("/").rsplit("/", 1)[-1].removesuffix(".tgz")


def of_values(
    chart: str,
    values: dict[str, Any],
    locator: Locator,
    *,
    version: Fact[str] | None = None,
    place: str = "values",
    complete: bool = True,
    namespace: str = "",
    catalogue: Load = load,
) -> Iterator[Any]:
    """Everything the values of a known chart say."""
    if chart not in KNOWN_CHARTS:
        return
    del namespace
    written_version = absent("version") if version is None else version
    labels = known_texts(mapping(values.get("commonLabels")))
    yield ChartRelease(
        locator=locator,
        environment=environment(labels),
        chart=chart,
        version=written_version,
        values=values,
        place=place,
    )
    pods = workload_of_values(chart, values, locator, catalogue)
    if pods is not None:
        yield pods
    kind = _CHECKED.get(chart)
    if kind is not None and complete:
        text_of_values, whole_text = as_text(values)
        yield NvidiaConfig(
            locator=locator,
            environment=environment(labels),
            kind=kind,
            text=text_of_values,
            complete=whole_text,
            place=place,
            version=written_version,
        )
    if not complete:
        return
    if chart == "gpu-operator":
        yield from choices(values, locator, labels, place)
    elif chart == "nvidia-device-plugin":
        yield from _device_plugin(values, locator, labels, place)
    elif chart == "dcgm-exporter":
        yield MetricsSource(locator=locator, what="dcgm-exporter chart")
    elif chart == "kueue":
        from gpufleet_policies.readers.kueue import configuration

        config = inside(values, "managerConfig.controllerManagerConfigYaml")
        if isinstance(config, str):
            yield from configuration(parsed(config), locator, f"{place}.managerConfig")


_CHECKED = {
    "gpu-operator": "gpu-operator-values",
    "network-operator": "network-operator-values",
}
"""Charts whose values `gpufleet check` validates as such."""


def _device_plugin(
    values: dict[str, Any], locator: Locator, labels: Mapping[str, str], place: str
) -> Iterator[Any]:
    yield OperatorChoices(
        locator=locator,
        annotations=labels,
        environment=environment(labels),
        installs="nvidia-device-plugin",
        plugin_enabled=fact(True, boolean, "chart"),
        mig_strategy=fact(inside(values, "migStrategy"), text, "migStrategy").or_default("none"),
        dcgm_exporter=fact(False, boolean, "dcgmExporter"),
        plugin_config_default=word(values, "config.default"),
        selects_nodes=bool(inside(values, "nodeSelector") or inside(values, "affinity")),
        place=place,
    )
    for key, value in mapping(inside(values, "config.map")).items():
        data = parsed(value) if isinstance(value, str) else value
        if isinstance(data, dict):
            where = f"{place}.config.map[{key}]"
            document, complete = as_text(data)
            path = values_path(locator, place, "config", "map", key)
            held = value if isinstance(value, str) else ""
            yield NvidiaConfig(
                locator=locator,
                kind="device-plugin",
                text=document,
                complete=complete,
                place=where,
                key=key,
                path=path,
                held=held,
            )
            yield from declared("device-plugin", data, locator, labels, where, key, path, held)
