"""Values of the chart, as the object that Lifecycle Manager's operator reads."""

from typing import Any

from gpufleet.contract.schemas.validator import schema_problems
from gpufleet.platforms.openshift.cluster_policy import cluster_policy, without_a_place
from gpufleet.platforms.openshift.olm import fleet_cluster_policy
from tests.unit.platforms.openshift.fleets import CHAT, MACHINE, NOTEBOOKS, fleet
from tests.unit.render.upstream_definitions import assert_accepted

RICH: dict[str, Any] = {
    "gpuOperator": {
        "driver": {
            "repository": "registry.example.com/nvidia",
            "version": "595.91.07",
            "kernelModuleType": "open",
            "upgradePolicy": {"maxParallelUpgrades": 2, "podDeletion": {"force": True}},
            "rdma": {"enabled": True},
            "kernelModuleConfig": "parameters",
            "env": {"A": "b"},
        },
        "imagePullSecret": "registry",
        "toolkit": {"env": {"C": "d"}},
        "migManager": {"env": {"WITH_REBOOT": "true"}, "gpuClients": "clients"},
        "gds": {"enabled": True},
        "dcgmExporter": {"serviceMonitor": {"interval": "30s"}},
    },
    "networkOperator": {"enabled": True, "ofed": "operator"},
}


def spec(*pools: dict[str, Any], **more: Any) -> dict[str, Any]:
    return fleet_cluster_policy(fleet(*pools, **more))["spec"]


def test_a_plain_fleet() -> None:
    made = spec(CHAT)
    assert made["operator"] == {"defaultRuntime": "crio", "use_ocp_driver_toolkit": True}
    assert made["driver"] == {"enabled": True}, "the bundle's own image"
    assert made["mig"] == {"strategy": "none"}
    assert made["devicePlugin"]["config"]["default"] == "default"
    assert made["devicePlugin"]["config"]["name"].startswith("gpufleet-device-plugin-")
    assert not {"nfd", "node-feature-discovery"} & set(made)


def test_every_fleet_fits_the_definition() -> None:
    for policy in (
        fleet_cluster_policy(fleet()),
        fleet_cluster_policy(fleet(CHAT, NOTEBOOKS, addons=RICH)),
        fleet_cluster_policy(fleet(CHAT, monitoring={"backend": "prometheus"})),
    ):
        assert schema_problems(policy) == ()


def test_upstream_takes_it() -> None:
    assert_accepted("nvidia.com_clusterpolicies.yaml", fleet_cluster_policy(fleet(addons=RICH)))


def test_names_that_differ_between_chart_and_object() -> None:
    made = spec(CHAT, addons=RICH)["driver"]
    assert made["upgradePolicy"]["podDeletion"] == {"force": True}
    assert "gpuPodDeletion" not in made["upgradePolicy"]
    assert made["image"] == "driver"
    assert made["imagePullSecrets"] == ["registry"]
    crd = {"driver": {"nvidiaDriverCRD": {"enabled": True}}}
    assert cluster_policy(crd)["spec"]["driver"] == {"useNvidiaDriverCRD": True}


def test_part_of_an_image_is_completed() -> None:
    assert cluster_policy({"driver": {"version": "595.91.07"}})["spec"]["driver"] == {
        "repository": "nvcr.io/nvidia",
        "image": "driver",
        "version": "595.91.07",
    }
    manager = {"vgpuManager": {"enabled": True, "repository": "r", "version": "595"}}
    assert cluster_policy(manager)["spec"]["vgpuManager"]["image"] == "vgpu-manager"


def test_taints_of_pools_are_tolerated() -> None:
    team = {**CHAT, "taints": [{"key": "example.com/team", "effect": "NoExecute"}]}
    keys = [one["key"] for one in spec(team)["daemonsets"]["tolerations"]]
    assert keys == ["nvidia.com/gpu", "example.com/team"]
    assert [one["key"] for one in spec(CHAT)["daemonsets"]["tolerations"]] == ["nvidia.com/gpu"]


def test_a_licence_secret_reaches_the_driver() -> None:
    pool = {
        **CHAT,
        "sharing": {"vgpu": {"profile": "grid_l4-6c", "licenseSecret": "licence"}},
        "openshift": {**MACHINE, "attachment": "vgpu"},
    }
    addons = {"gpuOperator": {"driver": RICH["gpuOperator"]["driver"], "imagePullSecret": "r"}}
    addons["gpuOperator"]["driver"] = {
        key: addons["gpuOperator"]["driver"][key] for key in ("repository", "version")
    }
    driver = spec(pool, addons=addons)["driver"]
    assert driver["licensingConfig"]["secretName"] == "licence"


def test_keys_without_a_place_are_found() -> None:
    raw = {
        "operator": {"upgradeCRD": True, "runtimeClass": "nvidia"},
        "nfd": {"enabled": True},
        "driver": {"env": [{"name": "A", "value": "b"}]},
        "extraObjects": [],
        "migManager": {"config": {"name": "x", "data": {"config.yaml": "..."}}},
    }
    found = set(without_a_place(raw))
    assert {"operator.upgradeCRD", "nfd.enabled", "extraObjects"} <= found
    assert not any(key.startswith("driver") or key == "operator.runtimeClass" for key in found)
