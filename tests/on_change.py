"""Tests that run with every commit that changes what they test, else at night, or in part.

Two tables, by the end of a test's path: a folder of `tests` (ends with `/`), a file, or one test of
it (`FILE::NAME`). The longest name that fits decides.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.engine.order_of_files import NIGHTLY
from tests.examples import ALL, PART, has_changed
from tests.sources import (
    ADD_ONS,
    CLAIMS,
    COMMAND_LINE,
    CUT_OVER,
    DECLARED,
    EQUIPMENT,
    FLEETS,
    FRONTS,
    INSTALLED,
    KARPENTER,
    KUEUE,
    MODEL,
    PACK,
    PACKING,
    PLANNER,
    POLICIES,
    PRODUCT,
    PROGRAMS,
    ROWS,
    VCENTER,
    WIRE,
)

TESTS = Path(__file__).parent


@dataclass(frozen=True)
class Rested:
    """Why a test need not run with every commit."""

    sources: tuple[str, ...]
    """Ends of the paths that it tests: patterns, or folders (end with `/`)."""
    instead: str
    """File below `tests` that runs with every commit and fails with other changes as well."""


_GROUP = "engine/vsphere/test_group.py"
_RECORDED = "engine/test_recorded_state.py"
_STACK = "engine/test_sandbox_stack.py"
_EKS = "engine/test_eks.py"
_GKE = "engine/test_gke.py"
_VSPHERE = (
    *("own_plugin.py", "never_lost.py", "interrupted.py", "chaos.py", "any_next_command.py"),
    *("reconciling.py", "former_state.py", "group.py::test_drift_is_shown_and_mended"),
    "group.py::test_a_change_that_needs_power_off_is_refused_before_anything_happens",
    "group.py::test_one_failing_node_leaves_the_others_and_the_next_up_makes_it",
)
ON_CHANGE: dict[str, Rested] = {
    **{f"engine/vsphere/test_{name}": Rested(VCENTER, _GROUP) for name in _VSPHERE},
    "engine/test_karpenter.py": Rested(KARPENTER, "unit/platforms/eks/test_pools.py"),
    f"{_EKS}::test_the_stack_eks_prod_with_both_autoscalers": Rested(
        ("stacks/Pulumi.eks-prod.yaml", *KARPENTER), _RECORDED
    ),
    f"{_EKS}::test_an_existing_group_is_taken_over_unchanged_and_then_managed": Rested(
        ("gpufleet/adopt/", "platforms/eks/", *EQUIPMENT), "unit/components/test_eks_node_group.py"
    ),
    **{
        f"{_GKE}::test_{name}": Rested(("gpufleet/adopt/", "platforms/gke/", *EQUIPMENT), _RECORDED)
        for name in (
            "an_existing_node_pool_is_adopted_unchanged",
            "a_node_pool_that_was_taken_over_follows_the_declaration",
            "the_stack_gke_prod_beside_the_stack_of_its_cluster",
            "classes_by_which_gke_makes_node_pools_are_accepted",
        )
    },
    **{
        f"engine/{file}::test_{name}": Rested(PROGRAMS, f"engine/{file}")
        for file, name in (
            ("test_recorded_state.py", "examples_on_eks"),
            ("test_recorded_state.py", "examples_on_gke"),
            ("test_recorded_state.py", "workload_kinds"),
            ("vsphere/test_recorded_state.py", "gpu_modes"),
            ("test_eks.py", "a_size_that_somebody_set_survives_every_change_without_a_refresh"),
            ("test_gke.py", "an_update_that_fails_half_way_is_finished_by_the_next"),
            ("test_sharing.py", "what_is_deployed_stays_and_goes_in_order"),
            ("test_addons.py", "a_second_stack_cannot_take_over_the_operator"),
        )
    },
    "engine/test_gke_examples.py": Rested(("examples/", "platforms/gke/", *EQUIPMENT), _GKE),
    "engine/test_openshift.py": Rested(
        ("platforms/openshift/", "spec/platforms/openshift*.py", *EQUIPMENT), _RECORDED
    ),
    "engine/test_existing.py": Rested(
        ("platforms/existing/", "examples/existing-nodes/", *EQUIPMENT),
        "unit/platforms/existing/test_existing.py",
    ),
    "engine/test_kueue.py": Rested(KUEUE, "unit/render/test_kueue_objects.py"),
    "engine/test_cut_over.py": Rested(CUT_OVER, "unit/change/test_cut_over.py"),
    "engine/test_layout_change.py": Rested(CUT_OVER, "unit/change/test_nodes.py"),
    "engine/test_change_replay.py": Rested(
        ("gpufleet/change/", "gpufleet/platforms/", *EQUIPMENT), "unit/change/test_nodes.py"
    ),
    "engine/test_claims_by_hand.py": Rested(CLAIMS, "engine/test_dra.py"),
    "engine/test_dra_before_v1.py": Rested(CLAIMS, "engine/test_dra.py"),
    **{
        f"engine/test_addons.py::test_{name}": Rested(ADD_ONS, "engine/test_addons.py")
        for name in (
            "networks_and_gpu_operator_wait_for_the_policy",
            "the_plugin_by_its_own_chart_shares_gpus",
            "what_a_named_secret_holds_is_nowhere_in_state",
            "a_pool_of_another_stack_may_only_use_what_the_add_ons_declare",
        )
    },
    "engine/test_deploy.py::test_a_killed_update_is_repaired_and_nothing_exists_twice": Rested(
        ("sandbox/", "components_base/*.py", *EQUIPMENT), "engine/test_deploy.py"
    ),
    "engine/test_dra.py::test_a_driver_that_crashes_serves_nothing": Rested(
        ("gpufleet/addons/dra_driver.py", "fleet/health.py", *CLAIMS), "engine/test_dra.py"
    ),
    "engine/test_shipped_stacks.py::test_a_stack_previews_as_it_is": Rested(
        ("stacks/", "gpufleet/spec/", "gpufleet/platforms/", *EQUIPMENT), _RECORDED
    ),
    "engine/test_examples.py": Rested(
        ("examples/workloads/", "examples/serving/", "examples/languages/", *EQUIPMENT), _STACK
    ),
    "engine/test_workload_kinds.py": Rested(
        (
            *("examples/workload-kinds/", "render/nim.py", "render/scal*.py", "addons/nim*.py"),
            *("addons/keda.py", "addons/neuron*.py", *EQUIPMENT),
        ),
        _RECORDED,
    ),
    "engine/test_template.py": Rested(("templates/", *EQUIPMENT), _STACK),
    "engine/test_yaml_consumer.py": Rested(
        ("components/__main__.py", "gpufleet/hosting.py", "components_base/*.py", *EQUIPMENT),
        _RECORDED,
    ),
    "engine/test_plans.py": Rested(
        (*PLANNER, *EQUIPMENT), "planner/explanation/test_explanation.py"
    ),
    **{
        f"engine/test_policies.py::test_{name}": Rested(PACK, "engine/test_policies.py")
        for name in (
            "a_remediated_resource_shows_the_change_in_the_preview",
            "levels_come_from_the_policy_configuration",
            "a_misspelt_rule_in_the_configuration_is_refused",
        )
    },
    "engine/test_pack_by_the_engine.py": Rested(PACK, "engine/test_policies.py"),
    "engine/test_tested_nodes.py": Rested(
        ("fleet/acceptance.py", "addons/acceptance.py", "render/acceptance*.py", *EQUIPMENT),
        "unit/render/test_acceptance_scripts.py",
    ),
    "engine/test_rendered_configs_parse.py": Rested(
        ("gpufleet/render/", "gpufleet/partition/", "catalogue/data/", *EQUIPMENT),
        "engine/test_sharing.py",
    ),
    "wheel/test_wheel.py::test_it_brings_up_a_sandbox_and_leaves_nothing": Rested(
        (*INSTALLED, *EQUIPMENT), "wheel/test_wheel.py"
    ),
    **{
        f"wheel/test_{name}": Rested(INSTALLED, "wheel/test_release.py")
        for name in (
            "light_cli.py::test_every_command_works_or_names_what_it_needs",
            "light_cli.py::test_each_platform_names_its_extra_and_has_enough_with_it",
            "wheel.py::test_alone_it_judges_a_simulated_fleet",
            "wheel.py::test_python_finds_the_wheel_and_every_component",
        )
    },
    **{
        f"wheel/test_{name}": Rested(
            (
                *("tests/planner/rightsize/", "tests/unit/adopt/", "tests/unit/cli/test_cost.py"),
                *(*INSTALLED, *PRODUCT, *PROGRAMS),
            ),
            "wheel/test_release.py",
        )
        for name in (
            "light_cli.py::test_without_pulumi_no_component_and_the_text_says_what_to_install",
            "light_cli.py::test_preflight_has_enough_with_its_extra",
            "light_cli.py::test_the_component_package_starts_with_its_own_requirements",
            "wheel.py::test_alone_it_says_what_the_sandbox_needs",
            "wheel.py::test_the_pins_are_those_of_the_checkout_so_nothing_is_built_again",
        )
    },
    "wheel/test_installation.py::test_the_program_alone": Rested(
        ("pyproject.toml", "gpufleet/installation.py", "tests/wheel/"), "unit/test_installation.py"
    ),
    "schema/test_construct.py": Rested(WIRE, "schema/test_schema.py"),
    "property/": Rested((*FLEETS, *PLANNER), "unit/components/test_verdicts_agree.py"),
    **{
        f"corpus/test_{name}.py": Rested((*POLICIES, "tests/corpus/"), "corpus/test_planted.py")
        for name in ("wrappers", "labels", "jury")
    },
    **{
        f"policies/differential/test_fronts.py::test_every_{name}": Rested(
            (*FRONTS, "rules/rules.jsonl", "tests/policies/configurations/"),
            "policies/differential/test_fronts.py",
        )
        for name in ("listed_difference_is_there", "rule_is_reported_by_every_front")
    },
    "policies/test_ci_examples.py": Rested(
        ("examples/ci/", "action.yml", ".pre-commit-hooks.yaml", *COMMAND_LINE),
        "policies/audit/test_continuous_integration.py",
    ),
    **{
        f"policies/{name}": Rested((*POLICIES, *COMMAND_LINE), "policies/audit/test_command.py")
        for name in (
            "audit/test_processes.py",
            "audit/test_command.py::test_every_number_of_processes_says_the_same",
            "audit/test_public_manifests.py",
        )
    },
    **{
        f"policies/{name}": Rested(POLICIES, "policies/test_hostile_input.py")
        for name in (
            "test_doubling.py",
            "test_hostile_pools.py",
            "test_template_text.py::test_twice_as_much_text_takes_twice_as_long",
            "audit/test_hostile_files.py::test_any_value_anywhere_in_files",
        )
    },
    **{
        f"policies/{name}": Rested((*PRODUCT, "tests/policies/"), "policies/test_hostile_input.py")
        for name in ("test_many_manifests.py", "audit/test_hostile_files.py")
    },
    **{
        f"policies/audit/test_processes.py::test_{name}": Rested(
            ("audit/processes.py", "audit/run.py", "gpufleet/cli/__init__.py"),
            "policies/audit/test_command.py",
        )
        for name in (
            "ctrl_c_ends_every_process_without_a_traceback",
            "no_process_outlives_a_program_that_was_killed",
        )
    },
    "planner/rightsize/test_truth.py": Rested(PACKING, "planner/rightsize/test_command.py"),
    **{
        f"planner/{name}": Rested(PACKING, "planner/test_choice.py")
        for name in ("trace/test_place.py", "test_cheapest.py", "test_plan_bounds.py")
    },
    "planner/sizing/": Rested(
        (
            *("tests/planner/", "tests/unit/contract/fleets.py", "tools/fit_*.py"),
            *("docs/benchmarks.md", *PRODUCT),
        ),
        "planner/test_size_command.py",
    ),
    **{
        f"planner/test_{name}": Rested((*PRODUCT, "tests/planner/"), "planner/test_plan.py")
        for name in (
            *("clouds.py", "plan_problems.py", "random_teams.py"),
            "plan_command.py::test_the_same_workloads_in_several_regions",
            "plan_command.py::test_the_solver_prints_nothing_between_the_lines_of_an_answer",
        )
    },
    "tools/catalogue/test_faults.py": Rested(("tools/catalogue/",), "data/test_bills.py"),
    "unit/components/test_typed_programs.py": Rested(
        ("gpufleet/arguments/", "tests/unit/components/typed_programs/"),
        "unit/components/test_arguments.py",
    ),
    "unit/test_testing_page.py": Rested(
        ("gpufleet/testing.py", "docs/test-your-program.md"), "unit/components/test_component.py"
    ),
    "unit/render/test_platforms.py::test_the_page_is_what_the_renderers_say": Rested(
        (*FLEETS, "docs/platforms.md", "tests/unit/render/"), "unit/render/test_platforms.py"
    ),
    "unit/platforms/test_new_platform.py": Rested(FLEETS, "unit/test_architecture.py"),
    "unit/test_architecture.py::test_the_cases_of_the_examples_pass": Rested(
        ("ARCHITECTURE.md", "tests/policies/", "tests/unit/", *PRODUCT), "unit/test_architecture.py"
    ),
    "unit/sandbox/cloud/test_aws.py": Rested(("sandbox/",), "unit/sandbox/test_bootstrap.py"),
    "unit/catalogue/test_provider_inputs.py": Rested(
        ("gpufleet/catalogue/", "requirements/", "tools/*.py"),
        "unit/components/test_every_program_under_mocks.py",
    ),
    **{
        f"unit/sandbox/{folder}/": Rested(
            (*PRODUCT, *EQUIPMENT, "tests/unit/sandbox/", "tests/unit/render/"),
            "unit/sandbox/test_bootstrap.py",
        )
        for folder in ("cloud", "operands")
    },
    **{
        f"unit/{folder}/test_{name}.py": Rested(
            (*PRODUCT, f"tests/unit/{folder}/"), f"unit/{folder}/test_{instead}.py"
        )
        for folder, instead, names in (
            ("adopt", "inputs", ("karpenter_families", "node_repair")),
            ("change", "change", ("no_silent_change", "random_edits", "whole_parts")),
            ("cli", "help", ("streams",)),
            ("components", "verdicts_agree", ("random_fleets",)),
            ("contract/schemas", "refusals", ("mutations",)),
            ("preflight", "openshift", ("aws", "google")),
        )
        for name in names
    },
}
"""Tests that do not run with a commit that changes none of their sources."""
SWEEPS: dict[str, tuple[str, ...] | None] = {
    "data/": ("gpufleet/catalogue/", "gpufleet/models/", "tests/data/", "tools/catalogue/"),
    "planner/": ("tests/planner/", *PLANNER),
    "policies/": ("tests/policies/", *POLICIES),
    "policies/doctor/": (
        *("gpufleet_policies/doctor/", "gpufleet_policies/readers/", "tests/policies/doctor/"),
        *("gpufleet/contract/", "gpufleet/documents/"),
    ),
    "policies/differential/test_fronts.py": None,
    "tools/": ("tools/", "gpufleet/catalogue/"),
    "vcenter/": ("sandbox/", *VCENTER),
    "unit/adopt/": (
        "gpufleet/adopt/",
        "gpufleet/spec/",
        "gpufleet/platforms/",
        "gpufleet/catalogue/",
    ),
    "unit/change/": ("gpufleet/change/", *DECLARED),
    "unit/cli/": COMMAND_LINE,
    "unit/components/": ("components_base/", "gpufleet/addons/", "gpufleet/arguments/", *FLEETS),
    "unit/contract/": ("gpufleet/contract/", "gpufleet/documents/", *ROWS, *MODEL),
    "unit/contract/schemas/": (
        *("gpufleet/contract/schemas/", "gpufleet/documents/", "gpufleet/catalogue/"),
        "tests/unit/contract/schemas/",
    ),
    "unit/partition/test_placement.py": ("gpufleet/catalogue/", "gpufleet/partition/"),
    "unit/platforms/": FLEETS,
    "unit/preflight/": ("platforms/accounts/", *FLEETS),
    "unit/render/": (*DECLARED, "gpufleet/catalogue/", "gpufleet/partition/"),
    "unit/sandbox/": ("sandbox/", "tools/"),
}
"""Tests of tables and cases: with a commit that changes none of these paths, one of `PART`
(`tests/examples.py`) parameters of each test is tried, always the first. None: the file itself
takes its part."""


def named(nodeid: str, table: Collection[str]) -> str | None:
    """The longest name of a table that fits a test; None: there is none.

    Args:
        nodeid: As pytest names the test, with or without parameters, relative to the repository.
        table: Names as in `ON_CHANGE`.
    """
    test = nodeid.removeprefix("tests/").partition("[")[0]
    ends = [one.end() if one[0] == "/" else one.start() for one in re.finditer("/|::", test)]
    return next((test[:end] for end in (None, *reversed(ends)) if test[:end] in table), None)


def _file(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def rests(nodeid: str) -> bool:
    """Whether a test is one of `ON_CHANGE` of which nothing has changed."""
    name = named(nodeid, ON_CHANGE)
    return name is not None and not has_file_changed(_file(nodeid), ON_CHANGE[name].sources)


def is_in_part(nodeid: str) -> bool:
    """Whether a test is one of `SWEEPS` of which nothing has changed, and not all is asked."""
    sources = SWEEPS.get(named(nodeid, SWEEPS) or "")
    return not ALL and sources is not None and not has_file_changed(_file(nodeid), sources)


def is_for_the_night(file: str) -> bool:
    """Whether no test of a file runs with this commit."""
    return rests(file) or file.removeprefix("tests/engine/") in NIGHTLY


def mark_resting(items: Sequence[pytest.Item]) -> None:
    """Leave to `make nightly` what rests, and of each sweep what is not its part.

    Without `-m` all of them run. With GPUFLEET_ALL_EXAMPLES sweeps are whole.
    """
    tests: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        tests[item.nodeid.partition("[")[0]].append(item)
    for test, parameters in tests.items():
        if rests(test):
            left = parameters
        else:
            left = [one for n, one in enumerate(parameters) if n % PART] if is_in_part(test) else []
        for item in left:
            item.add_marker(pytest.mark.nightly)


@cache
def has_file_changed(file: str, sources: tuple[str, ...]) -> bool:
    """Whether a file of tests has changed, or one of what it tests."""
    return has_changed(file, *sources)
