"""False alarms that rules about pools must not give; each was met in public manifests."""

from pathlib import Path
from typing import Any

import pytest

from gpufleet.catalogue import load
from gpufleet.cluster import Surroundings
from gpufleet.documents.reading import read_go
from gpufleet.findings import Level
from gpufleet.rules.context import RuleContext
from gpufleet_policies.readers.documents import facts_of_document
from gpufleet_policies.readers.plain import plain
from gpufleet_policies.rules.settings import read_settings
from gpufleet_policies.rules.validate import validate
from tests.policies.cases.case import Thing, manifest
from tests.policies.cases.pool_fit import training
from tests.policies.cases.pools import (
    CPU_GROUP,
    QUIET,
    SMALL,
    gke_pool,
    karpenter,
    node_group,
)
from tests.policies.cases.queues import LOCAL, RESOURCE, queue
from tests.policies.cases.scaling import SCALED, STAGING
from tests.policies.cases.sharing import GPU_SHARING, OWN_TAINT, operator, plugin_config
from tests.policies.cases.workloads import LIMITS, REQUESTS, deployment
from tests.policies.objects import REMOVE, TODAY, changed


def said(thing: Thing, *others: Thing, settings: dict[str, Any] | None = None) -> dict[str, Level]:
    """Rule -> level of every finding about a thing, in the strictest profile."""
    chosen = read_settings({"profile": "strict", **(settings or {})})
    subjects = thing.all_facts
    everything = (*subjects, *(fact for one in others for fact in one.all_facts))
    context = RuleContext(
        today=TODAY,
        load_catalogue=load,
        surroundings=Surroundings(everything),
        thresholds=chosen.thresholds,
    )
    found = [f for subject in subjects for f in validate(subject, context, chosen)]
    return {finding.code: finding.level for finding in found}


def test_absent_karpenter_fields_are_good_defaults():
    assert said(karpenter({"spec.disruption": REMOVE}), *QUIET) == {}


def test_a_group_whose_gpus_are_all_cut_is_right_without_the_accelerator_label():
    scaled: dict[str, Any] = {'tags."k8s.io/cluster-autoscaler/enabled"': "true", "labels": {}}
    rule = "cluster-autoscaler-accelerator-label-missing"
    assert rule in said(node_group(scaled), *QUIET)
    template = "k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu"
    assert rule not in said(node_group({**scaled, f'tags."{template}"': "0"}), *QUIET)


def test_a_static_pool_has_neither_limits_nor_consolidation():
    static = {
        "spec.replicas": 1,
        "spec.limits": REMOVE,
        "spec.disruption": {"consolidateAfter": "Never"},
    }
    assert set(said(karpenter(static), *QUIET)) == {"gpu-pool-fixed-size"}


@pytest.mark.parametrize("limit", [{"cpu": "64"}, {"memory": "256Gi"}, {"nodes": "4"}])
def test_limits_in_cpu_memory_or_nodes_bound_a_pool(limit: dict[str, str]):
    assert said(karpenter({"spec.limits": limit}), *QUIET) == {}


def test_a_large_cpu_limit_is_converted_before_it_is_judged():
    assert said(karpenter({"spec.limits": {"cpu": "1000"}}), *QUIET) == {
        "gpu-pool-unbounded": Level.MANDATORY  # 250 x g6.xlarge
    }


def test_a_gpu_limit_never_counts_more_cards_than_it_says():
    """If slices are advertised the limit counts slices: fewer cards, never more."""
    assert said(karpenter({"spec.limits": {"nvidia.com/gpu": "64"}}), *QUIET) == {}


def test_gke_adds_the_taint_itself():
    bare = gke_pool({"nodeConfig.taints": REMOVE})
    cpu = {"name": "cpu", "nodeConfig": {"machineType": "e2-standard-4"}}
    assert said(bare, gke_pool(cpu, "cpu")) == {}
    own = {"key": "sku", "value": "cpu", "effect": "NO_SCHEDULE"}
    other = gke_pool({**cpu, "nodeConfig.taints": [own]}, "cpu")
    assert said(bare, other) == {"gpu-pool-untainted": Level.ADVISORY}


def test_the_only_pool_of_a_cluster_must_not_be_tainted():
    bare = node_group({"taints": REMOVE})
    assert said(bare, *QUIET[:1]) == {}
    assert said(bare, *QUIET) == {"gpu-pool-untainted": Level.MANDATORY}


def test_a_taint_is_known_by_key_and_effect_alone():
    other = [{"key": "sku", "value": "anything at all", "effect": "NO_EXECUTE"}]
    assert said(node_group({"taints": other}), *QUIET) == {}


def test_a_pool_of_another_cluster_says_nothing_about_this_one():
    elsewhere = Thing(CPU_GROUP.type, {**CPU_GROUP.properties, "clusterName": "web"}, "web")
    assert said(node_group({"taints": REMOVE}), *QUIET[:1], elsewhere) == {}


def test_a_machine_may_be_chosen_for_its_efa_or_local_disk():
    small = deployment({LIMITS: {"nvidia.com/gpu": 1}, REQUESTS: SMALL})
    efa = node_group({"instanceTypes": ["g6.8xlarge"]})
    assert "cheaper-instance-same-gpu" not in said(efa, *QUIET, small)
    large = node_group({"instanceTypes": ["g6.4xlarge"]})
    assert "cheaper-instance-same-gpu" in said(large, *QUIET, small)


def test_a_machine_whose_pods_do_not_say_what_they_need_is_left_alone():
    silent = deployment({LIMITS: {"nvidia.com/gpu": 1}, REQUESTS: REMOVE})
    assert said(node_group({"instanceTypes": ["g6.4xlarge"]}), *QUIET, silent) == {}


@pytest.mark.parametrize(
    "reserved",
    [
        {"capacityType": "CAPACITY_BLOCK"},
        {"tags.savings-plan": "sp-1"},
        {"launchTemplate": {"name": "reserved"}},
    ],
)
def test_what_is_reserved_may_have_a_fixed_size(reserved: dict[str, Any]):
    template = Thing(
        "aws:ec2/launchTemplate:LaunchTemplate",
        {
            "name": "reserved",
            "capacityReservationSpecification": {
                "capacityReservationTarget": {"capacityReservationId": "cr-1"}
            },
        },
        "reserved",
    )
    fixed = {"scalingConfig": {"minSize": 2, "maxSize": 2, "desiredSize": 2}}
    thing = node_group({**fixed, **reserved})
    assert said(thing, *QUIET, template) == {}
    uncommitted = said(node_group(fixed), *QUIET)
    assert "gpu-pool-fixed-size" in uncommitted


def test_flex_start_and_queued_pools_of_gke_may_be_on_demand_and_fixed():
    for changes in (
        {"nodeConfig.flexStart": True, "autoscaling": REMOVE, "nodeCount": 1},
        {"queuedProvisioning": {"enabled": True}, "autoscaling": REMOVE, "nodeCount": 1},
    ):
        assert "gpu-pool-fixed-size" not in said(gke_pool(changes), *QUIET)


def test_capacity_that_is_not_known_counts_as_reserved():
    hidden = {
        "capacityType": "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
        "scalingConfig": {"minSize": 1, "maxSize": 1, "desiredSize": 1},
    }
    assert said(node_group(hidden), *QUIET) == {}


def test_keda_without_a_minimum_goes_to_zero():
    server = deployment({**STAGING, "spec.replicas": 1})
    to_zero = manifest(
        changed(SCALED, {"spec.minReplicaCount": REMOVE, "spec.idleReplicaCount": REMOVE})
    )
    assert "nonprod-serving-never-zero" not in said(server, to_zero)
    stays = manifest(changed(SCALED, {"spec.idleReplicaCount": REMOVE}))
    assert "nonprod-serving-never-zero" in said(server, stays)


def test_placeholders_are_unknown_and_no_violation():
    filled_later = {"scalingConfig.minSize": "${MIN}", "scalingConfig.maxSize": "$MAX"}
    assert said(node_group(filled_later), *QUIET) == {}
    assert said(karpenter({"spec.limits": {"nvidia.com/gpu": "${LIMIT}"}}), *QUIET) == {}


def test_a_capacity_reservation_used_by_a_pool_with_an_unknown_name_is_left_alone():
    block = Thing(
        "aws:ec2/capacityReservation:CapacityReservation",
        {"instanceType": "p5.48xlarge", "instanceCount": 8, "instanceMatchCriteria": "targeted"},
        "block",
    )
    hidden = Thing(
        "aws:ec2/launchTemplate:LaunchTemplate",
        {
            "name": "lt",
            "instanceType": "p5.48xlarge",
            "capacityReservationSpecification": {
                "capacityReservationTarget": {
                    "capacityReservationId": "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
                }
            },
        },
        "lt",
    )
    pool = node_group({"instanceTypes": REMOVE, "launchTemplate": {"name": "lt"}})
    assert said(block, pool, hidden) == {}
    assert said(block, node_group({"instanceTypes": ["p5.48xlarge"]})) == {
        "reservation-not-consumed": Level.MANDATORY
    }


def test_spot_training_with_checkpoints_or_other_capacity_is_right():
    spot = node_group({"instanceTypes": ["p5.48xlarge"], "capacityType": "SPOT"}, "spot")
    other = node_group({"instanceTypes": ["p5.48xlarge"], "nodeGroupName": "od"}, "od")
    assert "spot-for-tightly-coupled-training" in said(training(), spot)
    assert "spot-for-tightly-coupled-training" not in said(training(), spot, other)


def test_work_on_a_reservation_is_not_told_to_use_spot():
    from tests.policies.cases.pool_fit import MAY_STOP, PLAIN
    from tests.policies.cases.workloads import job

    work = job({**PLAIN, MAY_STOP: "true"})
    assert "interruptible-work-on-demand" in said(work, node_group())
    for reserved in ({"capacityType": "SPOT"}, {"capacityType": "CAPACITY_BLOCK"}):
        assert "interruptible-work-on-demand" not in said(work, node_group(reserved))


def test_slices_that_another_program_may_cut_are_not_missed():
    wants = deployment({LIMITS: {"nvidia.com/mig-1g.5gb": 1}})
    mixed = operator({"mig": {"strategy": "mixed"}})
    uncut = node_group({"instanceTypes": ["p4d.24xlarge"], "labels": {"gpu": "a100"}})
    assert "gpu-resource-not-offered" not in said(wants, uncut)
    assert "gpu-resource-not-offered" in said(wants, uncut, mixed)
    label = {"nvidia.com/mig.config": "somebody-elses-layout"}
    hidden = node_group({"instanceTypes": ["p4d.24xlarge"], "labels": label})
    assert "gpu-resource-not-offered" not in said(wants, hidden, mixed)


def test_shared_and_whole_gpus_with_taints_of_their_own_do_not_collide():
    shared = {"labels": {"nvidia.com/device-plugin.config": "shared"}}
    config = plugin_config(renameByDefault=False)
    whole = node_group({"nodeGroupName": "whole"}, "whole")
    assert "sharing-name-collides" in said(config, node_group(shared), whole)
    # Reported once, for the object that can be fixed.
    assert "sharing-name-collides" not in said(node_group(shared), whole, config)
    renamed = plugin_config(renameByDefault=True)
    assert "sharing-name-collides" not in said(renamed, node_group(shared), whole)
    assert "sharing-name-collides" not in said(
        config, node_group({**shared, "taints": OWN_TAINT}), whole
    )


def test_shares_that_a_gke_pool_declares_itself_are_said_of_the_pool():
    sharing = {GPU_SHARING: {"gpuSharingStrategy": "TIME_SHARING", "maxSharedClientsPerGpu": 8}}
    whole = gke_pool({"name": "whole"}, "whole")
    assert "sharing-name-collides" in said(gke_pool(sharing), whole)
    assert "sharing-name-collides" not in said(whole, gke_pool(sharing))
    assert "sharing-name-collides" not in said(gke_pool(sharing), gke_pool(sharing, "other"))


def test_a_queue_alone_needs_no_cohort():
    # Kueue's own definition: borrowingLimit must be nil when cohort is empty.
    alone = {"spec.cohortName": REMOVE, f"{RESOURCE}.borrowingLimit": REMOVE}
    assert said(queue(alone), LOCAL) == {}
    # A team that lends its GPUs to no one wants it so.
    assert said(queue(alone), LOCAL, queue(alone, name="product")) == {}


def test_a_queue_of_production_may_borrow_without_a_limit():
    assert said(queue({f"{RESOURCE}.borrowingLimit": REMOVE}), LOCAL) == {}


def test_a_stack_of_machines_alone_is_not_asked_for_monitoring():
    assert said(node_group(), CPU_GROUP) == {}


CHARTS = Path(__file__).parents[3] / "shared" / "reference" / "charts"


@pytest.mark.parametrize(
    "name",
    [
        "gpu-operator-v26.7.0.values.yaml",
        "gpu-operator-v26.7.0.default-mig-parted-config.configmap.yaml",
        "network-operator-26.4.1.values.yaml",
        "nvidia-device-plugin-0.20.0.values.yaml",
        "mig-parted-v0.15.0.config-default.yaml",
        "kueue-0.19.2.values.yaml",
        "dcgm-exporter-4.8.2.values.yaml",
    ],
)
def test_what_vendors_deliver_is_right_as_it_is(name: str):
    if not (CHARTS / name).is_file():
        pytest.skip(f"{name} of the reference is not here")
    document = plain(read_go((CHARTS / name).read_bytes()).data)
    facts = facts_of_document(document, name)
    assert facts, "it is recognised"
    context = RuleContext(today=TODAY, load_catalogue=load, surroundings=Surroundings(facts))
    settings = read_settings({"profile": "strict"})
    assert [f.message for fact in facts for f in validate(fact, context, settings)] == []


def test_a_file_of_layouts_is_judged_for_what_a_pool_selects():
    text = (
        "version: v1\nmig-configs:\n"
        "  good:\n  - {devices: all, mig-enabled: true, mig-devices: {1g.5gb: 7}}\n"
        "  other-gpu:\n  - {devices: all, mig-enabled: true, mig-devices: {1g.10gb: 7}}\n"
    )
    config = manifest(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "layouts"},
            "data": {"config.yaml": text},
        }
    )
    a100 = {"instanceTypes": ["p4d.24xlarge"], "labels.accelerator": "a100"}
    label = 'labels."nvidia.com/mig.config"'
    assert said(config, node_group({**a100, label: "good"})) == {}
    wrong = said(config, node_group({**a100, label: "other-gpu"}))
    assert wrong == {"mig-layout-impossible": Level.MANDATORY}


def test_pools_of_several_clusters_in_one_folder_are_kept_apart():
    shared = node_group({"labels": {"nvidia.com/device-plugin.config": "shared"}})
    config = plugin_config(renameByDefault=False)
    whole = node_group({"nodeGroupName": "whole", "clusterName": "other"}, "whole")
    assert "sharing-name-collides" not in said(config, shared, whole)
    near = node_group({"nodeGroupName": "whole"}, "whole")
    assert "sharing-name-collides" in said(config, shared, near)


def test_what_concerns_all_pools_is_not_added_to_what_concerns_one():
    from gpufleet_policies.money.attribution import totals

    standing = node_group({"scalingConfig.minSize": 3, "tags.environment": "dev"})
    chosen = read_settings({"budgets": {"*": {"standingUsdPerMonth": 1}}})
    facts = standing.all_facts
    context = RuleContext(
        today=TODAY,
        load_catalogue=load,
        surroundings=Surroundings(facts),
        thresholds=chosen.thresholds,
    )
    found = [f for fact in facts for f in validate(fact, context, chosen)]
    assert {"stack-gpu-budget-exceeded"} <= {f.code for f in found}
    own = next(f for f in found if f.code == "nonprod-pool-minimum-above-zero").money
    assert own is not None
    assert totals(found).standing == own.usd_per_month


def test_gke_limits_are_quoted_as_they_are_written():
    wide = gke_pool({"location": "us-central1", "autoscaling": {"maxNodeCount": 100}})
    case = RuleContext(today=TODAY, load_catalogue=load)
    (finding,) = [f for fact in wide.all_facts for f in validate(fact, case, read_settings({}))]
    assert "autoscaling.maxNodeCount 100 in each of 3 zones allows 300 GPUs" in finding.text
    assert "lower it to 21" in finding.text
