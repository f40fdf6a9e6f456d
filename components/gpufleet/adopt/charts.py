"""Add-ons of a declaration, from the releases and policies of a cluster."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpufleet.documents.reading import read_go
from gpufleet.documents.shapes import is_list, is_mapping, items, mapping
from gpufleet.fleet import Fleet
from gpufleet.fleet.chart_values import leaves, merged, nested
from gpufleet.fleet.observed import Declaration, Observations, ObservedResource
from gpufleet.platforms.compiled import compile_data
from gpufleet.render.releases import releases
from gpufleet.spec.addons import CHARTS
from gpufleet.spec.document import UnreadableDocumentError

SECTIONS = {chart: section for section, chart in CHARTS.items()}
"""Chart -> section of `addons`."""

WIRED = (
    "devicePlugin.config.name",
    "migManager.config.name",
    "dcgmExporter.config.name",
    "config.name",
    "settings.clusterName",
    "settings.interruptionQueue",
    "autoDiscovery.clusterName",
)
"""Values that name other resources."""

POLICY_SWITCHES = (
    *("driver", "toolkit", "devicePlugin", "gfd", "migManager", "dcgm", "dcgmExporter"),
    *("gds", "gdrcopy", "cdi"),
)
"""Sections of a ClusterPolicy that values of the GPU Operator's chart switch (NVIDIA
gpu-operator v26.7.0 `deployments/gpu-operator/templates/clusterpolicy.yaml`)."""

RELEASES = (
    "kubernetes:helm.sh/v3:Release",
    "kubernetes:helm.sh/v3:Chart",
    "kubernetes:helm.sh/v4:Chart",
)
Missed = tuple[str, str, Any, Any]


@dataclass(slots=True)
class AdoptedAddons:
    """`addons` of the declaration."""

    section: Declaration = field(default_factory=dict[str, Any])
    missed: list[Missed] = field(default_factory=list[Missed])
    """Address, path, found, declared."""
    taken: set[str] = field(default_factory=set[str])
    """Addresses of the releases that were read."""
    notes: list[str] = field(default_factory=list[str])


def adopted_addons(spec: Declaration, seen: Observations, known: Declaration) -> AdoptedAddons:
    """The add-ons with which the declaration installs the existing programs; `known` are those that
    the platform read."""
    found = AdoptedAddons()
    _set(spec, found, known)
    present = dict(_present(seen))
    fleet = compile_data(spec).fleet
    if fleet is None:
        return AdoptedAddons()
    implied = {one.chart.name for one in releases(fleet)}
    if "nvidia-device-plugin" in present and "gpu-operator" not in present:
        _set(spec, found, {"gpuOperator": {"enabled": False}, "devicePlugin": {"enabled": True}})
    for chart, (resource, version, values) in present.items():
        found.taken.add(resource.address)
        if resource.token not in RELEASES and fleet.addons.subscription(chart) is not None:
            found.notes.append(
                f"{resource.address}: Lifecycle Manager installs the operator; the settings of its "
                "ClusterPolicy were not compared"
            )
            continue
        extra = chart not in implied and SECTIONS[chart] not in found.section
        if extra and not _set(spec, found, {SECTIONS[chart]: {"enabled": True}}):
            found.missed.append((resource.address, "", chart, None))
            continue
        _values(spec, found, chart, resource, version, values)
    for chart in sorted(implied - set(present)):
        if chart in SECTIONS and SECTIONS[chart] not in found.section:
            found.notes.append(
                f"the declaration installs chart {chart}; no release of it was found in the input: "
                f"write `addons.{SECTIONS[chart]}: {{ownership: existing}}` where it runs already"
            )
    return found


def _set(spec: Declaration, found: AdoptedAddons, section: Declaration) -> bool:
    """Adds a part of `addons` if the declaration still compiles with it."""
    wanted = merged(found.section, section)
    if not compile_data({**spec, "addons": wanted}).deployable:
        return False
    found.section = wanted
    return True


def _compiled(spec: Declaration, found: AdoptedAddons) -> Fleet:
    fleet = compile_data({**spec, "addons": found.section}).fleet
    assert fleet is not None, "only parts with which it compiles are taken over"
    return fleet


def _values(
    spec: Declaration,
    found: AdoptedAddons,
    chart: str,
    resource: ObservedResource,
    version: str | None,
    values: Mapping[str, Any],
) -> None:
    section = SECTIONS[chart]
    ours = next((o for o in releases(_compiled(spec, found)) if o.chart.name == chart), None)
    if ours is None:
        found.missed.append((resource.address, "", chart, None))
        return
    other = version is not None and version.removeprefix("v") != ours.version.removeprefix("v")
    if other and not _set(spec, found, {section: {"version": version}}):
        found.missed.append((resource.address, "version", version, ours.version))
    declared, there = dict(leaves(ours.values)), dict(leaves(values))
    for key, value in there.items():
        if key in WIRED or declared.get(key) == value:
            continue
        if not _set(spec, found, {section: {"values": nested([(key, value)])}}):
            found.missed.append((resource.address, f"values.{key}", value, declared.get(key)))
    if resource.token in RELEASES:
        found.missed += [
            (resource.address, f"values.{key}", None, value)
            for key, value in declared.items()
            if key not in there and key not in WIRED and not _is_default(key, value)
        ]


def _is_default(key: str, value: Any) -> bool:
    """Switches with the default of their chart are written only by gpufleet."""
    return key.endswith(".enabled") or value in ("", [], {}) or key.startswith("crds.")


def _present(seen: Observations) -> Iterator[tuple[str, tuple[ObservedResource, str | None, Any]]]:
    """Known charts among the releases, and the ClusterPolicy if no release contains it."""
    known = False
    for one in seen.of(*RELEASES):
        chart = str(one.properties.get("chart") or one.name).rstrip("/").rsplit("/", 1)[-1]
        if chart in SECTIONS:
            known |= chart == "gpu-operator"
            version = one.properties.get("version")
            values = _release_values(one.properties)
            yield chart, (one, version if isinstance(version, str) else None, values)
    if known:
        return
    for one in seen.objects("ClusterPolicy"):
        spec = mapping(one.properties.get("spec"))
        switches = {
            name: {"enabled": enabled}
            for name in POLICY_SWITCHES
            if isinstance(enabled := mapping(spec.get(name)).get("enabled"), bool)
        }
        strategy = mapping(spec.get("mig")).get("strategy")
        policy = {**switches, **({"mig": {"strategy": strategy}} if strategy else {})}
        yield "gpu-operator", (one, None, policy)


def _release_values(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Values of a release: a mapping, or in Terraform's form a list of texts and `set` blocks."""
    written = properties.get("values")
    values: dict[str, Any] = dict(written) if is_mapping(written) else {}
    for text in written if is_list(written) else []:
        try:
            values = merged(values, mapping(read_go(text).data) if isinstance(text, str) else {})
        except UnreadableDocumentError:
            continue
    for block in items(properties.get("set")):
        entry = mapping(block)
        if isinstance(entry.get("name"), str):
            values = merged(values, nested([(entry["name"], _typed(entry.get("value")))]))
    return values


def _typed(value: Any) -> Any:
    """`set` has text, which Helm reads as YAML."""
    return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value
