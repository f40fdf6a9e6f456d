from typing import Any

import pytest

from gpufleet.findings import Finding, Severity
from gpufleet.platforms.compiled import compile_data
from tests.unit.platforms.openshift.fleets import CHAT, MACHINE, declaration, fleet

VGPU = {"vgpu": {"profile": "grid_l4-6c", "licenseSecret": "licence"}}
GUEST_DRIVER = {
    "gpuOperator": {
        "driver": {"repository": "registry.example.com/nvidia", "version": "595.91.07"},
        "imagePullSecret": "registry",
    }
}
DISK = {"name": "models", "sizeGib": 500}
FIXED = [{"network": "a", "addresses": {"fixed": ["10.0.0.10/24"], "gateway": "10.0.0.1"}}]
POOL = {"group": "ipam.cluster.x-k8s.io", "resource": "inclusterippools", "name": "gpu"}
CLAIMED = [{"network": "a", "addresses": {"pools": [POOL], "nameservers": ["10.0.0.2"]}}]
OTHER = [{"network": "b"}]
MIXED = {
    "gpu": "A100-80GB",
    "sharing": {
        "mig": {
            "strategy": "mixed",
            "layouts": [{"gpus": 1, "devices": {"3g.40gb": 1, "4g.40gb": 1}}],
        }
    },
}


def networks(
    adapters: list[dict[str, Any]], nodes: dict[str, int] | None = None, **more: Any
) -> dict[str, Any]:
    options = {**MACHINE, "networks": adapters, **more}
    return {"openshift": options, "nodes": nodes or CHAT["nodes"]}


def findings(pool: dict[str, Any] | None = None, **more: Any) -> dict[str, Finding]:
    one = {**CHAT, **(pool or {})}
    one = {key: value for key, value in one.items() if value is not None}
    return {found.code: found for found in compile_data(declaration(one, **more)).findings}


@pytest.mark.parametrize(
    ("code", "broken", "accepted"),
    [
        ("openshift-options-missing", {"openshift": None}, {}),
        (
            "openshift-options-missing",
            {"openshift": None},
            {"openshift": None, "ownership": "existing"},
        ),
        (
            "vgpu-attachment-and-sharing-disagree",
            {"openshift": {**MACHINE, "attachment": "vgpu"}},
            {},
        ),
        ("vgpu-attachment-and-sharing-disagree", {"sharing": VGPU}, {}),
        (
            "openshift-passthrough-one-machine",
            {"openshift": {**MACHINE, "attachment": "passthrough"}},
            {"openshift": {**MACHINE, "attachment": "passthrough"}, "nodes": {"min": 1, "max": 1}},
        ),
        ("openshift-disk-small", {"disk": {"sizeGib": 100}}, {"disk": {"sizeGib": 120}}),
        (
            "openshift-machine-config-pool-taken",
            {"name": "worker", "openshift": {**MACHINE, "machineConfig": {}}},
            {"name": "worker"},
        ),
        ("openshift-scale-from-zero", MIXED, {**MIXED, "nodes": {"min": 1, "max": 4}}),
        ("openshift-name-too-long", {"name": "x" * 40}, {"name": "x" * 39}),
        ("openshift-dra", {"sharing": {"dra": {}}}, {}),
        ("openshift-zone-twice", {"zones": ["a", "a"]}, {"zones": ["a", "b"]}),
        ("openshift-more-zones-than-nodes", {"zones": list("abcde")}, {"zones": list("abcd")}),
        ("openshift-name-illegal", {"zones": ["Rack_A"]}, {"zones": ["rack-a"]}),
        ("openshift-addresses-one-machine", networks(FIXED), networks(CLAIMED)),
        (
            "openshift-addresses-one-machine",
            networks(FIXED, {"min": 1, "max": 1}, rollout="surge"),
            networks(FIXED, {"min": 1, "max": 1}),
        ),
        ("openshift-addresses-any-adapter", networks([*CLAIMED, *OTHER]), networks(CLAIMED)),
        ("openshift-import", {"importId": "lab-worker"}, {}),
        ("openshift-change-in-waves", {"change": {"previous": {"exclusive": {}}}}, {}),
        ("options-of-other-platform", {"vsphere": MACHINE}, {}),
    ],
)
def test_rules_of_pools(code: str, broken: dict[str, Any], accepted: dict[str, Any]) -> None:
    prefix = {"namePrefix": "a" * 10}
    assert code not in findings(accepted, **prefix)
    found = findings(broken, **prefix)[code]
    assert found.path.startswith("pools[0].")
    assert found.fix


@pytest.mark.parametrize(
    ("code", "path", "addons"),
    [
        (
            "helm-values-without-chart",
            "addons.gpuOperator.values",
            {"gpuOperator": {"values": {"operator": {"upgradeCRD": False}}}},
        ),
        (
            "helm-values-without-chart",
            "addons.gpuOperator.values",
            {"gpuOperator": {"values": {"nfd": {"enabled": True}}}},
        ),
        (
            "helm-values-without-chart",
            "addons.networkOperator.values",
            {"networkOperator": {"enabled": True, "values": {"operator": {"x": 1}}}},
        ),
        (
            "openshift-images-registry",
            "addons.images.registry",
            {"images": {"registry": "mirror.example.com"}},
        ),
        (
            "openshift-chart-instead-of-operator",
            "addons.devicePlugin.enabled",
            {"devicePlugin": {"enabled": True}, "gpuOperator": {"enabled": False}},
        ),
        (
            "openshift-chart-instead-of-operator",
            "addons.draDriver.enabled",
            {"draDriver": {"enabled": True}},
        ),
        (
            "olm-versions-differ",
            "addons.olm.gpuOperator.startingCsv",
            {
                "gpuOperator": {"version": "v26.3.3"},
                "olm": {"gpuOperator": {"startingCsv": "gpu-operator-certified.v26.7.0"}},
            },
        ),
        (
            "openshift-driver-image-incomplete",
            "addons.gpuOperator.driver.version",
            {"gpuOperator": {"driver": {"repository": "registry.example.com/nvidia"}}},
        ),
        (
            "openshift-driver-image-incomplete",
            "addons.gpuOperator.driver.version",
            {"gpuOperator": {"values": {"driver": {"image": "mine"}}}},
        ),
        (
            "openshift-driver-precompiled",
            "addons.gpuOperator.driver.precompiled",
            {"gpuOperator": {"driver": {"precompiled": True, "version": "595"}}},
        ),
        (
            "openshift-autoscaler-chart",
            "addons.clusterAutoscaler.version",
            {"clusterAutoscaler": {"version": "9.59.0"}},
        ),
        (
            "openshift-autoscaler-chart",
            "addons.clusterAutoscaler.values",
            {"clusterAutoscaler": {"values": {"replicaCount": 2}}},
        ),
        (
            "openshift-autoscaler-priority",
            "addons.clusterAutoscaler.expander",
            {"clusterAutoscaler": {"expander": "priority"}},
        ),
        (
            "openshift-provisioning-requests",
            "addons.clusterAutoscaler.provisioningRequests",
            {"clusterAutoscaler": {"provisioningRequests": True}},
        ),
        (
            "openshift-autoscaler-gpu-threshold",
            "addons.clusterAutoscaler.scaleDownGpuUtilizationThreshold",
            {"clusterAutoscaler": {"scaleDownGpuUtilizationThreshold": 0.7}},
        ),
        (
            "driver-installed-by-nobody",
            "addons.gpuOperator.driver.enabled",
            {"gpuOperator": {"driver": {"enabled": False}}},
        ),
        (
            "toolkit-installed-by-nobody",
            "addons.gpuOperator.toolkit.enabled",
            {"gpuOperator": {"toolkit": {"enabled": False}}},
        ),
        (
            "karpenter-not-on-eks",
            "addons.karpenter.enabled",
            {"karpenter": {"enabled": True}},
        ),
    ],
)
def test_rules_of_add_ons(code: str, path: str, addons: dict[str, Any]) -> None:
    assert code not in findings()
    found = findings(addons=addons)[code]
    assert found.severity is Severity.ERROR
    assert found.path == path
    assert found.fix


def test_karpenter_is_refused_by_name() -> None:
    found = findings(provisioner="karpenter")["provisioner-not-on-platform"]
    assert found.message == "karpenter cannot provision nodes on openshift"
    assert found.fix == "one of managed, clusterAutoscaler"


def test_both_mig_strategies_are_a_conflict() -> None:
    single = {
        **CHAT,
        "name": "single",
        "gpu": "A100-80GB",
        "nodes": {"min": 1, "max": 1},
        "sharing": {
            "mig": {"strategy": "single", "layouts": [{"gpus": 1, "devices": {"1g.10gb": 7}}]}
        },
    }
    mixed = {**single, **MIXED, "name": "mixed"}
    codes = {found.code for found in compile_data(declaration(single, mixed)).findings}
    assert "mig-strategy-conflict" in codes


def test_lifecycle_manager_is_openshifts_alone() -> None:
    data = declaration(addons={"olm": {"approval": "manual"}}) | {
        "platform": "sandbox",
        "pools": [{"name": "a", "gpu": "L4", "nodes": {"min": 1, "max": 1}}],
    }
    found = {one.code: one for one in compile_data(data).findings}["olm-not-on-platform"]
    assert found.path == "addons.olm"
    assert "on sandbox Helm charts install the operators" in found.message


def test_manual_approval_says_who_is_waited_for() -> None:
    found = findings(addons={"olm": {"approval": "manual"}})["olm-approval-needed"]
    assert found.severity is Severity.INFO
    assert "InstallPlans of node-feature-discovery, gpu-operator" in found.message
    assert "30 minutes" in found.message


def test_an_illegal_prefix_is_named_with_a_legal_one() -> None:
    data = declaration(CHAT) | {"cluster": {"name": "ML_Lab", "kubernetesVersion": "1.35"}}
    found = {one.code: one for one in compile_data(data).findings}["openshift-name-illegal"]
    assert found.fix == "write namePrefix: ml-lab"


def test_all_problems_come_at_once() -> None:
    found = findings(
        {
            "zones": ["a", "a"],
            "importId": "x",
            "openshift": {**MACHINE, "attachment": "passthrough"},
            "disk": {"sizeGib": 60},
        },
        addons={
            "images": {"registry": "mirror.example.com"},
            "clusterAutoscaler": {"expander": "priority"},
        },
    )
    assert {
        "openshift-zone-twice",
        "openshift-import",
        "openshift-passthrough-one-machine",
        "openshift-disk-small",
        "openshift-images-registry",
        "openshift-autoscaler-priority",
    } <= set(found)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"cpus": 1}, "1 is not at least 2"),
        ({"coresPerSocket": 3}, "coresPerSocket 3 does not divide cpus 16"),
        ({"template": ""}, "at least 1"),
        ({"pciDevices": []}, "pciDevices"),
        ({"tagIds": ["gpu"]}, "urn:vmomi"),
        ({"machineConfig": {"kernelArguments": ["a b"]}}, "kernelArguments"),
        ({"health": {"unhealthySeconds": 5}}, "60"),
        ({"rollout": "fast"}, "recreate"),
        ({"extraDisks": [{**DISK, "sizeGib": 16_385}]}, "16384"),
        ({"extraDisks": [DISK, DISK]}, "extraDisks: models: more than one disk"),
        ({"extraDisks": [{**DISK, "datastore": "nvme"}]}, "datastore"),
        ({"extraDisks": [{**DISK, "keep": True}]}, "keep"),
        ({"networks": [{"network": "a", "adapter": "sriov"}]}, "adapter"),
        ({"networks": [{"network": "a", "addresses": {}}]}, "write pools"),
        ({"networks": [{"network": "a", "addresses": {"fixed": ["10.0.0.1"]}}]}, "has no prefix"),
        ({"networks": [{"network": "a", "addresses": {"fixed": ["10.0.0/24"]}}]}, "10.0.0/24"),
        ({"networks": [{"network": "x" * 81}]}, "80"),
    ],
)
def test_options_are_checked(options: dict[str, Any], text: str) -> None:
    found = compile_data(declaration({**CHAT, "openshift": {**MACHINE, **options}})).findings
    shown = "\n".join(str(one) for one in found if one.severity is Severity.ERROR)
    assert text in shown, shown
    assert "pools[0].openshift" in shown


def test_the_same_fleet_compiles_wherever_it_runs() -> None:
    """Only platform, cluster and machines differ."""
    sharing = [
        {"timeSlicing": {"replicas": 4}},
        {"mps": {"replicas": 4}},
        {"exclusive": {}},
    ]
    queues = {"teams": [{"name": "research", "share": 0.6}, {"name": "product", "share": 0.4}]}
    pools = [
        {"name": f"pool-{i}", "nodes": {"min": 1, "max": 4}, "sharing": kind}
        for i, kind in enumerate(sharing)
    ]
    common = {"catalogue": "2026.11", "queues": queues, "monitoring": {"backend": "prometheus"}}
    places: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "eks": ({"name": "a", "region": "us-east-1"}, {"instanceTypes": ["g6.2xlarge"]}),
        "gke": ({"name": "a", "region": "us-central1"}, {"instanceTypes": ["g2-standard-8"]}),
        "vsphere": ({"name": "a"}, {"gpu": "L4", "vsphere": MACHINE}),
        "openshift": ({"name": "a"}, {"gpu": "L4", "openshift": MACHINE}),
    }
    advertised: dict[str, list[int]] = {}
    for platform, (cluster, machines) in places.items():
        compiled = compile_data(
            {
                **common,
                "platform": platform,
                "cluster": {**cluster, "kubernetesVersion": "1.35"},
                "pools": [{**pool, **machines} for pool in pools],
            }
        )
        assert compiled.deployable, (platform, [str(f) for f in compiled.findings])
        assert compiled.fleet is not None
        advertised[platform] = [sum(p.advertised.values()) for p in compiled.fleet.pools]
    assert set(map(tuple, advertised.values())) == {(4, 4, 1)}


def test_a_vgpu_fleet_names_its_guest_driver_completely() -> None:
    pool = {**CHAT, "sharing": VGPU, "openshift": {**MACHINE, "attachment": "vgpu"}}
    made = fleet(pool, addons=GUEST_DRIVER)
    assert made.addons.gpu_operator.license_secret == "licence"
    assert made.pools[0].advertised == {"nvidia.com/gpu": 1}


def test_discovery_is_the_operators_unless_the_cluster_has_it() -> None:
    names = [one.name for one in fleet(CHAT).addons.subscriptions]
    assert names == ["node-feature-discovery", "gpu-operator"]
    own = {"gpuOperator": {"nodeFeatureDiscovery": {"enabled": False}}}
    assert [one.name for one in fleet(CHAT, addons=own).addons.subscriptions] == ["gpu-operator"]
    rdma = fleet({**CHAT, "fabric": "rdma"})
    assert [one.name for one in rdma.addons.subscriptions] == [
        "node-feature-discovery",
        "network-operator",
        "gpu-operator",
    ]


def test_operators_of_somebody_else_are_not_subscribed_to() -> None:
    theirs = {"gpuOperator": {"ownership": "existing"}}
    assert fleet(CHAT, addons=theirs).addons.subscriptions == ()
    files = {"gpuOperator": {"ownership": "gitops"}}
    made = fleet(CHAT, addons=files).addons.subscriptions
    assert {one.ownership.value for one in made} == {"gitops"}
