"""OpenShift on the real engine: the stack openshift-lab and its example, on strict definitions."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from kubernetes import client, config

from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.openshift.machine_set_manifest import machine_set
from gpufleet_sandbox.sandbox import Sandbox
from tests.engine.namespaces import make_namespace
from tests.engine.sandbox_stack import ROOT, Stack, stack_files
from tests.engine.test_gke_examples import program
from tests.unit.platforms.openshift.clouds import (
    AWS_CHAT,
    AWS_SLICES,
    GCP_PLACE,
    GCP_SLICES,
    GCP_TURNS,
)

MACHINES = "openshift-machine-api"
OPERATORS = "nvidia-gpu-operator"
MACHINE_API = ("machine.openshift.io", "v1beta1", MACHINES)
LAB = ROOT / "stacks" / "Pulumi.openshift-lab.yaml"
PLACE = {
    "infrastructureName": "lab-x7k2p",
    "server": "vcenter.lab.example.com",
    "datacenter": "DC1",
}
EXAMPLE = ROOT / "examples" / "openshift-gpu-pools"
SETTINGS = {
    "infrastructureName": "lab-x7k2p",
    "server": "vcenter.lab.example.com",
    "network": "machines",
    "template": "rhcos-422-l4",
    "trainingTemplate": "rhcos-422-a100-2",
}


@pytest.fixture(scope="module")
def machines(sandbox: Sandbox) -> Iterator[str]:
    """The namespace that every OpenShift has."""
    with config.new_client_from_config(str(sandbox.kubeconfig)) as api:
        core = client.CoreV1Api(api)
        make_namespace(core, MACHINES)
        yield MACHINES
        core.delete_namespace(MACHINES)


@pytest.fixture
def objects(cluster: Any) -> Any:
    return client.CustomObjectsApi(cluster)


@pytest.fixture
def lab(machines: str, cluster_project: Callable[..., Any], sandbox: Sandbox) -> Stack:
    """A copy of openshift-lab whose cluster is the sandbox."""
    del machines
    stack = Stack(cluster_project(stack_files(), name="gpufleet"), "Pulumi.openshift-lab.yaml")
    stack.config["gpufleet:connection"]["kubeconfig"] = str(sandbox.kubeconfig)
    return stack


def all_sets(objects: Any) -> list[dict[str, Any]]:
    return objects.list_namespaced_custom_object(*MACHINE_API, "machinesets")["items"]


def sets(objects: Any) -> dict[str, dict[str, Any]]:
    """MachineSets by pool."""
    return {
        one["spec"]["template"]["spec"]["metadata"]["labels"]["gpufleet.dev/pool"]: one
        for one in all_sets(objects)
    }


def machine(one: dict[str, Any]) -> dict[str, Any]:
    return one["spec"]["template"]["spec"]["providerSpec"]["value"]


def in_failure_domains(lab: Stack) -> None:
    """The pool `chat` in two failure domains, with a data disk and two adapters."""
    lab.config["gpufleet:connection"]["openshift"]["failureDomains"] = {
        f"rack-{rack}": {"resourcePool": f"/DC1/host/{rack}/Resources"} for rack in ("a", "b")
    }
    chat = lab.pool("chat")
    chat["zones"] = ["rack-a", "rack-b"]
    claim = {"group": "ipam.cluster.x-k8s.io", "resource": "inclusterippools", "name": "gpu"}
    chat["openshift"] |= {
        "extraDisks": [{"name": "models", "sizeGib": 500, "format": "thick"}],
        "networks": [{"network": "a", "addresses": {"pools": [claim]}}, {"network": "b"}],
    }


def on_aws(lab: Stack) -> None:
    """The lab's stack, as a fleet on AWS."""
    fleet, connection = lab.config["gpufleet:fleet"], lab.config["gpufleet:connection"]
    fleet["platform"] = "openshiftAws"
    fleet["cluster"]["region"] = "us-east-1"
    fleet["pools"] = [AWS_CHAT, AWS_SLICES]
    fleet["budget"] = {"usdPerHour": 40}
    del connection["openshift"]
    connection["openshiftAws"] = {
        "infrastructureName": "ocp-x7k2p",
        "amiId": "ami-0aaaaaaaaaaaaaaaa",
        "iamInstanceProfile": "ocp-x7k2p-worker-profile",
        "subnetIdsByZone": {zone: f"subnet-{zone}" for zone in AWS_CHAT["zones"]},
        "securityGroupNames": ["ocp-x7k2p-node"],
    }


def on_gcp(lab: Stack) -> None:
    """The stack on AWS, as a fleet on Google Cloud."""
    fleet, connection = lab.config["gpufleet:fleet"], lab.config["gpufleet:connection"]
    fleet["platform"] = "openshiftGcp"
    fleet["cluster"]["region"] = "us-central1"
    fleet["pools"] = [GCP_TURNS, GCP_SLICES]
    del connection["openshiftAws"]
    connection["openshiftGcp"] = GCP_PLACE


def written_by_a_controller(objects: Any, one: dict[str, Any]) -> None:
    """Change that the controllers of clouds make to a set: their own order of labels."""
    key = "capacity.cluster-autoscaler.kubernetes.io/labels"
    labels = one["metadata"]["annotations"][key].split(",")
    annotations = {key: ",".join(reversed(labels)), "machine.openshift.io/memoryMb": "1"}
    objects.patch_namespaced_custom_object(
        *MACHINE_API,
        "machinesets",
        one["metadata"]["name"],
        {"metadata": {"annotations": annotations}},
        field_manager="machineset-controller",
    )


def names(objects: Any) -> dict[str, str]:
    return {pool: one["metadata"]["name"] for pool, one in sets(objects).items()}


def test_the_lab_from_nothing_to_nothing(lab: Stack, objects: Any, core: client.CoreV1Api) -> None:
    lab.up()
    before = names(objects)
    assert set(before) == {"chat", "notebooks", "training"}
    policies = objects.list_cluster_custom_object("nvidia.com", "v1", "clusterpolicies")["items"]
    assert len(policies) == 1
    subscriptions = objects.list_cluster_custom_object(
        "operators.coreos.com", "v1alpha1", "subscriptions"
    )["items"]
    assert {one["spec"]["name"] for one in subscriptions} == {"gpu-operator-certified", "nfd"}
    assert all(one["status"]["installedCSV"] for one in subscriptions)
    lab.project.run("preview", "--expect-no-changes")

    # The size is the autoscaler's, also when the set itself is changed.
    objects.patch_namespaced_custom_object(
        *MACHINE_API, "machinesets", before["chat"], {"spec": {"replicas": 3}}
    )
    lab.config["gpufleet:connection"]["openshift"]["datastore"] = "/DC1/datastore/slow"
    lab.up()
    chat = sets(objects)["chat"]
    assert chat["metadata"]["name"] == before["chat"]
    assert chat["spec"]["replicas"] == 3
    workspace = chat["spec"]["template"]["spec"]["providerSpec"]["value"]["workspace"]
    assert workspace["datastore"] == "/DC1/datastore/slow"

    lab.pool("chat")["sharing"] = {"timeSlicing": {"replicas": 8}}
    lab.up()
    after = names(objects)
    assert after["chat"] != before["chat"]
    assert {**after, "chat": ""} == {**before, "chat": ""}

    in_failure_domains(lab)
    lab.up()
    lab.project.run("preview", "--expect-no-changes")
    made = [one for one in all_sets(objects) if "dataDisks" in machine(one)]
    assert [machine(one)["workspace"]["resourcePool"] for one in made] == [
        f"/DC1/host/{rack}/Resources" for rack in ("a", "b")
    ]
    assert [len(machine(one)["network"]["devices"]) for one in made] == [2, 2]
    assert len(all_sets(objects)) == 4

    on_aws(lab)
    lab.up()
    made = all_sets(objects)
    assert [machine(one)["instanceType"] for one in made] == ["g6.xlarge"] * 3 + ["p4de.24xlarge"]
    zones = [machine(one)["placement"]["availabilityZone"] for one in made]
    assert zones == [*AWS_CHAT["zones"], "us-east-1a"]
    written_by_a_controller(objects, made[0])
    lab.config["gpufleet:fleet"]["tags"] = {"cost-center": "4711"}
    lab.up()
    tagged = all_sets(objects)
    assert [one["metadata"]["name"] for one in tagged] == [one["metadata"]["name"] for one in made]
    assert {"name": "cost-center", "value": "4711"} in machine(tagged[0])["tags"]
    assert tagged[0]["metadata"]["annotations"]["machine.openshift.io/memoryMb"] == "1"

    on_gcp(lab)
    lab.up()
    made = all_sets(objects)
    assert [(machine(one)["machineType"], machine(one)["zone"]) for one in made] == [
        ("a2-ultragpu-1g", "us-central1-a"),
        ("n1-standard-8", "us-central1-a"),
        ("n1-standard-8", "us-central1-b"),
    ]
    assert machine(made[1])["gpus"] == [{"type": "nvidia-tesla-t4", "count": 2}]

    lab.project.run("destroy")
    assert sets(objects) == {}
    spaces = {space.metadata.name for space in core.list_namespace().items}
    assert OPERATORS not in spaces
    assert MACHINES in spaces


def test_a_misspelled_field_fails(machines: str, objects: Any) -> None:
    compiled = compile_data(yaml.safe_load(LAB.read_text())["config"]["gpufleet:fleet"])
    assert compiled.fleet is not None
    made = machine_set(compiled.fleet.pools[0], "lab", {**PLACE, "network": "machines"})

    def create() -> Any:
        return objects.create_namespaced_custom_object(
            *MACHINE_API, "machinesets", made, field_validation="Strict", dry_run="All"
        )

    assert create()["metadata"]["namespace"] == machines
    value = made["spec"]["template"]["spec"]["providerSpec"]["value"]
    value["numCPU"] = value.pop("numCPUs")
    with pytest.raises(client.ApiException) as caught:
        create()
    assert caught.value.status == 422
    told = "unknown field in spec.template.spec.providerSpec.value: numCPU"
    assert told in str(caught.value.body)


VSPHERE_VALUE = ("spec", "template", "spec", "providerSpec", "value")
AUTOSCALER = {
    "apiVersion": "autoscaling.openshift.io/v1",
    "kind": "ClusterAutoscaler",
    "metadata": {"name": "default"},
    "spec": {"resourceLimits": {"gpus": [{"type": "nvidia-l4", "min": 0, "max": 4}]}},
}


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ((*VSPHERE_VALUE, "template"), None, "needed are network, template, workspace"),
        ((*VSPHERE_VALUE, "workspace"), {"datacenter": "DC1"}, "workspace.server: Required value"),
        ((*VSPHERE_VALUE, "instanceType"), "g6.xlarge", "VSphereMachineProviderSpec does not have"),
        ((*VSPHERE_VALUE, "kind"), "AzureMachineProviderSpec", "Unsupported value"),
        (("spec", "deletePolicy"), "oldest", "Unsupported value"),
    ],
)
def test_what_the_webhook_of_machines_refuses(
    machines: str, objects: Any, path: tuple[str, ...], value: Any, told: str
) -> None:
    compiled = compile_data(yaml.safe_load(LAB.read_text())["config"]["gpufleet:fleet"])
    assert compiled.fleet is not None
    made: Any = machine_set(compiled.fleet.pools[0], "lab", {**PLACE, "network": machines})
    *above, last = path
    here = made
    for step in above:
        here = here[step]
    here[last] = value
    with pytest.raises(client.ApiException) as caught:
        objects.create_namespaced_custom_object(
            *MACHINE_API, "machinesets", made, field_validation="Strict", dry_run="All"
        )
    assert told in str(caught.value.body)


@pytest.mark.parametrize(("name", "least"), [("default", 0), ("gpu", 0), ("default", 5)])
def test_what_the_webhook_of_the_autoscaler_refuses(cluster: Any, name: str, least: int) -> None:
    made = copy.deepcopy({**AUTOSCALER, "metadata": {"name": name}})
    made["spec"]["resourceLimits"]["gpus"][0]["min"] = least

    def create() -> Any:
        return client.CustomObjectsApi(cluster).create_cluster_custom_object(
            "autoscaling.openshift.io", "v1", "clusterautoscalers", made, dry_run="All"
        )

    if (name, least) == ("default", 0):
        assert create()["spec"] == made["spec"]
        return
    with pytest.raises(client.ApiException) as caught:
        create()
    assert caught.value.status == 422


@pytest.mark.nightly
def test_the_example_previews(
    machines: str, cluster_project: Callable[..., Any], objects: Any
) -> None:
    del machines
    cluster_project(program(EXAMPLE), name=EXAMPLE.name).run("preview", config=SETTINGS)
    assert sets(objects) == {}


@pytest.mark.nightly
def test_the_example(machines: str, cluster_project: Callable[..., Any], objects: Any) -> None:
    del machines
    project = cluster_project(program(EXAMPLE), name=EXAMPLE.name)
    project.run("up", config=SETTINGS)
    outputs = project.engine.outputs(project.stack)
    assert outputs["gpuLimits"] == {"nvidia-l4": 4, "nvidia-a100-80gb": 2}
    assert names(objects) == {pool: outputs[pool] for pool in ("batch", "training")}
    (own,) = objects.list_cluster_custom_object(
        "machineconfiguration.openshift.io", "v1", "machineconfigs"
    )["items"]
    assert own["spec"]["kernelArguments"] == ["iommu=pt"]
    project.run("destroy")
