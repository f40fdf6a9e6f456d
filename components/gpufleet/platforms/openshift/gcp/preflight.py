"""Checks of a fleet on OpenShift on Google Cloud: the cluster's machine API, offers, quotas."""

from gpufleet.components_base.answers import Answers, Wiring
from gpufleet.documents.shapes import mapping
from gpufleet.fleet.model import Fleet
from gpufleet.platforms.accounts.google_client import GoogleClient
from gpufleet.platforms.accounts.google_offers import ask_offered
from gpufleet.platforms.accounts.google_quotas import ask_quotas
from gpufleet.platforms.clouds.gcp_machines import host_machine
from gpufleet.platforms.openshift.machine_cloud import named_zones
from gpufleet.platforms.openshift.preflight_cluster import ask_cluster
from gpufleet.spec.base import Ownership


def ask(fleet: Fleet, wiring: Wiring) -> Answers:
    """Check everything about the pools that gpufleet creates.

    Raises:
        CannotAskError: no client libraries, no credentials of Google Cloud or no project.
    """
    del wiring  # the cluster's own MachineSets have these values
    answers = Answers()
    pools = [pool for pool in fleet.pools if pool.ownership is not Ownership.EXISTING]
    there = ask_cluster(fleet, pools, answers)
    project = fleet.spec.cluster.project or mapping(there.get("gcp")).get("projectID")
    google = GoogleClient(project, answers)
    for pool in pools:
        machine = host_machine(pool) or pool.machines[0].name
        ask_offered(google, pool, machine, named_zones(pool.spec), answers)
    bought = [(pool, [entry.spot is not None for entry in pool.capacity]) for pool in pools]
    ask_quotas(google, fleet, bought, answers)
    return answers
