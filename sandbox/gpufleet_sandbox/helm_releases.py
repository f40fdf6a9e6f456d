"""Repairs Helm releases whose installation or upgrade was interrupted."""

import http
from collections import defaultdict
from typing import Any
from urllib.parse import quote

from gpufleet_sandbox.api_server import ApiServer
from gpufleet_sandbox.errors import SandboxError

_REVISIONS = "owner=helm"
"""Label of the Secrets in which Helm 3 records the revisions of a release."""

_IN_PROGRESS = ("pending-install", "pending-upgrade", "pending-rollback")
_NEVER_DEPLOYED = (*_IN_PROGRESS, "failed")


def remove_unfinished_revisions(server: ApiServer) -> list[str]:
    """Delete unfinished revisions; returns their releases as `namespace/name`.

    Helm treats an unfinished revision as one in progress and refuses every further operation:
    "cannot re-use a name that is still in use". Without it the previous revision counts. A release
    without any deployed revision is deleted whole: Helm can neither install it ("cannot re-use a
    name") nor upgrade it ("has no deployed releases"). Its objects stay, and the next installation
    adopts them, because they have its ownership metadata.
    Call it only while no Helm and no provider runs.

    Raises:
        SandboxError: the API server does not respond, or refuses.
    """
    releases: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for secret in server.get(f"/api/v1/secrets?labelSelector={quote(_REVISIONS)}")["items"]:
        metadata = secret["metadata"]
        releases[f"{metadata['namespace']}/{metadata['labels']['name']}"].append(metadata)
    repaired: list[str] = []
    for release, revisions in releases.items():
        statuses = {revision["labels"]["status"] for revision in revisions}
        condemned = _NEVER_DEPLOYED if statuses <= set(_NEVER_DEPLOYED) else _IN_PROGRESS
        doomed = [one for one in revisions if one["labels"]["status"] in condemned]
        for metadata in doomed:
            _delete(server, metadata)
        if doomed:
            repaired.append(release)
    return repaired


def _delete(server: ApiServer, metadata: dict[str, Any]) -> None:
    path = f"/api/v1/namespaces/{metadata['namespace']}/secrets/{metadata['name']}"
    status = server.request("DELETE", path).status
    if status not in (http.HTTPStatus.OK, http.HTTPStatus.NOT_FOUND):
        raise SandboxError(f"the API server refuses to delete {path}: {status}")
