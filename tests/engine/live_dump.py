"""What `gpufleet doctor --collect` reads, of a running cluster by the Python client: kinds that the
cluster does not have are left out."""

import json
from typing import Any, cast

from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

from gpufleet_policies.doctor.dump import KINDS, NAMESPACES
from gpufleet_policies.doctor.snapshot import Dump, cluster_of

_CORE = {
    "nodes": "list_node",
    "pods": "list_pod_for_all_namespaces",
    "events": "list_event_for_all_namespaces",
    "namespaces": "list_namespace",
    "resourcequotas": "list_resource_quota_for_all_namespaces",
    "persistentvolumeclaims": "list_persistent_volume_claim_for_all_namespaces",
    "configmaps": "list_namespaced_config_map",
}
"""Kind of the core API -> method of the client."""


def read_live(kubeconfig: str) -> Dump:
    """The cluster of a kubeconfig."""
    with cast("Any", config).new_client_from_config(config_file=kubeconfig) as api:
        core, custom = client.CoreV1Api(api), client.CustomObjectsApi(api)
        offered: Any = client.ApisApi(api).get_api_versions()
        groups = {one.name: one.preferred_version.version for one in offered.groups}

        def asked(name: str, group: str, *space: str) -> Any:
            try:
                if group:
                    return custom.list_cluster_custom_object(group, groups[group], name)
                answer = getattr(core, _CORE[name])(*space, _preload_content=False)
                return json.loads(answer.data)
            except ApiException as refused:
                if getattr(refused, "status", None) == 404:
                    return None
                raise

        kinds = [kind.partition(".") for kind in KINDS]
        raws = [asked(name, group) for name, _, group in kinds if not group or group in groups]
        raws += [asked("configmaps", "", space) for space in NAMESPACES]
    return cluster_of(raws)
