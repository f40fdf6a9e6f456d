"""From a proposal to the closest declaration, measured by its rendered resources.

A field that shows only in rendered resources (`intent`) is found by trying its values; inputs
without a typed field become raw arguments of the pool if the rules of the platform allow them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from gpufleet.fleet import Fleet
from gpufleet.fleet.chart_values import leaves
from gpufleet.fleet.input_differences import differing, plain, within
from gpufleet.fleet.model import Pool
from gpufleet.fleet.observed import Declaration, PlatformAdoption, ProposedPool
from gpufleet.fleet.platform_rules import platform_rules
from gpufleet.platforms.compiled import compile_data
from gpufleet.spec.base import Ownership

_KEPT = (
    *("name", "instanceTypes", "gpu", "gpusPerNode", "nodes", "zones", "sharing", "labels"),
    *("intent", "fabric", "taints", "gpuTaint", "team"),
)
"""Fields of a pool that are written even if no compared resource shows them."""

Difference = tuple[str, str, Any, Any]
"""Resource, path, value of the declaration, existing value."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A declaration, and its differences from the resources."""

    pool: Declaration
    differences: tuple[Difference, ...]
    refused: tuple[str, ...] = ()
    """Why it does not compile; empty: it compiles."""
    left_out: tuple[str, ...] = ()
    """Existing values that are refused, each with the reason."""

    @property
    def weight(self) -> tuple[int, int, int]:
        """Sort key: the smaller, the closer the match. A whole resource counts more than fields."""
        return (len(self.refused), sum(not d[1] for d in self.differences), len(self.differences))


def whole_numbers(value: Any) -> Any:
    """Plain data in the form of a provider's schema: integers if possible, no empty values."""
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, Any]", value).items()
        kept = {str(key): whole_numbers(item) for key, item in entries}
        return {key: item for key, item in kept.items() if item not in (None, {}, [])}
    if isinstance(value, list | tuple):
        return [whole_numbers(item) for item in cast("list[Any]", value)]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def compiled_pool(frame: Declaration, pool: Declaration) -> tuple[Fleet | None, list[str]]:
    """The fleet of one pool, or why it cannot be compiled."""
    result = compile_data({**frame, "pools": [pool]})
    refused = [f"{f.path}: {f.message}" for f in result.findings if f.severity.value == "error"]
    return (result.fleet if result.deployable else None), refused


def differences_of(
    fleet: Fleet, pool: Declaration, proposed: ProposedPool, adoption: PlatformAdoption
) -> tuple[Difference, ...]:
    """A pool of a whole fleet, compared: labels may depend on its other pools."""
    if _makes_nothing(pool):
        return ()
    declared = registered(fleet, fleet.pool(pool["name"]))
    return tuple(_differences(declared, proposed.resources, adoption))


def _makes_nothing(pool: Declaration) -> bool:
    return pool.get("ownership") == Ownership.EXISTING.value


def registered(fleet: Fleet, pool: Pool) -> Mapping[str, Mapping[str, Any]]:
    """The resources that the platform would register for a pool."""
    return platform_rules(pool.platform).registered(fleet, pool)


def _differences(
    declared: Mapping[str, Mapping[str, Any]],
    found: Mapping[str, Mapping[str, Any]],
    adoption: PlatformAdoption,
) -> Iterator[Difference]:
    for name in dict.fromkeys((*declared, *found)):
        kind = name.partition("/")[0]
        one, two = declared.get(name), found.get(name)
        if kind in adoption.wired.get("*", ()):
            continue
        if one is None or two is None:
            yield name, "", "made" if one is not None else None, "there" if two else None
            continue
        heads = adoption.wired.get(kind, ())
        for path, ours, theirs in differing(whole_numbers(one), whole_numbers(two)):
            if not within(plain(path), heads):
                yield name, path, ours, theirs


@dataclass(frozen=True, slots=True)
class Refinement:
    """The search for the closest declaration of one pool."""

    frame: Declaration
    """All of the declaration except pools."""
    proposed: ProposedPool
    adoption: PlatformAdoption

    def compared(self, pool: Declaration) -> Compared:
        """A declaration and the existing resources, compared."""
        fleet, refused = compiled_pool(self.frame, pool)
        if fleet is None:
            return Compared(pool, (), tuple(refused))
        made = not _makes_nothing(pool)
        declared: Mapping[str, Any] = registered(fleet, fleet.pools[0]) if made else {}
        return Compared(pool, tuple(_differences(declared, self.proposed.resources, self.adoption)))

    def refined(self) -> Compared:
        """The closest declaration among the choices of the platform."""
        best = self.compared(self.proposed.pool)
        if _makes_nothing(self.proposed.pool):
            return best
        best = self._with_choices(best)
        left_out: tuple[str, ...] = ()
        if best.refused:
            best = self._accepted(best)
            left_out = best.left_out
            best = self._with_choices(best)
        return replace(self._without_defaults(self._with_raw(best)), left_out=left_out)

    def refined_alike(self, known: list[tuple[ProposedPool, Compared]]) -> Compared:
        """`refined`, without a search if the changes for another pool of the same resources, such
        as a NodePool of several machine families, are as close for this one. `known` are those
        pools and their results; this one is added."""
        for other, best in known:
            before, after = dict(leaves(other.pool)), dict(leaves(best.pool))
            changed = [p for p in {**before, **after} if before.get(p) != after.get(p)]
            pool = self.proposed.pool
            for path in changed:
                pool = placed(pool, path, after.get(path))
            tried = self.compared(pool)
            if tried.weight == best.weight:
                return replace(self._without_defaults(tried, changed), left_out=best.left_out)
        best = self.refined()
        if not best.refused:
            known.append((self.proposed, best))
        return best

    def _with_choices(self, best: Compared) -> Compared:
        for _ in range(2):  # a choice may matter only after another
            before = best
            for choice in self.adoption.choices:
                if not any(best.weight):
                    break
                for value in choice.values:
                    best = self._closer(best, placed(best.pool, choice.path, value))
            if best is before:
                break
        return best

    def _closer(self, best: Compared, pool: Declaration) -> Compared:
        """A declaration if it is closer than the best one, else that one."""
        tried = self.compared(pool)
        return tried if tried.weight < best.weight else best

    def _accepted(self, best: Compared) -> Compared:
        """Without the refused values, one by one, those first at which a refusal points: each is
        named, and the others stay."""
        left_out: list[str] = []
        places = str([one.partition(": ")[0] for one in best.refused])
        order = sorted(leaves(best.pool), key=lambda leaf: f"[0].{leaf[0]}" not in places)
        for path, value in order:
            if not best.refused:
                break
            if within(path, _KEPT):
                continue
            tried = self.compared(placed(best.pool, path, None))
            if len(tried.refused) < len(best.refused):
                why = "; ".join(one for one in best.refused if one not in tried.refused)
                left_out.append(f"{path}: {value} is not written: {why}")
                best = tried
        return replace(best, left_out=tuple(left_out))

    def _without_defaults(self, best: Compared, paths: Sequence[str] | None = None) -> Compared:
        """Without every field, or every one of some, that has no effect on rendered resources;
        unchanged if it is refused, as nothing is rendered then."""
        if best.refused:
            return best
        for path in [path for path, _ in leaves(best.pool)]:
            others = paths is not None and path not in paths
            if others or within(path, (*_KEPT, *self.adoption.kept)):
                continue
            tried = self.compared(placed(best.pool, path, None))
            if tried.weight <= best.weight:
                best = tried
        return best

    def _with_raw(self, best: Compared) -> Compared:
        """Inputs that the declaration lacks, one by one, as raw arguments of the pool."""
        for name, path, ours, theirs in best.differences:
            head = path.split(".", 1)[0].split("[", 1)[0]
            field = self.adoption.raw.get(name.partition("/")[0])
            found = self.proposed.resources.get(name, {}).get(head)
            if field is None or ours is not None or theirs is None or found is None or not head:
                continue
            raw = placed(best.pool, f"{field}.{head}", whole_numbers(found))
            best = self._closer(best, raw)
        return best


def placed(pool: Declaration, path: str, value: Any) -> Declaration:
    """A copy of the pool with one value in it; None removes it."""
    head, _, rest = path.partition(".")
    if not rest:
        kept = {key: item for key, item in pool.items() if key != head}
        return kept if value is None else {**kept, head: value}
    below = placed(dict(pool.get(head) or {}), rest, value)
    return {
        **{key: item for key, item in pool.items() if key != head},
        **({head: below} if below else {}),
    }
