"""Cases of rules/program.py."""

from gpufleet.findings import Level
from tests.policies.cases.case import Case, manifest
from tests.policies.cases.pools import CPU_GROUP, QUIET, node_group
from tests.policies.cases.sharing import operator
from tests.policies.cases.workloads import LIMITS, deployment
from tests.policies.objects import changed

NAMESPACE = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "ml", "labels": {"environment": "prod"}},
}
STANDING = {"scalingConfig.minSize": 3}


SERVER = deployment({LIMITS: {"nvidia.com/gpu": 1}})

CASES = (
    Case(
        "gpu-monitoring-missing",
        CPU_GROUP,
        node_group(),
        "no DCGM exporter is declared with the GPU pools",
        Level.ADVISORY,
        alongside=(CPU_GROUP, operator({"dcgmExporter": {"enabled": False}})),
    ),
    Case(
        "stack-gpu-budget-exceeded",
        node_group(),
        node_group({"scalingConfig.maxSize": 20}),
        "all pools at their maximum size cost 16.10 USD/h",
        alongside=QUIET,
        settings={"budgets": {"prod": {"exposureUsdPerHour": 10}}},
    ),
    Case(
        "stack-gpu-budget-exceeded",
        node_group(),
        node_group(STANDING),
        "budgets.prod.standingUsdPerMonth is 1,000",
        alongside=QUIET,
        settings={"budgets": {"prod": {"standingUsdPerMonth": 1000}}},
    ),
    Case(
        "namespace-without-gpu-quota",
        manifest(changed(NAMESPACE, {"metadata.name": "web"})),
        manifest(NAMESPACE),
        "1 GPU workload(s) run in it, and no limit applies to the GPUs",
        Level.ADVISORY,
        alongside=(SERVER,),
    ),
)
