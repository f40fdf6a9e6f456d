"""Cases of rules/node_labels.py."""

from gpufleet.findings import Level
from tests.policies.cases.case import Case
from tests.policies.cases.pools import QUIET
from tests.policies.cases.workloads import LIMITS, deployment

SELECTOR = "spec.template.spec.nodeSelector"
H100 = {SELECTOR: {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}}

CASES = (
    Case(
        "gpu-pod-selects-no-node",
        deployment({**H100, LIMITS: {"nvidia.com/mig-1g.10gb": 1}}),
        deployment({**H100, LIMITS: {"nvidia.com/mig-1g.5gb": 1}}),
        "has no MIG slice 1g.5gb; the pod would stay Pending",
        alongside=QUIET,
    ),
    Case(
        "gpu-pod-selects-no-node",
        deployment({SELECTOR: {"karpenter.k8s.aws/instance-gpu-name": "h100"}}),
        deployment({SELECTOR: {"karpenter.k8s.aws/instance-gpu-name": "H100"}}),
        "karpenter.k8s.aws/instance-gpu-name: H100 is not known",
        Level.ADVISORY,
        alongside=QUIET,
    ),
    # timoa/ai-model-pipelines-example k8s/distributed-training.yaml
    Case(
        "gpu-pod-selects-no-node",
        deployment({SELECTOR: {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}}),
        deployment({SELECTOR: {"nvidia.com/gpu.product": "A100-SXM4-80GB"}}),
        "nvidia.com/gpu.product: A100-SXM4-80GB is not known",
        Level.ADVISORY,
        alongside=QUIET,
    ),
)
