"""Makes Helm releases usable again whose installation or upgrade was cut off."""

import http
from urllib.parse import quote

from gpufleet.sandbox.api_server import ApiServer
from gpufleet.sandbox.errors import SandboxError

_UNFINISHED = "owner=helm,status in (pending-install,pending-upgrade,pending-rollback)"
"""Labels of the Secrets in which Helm 3 records the revisions of a release."""


def remove_unfinished_revisions(server: ApiServer) -> list[str]:
    """Delete the revisions that nobody will finish; returns their releases as `namespace/name`.

    Helm takes an unfinished revision for one in progress and refuses every further operation:
    "cannot re-use a name that is still in use". Without it the previous revision counts, or none.
    Call it only while no Helm and no provider runs.

    Raises:
        SandboxError: the API server does not answer, or refuses.
    """
    found = server.get(f"/api/v1/secrets?labelSelector={quote(_UNFINISHED)}")["items"]
    for secret in found:
        metadata = secret["metadata"]
        path = f"/api/v1/namespaces/{metadata['namespace']}/secrets/{metadata['name']}"
        status = server.request("DELETE", path).status
        if status not in (http.HTTPStatus.OK, http.HTTPStatus.NOT_FOUND):
            raise SandboxError(f"the API server refuses to delete {path}: {status}")
    return [f"{s['metadata']['namespace']}/{s['metadata']['labels']['name']}" for s in found]
