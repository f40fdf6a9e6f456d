"""kubeconfig files with everything embedded: a file that works wherever it is copied."""

import base64

from gpufleet.documents.writing import yaml_text
from gpufleet_sandbox.certificates import Certificates
from gpufleet_sandbox.ports import LOOPBACK

CONTEXT = "gpufleet-sandbox"
"""Name of cluster, user and context: what `kubectl config current-context` prints."""


def render(certificates: Certificates, identity: str, port: int) -> str:
    """The kubeconfig of one identity (a file stem of `certificates.IDENTITIES`)."""

    def embedded(content: bytes) -> str:
        return base64.b64encode(content).decode("ascii")

    cluster = {
        "server": f"https://{LOOPBACK}:{port}",
        "certificate-authority-data": embedded(certificates.authority.read_bytes()),
    }
    user = {
        "client-certificate-data": embedded(certificates.certificate(identity).read_bytes()),
        "client-key-data": embedded(certificates.key(identity).read_bytes()),
    }
    return yaml_text(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": CONTEXT, "cluster": cluster}],
            "users": [{"name": CONTEXT, "user": user}],
            "contexts": [{"name": CONTEXT, "context": {"cluster": CONTEXT, "user": CONTEXT}}],
            "current-context": CONTEXT,
        }
    )
