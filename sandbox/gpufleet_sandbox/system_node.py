"""The node that controllers run on: every cluster has one, and it is not a GPU node.

Without it nothing could hold the pods of operators before the first GPU node exists, and GPU nodes
exist only after the operators. Its taint keeps workloads away, as a control-plane node's does.
"""

import json
from urllib.parse import quote

from gpufleet_sandbox.api_server import ApiServer

NAME = "control-plane-0"
ROLE_LABEL = "node-role.kubernetes.io/control-plane"
SELECT_OTHERS = f"!{ROLE_LABEL}"
"""Label selector of the nodes without the system node."""
OTHERS = f"/api/v1/nodes?labelSelector={quote(SELECT_OTHERS)}"


def ensure(server: ApiServer) -> None:
    """Register the node; does nothing when it is there. Raises SandboxError when refused."""
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": NAME,
            "labels": {
                ROLE_LABEL: "",
                "kubernetes.io/hostname": NAME,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
            },
        },
        "spec": {"taints": [{"key": ROLE_LABEL, "effect": "NoSchedule"}]},
    }
    server.apply(f"/api/v1/nodes/{NAME}", json.dumps(node).encode())
