# pyright: standard
"""Whether AWS sells a pool's machines in its zones, and whether quotas allow all of them.

Codes of EC2's vCPU quotas: Service Quotas, as several public repositories name them (2026). The
name that the API returns with a quota is compared, so that a wrong code is detected.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gpufleet.catalogue.edition import read_rows
from gpufleet.components_base.answers import Answers, MissingError, NotAnsweredError
from gpufleet.findings import findings_in, rules_in
from gpufleet.fleet.model import Pool
from gpufleet.platforms.accounts.aws_client import AwsClient

_finding, _rules = findings_in(__file__), rules_in(__file__)


def ask_offered(aws: AwsClient, pool: Pool, zones: Sequence[str], answers: Answers) -> None:
    """Whether the types are sold in the zones of the pool; without zones, in the region."""
    types = [machine.name for machine in pool.machines]
    path, are = f"{pool.path}.instanceTypes", "is" if len(types) == 1 else "are"
    answer = aws.answer("offered", path=path, names=", ".join(types), are=are, types=types)
    if answer is None:
        return
    offered: dict[str, set[str]] = {name: set() for name in types}
    for one in answer["InstanceTypeOfferings"]:
        offered.setdefault(one["InstanceType"], set()).add(one["Location"])
    if not any(offered[name] & set(zones or offered[name]) for name in types):
        elsewhere = sorted(set().union(*offered.values()))
        where = list(zones) or "this region"
        known = {"found": types, "are": are, "where": where, "elsewhere": elsewhere}
        answers.findings += _rules("offered", path, **known)
        return
    lacking = [f"{name} in {zone}" for name in types for zone in zones if zone not in offered[name]]
    if lacking:
        answers.findings.append(_finding("instance-type-not-everywhere", path, found=lacking))


def ask_quotas(aws: AwsClient, pools: Sequence[Pool], answers: Answers) -> None:
    """Whether the vCPU quotas allow all pools at their largest size."""
    for need in needs(pools):
        bucket, code = need.bucket, need.bucket.code
        path = need.pools[0].path if len(need.pools) == 1 else "pools"
        kind = f"for {bucket.market} {bucket.families} instances"
        question, look_up = f"the quota {code} {kind}", "look it up in Service Quotas"
        if not code:
            reason = "its code is not in our sources"
            answers.could_not_check(path, f"the quota {kind}", reason, look_up)
            continue
        try:
            quota = aws.ask("quota", path=path, question=question, code=code)["Quota"]
        except NotAnsweredError:
            continue
        except MissingError as missing:
            answers.could_not_check(path, question, str(missing), look_up)
            continue
        name, value = quota["QuotaName"], quota["Value"]
        if not bucket.is_named(name):
            reason = f"{code} is called {name!r} there"
            right = "look up the right quota in Service Quotas"
            answers.could_not_check(path, question, reason, right)
        else:
            known = {"name": name, "value": value, "shown": f"{value:g}", "code": code}
            answers.findings += _rules("vcpu-quota", path, need=need, **known)


@dataclass(frozen=True, slots=True)
class Bucket:
    """One quota."""

    code: str
    """Code in Service Quotas; empty if no source names one."""
    families: str
    """Families in its name: `P`, `G and VT`."""
    market: str
    """Market in its name: `On-Demand`, `Spot`."""
    prefixes: tuple[str, ...]
    """Prefixes of its machine types, unless an earlier row has them."""

    def is_named(self, name: str) -> bool:
        """Whether a quota's name is that of this bucket."""
        words = name.replace(",", " ").split()
        letters = self.families.replace(" and ", " ").split()
        return self.market.lower() in name.lower() and all(one in words for one in letters)


@dataclass(frozen=True, slots=True)
class QuotaNeed:
    """Demand of some pools on one quota."""

    bucket: Bucket
    pools: tuple[Pool, ...]
    vcpus: int
    """Sum at their largest size, on their largest machine."""


def bucket_of(family: str, mode: str) -> Bucket | None:
    """The quota of a machine of a family; None if no vCPU quota limits it.

    Capacity Blocks have separate quotas; reservations count as on demand.
    """
    market = "Spot" if mode == "spot" else "On-Demand"
    rows = () if mode == "capacityBlock" else _buckets()
    ours = (one for one in rows if one.market == market and family.startswith(one.prefixes))
    return next(ours, None)


@cache
def _buckets() -> Sequence[Bucket]:
    rows = read_rows(Path(__file__).parent, "vcpu_quotas")
    return [Bucket(**{**row, "prefixes": tuple(row["prefixes"])}) for row in rows]


def needs(pools: Iterable[Pool]) -> list[QuotaNeed]:
    """Demand of the pools together, by quota. A pool with several capacity types may need its whole
    size in each."""
    found: dict[Bucket, list[tuple[Pool, int]]] = {}
    for pool in pools:
        vcpus = max((machine.vcpu or 0) for machine in pool.machines) * pool.nodes.maximum
        family = pool.machines[0].name
        buckets = {bucket_of(family, entry.mode) for entry in pool.capacity} - {None}
        for bucket in buckets:
            if bucket is not None:
                found.setdefault(bucket, []).append((pool, vcpus))
    return [
        QuotaNeed(bucket, tuple(pool for pool, _ in entries), sum(vcpus for _, vcpus in entries))
        for bucket, entries in sorted(found.items(), key=lambda item: item[0].code)
    ]
