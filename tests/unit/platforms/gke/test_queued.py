"""Queued capacity on GKE: Google's taint, automatic upgrades, flex start."""

from typing import Any

import pytest

from gpufleet.fleet import Fleet
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.gke.node_pool_arguments import node_pools
from gpufleet.platforms.gke.shape import QUEUED_TAINT
from gpufleet.render.artefacts import artefacts
from tests.reading import yaml_data

KEY = "cloud.google.com/gke-queued"


def compiled(*capacity: dict[str, Any], intent: str = "batch", **options: Any) -> Any:
    return compile_data(
        {
            "catalogue": "2026.11",
            "platform": "gke",
            "cluster": {"name": "ml", "region": "us-central1"},
            "pools": [
                {
                    "name": "wide",
                    "gpu": "L4",
                    "nodes": {"min": 0, "max": 4},
                    "capacity": list(capacity),
                    "intent": intent,
                    "gke": options,
                }
            ],
            "queues": {"teams": [{"name": "research", "share": 1}]},
        }
    )


def document(fleet: Fleet, path: str) -> dict[str, Any]:
    (found,) = [one for one in artefacts(fleet) if one.path == path]
    return yaml_data(found.text)


def test_pods_of_queued_nodes_tolerate_googles_taint() -> None:
    fleet = compiled({"queued": {}}).fleet
    assert QUEUED_TAINT in fleet.pools[0].taints
    pod = document(fleet, "pods/wide.yaml")
    assert KEY in {one["key"] for one in pod["spec"]["tolerations"]}
    assert pod["spec"]["nodeSelector"][KEY] == "true"


def test_kueue_admits_jobs_that_do_not_know_of_the_taint() -> None:
    fleet = compiled({"queued": {}}).fleet
    spec = document(fleet, "manifests/kueue/resource-flavors.yaml")["spec"]
    assert {"key": KEY, "value": "true", "effect": "NoSchedule"} in spec["nodeTaints"]
    assert KEY in {one["key"] for one in spec["tolerations"]}


def test_a_pool_that_is_bought_otherwise_has_no_such_taint() -> None:
    assert KEY not in {one.key for one in compiled({"flexStart": {}}).fleet.pools[0].taints}


def arguments(*capacity: dict[str, Any], **options: Any) -> dict[str, Any]:
    (found,) = node_pools(compiled(*capacity, **options).fleet.pools[0], "ml", {}).values()
    return found


def test_a_release_channel_takes_queued_nodes() -> None:
    """Google's guide has no `--no-enable-autoupgrade`, which a channel refuses."""
    assert arguments({"queued": {}})["management"] == {"autoRepair": False, "autoUpgrade": True}
    off = compiled({"queued": {}}, autoUpgrade=False)
    assert "gke-auto-upgrade-off" in {one.code for one in off.findings}
    assert arguments({"queued": {}}, autoUpgrade=False)["management"]["autoUpgrade"] is False


@pytest.mark.parametrize(("intent", "moved"), [("training", False), ("batch", True)])
def test_pods_of_jobs_that_a_move_ends_are_not_moved(intent: str, moved: bool) -> None:
    fleet = compiled({"onDemand": {}}, {"spot": {}}, intent=intent).fleet
    (found,) = [one for one in artefacts(fleet) if "compute-class" in one.path]
    spec = yaml_data(found.text)["spec"]
    assert spec["activeMigration"] == {"optimizeRulePriority": moved}


def test_queued_nodes_may_be_flex_start_nodes() -> None:
    flex = arguments({"queued": {"flexStart": True}})
    assert flex["queuedProvisioning"] == {"enabled": True}
    assert flex["nodeConfig"]["flexStart"] is True
    assert "flexStart" not in arguments({"queued": {}})["nodeConfig"]
