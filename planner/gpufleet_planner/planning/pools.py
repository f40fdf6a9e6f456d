"""From filled pools to the data of a FleetSpec; scaling of its services: KEDA, the scrape of its
metric, the ScaledObject."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from gpufleet.findings import Finding, findings_in
from gpufleet.fleet import Fleet
from gpufleet.fleet.chart_values import merged
from gpufleet.fleet.platform_rules import platform_rules
from gpufleet.models.engine_profile import InferenceEngine
from gpufleet.platforms.registry import PLATFORMS
from gpufleet.render.scaled_object import PROMETHEUS, SOURCES, scaled_object
from gpufleet.spec.monitoring import MonitoringBackend
from gpufleet.spec.scaling import KedaScaling, Signal
from gpufleet_planner.planning.layouts import FilledPool
from gpufleet_planner.planning.offers import OfferedMachine
from gpufleet_planner.planning.option import Option
from gpufleet_planner.planning.provisioning import disk_gib
from gpufleet_planner.planning.workloads import ModelWorkload, PlacedWorkload, PlanHead
from gpufleet_planner.sizing.device import DeviceShare

_NAME_LENGTH = 40


def provisioner(head: PlanHead) -> str:
    """The provisioner: stated by the file, else the one that the platform is planned with."""
    return (head.provisioner or PLATFORMS[head.platform].facts.planned_provisioner).value


def _has_fixed_size(head: PlanHead) -> bool:
    """Whether no program adds nodes when pods wait."""
    facts = PLATFORMS[head.platform].facts
    if facts.simulated or not facts.clouds:
        return True
    return provisioner(head) == "managed" and not facts.managed_pools_scale


def pool_names(pools: Sequence[FilledPool]) -> tuple[str, ...]:
    """A name for each pool: intent, GPU, sharing, and a number where that is not unique."""
    found: list[str] = []
    for pool in pools:
        key = pool.key
        parts = [key.intent, slug(key.machine.gpu.key)]
        if key.kind is not DeviceShare.WHOLE:
            parts.append(slug(key.sharing))
        if key.machine.buy != "onDemand" and key.machine.buy != "onPrem":
            parts.append(slug(key.machine.buy))
        base = name = "-".join(parts)[: _NAME_LENGTH - 3].strip("-")
        number = 1
        while name in found:
            name = f"{base}-{(number := number + 1)}"
        found.append(name)
    return tuple(found)


def pool_data(
    pool: FilledPool, name: str, head: PlanHead, stored_bytes: Iterable[int]
) -> dict[str, Any]:
    """One pool as the FleetSpec writes it."""
    key = pool.key
    data: dict[str, Any] = {"name": name, **_hardware(key.machine, head)}
    data["nodes"] = {
        "min": pool.nodes if _has_fixed_size(head) else 0,
        "max": pool.nodes,
        "expected": pool.nodes,
    }
    data["intent"] = key.intent
    buying, usd = dict[str, str](), key.machine.usd_per_hour
    if key.machine.buy == "onPrem" and usd is not None:
        buying["usdPerGpuHour"] = f"{usd / key.machine.gpus:.6f}".rstrip("0").rstrip(".")
    data["capacity"] = [{key.machine.buy: buying}]
    data["sharing"] = _sharing(pool)
    if key.fabric != "none":
        data["fabric"] = key.fabric
    rules = platform_rules(PLATFORMS[head.platform])
    if zones := rules.planned_zones(key.zones, pool.nodes, joined=pool.joined):
        data["zones"] = list(zones)
    size = disk_gib(sum(stored_bytes))
    if size > disk_gib(0):
        data["disk"] = {"sizeGib": size}
    return data


def spec_data(head: PlanHead, edition: str, pools: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The whole FleetSpec without budget and queues."""
    data: dict[str, Any] = {
        "catalogue": edition,
        "platform": head.platform.value,
        "environment": head.environment,
        "cluster": dict(head.cluster),
        "provisioner": provisioner(head),
    }
    data |= head.spec
    data["pools"] = [dict(pool) for pool in pools]
    return data


def _hardware(machine: OfferedMachine, head: PlanHead) -> dict[str, Any]:
    if machine.buy != "onPrem":
        return {"instanceTypes": [machine.name]}
    data: dict[str, Any] = {"gpu": machine.gpu.key, "gpusPerNode": machine.gpus}
    shape = None if machine.row is None else head.hardware[machine.row].shape(head.platform)
    return data if shape is None else {**data, head.platform.value: dict(shape)}


def _sharing(pool: FilledPool) -> dict[str, Any]:
    key = pool.key
    if key.kind is not DeviceShare.WHOLE and pool.layout is not None:
        layouts = [{"gpus": count, "devices": dict(devices)} for devices, count in pool.layout.gpus]
        # GKE's plugin names every slice nvidia.com/gpu; the operator's names each profile.
        strategy = "mixed" if key.profile is None else "single"
        return {"mig": {"strategy": strategy, "layouts": layouts}}
    if key.kind is DeviceShare.WHOLE:
        return {"exclusive": {}}
    return {"mps" if key.kind is DeviceShare.MPS else "timeSlicing": {"replicas": key.replicas}}


def slug(text: str) -> str:
    """Letters and digits of a text, joined by hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def queues_data(
    head: PlanHead, planned: Sequence[tuple[str | None, Option]]
) -> dict[str, Any] | None:
    """The FleetSpec's `queues`: a share for each team, merged with `queues` and teams of the file's
    `spec`; None when no workload names a team."""
    shares = team_shares(planned)
    if not shares:
        return None
    stated = {str(team.get("name")): team for team in _stated_teams(head)}
    teams = [{"share": part, **stated.pop(name, {}), "name": name} for name, part in shares.items()]
    return {**(head.spec.get("queues") or {}), "teams": [*teams, *stated.values()]}


def team_shares(planned: Sequence[tuple[str | None, Option]]) -> dict[str, float]:
    """Each team's part of the planned GPUs. Rounded down, so that the sum is at most 1; workloads
    without a team have no share."""
    parts: dict[str, float] = {}
    total = 0.0
    for team, option in planned:
        part = float(option.gpu_part)
        total += part
        if team is not None:
            parts[team] = parts.get(team, 0.0) + part
    return {
        name: max(int(10_000 * part / total) / 10_000, 0.0001)
        for name, part in sorted(parts.items())
    }


def _stated_teams(head: PlanHead) -> list[dict[str, Any]]:
    """Teams with further settings in the file's `spec`: namespaces, borrowing, weight."""
    queues: Any = head.spec.get("queues")
    teams: object = cast("dict[str, Any]", queues).get("teams") if isinstance(queues, dict) else []
    rows = cast("list[Any]", teams) if isinstance(teams, list) else []
    return [cast("dict[str, Any]", row) for row in rows if isinstance(row, dict)]


_finding = findings_in(__file__)
SIGNAL = Signal.REQUESTS_RUNNING
"""Requests in flight, as vLLM exports them. Not GPU utilisation: that is high with one sequence."""
_HELD = 0.8
"""Part of the planned batch at which another replica starts, before requests queue (assumed)."""


def autoscaling_hint(work: PlacedWorkload) -> dict[str, Any] | None:
    """Least and most replicas, the metric and its target for each of them; None for what does not
    scale: jobs, notebooks, engines whose metric is not known, and where all are always needed."""
    entry = work.entry
    if work.need is None or work.need.trains or not isinstance(entry, ModelWorkload):
        return None
    if entry.engine not in (InferenceEngine.VLLM, InferenceEngine.VLLM_V0):
        return None
    most = work.option.reached.copies
    if work.need.allowed.replicas >= most:
        return None
    return {
        "minReplicas": work.need.allowed.replicas,
        "maxReplicas": most,
        "metric": SOURCES[SIGNAL].series,
        "target": max(int(work.option.reached.batch * _HELD), 1),
    }


def planned_scaled_object(work: PlacedWorkload, fleet: Fleet) -> dict[str, Any] | None:
    """The ScaledObject; None where nothing scales, or the fleet is declared without KEDA."""
    hint = autoscaling_hint(work)
    if hint is None or fleet.spec.addons.keda.enabled is not True:
        return None
    declared = {
        "target": {"name": work.entry.name, "namespace": work.namespace},
        "min": hint["minReplicas"],
        "max": hint["maxReplicas"],
        "on": [{"signal": SIGNAL.value, "target": hint["target"]}],
        "server": _server(fleet),
        "mig": work.option.share.kind is DeviceShare.MIG,
    }
    return scaled_object(KedaScaling.model_validate(declared))


def scaling_data(head: PlanHead, placed: Sequence[PlacedWorkload]) -> dict[str, Any]:
    """Additions to the FleetSpec of a service that scales: KEDA, unless the file's `spec` disables
    it, and the scrape of the service where the file has `monitoring`."""
    scaling = [work for work in placed if autoscaling_hint(work) is not None]
    if not scaling:
        return {}
    addons: dict[str, Any] = head.spec.get("addons") or {}
    monitoring: dict[str, Any] = head.spec.get("monitoring") or {}
    found = {"addons": merged({"keda": {"enabled": True}}, addons)}
    if "monitoring" not in head.spec:
        return found
    scraped = [
        {"name": work.entry.name, "namespace": work.namespace, "labels": {"app": work.entry.name}}
        for work in scaling
    ]
    own = monitoring.get("servers", [])
    return found | {"monitoring": {**monitoring, "servers": [*own, *scraped]}}


def validate_scaling(fleet: Fleet | None, placed: Sequence[PlacedWorkload]) -> list[Finding]:
    """A finding where the planned fleet does not scrape the metric that replicas follow."""
    if fleet is None:
        return []
    monitoring = fleet.spec.monitoring
    if monitoring is not None and monitoring.backend is not MonitoringBackend.NONE:
        return []
    names = [w.entry.name for w in placed if planned_scaled_object(w, fleet) is not None]
    if not names:
        return []
    series, server = SOURCES[SIGNAL].series, _server(fleet)
    found = _finding("scaling-metric-not-scraped", workloads=names, series=series, server=server)
    return [found]


def _server(fleet: Fleet) -> str:
    monitoring = fleet.spec.monitoring
    return (monitoring.query_url if monitoring is not None else None) or PROMETHEUS
