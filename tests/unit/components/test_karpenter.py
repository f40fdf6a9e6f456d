import json
from typing import Any

import pytest

from gpufleet import Karpenter
from gpufleet.catalogue import load
from gpufleet.components_base.inputs import InvalidArgumentsError
from gpufleet.platforms.compiled import compile_data
from gpufleet.render.releases import releases

RELEASE = "kubernetes:helm.sh/v3:Release"


def arguments(**changes: Any) -> Any:
    return {
        "catalogue": "2026.11",
        "cluster_name": "ml",
        "region": "us-east-1",
        "node_role_arn": "arn:aws:iam::123456789012:role/nodes",
        **changes,
    }


def test_the_chart_is_pinned_and_told_of_cluster_and_queue(run: Any) -> None:
    recording = run(lambda: Karpenter("karpenter", arguments(node_overlay=True)))
    release = recording.one(RELEASE)
    assert release.inputs["version"] == "1.14.1"
    assert release.inputs["chart"] == "oci://public.ecr.aws/karpenter/karpenter"
    settings = release.inputs["values"]["settings"]
    assert settings["clusterName"] == "ml"
    assert settings["interruptionQueue"] == "made-queue"
    assert settings["featureGates"] == {
        "nodeOverlay": True,
        "nodeRepair": False,
        "reservedCapacity": True,
    }
    assert "karpenter-identity" in release.depends_on


def test_definitions_of_the_same_version_come_first_and_stay(run: Any) -> None:
    wanted = arguments(upgrade_definitions=True, version="1.15.1")
    recording = run(lambda: Karpenter("karpenter", wanted))
    made = {one.inputs["name"]: one for one in recording.all(RELEASE)}
    definitions, karpenter = made["karpenter-crd"], made["karpenter"]
    assert definitions.inputs["version"] == karpenter.inputs["version"] == "1.15.1"
    assert definitions.inputs["namespace"] == karpenter.inputs["namespace"] == "kube-system"
    assert definitions.inputs["chart"] == "oci://public.ecr.aws/karpenter/karpenter-crd"
    kept = {"helm.sh/resource-policy": "keep"}
    assert definitions.inputs["values"]["additionalAnnotations"] == kept
    assert "karpenter-definitions" in karpenter.depends_on


def test_definitions_and_chart_are_pinned_to_one_version() -> None:
    charts = load("2026.11").charts
    assert charts["karpenter-crd"].version == charts["karpenter"].version
    assert charts["karpenter-crd"].namespace == charts["karpenter"].namespace


@pytest.mark.parametrize(
    ("addon", "warned", "released"),
    [
        ({}, False, False),
        ({"version": "1.15.1"}, True, False),
        ({"version": "1.15.1", "upgradeDefinitions": False}, False, False),
        ({"version": "1.15.1", "ownership": "existing"}, False, False),
        ({"version": "1.15.1", "upgradeDefinitions": True}, False, True),
    ],
)
def test_a_declared_version_asks_what_becomes_of_definitions(
    addon: dict[str, Any], warned: bool, released: bool
) -> None:
    declared = {
        "catalogue": "2026.11",
        "platform": "eks",
        "cluster": {"name": "ml", "region": "us-east-1"},
        "provisioner": "karpenter",
        "pools": [{"name": "chat", "gpu": "L4", "nodes": {"min": 0, "max": 1}}],
        "addons": {"karpenter": addon},
    }
    compiled = compile_data(declared)
    assert compiled.fleet is not None
    codes = [one.code for one in compiled.findings]
    assert ("karpenter-definitions-not-upgraded" in codes) is warned
    names = [one.chart.name for one in releases(compiled.fleet)]
    assert ("karpenter-crd" in names) is released
    if released:
        assert names.index("karpenter-crd") < names.index("karpenter")


def test_machines_join_by_an_access_entry_that_is_asked_for(run: Any) -> None:
    token = "aws:eks/accessEntry:AccessEntry"
    assert run(lambda: Karpenter("karpenter", arguments())).all(token) == []
    recording = run(lambda: Karpenter("karpenter", arguments(access_entry=True)))
    entry = recording.one(token)
    assert entry.inputs["principalArn"] == "arn:aws:iam::123456789012:role/nodes"
    assert entry.inputs["type"] == "EC2_LINUX"
    assert "karpenter-access" in recording.one(RELEASE).depends_on


def test_every_reason_to_end_reaches_the_queue(run: Any) -> None:
    recording = run(lambda: Karpenter("karpenter", arguments()))
    rules = recording.all("aws:cloudwatch/eventRule:EventRule")
    patterns = [json.loads(rule.inputs["eventPattern"]) for rule in rules]
    details = {detail for pattern in patterns for detail in pattern["detail-type"]}
    assert len(details) == len(patterns) == 5
    assert "EC2 Spot Instance Interruption Warning" in details
    targets = recording.all("aws:cloudwatch/eventTarget:EventTarget")
    assert {t.inputs["arn"].split(":")[-1] for t in targets} == {"made-queue"}
    assert len(targets) == len(patterns)


def test_writes_are_bound_to_the_cluster(run: Any) -> None:
    recording = run(lambda: Karpenter("karpenter", arguments()))
    policy = json.loads(recording.one("aws:iam/rolePolicy:RolePolicy").inputs["policy"])
    text = json.dumps(policy)
    assert "kubernetes.io/cluster/ml" in text
    by_action = {
        action: statement for statement in policy["Statement"] for action in statement["Action"]
    }
    assert by_action["iam:PassRole"]["Resource"] == ["arn:aws:iam::123456789012:role/nodes"]
    assert by_action["ec2:TerminateInstances"]["Condition"]["StringEquals"] == {
        "aws:ResourceTag/kubernetes.io/cluster/ml": "owned"
    }
    writes = {a for a in by_action if a.startswith("ec2:") and not a.startswith("ec2:Describe")}
    unbound = [
        statement
        for statement in policy["Statement"]
        if set(statement["Action"]) & writes and statement["Resource"] == ["*"]
    ]
    assert unbound == []


@pytest.mark.parametrize(
    ("partition", "region"), [("aws-us-gov", "us-gov-west-1"), ("aws-cn", "cn-north-1")]
)
def test_the_policy_is_of_the_roles_own_partition(run: Any, partition: str, region: str) -> None:
    role = f"arn:{partition}:iam::123456789012:role/eks/nodes"
    given = arguments(region=region, node_role_arn=role)
    recording = run(lambda: Karpenter("karpenter", given))
    policy = json.loads(recording.one("aws:iam/rolePolicy:RolePolicy").inputs["policy"])
    named = {
        resource.split(":")[1]
        for statement in policy["Statement"]
        for resource in statement["Resource"]
        if resource not in {"*", "made-queue"} and "sqs" not in resource
    }
    assert named == {partition}
    (passed,) = [one for one in policy["Statement"] if one["Action"] == ["iam:PassRole"]]
    assert passed["Resource"] == [role]
    assert "ec2.amazonaws.com.cn" in passed["Condition"]["StringEquals"]["iam:PassedToService"]


def test_the_role_belongs_to_its_service_account(run: Any) -> None:
    recording = run(lambda: Karpenter("karpenter", arguments()))
    bound = recording.one("aws:eks/podIdentityAssociation:PodIdentityAssociation").inputs
    assert (bound["namespace"], bound["serviceAccount"]) == ("kube-system", "karpenter")
    values = recording.one(RELEASE).inputs["values"]
    assert values["serviceAccount"]["name"] == "karpenter"


def test_names_of_long_clusters_fit(run: Any) -> None:
    recording = run(lambda: Karpenter("karpenter", arguments(name_prefix="c" * 100)))
    queue = recording.one("aws:sqs/queue:Queue").inputs["namePrefix"]
    role = recording.one("aws:iam/role:Role").inputs["namePrefix"]
    assert len(queue) == 80 - 26  # the provider adds 26
    assert len(role) == 64 - 26
    assert queue.endswith("-karpenter-")
    assert role.endswith("-karpenter-")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"catalogue": "1999.01"}, "catalogue-edition-unknown"),
        ({"node_overlays": True}, "nearest: node_overlay"),
        ({"tags": {"a": 1}}, "tags.a"),
        ({"tags": {"team": "R&D"}}, "tag-characters: tags.team"),
    ],
)
def test_a_wrong_setting_is_named(run: Any, wrong: Any, said: str) -> None:
    def program() -> None:
        with pytest.raises(InvalidArgumentsError) as caught:
            Karpenter("karpenter", arguments(**wrong))
        assert said in str(caught.value)

    assert run(program).resources == []
