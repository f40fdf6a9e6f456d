"""OpenShift on AWS: rules of pools, and the machines requested from the machine API.

Expected fields and limits are those of openshift/api bfa868a `types_awsprovider.go`,
openshift/machine-api-provider-aws bf5b668 `instances.go` and openshift/machine-api-operator 7dc0e85
`machine_webhook.go`, read 2026-11-23.
"""

from typing import Any

import pytest

from gpufleet.change.fleet_change import change_plan
from gpufleet.contract.schemas.validator import schema_problems
from gpufleet.findings import Finding
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.openshift.aws.machines import OnAws
from gpufleet.platforms.openshift.machine_clouds import zones_of
from gpufleet.platforms.openshift.machine_set_manifest import (
    health_check,
    machine_autoscaler,
    machine_set,
)
from tests.unit.platforms.openshift.clouds import (
    AWS_CHAT,
    AWS_SLICES,
    BLOCK,
    declaration,
    fleet,
)

CAPACITY = "capacity.cluster-autoscaler.kubernetes.io/"
PLACE: dict[str, Any] = {
    "infrastructureName": "ocp-x7k2p",
    "amiId": "ami-0aaaaaaaaaaaaaaaa",
    "iamInstanceProfile": "ocp-x7k2p-worker-profile",
    "subnetNamesByZone": {"us-east-1a": "a", "us-east-1b": "b"},
    "subnetIdsByZone": {"us-east-1c": "subnet-0cccccccccccccccc"},
    "securityGroupNames": ["ocp-x7k2p-node"],
}
P5 = {"instanceTypes": ["p5.48xlarge"], "nodes": {"min": 0, "max": 1}, "sharing": {"exclusive": {}}}
RESERVED = {"id": "cr-0123456789abcdef0", "zone": "us-east-1a"}


def findings(pool: dict[str, Any], **more: Any) -> dict[str, Finding]:
    one = {**AWS_CHAT, **pool}
    made = compile_data(declaration("openshiftAws", one, **more))
    return {found.code: found for found in made.findings}


def sets(pool: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    made = fleet("openshiftAws", {**AWS_CHAT, **pool}, **more)
    place = OnAws().place(PLACE, made.spec)
    one = made.pools[0]
    return [machine_set(one, "ocp", place, zone) for zone in zones_of(one)]


def machine(pool: dict[str, Any], **more: Any) -> dict[str, Any]:
    return sets(pool, **more)[0]["spec"]["template"]["spec"]["providerSpec"]["value"]


@pytest.mark.parametrize(
    ("code", "path", "broken", "accepted"),
    [
        ("openshift-zones-missing", "zones", {"zones": []}, {}),
        ("openshift-zone-twice", "zones", {"zones": ["us-east-1a"] * 2}, {}),
        ("zone-not-in-region", "zones[0]", {"zones": ["us-west-2a"]}, {}),
        (
            "openshift-more-zones-than-nodes",
            "zones",
            {"nodes": {"min": 0, "max": 2}},
            {"nodes": {"min": 0, "max": 3}},
        ),
        (
            "openshift-one-machine-type",
            "instanceTypes",
            {"instanceTypes": ["g6.xlarge", "g6.2xlarge"]},
            {"instanceTypes": ["g6.xlarge"]},
        ),
        (
            "openshift-one-way-of-buying",
            "capacity",
            {"capacity": [{"spot": {}}, {"onDemand": {}}]},
            {"capacity": [{"spot": {}}]},
        ),
        (
            "openshift-reservation-id",
            "capacity[0].reserved.id",
            {"capacity": [{"reserved": {**RESERVED, "id": "cr-0123"}}]},
            {"capacity": [{"reserved": RESERVED}]},
        ),
        (
            "reservation-zone-missing",
            "capacity[0].reserved.zone",
            {"capacity": [{"reserved": {"id": RESERVED["id"]}}]},
            {"capacity": [{"reserved": RESERVED}]},
        ),
        (
            "openshift-part-of-gpu",
            "instanceTypes",
            {"gpu": None, "instanceTypes": ["g6f.large"]},
            {},
        ),
        ("fabric-not-on-platform", "fabric", {"fabric": "efa"}, {}),
        ("capacity-not-on-platform", "capacity[0].onPrem", {"capacity": [{"onPrem": {}}]}, {}),
        ("openshift-dra", "sharing.dra", {"sharing": {"dra": {}}}, {}),
        ("openshift-name-too-long", "name", {"name": "x" * 40}, {"name": "x" * 30}),
        (
            "openshift-scale-from-zero",
            "nodes.min",
            {
                **AWS_SLICES,
                "zones": ["us-east-1a", "us-east-1b"],
                "nodes": {"min": 1, "max": 2},
                "sharing": {
                    "mig": {
                        "strategy": "mixed",
                        "layouts": [{"devices": {"3g.40gb": 1, "4g.40gb": 1}}],
                    }
                },
            },
            {},
        ),
        (
            "options-of-other-platform",
            "openshift",
            {"openshift": {"cpus": 8, "memoryGib": 32, "template": "rhcos"}},
            {},
        ),
    ],
)
def test_rules_of_pools(
    code: str, path: str, broken: dict[str, Any], accepted: dict[str, Any]
) -> None:
    pool = {**AWS_CHAT, **broken}
    if "instanceTypes" in pool:
        del pool["gpu"]
    assert code not in findings(accepted)
    made = compile_data(declaration("openshiftAws", pool))
    (found,) = [one for one in made.findings if one.code == code]
    assert found.path == f"pools[0].{path}"
    assert found.fix


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"volumeType": "io1"}, "needs iops"),
        ({"volumeType": "gp2", "iops": 3000}, "takes no iops"),
        ({"volumeType": "io1", "iops": 3000, "throughputMib": 500}, "gp3 volumes only"),
        ({"placementGroupPartition": 2}, "needs placementGroup"),
        ({"throughputMib": 2001}, "2000"),
        ({"kmsKeyArn": "arn:aws:s3:::bucket"}, "kmsKeyArn"),
    ],
)
def test_options_that_aws_refuses(options: dict[str, Any], text: str) -> None:
    found = compile_data(declaration("openshiftAws", {**AWS_CHAT, "openshiftAws": options}))
    assert not found.deployable
    assert any(text in str(one) for one in found.findings), [str(one) for one in found.findings]


@pytest.mark.parametrize("key", ["Name", "kubernetes.io/cluster/ocp", "aws:owner"])
def test_tags_that_the_machine_api_drops(key: str) -> None:
    assert findings({}, tags={key: "a"})["tag-reserved"].path == f"tags.{key}"
    assert "tag-reserved" not in findings({}, tags={"cost-center": "a"})


def test_nodes_are_divided_among_the_zones() -> None:
    made = fleet("openshiftAws", AWS_CHAT)
    pool = made.pools[0]
    bounds = [machine_autoscaler(pool, "ocp", zone) for zone in zones_of(pool)]
    assert [(one["spec"]["minReplicas"], one["spec"]["maxReplicas"]) for one in bounds if one] == [
        (1, 2),
        (0, 1),
        (0, 1),
    ]
    names = [one["metadata"]["name"] for one in sets({})]
    assert [name.rpartition("-")[0] for name in names] == [
        "ocp-chat-us-east-1a",
        "ocp-chat-us-east-1b",
        "ocp-chat-us-east-1c",
    ]
    assert [one["spec"]["scaleTargetRef"]["name"] for one in bounds if one] == names
    assert [one["spec"]["replicas"] for one in sets({})] == [1, 0, 0]
    check = health_check(pool, "ocp")
    assert check is not None
    assert check["spec"]["selector"] == {"matchLabels": {"gpufleet.dev/pool": "chat"}}


def test_the_machine_of_a_pool() -> None:
    assert machine({}, tags={"cost-center": "4711"}) == {
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "AWSMachineProviderConfig",
        "ami": {"id": "ami-0aaaaaaaaaaaaaaaa"},
        "instanceType": "g6.xlarge",
        "blockDevices": [{"ebs": {"encrypted": True, "volumeSize": 200, "volumeType": "gp3"}}],
        "metadataServiceOptions": {"authentication": "Required"},
        "credentialsSecret": {"name": "aws-cloud-credentials"},
        "deviceIndex": 0,
        "iamInstanceProfile": {"id": "ocp-x7k2p-worker-profile"},
        "placement": {"region": "us-east-1", "availabilityZone": "us-east-1a"},
        "securityGroups": [{"filters": [{"name": "tag:Name", "values": ["ocp-x7k2p-node"]}]}],
        "subnet": {"filters": [{"name": "tag:Name", "values": ["a"]}]},
        "tags": [
            {"name": "cost-center", "value": "4711"},
            {"name": "gpufleet.dev/pool", "value": "chat"},
        ],
        "userDataSecret": {"name": "worker-user-data"},
    }
    assert sets({})[2]["spec"]["template"]["spec"]["providerSpec"]["value"]["subnet"] == {
        "id": "subnet-0cccccccccccccccc"
    }


@pytest.mark.parametrize(
    ("pool", "fields"),
    [
        ({"capacity": [{"spot": {}}]}, {"spotMarketOptions": {}}),
        (
            {"capacity": [{"spot": {"maxPriceUsdPerHour": "0.50"}}]},
            {"spotMarketOptions": {"maxPrice": "0.50"}},
        ),
        ({"capacity": [{"reserved": RESERVED}]}, {"capacityReservationId": RESERVED["id"]}),
        (
            {**P5, "capacity": [{"capacityBlock": BLOCK}]},
            {"marketType": "CapacityBlock", "capacityReservationId": BLOCK["id"]},
        ),
        (
            {"openshiftAws": {"placementGroup": "near", "placementGroupPartition": 2}},
            {"placementGroupName": "near", "placementGroupPartition": 2},
        ),
        (
            {"openshiftAws": {"amiId": "ami-0bbbbbbbbbbbbbbbb"}},
            {"ami": {"id": "ami-0bbbbbbbbbbbbbbbb"}},
        ),
        (
            {"openshiftAws": {"tenancy": "dedicated"}},
            {
                "placement": {
                    "region": "us-east-1",
                    "availabilityZone": "us-east-1a",
                    "tenancy": "dedicated",
                }
            },
        ),
        (
            {"openshiftAws": {"volumeType": "io1", "iops": 3000}, "disk": {"sizeGib": 300}},
            {
                "blockDevices": [
                    {
                        "ebs": {
                            "encrypted": True,
                            "volumeSize": 300,
                            "volumeType": "io1",
                            "iops": 3000,
                        }
                    }
                ]
            },
        ),
    ],
)
def test_what_a_declaration_makes_of_the_machine(
    pool: dict[str, Any], fields: dict[str, Any]
) -> None:
    if "instanceTypes" in pool:
        pool = {**pool, "gpu": "H100-80GB", "zones": ["us-east-1a"]}
    made = machine(pool)
    assert {key: made[key] for key in fields} == fields
    assert schema_problems(sets(pool)[0]) == ()


def test_what_an_empty_set_promises() -> None:
    annotations = sets({})[1]["metadata"]["annotations"]
    assert annotations["machine.openshift.io/vCPU"] == "4"
    assert annotations["machine.openshift.io/memoryMb"] == str(16 * 1024)
    assert annotations["machine.openshift.io/GPU"] == "1"
    assert annotations[f"{CAPACITY}gpu-type"] == "nvidia.com/gpu.shared"
    assert annotations[f"{CAPACITY}gpu-count"] == "4"
    assert annotations[f"{CAPACITY}labels"].startswith("kubernetes.io/arch=amd64,")


def test_slices_of_an_a100() -> None:
    made = fleet("openshiftAws", AWS_SLICES)
    assert dict(made.pools[0].advertised) == {"nvidia.com/mig-1g.10gb": 56}
    one = machine_set(made.pools[0], "ocp", OnAws().place(PLACE, made.spec), "us-east-1a")
    labels = one["spec"]["template"]["spec"]["metadata"]["labels"]
    assert labels["nvidia.com/mig.config"].startswith("slices-")
    assert labels["node-role.kubernetes.io/slices"] == ""


@pytest.mark.parametrize(
    ("missing", "code"),
    [
        ("amiId", "openshift-image-missing"),
        ("securityGroupNames", "openshift-security-groups-missing"),
        ("subnetIdsByZone", "zone-without-subnet"),
    ],
)
def test_what_a_connection_lacks(missing: str, code: str) -> None:
    made = fleet("openshiftAws", AWS_CHAT)
    given = {key: value for key, value in PLACE.items() if key != missing}
    assert list(OnAws().validate_place(made.pools[0], PLACE, "connection")) == []
    (found,) = OnAws().validate_place(made.pools[0], given, "connection")
    assert found.code == code
    assert found.path.startswith("connection.")
    both = {**PLACE, "subnetIdsByZone": {"us-east-1a": "subnet-1", "us-east-1c": "subnet-2"}}
    (twice,) = OnAws().validate_place(made.pools[0], both, "connection")
    assert twice.code == "zone-with-two-subnets"


def test_prices_are_those_of_the_instance_types() -> None:
    """One fact in one place: what EKS pays for the machine, OpenShift pays."""
    same = {**AWS_CHAT, "instanceTypes": ["g6.xlarge"]}
    eks = compile_data({**declaration("openshiftAws", same), "platform": "eks"}).fleet
    assert eks is not None
    assert fleet("openshiftAws", same).pools[0].hourly_usd == eks.pools[0].hourly_usd is not None


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"nodes": {"min": 1, "max": 5}}, "live"),
        ({"zones": ["us-east-1a", "us-east-1b"]}, "live"),
        ({"openshiftAws": {"rollout": "surge"}}, "untouched"),  # how later changes are made
        ({"sharing": {"timeSlicing": {"replicas": 8}}}, "newNodes"),
        ({"disk": {"sizeGib": 300}}, "newNodes"),
        ({"capacity": [{"spot": {}}]}, "newNodes"),
    ],
)
def test_what_a_change_does(changes: dict[str, Any], kind: str) -> None:
    old, new = fleet("openshiftAws", AWS_CHAT), fleet("openshiftAws", {**AWS_CHAT, **changes})
    (pool,) = change_plan(old, new).pools
    assert pool.kind.value == kind


def test_a_zone_that_goes_takes_its_nodes() -> None:
    two = {**AWS_CHAT, "zones": AWS_CHAT["zones"][:2]}
    plan = change_plan(fleet("openshiftAws", AWS_CHAT), fleet("openshiftAws", two))
    (found,) = [one for one in plan.findings if one.code == "change-removes-nodes"]
    assert "machineSet/us-east-1c" in found.message
