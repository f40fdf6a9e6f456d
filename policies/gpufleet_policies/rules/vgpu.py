"""vGPU machines: licences of their guests."""

from collections.abc import Iterator
from fractions import Fraction

from gpufleet.cluster.nvidia import OperatorChoices
from gpufleet.findings import Finding
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.pool_money import saving, smallest
from gpufleet_policies.rules.pools import all_pools
from gpufleet_policies.rules.written import written_rule

_THROTTLED = Fraction(9, 10)
"""Part of its speed an unlicensed guest is assumed to lose; NVIDIA publishes no figure."""


@written_rule("vgpu-unlicensed", OperatorChoices)
def unlicensed(context: RuleContext, choices: OperatorChoices) -> Iterator[Finding]:
    """The operator installs the driver of guests that use vGPUs, and names no licence Secret."""
    if not choices.licence.is_known or choices.licence.value:
        return
    if not choices.driver_enabled.is_known or not choices.driver_enabled.value:
        return
    pools = [pool for pool in all_pools(context) if pool.vgpu_profile.is_known]
    if not pools:
        return
    pool = pools[0]
    yield unlicensed.say(
        f"{choices.place}.driver.licensingConfig".strip("."),
        pool=pool,
        money=saving(
            context, pool, smallest(pool), _THROTTLED, "0.9 of the speed lost, by assumption"
        ),
    )
