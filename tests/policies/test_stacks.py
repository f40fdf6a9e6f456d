"""Pulumi programs in YAML and templates of CloudFormation, with the output of the CDK."""

import json
from pathlib import Path

from gpufleet.cluster import WorkloadFacts
from gpufleet.cluster.fact import UNKNOWN
from gpufleet.cluster.pool import NodePool
from gpufleet_policies.readers.documents import facts_of_document
from gpufleet_policies.readers.stacks import NAME, TYPE, resources_of
from tests.policies.audit.test_wrappers import audit, write

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "ml"},
    "spec": {
        "containers": [
            {
                "name": "m",
                "image": "i:1",
                "command": ["sleep", "infinity"],
                "resources": {"limits": {"nvidia.com/gpu": 1}},
            }
        ]
    },
}
GROUP = {
    "ClusterName": {"Ref": "Cluster"},
    "InstanceTypes": ["p4d.24xlarge"],
    "AmiType": "AL2023_x86_64_NVIDIA",
    "ScalingConfig": {"MinSize": 2, "DesiredSize": 2, "MaxSize": 2},
    "Labels": {"Team": "ml"},
    "Tags": {"Owner": {"Ref": "Owner"}},
}
TEMPLATE = {
    "Resources": {
        "Ng": {"Type": "AWS::EKS::Nodegroup", "Properties": GROUP},
        "M": {
            "Type": "Custom::AWSCDK-EKS-KubernetesResource",
            "Properties": {"Manifest": json.dumps([POD])},
        },
    }
}
PROGRAM = """\
name: p
runtime: yaml
config: {replicas: {type: integer, default: 2}}
resources:
  pool:
    type: aws:eks:NodeGroup
    properties:
      instanceTypes: [p4d.24xlarge]
      scalingConfig: {minSize: "${replicas}", maxSize: 4}
  idle:
    type: kubernetes:apps/v1:Deployment
    properties:
      metadata: {namespace: ml, name: idle}
      spec:
        replicas: 2
        selector: {matchLabels: {a: b}}
        template:
          metadata: {labels: {a: b}}
          spec:
            containers:
              - name: main
                image: registry.example.com/app:1
                command: [sleep, infinity]
                resources: {limits: {nvidia.com/gpu: 1}}
  there:
    type: aws:eks:NodeGroup
    get: {id: x}
"""


def test_a_template_gives_pools_and_the_objects_of_its_manifests(tmp_path: Path) -> None:
    write(tmp_path, {"stack.template.json": json.dumps(TEMPLATE, indent=1)})
    found = audit(tmp_path, "--profile", "prod")
    by_rule = {one["code"]: one for one in found["findings"]}
    assert by_rule["gpu-idle-command"]["object"] == "Pod ml/p"
    assert "p4d.24xlarge of pool Ng" in by_rule["gpu-idle-command"]["text"]
    fixed = by_rule["gpu-pool-fixed-size"]
    assert (fixed["object"], fixed["line"]) == ("NodeGroup Ng", 5)


def test_references_and_functions_are_unknown() -> None:
    (place, member), _ = resources_of(TEMPLATE)
    assert place == ("Resources", "Ng", "Properties")
    assert member["clusterName"] is UNKNOWN
    assert member["labels"] == {"Team": "ml"}
    assert member["tags"] == {"Owner": UNKNOWN}
    assert (member[TYPE], member[NAME]) == ("aws:eks/nodeGroup:NodeGroup", "Ng")


def test_a_manifest_that_is_joined_keeps_what_is_written() -> None:
    text = json.dumps([POD]).replace('"ml"', '"@"').split("@")
    joined = {"Fn::Join": ["", [text[0], {"Ref": "Namespace"}, text[1]]]}
    manifest = {"Type": "Custom::AWSCDK-EKS-KubernetesResource", "Properties": {"Manifest": joined}}
    ((_, member),) = resources_of({"Resources": {"M": manifest}})
    assert member["metadata"] == {"name": "p", "namespace": UNKNOWN}
    assert member[TYPE] == "kubernetes:core/v1:Pod"


def test_launch_templates_and_groups_are_read_in_the_spelling_of_pulumi() -> None:
    template = {"LaunchTemplateName": "gpu", "LaunchTemplateData": {"InstanceType": "g6.xlarge"}}
    group = {"MinSize": "1", "LaunchTemplate": {"LaunchTemplateId": "lt-1", "Version": "1"}}
    resources = {
        "T": {"Type": "AWS::EC2::LaunchTemplate", "Properties": template},
        "G": {"Type": "AWS::AutoScaling::AutoScalingGroup", "Properties": group},
        "B": {"Type": "AWS::Batch::ComputeEnvironment", "Properties": {}},
    }
    (_, first), (_, second), (_, third) = resources_of({"Resources": resources})
    assert (first["name"], first["instanceType"]) == ("gpu", "g6.xlarge")
    assert second["launchTemplate"] == {"id": "lt-1", "version": "1"}
    (left,) = facts_of_document(third, "a.yaml")
    assert left.reason == "no rule reads the fields of AWS::Batch::ComputeEnvironment"


def test_functions_of_yaml_are_unknown(tmp_path: Path) -> None:
    text = "Resources:\n  Ng:\n    Type: AWS::EKS::Nodegroup\n    Properties:\n"
    text += "      InstanceTypes: [!Ref Machine]\n      ScalingConfig: {MinSize: !Ref Least}\n"
    write(tmp_path, {"a.yaml": text})
    assert audit(tmp_path)["findings"] == []


def test_a_program_in_yaml_gives_what_it_will_create(tmp_path: Path) -> None:
    write(tmp_path, {"Pulumi.yaml": PROGRAM})
    found = audit(tmp_path, "--profile", "prod")
    idle = next(one for one in found["findings"] if one["code"] == "gpu-idle-command")
    assert (idle["object"], idle["line"]) == ("Deployment ml/idle", 21)


def test_what_is_interpolated_is_unknown_and_what_exists_is_left_out() -> None:
    from gpufleet_policies.readers.document_text import read_documents

    members = [one for _, one in resources_of(read_documents(PROGRAM)[0].data)]
    facts = [fact for one in members for fact in facts_of_document(one, "Pulumi.yaml")]
    pool = next(one for one in facts if isinstance(one, NodePool))
    assert pool.size.minimum.is_unknown
    assert pool.size.maximum.found == 4
    assert [type(one) for one in facts].count(WorkloadFacts) == 1
    assert [one[NAME] for one in members] == ["pool", "idle"]
