"""Nodes that break and are repaired, on a real API server, scheduler and DaemonSet controller."""

import pytest

from gpufleet_sandbox.sandbox import Sandbox
from tests.engine.tested_nodes import TestedPool, life, prepared

pytestmark = [pytest.mark.sandbox]
SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(2, 41))]


@pytest.mark.parametrize("seed", SEEDS)
def test_no_work_on_a_node_that_did_not_pass(sandbox: Sandbox, seed: int) -> None:
    api = prepared(sandbox.kubeconfig)
    with TestedPool(api, f"tested{seed}", seed) as pool:
        life(pool)
