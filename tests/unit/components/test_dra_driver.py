from typing import Any

import pytest

from gpufleet.addons.dra_driver import DraDriver
from gpufleet.components_base.inputs import InvalidArgumentsError

RELEASE = "kubernetes:helm.sh/v3:Release"
CLASS = "kubernetes:resource.k8s.io/v1:DeviceClass"
TEMPLATE = "kubernetes:resource.k8s.io/v1:ResourceClaimTemplate"
CLAIM = "kubernetes:resource.k8s.io/v1:ResourceClaim"


def args(dra: dict[str, Any], **more: Any) -> Any:
    pool = {
        "name": "notebooks",
        "gpu": "H100-80GB",
        "gpus_per_node": 8,
        "nodes": {"min": 1, "max": 2},
        "sharing": {"dra": dra},
    }
    return {
        "catalogue": "2026.11",
        "platform": "eks",
        "region": "us-east-1",
        "pools": [pool],
    } | more


def test_whole_gpus_need_the_chart_and_one_template(run: Any) -> None:
    recorded = run(lambda: DraDriver("dra", args({"namespaces": ["research"]})))
    release = recorded.one(RELEASE)
    assert release.parent == "dra"
    chosen = {key: release.inputs[key] for key in ("name", "chart", "version", "namespace")}
    assert chosen == {
        "name": "dra-driver-nvidia-gpu",
        "chart": "oci://registry.k8s.io/dra-driver-nvidia/charts/dra-driver-nvidia-gpu",
        "version": "0.5.0",
        "namespace": "dra-driver-nvidia-gpu",
    }
    values = release.inputs["values"]
    assert values["gpuResourcesEnabledOverride"] is True
    assert values["resources"] == {"gpus": {"enabled": True}, "computeDomains": {"enabled": False}}
    assert values["featureGates"] == {}
    assert values["kubeletPlugin"]["nodeSelector"] == {"gpufleet.dev/dra": "true"}
    assert recorded.all(CLASS) == []
    template = recorded.one(TEMPLATE)
    assert template.inputs["metadata"]["namespace"] == "research"
    request = template.inputs["spec"]["spec"]["devices"]["requests"][0]
    assert request["exactly"]["deviceClassName"] == "gpu.nvidia.com"


def test_mig_on_demand_needs_a_class_for_each_profile(run: Any) -> None:
    recorded = run(lambda: DraDriver("dra", args({"devices": "mig", "extended_resource": True})))
    assert recorded.one(RELEASE).inputs["values"]["featureGates"] == {"DynamicMIG": True}
    named = {c.inputs["spec"].get("extendedResourceName") for c in recorded.all(CLASS)}
    assert {"nvidia.com/mig-1g.10gb", "nvidia.com/mig-1g.10gb.me", "nvidia.com/mig-7g.80gb"} < named
    assert recorded.all(TEMPLATE) == []


def test_pods_that_share_name_claims(run: Any) -> None:
    shared = {"sharing": "mps", "clients": 4, "namespaces": ["a", "b"]}
    recorded = run(lambda: DraDriver("dra", args(shared)))
    assert recorded.one(RELEASE).inputs["values"]["featureGates"] == {"MPSSupport": True}
    made = recorded.all(CLAIM)
    assert len(made) == 2 * 8
    opaque = made[0].inputs["spec"]["devices"]["config"][0]["opaque"]
    assert opaque["parameters"]["sharing"]["mpsConfig"]["defaultActiveThreadPercentage"] == 25


def test_gke_admits_the_critical_pods_of_the_driver(run: Any) -> None:
    """Without the quota no kubelet plugin starts (modelplaneai/modelplane#202, GKE Standard)."""
    pool = {
        "name": "notebooks",
        "instance_types": ["g2-standard-8"],
        "nodes": {"min": 1, "max": 2},
        "gke": {"driver": "gpuOperator"},
        "sharing": {"dra": {}},
    }
    made = run(
        lambda: DraDriver("dra", args({}, platform="gke", region="us-central1", pools=[pool]))
    )
    quota = made.one("kubernetes:core/v1:ResourceQuota")
    assert quota.inputs["metadata"]["namespace"] == "dra-driver-nvidia-gpu"
    assert quota.inputs["spec"]["hard"] == {"pods": "1G"}
    (scope,) = quota.inputs["spec"]["scopeSelector"]["matchExpressions"]
    assert "system-node-critical" in scope["values"]
    assert "dra-quota" in made.one(RELEASE).depends_on


def test_raw_values_are_merged_last(run: Any) -> None:
    addons = {"dra_driver": {"values": {"logVerbosity": "6"}}}
    recorded = run(lambda: DraDriver("dra", args({}, addons=addons)))
    assert recorded.one(RELEASE).inputs["values"]["logVerbosity"] == "6"


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"kubernetes_version": "1.32"}, "dra-kubernetes-too-old"),
        (
            {"addons": {"dra_driver": {"values": {"featureGates": {"DynamicMig": True}}}}},
            "dra-gate-unknown",
        ),
        ({"addons": {"dra_driver": {"enabled": False}}}, "dra-driver-disabled"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_made(
    run: Any, wrong: Any, code: str
) -> None:
    def program() -> None:
        with pytest.raises(InvalidArgumentsError) as caught:
            DraDriver("dra", args({}, **wrong))
        assert code in str(caught.value)

    assert run(program).resources == []
