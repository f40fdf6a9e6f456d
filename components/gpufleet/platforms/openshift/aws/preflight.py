"""Checks of a fleet on OpenShift on AWS: the machine API, offers, quotas, reservations."""

from gpufleet.components_base.answers import Answers, Wiring
from gpufleet.fleet.model import Fleet
from gpufleet.platforms.accounts.aws_client import AwsClient
from gpufleet.platforms.accounts.aws_offers import ask_offered, ask_quotas
from gpufleet.platforms.accounts.aws_reservations import ask_reservations
from gpufleet.platforms.openshift.machine_cloud import named_zones
from gpufleet.platforms.openshift.preflight_cluster import ask_cluster
from gpufleet.spec.base import Ownership


def ask(fleet: Fleet, wiring: Wiring) -> Answers:
    """Check everything about the pools that gpufleet creates.

    Raises:
        CannotAskError: kubernetes or boto3 is not installed.
    """
    del wiring  # the cluster's own MachineSets have these values
    answers = Answers()
    region = fleet.spec.cluster.region
    assert region is not None  # compile refuses a fleet without it
    pools = [pool for pool in fleet.pools if pool.ownership is not Ownership.EXISTING]
    ask_cluster(fleet, pools, answers)
    aws = AwsClient(region, answers)
    for pool in pools:
        ask_offered(aws, pool, named_zones(pool.spec), answers)
        ask_reservations(aws, pool, answers)
    ask_quotas(aws, pools, answers)
    return answers
