"""One workload of each kind on one fleet: shared, sliced, whole and claimed GPUs, and by queue."""

import os
from pathlib import Path

import pulumi
import pulumi_kubernetes as kubernetes
import yaml

from gpufleet import GpuFleet
from gpufleet.components_base.cluster_objects import ManifestObject

HERE = Path(__file__).parent
cluster = kubernetes.Provider("cluster", kubeconfig=os.environ["KUBECONFIG"])
spec = yaml.safe_load((HERE / "fleet.yaml").read_text(encoding="utf-8"))
fleet = GpuFleet("fleet", {"spec": spec}, pulumi.ResourceOptions(providers=[cluster]))


def objects(file: Path, *before: pulumi.Resource) -> list[pulumi.Resource]:
    """Every object of a file, in its order."""
    made: list[pulumi.Resource] = []
    for document in yaml.safe_load_all(file.read_text(encoding="utf-8")):
        if document is None:  # a file that begins with a comment
            continue
        metadata = document["metadata"]
        # Servers load for minutes and jobs run for hours: a deployment waits for neither.
        metadata.setdefault("annotations", {})["pulumi.com/skipAwait"] = "true"
        options = pulumi.ResourceOptions(provider=cluster, depends_on=[*before, *made])
        name = f"{document['kind'].lower()}-{metadata['name']}"
        made.append(ManifestObject(name, document, options))
    return made


definitions: list[pulumi.Resource] = []
if spec["platform"] == "sandbox":
    definitions = objects(HERE / "sandbox-definitions.yaml")
for file in sorted((HERE / "manifests").glob("*.yaml")):
    objects(file, fleet, *definitions)
pulumi.export("advertised", fleet.advertised)
