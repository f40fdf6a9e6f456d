"""A pool's facts, whatever it was read from: the same pool in each language, and what rules see.

Eight facts, ten origins. A fact that an origin cannot have is listed in `IMPOSSIBLE` with the
reason; any other cell that is empty fails.
"""

from collections.abc import Callable
from typing import Any

import pytest

from gpufleet.catalogue import load
from gpufleet.cluster import Surroundings
from gpufleet.cluster.pool import NodePool
from gpufleet.contract.machine_images import named_architectures, named_image
from gpufleet.rules.context import RuleContext
from gpufleet_policies.readers.documents import facts_of_document
from gpufleet_policies.rules.pools import all_pools
from gpufleet_policies.rules.published import published
from tests.policies.cases.case import Case, Thing, fleet_thing, manifest
from tests.policies.cases.sharing import operator, plugin_config
from tests.policies.objects import TODAY

CATALOGUE = load()
LABEL = {"nvidia.com/device-plugin.config": "shared", "pool": "gpu"}
"""The key of the ConfigMap that shares each GPU in four."""
PLUGIN = (operator({}), plugin_config())
GROUP = {
    "clusterName": "ml",
    "nodeGroupName": "gpu",
    "amiType": "AL2023_x86_64_NVIDIA",
    "instanceTypes": ["g6.12xlarge"],
    "capacityType": "SPOT",
    "scalingConfig": {"minSize": 0, "maxSize": 3, "desiredSize": 0},
    "labels": LABEL,
}
GKE = {
    "cluster": "ml",
    "name": "gpu",
    "location": "us-central1-a",
    "nodeConfig": {
        "machineType": "g2-standard-48",
        "imageType": "COS_CONTAINERD",
        "spot": True,
        "labels": {"pool": "gpu"},
        "guestAccelerators": [
            {
                "type": "nvidia-l4",
                "count": 4,
                "gpuSharingConfig": {
                    "gpuSharingStrategy": "TIME_SHARING",
                    "maxSharedClientsPerGpu": 4,
                },
            }
        ],
    },
    "autoscaling": {"minNodeCount": 0, "maxNodeCount": 3},
}
KARPENTER = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": "gpu"},
    "spec": {
        "limits": {"nodes": 3},
        "template": {
            "metadata": {"labels": LABEL},
            "spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "a"},
                "requirements": [
                    {
                        "key": "node.kubernetes.io/instance-type",
                        "operator": "In",
                        "values": ["g6.12xlarge"],
                    },
                    {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]},
                ],
            },
        },
    },
}
NODE_CLASS = {
    "apiVersion": "karpenter.k8s.aws/v1",
    "kind": "EC2NodeClass",
    "metadata": {"name": "a"},
    "spec": {"amiSelectorTerms": [{"alias": "al2023@v20260917"}]},
}
MACHINE_SET = {
    "apiVersion": "machine.openshift.io/v1beta1",
    "kind": "MachineSet",
    "metadata": {
        "name": "gpu",
        "annotations": {
            "machine.openshift.io/cluster-api-autoscaler-node-group-min-size": "0",
            "machine.openshift.io/cluster-api-autoscaler-node-group-max-size": "3",
        },
    },
    "spec": {
        "replicas": 1,
        "template": {
            "spec": {
                "metadata": {"labels": LABEL},
                "providerSpec": {
                    "value": {
                        "kind": "AWSMachineProviderConfig",
                        "instanceType": "g6.12xlarge",
                        "spotMarketOptions": {},
                        "ami": {"id": "ami-1"},
                    }
                },
            }
        },
    },
}
CLUSTER_API = {
    "apiVersion": "cluster.x-k8s.io/v1beta1",
    "kind": "MachinePool",
    "metadata": {
        "name": "gpu",
        "annotations": {
            "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size": "0",
            "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size": "3",
        },
    },
    "spec": {
        "template": {
            "metadata": {"labels": LABEL},
            "spec": {"infrastructureRef": {"kind": "AWSManagedMachinePool", "name": "gpu-aws"}},
        }
    },
}
MANAGED = {
    "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
    "kind": "AWSManagedMachinePool",
    "metadata": {"name": "gpu-aws"},
    "spec": {
        "instanceType": "g6.12xlarge",
        "amiType": "AL2023_x86_64_NVIDIA",
        "capacityType": "spot",
    },
}
EKSCTL = {
    "apiVersion": "eksctl.io/v1alpha5",
    "kind": "ClusterConfig",
    "metadata": {"name": "ml", "region": "us-east-1"},
    "managedNodeGroups": [
        {
            "name": "gpu",
            "instanceTypes": ["g6.12xlarge"],
            "amiFamily": "AmazonLinux2023",
            "spot": True,
            "minSize": 0,
            "maxSize": 3,
            "labels": LABEL,
        }
    ],
}
MACHINES = {"nodes": {"0": {"gpu": {"mode": "dynamic", "deviceIds": ["0x27b8"], "count": 4}}}}
FLEET = {
    "pools": [
        {
            "name": "gpu",
            "instanceTypes": ["g6.12xlarge"],
            "nodes": {"min": 0, "max": 3},
            "capacity": [{"spot": {}}],
            "sharing": {"timeSlicing": {"replicas": 4, "rename": False}},
        }
    ]
}
EKS = "aws:eks/nodeGroup:NodeGroup"


def planned(kind: str, values: dict[str, Any]) -> tuple[Any, ...]:
    """The facts of one resource of a plan of Terraform."""
    resource = {
        "address": f"{kind}.gpu",
        "mode": "managed",
        "type": kind,
        "name": "gpu",
        "values": values,
    }
    return facts_of_document(
        {
            "format_version": "1.2",
            "terraform_version": "1.9.0",
            "planned_values": {"root_module": {"resources": [resource]}},
            "resource_changes": [],
        },
        "plan.json",
    )


def snake(value: Any) -> Any:
    """The same in Terraform's spelling: names with underscores, blocks in lists."""
    if not isinstance(value, dict):
        return value
    return {
        "".join(f"_{c.lower()}" if c.isupper() else c for c in key): (
            one if key == "labels" else [snake(one)] if isinstance(one, dict) else _listed(one)
        )
        for key, one in value.items()
    }


def _listed(value: Any) -> Any:
    return [snake(one) for one in value] if isinstance(value, list) else value


def facts(*things: Thing) -> tuple[Any, ...]:
    return tuple(one for thing in things for one in thing.all_facts)


def google() -> dict[str, Any]:
    found = snake(GKE)
    found["node_config"][0]["guest_accelerator"] = found["node_config"][0].pop("guest_accelerators")
    return found


ORIGINS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "EKS, Pulumi": lambda: facts(Thing(EKS, GROUP, "gpu")),
    "EKS, Terraform": lambda: planned("aws_eks_node_group", snake(GROUP)),
    "EKS, eksctl": lambda: facts_of_document(EKSCTL, "cluster.yaml"),
    "GKE, Pulumi": lambda: facts(Thing("gcp:container/nodePool:NodePool", GKE, "gpu")),
    "GKE, Terraform": lambda: planned("google_container_node_pool", google()),
    "Karpenter": lambda: facts(manifest(KARPENTER), manifest(NODE_CLASS)),
    "OpenShift": lambda: facts(manifest(MACHINE_SET)),
    "Cluster API": lambda: facts(manifest(CLUSTER_API), manifest(MANAGED)),
    "vSphere": lambda: facts(Thing("gpufleet:vsphere:MachineGroup", MACHINES, "gpu")),
    "FleetSpec": lambda: facts(fleet_thing(FLEET)),
}


def seen(origin: str, *more: Thing) -> tuple[RuleContext, NodePool]:
    """The pool as rules see it, next to an operator whose plugin shares GPUs by a label."""
    everything = (*ORIGINS[origin](), *facts(*PLUGIN, *more))
    context = RuleContext(
        today=TODAY, load_catalogue=load, fleet=None, surroundings=Surroundings(everything)
    )
    return context, all_pools(context)[0]


def server(gpus: int, tensor: int) -> Thing:
    """Llama-3.1-70B, 141 GB of weights, on GPUs of 22 GiB."""
    container = {
        "name": "main",
        "image": "vllm/vllm-openai:v0.11.0",
        "args": ["--model", "meta-llama/Llama-3.1-70B", "--tensor-parallel-size", str(tensor)],
        "resources": {"limits": {"nvidia.com/gpu": gpus}},
    }
    template = {"metadata": {"labels": {"app": "l"}}, "spec": {"containers": [container]}}
    return manifest(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "l", "namespace": "ml"},
            "spec": {"replicas": 1, "template": template},
        }
    )


def image(origin: str) -> Any:
    pool = seen(origin)[1]
    return pool.image.is_known


def architecture(origin: str) -> Any:
    """By the machines, and not against the image."""
    pool = seen(origin)[1]
    types = pool.instance_types.value if pool.instance_types.is_known else ()
    found = {CATALOGUE.instance(name).architecture for name in types}
    own = named_architectures(pool.image.found or "")
    return found == {"amd64"} and own <= found


def driver(origin: str) -> Any:
    pool = seen(origin)[1]
    row = named_image(pool.image.found or "", CATALOGUE)
    return row is not None and row.branch_for(pool.gpu.value) is not None


def bounds(origin: str) -> Any:
    size = seen(origin)[1].size
    return (size.minimum.found, size.maximum.found) == (0, 3) and not size.fixed


def purchase(origin: str) -> Any:
    return seen(origin)[1].capacity.found == frozenset({"spot"})


def sharing(origin: str) -> Any:
    offer = published(*seen(origin))
    return offer is not None and {one.replicas for one in offer.grants} == {4}


def reported(origin: str, gpus: int, tensor: int) -> str:
    """Findings of the audit about the weights of a server next to the pool."""
    subject = server(gpus, tensor)
    case = Case("", subject, subject, "")
    case.__dict__["alongside_facts"] = ORIGINS[origin]()
    found = [f for f in case.findings(subject) if f.code == "model-exceeds-gpu-memory"]
    return found[0].message if found else ""


def model(origin: str) -> Any:
    """All of a GPU, whole or time-sliced, against 131 GiB of weights."""
    return "1 x L4" in reported(origin, 1, 1)


def parallelism(origin: str) -> Any:
    """Four whole GPUs together; more shares of one give no more."""
    count = 1 if origin in SHARED else 4
    return f"{count} x L4" in reported(origin, 4, 4)


SHARED = ("GKE, Pulumi", "GKE, Terraform", "FleetSpec")
"""Origins that state the sharing of GPUs themselves; elsewhere the device plugin does."""
FACTS = {
    one.__name__: one
    for one in (image, architecture, driver, bounds, purchase, sharing, model, parallelism)
}
_GOOGLES = "Google names a channel (`gpuDriverVersion: LATEST`), not a release"
_GUEST = "its kubelet registers labels from user data, which no reader opens"
IMPOSSIBLE = {
    ("OpenShift", "image"): "the machine names an AMI by id, which says nothing of its contents",
    ("OpenShift", "driver"): "RHCOS brings no driver: the operator does",
    ("GKE, Pulumi", "driver"): _GOOGLES,
    ("GKE, Terraform", "driver"): _GOOGLES,
    ("vSphere", "image"): "a machine is a copy of a template, whose name is free",
    ("vSphere", "architecture"): "ESXi runs guests of its own architecture: there is one",
    ("vSphere", "driver"): "in the template, or from the operator",
    ("vSphere", "bounds"): "each machine is declared by itself; nothing scales it",
    ("vSphere", "purchase"): "own hardware",
    ("vSphere", "sharing"): _GUEST,
}


@pytest.mark.parametrize("fact", FACTS)
@pytest.mark.parametrize("origin", ORIGINS)
def test_every_fact_is_read_from_every_origin(origin: str, fact: str) -> None:
    if (origin, fact) in IMPOSSIBLE:
        pytest.skip(IMPOSSIBLE[origin, fact])
    assert FACTS[fact](origin), seen(origin)[1]
