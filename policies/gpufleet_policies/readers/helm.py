"""Helm releases and values files of charts that GPU fleets use, as facts."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpufleet.cluster.cluster import MetricsSource
from gpufleet.cluster.fact import UNKNOWN, Fact, Provenance, absent, known
from gpufleet.cluster.nvidia import NvidiaConfig, OperatorChoices
from gpufleet.cluster.program import Program
from gpufleet.cluster.release_values import (
    HeldElsewhere,
    ReleaseValues,
    ValuesSource,
    WrappedRelease,
    joined,
)
from gpufleet.cluster.subject import environment
from gpufleet.contract.programs.device_plugin import default_config
from gpufleet.documents.shapes import is_list, is_mapping, items, known_texts, mapping
from gpufleet.findings.locator import Locator
from gpufleet_policies.readers.blocks import inside, literal, word
from gpufleet_policies.readers.chart_workloads import workload_of_values
from gpufleet_policies.readers.nvidia_configs import as_text, as_written, declared, parsed
from gpufleet_policies.readers.nvidia_objects import choices
from gpufleet_policies.readers.reading import boolean, fact, text
from gpufleet_policies.resolve.hcl import FilePath
from gpufleet_policies.wrappers.charts import chart_name, known_chart
from gpufleet_policies.wrappers.judged import NotJudged, UnopenedRelease
from gpufleet_policies.wrappers.release import set_steps, set_value, values_of


def release(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """`kubernetes:helm.sh/v3:Release`, `helm_release`."""
    chart = word(document, "chart")
    if not chart.is_known:
        return
    name = word(document, "name")
    namespace = word(document, "namespace")
    where = replace(
        locator,
        kind="Release",
        name=name.value if name.is_known else locator.name,
        namespace=namespace.value if namespace.is_known else "",
    )
    is_here = chart.value.startswith((".", "/"))
    sources = tuple(_sources(document))
    for key in ("repository", "count", "for_each"):  # another chart, or none
        if document.get(key) is UNKNOWN:
            sources += (ValuesSource(key, held=HeldElsewhere("value", "of a plan")),)
    if is_here and document.get("postrender") is not None:  # it may change any object
        sources += (ValuesSource("postrender", held=HeldElsewhere("patches", "of postrender")),)
    if is_here or any(one.held is not None for one in sources):
        held = HeldElsewhere("folder", chart.value) if is_here else None
        own, version = None if is_here else chart_name(chart.value), word(document, "version").found
        one = WrappedRelease(own, version, "chart", sources, where.name, where.namespace, held)
        yield UnopenedRelease(locator=where, release=one)
        return
    parts = values_of(sources, literal)
    # Values that a plan alone knows are listed with their resource.
    if known_chart(chart_name(chart.value)) and UNKNOWN not in [one.written for one in sources]:
        for missing in parts.missing:
            reason = f"values of the chart {chart_name(chart.value)} are not known: {missing}"
            yield NotJudged(locator=where, what="values", reason=reason)
    yield from of_values(
        chart_name(chart.value),
        {} if parts.missing else parts.values,
        where,
        version=word(document, "version"),
        place="values",
        complete=not parts.missing,
        namespace=where.namespace,
    )


def _sources(document: dict[str, Any]) -> Iterator[ValuesSource]:
    """The values of a release as they are written, and single values over them."""
    values = inside(document, "values")
    for index, one in enumerate(values if is_list(values) else [values]):
        place = f"values[{index}]" if is_list(values) else "values"
        held = HeldElsewhere("file", str(one)) if isinstance(one, FilePath) else None
        yield ValuesSource(place, {} if one is None else one, held=held)
    for key in ("set", "set_list", "set_sensitive"):
        written = document.get(key)
        for one in [UNKNOWN] if written is UNKNOWN else items(written):
            name, value = inside(one, "name"), inside(one, "value")
            steps = set_steps(name) if isinstance(name, str) else None
            if key == "set_sensitive":
                value = UNKNOWN
            elif isinstance(value, str) and inside(one, "type") != "string":
                value = set_value(value)
            yield ValuesSource(key, UNKNOWN if steps is None else value, steps or ())


def of_values(
    chart: str,
    values: dict[str, Any],
    locator: Locator,
    *,
    version: Fact[str] | None = None,
    place: str = "values",
    complete: bool = True,
    annotations: Mapping[str, str] | None = None,
    parts: ReleaseValues | None = None,
    written: str = "",
    namespace: str = "",
) -> Iterator[Any]:
    """All facts in the values of a known chart.

    Args:
        chart: Its name; no facts for charts that no rule reads.
        values: Plain data, UNKNOWN where a value cannot be read.
        locator: The object or file that holds them.
        version: Of the chart.
        place: The field that holds them.
        complete: False: there are more values, which cannot be read.
        annotations: Those of the object that holds them.
        parts: Path of each value, when that is not simply below `place`.
        written: Text of the file that holds only the values; empty: they are part of an object.
        namespace: Namespace of the release; empty: unknown.
    """
    chart_row = known_chart(chart)
    if chart_row is None:
        return
    written_version = absent("version") if version is None else version
    labels = {**known_texts(mapping(values.get("commonLabels"))), **(annotations or {})}
    yield Program(
        locator=locator,
        annotations=annotations or {},
        environment=environment(labels),
        name=chart_row.name,
        release=written_version,
        values=values,
        complete=complete,
        place=place,
        namespace=known(namespace) if namespace else absent("namespace"),
    )
    inside_wrapper = place if parts is not None else ""
    pods = workload_of_values(chart_row.name, values, locator, inside_wrapper)
    if pods is not None:
        yield pods
    elif chart_row.kind is None and chart_row.of_gpus:
        reason = f"no rule reads the values of the chart {chart_row.name}"
        yield NotJudged(
            locator=locator, annotations=annotations or {}, what="chart", reason=reason, place=place
        )
    if chart_row.kind is not None and (complete or parts is not None):
        others = _without_own_configs(chart_row.name, values)
        text_of_values, whole_text = as_text(others)
        if others is values and whole_text:
            text_of_values = as_written(values, written) or text_of_values
        yield NvidiaConfig(
            locator=locator,
            annotations=annotations or {},
            environment=environment(labels),
            kind=chart_row.kind,
            text=text_of_values,
            complete=whole_text and complete,
            place=place,
            version=written_version,
            chart=chart_row.name,
            parts=parts,
        )
    if not complete:
        return
    if chart_row.name == "gpu-operator":
        yield from choices(values, locator, labels, place, version=written_version)
    elif chart_row.name == "nvidia-device-plugin":
        yield from _device_plugin(values, locator, labels, place, written_version)
    elif chart_row.name == "dcgm-exporter":
        yield MetricsSource(locator=locator, what="dcgm-exporter chart")
    elif chart_row.name == "kueue":
        from gpufleet_policies.readers.kueue import configuration

        where = "managerConfig.controllerManagerConfigYaml"
        config = inside(values, where)
        if isinstance(config, str):
            yield from configuration(parsed(config), locator, joined(place, where))


def _without_own_configs(chart: str, values: dict[str, Any]) -> dict[str, Any]:
    """Values whose configurations are separate facts are validated without these."""
    configs = inside(values, "config.map")
    if chart != "nvidia-device-plugin" or not is_mapping(configs):
        return values
    rest = {key: "version: v1" if _is_config(one) else one for key, one in configs.items()}
    return {**values, "config": {**values["config"], "map": rest}}


def _is_config(value: Any) -> bool:
    """Whether a value of `config.map` is text that can be read: the chart takes nothing else."""
    return isinstance(value, str) and is_mapping(parsed(value))


def _default_config(values: dict[str, Any]) -> Fact[str]:
    """The configuration of nodes without a label: what the chart finds where none is written."""
    written = word(values, "config.default")
    found = default_config(mapping(values.get("config"))) if written.is_absent else None
    return written if found is None else known(found, Provenance.DEFAULT, "config.map")


def _device_plugin(
    values: dict[str, Any],
    locator: Locator,
    labels: Mapping[str, str],
    place: str,
    version: Fact[str],
) -> Iterator[Any]:
    own = fact(inside(values, "migStrategy"), text, "migStrategy")
    yield OperatorChoices(
        locator=locator,
        annotations=labels,
        installs="nvidia-device-plugin",
        plugin_enabled=fact(True, boolean, "chart"),
        mig_strategy=known("none", Provenance.DEFAULT) if own.is_absent else own,
        dcgm_exporter=fact(False, boolean, "dcgmExporter"),
        plugin_config_default=_default_config(values),
        place=place,
    )
    for key, value in mapping(inside(values, "config.map")).items():
        if _is_config(value):
            data = parsed(value)
            where = joined(place, f"config.map[{key}]")
            yield NvidiaConfig(
                locator=locator,
                kind="device-plugin",
                text=value,
                place=where,
                key=key,
                chart="nvidia-device-plugin",
                chart_version=version,
            )
            yield from declared("device-plugin", data, locator, labels, where, key)
