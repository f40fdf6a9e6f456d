"""Cases of rules/plain_secrets.py."""

from gpufleet.findings import Level
from tests.policies.cases.case import Case
from tests.policies.cases.workloads import CONTAINER, deployment

_KEY = {"name": "API_KEY", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "api"}}}

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
)
