"""Packing: the integer program, the heuristic where it does not apply, always a lower bound; and
the reason why a share has no place, with the nearest change that gives it one."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpufleet.catalogue.lookup import nearest_names
from gpufleet.findings import Finding, findings_in, ordered
from gpufleet.partition.shares import gib
from gpufleet_planner.packing import highs
from gpufleet_planner.packing.greedy import place_rest
from gpufleet_planner.packing.model import PackingProgram, realise
from gpufleet_planner.packing.problem import (
    Mode,
    Packing,
    PackingMachine,
    PackingMethod,
    PackingProblem,
    ShareClass,
)
from gpufleet_planner.packing.slots import (
    TOLERANCE,
    slots_or_reason,
    volume_bound,
    whole_nodes,
)
from gpufleet_planner.packing.supply import NodeSource, sources_of
from gpufleet_planner.packing.verify import verify
from gpufleet_planner.packing.workspace import Workspace

_finding = findings_in(__file__)


def impossible_shares(problem: PackingProblem) -> Iterator[Finding]:
    """Share classes that no GPU of any allowed machine can serve, however many there are."""
    for share in problem.shares:
        to = problem.machines if share.machines is None else share.machines
        machines = [m for m in problem.machines.values() if m.name in to]
        tried = {machine.name: slots_or_reason(share, machine) for machine in machines}
        if not share.count or not all(isinstance(found, str) for found in tried.values()):
            continue
        reasons = "; ".join(f"{name}: {why}" for name, why in tried.items())
        fix = next((f for m in machines if (f := _nearest_share(share, m)) is not None), None)
        yield _finding(
            "pack-share-impossible",
            share.path,
            fix=fix or "allow another machine type",
            share=share.name,
            reasons=reasons,
            machines=list(tried),
        )


def _nearest_share(share: ShareClass, machine: PackingMachine) -> str | None:
    if share.mode is Mode.WHOLE and share.gpus > machine.gpus:
        return f"request at most {machine.gpus} GPUs, or split the share over nodes"
    geometry = machine.gpu.mig
    if share.profile is not None and geometry is not None:
        near = nearest_names(share.profile, geometry.profiles)
        if near and share.profile not in geometry.profiles:
            return f"nearest on {machine.gpu.key}: {', '.join(near)}"
    if share.memory_bytes and machine.memory_bytes and share.memory_bytes > machine.memory_bytes:
        return f"request at most {gib(machine.memory_bytes)}, or spread the share over several GPUs"
    return None


def explain(
    problem: PackingProblem, unplaced: Mapping[str, int], unlimited: Packing
) -> Iterator[Finding]:
    """Findings for shares without a place: the limits that exclude them, and a remedy.

    `unlimited` is the packing of the same problem without limits of nodes; incomplete:
    the limits are not the cause.
    """
    raised = [*_raised(problem, unlimited)] if unlimited.complete else []
    why = "no machine type with room for them may be bought"
    fixes = "allow a machine type that serves them to be bought (maxNodes above 0)"
    if raised:
        limits = ", ".join(f"{path} = {limit}" for path, limit, _ in raised)
        why = f"the limiting settings are {limits}"
        fixes = " and ".join(f"set {path} to {need}" for path, _, need in raised)
    for name, count in unplaced.items():
        share = problem.by_name[name]
        yield _finding(
            "pack-no-room",
            share.path,
            share=name,
            unplaced=count,
            count=share.count,
            why=why,
            fixes=fixes,
            placed=share.count - count,
            limits={path: need for path, _, need in raised},
        )


def _raised(problem: PackingProblem, unlimited: Packing) -> Iterator[tuple[str, int, int]]:
    """Limits the unlimited packing exceeds: path, limit, what it needs."""
    counts = Counter(node.machine for node in unlimited.nodes if not node.existing)
    for machine in problem.machines.values():
        need = counts[machine.name]
        if machine.max_nodes is not None and need > machine.max_nodes:
            yield (f"{machine.path}.maxNodes", machine.max_nodes, need)


_APART_LIMIT = 60_000
"""Coefficients of the program with every node apart up to which it is tried."""
_GAP = 1e-3
"""Relative gap at which programs with very many columns stop; small ones are solved to the end."""
_LARGE = 1_500
"""Columns from which a program counts as having very many."""


def pack(problem: PackingProblem, *, solver: bool = True) -> Packing:
    """Put every share on a GPU at least cost, or state what prevents it.

    The same problem always gives the same packing. Existing shares are never moved. A packing with
    an error among its findings holds the shares that have a place, and the findings state what
    would make room for the others. `solver`: HiGHS where it is installed; False: the heuristic.
    """
    program = solver and highs.available()
    method = _by_program if program else _heuristic
    impossible = [*impossible_shares(problem)]
    lost = {str(finding.evidence["share"]) for finding in impossible}
    kept = tuple(replace(s, count=0) if s.name in lost else s for s in problem.shares)
    possible = replace(problem, shares=kept)
    found = method(possible)
    findings = [*impossible, *([] if program else [_finding("pack-without-solver")])]
    if found.unplaced:
        free = {name: replace(one, max_nodes=None) for name, one in problem.machines.items()}
        # Prices of machines that could not be bought may be missing: this packing counts nodes.
        unlimited = method(replace(possible, machines=free))
        findings += explain(possible, found.unplaced, unlimited)
    unplaced = dict(found.unplaced) | {s.name: s.count for s in problem.shares if s.name in lost}
    found = replace(found, unplaced=unplaced)
    broken = verify(problem, found)
    return replace(found, findings=ordered((*findings, *found.findings, *broken)))


def _heuristic(problem: PackingProblem, *findings: Finding) -> Packing:
    workspace = Workspace(problem)
    left = place_rest(workspace, problem, {s.name: s.count for s in problem.shares})
    bound = volume_bound(problem)
    return _finish(problem, workspace, left, bound, PackingMethod.HEURISTIC, findings)


def _by_program(problem: PackingProblem) -> Packing:
    if not any(share.count for share in problem.shares):  # a program without columns
        return _finish(problem, Workspace(problem), {}, 0, PackingMethod.INTEGER_PROGRAM, ())
    sources = sources_of(problem)
    model = PackingProgram(problem, sources)
    gap = _GAP if len(model.program.costs) > _LARGE else 0.0
    solved = highs.solve(model.program, gap=gap)
    if solved.status == "infeasible":
        return _nearest(problem, sources)
    if not solved.values:
        return _heuristic(problem, _finding("pack-search-stopped"))
    values = _fewest_gpus(model, solved.values) if solved.status == "optimal" else solved.values
    workspace, left = realise(model, values)
    bound = whole_nodes(problem, solved.bound)
    if left:
        return _apart(problem, workspace, left, bound)
    findings = () if solved.status == "optimal" else (_finding("pack-search-stopped"),)
    found = _finish(problem, workspace, left, bound, PackingMethod.INTEGER_PROGRAM, findings)
    return _settled(found) if solved.status == "optimal" else found


def _settled(found: Packing) -> Packing:
    """A bound that differs from the cost by no more than the solver's tolerance is the cost."""
    near = 0 <= found.cost - found.lower_bound <= TOLERANCE * found.cost
    return replace(found, lower_bound=found.cost) if near else found


def _fewest_gpus(model: PackingProgram, values: tuple[float, ...]) -> tuple[float, ...]:
    """A cheapest answer with fewest bought GPUs, if machine types differ in that, or are free."""
    kinds = {(s.cost, s.machine.gpus) for s in model.sources if s.bought}
    if (len(kinds) < 2 and all(cost for cost, _ in kinds)) or len(values) > _LARGE:
        return values
    program = model.program
    costs = list(program.costs)
    spent = sum(c * round(v) for c, v in zip(costs, values, strict=True) if c)
    scale = max(costs) or 1
    program.row({i: c for i, c in enumerate(costs) if c}, upper=spent + scale * 1e-6)
    for column, choice in model.choices:
        source = model.sources[choice.source]
        program.costs[column] = source.machine.gpus if source.bought else 0
    better = highs.solve(program)
    program.costs[:] = costs
    cost = sum(c * round(v) for c, v in zip(costs, better.values, strict=False) if c)
    return better.values if better.values and cost <= spent else values


def _apart(
    problem: PackingProblem, workspace: Workspace, left: dict[str, int], bound: int
) -> Packing:
    """CPUs and memory that the counts did not see through: node by node, or the heuristic."""
    unplaced = place_rest(workspace, problem, left)
    rough = _finish(problem, workspace, unplaced, bound, PackingMethod.HEURISTIC, ())
    sources = _one_by_one(sources_of(problem), rough)
    model = PackingProgram(problem, sources, apart=True)
    if model.program.size <= _APART_LIMIT:
        solved = highs.solve(model.program)
        if solved.values:
            exact, missing = realise(model, solved.values)
            if not missing:
                if not unplaced and solved.status == "optimal":
                    bound = max(bound, whole_nodes(problem, solved.bound))
                found = _settled(
                    _finish(problem, exact, {}, bound, PackingMethod.INTEGER_PROGRAM, ())
                )
                if unplaced or found.cost <= rough.cost:
                    return found
    return rough


def _one_by_one(sources: list[NodeSource], rough: Packing) -> list[NodeSource]:
    """Each node as its own source: the maximum number of bought nodes that can still be cheaper."""
    found: list[NodeSource] = []
    for source in sources:
        if not source.bought:
            found += [replace(source, most=1, nodes=(name,)) for name in source.nodes]
            continue
        shares = len(rough.assignments) + sum(rough.unplaced.values())
        affordable = shares if rough.unplaced or not source.cost else rough.cost // source.cost
        count = min(shares, affordable, shares if source.most is None else source.most)
        found += [replace(source, most=1)] * count
    return found


def _nearest(problem: PackingProblem, sources: list[NodeSource]) -> Packing:
    """Not everything has a place: the packing of as much as has, and what would help."""
    model = PackingProgram(problem, sources, elastic=True)
    solved = highs.solve(model.program)
    short: dict[str, int] = {}
    if solved.values:
        for kind, column in zip(model.kinds, model.short, strict=True):
            missing = round(solved.values[column])
            for name in reversed(kind.names):
                taken = min(missing, problem.by_name[name].count)
                if taken:
                    short[name] = taken
                    missing -= taken
    shares = tuple(replace(s, count=s.count - short.get(s.name, 0)) for s in problem.shares)
    smaller = replace(problem, shares=shares)
    found = _by_program(smaller) if short else _heuristic(problem)
    unplaced = dict(found.unplaced)
    for name, count in short.items():
        unplaced[name] = unplaced.get(name, 0) + count
    return replace(found, unplaced=unplaced)


def _finish(
    problem: PackingProblem,
    workspace: Workspace,
    left: Mapping[str, int],
    bound: int,
    method: PackingMethod,
    findings: tuple[Finding, ...],
) -> Packing:
    assignments, nodes = workspace.assignments()
    bought = [problem.machines[n.machine] for n in nodes if not n.existing]
    cost = sum(problem.cost_of(machine) for machine in bought)
    return Packing(
        assignments,
        nodes,
        dict(left),
        cost,
        bound,
        problem.priced,
        sum(machine.gpus for machine in bought),
        method,
        findings,
    )
