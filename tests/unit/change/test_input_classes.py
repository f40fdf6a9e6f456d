"""The class of each input follows from the provider's own schema: the catalogue's rows of it."""

import pytest

from gpufleet.catalogue.provider_inputs import constraints
from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.platforms.eks.platform import RULES as EKS
from gpufleet.platforms.gke.platform import RULES as GKE
from gpufleet_sandbox.cloud.sdk import Sdk

TYPES = {
    "nodeGroup": ("aws", "aws:eks/nodeGroup:NodeGroup", EKS),
    "launchTemplate": ("aws", "aws:ec2/launchTemplate:LaunchTemplate", EKS),
    "nodePool": ("gcp", "gcp:container/nodePool:NodePool", GKE),
}
NOT_KNOWN = {
    "nodeGroup": {"warmPoolConfig"},
    "launchTemplate": {"maintenanceOptions", "networkPerformanceOptions", "secondaryInterfaces"},
    "nodePool": {"bestEffortProvisioning", "ignoreNodeCountChanges"},
}
"""Inputs of which no source was read; a plan that has them fails closed."""


@pytest.mark.parametrize("kind", TYPES)
def test_what_the_provider_replaces_is_a_replacement(kind: str) -> None:
    cloud, token, rules = TYPES[kind]
    rows = [row for row in constraints(cloud)[token] if row.replaces is not None]
    assert len(rows) >= 2
    for row in rows:
        assert rules.input_class(kind, row.path, None, "b") is LeafClass.REPLACEMENT, row
        if row.replaces == "value":
            assert rules.input_class(kind, row.path, "a", "b") is LeafClass.REPLACEMENT, row


@pytest.mark.parametrize("kind", TYPES)
def test_each_input_has_a_class(kind: str) -> None:
    """For every input of the SDK; one without a replacing row is not a replacement."""
    cloud, token, rules = TYPES[kind]
    replaced = {row.path for row in constraints(cloud)[token] if row.replaces is not None}
    unknown: set[str] = set()
    for name in Sdk(cloud).resource(token).record.properties:
        found = rules.input_class(kind, name, None, "b")
        if found is LeafClass.UNKNOWN:
            unknown.add(name)
        if name not in replaced and name != "region":
            assert found is not LeafClass.REPLACEMENT, name
    assert unknown <= NOT_KNOWN[kind], unknown
