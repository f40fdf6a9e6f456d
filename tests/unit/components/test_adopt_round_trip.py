"""Random legal fleets, registered, exported as a state of another program, and adopted again.

Equal is what the adopted declaration registers with the same connection: every input of every
resource of a cloud and every object. Only then nothing is replaced by the first update.
"""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from gpufleet import GpuFleet
from gpufleet.adopt import adopt
from gpufleet.change.fleet_change import change_plan
from gpufleet.fleet import Fleet
from gpufleet.fleet.observed import Observations
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.registry import PLATFORMS
from gpufleet_policies.readers.observed import resources_of
from tests.examples import has_changed
from tests.unit.adopt.states import OWN, pulumi_state, some_nodes
from tests.unit.components.random_fleets import CONNECTIONS as CLOUDS
from tests.unit.components.random_fleets import eks_pool, gke_pool, optional
from tests.unit.components.random_options import without_raw

Check = Callable[[str, int], None]
REGIONS = {"eks": "us-east-1", "gke": "us-central1"}
NAMES = ("eks", "gke")


@st.composite
def fleets(draw: st.DrawFn, platform: str) -> dict[str, Any]:
    pool = eks_pool if platform == "eks" else gke_pool
    cluster = {
        "name": "ml",
        "region": REGIONS[platform],
        "kubernetesVersion": draw(st.sampled_from(["1.35", "1.36"])),
        **({"project": "stand-in"} if platform == "gke" else {}),
    }
    return {
        "catalogue": "2026.11",
        "platform": platform,
        "cluster": cluster,
        "pools": [draw(pool(f"p{i}")) for i in range(draw(st.integers(1, 2)))],
        **optional(draw, tags=st.just({"cost-center": "4711"}), namePrefix=st.just("team-a")),
    }


def any_fleets(platform: str) -> st.SearchStrategy[dict[str, Any]]:
    return fleets(platform).map(without_raw)


def registered(run: Any, document: dict[str, Any]) -> Any:
    args: Any = {"spec": document, "connection": CLOUDS[document["platform"]]}
    return run(lambda: GpuFleet("fleet", args)).resources


def inputs(resources: list[Any]) -> dict[tuple[str, str], Any]:
    return {(r.type, r.name): r.inputs for r in resources if not r.type.startswith(OWN)}


def with_zones(document: dict[str, Any]) -> dict[str, Any]:
    """The same fleet with its subnets' zones written out, which the adopted one always has."""
    written = copy.deepcopy(document)
    for pool in written["pools"]:
        bought = any(way.keys() & {"reserved", "capacityBlock"} for way in pool.get("capacity", ()))
        if document["platform"] == "eks" and pool["provisioner"] != "karpenter" and not bought:
            pool.setdefault("zones", ["us-east-1a", "us-east-1b"])
    return written


def says_when_it_ends(document: dict[str, Any]) -> bool:
    """Karpenter's objects hold no end of a Capacity Block: such pools become `reserved`, or are
    left out where their machine is sold as a block only."""
    return not any(
        pool.get("provisioner") == "karpenter" and "capacityBlock" in way
        for pool in document["pools"]
        for way in pool.get("capacity", ())
    )


def fleet_of(document: dict[str, Any]) -> Fleet:
    result = compile_data(document)
    assert result.deployable, [one.message for one in result.findings]
    assert result.fleet is not None
    return result.fleet


def adopted_equals(run: Any, document: dict[str, Any]) -> None:
    made = registered(run, document)
    state, fleet = pulumi_state(made, document["cluster"]), fleet_of(document)
    nodes = some_nodes(fleet)
    exported = [*resources_of(state, "state.json"), *resources_of(nodes, "nodes.json")]
    found = adopt(Observations(tuple(exported)), PLATFORMS)
    assert found.spec is not None, (document, found.notes)
    assert found.not_expressed == (), (document, found.not_expressed)
    assert inputs(registered(run, found.spec)) == inputs(made), (document, found.spec)
    plan = change_plan(fleet_of(with_zones(document)), fleet_of(found.spec), {})
    assert plan.findings == (), (document, found.spec)
    assert [one.name for one in plan.pools if one.waves] == [], (document, found.spec)


@pytest.fixture
def check(run: Any) -> Check:
    def adopted_is_equal(platform: str, examples: int) -> None:
        seen: list[str] = []

        @settings(
            deadline=None,
            max_examples=examples,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        )
        @given(any_fleets(platform))
        def body(document: dict[str, Any]) -> None:
            assume(says_when_it_ends(document) and compile_data(document).deployable)
            adopted_equals(run, document)
            seen.append(platform)

        body()
        assert len(seen) > examples // 3

    return adopted_is_equal


def test_a_step_with_bounds_of_its_own_does_not_decide_for_the_others(run: Any) -> None:
    """TPUs by flex start have bounds for each zone also where the pool declares a total."""
    steps: list[dict[str, Any]] = [{"flexStart": {"maxRunDuration": "12h"}}, {"spot": {}}]
    pool = {
        "name": "tpu",
        "instanceTypes": ["ct5p-hightpu-4t"],
        "nodes": {"min": 0, "max": 4},
        "zones": ["us-central1-a"],
        "capacity": steps,
        "gke": {"limits": "total"},
    }
    cluster = {"name": "ml", "region": "us-central1", "project": "stand-in"}
    cluster["kubernetesVersion"] = "1.35"
    adopted_equals(
        run, {"catalogue": "2026.11", "platform": "gke", "cluster": cluster, "pools": [pool]}
    )


@pytest.mark.parametrize("platform", NAMES)
def test_a_few_random_fleets(check: Check, platform: str) -> None:
    check(platform, 8 if has_changed("gpufleet/adopt/*.py") else 3)


@pytest.mark.nightly
@pytest.mark.parametrize("platform", NAMES)
def test_two_hundred_random_fleets(check: Check, platform: str) -> None:
    check(platform, 200)


def test_a_label_that_another_pool_brings_is_expressed(run: Any) -> None:
    """Operands of the GPU Operator, which p1 needs, stay off the nodes of Bottlerocket."""
    pool = {
        "instanceTypes": ["g5.16xlarge"],
        "nodes": {"min": 0, "max": 3},
        "provisioner": "managed",
        "zones": ["us-east-1a"],
        "sharing": {"timeSlicing": {"replicas": 4}},
    }
    adopted_equals(
        run,
        {
            "catalogue": "2026.11",
            "platform": "eks",
            "cluster": {"name": "ml", "region": "us-east-1", "kubernetesVersion": "1.35"},
            "pools": [
                {**pool, "name": "p0", "image": "bottlerocket-nvidia"},
                {**pool, "name": "p1", "image": "al2023-nvidia"},
            ],
        },
    )
