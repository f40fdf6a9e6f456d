"""Values of the DCGM exporter's own chart: it runs on every NVIDIA node and finds the driver."""

from pathlib import Path
from typing import Any

import pytest

from gpufleet.platforms.compiled import compile_data
from gpufleet.render.dcgm_metrics import exporter_chart_values
from gpufleet.render.releases import releases
from gpufleet.render.scrape_objects import scrape_objects
from tests.reading import yaml_data

VALUES = Path(__file__).parents[4] / "shared/reference/charts/dcgm-exporter-4.8.2.values.yaml"
L4: dict[str, Any] = {"name": "chat", "gpu": "L4", "nodes": {"min": 0, "max": 2}}
LADDER = {**L4, "capacity": [{"spot": {}}, {"onDemand": {}}]}
TPU = {"name": "tpu", "instanceTypes": ["ct6e-standard-4t"], "nodes": {"min": 0, "max": 2}}
REGIONS = {"gke": "us-central1", "eks": "us-east-1"}


def values(*pools: dict[str, Any], platform: str = "gke", **monitoring: Any) -> dict[str, Any]:
    compiled = compile_data(
        {
            "catalogue": "2026.11",
            "platform": platform,
            "cluster": {"name": "ml", "region": REGIONS[platform]},
            "pools": list(pools),
            "monitoring": monitoring,
        }
    )
    assert compiled.deployable, compiled.findings
    assert compiled.fleet is not None
    given = compiled.fleet.spec.monitoring
    assert given is not None
    return exporter_chart_values(compiled.fleet, given)


def tolerated(made: dict[str, Any]) -> set[tuple[str, str]]:
    assert all(one["operator"] == "Exists" for one in made["tolerations"])
    return {(one["key"], one["effect"]) for one in made["tolerations"]}


@pytest.mark.parametrize("platform", ["gke", "eks"])
def test_the_chart_knows_what_it_is_told(platform: str) -> None:
    if not VALUES.is_file():
        pytest.skip(f"upstream's values are not next to the checkout ({VALUES})")
    known = yaml_data(VALUES.read_text())
    made = values(L4, platform=platform, podLabels=["^app$"])
    assert set(made) - {"customMetrics"} <= set(known)  # there as a comment only
    assert set(made["kubernetes"]) <= set(known["kubernetes"])
    assert set(made["serviceMonitor"]) <= set(known["serviceMonitor"])


def test_it_tolerates_every_taint_of_nvidia_nodes() -> None:
    own = {**L4, "name": "own", "taints": [{"key": "example.com/team", "effect": "NoExecute"}]}
    assert tolerated(values(LADDER, own, TPU)) == {
        ("nvidia.com/gpu", "NoSchedule"),
        ("cloud.google.com/compute-class", "NoSchedule"),
        ("example.com/team", "NoExecute"),
    }


def test_on_gke_it_is_given_the_driver() -> None:
    made = values(L4)
    (volume,) = made["extraHostVolumes"]
    assert volume["hostPath"] == "/home/kubernetes/bin/nvidia"
    mounts = {one["name"]: one["mountPath"] for one in made["extraVolumeMounts"]}
    assert mounts == {
        "exporter-metrics-volume": "/etc/dcgm-exporter/default-counters.csv",
        volume["name"]: "/usr/local/nvidia",
    }
    assert {one["name"] for one in made["extraEnv"]} == {
        "DCGM_EXPORTER_INTERVAL",
        "LD_LIBRARY_PATH",
    }
    # The API server refuses a privileged container that may not escalate, as the chart has it.
    assert made["securityContext"] == {"privileged": True, "allowPrivilegeEscalation": True}


def test_elsewhere_the_nvidia_runtime_gives_it() -> None:
    made = values(L4, platform="eks")
    assert not {"extraHostVolumes", "extraVolumeMounts"} & set(made)
    assert made["securityContext"]["capabilities"]["add"] == ["SYS_ADMIN"]
    plain = values(L4, platform="eks", profiling=False)
    assert plain["securityContext"]["capabilities"]["add"] == []


@pytest.mark.parametrize(
    ("image", "added"), [("bottlerocket-nvidia", ["SYS_ADMIN"]), ("al2023-nvidia", [])]
)
def test_without_profiling_bottlerocket_still_hands_it_the_gpus(
    image: str, added: list[str]
) -> None:
    """bottlerocket-os/bottlerocket#3992: NVIDIA_VISIBLE_DEVICES counts with SYS_ADMIN only."""
    made = values({**L4, "image": image}, platform="eks", profiling=False)
    assert made["securityContext"]["capabilities"]["add"] == added


OPERATED = {**L4, "name": "own", "gke": {"driver": "gpuOperator"}}


def exporters(*pools: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Names of what is scraped, and of the charts that are installed."""
    compiled = compile_data(
        {
            "catalogue": "2026.11",
            "platform": "gke",
            "cluster": {"name": "ml", "region": REGIONS["gke"]},
            "pools": list(pools),
            "monitoring": {},
        }
    )
    assert compiled.fleet is not None
    assert compiled.fleet.spec.monitoring is not None
    made = scrape_objects(compiled.fleet, compiled.fleet.spec.monitoring)
    scraped = [one["metadata"]["name"].removeprefix("gpufleet-") for one in made]
    charts = [one.chart.name for one in releases(compiled.fleet)]
    return scraped, [name for name in charts if "exporter" in name]


def test_nodes_of_gkes_driver_are_measured_beside_the_operator() -> None:
    """`nvidia.com/gpu.deploy.operands: "false"` keeps the operator's exporter off them
    (NVIDIA/gpu-operator 04751ec `controllers/state_manager.go`)."""
    assert exporters(L4, OPERATED) == (
        ["nvidia-dcgm-exporter", "dcgm-exporter"],
        ["dcgm-exporter"],
    )
    assert exporters(OPERATED) == (["nvidia-dcgm-exporter"], [])
    assert exporters(L4) == (["dcgm-exporter"], ["dcgm-exporter"])
    tainted = {**OPERATED, "taints": [{"key": "example.com/team", "effect": "NoExecute"}]}
    made = values(L4, tainted)
    required = made["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (term,) = required["nodeSelectorTerms"]
    assert term["matchExpressions"] == [
        {"key": "gpufleet.dev/pool", "operator": "In", "values": ["chat"]}
    ]
    assert ("example.com/team", "NoExecute") not in tolerated(made)
    assert made["extraHostVolumes"][0]["hostPath"] == "/home/kubernetes/bin/nvidia"
