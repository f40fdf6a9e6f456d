"""Cases of rules/device_claims.py."""

from typing import Any

from gpufleet.findings import Level
from tests.policies.cases.case import FLEET, Case, manifest
from tests.policies.cases.workloads import LIMITS, deployment
from tests.policies.objects import DEPLOYMENT, REMOVE, changed

_IS_L4 = "device.attributes['gpu.nvidia.com'].productName == 'NVIDIA L4'"
SELECTED = [{"cel": {"expression": _IS_L4}}]


def claim(
    name: str = "gpu", device_class: str = "gpu.nvidia.com", namespace: str = "ml", **request: Any
):
    """A template of a claim for one GPU of one product."""
    exactly = {"deviceClassName": device_class, "selectors": SELECTED, **request}
    return manifest(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "spec": {
                    "devices": {
                        "requests": [
                            {"name": "gpu", "exactly": {k: v for k, v in exactly.items() if v}}
                        ]
                    }
                }
            },
        }
    )


CLAIMING = changed(
    DEPLOYMENT,
    {
        f"{LIMITS}": {"cpu": "4"},
        "spec.template.spec.resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}],
        "spec.template.spec.containers[0].resources.claims": [{"name": "gpu"}],
    },
)
BOTH = deployment(
    {
        "spec.template.spec.resourceClaims": [
            {"name": "channel", "resourceClaimTemplateName": "channel"}
        ],
        "spec.template.spec.containers[0].resources.claims": [{"name": "channel"}],
    }
)
CHANNEL = claim("channel", "compute-domain-default-channel.nvidia.com", selectors=None)
ENTRY = "spec.template.spec.resourceClaims[0]"

CASES = (
    Case(
        "dra-takes-all-devices",
        claim(),
        claim(allocationMode="All"),
        "takes all devices of class gpu.nvidia.com on a node",
        Level.ADVISORY,
    ),
    Case(
        "gpu-requested-twice",
        BOTH,
        manifest(changed(BOTH.properties, {f"{ENTRY}.resourceClaimTemplateName": "gpu"})),
        "claims GPUs through ResourceClaimTemplate ml/gpu and requests nvidia.com/mig-1g.10gb",
        alongside=(FLEET, CHANNEL, claim()),
    ),
    Case(
        "dra-claim-unused",
        manifest(CLAIMING),
        manifest(changed(CLAIMING, {"spec.template.spec.containers[0].resources.claims": REMOVE})),
        "claims gpu, and no container names it in resources.claims",
    ),
    Case(
        "dra-claim-elsewhere",
        manifest(CLAIMING),
        manifest(changed(CLAIMING, {f"{ENTRY}.resourceClaimTemplateName": "other"})),
        "names ResourceClaimTemplate web/other, and the pods are in ml",
        alongside=(FLEET, claim(), claim("other", namespace="web")),
    ),
    Case(
        "dra-shared-claim-multiplied",
        manifest(CLAIMING),
        manifest(
            changed(
                CLAIMING,
                {
                    f"{ENTRY}.resourceClaimTemplateName": REMOVE,
                    f"{ENTRY}.resourceClaimName": "one",
                },
            )
        ),
        "4 pods use the one claim one",
        Level.ADVISORY,
    ),
)
