"""Objects of NVIDIA's operators and drivers as facts, and their choices for all nodes."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpufleet.cluster.cluster import MetricsSource
from gpufleet.cluster.fact import UNKNOWN, Fact, absent, known, unknown
from gpufleet.cluster.nvidia import NvidiaConfig, OperatorChoices
from gpufleet.cluster.program import Program
from gpufleet.cluster.release_values import joined
from gpufleet.documents.shapes import is_mapping, known_texts, mapping
from gpufleet.findings.locator import Locator
from gpufleet_policies.readers.blocks import flag, inside, word
from gpufleet_policies.readers.nvidia_configs import declared, parsed, without_unknown
from gpufleet_policies.readers.reading import fact, is_filled_in, text


def cluster_policy(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """nvidia.com ClusterPolicy, as its choices for all nodes."""
    annotations = known_texts(inside(document, "metadata.annotations"))
    spec = document.get("spec")
    yield from choices(spec if is_mapping(spec) else {}, locator, annotations, "spec")
    yield installed("gpu-operator", document, locator)


def nic_policy(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """mellanox.com NicClusterPolicy: what the Network Operator installs."""
    yield installed("nic-cluster-policy", document, locator)


def installed(name: str, document: dict[str, Any], locator: Locator) -> Program:
    """The object that configures an operator, as the values of a program. Its definition's
    defaults are the chart's; the release is not in it."""
    spec = document.get("spec")
    return Program(
        locator=locator,
        annotations=known_texts(inside(document, "metadata.annotations")),
        name=name,
        release=unknown("release"),
        values=spec if is_mapping(spec) else None,
        place="spec",
    )


def choices(
    values: Mapping[str, Any],
    locator: Locator,
    annotations: Mapping[str, str],
    place: str,
    *,
    version: Fact[str] | None = None,
) -> Iterator[Any]:
    """Choices in the GPU Operator's values, or in a ClusterPolicy's spec."""
    exporter = flag(values, "dcgmExporter.enabled").or_default(True)
    strategy: Fact[str] = fact(inside(values, "mig.strategy"), text, "mig.strategy")
    yield OperatorChoices(
        locator=locator,
        annotations=annotations,
        installs="gpu-operator",
        mig_strategy=strategy.or_default("single"),
        mig_config_default=word(values, "migManager.config.default").or_default("all-disabled"),
        dcgm_exporter=exporter,
        driver_enabled=flag(values, "driver.enabled").or_default(True),
        driver_version=fact(inside(values, "driver.version"), text, "driver.version"),
        kernel_modules=word(values, "driver.kernelModuleType"),
        version=absent("version") if version is None else version,
        toolkit_enabled=flag(values, "toolkit.enabled").or_default(True),
        plugin_enabled=flag(values, "devicePlugin.enabled").or_default(True),
        licence=_licence(values),
        plugin_config_default=word(values, "devicePlugin.config.default"),
        place=place,
    )
    if exporter.is_known and exporter.value:
        yield MetricsSource(locator=locator, what="dcgmExporter of the GPU Operator")
    for kind, holder in _CONFIGS.items():
        for key, value in mapping(inside(values, f"{holder}.config.data")).items():
            where = joined(place, f"{holder}.config.data[{key}]")
            data = parsed(value) if isinstance(value, str) else value
            if is_mapping(data) and (kind == "device-plugin" or "mig-configs" in data):
                yield from declared(kind, data, locator, annotations, where, key)


_CONFIGS = {"device-plugin": "devicePlugin", "mig-parted": "migManager"}
"""Kind of configuration -> the part of the operator whose values hold it."""


def _licence(values: Mapping[str, Any]) -> Fact[bool]:
    """Whether guests can get a licence: a Secret or ConfigMap, and the licence service on."""
    place = "driver.licensingConfig"
    config = inside(values, place)
    if config is None:
        return known(False, place=place)
    if config is UNKNOWN:
        return unknown(place)
    holders = [inside(config, key) for key in ("secretName", "configMapName")]
    if UNKNOWN in holders or inside(config, "nlsEnabled") is UNKNOWN:
        return unknown(place)
    given = any(isinstance(name, str) and name for name in holders)
    return known(given, place=place)


def config_object(document: dict[str, Any], locator: Locator, kind: str) -> NvidiaConfig:
    """An object that is a configuration of a kind by itself."""
    kept, lost = without_unknown(document, lambda one: one is UNKNOWN or is_filled_in(one))
    return NvidiaConfig(
        locator=locator,
        annotations=known_texts(inside(document, "metadata.annotations")),
        kind=kind,
        document=kept,
        complete=not lost,
    )
