"""A small fleet on the sandbox, and a chat service that wastes it.

`pulumi up --policy-pack ../../policies` stops before anything is made. With `-c mended=true` the
same service asks for what it needs, and passes.
"""

import os

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
fleet = GpuFleet(
    "fleet", {"spec": FLEET}, pulumi.ResourceOptions(providers={"kubernetes": cluster})
)
options = pulumi.ResourceOptions(provider=cluster, depends_on=[fleet])
if pulumi.Config().get_bool("mended"):
    workloads.corrected_chat(options)
else:
    workloads.wasteful_chat(options)
    workloads.forgotten_shell(options)
