# pyright: standard
"""Whether AWS sells a pool's machines in its zones, and whether quotas admit all of them."""

from collections.abc import Sequence

from gpufleet.components_base.answers import Answers, MissingError, NotAnsweredError
from gpufleet.findings import findings_in
from gpufleet.fleet.model import Pool
from gpufleet.platforms.accounts.aws_client import AwsClient
from gpufleet.platforms.accounts.vcpu_quotas import needs

_finding = findings_in(__file__)


def ask_offered(aws: AwsClient, pool: Pool, zones: Sequence[str], answers: Answers) -> None:
    """Whether the types are sold in the zones the pool may use; without zones, in the region."""
    types = [machine.name for machine in pool.machines]
    path, are = f"{pool.path}.instanceTypes", "is" if len(types) == 1 else "are"
    answer = answers.answer(
        None,
        aws.ask,
        "ec2",
        "describe_instance_type_offerings",
        path,
        f"where {', '.join(types)} {are} offered",
        LocationType="availability-zone",
        Filters=[{"Name": "instance-type", "Values": types}],
    )
    if answer is None:
        return
    offered: dict[str, set[str]] = {name: set() for name in types}
    for one in answer["InstanceTypeOfferings"]:
        offered.setdefault(one["InstanceType"], set()).add(one["Location"])
    if not any(offered[name] & set(zones or offered[name]) for name in types):
        elsewhere = sorted(set().union(*offered.values()))
        answers.findings.append(
            _finding(
                "instance-type-not-offered",
                path,
                fix=f"offered in {', '.join(elsewhere)}" if elsewhere else "choose another region",
                found=types,
                are=are,
                where=list(zones) or "this region",
                allowed=elsewhere,
            )
        )
        return
    lacking = [f"{name} in {zone}" for name in types for zone in zones if zone not in offered[name]]
    if lacking:
        answers.findings.append(_finding("instance-type-not-everywhere", path, found=lacking))


def ask_quotas(aws: AwsClient, pools: Sequence[Pool], answers: Answers) -> None:
    """Whether the vCPU quotas admit all pools at their largest size."""
    for need in needs(pools):
        bucket, code = need.bucket, need.bucket.code
        path = need.pools[0].path if len(need.pools) == 1 else "pools"
        kind = f"for {bucket.market} {bucket.families} instances"
        question, look_up = f"the quota {code} {kind}", "look it up in Service Quotas"
        if not code:
            reason = "its code is in none of our sources"
            answers.could_not_check(path, f"the quota {kind}", reason, look_up)
            continue
        try:
            quota = aws.ask(
                "service-quotas",
                "get_service_quota",
                path,
                question,
                ServiceCode="ec2",
                QuotaCode=code,
            )["Quota"]
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
        elif value < need.vcpus:
            answers.findings.append(
                _finding(
                    "quota-short",
                    path,
                    pools=[pool.name for pool in need.pools],
                    name=name,
                    shown=f"{value:g}",
                    found=value,
                    limit=need.vcpus,
                    quota=code,
                )
            )
