"""The tier of each test file of this folder, and the order in which the files are run.

Each file is named once, with the seconds that it takes. The files that take longest are run first:
the processes that share the files then end at about the same time.
"""

from collections.abc import Callable
from pathlib import PurePath
from typing import TypeVar

Item = TypeVar("Item")
EVERY_COMMIT = {
    "vsphere/test_own_plugin.py": 125,
    "test_sharing.py": 80,
    "test_addons.py": 50,
    "test_recorded_state.py": 110,
    "test_examples.py": 55,
    "test_eks.py": 40,
    "test_plans.py": 35,
    "vsphere/test_never_lost.py": 65,
    "test_cut_over.py": 65,
    "vsphere/test_group.py": 45,
    "vsphere/test_interrupted.py": 60,
    "vsphere/test_any_next_command.py": 60,
    "test_karpenter.py": 55,
    "test_kueue.py": 45,
    "test_gke.py": 25,
    "test_openshift.py": 40,
    "test_shipped_stacks.py": 25,
    "test_dra.py": 50,
    "test_workload_kinds.py": 30,
    "test_admission.py": 25,
    "test_policies.py": 70,
    "test_layout_change.py": 25,
    "test_yaml_consumer.py": 25,
    "test_existing.py": 40,
    "test_deploy.py": 20,
    "test_doctor.py": 10,
    "vsphere/test_chaos.py": 20,
    "vsphere/test_reconciling.py": 20,
    "vsphere/test_former_state.py": 20,
    "test_sandbox_stack.py": 75,
    "test_change_replay.py": 20,
    "vsphere/test_recorded_state.py": 50,
    "test_template.py": 15,
    "test_dra_before_v1.py": 10,
    "test_claims_by_hand.py": 15,
    "test_tested_nodes.py": 10,
    "test_pack_by_the_engine.py": 5,
    "test_rendered_configs_parse.py": 5,
    "test_gke_examples.py": 5,
    "test_overlay_preview.py": 20,
}
"""The product against real programs, run by `make test`.

Measured on 2026-11-23 with three processes on two cores without other load; those that run with a
commit that changes nothing of `ON_CHANGE` on 2026-11-30, as a part of 4 minutes.
"""
NIGHTLY = {
    "test_random_quotas.py": 110,
    "test_dra_declarations.py": 150,
    "test_schema_mutations.py": 300,
    "vsphere/test_other_languages.py": 300,
    "test_component_archive.py": 30,
    "test_eks_examples.py": 60,
    "vsphere/test_vsphere_examples.py": 30,
    "test_fronts_on_a_server.py": 160,
    "test_control_plane.py": 90,
    "test_language_host.py": 55,
    "vsphere/test_lab.py": 40,
    "test_from_nothing.py": 90,
    "test_kill.py": 35,
    "test_cloud_stand_in.py": 30,
    "test_doctor_queues.py": 90,
    "test_doctor_karpenter.py": 155,
    "test_idle.py": 240,
    "test_prometheus.py": 20,
    "test_dashboard_pictures.py": 30,
    "test_promtool.py": 20,
    "test_operands.py": 18,
    "test_simulator_chart.py": 18,
    "test_karpenter_definitions.py": 15,
    "test_karpenter_upgrade.py": 20,
    "test_nvidia_parsers.py": 15,
    "vsphere/test_engine_chaos.py": 15,
    "vsphere/test_many.py": 90,
    "test_left_behind.py": 10,
    **dict.fromkeys(
        (
            "vsphere/test_site_needs.py",
            "vsphere/test_lost_nodes.py",
            "vsphere/test_certificates.py",
            "vsphere/test_changing.py",
            "vsphere/test_copies.py",
            "vsphere/test_datastores.py",
            "vsphere/test_describing.py",
            "vsphere/test_devices.py",
            "vsphere/test_drain.py",
            "vsphere/test_errors.py",
            "vsphere/test_finding.py",
            "vsphere/test_fleet.py",
            "vsphere/test_hardware.py",
            "vsphere/test_held_up.py",
            "vsphere/test_inventory_command.py",
            "vsphere/test_joining.py",
            "vsphere/test_large_inventory.py",
            "vsphere/test_login.py",
            "vsphere/test_making.py",
            "vsphere/test_orphans_command.py",
            "vsphere/test_passthrough_nics.py",
            "vsphere/test_place.py",
            "vsphere/test_restart.py",
            "vsphere/test_secrets_in_refusals.py",
            "vsphere/test_starting.py",
        ),
        10,
    ),
}
"""Test equipment, long campaigns and breadth, run by `make nightly` (docs/testing.md)."""


def tier_of(file: PurePath) -> dict[str, int]:
    """`EVERY_COMMIT` or `NIGHTLY`, by the path of a file relative to this folder.

    Raises:
        LookupError: No tier names the file.
    """
    for tier in (EVERY_COMMIT, NIGHTLY):
        if file.as_posix() in tier:
            return tier
    raise LookupError(
        f"tests/engine/{file.as_posix()} has no tier: name it in tests/engine/order_of_files.py"
    )


def long_ones_first(items: list[Item], file_of: Callable[[Item], PurePath]) -> list[Item]:
    """The items in the order of their files; within a file they stay as they are.

    Args:
        items: Tests, those of a file in a row.
        file_of: Path of a test's file, relative to this folder.
    """
    return sorted(items, key=lambda item: -tier_of(file_of(item))[file_of(item).as_posix()])
