# pyright: standard
"""Whether AWS sells a pool's machines in its zones, and whether quotas admit all of them."""

from collections.abc import Sequence

from gpufleet.components_base.answers import Answers, MissingError, NotAnsweredError
from gpufleet.fleet.model import Pool
from gpufleet.platforms.accounts.aws_client import AwsClient
from gpufleet.platforms.accounts.vcpu_quotas import needs


def ask_offered(aws: AwsClient, pool: Pool, zones: Sequence[str], answers: Answers) -> None:
    """Whether the types are sold in the zones the pool may use; without zones, in the region."""
    types = [machine.name for machine in pool.machines]
    path = f"{pool.path}.instanceTypes"
    question = f"where {', '.join(types)} {'is' if len(types) == 1 else 'are'} offered"
    try:
        answer = aws.ask(
            "ec2",
            "describe_instance_type_offerings",
            path,
            question,
            LocationType="availability-zone",
            Filters=[{"Name": "instance-type", "Values": types}],
        )
    except (NotAnsweredError, MissingError):
        return
    offered: dict[str, set[str]] = {}
    for one in answer["InstanceTypeOfferings"]:
        offered.setdefault(one["InstanceType"], set()).add(one["Location"])
    if not any(offered.get(name, set()) & set(zones or offered.get(name, ())) for name in types):
        elsewhere = sorted(set().union(*offered.values())) if offered else []
        answers.error(
            "instance-type-not-offered",
            path,
            f"{', '.join(types)} {'is' if len(types) == 1 else 'are'} not offered in "
            f"{', '.join(zones) or 'this region'}",
            f"offered in {', '.join(elsewhere)}" if elsewhere else "choose another region",
            found=types,
            allowed=elsewhere,
        )
        return
    lacking = [
        f"{name} in {zone}"
        for name in types
        for zone in zones
        if zone not in offered.get(name, set())
    ]
    if lacking:
        answers.warning(
            "instance-type-not-everywhere",
            path,
            f"not offered: {', '.join(lacking)}",
            "the pool has fewer ways to grow than it reads",
            found=lacking,
        )


def ask_quotas(aws: AwsClient, pools: Sequence[Pool], answers: Answers) -> None:
    """Whether the vCPU quotas admit all pools at their largest size."""
    for need in needs(pools):
        bucket = need.bucket
        names = ", ".join(pool.name for pool in need.pools)
        path = need.pools[0].path if len(need.pools) == 1 else "pools"
        question = f"the quota {bucket.code} for {bucket.market} {bucket.families} instances"
        if not bucket.code:
            question = f"the quota for {bucket.market} {bucket.families} instances"
            reason = "its code is in none of our sources"
            answers.could_not_check(path, question, reason, "look it up in Service Quotas")
            continue
        try:
            quota = aws.ask(
                "service-quotas",
                "get_service_quota",
                path,
                question,
                ServiceCode="ec2",
                QuotaCode=bucket.code,
            )["Quota"]
        except NotAnsweredError:
            continue
        except MissingError as missing:
            answers.could_not_check(path, question, str(missing), "look it up in Service Quotas")
            continue
        if not bucket.is_named(quota["QuotaName"]):
            answers.could_not_check(
                path,
                question,
                f"{bucket.code} is called {quota['QuotaName']!r} there",
                "look up the right quota in Service Quotas",
            )
        elif quota["Value"] < need.vcpus:
            answers.error(
                "quota-short",
                path,
                f"{names} may need {need.vcpus} vCPUs of {quota['QuotaName']!r}, and the quota "
                f"is {quota['Value']:g}",
                f"ask for {need.vcpus} in Service Quotas ({bucket.code}), or lower nodes.max",
                found=quota["Value"],
                limit=need.vcpus,
                quota=bucket.code,
            )
