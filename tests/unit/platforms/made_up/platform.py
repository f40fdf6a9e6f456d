"""Results of the platform for pools and fleets."""

from collections.abc import Iterable, Mapping, Sequence

from gpufleet.findings import Finding, error, warning
from gpufleet.fleet.model import Pool
from gpufleet.fleet.platform_rules import DeclaredMachine, PlatformRules
from gpufleet.spec.capacity import Capacity
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.pool import GpuPool

ROW = "rack.example.com/row"


class RackRules(PlatformRules):
    """Racks: machines of a declared size, in a row."""

    def own_machine(self, pool: GpuPool, path: str) -> DeclaredMachine | Finding:
        if pool.rack is None:
            return error(
                "rack-options-missing", f"{path}.rack", "a machine needs a size", "add `rack`"
            )
        return DeclaredMachine(pool.rack.cpus, pool.rack.memory_gib)

    def node_labels(self, pool: GpuPool, capacity: Sequence[Capacity]) -> Mapping[str, str]:
        return {} if pool.rack is None else {ROW: pool.rack.row}

    def pod_selector(self, pool: Pool) -> Mapping[str, str]:
        return {ROW: pool.labels[ROW]}

    def validate_pools(self, spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
        for pool in pools:
            if pool.nodes.maximum > 8:
                yield warning(
                    "rack-full", f"{pool.path}.nodes.max", "a row has room for 8 machines"
                )


RULES = RackRules()
