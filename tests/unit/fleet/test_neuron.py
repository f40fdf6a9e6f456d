"""Trainium and Inferentia as pools: image, units, taint, who serves them, quotas, autoscalers."""

from typing import Any

import pytest

from gpufleet.contract.owners import Owner
from gpufleet.fleet import Fleet
from gpufleet.fleet.unit_weights import unit_capacity, unit_weights
from gpufleet.platforms.accounts.aws_offers import bucket_of
from gpufleet.platforms.compiled import Compiled, compile_data
from gpufleet.platforms.eks.autoscaler_tags import (
    ACCELERATOR_LABEL,
    autoscaler_tags,
    node_group_labels,
)
from gpufleet.platforms.eks.karpenter_objects import limits, node_overlay
from gpufleet.platforms.eks.shape import eks_shape
from gpufleet.render.kueue_queues import resource_flavor, team_quota
from gpufleet.render.monitoring_artefacts import recording_rules, rule_groups
from gpufleet.render.neuron_values import neuron_release_values
from gpufleet.render.pod_request import pod_spec

DEVICE, CORE = "aws.amazon.com/neuron", "aws.amazon.com/neuroncore"
TRAIN: dict[str, Any] = {
    "name": "train",
    "instanceTypes": ["trn1.32xlarge"],
    "nodes": {"min": 0, "max": 4},
    "intent": "training",
    "fabric": "efa",
}
SERVE: dict[str, Any] = {
    "name": "serve",
    "instanceTypes": ["inf2.24xlarge"],
    "nodes": {"min": 0, "max": 3},
    "neuron": {"unit": "core"},
    "taints": [{"key": "example.com/team", "value": "a"}],
}
BLOCK = {
    "id": "cr-0123456789abcdef0",
    "zone": "us-east-1a",
    "until": "2026-12-20T11:30:00Z",
}
CHAT: dict[str, Any] = {"name": "chat", "gpu": "L4", "nodes": {"min": 0, "max": 2}}


def compiled(*pools: dict[str, Any], **rest: Any) -> Compiled:
    return compile_data(
        {
            "catalogue": "2026.11",
            "platform": "eks",
            "cluster": {"name": "ml", "region": "us-east-1"},
            "pools": list(pools),
            **rest,
        }
    )


def fleet(*pools: dict[str, Any], **rest: Any) -> Fleet:
    result = compiled(*pools, **rest)
    assert result.deployable, result.findings
    assert result.fleet is not None
    return result.fleet


def codes(result: Compiled) -> dict[str, str]:
    return {finding.code: str(finding) for finding in result.findings}


def test_a_node_is_its_devices_on_neurons_image() -> None:
    pool = fleet(TRAIN).pools[0]
    assert dict(pool.advertised) == {DEVICE: 16}
    assert eks_shape(pool).ami_type == "AL2023_x86_64_NEURON"
    assert len(eks_shape(pool).interfaces) == 9  # eight EFA interfaces, and one for IP
    assert [(t.key, t.effect) for t in pool.taints] == [(DEVICE, "NoSchedule")]
    assert dict(pool.labels) == {"gpufleet.dev/pool": "train"}
    assert (pool.owners.driver, pool.owners.device_plugin) == (Owner.IMAGE, Owner.NEURON_CHART)
    assert pool.hourly_micro_usd == 21_500_000


@pytest.mark.parametrize(
    ("name", "devices", "cores"),
    [
        ("inf1.xlarge", 1, 4),
        ("inf1.24xlarge", 16, 64),
        ("inf2.48xlarge", 12, 24),
        ("trn1.2xlarge", 1, 2),
        ("trn1n.32xlarge", 16, 32),
    ],
)
def test_cores_are_those_of_ec2(name: str, devices: int, cores: int) -> None:
    """The counts Karpenter's own table has (`instances_aws.csv`)."""
    base = {"name": "p", "instanceTypes": [name], "nodes": {"min": 0, "max": 1}}
    assert dict(fleet(base).pools[0].advertised) == {DEVICE: devices}
    by_core = fleet({**base, "neuron": {"unit": "core"}}).pools[0]
    assert dict(by_core.advertised) == {CORE: cores}
    assert unit_capacity(by_core) == {CORE: cores}
    assert unit_weights(by_core)[CORE] * cores == 1


def test_the_gpu_operator_has_nothing_to_do_with_them() -> None:
    alone = fleet(TRAIN, SERVE).addons
    assert not alone.gpu_operator.enabled
    assert alone.neuron.enabled
    both = fleet(TRAIN, SERVE, CHAT).addons
    assert both.gpu_operator.enabled
    # The needs of the GPU pool alone, and nothing more.
    assert both.gpu_operator == fleet(CHAT).addons.gpu_operator
    assert not fleet(CHAT).addons.neuron.enabled


def test_neurons_chart_reaches_every_node() -> None:
    values = neuron_release_values(fleet(TRAIN, SERVE, CHAT))
    assert values["neuronInstances"] == ["inf2.24xlarge", "trn1.32xlarge"]
    tolerated = [one["key"] for one in values["devicePlugin"]["tolerations"]]
    assert tolerated[-1] == "example.com/team"
    assert DEVICE in tolerated
    assert values["scheduler"] == {"enabled": True}


def test_quota_is_in_the_unit_that_is_handed_out() -> None:
    teams = {"teams": [{"name": "a", "share": 0.75}, {"name": "b", "share": 0.25}]}
    made = fleet(TRAIN, SERVE, queues=teams)
    assert team_quota(made) == {"a": {CORE: 27, DEVICE: 48}, "b": {CORE: 9, DEVICE: 16}}
    spec = resource_flavor(made.pool("serve"), made)["spec"]
    assert spec["tolerations"] == [{"key": DEVICE, "operator": "Exists", "effect": "NoSchedule"}]
    assert {taint["key"] for taint in spec["nodeTaints"]} == {DEVICE, "example.com/team"}


def test_karpenter_counts_them_by_itself() -> None:
    pool = fleet({**SERVE, "provisioner": "karpenter"}).pools[0]
    assert node_overlay(pool) is None
    assert limits(pool) == {"nodes": "3", DEVICE: "18", CORE: "36"}


def test_cluster_autoscaler_is_told_the_unit() -> None:
    pool = fleet({**SERVE, "provisioner": "clusterAutoscaler"}).pools[0]
    tags = autoscaler_tags(pool)
    assert tags is not None
    start = "k8s.io/cluster-autoscaler/node-template/resources/aws.amazon.com/"
    assert {k.removeprefix(start): v for k, v in tags.items() if k.startswith(start)} == {
        "neuroncore": "12"
    }
    # With the label Cluster Autoscaler would wait for a GPU.
    assert ACCELERATOR_LABEL not in node_group_labels(pool)


def test_what_a_pod_says() -> None:
    pool = fleet(TRAIN).pools[0]
    spec = pod_spec(pool, pool.partition.shares[0])
    assert spec["containers"][0]["resources"]["limits"] == {
        DEVICE: "16",
        "vpc.amazonaws.com/efa": "8",
        "hugepages-2Mi": "5120Mi",
    }
    assert spec["tolerations"] == [{"key": DEVICE, "operator": "Exists", "effect": "NoSchedule"}]


def test_nobody_waits_for_a_dcgm_exporter_there() -> None:
    made = fleet(SERVE, monitoring={})
    assert made.spec.monitoring is not None
    rules = [r for g in rule_groups(made, made.spec.monitoring) for r in g["rules"]]
    missing = next(r["expr"] for r in rules if r.get("alert") == "GpuExporterMissing")
    assert 'gpu:allocatable:count{resource=~"nvidia_com_.*"}' in missing


def test_a_nodes_hardware_is_counted_once() -> None:
    """The plugin publishes devices and cores; what a pool does not assign is left out."""
    serve, train, chat = {**SERVE, "name": "serve-2"}, TRAIN, CHAT
    made = fleet(SERVE, serve, train, chat, monitoring={})
    assert made.spec.monitoring is not None
    rules = {rule["record"]: rule["expr"] for rule in recording_rules(made, made.spec.monitoring)}
    counted = rules["gpu:allocatable:count"]
    assert (
        'label_replace(gpu:node:pool{pool=~"serve|serve-2"}, "resource", "aws_amazon_com_neuron",'
        in counted
    )
    assert (
        'label_replace(gpu:node:pool{pool=~"train"}, "resource", "aws_amazon_com_neuroncore",'
        in counted
    )
    assert list(rules).index("gpu:node:pool") < list(rules).index("gpu:allocatable:count")


@pytest.mark.parametrize(
    ("name", "mode", "code"),
    [
        ("inf2.xlarge", "onDemand", "L-1945791B"),
        ("inf1.xlarge", "spot", "L-B5D1601B"),
        ("trn1.32xlarge", "reserved", "L-2C3B7624"),
        ("trn1n.32xlarge", "spot", "L-6B0D517C"),
        ("g6.xlarge", "spot", "L-3819A6DF"),
        ("p5.48xlarge", "spot", "L-C4BD4855"),
    ],
)
def test_each_family_draws_on_its_own_quota(name: str, mode: str, code: str) -> None:
    bucket = bucket_of(name, mode)
    assert bucket is not None
    assert bucket.code == code
    assert bucket_of(name, "capacityBlock") is None


@pytest.mark.parametrize(
    ("pool", "code", "said"),
    [
        ({**CHAT, "neuron": {"unit": "core"}}, "neuron-options-without-neuron", "NVIDIA L4"),
        (
            {**SERVE, "instanceTypes": ["trn2.48xlarge"], "capacity": [{"capacityBlock": BLOCK}]},
            "neuron-cores-are-logical",
            "unit: device",
        ),
        (
            {**TRAIN, "taints": [{"key": DEVICE, "value": "present"}]},
            "taint-twice",
            "every Neuron pool",
        ),
        ({**TRAIN, "image": "al2023-nvidia"}, "image-not-for-accelerator", "al2023-neuron"),
        ({**CHAT, "image": "al2023-neuron"}, "image-not-for-accelerator", "al2023-nvidia"),
        ({**TRAIN, "instanceTypes": ["trn2.3xlarge"]}, "fabric-not-known", "was not sourced"),
        ({**TRAIN, "instanceTypes": ["trn2.48xlarge"]}, "capacity-not-sold", "`: capacityBlock"),
        ({**SERVE, "fabric": "efa"}, "fabric-not-on-machine", "no EFA interface"),
        ({**SERVE, "sharing": {"timeSlicing": {"replicas": 4}}}, "sharing-needs-nvidia", "NVIDIA"),
        (
            {**SERVE, "sharing": {"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}}},
            "sharing-needs-nvidia",
            "exclusive",
        ),
        ({**SERVE, "sharing": {"dra": {}}}, "sharing-needs-nvidia", "exclusive"),
        (
            {**SERVE, "instanceTypes": ["inf2.24xlarge", "inf1.6xlarge"]},
            "instance-types-differ",
            "declare a pool for each",
        ),
    ],
)
def test_what_cannot_work_is_refused(pool: dict[str, Any], code: str, said: str) -> None:
    found = codes(compiled(pool))
    assert said in found[code]


@pytest.mark.parametrize(
    ("addon", "code"),
    [
        ({"nodeRecovery": True, "nodeProblemDetector": False}, "neuron-recovery-without-detector"),
        ({"enabled": False}, "neuron-advertised-by-nobody"),
    ],
)
def test_a_chart_that_would_not_serve_is_told(addon: dict[str, Any], code: str) -> None:
    assert code in codes(compiled(SERVE, addons={"neuronDevicePlugin": addon}))


def test_own_hardware_has_none() -> None:
    shape = {"cpus": 8, "memoryGib": 64, "template": "t"}
    pool = {"name": "p", "gpu": "Trainium", "nodes": {"min": 0, "max": 1}, "vsphere": shape}
    result = compile_data(
        {"catalogue": "2026.11", "platform": "vsphere", "cluster": {"name": "c"}, "pools": [pool]}
    )
    assert "accelerator-not-yet-supported" in codes(result)


def test_google_sells_none() -> None:
    result = compile_data(
        {
            "catalogue": "2026.11",
            "platform": "gke",
            "cluster": {"name": "c", "region": "us-central1", "project": "p"},
            "pools": [{"name": "p", "gpu": "Trainium", "nodes": {"min": 0, "max": 1}}],
        }
    )
    assert "gpu-not-on-platform" in codes(result)


def test_the_sandbox_simulates_them() -> None:
    made = compile_data(
        {
            "catalogue": "2026.11",
            "platform": "sandbox",
            "cluster": {"name": "c"},
            "pools": [{**SERVE, "nodes": {"min": 1, "max": 1}}],
        }
    )
    assert made.deployable, made.findings
    assert made.fleet is not None
    assert dict(made.fleet.pools[0].advertised) == {CORE: 12}
