"""Cases of rules/gpu_requests.py."""

from tests.policies.cases.case import Case, manifest
from tests.policies.cases.workloads import CONTAINER, LIMITS, REQUESTS, deployment, template
from tests.policies.objects import REMOVE, changed

GROUP = {
    "apiVersion": "leaderworkerset.x-k8s.io/v1",
    "kind": "LeaderWorkerSet",
    "metadata": {"name": "llm", "namespace": "ml"},
    "spec": {"replicas": 1, "leaderWorkerTemplate": {"size": 1, "workerTemplate": template()}},
}
WORKER = "spec.leaderWorkerTemplate.workerTemplate.spec.containers[0].resources"

PLAIN = {f"{CONTAINER}.image": "registry.example/encoder:1.0"}

FIRST = (
    Case(
        "gpu-request-without-limit",
        manifest(GROUP),
        manifest(
            changed(GROUP, {f'{WORKER}.requests."nvidia.com/gpu"': 1, f"{WORKER}.limits": REMOVE})
        ),
        "requests nvidia.com/gpu without a limit",
    ),
    Case(
        "gpu-request-differs-from-limit",
        deployment({f'{REQUESTS}."nvidia.com/mig-1g.10gb"': "1000m"}),
        deployment({f'{REQUESTS}."nvidia.com/mig-1g.10gb"': 2}),
        "requests 2 nvidia.com/mig-1g.10gb and limits 1",
    ),
    Case(
        "gpu-not-integer",
        deployment(),
        deployment({LIMITS: {"nvidia.com/gpu": "500m"}}),
        "requests 500m nvidia.com/gpu; only whole devices",
    ),
    Case(
        "shared-gpu-request-over-one",
        deployment({LIMITS: {"nvidia.com/gpu.shared": 1}, **PLAIN}),
        deployment({LIMITS: {"nvidia.com/gpu.shared": 2}, **PLAIN}),
        "requests 2 x nvidia.com/gpu.shared, shares of a GPU",
    ),
)


FRACTION = {'spec.template.metadata.annotations."gpu-fraction"': "0.5"}

CASES = (
    *FIRST,
    Case(
        "fraction-with-whole-gpu",
        deployment({LIMITS: {"cpu": "4"}, **FRACTION}),
        deployment({LIMITS: {"nvidia.com/gpu": 1}, **FRACTION}),
        "requests whole nvidia.com/gpu and has annotation gpu-fraction",
    ),
)
