"""Existing nodes: their selection, the owner of labels, their software and cost."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gpufleet.fleet.gpu_operator_chart import operator_values
from gpufleet.fleet.model import Fleet
from gpufleet.platforms.compiled import Compiled, compile_data
from gpufleet.platforms.existing.labels import commands, node_feature_rule, node_patches
from gpufleet.render.artefacts import artefacts
from gpufleet.render.gpu_operator_values import fleet_operator_settings
from tests.reading import yaml_data

EXAMPLES = sorted((Path(__file__).parents[4] / "examples" / "existing-nodes").glob("*-*.yaml"))
AKS = EXAMPLES[0].with_name("aks.yaml")


def compiled(*pools: dict[str, Any], **cluster: Any) -> Compiled:
    usual = {"gpu": "H100-80GB", "gpusPerNode": 8, "nodes": {"min": 2, "max": 2}}
    return compile_data(
        {
            "catalogue": "2026.11",
            "platform": "existing",
            "cluster": {"name": "metal", **cluster},
            "pools": [{"name": f"p{i}", **usual, **pool} for i, pool in enumerate(pools)],
        }
    )


def fleet(*pools: dict[str, Any], **cluster: Any) -> Fleet:
    made = compiled(*pools, **cluster)
    assert made.deployable, made.findings
    assert made.fleet is not None
    return made.fleet


def errors(*pools: dict[str, Any]) -> list[tuple[str, str]]:
    return [(f.code, f.path) for f in compiled(*pools).findings if f.severity.value == "error"]


def test_five_lines_are_every_node_with_an_nvidia_gpu() -> None:
    made = fleet({})
    (pool,) = made.pools
    assert (pool.machines[0].vcpu, pool.machines[0].memory_bytes) == (None, None)
    assert pool.hourly_micro_usd is None
    rule = node_feature_rule(made, pool)
    assert rule is not None
    (one,) = rule["spec"]["rules"]
    assert one["labels"]["gpufleet.dev/pool"] == "p0"
    # The classes of NVIDIA's own rule: 3D controllers and displays of vendor 10de.
    (device,) = one["matchFeatures"]
    assert device["matchExpressions"]["vendor"]["value"] == ["10de"]


def test_named_nodes_get_the_labels_of_the_pool_and_nothing_else() -> None:
    made = fleet({"existing": {"nodes": ["a", "b"]}})
    patches = node_patches(made, made.pools[0])
    assert list(patches) == ["a", "b"]
    assert patches["a"]["labels"] == dict(made.pools[0].labels)
    # A node's list of taints has one owner: taints are printed, never written.
    assert set(patches["a"]) == {"name", "labels", "annotations"}


def test_names_by_a_pattern_are_matched_whole() -> None:
    made = fleet({"existing": {"namePattern": "gpu-[0-9]+|big'"}})
    rule = node_feature_rule(made, made.pools[0])
    assert rule is not None
    name = rule["spec"]["rules"][0]["matchFeatures"][1]
    (expression,) = name["matchExpressions"]["nodename"]["value"]
    names = ["gpu-1", "big'", "gpu-1-of-others", "not-big'"]
    assert [one for one in names if re.search(expression, one)] == names[:2]
    line = next(one for one in commands(made.pools[0]).splitlines() if one.startswith("nodes=$("))
    listed = "\n".join(f"node/{one}" for one in names)
    script = line.replace("kubectl get nodes -o name", 'printf "%s" "$LISTED"') + '; echo "$nodes"'
    done = subprocess.run(
        ["sh", "-c", script], env={"LISTED": listed, "PATH": os.environ["PATH"]},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["node/gpu-1", "node/big'"]


def test_nodes_by_their_labels_are_labelled_by_commands() -> None:
    made = fleet({"existing": {"labels": {"pool": "gpu"}}})
    text = commands(made.pools[0])
    assert "nodes=$(kubectl get nodes -o name -l 'pool in (gpu)')" in text
    assert "kubectl label --overwrite $nodes gpufleet.dev/pool=p0" in text
    assert "# kubectl label $nodes gpufleet.dev/pool-" in text


def test_nodes_by_their_product_name_every_spelling_of_it() -> None:
    text = commands(fleet({"existing": {"product": True}}).pools[0])
    assert "nvidia.com/gpu.product" in text
    assert "NVIDIA-H100-80GB-HBM3" in text


@pytest.mark.parametrize(
    ("pool", "code", "place"),
    [
        ({"existing": {"nodes": ["a"]}}, "existing-nodes-counted-twice", "nodes"),
        ({"zones": ["a"]}, "zones-not-on-platform", "zones"),
        (
            {
                "sharing": {"timeSlicing": {"replicas": 2}},
                "change": {"previous": {"exclusive": {}}},
            },
            "existing-rule-in-waves",
            "existing.labelsBy",
        ),
    ],
)
def test_what_cannot_work_is_refused(pool: dict[str, Any], code: str, place: str) -> None:
    assert (code, f"pools[0].{place}") in errors(pool)


@pytest.mark.parametrize(
    ("existing", "place", "said"),
    [
        ({"nodes": ["a", "b"], "product": True}, "existing", "nodes and product choose the nodes"),
        ({"labelsBy": "apply"}, "existing", "name them under `nodes`"),
        ({"labels": {"a": "b"}, "labelsBy": "rule"}, "existing", "none of its labels"),
        ({"nodes": ["a", "a"]}, "existing.nodes", "a node is named twice"),
        ({"namePattern": "gpu-["}, "existing.namePattern", "not a regular expression"),
        # Read otherwise by Python, grep and Go.
        ({"namePattern": r"gpu-\d+"}, "existing.namePattern", "without a backslash"),
        ({"namePattern": "(?!a)b"}, "existing.namePattern", "without a backslash"),
    ],
)
def test_a_section_that_contradicts_itself(existing: dict[str, Any], place: str, said: str) -> None:
    (wrong,) = compiled({"existing": existing}).findings
    assert (wrong.code, wrong.path) == ("spec-value-inconsistent", f"pools[0].{place}")
    assert said in wrong.message


def test_the_kubelet_of_nodes_that_exist_is_not_set() -> None:
    found = compiled({"kubelet": {"cpuManager": "static"}}).findings
    assert any("gpufleet does not start the kubelet" in str(one.as_dict()) for one in found), found


def test_a_node_is_in_one_pool() -> None:
    both = [{"existing": {"nodes": ["a", "b"]}}, {"existing": {"nodes": ["b", "c"]}}]
    assert errors(*both) == [("existing-node-of-two-pools", "pools[1].existing.nodes[0]")]
    assert errors(both[0], {}) == [("existing-nodes-of-all-pools", "pools[1].existing")]


@pytest.mark.parametrize(
    ("image", "driver", "toolkit", "env"),
    [
        ("plain", True, True, {}),
        ("rke2", True, True, {"CONTAINERD_SOCKET": "/run/k3s/containerd/containerd.sock"}),
        ("rke2-driver", False, True, {"CONTAINERD_SOCKET": "/run/k3s/containerd/containerd.sock"}),
        ("dgx", False, False, {}),
        ("aks", False, False, {}),
        ("aks-no-driver", True, True, {}),
    ],
)
def test_the_operator_installs_what_the_nodes_lack(
    image: str, driver: bool, toolkit: bool, env: dict[str, str]
) -> None:
    """By the vendors' pages; the rows name them."""
    values = operator_values(fleet_operator_settings(fleet({"image": image})))
    assert values["driver"]["enabled"] is driver
    assert values["toolkit"]["enabled"] is toolkit
    given = {one["name"]: one["value"] for one in values["toolkit"].get("env", ())}
    assert {key: given.get(key) for key in env} == env


def test_the_plugin_of_the_cloud_beside_the_operators_is_refused() -> None:
    """OKE's add-on advertises on its nodes; nodes of another pool lack a plugin."""
    by_hand = {"addons": {"gpuOperator": {"values": {"devicePlugin": {"enabled": True}}}}}
    data = {
        "catalogue": "2026.11",
        "platform": "existing",
        "cluster": {"name": "oke"},
        "pools": [{"name": "p", "gpu": "L4", "nodes": {"min": 1, "max": 1}, "image": "oke"}],
        **by_hand,
    }
    assert not compile_data(data).deployable


def with_operator(image: str, **operator: Any) -> list[tuple[str, str]]:
    """Errors of one pool of nodes with this image, and settings of the operator."""
    pool = {"name": "p", "gpu": "H100-80GB", "gpusPerNode": 8, "nodes": {"min": 1, "max": 1}}
    made = compile_data(
        {
            "catalogue": "2026.11",
            "platform": "existing",
            "cluster": {"name": "metal"},
            "pools": [{**pool, "image": image}],
            "addons": {"gpuOperator": operator},
        }
    )
    return [(f.code, f.path) for f in made.findings if f.severity.value == "error"]


VALUES = "addons.gpuOperator.values"
OTHERS = [{"name": "CONTAINERD_SOCKET", "value": "/run/containerd/containerd.sock"}]
OURS = [{"name": "CONTAINERD_SOCKET", "value": "/run/k3s/containerd/containerd.sock"}]


@pytest.mark.parametrize(
    ("image", "operator", "code", "place"),
    [
        ("dgx", {"driver": {"enabled": True}}, "driver-installed-twice", "driver.enabled"),
        ("k3s", {"toolkit": {"enabled": True}}, "toolkit-installed-twice", "toolkit.enabled"),
        (
            "coreweave",
            {"devicePlugin": {"enabled": True}},
            "device-plugin-installed-twice",
            "devicePlugin.enabled",
        ),
        ("plain", {"driver": {"enabled": False}}, "driver-installed-by-nobody", "driver.enabled"),
        ("rke2", {"toolkit": {"env": OTHERS}}, "existing-runtime-socket", "toolkit.env"),
        ("rke2-driver", {"toolkit": {"env": []}}, "existing-runtime-socket", "toolkit.env"),
    ],
)
def test_what_the_nodes_bring_and_what_the_operator_does_are_compared(
    image: str, operator: dict[str, Any], code: str, place: str
) -> None:
    assert with_operator(image, values=operator) == [(code, f"{VALUES}.{place}")]


def test_the_socket_of_rke2_may_be_written() -> None:
    """docs.rke2.io, "Deploy NVIDIA operator": CONTAINERD_SOCKET alone."""
    assert with_operator("rke2", values={"toolkit": {"env": OURS}}) == []
    assert with_operator("plain", values={"toolkit": {"env": []}}) == []
    secret = {"name": "CONTAINERD_SOCKET", "valueFrom": {"configMapKeyRef": {"name": "a"}}}
    unknown = with_operator("rke2", values={"toolkit": {"env": [secret]}})
    assert "existing-runtime-socket" not in {code for code, _ in unknown}
    typed = {"env": {"CONTAINERD_SOCKET": "/run/containerd/containerd.sock"}}
    assert ("existing-runtime-socket", "addons.gpuOperator.toolkit.env") in with_operator(
        "rke2", toolkit=typed
    )


def test_two_runtimes_in_one_cluster_are_refused() -> None:
    plain = {"image": "plain", "existing": {"nodes": ["a", "b"]}}
    rke2 = {"image": "rke2", "existing": {"nodes": ["c", "d"]}}
    assert errors(plain, rke2) == [("existing-runtime-socket", "pools[0].image")]
    assert errors(rke2, plain) == [("existing-runtime-socket", "pools[1].image")]
    # Nodes that have the toolkit do not need the operator's.
    assert errors(rke2, plain | {"image": "plain-driver-toolkit"}) == []


def test_a_price_is_that_of_the_region_and_is_not_guessed() -> None:
    """0.526 USD in eastus: SkyPilot's catalogue of Azure."""
    pool = {
        "instanceTypes": ["Standard_NC4as_T4_v3"],
        "gpu": "T4",
        "gpusPerNode": 1,
        "capacity": [{"onDemand": {}}],
    }
    assert fleet(pool, region="eastus").pools[0].hourly_micro_usd == 526_000
    assert fleet(pool, region="northeurope").pools[0].hourly_micro_usd is None
    assert fleet(pool).pools[0].hourly_micro_usd is None


@pytest.mark.parametrize("file", [*EXAMPLES, AKS], ids=lambda file: file.stem)
def test_the_examples_compile_and_render(file: Path) -> None:
    made = compile_data(yaml_data(file.read_text()))
    assert made.deployable, made.findings
    assert made.fleet is not None
    paths = {one.path for one in artefacts(made.fleet)}
    assert f"nodes/{made.fleet.pools[0].name}.sh" in paths


def test_what_the_examples_advertise() -> None:
    found: dict[str, dict[str, int]] = {}
    for file in (*EXAMPLES, AKS):
        made = compile_data(yaml_data(file.read_text())).fleet
        assert made is not None
        found[file.stem] = dict(made.pools[0].advertised)
    assert found == {
        "hgx-rke2": {"nvidia.com/gpu": 4, "nvidia.com/mig-1g.10gb": 28},
        "dgx-infiniband": {"nvidia.com/gpu": 8},
        "aks": {"nvidia.com/gpu.shared": 4},
        "k3s-workstation": {"nvidia.com/gpu.shared": 4},
    }


@pytest.mark.parametrize(
    ("platform", "cluster"),
    [
        ("eks", {"region": "us-east-1"}),
        ("gke", {"region": "us-central1", "project": "gpu-fleet-1"}),
        ("vsphere", {}),
        ("openshift", {}),
        ("openshiftAws", {"region": "us-east-1"}),
        ("openshiftGcp", {"region": "us-central1", "project": "gpu-fleet-1"}),
        ("sandbox", {}),
    ],
)
def test_a_pool_of_other_people_needs_no_machine(platform: str, cluster: dict[str, str]) -> None:
    data = {
        "catalogue": "2026.11",
        "platform": platform,
        "cluster": {"name": "metal", **cluster},
        "pools": [
            {
                "name": "theirs",
                "gpu": "H100-80GB",
                "gpusPerNode": 8,
                "nodes": {"min": 2, "max": 8},
                "ownership": "existing",
            }
        ],
    }
    assert compile_data(data).deployable
    if platform == "vsphere":
        managed = {**data, "pools": [{**data["pools"][0], "ownership": "managed"}]}
        assert [f.code for f in compile_data(managed).findings] == ["vsphere-options-missing"]
