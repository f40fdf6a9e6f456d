"""Compile refuses every argument that a provider refuses of a pool, with the same code."""

from typing import Any

import pytest

from gpufleet.catalogue.provider_inputs import constraints
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.gke.names import NODE_POOL
from gpufleet.platforms.gke.node_pool_arguments import node_pools


def spec(platform: str, pool: dict[str, Any], **top: Any) -> dict[str, Any]:
    region = "us-central1" if platform == "gke" else "us-east-1"
    return {
        "catalogue": "2026.11",
        "platform": platform,
        "cluster": {"name": "ml", "region": region, "kubernetesVersion": "1.36"},
        "pools": [{"name": "p", "nodes": {"min": 0, "max": 2}, **pool}],
        **top,
    }


def codes(data: dict[str, Any]) -> dict[str, str]:
    return {
        one.code: one.path for one in compile_data(data).findings if one.severity.value == "error"
    }


L4 = {"gpu": "L4"}
MEGA = {
    "instanceTypes": ["a3-megagpu-8g"],
    "fabric": "tcpxo",
    "zones": ["us-central1-a"],
}


@pytest.mark.parametrize(("declared", "argument"), [("static", "Static"), ("none", "None")])
def test_each_policy_of_the_memory_manager_is_one_of_the_providers(
    declared: str, argument: str
) -> None:
    """terraform-provider-google e03b762 `google/services/container/node_config.go`, line 794."""
    kubelet = {"memoryManager": declared, "topologyManager": "restricted", "cpuManager": "static"}
    compiled = compile_data(spec("gke", {**L4, "kubelet": kubelet}))
    assert compiled.deployable
    assert compiled.fleet is not None
    (arguments,) = node_pools(compiled.fleet.pools[0], "ml", {}).values()
    assert arguments["nodeConfig"]["kubeletConfig"]["memoryManager"] == {"policy": argument}


def enumerated(cloud: str, type_: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.path, one.one_of) for one in constraints(cloud)[type_] if one.one_of]


def nested(path: str, value: str) -> dict[str, Any]:
    first, _, rest = path.partition(".")
    below = nested(rest, value) if rest else value
    return {first: [below] if first in LISTS else below}


LISTS = ("nodeAffinities", "storagePools", "taints", "values")
"""Lists of the node pool (pulumi_gcp 10.2.0, `NodePoolNodeConfigArgs`)."""


DECIDED = {
    "nodeConfig.taints.effect": "the pool's taints",
    "nodeConfig.guestAccelerators.gpuDriverInstallationConfig.gpuDriverVersion": "the pool's GPU",
    "nodeConfig.guestAccelerators.gpuSharingConfig.gpuSharingStrategy": "the pool's GPU",
    "nodeConfig.reservationAffinity.consumeReservationType": "the way of buying",
    "autoscaling.locationPolicy": "`nodes`",
}
"""Enumerated arguments that raw ones may not set -> what decides them."""


@pytest.mark.parametrize(("path", "values"), enumerated("gcp", NODE_POOL))
def test_every_value_of_every_enumeration_of_gke_is_known(
    path: str, values: tuple[str, ...]
) -> None:
    for value in (*values, "no-such-value"):
        found = codes(spec("gke", {**L4, "gke": {"nodePool": nested(path, value)}}))
        if any(path.startswith(one.removesuffix(".effect")) for one in DECIDED):
            assert "raw-argument-decided" in found
        elif value == "no-such-value":
            assert "provider-refuses-argument" in found, path
        else:
            assert "provider-refuses-argument" not in found, (path, value)


@pytest.mark.parametrize(
    ("pool", "place"),
    [
        ({**MEGA, "image": "ubuntu-gke", "gke": {"driver": "gpuOperator"}}, "nodeConfig.imageType"),
    ],
)
def test_arguments_that_exclude_each_other_are_refused_without_raw_ones(
    pool: dict[str, Any], place: str
) -> None:
    found = codes(spec("gke", pool))
    assert found["gke-arguments-exclude-each-other"] == f"pools[0].gke.nodePool.{place}"


def test_too_many_tags_of_a_node_group_are_refused_without_raw_ones() -> None:
    """Amazon EKS user guide, service quotas: 50 tags of a node group."""
    tags = {f"t{index}": "x" for index in range(51)}
    assert "node-group-too-many-tags" in codes(spec("eks", L4, tags=tags))


def test_labels_that_do_not_fit_into_tags_of_a_scaling_group_are_refused() -> None:
    labels = {f"example.com/l{index}": "x" for index in range(45)}
    found = codes(spec("eks", {**L4, "provisioner": "clusterAutoscaler", "labels": labels}))
    assert {"autoscaler-tags-too-many", "node-group-too-many-tags"} <= set(found)


@pytest.mark.parametrize("key", ["nodeGroup", "launchTemplate"])
def test_karpenter_has_neither_a_node_group_nor_a_launch_template(key: str) -> None:
    pool = {**L4, "provisioner": "karpenter", "eks": {key: {"tenancy": "dedicated"}}}
    assert codes(spec("eks", pool))["karpenter-decides"] == f"pools[0].eks.{key}"


NODE_GROUP, TEMPLATE = "aws:eks/nodeGroup:NodeGroup", "aws:ec2/launchTemplate:LaunchTemplate"


@pytest.mark.parametrize(
    ("type_", "raw", "what"),
    [
        (NODE_POOL, {"colour": 1}, "colour: it is not an argument of the provider"),
        (
            NODE_POOL,
            {"nodeConfig": {"minCpuPlatforms": "x"}},
            (
                "nodeConfig.minCpuPlatforms: it is not an argument of the provider; did you mean "
                "minCpuPlatform?"
            ),
        ),
        (
            NODE_POOL,
            {"nodeConfig": {"tags": "web"}},
            "nodeConfig.tags: it must be a list, and is 'web'",
        ),
        (
            NODE_GROUP,
            {"nodeGroupNamePrefixes": "a"},
            (
                "nodeGroupNamePrefixes: it is not an argument of the provider; did you mean "
                "nodeGroupNamePrefix?"
            ),
        ),
        (
            TEMPLATE,
            {"cpuOptions": {"coreCount": "many"}},
            "cpuOptions.coreCount: it must be a whole number, and is 'many'",
        ),
    ],
    ids=["unknown", "nearOne", "noList", "nearGroup", "noNumber"],
)
def test_a_raw_argument_that_the_provider_does_not_have_is_refused(
    type_: str, raw: dict[str, Any], what: str
) -> None:
    option = type_.rpartition(":")[2]
    platform = "gke" if type_ == NODE_POOL else "eks"
    options = {option[0].lower() + option[1:]: raw}
    found = compile_data(spec(platform, {**L4, platform: options})).findings
    place, _, reason = what.partition(":")
    message = f"the provider refuses {place} of {type_}:{reason}"
    assert message in [one.message for one in found]


@pytest.mark.parametrize(
    ("platform", "option", "raw"),
    [
        ("gke", "nodePool", {"nodeConfig": {"metadata": {"any-name": "x"}, "tags": ["web"]}}),
        ("eks", "launchTemplate", {"ebsOptimized": True, "cpuOptions": {"coreCount": "4"}}),
    ],
)
def test_what_the_provider_converts_is_not_refused(
    platform: str, option: str, raw: dict[str, Any]
) -> None:
    found = codes(spec(platform, {**L4, platform: {option: raw}}))
    assert "provider-refuses-argument" not in found


def test_a_pool_with_another_error_does_not_hide_what_is_wrong_with_raw_arguments() -> None:
    raw = {"nodeConfig": {"workloadMetadataConfig": {"mode": "EXPOSE"}}, "nodeCount": 3}
    found = codes(spec("gke", {**L4, "gke": {"nodePool": raw}}))
    assert {"provider-refuses-argument", "raw-argument-wired"} <= set(found)
