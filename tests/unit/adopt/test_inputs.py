"""Cluster dumps, plans and values of charts: what is adopted and what is not expressed."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gpufleet.adopt.refine import registered
from gpufleet.fleet.model import Fleet
from gpufleet.platforms.compiled import compile_data
from gpufleet.render.artefact import ArtefactKind
from gpufleet.render.artefacts import artefacts
from gpufleet_policies.commands.adopt import command
from tests.reading import yaml_data, yaml_documents
from tests.unit.adopt.blueprints import eks_blueprint, gke_blueprint

KARPENTER = {
    "catalogue": "2026.11",
    "platform": "eks",
    "cluster": {"name": "ml", "region": "us-east-1"},
    "provisioner": "karpenter",
    "pools": [
        {
            "name": "chat",
            "instanceTypes": ["g6.2xlarge", "g6.4xlarge"],
            "nodes": {"min": 0, "max": 8},
            "capacity": [{"spot": {}}, {"onDemand": {}}],
            "intent": "batch",
            "sharing": {"timeSlicing": {"replicas": 4}},
        },
        {
            "name": "notebooks",
            "instanceTypes": ["p4de.24xlarge"],
            "nodes": {"min": 0, "max": 2},
            "intent": "interactive",
            "zones": ["us-east-1a"],
            "sharing": {
                "mig": {
                    "layouts": [
                        {"gpus": 4, "devices": {"1g.10gb": 7}},
                        {"gpus": 2, "devices": {"3g.40gb": 1, "2g.20gb": 2}},
                    ]
                }
            },
        },
    ],
}


def run(tmp_path: Path, *documents: Any, more: tuple[str, ...] = ()) -> Result:
    names: list[str] = []
    for i, document in enumerate(documents):
        file = tmp_path / f"input-{i}.json"
        file.write_text(json.dumps(document))
        names.append(str(file))
    return CliRunner().invoke(command, [*names, *more])


def adopted(tmp_path: Path, *documents: Any) -> dict[str, Any]:
    result = run(tmp_path, *documents, more=("--format", "json"))
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def fleet_of(data: dict[str, Any]) -> Fleet:
    compiled = compile_data(data)
    assert compiled.deployable, [one.message for one in compiled.findings]
    assert compiled.fleet is not None
    return compiled.fleet


def rendered_dump(fleet: Fleet) -> dict[str, Any]:
    """Output of `kubectl get -o json` for a cluster with the rendered manifests."""
    items = [
        {**document, "status": {}}
        for file in artefacts(fleet)
        if file.kind is ArtefactKind.MANIFEST
        for document in yaml_documents(file.text)
    ]
    return {"apiVersion": "v1", "kind": "List", "items": items}


def test_a_cluster_with_karpenter_gives_the_fleet_that_was_rendered(tmp_path: Path) -> None:
    fleet = fleet_of(KARPENTER)
    found = adopted(tmp_path, rendered_dump(fleet))
    assert found["notExpressed"] == []
    again = fleet_of(found["spec"])
    ours = {file.path: file.text for file in artefacts(fleet)}
    theirs = {file.path: file.text for file in artefacts(again)}
    assert theirs == ours


def test_what_others_wrote_for_karpenter_keeps_everything_that_has_a_field(tmp_path: Path) -> None:
    """An alias with a date is not a release by itself: it must not take capacity and disk with
    it."""
    dump = rendered_dump(fleet_of({**KARPENTER, "pools": KARPENTER["pools"][:1]}))
    for item in dump["items"]:
        if item["kind"] == "NodePool":
            item["spec"]["limits"] = {"nvidia.com/gpu": "6"}
        if item["kind"] == "EC2NodeClass":
            item["spec"]["amiSelectorTerms"] = [{"alias": "al2023@v20260101"}]
            item["spec"]["blockDeviceMappings"][-1]["ebs"]["volumeSize"] = "100Gi"
    found = adopted(tmp_path, dump)
    pool = found["spec"]["pools"][0]
    assert pool["capacity"] == [{"spot": {}}, {"onDemand": {}}]
    assert pool["disk"] == {"sizeGib": 100}
    assert pool["eks"]["releaseVersion"] == "1.36.0-20260101"
    assert pool["nodes"]["max"] == 6
    assert any("its limit of 6 nvidia.com/gpu, 1 for each machine" in n for n in found["notes"])


def test_a_value_that_is_refused_is_named_and_takes_nothing_with_it(tmp_path: Path) -> None:
    dump = rendered_dump(fleet_of({**KARPENTER, "pools": KARPENTER["pools"][:1]}))
    for item in dump["items"]:
        if item["kind"] == "EC2NodeClass":
            item["spec"]["amiSelectorTerms"] = [{"alias": "al2023@tested"}]
    found = adopted(tmp_path, dump)
    pool = found["spec"]["pools"][0]
    assert pool["capacity"] == [{"spot": {}}, {"onDemand": {}}]
    assert "releaseVersion" not in pool.get("eks", {})
    assert any("eks.releaseVersion: 1.36.0-tested is not written" in n for n in found["notes"])


def test_a_refused_value_takes_neither_the_purchase_nor_the_options_with_it(tmp_path: Path) -> None:
    """GKE upgrades no flex-start nodes blue-green: the value is named, the three steps stay."""
    ways = [{"flexStart": {}}, {"onDemand": {}}, {"spot": {}}]
    pool = {"name": "a100", "instanceTypes": ["a2-ultragpu-1g"], "nodes": {"min": 0, "max": 4}}
    options = {"upgrade": {"strategy": "blueGreen"}, "maxPods": 32}
    spec = {"catalogue": "2026.11", "platform": "gke", "cluster": {"name": "ml"}}
    spec["cluster"] |= {"region": "us-central1", "project": "lab"}
    fleet = compile_data({**spec, "pools": [{**pool, "capacity": ways, "gke": options}]}).fleet
    assert fleet is not None
    made = registered(fleet, fleet.pools[0])
    place = {"cluster": "ml", "location": "us-central1", "project": "lab"}
    resources = [
        {
            "urn": f"urn:pulumi:dev::other::gcp:container/nodePool:NodePool::{name}",
            "type": "gcp:container/nodePool:NodePool",
            "id": name,
            "custom": True,
            "inputs": {"name": name, **place, **inputs},
        }
        for name, inputs in made.items()
        if name.startswith("nodePool/")
    ]
    assert len(resources) == len(ways)
    state = {"version": 3, "deployment": {"resources": resources}}
    dump = {"apiVersion": "v1", "kind": "List", "items": [made["computeClass"]]}
    found = adopted(tmp_path, state, dump)
    (one,) = found["spec"]["pools"]
    assert [next(iter(way)) for way in one["capacity"]] == ["flexStart", "onDemand", "spot"]
    assert one["gke"] == {"maxPods": 32}
    assert {way["path"].partition(".")[0] for way in found["notExpressed"]} == {"upgradeSettings"}
    assert "gke.upgrade.strategy: blueGreen is not written" in str(found["notes"])


def test_what_runs_already_is_asked_for(tmp_path: Path) -> None:
    found = adopted(tmp_path, rendered_dump(fleet_of(KARPENTER)))
    assert any(
        "no release of it was found in the input: write `addons.gpuOperator" in note
        for note in found["notes"]
    )


def test_a_cluster_policy_switches_the_operands(tmp_path: Path) -> None:
    dump = rendered_dump(fleet_of(KARPENTER))
    switches = {"driver": {"enabled": False}, "toolkit": {"enabled": False}}
    switches |= {"devicePlugin": {"enabled": True}, "dcgm": {"enabled": True}}
    dump["items"].append(
        {
            "apiVersion": "nvidia.com/v1",
            "kind": "ClusterPolicy",
            "metadata": {"name": "cluster-policy"},
            "spec": {**switches, "mig": {"strategy": "mixed"}},
        }
    )
    found = adopted(tmp_path, dump)
    assert found["spec"]["addons"] == {"gpuOperator": {"values": {"dcgm": {"enabled": True}}}}
    assert found["notExpressed"] == []


def test_values_of_a_chart_become_those_of_the_add_on(tmp_path: Path) -> None:
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps(rendered_dump(fleet_of(KARPENTER))))
    values = tmp_path / "gpu-operator-values.yaml"
    values.write_text(
        "driver: {enabled: false}\ntoolkit: {enabled: false}\ndcgm: {enabled: true}\n"
    )
    result = CliRunner().invoke(command, [str(dump), str(values), "--format", "json"])
    spec = json.loads(result.stdout)["spec"]
    assert spec["addons"]["gpuOperator"]["values"] == {"dcgm": {"enabled": True}}


def test_the_eks_blueprint_with_what_it_has_and_a_pool_has_not(tmp_path: Path) -> None:
    found = adopted(tmp_path, eks_blueprint())
    (pool,) = found["spec"]["pools"]
    assert pool["instanceTypes"] == ["p5.48xlarge"]
    assert pool["nodes"] == {"min": 2, "max": 2}
    assert pool["fabric"] == "efa"
    assert pool["labels"] == {"vpc.amazonaws.com/efa.present": "true"}
    assert pool["name"] == "nvidia-efa"
    assert pool["eks"]["metadataHopLimit"] == 2
    assert pool["eks"]["nodeRepair"] is False
    assert found["spec"]["cluster"]["kubernetesVersion"] == "1.32"
    missed = {(one["path"], json.dumps(one["found"])) for one in found["notExpressed"]}
    # The blueprint's GPU taint has another value than gpufleet's, which pods tolerate by key.
    assert ("taints[0].value", '"true"') in missed
    assert found["imports"][0]["type"] == "aws:eks/nodeGroup:NodeGroup"
    # Neither the blueprint nor its zones name a region, so that the user does.
    assert "region" not in found["spec"]["cluster"]
    found["spec"]["cluster"]["region"] = "us-east-1"
    assert fleet_of(found["spec"]).pools[0].gpu.key == "H100-80GB"


def test_the_gke_blueprint_with_what_it_has_and_a_pool_has_not(tmp_path: Path) -> None:
    found = adopted(tmp_path, gke_blueprint())
    (pool,) = found["spec"]["pools"]
    assert pool["instanceTypes"] == ["a3-highgpu-8g"]
    assert pool["nodes"] == {"min": 2, "max": 1000}
    assert pool["zones"] == ["us-central1-c"]
    assert pool["fabric"] == "tcpx"
    assert pool["disk"] == {"sizeGib": 100}
    assert pool["gke"]["autoUpgrade"] is False
    assert "linuxNodeConfig" in json.dumps([pool, found["notExpressed"]])
    assert fleet_of(found["spec"]).pools[0].gpu.key == "H100-80GB"


def test_people_get_the_declaration_and_programs_can_read_it(tmp_path: Path) -> None:
    result = run(tmp_path, gke_blueprint())
    assert result.exit_code == 0
    assert fleet_of(yaml_data(result.stdout)).pools[0].name == "a3-highgpu-8g-a3-highgpupool"
    assert "not expressed" in result.stderr


def test_importable_pools_name_what_they_import(tmp_path: Path) -> None:
    plan = gke_blueprint()
    after = plan["resource_changes"][0]["change"]["after"]
    after |= {"project": "p", "location": "us-central1", "cluster": "gke-a3-highgpu"}
    plan["resource_changes"][0]["change"]["after_unknown"].pop("project")
    result = run(tmp_path, plan, more=("--import-ids", "--format", "json"))
    (pool,) = json.loads(result.stdout)["spec"]["pools"]
    assert pool["importId"] == "p/us-central1/gke-a3-highgpu/a3-highgpu-8g-a3-highgpupool"


def test_what_is_nothing_of_that_is_refused(tmp_path: Path) -> None:
    result = run(tmp_path, {"a": 1})
    assert "it has no dump of a cluster, plan, state or values of a chart" in str(result.exception)


def test_a_cluster_without_gpus_is_no_fleet(tmp_path: Path) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "cpu"}}
    result = run(tmp_path, {"kind": "List", "items": [node]})
    assert result.exit_code == 1
    assert "no resource is of a type that makes nodes with GPUs" in result.stderr


def test_a_block_whose_end_nothing_says_is_named(tmp_path: Path) -> None:
    block = {"id": "cr-0123456789abcdef0", "zone": "us-east-1a", "until": "2026-12-20T11:30:00Z"}
    pool = {
        "name": "trn",
        "instanceTypes": ["trn2u.48xlarge"],
        "nodes": {"min": 0, "max": 2},
        "capacity": [{"capacityBlock": block}],
    }
    chat = {**KARPENTER["pools"][0], "name": "other"}
    fleet = fleet_of({**KARPENTER, "pools": [pool, chat]})
    found = adopted(tmp_path, rendered_dump(fleet))
    assert [one["name"] for one in found["spec"]["pools"]] == ["other"]
    assert any(note.startswith("pool trn is left out") for note in found["notes"])
    assert "gpufleet-trn" in json.dumps(found["notExpressed"])


def node(name: str, group: dict[str, str], machine: str, zone: str, provider: str) -> Any:
    """A Node as EKS and GKE register it (well-known labels of Kubernetes, and those of `group`)."""
    labels = {
        **group,
        "node.kubernetes.io/instance-type": machine,
        "topology.kubernetes.io/region": zone.rpartition("-")[0]
        if "gce" in provider
        else zone[:-1],
        "topology.kubernetes.io/zone": zone,
        "team": "vision",
    }
    taints = [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
        {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"},
        {"key": "vision", "value": "only", "effect": "NoSchedule"},
    ]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"providerID": f"{provider}{name}", "taints": taints},
        "status": {"nodeInfo": {"kubeletVersion": "v1.33.4"}},
    }


def test_nodes_of_eks_alone_say_what_they_say(tmp_path: Path) -> None:
    spot = {"eks.amazonaws.com/nodegroup": "GPU_spot", "eks.amazonaws.com/capacityType": "SPOT"}
    dump = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [
            node("a", spot, "g6.xlarge", "us-west-2a", "aws:///us-west-2a/"),
            node("b", spot, "g6.2xlarge", "us-west-2b", "aws:///us-west-2b/"),
            node("c", {"karpenter.sh/nodepool": "train"}, "p5.48xlarge", "us-west-2a", "aws:///"),
            node("d", {"eks.amazonaws.com/nodegroup": "web"}, "m6i.large", "us-west-2a", "aws:///"),
        ],
    }
    found = adopted(tmp_path, dump)
    spec = found["spec"]
    assert spec["platform"] == "eks"
    assert spec["cluster"] == {
        "name": "adopted",
        "region": "us-west-2",
        "kubernetesVersion": "1.33",
    }
    assert spec["pools"] == [
        {
            "name": "gpu-spot",
            "instanceTypes": ["g6.xlarge", "g6.2xlarge"],
            "nodes": {"min": 2, "max": 2},
            "ownership": "existing",
            "zones": ["us-west-2a", "us-west-2b"],
            "capacity": [{"spot": {}}],
            "taints": [{"key": "vision", "value": "only", "effect": "NoSchedule"}],
            "labels": {"team": "vision"},
        },
        {
            "name": "train",
            "instanceTypes": ["p5.48xlarge"],
            "nodes": {"min": 1, "max": 1},
            "ownership": "existing",
            "zones": ["us-west-2a"],
            "taints": [{"key": "vision", "value": "only", "effect": "NoSchedule"}],
            "labels": {"team": "vision"},
        },
    ]
    assert compile_data(spec).deployable
    notes = " ".join(found["notes"])
    for missing in ("bounds", "image", "disk", "reservations", "Terraform", "nodepools"):
        assert missing in notes


def test_nodes_of_gke_alone_say_what_they_say(tmp_path: Path) -> None:
    group = {"cloud.google.com/gke-nodepool": "l4", "cloud.google.com/gke-spot": "true"}
    on_demand = {"cloud.google.com/gke-nodepool": "l4"}
    dump = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [
            node("a", group, "g2-standard-4", "us-central1-a", "gce://lab/us-central1-a/"),
            node("b", on_demand, "g2-standard-4", "us-central1-a", "gce://lab/us-central1-a/"),
        ],
    }
    found = adopted(tmp_path, dump)
    assert found["spec"]["platform"] == "gke"
    assert found["spec"]["cluster"]["region"] == "us-central1"
    (pool,) = found["spec"]["pools"]
    assert pool["instanceTypes"] == ["g2-standard-4"]
    assert pool["ownership"] == "existing"
    assert "capacity" not in pool
    assert any("some of its nodes are spot" in note for note in found["notes"])


def test_nodes_of_a_group_that_was_found_make_no_second_pool(tmp_path: Path) -> None:
    dump = rendered_dump(fleet_of(KARPENTER))
    pools = [one for one in dump["items"] if one["kind"] == "NodePool"]
    group = {"karpenter.sh/nodepool": pools[0]["metadata"]["name"]}
    one = node("a", group, "g6.2xlarge", "us-east-1a", "aws:///")
    names = [pool["name"] for pool in adopted(tmp_path, dump)["spec"]["pools"]]
    dump["items"].append(one)
    assert [pool["name"] for pool in adopted(tmp_path, dump)["spec"]["pools"]] == names


@pytest.mark.parametrize("found", [[], {}, "", "three", True, -1])
def test_a_node_pool_with_values_of_other_types_is_adopted(tmp_path: Path, found: Any) -> None:
    """States of programs that were edited, and plans whose values are not known yet."""
    driver = {"gpuDriverVersion": found}
    gpus = {"type": "nvidia-l4", "count": 1, "gpuDriverInstallationConfig": driver}
    inputs = {
        "name": found,
        "cluster": "ml",
        "location": "us-central1",
        "autoscaling": {"minNodeCount": found, "maxNodeCount": found},
        "nodeConfig": {"machineType": "g2-standard-8", "guestAccelerators": [gpus]},
    }
    kind = "gcp:container/nodePool:NodePool"
    one = {"urn": f"urn:pulumi:s::p::{kind}::g", "type": kind, "custom": True, "inputs": inputs}
    document = {"version": 3, "deployment": {"manifest": {}, "resources": [one]}}
    result = run(tmp_path, document, more=("--format", "json"))
    assert isinstance(result.exception, SystemExit | None)
    (pool,) = json.loads(result.output)["spec"]["pools"]
    assert pool["nodes"] == {"min": 0, "max": 1}
    assert "no upper bound was found" in result.output
