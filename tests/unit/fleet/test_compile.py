"""compile_fleet: what a declaration means, from the examples of the design to single rules."""

import copy
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpufleet.catalogue import load
from gpufleet.fleet import Unbounded, fleet_as_dict
from gpufleet.fleet.spend import total
from gpufleet.platforms.compiled import compile_data, compile_document
from tests.reading import yaml_data

DESIGN_EXAMPLE = """
config:
  pulumi:disable-default-providers: [aws, gcp, kubernetes]
  gpufleet:fleet:
    catalogue: "2026.11"
    platform: eks
    environment: prod
    cluster: {name: ml-prod, region: us-east-1, kubernetesVersion: "1.36"}
    provisioner: karpenter
    pools:
      - name: chat
        gpu: L4
        nodes: {min: 0, max: 8}
        intent: inference
        capacity: [{spot: {}}, {onDemand: {}}]
        sharing: {timeSlicing: {replicas: 4}}
      - name: notebooks
        instanceTypes: [p4de.24xlarge]
        provisioner: managed
        nodes: {min: 1, max: 2}
        intent: interactive
        sharing:
          mig:
            strategy: mixed
            layouts:
              - {gpus: 4, devices: {1g.10gb: 7}}
              - {gpus: 4, devices: {3g.40gb: 1, 2g.20gb: 2}}
      - name: training
        instanceTypes: [p5.48xlarge]
        provisioner: managed
        nodes: {min: 0, max: 4}
        intent: training
        fabric: efa
        capacity:
          - capacityBlock:
              {id: cr-0123456789abcdef0, zone: us-east-1a, until: 2026-12-20T11:30:00Z}
    addons: {gpuOperator: {driver: {enabled: false}}}
    queues: {teams: [{name: research, share: 0.6}, {name: product, share: 0.4}]}
    monitoring: {backend: prometheus}
    budget: {usdPerHour: 250}
    namePrefix: ml-prod
    tags: {cost-center: "4711"}
"""


def base(**pool: object) -> dict:
    one = {"name": "chat", "gpu": "L4", "nodes": {"min": 1, "max": 3}, **pool}
    return {
        "catalogue": "2026.11",
        "platform": "eks",
        "cluster": {"name": "ml", "region": "us-east-1"},
        "pools": [one],
    }


def compiled(data: dict):
    result = compile_data(data)
    assert result.deployable, [str(f) for f in result.findings]
    assert result.fleet is not None
    return result.fleet


@pytest.fixture(scope="module")
def example():
    result = compile_document(DESIGN_EXAMPLE)
    assert result.deployable, [str(f) for f in result.findings]
    return result.fleet


def test_the_example_advertises_what_it_declares(example):
    assert example.pool("chat").advertised == {"nvidia.com/gpu.shared": 4}
    assert example.pool("notebooks").advertised == {
        "nvidia.com/mig-1g.10gb": 28,
        "nvidia.com/mig-2g.20gb": 8,
        "nvidia.com/mig-3g.40gb": 4,
    }
    assert example.pool("training").advertised == {"nvidia.com/gpu": 8}


def test_the_example_names_the_pool_without_a_price(example):
    assert isinstance(example.spend.maximum, Unbounded)
    assert example.spend.maximum.causes == (
        "training: no price is known for p5.48xlarge as capacityBlock",
    )
    codes = [finding.code for finding in example.findings]
    assert codes.count("spend-unbounded") == 1


def test_a_known_block_price_bounds_the_spend():
    data = yaml_data(DESIGN_EXAMPLE)["config"]["gpufleet:fleet"]
    data["pools"][2]["capacity"][0]["capacityBlock"]["usdPerHour"] = "31.464"
    fleet = compiled(data)
    assert fleet.pool("training").spend.maximum == 4 * 31_464_000
    assert isinstance(fleet.spend.maximum, int)


def test_the_image_brings_driver_and_toolkit_and_the_operator_the_plugin(example):
    owners = example.pool("chat").owners
    assert (owners.driver, owners.toolkit, owners.device_plugin) == (
        "image",
        "image",
        "gpuOperator",
    )
    plan = example.addons.gpu_operator
    assert (plan.driver, plan.toolkit, plan.device_plugin) == (False, False, True)
    assert plan.mig_manager
    assert plan.mig_strategy == "mixed"


def test_spend_is_nodes_times_price():
    price = load().instance("p5.48xlarge").on_demand.micro_usd_per_hour
    data = base(instanceTypes=["p5.48xlarge"], nodes={"min": 1, "max": 4})
    del data["pools"][0]["gpu"]
    spend = compiled(data).spend
    assert (spend.minimum, spend.expected, spend.maximum) == (price, 3 * price, 4 * price)
    assert spend.usd(spend.minimum) == Decimal(price) / 1_000_000


@given(
    st.lists(
        st.tuples(st.integers(0, 50), st.integers(1, 50), st.sampled_from(["L4", "T4", "A10G"])),
        min_size=1,
        max_size=6,
    )
)
def test_the_fleet_spends_the_sum_of_its_pools(pools):
    data = base()
    data["pools"] = [
        {"name": f"p{i}", "gpu": gpu, "nodes": {"min": low, "max": low + more}}
        for i, (low, more, gpu) in enumerate(pools)
    ]
    fleet = compiled(data)
    assert fleet.spend == total(pool.spend for pool in fleet.pools)
    assert fleet.spend.minimum == sum(pool.spend.minimum for pool in fleet.pools)
    assert fleet.spend.minimum <= fleet.spend.expected <= fleet.spend.maximum


def test_same_spec_same_result():
    assert fleet_as_dict(compiled(base())) == fleet_as_dict(compiled(copy.deepcopy(base())))


def test_a_gpu_alone_chooses_the_smallest_machines_cheapest_first():
    pool = compiled(base()).pools[0]
    assert pool.machines[0].name == "g6.xlarge"
    assert {machine.gpus for machine in pool.machines} == {1}
    prices = [machine.instance.on_demand.micro_usd_per_hour for machine in pool.machines]
    assert prices == sorted(prices)


def test_a_changed_layout_changes_the_label_and_nothing_else_does():
    def label(layouts, name="notebooks", top=2):
        data = base(
            name=name,
            gpu="A100-80GB",
            nodes={"min": 0, "max": top},
            sharing={"mig": {"layouts": layouts}},
        )
        return compiled(data).pools[0].labels["nvidia.com/mig.config"]

    seven = label([{"devices": {"1g.10gb": 7}}])
    assert seven.startswith("notebooks-")
    assert seven == label([{"gpus": 8, "devices": {"1g.10gb": 7}}], top=9)
    assert seven != label([{"devices": {"1g.10gb": 6}}])


def test_every_gpu_pool_carries_the_gpu_taint_first():
    pool = compiled(base(taints=[{"key": "team", "value": "a"}])).pools[0]
    assert [(t.key, t.value, t.effect) for t in pool.taints] == [
        ("nvidia.com/gpu", "present", "NoSchedule"),
        ("team", "a", "NoSchedule"),
    ]


def test_without_the_gpu_taint_the_same_key_may_be_set_by_hand():
    own = [{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}]
    (taint,) = compiled(base(taints=own, gpuTaint=False)).pools[0].taints
    assert (taint.key, taint.value, taint.effect) == ("nvidia.com/gpu", "true", "NoSchedule")
    twice = compile_data(base(taints=own))
    assert [f.code for f in twice.findings if f.severity.value == "error"] == ["taint-twice"]


def test_mixed_images_keep_the_operator_off_nodes_that_have_the_driver():
    data = base()
    data["pools"].append(
        {
            "name": "ubuntu",
            "gpu": "L4",
            "nodes": {"min": 0, "max": 1},
            "image": "ubuntu-eks",
            "eks": {"amiId": "ami-0123456789abcdef0"},
        }
    )
    fleet = compiled(data)
    assert fleet.addons.gpu_operator.driver
    assert fleet.pool("chat").labels["nvidia.com/gpu.deploy.driver"] == "false"
    assert "nvidia.com/gpu.deploy.driver" not in fleet.pool("ubuntu").labels


def test_one_mig_strategy_per_cluster():
    data = base(
        name="a", gpu="A100-80GB", sharing={"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}}
    )
    data["pools"].append(
        {
            "name": "b",
            "gpu": "A100-80GB",
            "nodes": {"min": 0, "max": 1},
            "sharing": {"mig": {"strategy": "single", "layouts": [{"devices": {"1g.10gb": 7}}]}},
        }
    )
    result = compile_data(data)
    [finding] = [f for f in result.findings if f.code == "mig-strategy-conflict"]
    assert finding.path == "pools[1].sharing.mig.strategy"
    assert "b needs `single` and a needs `mixed`" in finding.message


def test_mps_and_mixed_mig_exclude_each_other_in_one_cluster():
    data = base(sharing={"mps": {"replicas": 4}})
    data["pools"].append(
        {
            "name": "slices",
            "gpu": "A100-80GB",
            "nodes": {"min": 0, "max": 1},
            "sharing": {"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}},
        }
    )
    [finding] = [f for f in compile_data(data).findings if f.severity == "error"]
    assert finding.code == "mps-beside-mixed-mig"
    assert finding.path == "pools[0].sharing.mps"
    data["pools"][1]["sharing"]["mig"]["strategy"] = "single"
    assert compile_data(data).deployable


def test_a_fractional_gpu_has_the_memory_its_cloud_states():
    data = base(instanceTypes=["g6f.xlarge"])
    del data["pools"][0]["gpu"]
    [share] = compiled(data).pools[0].partition.shares
    assert share.memory_bytes == 2861 * 2**20


def test_gke_fills_gpus_with_one_partition_size():
    data = base(
        name="a",
        gpu="A100-80GB",
        gpusPerNode=8,
        sharing={"mig": {"layouts": [{"devices": {"1g.10gb": 5}}]}},
    )
    data |= {"platform": "gke", "cluster": {"name": "ml", "region": "us-central1"}}
    result = compile_data(data)
    [finding] = [f for f in result.findings if f.severity == "error"]
    assert finding.code == "gke-partition-not-full"
    assert finding.message == ("GKE fills the GPU: 1g.10gb gives 7 partitions, and 5 are declared")
    data["pools"][0]["gke"] = {"driver": "gpuOperator"}
    assert compile_data(data).deployable


def test_own_hardware_is_priced_by_the_gpu():
    data = {
        "catalogue": "2026.11",
        "platform": "vsphere",
        "cluster": {"name": "lab"},
        "pools": [
            {
                "name": "a",
                "gpu": "L40S",
                "gpusPerNode": 4,
                "nodes": {"min": 2, "max": 2},
                "capacity": [{"onPrem": {"usdPerGpuHour": "0.55"}}],
                "vsphere": {"cpus": 64, "memoryGib": 512, "template": "ubuntu-gpu"},
            }
        ],
    }
    fleet = compiled(data)
    assert fleet.spend.maximum == 2 * 4 * 550_000
    assert fleet.pools[0].owners.driver == "gpuOperator"


@pytest.mark.parametrize("ownership", ["existing", "gitops"])
def test_pools_that_are_not_managed_still_cost(ownership):
    managed = compiled(base())
    assert compiled(base(ownership=ownership)).spend == managed.spend


def test_labels_of_a_pool_do_not_depend_on_its_neighbours() -> None:
    """A node group of a separate stack equals the one of the whole fleet."""
    ready = {"name": "chat", "gpu": "L4", "nodes": {"min": 1, "max": 1}}
    needing = {
        **ready,
        "name": "own",
        "image": "ubuntu-eks",
        "eks": {"amiId": "ami-0123456789abcdef0"},
    }
    alone, alongside = compiled_labels(ready), compiled_labels(ready, needing)
    assert alone["chat"] == alongside["chat"]
    assert alone["chat"]["nvidia.com/gpu.deploy.driver"] == "false"
    assert "nvidia.com/gpu.deploy.driver" not in alongside["own"]


def compiled_labels(*pools: dict[str, Any]) -> dict[str, dict[str, str]]:
    cluster = {"name": "c", "region": "us-east-1"}
    found = compile_data(
        {"catalogue": "2026.11", "platform": "eks", "cluster": cluster, "pools": list(pools)}
    )
    assert found.fleet is not None, found.findings
    return {pool.name: dict(pool.labels) for pool in found.fleet.pools}


def test_the_sandbox_finds_machines_of_any_cloud() -> None:
    spec = {"catalogue": "2026.11", "platform": "sandbox", "cluster": {"name": "c"}}
    pool = {"name": "p", "gpu": "A100-80GB", "nodes": {"min": 1, "max": 1}}
    for count, wanted in ((None, "p4de.24xlarge"), (8, "p4de.24xlarge"), (1, "a2-ultragpu-1g")):
        one = {**pool, **({} if count is None else {"gpusPerNode": count})}
        found = compile_data({**spec, "pools": [one]}).fleet
        assert found is not None
        assert found.pools[0].machines[0].name == wanted


def test_a_machine_is_chosen_by_its_counted_gpus() -> None:
    spec = {"catalogue": "2026.11", "platform": "sandbox", "cluster": {"name": "c"}}
    pool = {"name": "p", "gpu": "GB200-186GB", "nodes": {"min": 1, "max": 1}}
    found = compile_data({**spec, "pools": [pool]}).fleet
    assert found is not None
    assert found.pools[0].gpus_per_node == 4
    assert found.pools[0].machines[0].name in {"a4x-highgpu-4g", "p6e-gb200.36xlarge"}
