"""No mutation that a vendor's definition refuses is accepted. The mutator is independent of the
catalogue: it reads the vendors' files next to the checkout."""

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gpufleet.catalogue.schemas import schema_kinds
from gpufleet.contract.schemas.problems import SchemaProblem, SchemaProblemKind
from gpufleet.contract.schemas.validator import schema_problems
from gpufleet.rules.rule import Verdict
from gpufleet_policies.configurations.kinds import validate_text
from tests.examples import examples, has_changed
from tests.schema_mutations import UPSTREAM, definitions, mutations, smallest

FILES = sorted(path.name for path in UPSTREAM.glob("*.yaml"))
OTHER_COPY = "resource.nvidia.com_computedomains.gpu-operator-v26.7.0.yaml"
"""The operator's copy of a definition; the catalogue has the driver's."""
CHANGED = has_changed("contract/schemas/*", "catalogue/schemas.py", "schemas/*.json")
MOST = 6_000 if CHANGED else examples(6_000)
"""Mutations of one definition that are tried; of more, a sample with a fixed seed."""


def problems(document: dict[str, Any]) -> list[SchemaProblem]:
    """Problems by the definition; the smallest object may be one that the vendor's code refuses."""
    found = schema_problems(document)
    return [one for one in found if one.kind is not SchemaProblemKind.REFUSED]


@pytest.mark.parametrize("name", [name for name in FILES if name != OTHER_COPY] or [None])
def test_no_mutation_of_a_definition_is_accepted(name: str | None) -> None:
    if name is None:
        pytest.skip(f"the vendors' definitions are not next to the checkout ({UPSTREAM})")
    for definition in definitions([UPSTREAM / name]):
        assert definition.kind in schema_kinds()[definition.api_version]
        assert problems(smallest(definition)) == []
        found = list(mutations(definition))
        if len(found) > MOST:
            found = random.Random(16).sample(found, MOST)
        kinds = Counter(one.what for one in found)
        assert kinds["type"] + kinds["bound"] + kinds["enum"] > 0
        accepted = [str(one) for one in found if not problems(one.document)]
        assert accepted == []


FAMILIES = {
    "gpu-operator-values": ("ClusterPolicy", "NVIDIADriver", "GPUCluster"),
    "network-operator-values": (
        "NicClusterPolicy",
        "NicNodePolicy",
        "MacvlanNetwork",
        "HostDeviceNetwork",
        "IPoIBNetwork",
    ),
    "karpenter": ("NodePool", "EC2NodeClass", "NodeOverlay"),
    "autoscaler": ("ScaledObject", "ScaledJob"),
    "dra-config": ("ComputeDomain",),
    "kubernetes-object": ("PodMonitor", "ClusterQueue", "SriovNetworkNodePolicy"),
}
"""Kind of `check` -> kinds of objects it validates."""
NAMES = {"NicClusterPolicy": "nic-cluster-policy"}
TRIED = 150 if CHANGED else examples(150)


@pytest.mark.parametrize("kind", FAMILIES)
def test_check_accepts_no_mutation(kind: str) -> None:
    if not FILES:
        pytest.skip(f"the vendors' definitions are not next to the checkout ({UPSTREAM})")
    files = [UPSTREAM / name for name in FILES if name != OTHER_COPY]
    tried = Counter[str]()
    for definition in definitions(files):
        if definition.kind not in FAMILIES[kind]:
            continue
        found = list(mutations(definition))
        for one in random.Random(16).sample(found, min(TRIED, len(found))):
            name = NAMES.get(definition.kind, one.document["metadata"]["name"])
            document = {**one.document, "metadata": {"name": name}}
            verdict = validate_text(kind, json.dumps(document)).verdict
            # A key that looks like no other is dropped, and everything else works.
            expected = (Verdict.REJECT, Verdict.WARN)[: 1 + (one.what == "unknown")]
            assert verdict in expected, f"{definition.kind} {one}"
            tried[definition.kind] += 1
    assert set(tried) == set(FAMILIES[kind])


def test_the_files_are_there_or_the_skip_is_visible() -> None:
    assert FILES or not Path(UPSTREAM).exists()
