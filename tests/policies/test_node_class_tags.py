"""The owner of a Karpenter pool may be in its node class."""

from gpufleet.catalogue import load
from gpufleet.findings import Level
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.settings import read_settings
from gpufleet_policies.rules.validate import validate
from tests.policies.cases.case import manifest
from tests.policies.cases.pools import QUIET, karpenter
from tests.policies.objects import TODAY, changed
from tests.policies.test_pool_traps import said


def test_tags_of_a_node_class_are_tags_of_its_pools():
    tags = {"owner": "ml", "cost-center": "4711", "environment": "prod"}
    node_class = {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "gpu"},
        "spec": {"tags": tags},
    }
    bare = karpenter({"metadata.labels": {}})
    rule = "gpu-owner-tags-missing"
    assert rule not in said(bare, *QUIET, manifest(node_class))
    without = changed(node_class, {"spec.tags": {"owner": "ml"}})
    # What is missing here can be in another file, until the project requests owners.
    assert said(bare, *QUIET, manifest(without))[rule] is Level.ADVISORY
    # Declared elsewhere, it may have them.
    assert said(bare, *QUIET)[rule] is Level.ADVISORY
    alone = RuleContext(today=TODAY, load_catalogue=load)
    strict = read_settings({"profile": "strict"})
    assert rule not in {f.code for f in validate(bare.facts(), alone, strict)}
