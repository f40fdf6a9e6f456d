"""DaemonSets by which Google's programs reach nodes: what those of a fleet have in common."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpufleet.documents.shapes import items, mapping
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.image_sources import mirrored
from gpufleet.spec.images import Images

NAMESPACE = "kube-system"
_PAUSE = "gke.gcr.io/pause:3.8"


def pause(images: Images) -> dict[str, Any]:
    """The container that keeps a pod whose work is done."""
    return {"name": "pause", "image": mirrored(_PAUSE, images)}


def daemon_set(name: str, pools: Sequence[str], containers: Mapping[str, Any]) -> dict[str, Any]:
    """A DaemonSet on the nodes of some pools of the fleet; `containers` and volumes of its pods."""
    """A DaemonSet on the nodes of some pools of the fleet; `containers` and volumes of its pods."""
    labels = {"app.kubernetes.io/name": name, "app.kubernetes.io/managed-by": "gpufleet"}
    chosen = {"key": POOL_LABEL, "operator": "In", "values": list(pools)}
    term = {"matchExpressions": [chosen]}
    wanted = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    template = {
        "metadata": {"labels": labels},
        "spec": {
            "priorityClassName": "system-node-critical",
            "affinity": {"nodeAffinity": wanted},
            "tolerations": [{"operator": "Exists"}],
            "hostNetwork": True,
            "hostPID": True,
            **containers,
        },
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "selector": {"matchLabels": {"app.kubernetes.io/name": name}},
            "updateStrategy": {"type": "RollingUpdate"},
            "template": template,
        },
    }


def chosen_pools(daemon_set: Mapping[str, Any]) -> list[str]:
    """Pools whose nodes a DaemonSet of a fleet runs on."""
    found: Any = daemon_set
    for key in ("spec", "template", "spec", "affinity", "nodeAffinity"):
        found = mapping(found.get(key))
    wanted = mapping(found.get("requiredDuringSchedulingIgnoredDuringExecution"))
    return [
        str(value)
        for term in items(wanted.get("nodeSelectorTerms"))
        for chosen in items(mapping(term).get("matchExpressions"))
        if mapping(chosen).get("key") == POOL_LABEL
        for value in items(mapping(chosen).get("values"))
    ]


def privileged(
    name: str, image: str, mounts: Mapping[str, str], *, cpu: bool = False
) -> dict[str, Any]:
    """A container with every right on its node; volume -> its folder in the container."""
    """A container with every right on its node; volume -> its folder in the container."""
    made: dict[str, Any] = {
        "name": name,
        "image": image,
        "securityContext": {"privileged": True},
    }
    if cpu:
        made["resources"] = {"requests": {"cpu": "150m"}}
    if mounts:
        made["volumeMounts"] = [{"name": n, "mountPath": path} for n, path in mounts.items()]
    return made


def host_folders(folders: Mapping[str, str]) -> list[dict[str, Any]]:
    """Folders of the node; that of the libraries may not be there before the driver is."""
    return [
        {
            "name": name,
            "hostPath": {
                "path": path,
                **({"type": "DirectoryOrCreate"} if path.endswith("lib64") else {}),
            },
        }
        for name, path in folders.items()
    ]
