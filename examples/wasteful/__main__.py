"""Workloads that waste GPUs: a chat service on a small fleet, or, with `case: objects`, eleven
objects with one mistake each.

`pulumi up --policy-pack ../../policies` stops before anything is made. With `-c corrected=true` the
same workloads request what they need, and pass.
"""

import os

import corrected
import mistakes
import pulumi
import pulumi_kubernetes as kubernetes
import workloads

from gpufleet import GpuFleet

FLEET = {
    "catalogue": "2026.11",
    "platform": "sandbox",
    "environment": "dev",
    "cluster": {"name": "wasteful", "kubernetesVersion": "1.36"},
    "pools": [
        {
            "name": "small-models",
            "gpu": "L4",
            "nodes": {"min": 0, "max": 2},
            "sharing": {"timeSlicing": {"replicas": 4}},
        },
        {
            "name": "training",
            "instanceTypes": ["p5.48xlarge"],
            "nodes": {"min": 0, "max": 1},
            "intent": "training",
        },
    ],
    "budget": {"usdPerHour": 70},
}

cluster = kubernetes.Provider(
    "cluster", kubeconfig=os.environ["KUBECONFIG"], cluster_identifier="sandbox"
)
config = pulumi.Config()
fixed = config.get_bool("corrected")


def service_on_a_fleet() -> None:
    """The fleet, a service on its largest GPUs, and a shell that sleeps."""
    fleet = GpuFleet(
        "fleet", {"spec": FLEET}, pulumi.ResourceOptions(providers={"kubernetes": cluster})
    )
    options = pulumi.ResourceOptions(provider=cluster, depends_on=[fleet])
    if fixed:
        workloads.corrected_chat(options)
    else:
        workloads.wasteful_chat(options)
        workloads.forgotten_shell(options)


def objects() -> None:
    """Objects of many kinds, for a cluster that exists."""
    documents = corrected.DOCUMENTS if fixed else mistakes.DOCUMENTS
    for name, document in documents.items():
        group = document["apiVersion"] if "/" in document["apiVersion"] else "core/v1"
        pulumi.CustomResource(
            f"kubernetes:{group}:{document['kind']}",
            name,
            document,
            pulumi.ResourceOptions(provider=cluster),
        )


{"service": service_on_a_fleet, "objects": objects}[config.require("case")]()
