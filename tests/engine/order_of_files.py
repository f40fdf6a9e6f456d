"""The order in which the files of this folder are run: those that take long first.

Two processes share the files. Whoever takes a long one at the end runs alone for as long as it
takes, so the short ones come last.
"""

from collections.abc import Callable
from pathlib import PurePath
from typing import TypeVar

Item = TypeVar("Item")
SECONDS = {
    "test_addons.py": 210,
    "test_control_plane.py": 180,
    "test_sharing.py": 170,
    "vsphere/test_group.py": 135,
    "test_deploy.py": 130,
    "test_admission.py": 130,
    "test_kueue.py": 120,
    "test_eks.py": 110,
    "test_language_host.py": 110,
    "test_layout_change.py": 95,
    "test_gke.py": 90,
    "test_examples.py": 90,
    "test_openshift.py": 80,
    "test_sandbox_stack.py": 75,
    "test_workload_kinds.py": 75,
    "test_kill.py": 70,
    "test_policies.py": 70,
    "vsphere/test_lab.py": 80,
    "vsphere/test_chaos.py": 80,
    "test_cloud_stand_in.py": 60,
    "test_dra.py": 60,
    "test_plans.py": 60,
    "test_karpenter.py": 55,
    "test_eks_examples.py": 45,
    "test_gke_examples.py": 40,
    "test_operands.py": 35,
    "test_simulator_chart.py": 35,
}
"""What each takes on a busy machine, roughly (measured 2026-11-22): only their order matters."""
OTHERWISE = 20
"""For the files that are not named."""


def long_ones_first(items: list[Item], file_of: Callable[[Item], PurePath]) -> list[Item]:
    """The items in the order of their files; within a file they stay as they are.

    Args:
        items: Tests, those of a file in a row.
        file_of: Path of a test's file, relative to this folder.
    """
    return sorted(items, key=lambda item: -SECONDS.get(file_of(item).as_posix(), OTHERWISE))
