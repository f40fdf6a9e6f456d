"""A folder as clusters are kept in: mostly services without GPUs, one file of ten with them.

`write_repository(folder, count)` writes `count` files from a fixed seed; those with GPUs are of
`public_manifests`.
"""

import random
from pathlib import Path
from typing import Any

from benchmarks.public_manifests import SEED, manifests, yaml_of

EVERY = 10
"""One file of this number requests GPUs."""


def write_repository(folder: Path, count: int) -> list[Path]:
    """Write the files below a folder; the paths in order."""
    chance = random.Random(SEED)
    with_gpus = manifests(count)
    written: list[Path] = []
    for number in range(count):
        if number % EVERY:
            name = f"services/service-{number:04d}.yaml"
            documents = _service(chance, f"service-{number:04d}")
        else:
            name, documents, _ = next(with_gpus)
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("---\n".join(yaml_of(document) for document in documents), "utf-8")
        written.append(path)
    return written


def _service(chance: random.Random, name: str) -> list[dict[str, Any]]:
    labels = {"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": chance.choice("abc")}
    metadata = {"name": name, "namespace": chance.choice(("web", "data", "ops")), "labels": labels}
    made = [_deployment(chance, metadata), _port(metadata)]
    if chance.random() < 0.6:
        data = {f"SETTING_{index}": f"{chance.random():.4f}" for index in range(8)}
        made.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
    if chance.random() < 0.4:
        made.append(_budget(metadata))
    if chance.random() < 0.3:
        made.append({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    return made


def _deployment(chance: random.Random, metadata: dict[str, Any]) -> dict[str, Any]:
    labels = metadata["labels"]
    probe = {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10}
    container: dict[str, Any] = {
        "name": "main",
        "image": f"registry.example.com/{metadata['name']}:1.{chance.randrange(40)}",
        "args": ["--listen", ":8080", f"--workers={chance.choice((2, 4))}"],
        "env": [{"name": "LOG_LEVEL", "value": "info"}, {"name": "REGION", "value": "eu"}],
        "ports": [{"containerPort": 8080, "name": "http"}],
        "readinessProbe": probe,
        "livenessProbe": {**probe, "initialDelaySeconds": 30},
        "resources": {
            "requests": {"cpu": "100m", "memory": "256Mi"},
            "limits": {"memory": "512Mi"},
        },
    }
    if chance.random() < 0.5:
        container["securityContext"] = {"runAsNonRoot": True, "readOnlyRootFilesystem": True}
    spec = {
        "replicas": chance.choice((1, 2, 3)),
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
    }
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def _port(metadata: dict[str, Any]) -> dict[str, Any]:
    spec = {"selector": metadata["labels"], "ports": [{"port": 80, "targetPort": "http"}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def _budget(metadata: dict[str, Any]) -> dict[str, Any]:
    spec = {"minAvailable": 1, "selector": {"matchLabels": metadata["labels"]}}
    head = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
    return {**head, "metadata": metadata, "spec": spec}
