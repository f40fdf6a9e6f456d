"""Claims with several ways, tolerations, administrative access and shares; rules of device taints.

Formats: k8s.io/api v0.37.0 resource/v1/types.go; values of the chart dra-driver-nvidia-gpu 0.5.0.
"""

import json
from typing import Any

import pytest

from gpufleet.findings import Severity
from gpufleet.fleet import Fleet
from gpufleet.platforms.compiled import compile_data
from gpufleet.render.dra import claims, device_taint_rules
from gpufleet.render.dra_driver_values import dra_release_values
from gpufleet.render.pod_request import claiming_pod_spec
from gpufleet_policies.configurations.kinds import validate_text

EITHER = [{"products": ["H200-141GB"]}, {"products": ["H100-80GB"], "count": 2}]


def made(
    claim: dict[str, Any] | None = None, version: str = "1.37", **more: Any
) -> tuple[Fleet | None, dict[str, str]]:
    """The fleet, and code -> path of its errors."""
    addons, cluster = more.pop("addons", {}), more.pop("cluster", {})
    claimed = [{"name": "one", **claim}] if claim else []
    spec = {
        "catalogue": "2026.11",
        "platform": "vsphere",
        "cluster": {"name": "c", "kubernetesVersion": version, **cluster},
        "pools": [
            {
                "name": "big",
                "gpu": "H200-141GB",
                "gpusPerNode": 8,
                "nodes": {"min": 1, "max": 1},
                "sharing": {"dra": {"namespaces": ["research"], "claims": claimed, **more}},
                "vsphere": {"cpus": 64, "memoryGib": 512, "template": "ubuntu"},
            }
        ],
        "addons": {"draDriver": addons},
    }
    result = compile_data(spec)
    errors = [f for f in result.findings if f.severity is Severity.ERROR]
    return result.fleet, {f.code: f.path for f in errors}


def request(claim: dict[str, Any], version: str = "1.37", **more: Any) -> dict[str, Any]:
    fleet, errors = made(claim, version, **more)
    assert fleet is not None, errors
    (found,) = [one for one in claims(fleet) if one["metadata"]["name"] == "big-one"]
    (asked,) = found["spec"]["spec"]["devices"]["requests"]
    return asked


def test_ways_in_order() -> None:
    asked = request({"firstAvailable": EITHER})
    assert "exactly" not in asked
    one, two = asked["firstAvailable"]
    assert (one["count"], two["count"]) == (1, 2)
    assert "NVIDIA H200" in one["selectors"][0]["cel"]["expression"]
    assert "NVIDIA H100 80GB HBM3" in two["selectors"][0]["cel"]["expression"]
    assert one["name"] != two["name"]


def test_its_pod_names_no_pool() -> None:
    fleet, _ = made({"firstAvailable": EITHER})
    assert fleet is not None
    (pool,) = fleet.pools
    assert pool.partition.dra is not None
    spec = claiming_pod_spec(pool, pool.partition.dra.needs[0])
    assert "nodeSelector" not in spec
    assert spec["resourceClaims"][0]["resourceClaimTemplateName"] == "big-one"


def test_the_beta_version_has_ways_too() -> None:
    gates = {"DRAPrioritizedList": True}
    asked = request({"firstAvailable": EITHER}, "1.33", cluster={"featureGates": gates})
    assert [one["count"] for one in asked["firstAvailable"]] == [1, 2]


def test_terms_of_a_claim() -> None:
    toleration = {"key": "example.com/repair", "effect": "NoExecute", "seconds": 60}
    asked = request({"tolerations": [toleration, {"key": "a", "value": "b"}]})["exactly"]
    assert asked["tolerations"] == [
        {
            "key": "example.com/repair",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": 60,
        },
        {"key": "a", "operator": "Equal", "value": "b"},
    ]
    assert request({"adminAccess": True, "count": 8})["exactly"]["adminAccess"] is True
    assert request({"devices": "vfio"})["exactly"]["deviceClassName"] == "vfio.gpu.nvidia.com"
    share = request({"shareMemoryMib": 20000}, consumableShares="memory")["exactly"]
    assert share["capacity"] == {"requests": {"memory": "20000Mi"}}


@pytest.mark.parametrize(
    ("claim", "more", "version", "code", "path"),
    [
        (
            {"firstAvailable": [EITHER[1]]},
            {},
            "1.37",
            "dra-claim-unmet",
            "claims[0].firstAvailable",
        ),
        ({"firstAvailable": EITHER}, {}, "1.33", "dra-kubernetes-gate-off", "firstAvailable"),
        ({"firstAvailable": EITHER, "count": 2}, {}, "1.37", "dra-claim-two-ways", "count"),
        (
            {"firstAvailable": EITHER, "adminAccess": True},
            {},
            "1.37",
            "dra-claim-two-ways",
            "adminAccess",
        ),
        ({"tolerations": [{}]}, {}, "1.35", "dra-kubernetes-gate-off", "tolerations"),
        ({"adminAccess": True}, {}, "1.33", "dra-kubernetes-gate-off", "adminAccess"),
        ({"shareMemoryMib": 1000}, {}, "1.37", "dra-claim-share-of-nothing", "shareMemoryMib"),
        (
            {"sharing": "mps"},
            {"consumableShares": "memory"},
            "1.37",
            "dra-claim-shares-mps",
            "sharing",
        ),
        (None, {"consumableShares": 4}, "1.35", "dra-kubernetes-gate-off", "consumableShares"),
    ],
)
def test_what_cannot_work(
    claim: dict[str, Any] | None, more: dict[str, Any], version: str, code: str, path: str
) -> None:
    _, errors = made(claim, version, **more)
    assert list(errors) == [code]
    assert errors[code].endswith(path)


@pytest.mark.parametrize(
    ("version", "gates", "api"),
    [
        ("1.37", {}, "v1"),
        ("1.36", {"DRADeviceTaintRules": True}, "v1beta2"),
        ("1.35", {"DRADeviceTaintRules": True, "DRADeviceTaints": True}, "v1alpha3"),
    ],
)
def test_taint_rules(version: str, gates: dict[str, bool], api: str) -> None:
    rule = {"name": "repair", "node": "worker-7", "device": "gpu-3", "key": "example.com/repair"}
    fleet, errors = made(
        None, version, addons={"deviceTaints": [rule]}, cluster={"featureGates": gates}
    )
    assert fleet is not None, errors
    assert device_taint_rules(fleet) == [
        {
            "apiVersion": f"resource.k8s.io/{api}",
            "kind": "DeviceTaintRule",
            "metadata": {
                "name": "repair",
                "labels": {"app.kubernetes.io/managed-by": "gpufleet"},
            },
            "spec": {
                "deviceSelector": {
                    "driver": "gpu.nvidia.com",
                    "pool": "worker-7",
                    "device": "gpu-3",
                },
                "taint": {"key": "example.com/repair", "effect": "NoSchedule"},
            },
        }
    ]
    _, errors = made(None, "1.36", addons={"deviceTaints": [rule]})
    assert errors == {"dra-kubernetes-gate-off": "addons.draDriver.deviceTaints"}


def test_values_of_the_driver() -> None:
    fleet, _ = made(None, consumableShares=4, addons={"hostManagedImex": True})
    assert fleet is not None
    values = dra_release_values(fleet)
    assert values["consumableShares"] == "4"
    assert values["resources"]["computeDomains"]["imex"] == {"mode": "hostManaged"}
    assert values["featureGates"] == {"ConsumableShares": True, "HostManagedIMEXDaemon": True}


def test_check_takes_what_is_rendered() -> None:
    for claim, more in (
        ({"firstAvailable": EITHER, "tolerations": [{"key": "a"}]}, {}),
        ({"adminAccess": True}, {}),
        ({"shareMemoryMib": 1000}, {"consumableShares": "memory"}),
    ):
        fleet, errors = made(claim, **more)
        assert fleet is not None, errors
        for manifest in claims(fleet):
            context = {"kubernetesVersion": "1.37"}
            found = validate_text("dra-config", json.dumps(manifest), context=context)
            assert [str(f) for f in found.findings] == []
