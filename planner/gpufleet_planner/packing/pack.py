"""Packing: the integer program, the heuristic where it does not apply, and always a bound."""

from collections.abc import Mapping
from dataclasses import replace

from gpufleet.findings import Finding, findings_in, ordered
from gpufleet_planner.packing import highs, infeasible
from gpufleet_planner.packing.greedy import place_rest
from gpufleet_planner.packing.model import PackingProgram, realise
from gpufleet_planner.packing.packing import Packing, PackingMethod
from gpufleet_planner.packing.problem import PackingProblem
from gpufleet_planner.packing.slots import TOLERANCE, volume_bound, whole_nodes
from gpufleet_planner.packing.supply import NodeSource, sources_of
from gpufleet_planner.packing.verify import verify
from gpufleet_planner.packing.workspace import Workspace

_finding = findings_in(__file__)

_APART_LIMIT = 60_000
"""Coefficients of the program with every node apart up to which it is tried."""
_GAP = 1e-3
"""Relative gap at which programs with very many columns stop; small ones are solved to the end."""
_LARGE = 1_500
"""Columns from which a program counts as having very many."""


def pack(problem: PackingProblem, *, solver: bool | None = None) -> Packing:
    """Put every share on a GPU at least cost, or say what blocks it.

    `solver`: use HiGHS (None: where it is installed; True: required, raises ModuleNotFoundError
    without it; False: never). The same problem always gives the same packing. What is there already
    is never moved. A packing with an error among its findings holds as much as has a place, and the
    findings say what would make room for the rest.
    """
    use_solver = highs.available() if solver is None else solver
    impossible = infeasible.impossible_shares(problem)
    lost = {str(finding.evidence["share"]) for finding in impossible}
    kept = tuple(replace(s, count=0) if s.name in lost else s for s in problem.shares)
    possible = replace(problem, shares=kept)
    found = _pack(possible, use_solver)
    findings = list(impossible)
    if found.unplaced:
        unlimited = _pack(_without_limits(possible), use_solver)
        findings += infeasible.explain(possible, dict(found.unplaced), unlimited)
    unplaced = dict(found.unplaced) | {s.name: s.count for s in problem.shares if s.name in lost}
    found = replace(found, unplaced=unplaced)
    broken = verify(problem, found)
    return replace(found, findings=ordered((*findings, *found.findings, *broken)))


def _without_limits(problem: PackingProblem) -> PackingProblem:
    machines = {
        name: replace(machine, max_nodes=None) for name, machine in problem.machines.items()
    }
    # Prices of machines that could not be bought may be missing: this packing only counts nodes.
    return replace(problem, machines=machines, quotas=())


def _pack(problem: PackingProblem, use_solver: bool) -> Packing:
    if use_solver:
        return _by_program(problem)
    return _heuristic(problem, _finding("pack-without-solver"))


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
    workspace, left = realise(problem, sources, model.plan(values))
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
    """Among the cheapest answers one with fewest GPUs bought, where types differ in that."""
    sources = [s for s in model.sources if s.bought]
    if len({(s.cost, s.machine.gpus) for s in sources}) < 2 or len(values) > _LARGE:
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
            exact, missing = realise(problem, sources, model.plan(solved.values))
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
    """Each node a source of its own: as many bought ones as could still be cheaper."""
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
