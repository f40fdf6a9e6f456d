"""Paths of containerd that the container toolkit is given, on k3s and RKE2.

Sources: docs.rke2.io "Deploy NVIDIA operator" (CONTAINERD_SOCKET alone), NVIDIA/gpu-operator#406
(socket), #473 (config.toml is generated again), #992 (config.toml.tmpl replaces what is generated).
"""

from collections.abc import Mapping
from typing import Any

from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.paths import child, value_at
from gpufleet.documents.shapes import as_list, as_mapping

SOCKET = "/run/k3s/containerd/containerd.sock"
"""Of the containerd that k3s and RKE2 bring."""
_RANCHER = ("/var/lib/rancher/", "/run/k3s/", "/run/rke2/")
_FIX = f"write CONTAINERD_SOCKET alone, with {SOCKET}"


def validate_runtime_paths(data: Mapping[str, Any], path: str, report: CheckReport) -> None:
    """The variables of `toolkit.env`, of values or a ClusterPolicy."""
    if value_at(data, "toolkit.enabled") is False:
        return
    place = f"{path}.toolkit.env" if path else "toolkit.env"
    found: dict[str, tuple[str, str]] = {}
    for index, entry in enumerate(as_list(value_at(data, "toolkit.env")) or []):
        item = as_mapping(entry) or {}
        name, value = item.get("name"), item.get("value")
        if isinstance(name, str) and isinstance(value, str):
            found[name] = (value, child(child(place, index), "value"))
    config, config_place = found.get("CONTAINERD_CONFIG", ("", place))
    socket, socket_place = found.get("CONTAINERD_SOCKET", ("", config_place))
    rancher = config.startswith(_RANCHER[0])
    if (rancher or socket.startswith(_RANCHER)) and socket != SOCKET:
        report.add(
            "gpu-operator-containerd-socket",
            socket_place,
            f"CONTAINERD_SOCKET is {socket or 'not set, so /run/containerd/containerd.sock'}; "
            f"the containerd of k3s and RKE2 listens on {SOCKET}",
            _FIX,
            value=socket,
        )
    elif socket and not socket.startswith("/"):
        report.add(
            "gpu-operator-containerd-socket",
            socket_place,
            f"CONTAINERD_SOCKET is {socket}, and its folder is mounted from the host",
            "write an absolute path, without unix://",
            value=socket,
        )
    if rancher:
        report.add(
            "gpu-operator-containerd-config",
            config_place,
            "k3s and RKE2 write config.toml again at each start, and a config.toml.tmpl of the "
            "toolkit replaces what they generate",
            _FIX + "; both find the nvidia runtime by themselves",
            value=config,
        )
    elif config and socket.startswith(_RANCHER):
        report.add(
            "gpu-operator-containerd-config",
            config_place,
            f"the toolkit configures {config}, which the containerd of k3s and RKE2 at {socket} "
            "does not read",
            _FIX + "; both find the nvidia runtime by themselves",
            value=config,
        )
