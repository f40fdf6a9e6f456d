"""Acceptance tests of a pool's nodes: which tests apply, and the expected results.

Images and arguments come from the vendors. Expected bandwidths are a share of the catalogue's
figures: NVIDIA expects 300 GB/s between p5.48xlarge, 75 % of their 3200 Gbit/s (NVIDIA/aicr 6f68935
`recipes/overlays`, nccl-all-reduce-bw), and Azure 228 GB/s within an A100 node, 76 % of the 300
GB/s of its NVLink in one direction (Azure/azurehpc-health-checks, check_nccl_allreduce). Read
2026-11-29.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from gpufleet.contract.contract_fact import ContractFact, Term
from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.model import NOT_ACCEPTED, Pool
from gpufleet.spec.acceptance import AcceptancePolicy
from gpufleet.spec.pool import Fabric, Intent

_finding, _rules = findings_in(__file__), rules_in(__file__)

ACCEPTED_LABEL = "gpufleet.dev/accepted"
"""Node label whose value is the key of the tests that the node has passed."""
BANDWIDTH_SHARE = 0.75
MEMORY_SHARE = 0.9
"""Minimum memory of a GPU, as a share: ECC uses up to a sixteenth of the memory of boards without
HBM (NVIDIA documentation of nvidia-smi, ECC), and clouds state the nominal figure."""
DIAGNOSTICS = {Intent.TRAINING: 3, Intent.BATCH: 2, Intent.INFERENCE: 2, Intent.INTERACTIVE: 1}
"""Level of `dcgmi diag`: 1 takes seconds, 2 minutes, 3 half an hour, 4 one to two hours (NVIDIA
DCGM user guide, Run Levels and Tests; NVIDIA/NVSentinel 0aedaf3 `charts/preflight/values.yaml`)."""
DIAGNOSTICS_TAKE = {1: "seconds", 2: "minutes", 3: "half an hour", 4: "one to two hours"}
_BIG, _SMALL = "8G", "1G"
"""Largest message of the all-reduce: two buffers of this size must fit into a GPU's memory."""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The tests of one pool."""

    policy: AcceptancePolicy
    gpus: int
    memory_mib: int | None
    """Minimum memory of a GPU; None: not known."""
    driver: str | None
    """Branch of the driver in the node image; None: not known."""
    nvlink: bool
    """Whether the GPUs of a node are joined by NVLink."""
    diagnostics: int | None
    """Level; None: not run, because the GPUs are partitioned or parts of a GPU."""
    nccl: bool
    """Whether an all-reduce over the GPUs of a node is run."""
    within_gbs: float | None
    """Minimum bus bandwidth; None: only reported."""
    between: bool
    """Whether an all-reduce over two nodes is run."""
    between_gbs: float | None
    message: str
    advertised: Mapping[str, int]

    @property
    def tests(self) -> tuple[str, ...]:
        """Prefixes of the required figures, in addition to those of the workload test."""
        found = ["gpus"]
        if self.diagnostics is not None:
            found.append("diagnostics")
        return (*found, "nccl-within") if self.nccl else tuple(found)

    def key(self, *rest: object) -> str:
        """Changes with the inputs of the tests: driver, layout, expectations, and `rest`."""
        facts = {**asdict(self), "policy": self.policy.rerun, "advertised": dict(self.advertised)}
        text = json.dumps([facts, rest], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:10]


def acceptance_of(pool: Pool) -> Acceptance | None:
    """The tests of a pool; None if it has none."""
    policy = pool.acceptance
    if policy is None:
        return None
    whole = all(machine.fraction == 1 for machine in pool.machines)
    cut = any(gpu.mig_enabled for gpu in pool.partition.gpus)
    vgpu = pool.partition.mode == "vgpu"
    plain = whole and not cut and not vgpu
    nvlink = plain and pool.gpus_per_node > 1 and _by_nvlink(pool)
    several = plain and pool.gpus_per_node > 1
    between = plain and pool.fabric is not Fabric.NONE and pool.nodes.maximum > 1
    memory = pool.gpu.memory_bytes if whole and not vgpu else None
    big = memory is not None and memory > 40 << 30
    image = pool.image
    return Acceptance(
        policy=policy,
        gpus=pool.gpus_per_node,
        memory_mib=None if memory is None else int(memory * MEMORY_SHARE) >> 20,
        driver=image.branch_for(pool.gpu.key) if image is not None and image.driver else None,
        nvlink=nvlink,
        diagnostics=(policy.diagnostics or DIAGNOSTICS[pool.intent]) if plain else None,
        nccl=several,
        within_gbs=policy.within_node_gbs or (_nvlink_gbs(pool) if nvlink else None),
        between=between,
        between_gbs=policy.between_nodes_gbs or _network_gbs(pool),
        message=_BIG if big else _SMALL,
        advertised=dict(pool.advertised),
    )


def _by_nvlink(pool: Pool) -> bool:
    rows = [machine.instance for machine in pool.machines]
    return bool(rows) and all(
        row is not None and "NVLink" in (row.accelerator.interconnect or "") for row in rows
    )


def _nvlink_gbs(pool: Pool) -> float | None:
    """NVLink bandwidth in one direction; the catalogue has the sum of both directions."""
    both = pool.gpu.nvlink_bytes_per_second
    return round(both / 2e9 * BANDWIDTH_SHARE, 1) if both else None


def _network_gbs(pool: Pool) -> float | None:
    rows = [machine.instance for machine in pool.machines]
    rates = [row.network_gbps for row in rows if row is not None and row.network_gbps is not None]
    if not rows or len(rates) < len(rows):
        return None
    return round(float(min(rates)) / 8 * BANDWIDTH_SHARE, 1)


def validate_acceptance(pools: Sequence[Pool]) -> Iterable[Finding]:
    """Findings about `acceptance` of the fleet and its pools."""
    for pool in pools:
        yield from _rules("acceptance", pool.path, pool=pool, taint=NOT_ACCEPTED)
        tests = acceptance_of(pool)
        if tests is not None:
            yield from _runnable(pool, tests)


def _runnable(pool: Pool, tests: Acceptance) -> Iterator[Finding]:
    path = "acceptance" if pool.spec.acceptance is None else f"{pool.path}.acceptance"
    if pool.gpu.vendor != "nvidia":
        yield _finding("acceptance-vendor", path, pool=pool.name, found=pool.gpu.name)
    unknown = [
        name
        for name, runs, figure in (
            ("NCCL within a node", tests.nccl, tests.within_gbs),
            ("NCCL between nodes", tests.between, tests.between_gbs),
        )
        if runs and figure is None
    ]
    if unknown:
        missing = " and ".join(unknown)
        yield _finding("acceptance-only-reported", path, pool=pool.name, missing=missing)


def acceptance_terms(pool: Pool) -> Iterator[Term]:
    """The tests that a node must pass before it runs work, and their duration."""
    tests = acceptance_of(pool)
    if tests is None:
        return
    parts = ["nvidia-smi against the catalogue"]
    level = tests.diagnostics
    if level is not None:
        parts.append(f"dcgmi diag -r {level} ({DIAGNOSTICS_TAKE[level]})")
    for name, runs, figure in (
        ("within a node", tests.nccl, tests.within_gbs),
        ("between two nodes", tests.between, tests.between_gbs),
    ):
        if runs:
            least = "reported" if figure is None else f"at least {figure:g} GB/s"
            parts.append(f"NCCL {name} ({least})")
    parts.append("vectorAdd on one unit of each resource")
    fact = ContractFact("acceptance is declared", f"{pool.path}.acceptance")
    yield Term("before work", ", ".join(parts), (fact,))
