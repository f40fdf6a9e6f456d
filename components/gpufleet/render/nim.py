"""NIMCache and NIMService (apps.nvidia.com/v1alpha1, NVIDIA k8s-nim-operator v3.1.2)."""

import hashlib
import json
from typing import Any

from gpufleet.findings import Finding, rules_in
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.manifest import manifest
from gpufleet.render.data_files import data_part
from gpufleet.spec.nim import Nim

API_VERSION = "apps.nvidia.com/v1alpha1"
PROBE_SECONDS = 10
"""Seconds between two probes (`objects/nim.yaml`)."""
DIGEST_LENGTH = 8
ANY_NODE = {"kubernetes.io/os": "linux"}
"""Nodes that fetch the model. Without a selector the operator requires a node with an NVIDIA device
(`GetNodeSelectors` of its `nimcache_types.go`), whose taint its job does not tolerate: it would
wait for ever."""
ZONE_LABEL = "topology.kubernetes.io/zone"
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"


def cache_name(nim: Nim) -> str:
    """Name of the cache: the service's name, and a digest of the model and its storage.

    The operator fills a cache once and refuses changes to it, so another model, tag or volume is
    another cache: it is filled before the service uses it, and the old cache is removed last.
    """
    content = json.dumps(_cache_spec(nim), sort_keys=True).encode()
    return f"{nim.name}-{hashlib.sha256(content).hexdigest()[:DIGEST_LENGTH]}"


def nim_cache(nim: Nim) -> dict[str, Any]:
    """The volume, and the job that fills it once. Fetching needs no GPU: it stays off GPU nodes."""
    return manifest(API_VERSION, "NIMCache", cache_name(nim), nim.namespace, spec=_cache_spec(nim))


def _cache_spec(nim: Nim) -> dict[str, Any]:
    chosen = nim.model
    model: dict[str, Any] = (
        {"profiles": list(chosen.profiles)}
        if chosen.profiles
        else {"tensorParallelism": str(chosen.tensor_parallelism)}
    )
    if not chosen.profiles and chosen.engine is not None:
        model["engine"] = chosen.engine
    if not chosen.profiles and chosen.precision is not None:
        model["precision"] = chosen.precision
    zone = {} if nim.storage.zone is None else {ZONE_LABEL: nim.storage.zone}
    return data_part(
        "nim",
        "cache",
        puller=f"{nim.image}:{nim.tag}",
        auth=nim.auth_secret,
        pull=nim.pull_secret,
        model=model,
        size=f"{nim.storage.size_gib}Gi",
        **{"class": nim.storage.storage_class},
        access="ReadWriteMany" if nim.storage.shared else "ReadWriteOnce",
        nodes={**ANY_NODE, **zone},
    )


def nim_service(nim: Nim) -> dict[str, Any]:
    """The server and its Service."""
    spec = data_part(
        "nim",
        "service",
        image=nim.image,
        tag=nim.tag,
        pull=nim.pull_secret,
        auth=nim.auth_secret,
        cache=cache_name(nim),
        limits={nim.resource: str(nim.count)},
        replicas=nim.replicas,
        port=nim.port,
        metrics=nim.metrics,
        labels=dict(nim.monitor_labels) or None,
        failures=nim.startup_minutes * 60 // PROBE_SECONDS,
        nodes={POOL_LABEL: nim.pool},
        queue=None if nim.queue is None else {QUEUE_LABEL: nim.queue},
    )
    return manifest(API_VERSION, "NIMService", nim.name, nim.namespace, spec=spec)


# Findings about NIMs before anything is made (NVIDIA k8s-nim-operator v3.1.2).

_rules = rules_in(__file__)

LONGEST_NAME = 63 - len("-12345678-job")
"""Characters of a NIM's name: a job's name is a label of its pod."""


def validate_nim(nim: Nim) -> list[Finding]:
    """Everything that is wrong with a NIM; paths begin at the arguments."""
    return [*_rules("nim", nim=nim, length=len(nim.name), longest=LONGEST_NAME)]
