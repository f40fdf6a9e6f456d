"""Situations people reported to public projects, refused here before anything is made.

Each test is named after its report. What happened there, in our words, is in docs/contract.md.
"""

from typing import Any

from gpufleet.catalogue import load
from gpufleet.contract import owners
from gpufleet.findings import Severity
from gpufleet.spec.addons import GpuOperator
from tests.unit.contract.fleets import cites, codes, facts, judged, one

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
    compiled = judged("eks", L4, gpuOperator={"driver": {"enabled": True}})
    found = one(compiled, "driver-installed-twice")
    assert found.path == "addons.gpuOperator.driver.enabled"
    assert "chat (al2023-nvidia)" in found.message
    assert cites(found, "NVIDIA/gpu-operator#126")
    assert facts(found)[0]["source"] == "catalogue image al2023-nvidia"
    assert codes(judged("eks", L4)) == set()


def test_gpu_operator_126_also_when_only_raw_values_say_so():
    compiled = judged("eks", L4, gpuOperator={"values": {"driver": {"enabled": True}}})
    found = one(compiled, "driver-installed-twice")
    assert found.path == "addons.gpuOperator.values.driver.enabled"


def test_gpu_operator_686_no_driver_container_for_amazon_linux():
    compiled = judged("eks", L4, gpuOperator={"driver": {"enabled": True}})
    assert cites(one(compiled, "driver-installed-twice"), "NVIDIA/gpu-operator#686")

    # The reporter's image had no driver either. The catalogue lists no such image for GPU pools,
    # so the rule is shown on a row of its own.
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
    compiled = judged("eks", L4, draDriver={"enabled": True})
    found = one(compiled, "two-advertisers")
    assert found.path == "addons.draDriver.enabled"
    assert cites(found, "NVIDIA/aicr#1327")
    only_domains = {"enabled": True, "values": {"resources": {"gpus": {"enabled": False}}}}
    assert codes(judged("eks", L4, draDriver=only_domains)) == set()
    assert codes(judged("eks", {**L4, "sharing": {"dra": {}}}, draDriver={"enabled": True})) == (
        set()
    )


def test_terraform_google_kubernetes_engine_703_gpu_taint_depends_on_the_order():
    compiled = judged("gke", {**L4, "gpuTaint": False})
    found = one(compiled, "gke-taint-depends-on-order")
    assert found.path == "pools[0].gpuTaint"
    assert cites(found, "terraform-google-modules/terraform-google-kubernetes-engine#703")
    declared = judged("gke", L4)
    assert codes(declared) == set()
    assert declared.fleet is not None
    assert [t.key for t in declared.fleet.pools[0].taints] == ["nvidia.com/gpu"]
    existing = judged("gke", {**L4, "ownership": "existing"})
    assert "gke-taint-depends-on-order" in codes(existing, Severity.WARNING)


def test_karpenter_provider_aws_8368_the_api_counts_no_gpu():
    slices = {"name": "slices", "instanceTypes": ["g6f.xlarge"], "provisioner": "karpenter"}
    compiled = judged("eks", slices, karpenter={"ownership": "existing"})
    found = one(compiled, "karpenter-does-not-know-the-gpus")
    assert found.evidence["believed"] == 0
    assert found.evidence["advertised"] == {"nvidia.com/gpu": 1}
    assert cites(found, "aws/karpenter-provider-aws#8368")
    off = {"values": {"settings": {"featureGates": {"nodeOverlay": False}}}}
    assert "karpenter-does-not-know-the-gpus" in codes(judged("eks", slices, karpenter=off))
    told = {"ownership": "existing", "nodeOverlay": True}
    assert codes(judged("eks", slices, karpenter=told)) == set()
    whole = {**L4, "provisioner": "karpenter"}
    assert codes(judged("eks", whole, karpenter={"ownership": "existing"})) == set()


def test_cloud_native_stack_95_rdma_without_a_nic_cluster_policy():
    compiled = judged("vsphere", RDMA, gpuOperator={"values": PEERMEM})
    found = one(compiled, "driver-waits-for-ofed")
    assert found.path == "addons.gpuOperator.values.driver.rdma.enabled"
    assert cites(found, "NVIDIA/cloud-native-stack#95")
    assert [link["source"] for link in facts(found)][:1] == [found.path]
    with_ofed = {"ofed": "operator"}
    assert (
        codes(judged("vsphere", RDMA, gpuOperator={"values": PEERMEM}, networkOperator=with_ofed))
        == set()
    )
    assert codes(judged("vsphere", RDMA)) == set()
