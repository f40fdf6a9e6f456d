"""Cases of rules/queues.py."""

from typing import Any

from gpufleet.findings import Level
from tests.policies.cases.case import Case, Thing, manifest
from tests.policies.cases.pools import QUIET, node_group
from tests.policies.objects import REMOVE, changed

GPU = "nvidia.com/gpu"


def queue(changes: dict[str, Any] | None = None, name: str = "research") -> Thing:
    """A ClusterQueue with four GPUs in a cohort."""
    document = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": name, "labels": {"environment": "prod"}},
        "spec": {
            "cohortName": "all",
            "namespaceSelector": {},
            "resourceGroups": [
                {
                    "coveredResources": [GPU],
                    "flavors": [
                        {
                            "name": "l4",
                            "resources": [{"name": GPU, "nominalQuota": 4, "borrowingLimit": 4}],
                        }
                    ],
                }
            ],
        },
    }
    return manifest(changed(document, changes or {}))


RESOURCE = "spec.resourceGroups[0].flavors[0].resources[0]"
ALONE = {"spec.cohortName": REMOVE, f"{RESOURCE}.borrowingLimit": REMOVE}
LOCAL = manifest(
    {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": "research", "namespace": "ml"},
        "spec": {"clusterQueue": "research"},
    }
)
FLAVOR: dict[str, Any] = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "ResourceFlavor",
    "metadata": {"name": "l4"},
    "spec": {"nodeLabels": {"k8s.amazonaws.com/accelerator": "l4"}},
}
READY = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"


def kueue(configuration: str) -> Thing:
    """Kueue's chart with a configuration."""
    values = {"managerConfig": {"controllerManagerConfigYaml": READY + configuration}}
    return Thing("kubernetes:helm.sh/v3:Release", {"chart": "kueue", "values": values}, "kueue")


def mapped(name: str) -> Thing:
    """Kueue's chart whose configuration counts a class of devices under a name."""
    return kueue(
        "waitForPodsReady: {timeout: 10m}\nresources:\n  deviceClassMappings:\n"
        f"  - {{name: {name}, deviceClassNames: [gpu.nvidia.com]}}\n"
    )


KAI = {
    "apiVersion": "scheduling.run.ai/v2",
    "kind": "Queue",
    "metadata": {"name": "dev", "labels": {"environment": "dev"}},
    "spec": {"resources": {"gpu": {"quota": -1, "limit": 8}}},
}

CASES = (
    Case(
        "kueue-without-ready-timeout",
        queue({"spec.resourceGroups": []}),
        queue(),
        "Kueue queues GPU jobs, and waitForPodsReady is off",
        Level.ADVISORY,
        alongside=(kueue("metrics: {}\n"), LOCAL),
    ),
    Case(
        "kueue-device-class-without-quota",
        mapped("nvidia.com/gpu"),
        mapped("gpus"),
        "gpus is the name of a class of devices, and no ClusterQueue has quota of it",
        Level.ADVISORY,
        alongside=(queue(), LOCAL),
    ),
    Case(
        "quota-exceeds-capacity",
        manifest(FLAVOR),
        manifest(changed(FLAVOR, {"metadata.name": "large"})),
        "queues may admit 400 x nvidia.com/gpu; gpu can have 4 at most",
        Level.ADVISORY,
        alongside=(
            *QUIET,
            node_group(),
            queue(),
            queue(
                {
                    "spec.resourceGroups[0].flavors[0].name": "large",
                    f"{RESOURCE}.nominalQuota": 400,
                },
                "large",
            ),
        ),
    ),
    Case(
        "queue-without-cap",
        manifest(KAI),
        manifest(changed(KAI, {"spec.resources.gpu.limit": -1})),
        "quota -1 and limit -1 in dev",
        Level.ADVISORY,
        alongside=(),
    ),
    Case(
        "queue-selects-no-namespace",
        queue(ALONE),
        queue({**ALONE, "spec.namespaceSelector": REMOVE}),
        "no Workload of any namespace is admitted",
        alongside=(),
    ),
)
