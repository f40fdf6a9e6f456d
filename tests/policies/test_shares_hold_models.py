"""Weights against the memory of a share: a limit under MPS, the whole device with time-slicing."""

from typing import Any

import pytest

from gpufleet.cluster import FleetFacts
from gpufleet.findings import Finding, Level
from tests.policies.cases.case import Case, fleet_thing, manifest
from tests.policies.cases.pools import node_group
from tests.policies.cases.sharing import operator, plugin_config
from tests.policies.objects import findings, fleet, workload

RULE, SHARED = "model-exceeds-gpu-memory", "sharing-memory-oversubscribed"
GKE = {
    "platform": "gke",
    "cluster": {"name": "ml", "region": "us-central1", "kubernetesVersion": "1.36"},
}


def pool(sharing: dict[str, Any], platform: str = "eks", **more: Any) -> FleetFacts:
    """A fleet whose first pool shares its GPUs so."""
    other = GKE if platform == "gke" else {}
    one = {"name": "small", "nodes": {"min": 0, "max": 2}, "sharing": sharing}
    return fleet({**other, "pools": [one | (more or {"gpu": "L40S"})]})


def server(
    *arguments: str,
    of_model: str = "meta-llama/Llama-3.2-3B",
    resource: str = "nvidia.com/gpu.shared",
    count: int = 1,
    replicas: int = 10,
) -> Any:
    """A server of the model as rules see it."""
    return workload(document(arguments, of_model, resource, count, replicas))


def document(
    arguments: tuple[str, ...], of_model: str, resource: str, count: int, replicas: int
) -> dict[str, Any]:
    model = ["--model", of_model, "--max-model-len", "4096"]
    container = {
        "name": "main",
        "image": "vllm/vllm-openai:v0.11.0",
        "args": [*model, *arguments],
        "resources": {"limits": {resource: count}},
    }
    spec = {
        "nodeSelector": {"gpufleet.dev/pool": "small"},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        "containers": [container],
    }
    template = {"metadata": {"labels": {"app": "l"}}, "spec": spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "llama", "namespace": "ml"},
        "spec": {"replicas": replicas, "template": template},
    }


def of(found: list[Finding], *rules: str) -> list[Finding]:
    return [one for one in found if one.code in rules]


@pytest.mark.parametrize("profile", ["dev", "prod", "strict"])
def test_weights_beyond_an_enforced_share_stop(profile: str) -> None:
    """6.4 GB of weights, 4.47 GiB for each client."""
    found = findings(
        server("--gpu-memory-utilization", "0.09"),
        alongside=pool({"mps": {"replicas": 10}}),
        settings={"profile": profile},
    )
    (one,) = of(found, RULE, SHARED)
    assert (one.code, one.level) == (RULE, Level.MANDATORY)
    assert "4.5 GiB, one of 10 shares of L40S by MPS" in one.text
    assert "divide each L40S into 4 shares or fewer" in one.text


def test_on_gke_a_share_is_called_like_a_whole_gpu() -> None:
    shares = pool({"mps": {"replicas": 10}}, "gke", instanceTypes=["g2-standard-12"])
    found = of(findings(server(resource="nvidia.com/gpu"), alongside=shares), RULE)
    assert "one of 10 shares of L4 by MPS" in found[0].text


def test_turns_on_a_gpu_have_no_limit() -> None:
    shares = pool({"timeSlicing": {"replicas": 4}})
    assert of(findings(server(replicas=1), alongside=shares), RULE) == []
    small = pool({"timeSlicing": {"replicas": 4}}, gpu="T4")
    big = server(of_model="google/gemma-2-9b")
    found = of(findings(big, alongside=small), RULE)
    assert "which 4 programs share by time" in found[0].text


def test_the_fix_does_not_lead_to_the_next_finding() -> None:
    """A memory utilisation below the weights would end the server while it loads."""
    crowded = pool({"timeSlicing": {"replicas": 10}})
    (one,) = of(findings(server(), alongside=crowded), SHARED)
    assert "memory utilisation of" not in one.text
    assert "divide each L40S into 4 shares or fewer" in one.text
    four = pool({"timeSlicing": {"replicas": 4}})
    (one,) = of(findings(server(), alongside=four), SHARED)
    assert "write a memory utilisation of 0.22" in one.text
    followed = server("--gpu-memory-utilization", "0.22")
    assert of(findings(followed, alongside=four), SHARED, RULE) == []


@pytest.mark.parametrize(
    ("strategy", "machine", "refused"),
    [
        ({"mps": {"replicas": 4}}, "g2-standard-12", False),
        ({"mps": {"replicas": 4}}, "g2-standard-24", True),
        ({"timeSlicing": {"replicas": 4}}, "g2-standard-12", True),
    ],
)
def test_several_shares_of_one_gpu_on_gke(
    strategy: dict[str, Any], machine: str, refused: bool
) -> None:
    """GKE's plugin refuses them by time-sharing, and where a node has several GPUs
    (container-engine-accelerators, gpusharing.go ValidateRequest)."""
    shares = pool(strategy, "gke", instanceTypes=[machine])
    found = findings(server(resource="nvidia.com/gpu", count=2, replicas=1), alongside=shares)
    assert bool(of(found, "shared-gpu-request-over-one")) is refused


def test_shares_that_add_up_hold_more() -> None:
    shares = pool({"mps": {"replicas": 4}}, "gke", instanceTypes=["g2-standard-12"])
    one = server(resource="nvidia.com/gpu", replicas=1)
    two = server(resource="nvidia.com/gpu", count=2, replicas=1)
    assert of(findings(one, alongside=shares), RULE)
    assert of(findings(two, alongside=shares), RULE) == []


@pytest.mark.parametrize("mode", ["mps", "timeSlicing"])
def test_shares_that_a_plugins_configuration_declares(mode: str) -> None:
    """The same of a node group whose device plugin shares its GPUs, without a declaration."""
    labels = {"pool": "shared", "nvidia.com/device-plugin.config": "shared"}
    group = node_group({"instanceTypes": ["g6.xlarge"], "labels": labels})
    shares = plugin_config(mode, replicas=10, renameByDefault=False)
    deployed = document((), "meta-llama/Llama-3.2-3B", "nvidia.com/gpu", 1, 1)
    deployed["spec"]["template"]["spec"]["nodeSelector"] = {"pool": "shared"}
    thing = manifest(deployed)
    case = Case("", thing, thing, "", alongside=(group, operator({}), shares))
    found = [one.message for one in case.findings(thing) if one.code == RULE]
    assert bool(found) is (mode == "mps")
    assert all("2.2 GiB, one of 10 shares of L4 by MPS" in one for one in found)


@pytest.mark.parametrize(("model", "refused"), [("gemma-2-9b", False), ("gemma-2-27b", True)])
def test_gpus_of_a_claim(model: str, refused: bool) -> None:
    """A claim of a template is one pod's own: it has the whole L4, 18.5 GB of 24 GB."""
    shared = {"dra": {"sharing": "timeSlicing", "clients": 4}}
    one = {"name": "small", "gpu": "L4", "nodes": {"min": 0, "max": 2}, "sharing": shared}
    declared = fleet_thing({"pools": [one]})
    exactly = {"deviceClassName": "gpu.nvidia.com", "count": 1}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "one", "namespace": "ml"},
        "spec": {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}},
    }
    deployed = document((), f"google/{model}", "nvidia.com/gpu", 1, 1)
    pod = deployed["spec"]["template"]["spec"]
    pod["resourceClaims"] = [{"name": "one", "resourceClaimTemplateName": "one"}]
    pod["containers"][0]["resources"] = {"claims": [{"name": "one"}]}
    thing = manifest(deployed)
    case = Case("", thing, thing, "", alongside=(declared, manifest(claim)))
    found = [one.message for one in case.findings(thing) if one.code == RULE]
    assert bool(found) is refused
    assert all("1 x L4" in one for one in found)
