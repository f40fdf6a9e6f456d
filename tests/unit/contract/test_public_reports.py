"""Situations reported to public projects, refused here before anything is created.

Each test is named after its report. docs/contract.md describes the report in our words.
"""

from typing import Any

from gpufleet.catalogue import load
from gpufleet.contract import owners
from gpufleet.findings import Severity
from gpufleet.render.device_plugin_values import plugin_release_values
from gpufleet.spec.addons import GpuOperator
from tests.unit.contract.fleets import cites, codes, facts, one, validated

L4: dict[str, Any] = {"name": "chat", "gpu": "L4"}
RDMA: dict[str, Any] = {
    "name": "train",
    "gpu": "H100-80GB",
    "gpusPerNode": 8,
    "fabric": "rdma",
    "vsphere": {"cpus": 96, "memoryGib": 1024, "template": "ubuntu"},
}
PEERMEM = {"driver": {"rdma": {"enabled": True}}}


def test_gpu_operator_126_driver_on_hosts_that_have_one():
    compiled = validated("eks", L4, gpuOperator={"driver": {"enabled": True}})
    found = one(compiled, "driver-installed-twice")
    assert found.path == "addons.gpuOperator.driver.enabled"
    assert "chat (al2023-nvidia)" in found.message
    assert cites(found, "NVIDIA/gpu-operator#126")
    assert facts(found)[0]["source"] == "catalogue image al2023-nvidia"
    assert codes(validated("eks", L4)) == set()


def test_gpu_operator_126_also_when_only_raw_values_say_so():
    compiled = validated("eks", L4, gpuOperator={"values": {"driver": {"enabled": True}}})
    found = one(compiled, "driver-installed-twice")
    assert found.path == "addons.gpuOperator.values.driver.enabled"


def test_gpu_operator_686_no_driver_container_for_amazon_linux():
    compiled = validated("eks", L4, gpuOperator={"driver": {"enabled": True}})
    assert cites(one(compiled, "driver-installed-twice"), "NVIDIA/gpu-operator#686")

    # The reporter's image had no driver either. The catalogue lists no such image for GPU pools,
    # so the rule is shown on a separate row.
    from dataclasses import replace

    image = replace(load().image("al2023-nvidia"), key="amazon-linux", driver=False, toolkit=False)
    parts, found = owners.decide([("chat", "pools[0]", image)], GpuOperator())
    assert parts.driver
    (refused,) = found
    assert refused.code == "driver-not-for-this-image"
    assert refused.path == "pools[0].image"
    assert cites(refused, "NVIDIA/gpu-operator#686")
    ubuntu = load().image("ubuntu-eks")
    assert owners.decide([("chat", "pools[0]", ubuntu)], GpuOperator())[1] == ()


def test_aicr_1327_device_plugin_and_dra_driver_on_the_same_gpus():
    compiled = validated("eks", L4, draDriver={"enabled": True})
    found = one(compiled, "two-advertisers")
    assert found.path == "addons.draDriver.enabled"
    assert cites(found, "NVIDIA/aicr#1327")
    only_domains = {"enabled": True, "values": {"resources": {"gpus": {"enabled": False}}}}
    assert codes(validated("eks", L4, draDriver=only_domains)) == set()
    assert codes(validated("eks", {**L4, "sharing": {"dra": {}}}, draDriver={"enabled": True})) == (
        set()
    )


def test_terraform_google_kubernetes_engine_703_gpu_taint_depends_on_the_order():
    compiled = validated("gke", {**L4, "gpuTaint": False})
    found = one(compiled, "gke-taint-depends-on-order")
    assert found.path == "pools[0].gpuTaint"
    assert cites(found, "terraform-google-modules/terraform-google-kubernetes-engine#703")
    declared = validated("gke", L4)
    assert codes(declared) == set()
    assert declared.fleet is not None
    assert [t.key for t in declared.fleet.pools[0].taints] == ["nvidia.com/gpu"]
    existing = validated("gke", {**L4, "ownership": "existing"})
    assert "gke-taint-depends-on-order" in codes(existing, Severity.WARNING)


def test_karpenter_provider_aws_8368_the_api_counts_no_gpu():
    slices = {"name": "slices", "instanceTypes": ["g6f.xlarge"], "provisioner": "karpenter"}
    compiled = validated("eks", slices, karpenter={"ownership": "existing"})
    found = one(compiled, "karpenter-does-not-know-the-gpus")
    assert found.evidence["believed"] == 0
    assert found.evidence["advertised"] == {"nvidia.com/gpu": 1}
    assert cites(found, "aws/karpenter-provider-aws#8368")
    off = {"values": {"settings": {"featureGates": {"nodeOverlay": False}}}}
    assert "karpenter-does-not-know-the-gpus" in codes(validated("eks", slices, karpenter=off))
    told = {"ownership": "existing", "nodeOverlay": True}
    assert codes(validated("eks", slices, karpenter=told)) == set()
    whole = {**L4, "provisioner": "karpenter"}
    assert codes(validated("eks", whole, karpenter={"ownership": "existing"})) == set()


def test_cloud_native_stack_95_rdma_without_a_nic_cluster_policy():
    compiled = validated("vsphere", RDMA, gpuOperator={"values": PEERMEM})
    found = one(compiled, "driver-waits-for-ofed")
    assert found.path == "addons.gpuOperator.values.driver.rdma.enabled"
    assert cites(found, "NVIDIA/cloud-native-stack#95")
    assert [link["source"] for link in facts(found)][:1] == [found.path]
    with_ofed = {"ofed": "operator"}
    assert (
        codes(
            validated("vsphere", RDMA, gpuOperator={"values": PEERMEM}, networkOperator=with_ofed)
        )
        == set()
    )
    assert codes(validated("vsphere", RDMA)) == set()


def test_k8s_device_plugin_421_a_taint_the_plugin_does_not_tolerate():
    """The node was tainted `gpu:NoSchedule`; the plugin tolerated `nvidia.com/gpu` only."""
    tainted = {**L4, "taints": [{"key": "gpu"}]}
    chart = {"enabled": True}
    compiled = validated("eks", tainted, devicePlugin=chart)
    assert codes(compiled) == set()
    assert compiled.fleet is not None
    values = plugin_release_values(compiled.fleet)
    wanted = {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}
    assert wanted in values["tolerations"]
    assert wanted in values["nfd"]["worker"]["tolerations"]

    theirs = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    found = one(
        validated("eks", tainted, devicePlugin={**chart, "values": {"tolerations": theirs}}),
        "operands-do-not-tolerate",
    )
    assert found.path == "addons.devicePlugin.values.tolerations"
    assert "the device plugin would not run there" in found.message
    assert cites(found, "NVIDIA/k8s-device-plugin#421")
    worker = {"nfd": {"worker": {"tolerations": theirs}}}
    found = one(
        validated("eks", tainted, devicePlugin={**chart, "values": worker}),
        "operands-do-not-tolerate",
    )
    assert found.path == "addons.devicePlugin.values.nfd.worker.tolerations"
    everything = {"tolerations": [{"operator": "Exists"}]}
    assert codes(validated("eks", tainted, devicePlugin={**chart, "values": everything})) == set()


def test_aicr_2499_the_gpu_driver_before_doca_ofed():
    """On nodes that were there, nothing made the GPU Operator wait for the Network Operator."""
    there = {**RDMA, "ownership": "existing"}
    ofed = {"ofed": "operator"}
    peermem = {"values": PEERMEM}
    compiled = validated("vsphere", there, gpuOperator=peermem, networkOperator=ofed)
    assert "gpu-driver-before-ofed" not in codes(compiled)
    assert compiled.fleet is not None
    assert compiled.fleet.addons.network_operator.wait

    hurried = {**ofed, "wait": False}
    found = one(
        validated("vsphere", there, gpuOperator=peermem, networkOperator=hurried),
        "gpu-driver-before-ofed",
    )
    assert found.severity is Severity.ERROR
    assert found.path == "addons.networkOperator.wait"
    assert cites(found, "NVIDIA/aicr#2499")
    # Nodes that are made later bring both drivers up in order by themselves; DMA-BUF needs none.
    for pool, operator in ((RDMA, peermem), (there, {})):
        calm = validated("vsphere", pool, gpuOperator=operator, networkOperator=hurried)
        assert "gpu-driver-before-ofed" not in {f.code for f in calm.findings}

    elsewhere = validated(
        "vsphere", RDMA, gpuOperator=peermem, networkOperator={**ofed, "ownership": "gitops"}
    )
    assert one(elsewhere, "gpu-driver-before-ofed").severity is Severity.WARNING
