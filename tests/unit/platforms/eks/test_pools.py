"""Pools on EKS that cannot work are refused while they are a file; each with its own reason."""

from datetime import UTC, datetime
from typing import Any

import pytest

from gpufleet.catalogue import AWS, load
from gpufleet.findings import Finding
from gpufleet.fleet import Fleet
from gpufleet.partition.shares import RESOURCES
from gpufleet.platforms.compiled import Compiled, compile_data
from gpufleet.platforms.eks.connection import eks_connection
from gpufleet.platforms.eks.launch_template import launch_template
from gpufleet.platforms.eks.node_group_sizes import ClusterGroups
from gpufleet.platforms.eks.pool_plans import eks_pool_plan
from gpufleet.platforms.eks.rules import pinning_missing, release_of
from gpufleet.platforms.eks.shape import eks_shape, interfaces
from tests.unit.platforms.eks.wrong_pools import BLOCK, KARPENTER, PIN, WRONG

NODES = {"min": 0, "max": 2}


def compiled(pool: dict[str, Any], version: str = "1.36", **fleet: Any) -> Compiled:
    declared = {"name": "one", "nodes": NODES, **pool}
    return compile_data(
        {
            "catalogue": "2026.11",
            "platform": "eks",
            "cluster": {"name": "ml", "region": "us-east-1", "kubernetesVersion": version},
            "pools": [declared],
            **fleet,
        }
    )


def errors(pool: dict[str, Any], version: str = "1.36", **fleet: Any) -> str:
    result = compiled(pool, version, **fleet)
    assert not result.deployable
    return "\n".join(str(f) for f in result.findings if f.severity.value == "error")


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_pool_is_refused_with_its_reason(what: str) -> None:
    pool, code, said = WRONG[what]
    text = errors(pool)
    assert code in text
    assert said in text


def test_amazon_linux_2_ends_with_1_32() -> None:
    pool = {"gpu": "L4", "image": "al2-nvidia"}
    assert "published up to Kubernetes 1.32" in errors(pool, "1.33")
    found = [f.code for f in compiled(pool, "1.32").findings if f.severity.value == "error"]
    assert "image-not-for-kubernetes" not in found


def test_cut_gpus_need_an_overlay() -> None:
    sharing = {"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}}
    pool = {"instanceTypes": ["p4de.24xlarge"], "provisioner": "karpenter", "sharing": sharing}
    addons = {"karpenter": {"ownership": "existing"}}
    assert "karpenter-does-not-know-the-gpus" in errors(pool, addons=addons)
    assert compiled(pool).deployable


def test_the_alias_latest_is_refused_in_prod() -> None:
    pool = {"gpu": "L4", "provisioner": "karpenter", "eks": {"releaseVersion": "latest"}}
    assert "each release of the image replaces all nodes" in errors(pool, environment="prod")
    assert compiled(pool, environment="dev").deployable
    unpinned = compiled({"gpu": "L4", "provisioner": "karpenter"}, environment="prod")
    assert unpinned.deployable  # a plan may leave it open
    assert unpinned.fleet is not None
    (finding,) = pinning_missing(unpinned.fleet.pools[0], "prod", "1.36")
    assert finding.severity.value == "error"  # deploying may not
    pinned = compiled(
        {"gpu": "L4", "provisioner": "karpenter", "eks": PIN}, environment="prod"
    ).fleet
    assert pinned is not None
    assert pinning_missing(pinned.pools[0], "prod", "1.36") == []


@pytest.mark.parametrize(
    ("key", "operator", "values"),
    [
        ("karpenter.k8s.aws/capacity-reservation-type", "In", ["default"]),
        ("karpenter.k8s.aws/instance-size", "NotIn", ["xlarge"]),
        ("karpenter.k8s.aws/instance-gpu-memory", "Lte", ["22888"]),
        ("topology.k8s.aws/zone-id", "In", ["use1-az1"]),
        ("example.com/rack", "Exists", []),
    ],
)
def test_a_requirement_that_leaves_machines_is_legal(
    key: str, operator: str, values: list[str]
) -> None:
    one = {"key": key, "operator": operator, "values": values}
    assert codes({"gpu": "L4", **KARPENTER, "karpenter": {"requirements": [one]}}) == []


def test_neurons_own_labels_are_legal() -> None:
    name = {"key": "karpenter.k8s.aws/instance-accelerator-name", "operator": "Exists"}
    pool = {"instanceTypes": ["trn1.32xlarge"], **KARPENTER, "karpenter": {"requirements": [name]}}
    assert codes(pool) == []


def codes(pool: dict[str, Any], **fleet: Any) -> list[str]:
    return [finding.code for finding in compiled(pool, **fleet).findings]


def test_warnings_say_what_will_go_wrong() -> None:
    block = {"instanceTypes": ["p5.48xlarge"], "capacity": [{"capacityBlock": BLOCK}]}
    result = compiled({**block, "nodes": {"min": 1, "max": 2}})
    assert "capacity-block-min-nodes" in [f.code for f in result.findings]
    spot = {"instanceTypes": ["g6.xlarge"], "capacity": [{"spot": {}}]}
    assert "spot-one-type" in codes(spot)
    behind = {**spot, **KARPENTER, "capacity": [{"spot": {}}, {"onDemand": {}}]}
    assert codes(behind) == []  # its own fix is enough
    group = {"placementGroup": True}
    for provisioner in ({}, KARPENTER):
        assert "reservation-placement-group" in codes(
            {**block, **provisioner, "nodes": {"min": 0, "max": 2}, "eks": group}
        )
    theirs = {**group, "launchTemplate": {"placement": {"groupName": "ours"}}}
    assert "reservation-placement-group" not in codes({**block, "eks": theirs})
    long = {**BLOCK, "starts": "2026-06-20T11:30:00Z"}
    assert "capacity-block-longer-than-sold" in codes(
        {**block, "capacity": [{"capacityBlock": long}]}
    )
    half = {**BLOCK, "starts": "2026-06-21T11:30:00Z"}
    assert codes({**block, "capacity": [{"capacityBlock": half}]}) == []
    assert "capacity-block-larger-than-sold" in codes({**block, "nodes": {"min": 0, "max": 65}})
    assert codes({**block, "nodes": {"min": 0, "max": 64}}) == []
    noon = {**BLOCK, "until": "2026-12-20T12:00:00Z"}
    assert codes({**block, "capacity": [{"capacityBlock": noon}]}) == [
        "capacity-block-ends-otherwise"
    ]
    part = {"instanceTypes": ["g6f.large"], "image": "bottlerocket-nvidia"}
    assert "image-without-vgpu-module" in codes(part)
    assert codes({**part, "image": "al2023-nvidia"}) == []
    own = {"image": "ubuntu-eks", "fabric": "efa", "zones": ["us-east-1a"]}
    own["eks"] = {"amiId": "ami-0123456789abcdef0"}
    without = compiled({"instanceTypes": ["p4d.24xlarge"], **own})
    assert "image-without-efa" in [f.code for f in without.findings]
    kept = compiled({"gpu": "L4", "provisioner": "karpenter", "nodes": {"min": 1, "max": 2}})
    assert "karpenter-keeps-no-minimum" in [f.code for f in kept.findings]
    scaled = {"gpu": "L4", "provisioner": "clusterAutoscaler"}
    turns = {**scaled, "sharing": {"timeSlicing": {"replicas": 4}}}
    (waits,) = [f for f in compiled(turns).findings if f.code == "autoscaler-does-not-wait"]
    assert "advertise nvidia.com/gpu.shared and no nvidia.com/gpu" in waits.message
    named = {**scaled, "sharing": {"timeSlicing": {"replicas": 4, "rename": False}}}
    for whole in (scaled, named):
        assert "autoscaler-does-not-wait" not in [f.code for f in compiled(whole).findings]


@pytest.mark.parametrize(("day", "sold"), [(9, False), (10, True)])
def test_a_block_is_on_sale_eight_weeks_before_it_starts(day: int, sold: bool) -> None:
    block = {**BLOCK, "starts": "2026-12-05T00:00:00Z"}
    pool = {"instanceTypes": ["p5.48xlarge"], "capacity": [{"capacityBlock": block}]}
    data = {
        "catalogue": "2026.11",
        "platform": "eks",
        "cluster": {"name": "ml", "region": "us-east-1", "kubernetesVersion": "1.36"},
        "pools": [{"name": "one", "nodes": NODES, **pool}],
    }
    at = datetime(2026, 10, day, tzinfo=UTC)  # eight weeks: 56 days before 5 December
    found = [one.code for one in compile_data(data, at=at).findings]
    assert ("capacity-block-not-on-sale" not in found) is sold


def test_a_local_zone_is_a_zone_of_its_region() -> None:
    pool = {"gpu": "T4", "zones": ["us-east-1-chi-1a"]}
    assert "zone-not-in-region" not in [f.code for f in compiled(pool).findings]
    for wrong in ("us-east-1", "us-east-10a", "us-west-2a"):
        assert f"{wrong} is not a zone of us-east-1" in errors({"gpu": "T4", "zones": [wrong]})


@pytest.mark.parametrize("zone", ["us-east-1chi", "us-east-1-chi-1", "us-east-1-ai1a"])
def test_an_ending_that_is_not_known_is_doubted(zone: str) -> None:
    result = compiled({"gpu": "T4", "zones": [zone]})
    (doubt,) = [one for one in result.findings if one.code == "zone-unknown"]
    assert (doubt.severity, doubt.path) == ("warning", "pools[0].zones[0]")
    assert "write us-east-1" in (doubt.fix or "")
    assert result.deployable


@pytest.mark.parametrize(
    ("tags", "said"),
    [
        ({f"t{i}": "x" for i in range(41)}, "41 tags are given, and AWS accepts 50"),
        ({"AWS:mine": "x"}, "which only AWS may set"),
        ({"k" * 129: "x"}, "the key has 129 characters, 1 to 128"),
        ({"": "x"}, "the key has 0 characters"),
        ({"k": "v" * 257}, "the value of k has 257 characters"),
        ({"gpufleet.dev/pool": "x"}, "which gpufleet sets to identify pools"),
    ],
)
def test_tags_that_aws_refuses(tags: dict[str, str], said: str) -> None:
    assert said in errors({"gpu": "L4"}, tags=tags)


EVERY_SCRIPT = {"équipe": "données 日本 ٣", "a b": "x_.:/=+-@", "empty": ""}


@pytest.mark.parametrize("provisioner", ["managed", "karpenter", "clusterAutoscaler"])
def test_tags_of_every_script_are_legal(provisioner: str) -> None:
    pool = {"gpu": "L4", "provisioner": provisioner}
    assert codes(pool, tags=EVERY_SCRIPT) == []


@pytest.mark.parametrize("sign", ["R&D", "#1", "🚀"])
def test_signs_that_iam_refuses_are_legal_where_no_role_is_made(sign: str) -> None:
    assert codes({"gpu": "L4"}, tags={"team": sign}) == []
    theirs = {"karpenter": {"ownership": "existing"}}
    assert codes({"gpu": "L4", **KARPENTER}, tags={"team": sign}, addons=theirs) == []
    for provisioner in ("karpenter", "clusterAutoscaler"):
        text = errors({"gpu": "L4", "provisioner": provisioner}, tags={"team": sign})
        assert "tag-characters: tags.team" in text


@pytest.mark.parametrize(
    "key",
    [
        "kubernetes.io/cluster/ml",
        "eks:eks-cluster-name",
        "karpenter.sh/nodepool",
        "karpenter.sh/nodeclaim",
        "karpenter.k8s.aws/ec2nodeclass",
    ],
)
def test_tags_that_karpenter_keeps_to_itself(key: str) -> None:
    assert "its API rejects node classes that set it" in errors(
        {"gpu": "L4", **KARPENTER}, tags={key: "owned"}
    )
    assert codes({"gpu": "L4"}, tags={key: "owned"}) == []


def test_autoscalers_that_a_platform_cannot_use_are_refused() -> None:
    gke: dict[str, Any] = {
        "platform": "gke",
        "cluster": {"name": "ml", "region": "us-central1"},
        "addons": {"clusterAutoscaler": {"enabled": True}, "karpenter": {"enabled": True}},
    }
    text = errors({"gpu": "L4"}, **gke)
    assert "a second autoscaler would conflict with it" in text
    assert "Karpenter's production provider is for AWS" in text


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("1.36.0-20261101", ("v20261101", "1.36")),
        ("1.52.0-7a6b3c1d", ("v1.52.0", None)),
        ("1.52.0", ("v1.52.0", None)),
        ("latest", None),
        ("v20261101", None),
    ],
)
def test_releases_are_read(written: str, found: tuple[str, str | None] | None) -> None:
    assert release_of(written) == found


def test_a_release_of_bottlerocket_without_its_commit_is_for_karpenter_alone() -> None:
    """Karpenter's alias is `bottlerocket@v1.52.0`; EKS requires `1.52.0-<commit>`."""
    pool = {"gpu": "L4", "image": "bottlerocket-nvidia", "eks": {"releaseVersion": "1.52.0"}}
    assert "'1.52.0' is not a release of this image" in errors(pool)
    assert compiled({**pool, "provisioner": "karpenter"}).deployable


AWS = [row for row in load().instances.values() if row.cloud == AWS]


def test_all_types_are_there() -> None:
    assert len(AWS) == 103


@pytest.mark.parametrize("row", AWS, ids=lambda row: row.name)
def test_a_default_pool_of_every_type_is_valid_or_refused_for_a_true_reason(row: Any) -> None:
    result = compiled({"instanceTypes": [row.name]})
    gpu = load().gpu(row.accelerator.gpu)
    refused = {f.code for f in result.findings if f.severity.value == "error"}
    if gpu.vendor not in {"nvidia", "aws"}:
        assert "accelerator-not-yet-supported" in refused
        assert gpu.name in "\n".join(map(str, result.findings))
        return
    if row.accelerator.count is None:
        assert refused == {"instance-devices-unknown"}
        return
    listed = row.purchase_options
    if row.on_demand.offer.value == "not-sold" or (listed and "onDemand" not in listed):
        # NVIDIA's matrix: R470 is the last branch of Kepler, and the image has 580.
        old = {"driver-not-for-gpu"} if gpu.architecture == "kepler" else set[str]()
        assert refused == {"capacity-not-sold"} | old
        return
    assert refused == set()
    assert result.fleet is not None
    (pool,) = result.fleet.pools
    machine = pool.machines[0]
    assert pool.gpus_per_node == row.accelerator.count
    assert sum(pool.advertised.values()) == row.accelerator.count
    assert set(pool.advertised) == {RESOURCES[gpu.vendor]}
    assert machine.memory_bytes == row.memory_bytes
    part = row.accelerator.fraction != 1
    (share,) = pool.partition.shares
    assert share.memory_bytes == (row.accelerator.memory_bytes if part else gpu.memory_bytes)
    made = interfaces(machine)
    efa = [one for one in made if one.kind == "efa-only"]
    assert len(efa) == len(row.efa_cards or range(row.efa_interfaces or 0))
    assert len({one.card for one in efa}) == len(efa)  # one per card
    assert max((one.card for one in made), default=0) < max(
        row.network_cards or row.efa_interfaces or 1, 1
    )
    assert next(one for one in made if (one.card, one.device) == (0, 0)).kind == "interface"
    maker = {"nvidia": "NVIDIA", "aws": "NEURON"}[gpu.vendor]
    expected = f"AL2023_{'ARM_64' if row.architecture == 'arm64' else 'x86_64'}_{maker}"
    assert eks_shape(pool).ami_type == expected


WITH_EFA = [row for row in AWS if row.efa_interfaces]


def pool_findings(fleet: Fleet) -> list[Finding]:
    """Errors that prevent the creation of the fleet's only pool with all of its inputs."""
    given = {
        "nodeRoleArn": "arn:aws:iam::123456789012:role/nodes",
        "subnetIdsByZone": {"us-east-1a": "subnet-0a"},
        "vpcId": "vpc-01",
        "clusterSecurityGroupId": "sg-0c",
    }
    connection = eks_connection(given, fleet)
    _, findings = eks_pool_plan(fleet.pools[0], connection, ClusterGroups(None))
    return findings


@pytest.mark.parametrize("provisioner", ["managed", "karpenter", "clusterAutoscaler"])
@pytest.mark.parametrize("row", WITH_EFA, ids=lambda row: row.name)
def test_a_pool_of_every_type_with_efa_has_a_template_that_eks_takes(
    row: Any, provisioner: str
) -> None:
    pool = {"instanceTypes": [row.name], "fabric": "efa", "zones": ["us-east-1a"]}
    result = compiled({**pool, "provisioner": provisioner})
    if not result.deployable:
        refused = {f.code for f in result.findings if f.severity.value == "error"}
        assert refused <= {"accelerator-not-yet-supported", "capacity-not-sold"}
        return
    assert result.fleet is not None
    (made,) = result.fleet.pools
    assert len(eks_shape(made).interfaces) == 1 + row.efa_interfaces
    assert pool_findings(result.fleet) == []


GROUP = "arn:aws:resource-groups:us-east-1:123456789012:group/gpu-reservations"


def reserved_by_group(arn: str = GROUP, **more: Any) -> dict[str, Any]:
    return {"instanceTypes": ["g6.xlarge"], "capacity": [{"reserved": {"id": arn}}], **more}


def test_a_resource_group_of_reservations_is_a_way_of_buying() -> None:
    """It may hold reservations of several zones, so no zone is required."""
    result = compiled(reserved_by_group())
    assert result.deployable, result.findings
    pool = result.fleet.pools[0]
    template = launch_template(pool, eks_shape(pool), "ml", {})
    assert template["capacityReservationSpecification"] == {
        "capacityReservationTarget": {"capacityReservationResourceGroupArn": GROUP}
    }
    assert pool_findings(result.fleet) == []


@pytest.mark.parametrize(
    ("pool", "code"),
    [
        (reserved_by_group(**KARPENTER), "reservation-group-with-karpenter"),
        (reserved_by_group(GROUP.replace("us-east-1", "eu-west-1")), "reservation-group-in-other"),
        (reserved_by_group("arn:aws:ec2:us-east-1:1:group/x"), "reservation-id"),
    ],
)
def test_a_resource_group_that_cannot_work(pool: dict[str, Any], code: str) -> None:
    assert code in errors(pool)


@pytest.mark.parametrize(
    ("intent", "code"),
    [
        ("interactive", "spot-for-interactive"),
        ("training", "spot-for-training"),
        ("batch", None),
        ("inference", None),
    ],
)
def test_spot_is_for_what_can_be_ended(intent: str, code: str | None) -> None:
    types = ["g6.xlarge", "g6.2xlarge"]
    pool = {"instanceTypes": types, "capacity": [{"spot": {}}], "intent": intent, "eks": PIN}
    result = compiled(pool)
    assert result.deployable
    assert [one.code for one in result.findings] == ([] if code is None else [code])
