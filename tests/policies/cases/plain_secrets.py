"""Cases of rules/plain_secrets.py."""

from gpufleet.findings import Level
from tests.policies.cases.case import Case
from tests.policies.cases.workloads import CONTAINER, deployment

_KEY = {"name": "API_KEY", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "api"}}}

HEADERS = f"{CONTAINER}.readinessProbe.httpGet.httpHeaders"

CASES = (
    Case(
        "gpu-workload-plain-secret",
        deployment(
            {
                f"{CONTAINER}.args": ["--port=8000", "--api-key=$(API_KEY)"],
                f"{CONTAINER}.env": [_KEY],
            }
        ),
        deployment({f"{CONTAINER}.args": ["--port=8000", "--api-key=token-abc123"]}),
        "(spec.template.spec.containers[0].args[1]): holds an option with a credential",
        Level.ADVISORY,
    ),
    # spottabathula69/gpu-llm-inference-platform infra/k8s/apps/vllm/deployment_llama8B.yaml
    Case(
        "gpu-workload-plain-secret",
        deployment({HEADERS: [{"name": "Authorization", "value": "Bearer $(VLLM_API_KEY)"}]}),
        deployment({HEADERS: [{"name": "Authorization", "value": "Bearer ak-admin-token-12345"}]}),
        "readinessProbe.httpGet.httpHeaders[0].value): holds",
        Level.ADVISORY,
    ),
)
