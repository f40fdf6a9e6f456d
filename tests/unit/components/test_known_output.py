import asyncio
from typing import Any

import pulumi
from pulumi.runtime import settings

from gpufleet.components_base.component import known_output


def tasks_for(make: Any) -> tuple[Any, int]:
    """Value of the output, and the number of outputs that the SDK keeps track of for it."""

    async def ask() -> tuple[Any, int]:
        before = len(settings.SETTINGS.outputs)
        output = make()
        tracked = len(settings.SETTINGS.outputs) - before
        assert await output.is_known()
        assert not await output.is_secret()
        assert await output.resources() == set()
        return await output.future(), tracked

    return asyncio.run(ask())


def test_plain_data_is_known_and_depends_on_nothing() -> None:
    value = {"chat": {"nvidia.com/gpu": 8}, "none": None, "list": ["a", 1]}
    assert tasks_for(lambda: known_output(value)) == (value, 1)


def test_the_sdk_keeps_track_of_every_entry() -> None:
    """The reason for `known_output`: when this fails, `from_input` has become as good."""
    value = {f"pool-{n}": {"nvidia.com/gpu": n} for n in range(20)}
    _, tracked = tasks_for(lambda: pulumi.Output.from_input(value))
    assert tracked > 20


def test_it_can_be_applied() -> None:
    assert tasks_for(lambda: known_output([3, 4]).apply(sum))[0] == 7
