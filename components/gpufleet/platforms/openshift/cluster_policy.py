"""The ClusterPolicy if no chart creates one: values of the GPU Operator's chart, as its object.

Operator Lifecycle Manager installs the operator without its settings: this module repeats the
chart's template, which converts values into the ClusterPolicy. Images are those of the operator's
bundle, unless the declaration names one. Sources: NVIDIA/gpu-operator v26.7.0
`deployments/gpu-operator/templates/clusterpolicy.yaml`, its definition and the example in
`bundle/manifests/gpu-operator-certified.clusterserviceversion.yaml`, read 2026-11-22.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from gpufleet.contract.tolerations import GPU_TOLERATION
from gpufleet.documents.data_files import data_part
from gpufleet.fleet.chart_values import Values, leaves, merged
from gpufleet.fleet.manifest import manifest

API_VERSION = "nvidia.com/v1"
NAME = "cluster-policy"
"""The chart's name; the operator reads any ClusterPolicy, but only one."""

_FILE = Path(__file__).with_suffix("")
SECTIONS: Sequence[str] = data_part(_FILE, "sections")
_IMAGES: Mapping[str, Values] = data_part(_FILE, "images")


def cluster_policy(values: Mapping[str, Any]) -> Values:
    """The object, from final values of the chart (typed settings and raw values merged)."""
    spec: Values = data_part(_FILE, "openshift")
    for section in SECTIONS:
        found = values.get(section)
        if isinstance(found, Mapping):
            written = _section(section, cast("Mapping[str, Any]", found))
            below = cast("Mapping[str, Any]", spec.get(section, {}))
            spec[section] = merged(below, written)
    operator = values.get("operator")
    if isinstance(operator, Mapping):
        kept = cast("Mapping[str, Any]", operator)
        spec["operator"] = merged(
            spec["operator"], {key: kept[key] for key in ("runtimeClass", "metrics") if key in kept}
        )
    spec["daemonsets"].setdefault("tolerations", [GPU_TOLERATION.as_dict()])
    in_order = {key: spec[key] for key in sorted(spec)}
    return manifest(API_VERSION, "ClusterPolicy", NAME, spec=in_order)


def without_a_place(raw: Mapping[str, Any]) -> Iterator[str]:
    """Keys of raw values that the chart reads and a ClusterPolicy lacks."""
    for key, _ in leaves(raw):
        first, *rest = key.split(".")
        if first == "operator" and rest and rest[0] in ("runtimeClass", "metrics"):
            continue
        if first not in SECTIONS or (len(rest) == 2 and rest[0] == "config" and rest[1] == "data"):
            yield key


def _section(name: str, values: Mapping[str, Any]) -> Values:
    written = {key: value for key, value in values.items() if value not in ("", {}, [], None)}
    if name == "driver":
        return _driver(written)
    if name == "vgpuManager" and ("repository" in written or "version" in written):
        return {**_IMAGES[name], **written}
    if name in ("devicePlugin", "migManager", "dcgmExporter", "vgpuDeviceManager"):
        config = cast("Mapping[str, Any]", written.get("config") or {})
        kept = {key: value for key, value in config.items() if key not in ("create", "data")}
        written = {**written, "config": kept} if kept else written
    return written


def _driver(values: Mapping[str, Any]) -> Values:
    written = {key: value for key, value in values.items() if key != "nvidiaDriverCRD"}
    crd = cast("Mapping[str, Any]", values.get("nvidiaDriverCRD") or {})
    if "enabled" in crd:
        written["useNvidiaDriverCRD"] = crd["enabled"]
    upgrade = cast("Mapping[str, Any]", values.get("upgradePolicy") or {})
    if upgrade:
        renamed = {"gpuPodDeletion": "podDeletion"}
        written["upgradePolicy"] = {renamed.get(key, key): v for key, v in upgrade.items()}
    if any(part in written for part in ("repository", "image", "version")):
        written = {**_IMAGES["driver"], **written}
    return written
