"""Registrations of `OpenShiftGpuMachineSet`, `OpenShiftClusterAutoscaler` and `OlmOperator`, and of
`GpuFleet` and `GpuAddons` on OpenShift."""

import copy
import re
from pathlib import Path
from typing import Any

import pulumi
import pytest

from gpufleet import (
    GpuAddons,
    GpuFleet,
    OlmOperator,
    OpenShiftClusterAutoscaler,
    OpenShiftGpuMachineSet,
)
from gpufleet.components_base.inputs import InvalidArgumentsError
from tests.unit.components.openshift_pools import CHAT, CONNECTION, MACHINE, TRAIN
from tests.unit.platforms.openshift.fleets import declaration

ROOT = Path(__file__).parents[3]
SET = "kubernetes:machine.openshift.io/v1beta1:MachineSet"
HEALTH = "kubernetes:machine.openshift.io/v1beta1:MachineHealthCheck"
SCALER = "kubernetes:autoscaling.openshift.io/v1beta1:MachineAutoscaler"
CLUSTER_SCALER = "kubernetes:autoscaling.openshift.io/v1:ClusterAutoscaler"
POOL = "kubernetes:machineconfiguration.openshift.io/v1:MachineConfigPool"
CONFIG = "kubernetes:machineconfiguration.openshift.io/v1:MachineConfig"
SUBSCRIPTION = "kubernetes:operators.coreos.com/v1alpha1:Subscription"
GROUP = "kubernetes:operators.coreos.com/v1:OperatorGroup"
NAMESPACE = "kubernetes:core/v1:Namespace"
POLICY = "kubernetes:nvidia.com/v1:ClusterPolicy"
DISCOVERY = "kubernetes:nfd.openshift.io/v1:NodeFeatureDiscovery"
RELEASE = "kubernetes:helm.sh/v3:Release"


def arguments(pool: dict[str, Any], **more: Any) -> Any:
    return {
        "catalogue": "2026.11",
        "pool": copy.deepcopy(pool),
        "connection": dict(CONNECTION),
        "kubernetes_version": "1.35",
        **more,
    }


def refused(run: Any, program: Any) -> str:
    texts: list[str] = []

    def tried() -> None:
        with pytest.raises(InvalidArgumentsError) as caught:
            program()
        texts.append(str(caught.value))

    assert run(tried).resources == []
    return texts[0]


def test_a_scaled_pool(run: Any) -> None:
    recording = run(lambda: OpenShiftGpuMachineSet("chat", arguments(CHAT)))
    made = recording.one(SET, "chat-machines")
    assert made.parent == "chat"
    assert made.ignored == ["spec.replicas"]
    assert made.inputs["metadata"]["name"].startswith("gpu-chat-")
    bounds = recording.one(SCALER, "chat-autoscaler")
    assert bounds.inputs["spec"]["scaleTargetRef"]["name"] == made.inputs["metadata"]["name"]
    assert "chat-machines" in bounds.depends_on
    recording.one(HEALTH, "chat-health")
    assert recording.all(POOL) == []


def test_a_fixed_pool_with_kernel_arguments(run: Any) -> None:
    recording = run(lambda: OpenShiftGpuMachineSet("train", arguments(TRAIN)))
    made = recording.one(SET)
    assert made.ignored == []
    assert {"train-config-pool", "train-kernel-arguments"} <= set(made.depends_on)
    assert recording.one(CONFIG).inputs["spec"]["kernelArguments"] == ["iommu=pt"]
    assert recording.one(POOL).inputs["metadata"]["name"] == "train"
    assert recording.all(SCALER) == []


def test_outputs_are_wired_through(run: Any) -> None:
    wired = {**CONNECTION, "infrastructure_name": pulumi.Output.from_input("lab-zzzzz")}
    recording = run(lambda: OpenShiftGpuMachineSet("chat", arguments(CHAT, connection=wired)))
    selector = recording.one(SET).inputs["spec"]["selector"]["matchLabels"]
    assert selector["machine.openshift.io/cluster-api-cluster"] == "lab-zzzzz"


def test_outputs_of_the_component(run: Any) -> None:
    seen: dict[str, Any] = {}

    def program() -> None:
        made = OpenShiftGpuMachineSet("train", arguments(TRAIN, name_prefix="lab"))
        assert made.spec["name"] == "train"
        for key in ("machine_set", "machine_config_pool", "accelerator", "advertised"):
            getattr(made, key).apply(lambda value, key=key: seen.__setitem__(key, value))

    run(program)
    assert seen["machine_set"].startswith("lab-train-")
    assert seen["machine_config_pool"] == "train"
    assert seen["accelerator"] == "nvidia-a100-80gb"
    assert seen["advertised"] == {"nvidia.com/gpu": 1}


def test_nodes_of_another_stack_choose_what_the_add_ons_have(run: Any) -> None:
    given = arguments(CHAT, configurations=["default", "all-disabled"])
    text = ""

    def program() -> None:
        nonlocal text
        with pytest.raises(InvalidArgumentsError) as caught:
            OpenShiftGpuMachineSet("chat", given)
        text = str(caught.value)

    run(program)
    assert "configuration-not-declared" in text


def test_every_problem_of_a_pool_at_once(run: Any) -> None:
    wrong = {**CHAT, "zones": ["a", "a"], "openshift": {**MACHINE, "attachment": "passthrough"}}
    text = refused(run, lambda: OpenShiftGpuMachineSet("chat", arguments(wrong)))
    assert 'OpenShiftGpuMachineSet "chat": 2 errors' in text
    assert "pool.zones" in text
    assert "only the first would start" in text


def test_a_misspelt_option_is_named_with_the_nearest(run: Any) -> None:
    wrong = {**CHAT, "openshift": {**MACHINE, "memory": 4}}
    text = refused(run, lambda: OpenShiftGpuMachineSet("chat", arguments(wrong)))
    assert "memory_gib" in text


def test_folders_are_absolute(run: Any) -> None:
    given = arguments(CHAT, connection={**CONNECTION, "folder": "gpu"})
    text = refused(run, lambda: OpenShiftGpuMachineSet("chat", given))
    assert "openshift-folder-not-absolute" in text
    assert "write /DC1/vm/gpu" in text
    own = {**CHAT, "openshift": {**MACHINE, "folder": "/DC2/vm/x"}}
    text = refused(run, lambda: OpenShiftGpuMachineSet("chat", arguments(own)))
    assert "pool.openshift.folder" in text


def test_the_autoscaler_of_the_cluster(run: Any) -> None:
    whole = {**CHAT, "sharing": {"exclusive": {}}}
    given: Any = {"catalogue": "2026.11", "pools": [whole, TRAIN]}
    recording = run(lambda: OpenShiftClusterAutoscaler("scaler", given))
    made = recording.one(CLUSTER_SCALER, "scaler-default").inputs
    assert made["spec"]["resourceLimits"]["gpus"] == [
        {"type": "nvidia-a100-80gb", "min": 0, "max": 2},
        {"type": "nvidia-l4", "min": 0, "max": 4},
    ]
    assert made["spec"]["expanders"] == ["LeastWaste"]


def test_an_autoscaler_with_nothing_to_do_is_refused(run: Any) -> None:
    given: Any = {"catalogue": "2026.11", "pools": [TRAIN], "settings": {}}
    text = refused(run, lambda: OpenShiftClusterAutoscaler("scaler", given))
    assert "openshift-nothing-to-scale" in text


def test_settings_of_the_autoscaler_are_judged(run: Any) -> None:
    given: Any = {
        "catalogue": "2026.11",
        "pools": [CHAT],
        "settings": {"expander": "priority", "version": "9.59.0"},
    }
    text = refused(run, lambda: OpenShiftClusterAutoscaler("scaler", given))
    assert "openshift-autoscaler-priority" in text
    assert "openshift-autoscaler-chart" in text


def test_an_operator_is_waited_for(run: Any) -> None:
    given: Any = {"catalogue": "2026.11", "operator": "gpu-operator"}
    recording = run(lambda: OlmOperator("gpu", given))
    space = recording.one(NAMESPACE).inputs["metadata"]
    assert space["name"] == "nvidia-gpu-operator"
    assert space["labels"] == {
        "openshift.io/cluster-monitoring": "true",
        "pod-security.kubernetes.io/enforce": "privileged",
    }
    subscription = recording.one(SUBSCRIPTION)
    assert subscription.depends_on == ["gpu-group", "gpu-namespace"]
    assert subscription.inputs["metadata"]["annotations"] == {
        "pulumi.com/waitFor": "jsonpath={.status.installedCSV}"
    }
    assert subscription.inputs["spec"]["startingCSV"] == "gpu-operator-certified.v26.7.0"
    assert recording.one(GROUP).inputs["spec"] == {"targetNamespaces": ["nvidia-gpu-operator"]}


def test_an_operator_that_is_there_is_not_waited_for(run: Any) -> None:
    given: Any = {
        "catalogue": "2026.11",
        "operator": "network-operator",
        "version": "25.7.0",
        "settings": {"wait_minutes": 0, "approval": "manual"},
    }
    made = run(lambda: OlmOperator("net", given)).one(SUBSCRIPTION).inputs
    assert "annotations" not in made["metadata"]
    assert made["spec"]["channel"] == "v25.7"
    assert made["spec"]["startingCSV"] == "nvidia-network-operator.v25.7.0"
    assert made["spec"]["installPlanApproval"] == "Manual"


def test_an_unknown_operator_is_named_with_the_nearest(run: Any) -> None:
    given: Any = {"catalogue": "2026.11", "operator": "gpu-operater"}
    text = refused(run, lambda: OlmOperator("gpu", given))
    assert "gpu-operator" in text
    wrong: Any = {"catalogue": "2026.11", "operator": "gpu-operator", "settings": {"approved": 1}}
    assert "approval" in refused(run, lambda: OlmOperator("gpu", wrong))


def test_add_ons_come_by_lifecycle_manager(run: Any) -> None:
    given: Any = {"catalogue": "2026.11", "platform": "openshift", "pools": [CHAT, TRAIN]}
    recording = run(lambda: GpuAddons("addons", given))
    assert recording.all(RELEASE) == []
    assert [one.name for one in recording.all(SUBSCRIPTION)] == [
        "addons-gpu-operator-subscription",
        "addons-node-feature-discovery-subscription",
    ]
    policy = recording.one(POLICY, "addons-cluster-policy")
    assert {"addons-mig-parted", "addons-device-plugin"} <= set(policy.depends_on)
    assert "addons-gpu-operator-subscription" in policy.depends_on
    assert "addons-node-feature-discovery-subscription" in recording.one(DISCOVERY).depends_on
    config = recording.one("kubernetes:core/v1:ConfigMap", "addons-device-plugin").inputs
    assert config["metadata"]["namespace"] == "nvidia-gpu-operator"
    assert policy.inputs["spec"]["devicePlugin"]["config"]["name"] == config["metadata"]["name"]


def test_rdma_brings_the_network_operator_before_the_gpu_operator(run: Any) -> None:
    pool = {**TRAIN, "fabric": "rdma"}
    addons = {"network_operator": {"macvlan": [{"name": "storage", "master": "ens1f0"}]}}
    given: Any = {
        "catalogue": "2026.11",
        "platform": "openshift",
        "pools": [pool],
        "addons": addons,
    }
    recording = run(lambda: GpuAddons("addons", given))
    policy = recording.one("kubernetes:mellanox.com/v1alpha1:NicClusterPolicy")
    assert policy.name == "addons-nic-policy"
    recording.one("kubernetes:mellanox.com/v1alpha1:MacvlanNetwork", "addons-macvlan-storage")
    gpu = recording.one(SUBSCRIPTION, "addons-gpu-operator-subscription")
    assert gpu.parent == "addons-gpu-operator"
    group = recording.one(POLICY)
    assert {"addons-nic-policy", "addons-macvlan-storage"} <= set(group.depends_on)


def test_a_whole_fleet(run: Any) -> None:
    connection: Any = {"openshift": CONNECTION}
    recording = run(lambda: GpuFleet("fleet", {"spec": declaration(), "connection": connection}))
    assert {one.name for one in recording.all(SET)} == {
        "fleet-chat-machines",
        "fleet-train-machines",
        "fleet-notebooks-machines",
    }
    recording.one(CLUSTER_SCALER, "fleet-cluster-autoscaler-default")
    waited = recording.one("gpufleet:index:OpenShiftGpuMachineSet", "fleet-chat").depends_on
    assert {"fleet-addons-cluster-policy", "fleet-cluster-autoscaler-default"} <= set(waited)
    assert (
        recording.one(SET, "fleet-chat-machines").inputs["metadata"]["name"].startswith("lab-chat-")
    )


def test_an_autoscaler_of_somebody_else_is_left_alone(run: Any) -> None:
    for addon in ({"enabled": False}, {"ownership": "existing"}):
        spec = declaration(addons={"clusterAutoscaler": addon})
        connection: Any = {"openshift": CONNECTION}
        recording = run(
            lambda spec=spec, connection=connection: GpuFleet(
                "fleet", {"spec": spec, "connection": connection}
            )
        )
        assert recording.all(CLUSTER_SCALER) == []
        assert len(recording.all(SCALER)) == 2


def test_a_fleet_needs_its_place(run: Any) -> None:
    text = refused(run, lambda: GpuFleet("fleet", {"spec": declaration()}))
    assert "connection-missing" in text
    assert "connection.openshift" in text
    place: Any = {"openshift": {**CONNECTION, "folder": "x"}}
    text = refused(run, lambda: GpuFleet("fleet", {"spec": declaration(), "connection": place}))
    assert "connection.openshift.folder" in text


def test_the_example(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {
        "infrastructureName": "lab-x7k2p",
        "server": "vcenter.example.com",
        "network": "machines",
        "template": "rhcos-l4",
        "trainingTemplate": "rhcos-a100-2",
    }
    monkeypatch.setattr(pulumi.Config, "get", lambda _, key: settings.get(key))
    monkeypatch.setattr(pulumi.Config, "require", lambda _, key: settings[key])
    monkeypatch.setattr(pulumi, "export", lambda *_: None)
    example = ROOT / "examples" / "openshift-gpu-pools" / "__main__.py"
    recording = run(lambda: exec(example.read_text(), {}))
    assert [one.name for one in recording.all(SET)] == ["batch-machines", "training-machines"]
    recording.one(SCALER, "batch-autoscaler")
    recording.one(POOL, "training-config-pool")
    assert recording.warnings == []


def test_the_page(run: Any) -> None:
    page = (ROOT / "docs" / "openshift.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    recordings = [run(lambda block=block: exec(block, {})) for block in blocks]
    assert len(recordings[0].all(SET)) == 1
    assert [one.name for one in recordings[1].all(SET)] == [
        "slices-machines-us-east-1a",
        "slices-machines-us-east-1b",
    ]
    assert recordings[2].one(SUBSCRIPTION).inputs["spec"]["installPlanApproval"] == "Manual"
