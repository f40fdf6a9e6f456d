"""SDKs, providers and Google's API accept the registrations of random legal fleets."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings

from gpufleet import GpuFleet
from gpufleet.catalogue.provider_inputs import violations
from gpufleet.platforms.compiled import compile_data
from gpufleet_sandbox.cloud.checking import problems
from gpufleet_sandbox.cloud.gcp.admission import admit_node_pool
from gpufleet_sandbox.cloud.gcp.message import node_pool_message
from gpufleet_sandbox.cloud.sdk import Sdk
from tests.examples import examples
from tests.unit.components.random_fleets import CONNECTIONS, fleets
from tests.unit.components.random_options import without_raw
from tests.unit.components.snapshots import whole

SDKS = {name: Sdk(name) for name in ("aws", "gcp")}
NODE_POOL = "gcp:container/nodePool:NodePool"


def registers_what_providers_take(run: Any, examples: int) -> None:
    registered: list[str] = []

    @settings(
        deadline=None,
        max_examples=examples,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    @given(fleets().map(without_raw))
    def body(document: dict[str, Any]) -> None:
        assume(compile_data(document).deployable)
        connection: Any = CONNECTIONS[document["platform"]]
        made = run(lambda: GpuFleet("fleet", {"spec": document, "connection": connection}))
        for one in made.resources:
            cloud = one.type.split(":", 1)[0]
            if cloud not in SDKS:
                continue
            inputs = whole(one.inputs)
            assert problems(SDKS[cloud].resource(one.type).record, inputs) == [], one.name
            assert violations(one.type, inputs) == [], one.name
            if one.type == NODE_POOL:
                admit_node_pool(node_pool_message(inputs))
            registered.append(one.type)

    body()
    assert len(registered) > examples


@pytest.fixture
def check(run: Any) -> Callable[[int], None]:
    return lambda examples: registers_what_providers_take(run, examples)


def test_forty_random_fleets(check: Callable[[int], None]) -> None:
    check(examples(40))


@pytest.mark.nightly
def test_five_hundred_random_fleets(check: Callable[[int], None]) -> None:
    check(500)
