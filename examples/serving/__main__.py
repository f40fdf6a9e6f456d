"""vLLM on a share of an L4 and on a slice of an A100, with sizes from `gpufleet size`."""

import os

import pulumi
import pulumi_kubernetes as kubernetes
import servers

from gpufleet import GpuScaledObject

settings = pulumi.Config()
prometheus = settings.get("prometheus", "http://prometheus.monitoring.svc:9090")
cluster = kubernetes.Provider(
    "cluster", kubeconfig=os.environ["KUBECONFIG"], cluster_identifier="sandbox"
)
options = pulumi.ResourceOptions(provider=cluster)
namespace = kubernetes.core.v1.Namespace(
    "serving", metadata={"name": servers.NAMESPACE}, opts=options
)
placed = pulumi.ResourceOptions(provider=cluster, depends_on=[namespace])
# The token is a Secret: it reaches the pod by reference and the state encrypted.
kubernetes.core.v1.Secret(
    "hub",
    metadata={"name": servers.HUB_OBJECT, "namespace": servers.NAMESPACE},
    string_data={"token": settings.get_secret("hubToken") or ""},
    opts=placed,
)
for server in servers.SERVERS:
    made = servers.deploy(server, placed)
    GpuScaledObject(
        server.name,
        {
            "scaling": {
                "target": {"name": server.name, "namespace": servers.NAMESPACE},
                "min": 1,
                "max": server.most,
                "on": [{"signal": "requestsRunning", "target": server.sequences // 2}],
                "server": prometheus,
                "load": {"node_seconds": 180, "model_seconds": 120},
            }
        },
        pulumi.ResourceOptions(providers=[cluster], depends_on=[made]),
    )
