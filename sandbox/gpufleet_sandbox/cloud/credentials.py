"""Credentials for the clusters of the simulated clouds, which are the sandbox's."""

import base64
import json
import shlex

import yaml

from gpufleet_sandbox.layout import SandboxLayout
from gpufleet_sandbox.state import write_atomically

_PROGRAM = """#!/bin/sh
# Written by gpufleet: what a kubeconfig requests credentials, here those of the sandbox.
case "$*" in
  {arguments}) cat {answer} ;;
  *) echo "in a sandbox this program gives credentials and nothing else" >&2; exit 2 ;;
esac
"""

CREDENTIAL_PROGRAMS = {"aws": '"eks get-token"*', "gke-gcloud-auth-plugin": '""'}
"""Program -> its arguments, as a pattern of the shell."""


def install_credentials(layout: SandboxLayout) -> None:
    """Let kubeconfigs of the clouds' clusters reach the sandbox's cluster: their programs return
    the administrator's certificate."""
    user = yaml.safe_load(layout.kubeconfig.read_text(encoding="utf-8"))["users"][0]["user"]
    answer = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "kind": "ExecCredential",
        "status": {
            "clientCertificateData": _plain(user["client-certificate-data"]),
            "clientKeyData": _plain(user["client-key-data"]),
        },
    }
    file = layout.config / "cloud-credentials.json"
    write_atomically(file, json.dumps(answer), 0o600)
    for name, arguments in CREDENTIAL_PROGRAMS.items():
        script = _PROGRAM.format(arguments=arguments, answer=shlex.quote(str(file)))
        write_atomically(layout.bin / name, script, 0o755)


def _plain(text: str) -> str:
    return base64.b64decode(text).decode()
