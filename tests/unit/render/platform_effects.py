"""Effect of a field of a declaration on a platform: on the files, and on the counts."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from gpufleet.catalogue import load
from gpufleet.findings import Severity
from gpufleet.fleet import Fleet, Pool
from gpufleet.fleet.as_dict import fleet_as_dict
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.eks.shape import eks_shape
from gpufleet.platforms.gke.shape import gke_shape
from gpufleet.platforms.sandbox.simulated_node import simulated_nodes
from gpufleet.platforms.vsphere.machine_arguments import (
    machine_inputs,
    node_labels,
    own_inputs,
    pool_machines,
)
from gpufleet.render.artefacts import artefacts, validate_artefacts
from gpufleet.spec.base import Ownership, Platform
from gpufleet.spec.pool import Provisioner
from tests.reading import yaml_documents

CLUSTERS: dict[str, dict[str, Any]] = {
    "eks": {"name": "ml", "region": "us-east-1"},
    "gke": {"name": "ml", "region": "us-central1"},
    "openshiftAws": {"name": "ml", "region": "us-east-1"},
    "openshiftGcp": {"name": "ml", "region": "us-central1"},
}
MACHINES: dict[str, dict[str, Any]] = {
    "eks": {"instanceTypes": ["g6.2xlarge"]},
    "gke": {"instanceTypes": ["g2-standard-8"]},
    "vsphere": {"gpu": "L4", "vsphere": {"cpus": 8, "memoryGib": 32, "template": "ubuntu"}},
    "openshift": {"gpu": "L4", "openshift": {"cpus": 8, "memoryGib": 32, "template": "rhcos"}},
    "openshiftAws": {"instanceTypes": ["g6.2xlarge"], "zones": ["us-east-1a"]},
    "openshiftGcp": {"instanceTypes": ["g2-standard-8"], "zones": ["us-central1-a"]},
    "sandbox": {"gpu": "L4"},
}
"""Platform -> a node with one L4 there."""

_SHOWN = 4
"""Maximum number of changes of a cell in full."""

_LONGEST = 60


@dataclass(frozen=True)
class Effect:
    """Results of a declaration on a platform."""

    refused: tuple[str, ...]
    warned: tuple[str, ...]
    files: Mapping[str, Any]
    counted: Mapping[str, Any]


def effect(platform: str, pool: Mapping[str, Any], fleet: Mapping[str, Any]) -> Effect:
    """Compile and render one pool in one fleet; most fields are tried with the same pool."""
    return _effect(platform, json.dumps(pool), json.dumps(fleet))


@cache
def _effect(platform: str, pool_text: str, fleet_text: str) -> Effect:
    pool, fleet = json.loads(pool_text), json.loads(fleet_text)
    base = {"name": "chat", **MACHINES[platform], "nodes": {"min": 1, "max": 3}}
    named = {key: value for key, value in pool.items() if value is not None}
    declared = {key: value for key, value in base.items() if key not in pool} | named
    given: dict[str, Any] = {
        "catalogue": "2026.11",
        "platform": platform,
        "cluster": CLUSTERS.get(platform, {"name": "ml"}),
        "pools": [declared],
        **fleet,
    }
    if "cluster" in fleet:
        given["cluster"] = {**CLUSTERS.get(platform, {"name": "ml"}), **fleet["cluster"]}
    result = compile_data(given)
    made = result.fleet
    findings = list(result.findings)
    if made is not None and result.deployable:
        findings += validate_artefacts(made)
    codes = {
        severity: tuple(dict.fromkeys(one.code for one in findings if one.severity is severity))
        for severity in Severity
    }
    if made is None or codes[Severity.ERROR]:
        return Effect(codes[Severity.ERROR] or ("unreadable",), (), {}, {})
    files = {file.path: _parsed(file.text) for file in artefacts(made)}
    return Effect((), codes[Severity.WARNING], {**files, **_nodes(made)}, fleet_as_dict(made))


def _nodes(fleet: Fleet) -> dict[str, Any]:
    """Nodes of platforms whose nodes no file describes."""
    pool = fleet.pools[0]
    prefix = fleet.spec.name_prefix or fleet.spec.cluster.name
    if pool.ownership is not Ownership.MANAGED:
        return {}
    if fleet.spec.platform is Platform.EKS and pool.provisioner is not Provisioner.KARPENTER:
        shape = eks_shape(pool)
        wired = {
            "subnets": ", ".join(shape.zones) or "of all zones",
            **({"userData": "joins"} if shape.custom else {}),
            **_taken_over(pool, shape.options.imported),
        }
        return {"node": wired}
    if fleet.spec.platform is Platform.GKE:
        shape = gke_shape(pool)
        networks = {"networks": [network.name for network in shape.networks]}
        return {"node": {**networks, **_taken_over(pool, shape.options.imported)}}
    if fleet.spec.platform is Platform.VSPHERE:
        return {
            "machine": {
                **machine_inputs(pool),
                "machines": [own_inputs(one, pool) for one in pool_machines(prefix, pool)],
                "labels": node_labels(pool, 0),
                "taints": [f"{one.key}={one.value}:{one.effect}" for one in pool.taints],
            }
        }
    if fleet.spec.platform is Platform.SANDBOX:
        made = simulated_nodes(pool, load("2026.11"), prefix=prefix, region="local")
        nodes = [{"name": one.name, **one.metadata, "spec": one.spec} for one in made]
        return {"node": {"nodes": nodes}}
    return {}


def _taken_over(pool: Pool, how: str) -> dict[str, Any]:
    """Effect of a component on an existing node group."""
    return {} if pool.spec.import_id is None else {"takenOver": f"{pool.spec.import_id}, {how}"}


def _parsed(text: str) -> Any:
    try:
        documents = list(yaml_documents(text))
    except yaml.YAMLError:
        return text
    return documents[0] if len(documents) == 1 else documents


def flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every leaf with its path; lists of plain values are leaves."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from flat(item, f"{path}.{key}".strip("."))
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        for index, item in enumerate(value):
            yield from flat(item, f"{path}[{index}]")
    else:
        yield path, json.dumps(value) if isinstance(value, bool | list) else str(value)


_NODE_FILES = ("clouds/", "manifests/karpenter/", "manifests/gke/", "machine", "node")
_OPENSHIFT_NODES = "manifests/openshift/"


def in_words(before: Effect, after: Effect) -> str:
    """Differences, as a cell of a table."""
    if after.refused:
        return "refused: " + ", ".join(f"`{code}`" for code in after.refused[:2])
    told: list[str] = []
    others: list[str] = []
    for path in sorted({*before.files, *after.files}):
        old, new = before.files.get(path), after.files.get(path)
        if old == new:
            continue
        if (old is None) != (new is None):
            others.append(f"`{path}` {'goes' if new is None else 'is new'}")
        elif path.startswith((*_NODE_FILES, _OPENSHIFT_NODES)):
            told += _changes(dict(flat(old or {})), dict(flat(new or {})))
        else:
            others.append(f"`{path}`")
    more = len(told) - _SHOWN
    words = ["; ".join([*told[:_SHOWN], *([f"and {more} more"] if more > 0 else [])])]
    if others:
        words.append(f"{'also ' if told else ''}{', '.join(others)}")
    if not told and not others:
        words = [_counted(before, after)]
    warned = [code for code in after.warned if code not in before.warned]
    if warned:
        words.append("warned: " + ", ".join(f"`{code}`" for code in warned))
    return "; ".join(word for word in words if word)


def _changes(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    told: list[str] = []
    for path, value in after.items():
        if before.get(path) != value:
            short = "changes" if len(value) > _LONGEST or "\n" in value else value
            told.append(f"`{path}` {short}")
    return [*told, *(f"`{path}` goes" for path in before if path not in after)]


def _counted(before: Effect, after: Effect) -> str:
    old, new = dict(flat(before.counted)), dict(flat(after.counted))
    changed = [path for path in {**old, **new} if old.get(path) != new.get(path)]
    if not changed:
        return "nothing in nodes and files"
    plain = [path.removeprefix("pools[0].") for path in changed]
    names = list(dict.fromkeys(path.split("[")[0].rsplit(".", 1)[0] for path in plain))
    return "counted: " + ", ".join(f"`{name}`" for name in names[:_SHOWN])
