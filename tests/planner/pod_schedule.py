"""A scheduler: pods onto nodes by selector, toleration and resource."""

from typing import Any

from gpufleet.fleet import Fleet


def schedule(fleet: Fleet, documents: tuple[dict[str, Any], ...], lost: str | None = None) -> int:
    """Pods that stay pending, with every pool at its largest size. `lost` is a pool that is one
    device short of each resource it offers on one node."""
    nodes = [
        (pool, dict(pool.advertised)) for pool in fleet.pools for _ in range(pool.nodes.maximum)
    ]
    if lost is not None:
        free = next(free for pool, free in nodes if pool.name == lost)
        for resource in free:
            free[resource] -= next(p for p in fleet.pools if p.name == lost).partition.replicas
    waiting = 0
    pods: list[dict[str, Any]] = []
    for document in documents:
        spec = document["spec"]
        count = spec.get("replicas", spec.get("completions"))
        pods += [spec["template"]["spec"]] * count
    for pod in sorted(pods, key=lambda pod: -max(_asked(pod).values())):
        asked = _asked(pod)
        for pool, free in nodes:
            labels, keys = pool.labels, {t["key"] for t in pod["tolerations"]}
            fits = all(labels.get(k) == v for k, v in pod["nodeSelector"].items())
            fits = fits and all(labels.get(k) in v for k, v in _chosen_among(pod))
            fits = fits and all(t.key in keys for t in pool.taints)
            if fits and all(free.get(r, 0) >= n for r, n in asked.items()):
                for resource, number in asked.items():
                    free[resource] -= number
                break
        else:
            waiting += 1
    return waiting


def _chosen_among(pod: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """Labels of nodes that a pod requires, with the values that will do."""
    if "affinity" not in pod:
        return []
    affinity = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (term,) = affinity["nodeSelectorTerms"]
    return [(one["key"], one["values"]) for one in term["matchExpressions"]]


def _asked(pod: dict[str, Any]) -> dict[str, int]:
    limits = pod["containers"][0]["resources"]["limits"]
    return {name: int(n) for name, n in limits.items() if name.startswith("nvidia.com/")}
