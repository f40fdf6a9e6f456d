"""Objects of OpenShift's machine API, autoscaler and Lifecycle Manager, as they are written."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpufleet.fleet import Fleet
from gpufleet.platforms.openshift.cluster_autoscaler_manifest import cluster_autoscaler
from gpufleet.platforms.openshift.machine_config import machine_config, machine_config_pool
from gpufleet.platforms.openshift.machine_set_manifest import (
    health_check,
    machine_autoscaler,
    machine_set,
)
from gpufleet.platforms.openshift.olm import (
    namespace,
    node_feature_discovery,
    operator_group,
    subscription,
)
from gpufleet.platforms.openshift.shape import machine_set_name
from gpufleet.render.artefacts import artefacts
from gpufleet_sandbox import custom_resources
from tests.reading import yaml_data, yaml_documents
from tests.unit.platforms.openshift.fleets import CHAT, MACHINE, NOTEBOOKS, TRAIN, fleet
from tests.unit.render.upstream_definitions import assert_fits, problems_of

PLACE = {
    "infrastructureName": "lab-x7k2p",
    "server": "vcenter.example.com",
    "datacenter": "DC1",
    "network": "machines",
    "datastore": "/DC1/datastore/nvme",
    "folder": "/DC1/vm/lab-x7k2p",
    "resourcePool": "/DC1/host/gpu/Resources",
}
CAPACITY = "capacity.cluster-autoscaler.kubernetes.io/"


def objects(made: Fleet) -> Iterator[dict[str, Any]]:
    for pool in made.pools:
        found = (
            machine_set(pool, "lab", PLACE),
            health_check(pool, "lab"),
            machine_autoscaler(pool, "lab"),
            machine_config_pool(pool),
            machine_config(pool),
        )
        yield from (one for one in found if one is not None)
    scaler = cluster_autoscaler(made.pools, made.spec.addons.cluster_autoscaler)
    yield from [] if scaler is None else [scaler]
    for one in made.addons.subscriptions:
        yield from (operator_group(one), subscription(one))
        if one.name == "node-feature-discovery":
            yield node_feature_discovery(made, one)


def definition(document: dict[str, Any]) -> dict[str, Any]:
    (found,) = [
        one
        for one in custom_resources.packaged()
        if one["spec"]["names"]["kind"] == document["kind"]
    ]
    return found


def test_every_object_fits_the_strict_definitions() -> None:
    made = list(objects(fleet()))
    assert {one["kind"] for one in made} == {
        "ClusterAutoscaler",
        "MachineAutoscaler",
        "MachineConfig",
        "MachineConfigPool",
        "MachineHealthCheck",
        "MachineSet",
        "NodeFeatureDiscovery",
        "OperatorGroup",
        "Subscription",
    }
    for document in made:
        assert_fits(definition(document), document)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("spec", "replica"), 3),
        (("spec", "template", "spec", "providerSpec", "value", "pciDevices"), []),
        (("spec", "template", "spec", "providerSpec", "value", "vGPUDevices"), []),
        (("spec", "template", "spec", "providerSpec", "value", "memoryMib"), 4096),
        (("spec", "template", "spec", "providerSpec", "value", "kind"), "AzureMachineProviderSpec"),
        (("spec", "template", "spec", "taint"), []),
    ],
)
def test_a_misspelt_field_of_a_machine_set_does_not_fit(path: tuple[str, ...], value: Any) -> None:
    document = machine_set(fleet(CHAT).pools[0], "lab", PLACE)
    *above, last = path
    at: Any = document
    for key in above:
        at = at[key]
    at[last] = value
    (problem,) = problems_of(definition(document), document)
    assert last in problem


def test_the_machine_set_of_a_shared_pool() -> None:
    pool = fleet(CHAT).pool("chat")
    made = machine_set(pool, "lab", PLACE)
    assert made["metadata"]["namespace"] == "openshift-machine-api"
    assert made["metadata"]["name"] == machine_set_name("lab", pool)
    assert made["spec"]["replicas"] == 0
    labels = made["spec"]["template"]["metadata"]["labels"]
    assert made["spec"]["selector"]["matchLabels"].items() <= labels.items()
    machine = made["spec"]["template"]["spec"]
    assert machine["taints"] == [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    ]
    born = machine["metadata"]["labels"]
    assert born["nvidia.com/device-plugin.config"].startswith("chat-")
    value = machine["providerSpec"]["value"]
    assert (value["numCPUs"], value["memoryMiB"], value["diskGiB"]) == (16, 128 * 1024, 200)
    assert value["workspace"]["folder"] == "/DC1/vm/lab-x7k2p"
    assert value["userDataSecret"] == {"name": "worker-user-data"}


def test_mig_and_role_are_labels_from_birth() -> None:
    made = fleet()
    notebooks = machine_set(made.pool("notebooks"), "lab", PLACE)
    born = notebooks["spec"]["template"]["spec"]["metadata"]["labels"]
    assert born["nvidia.com/mig.config"].startswith("notebooks-")
    trained = machine_set(made.pool("train"), "lab", PLACE)
    assert (
        trained["spec"]["template"]["spec"]["metadata"]["labels"]["node-role.kubernetes.io/train"]
        == ""
    )


def test_own_options_win_over_the_connections() -> None:
    options = {**MACHINE, "datastore": "/DC1/datastore/slow", "coresPerSocket": 8, "tagIds": []}
    value = machine_set(fleet({**CHAT, "openshift": options}).pools[0], "lab", PLACE)["spec"][
        "template"
    ]["spec"]["providerSpec"]["value"]
    assert value["workspace"]["datastore"] == "/DC1/datastore/slow"
    assert value["numCoresPerSocket"] == 8
    bare = {"infrastructureName": "lab", "server": "vc", "datacenter": "DC1", "network": "net"}
    workspace = machine_set(fleet(CHAT).pools[0], "lab", bare)["spec"]["template"]["spec"][
        "providerSpec"
    ]["value"]["workspace"]
    assert workspace == {"server": "vc", "datacenter": "DC1"}


@pytest.mark.parametrize(
    ("pool", "kind", "count"),
    [
        (CHAT, "nvidia.com/gpu.shared", "4"),
        (
            {**CHAT, "sharing": {"timeSlicing": {"replicas": 3, "rename": False}}},
            "nvidia.com/gpu",
            "3",
        ),
        ({**CHAT, "sharing": {"exclusive": {}}, "gpusPerNode": 2}, "nvidia.com/gpu", "2"),
        (NOTEBOOKS, "nvidia.com/mig-1g.10gb", "7"),
    ],
)
def test_an_empty_set_promises_what_its_nodes_will_offer(
    pool: dict[str, Any], kind: str, count: str
) -> None:
    made = fleet(pool).pools[0]
    notes = machine_set(made, "lab", PLACE)["metadata"]["annotations"]
    assert (notes[f"{CAPACITY}gpu-type"], notes[f"{CAPACITY}gpu-count"]) == (kind, count)
    assert notes["machine.openshift.io/GPU"] == str(made.gpus_per_node)
    assert notes[f"{CAPACITY}taints"] == "nvidia.com/gpu=present:NoSchedule"
    promised = dict(pair.split("=", 1) for pair in notes[f"{CAPACITY}labels"].split(","))
    assert promised["gpufleet.dev/pool"] == made.name
    assert promised["kubernetes.io/arch"] == "amd64"


def test_nodes_without_whole_gpus_carry_no_accelerator_label() -> None:
    """The autoscaler treats such a node as one whose driver is not ready, without end."""
    label = "cluster-api/accelerator"
    for pool, value in ((NOTEBOOKS, None), (CHAT, None), (TRAIN, "nvidia-a100-80gb")):
        made = machine_set(fleet(pool).pools[0], "lab", PLACE)
        assert made["metadata"]["labels"].get(label) == value
        assert made["spec"]["template"]["spec"]["metadata"]["labels"].get(label) == value


def test_limits_count_whole_gpus_as_nodes_offer_them() -> None:
    turns = {"timeSlicing": {"replicas": 3, "rename": False}}
    shared = {**CHAT, "name": "shared", "sharing": turns}
    whole = {**CHAT, "name": "whole", "nodes": {"min": 2, "max": 2}, "sharing": {"exclusive": {}}}
    made = fleet(shared, whole, NOTEBOOKS)
    scaler = cluster_autoscaler(made.pools, made.spec.addons.cluster_autoscaler)
    assert scaler is not None
    assert scaler["metadata"]["name"] == "default"
    assert scaler["spec"]["resourceLimits"]["gpus"] == [
        {"type": "nvidia-l4", "min": 0, "max": 4 * 3 + 2}
    ]
    assert scaler["spec"]["scaleDown"]["unneededTime"] == "30m0s", "the most patient intent"
    fixed = fleet(whole)
    assert cluster_autoscaler(fixed.pools, fixed.spec.addons.cluster_autoscaler) is None
    assert machine_autoscaler(fixed.pools[0], "lab") is None


def test_another_way_of_sharing_is_another_machine_set() -> None:
    def name(**change: Any) -> str:
        return machine_set_name("lab", fleet({**CHAT, **change}).pools[0])

    first = name()
    assert name() == first
    assert name(nodes={"min": 1, "max": 9}) == first, "a size is not a birthmark"
    others = {
        name(sharing={"timeSlicing": {"replicas": 2}}),
        name(labels={"example.com/a": "b"}),
        name(taints=[{"key": "example.com/team"}]),
        name(disk={"sizeGib": 300}),
        name(openshift={**MACHINE, "cpus": 8}),
        name(openshift={**MACHINE, "template": "other"}),
    }
    assert len(others | {first}) == 7
    health = {**MACHINE, "health": {"unhealthySeconds": 600}}
    assert name(openshift=health) == first


@pytest.mark.parametrize(("most", "limit"), [(1, 1), (2, 1), (5, 2), (10, 4), (100, 40)])
def test_a_small_set_can_be_remedied(most: int, limit: int) -> None:
    pool = fleet({**CHAT, "nodes": {"min": 1, "max": most}}).pools[0]
    made = health_check(pool, "lab")
    assert made is not None
    assert made["spec"]["maxUnhealthy"] == limit
    assert made["spec"]["selector"] == {"matchLabels": {"gpufleet.dev/pool": "chat"}}


def test_a_health_check_can_be_left_out() -> None:
    options = {**MACHINE, "health": {"enabled": False}}
    assert health_check(fleet({**CHAT, "openshift": options}).pools[0], "lab") is None


def test_a_pool_of_its_own_inherits_from_the_workers() -> None:
    pool = fleet().pool("train")
    config_pool, config = machine_config_pool(pool), machine_config(pool)
    assert config_pool is not None
    assert config is not None
    (condition,) = config_pool["spec"]["machineConfigSelector"]["matchExpressions"]
    assert condition["values"] == ["worker", "train"]
    assert config_pool["spec"]["nodeSelector"] == {
        "matchLabels": {"node-role.kubernetes.io/train": ""}
    }
    role = "machineconfiguration.openshift.io/role"
    assert config["metadata"]["labels"][role] == "train"
    assert config["spec"]["kernelArguments"] == ["intel_iommu=on", "iommu=pt"]
    without = {**MACHINE, "machineConfig": {}}
    plain = fleet({**CHAT, "openshift": without}).pools[0]
    assert machine_config_pool(plain) is not None
    assert machine_config(plain) is None
    assert machine_config_pool(fleet(CHAT).pools[0]) is None


def test_pinned_operators() -> None:
    made = fleet({**CHAT, "fabric": "rdma"})
    found = {one.name: subscription(one)["spec"] for one in made.addons.subscriptions}
    assert found["gpu-operator"] == {
        "name": "gpu-operator-certified",
        "channel": "v26.7",
        "startingCSV": "gpu-operator-certified.v26.7.0",
        "source": "certified-operators",
        "sourceNamespace": "openshift-marketplace",
        "installPlanApproval": "Automatic",
    }
    assert found["network-operator"]["startingCSV"] == "nvidia-network-operator.v26.4.1"
    assert found["node-feature-discovery"]["channel"] == "stable"
    assert "startingCSV" not in found["node-feature-discovery"]


def test_another_version_and_a_mirrored_catalogue() -> None:
    olm = {
        "approval": "manual",
        "certifiedCatalog": "cs-certified",
        "gpuOperator": {"channel": "stable"},
        "nodeFeatureDiscovery": {"image": "mirror.example.com/nfd:v4.22"},
    }
    made = fleet(CHAT, addons={"olm": olm, "gpuOperator": {"version": "v26.3.3"}})
    operator = made.addons.subscription("gpu-operator")
    assert operator is not None
    spec = subscription(operator)["spec"]
    assert spec["startingCSV"] == "gpu-operator-certified.v26.3.3"
    assert (spec["channel"], spec["source"]) == ("stable", "cs-certified")
    assert spec["installPlanApproval"] == "Manual"
    discovery = made.addons.subscription("node-feature-discovery")
    assert discovery is not None
    operand = node_feature_discovery(made, discovery)["spec"]["operand"]
    assert operand["image"] == "mirror.example.com/nfd:v4.22"


@pytest.mark.parametrize(("kubernetes", "release"), [("1.33", "v4.20"), ("1.34", "v4.21")])
def test_discovery_is_of_the_clusters_release(kubernetes: str, release: str) -> None:
    made = fleet(CHAT, cluster={"name": "lab", "kubernetesVersion": kubernetes})
    discovery = made.addons.subscription("node-feature-discovery")
    assert discovery is not None
    document = node_feature_discovery(made, discovery)
    assert document["spec"]["operand"]["image"].endswith(f":{release}")
    worker = yaml_data(document["spec"]["workerConfig"]["configData"])
    assert {"0300", "0302", "0207"} <= set(worker["sources"]["pci"]["deviceClassWhitelist"])
    assert worker["sources"]["pci"]["deviceLabelFields"] == ["vendor"]


def test_namespaces_are_watched_by_the_clusters_monitoring() -> None:
    operator = fleet(CHAT).addons.subscription("gpu-operator")
    assert operator is not None
    made = namespace(operator)["metadata"]
    assert made["name"] == "nvidia-gpu-operator"
    assert made["labels"]["openshift.io/cluster-monitoring"] == "true"
    assert fleet(CHAT).addons.gpu_operator.namespace == made["name"]


def test_our_own_audit_has_nothing_against_them(tmp_path: Path) -> None:
    from gpufleet_policies.fronts.audit.inputs import find_inputs
    from gpufleet_policies.fronts.audit.run import audit
    from gpufleet_policies.rules.settings import read_settings

    documents = list(objects(fleet()))
    (tmp_path / "objects.yaml").write_text(yaml.safe_dump_all(documents))
    found = audit(find_inputs([str(tmp_path)]), read_settings({}), date(2026, 11, 22))
    assert found.unread == ()
    assert [str(one.finding) for one in found.findings] == []


def test_files_hold_everything_and_no_chart() -> None:
    made = {one.path: one.text for one in artefacts(fleet(CHAT, {**TRAIN, "fabric": "rdma"}))}
    assert not [path for path in made if path.startswith("values/")]
    for folder in ("gpu-operator", "network-operator", "node-feature-discovery"):
        (space, group, subscribed) = yaml_documents(made[f"manifests/{folder}/subscription.yaml"])
        assert space["kind"] == "Namespace"
        assert group["metadata"]["namespace"] == space["metadata"]["name"]
        assert subscribed["spec"]["channel"]
    policy = yaml_data(made["manifests/gpu-operator/cluster-policy.yaml"])
    assert policy["kind"] == "ClusterPolicy"
    documents = list(yaml_documents(made["manifests/openshift/train.yaml"]))
    assert [one["kind"] for one in documents] == [
        "MachineConfigPool",
        "MachineConfig",
        "MachineSet",
        "MachineHealthCheck",
    ]
    for document in documents:
        assert_fits(definition(document), document)
    assert "${INFRASTRUCTURE_NAME}" in made["manifests/openshift/train.yaml"]
    assert "manifests/openshift/cluster-autoscaler.yaml" in made
    elsewhere = {"clusterAutoscaler": {"ownership": "existing"}}
    paths = {one.path for one in artefacts(fleet(CHAT, addons=elsewhere))}
    assert "manifests/openshift/cluster-autoscaler.yaml" not in paths
    assert "manifests/openshift/chat.yaml" in paths
