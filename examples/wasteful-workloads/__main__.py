"""A dozen objects, each with one mistake; with `-c mended=true` the same objects without it.

pulumi preview --policy-pack ../../policies
"""

import os

import mended
import mistakes
import pulumi
import pulumi_kubernetes as kubernetes

cluster = kubernetes.Provider(
    "cluster", kubeconfig=os.environ["KUBECONFIG"], cluster_identifier="sandbox"
)
objects = mended if pulumi.Config().get_bool("mended") else mistakes
for name, document in objects.DOCUMENTS.items():
    group = document["apiVersion"] if "/" in document["apiVersion"] else "core/v1"
    pulumi.CustomResource(
        f"kubernetes:{group}:{document['kind']}",
        name,
        document,
        pulumi.ResourceOptions(provider=cluster),
    )
