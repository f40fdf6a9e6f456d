"""MutatingAdmissionPolicies: only for rules set to remediate, and only where they are asked for.

What they do to objects is tried on the real API server:
tests/engine/test_admission_remediations.py.
"""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from gpufleet.components_base.inputs import InvalidArgumentsError
from gpufleet_policies.commands.policies import command
from gpufleet_policies.fronts.admission.policies import CHECKS, policies
from gpufleet_policies.fronts.admission.remediation_policies import remediation_policies
from gpufleet_policies.fronts.admission.remediations import MENDS
from gpufleet_policies.gpu_admission_policies import GpuAdmissionPolicies
from gpufleet_policies.rules.registry import by_id
from gpufleet_policies.rules.settings import read_settings

DEADLINE = "gpu-job-without-deadline"
QUEUE = "training-without-queue-or-gang"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, ["admission", *arguments])


def settings_file(folder: Path, *rules: str) -> str:
    path = folder / "gpu-policy.yaml"
    path.write_text(yaml.safe_dump({"rules": dict.fromkeys(rules, "remediate")}))
    return str(path)


def test_no_rule_mends_unless_the_settings_say_so():
    assert remediation_policies() == ()
    assert remediation_policies(read_settings({"profile": "strict"})) == ()


def test_every_mend_is_of_a_rule():
    assert {remediate.rule for remediate in MENDS} <= set(by_id())


def test_what_a_cluster_says_is_the_text_of_the_rule():
    """One text: admission had a second one for each check, and one of them made no sense."""
    every = {check.rule: "mandatory" for check in CHECKS}
    settings = read_settings({"rules": every, "ownerTags": ["owner"]})
    said: dict[str, str] = {}
    for policy in policies(settings):
        for validation in policy.policy["spec"]["validations"]:
            rule = validation["message"].partition("]")[0].removeprefix("[")
            said[rule] = validation["message"]
    assert set(said) == set(every)
    for rule, text in said.items():
        known = by_id()[rule]
        assert text.startswith(f"[{rule}] {known.sentence.removesuffix('.')}. Instead: ")
        assert known.advice
        assert f"Instead: {known.instead()}. To keep it" in text
    assert "set replicas: 0 while it is not used." in said["gpu-idle-command"]


def test_a_rule_at_remediate_has_one_policy_for_each_kind_it_mends():
    made = remediation_policies(read_settings({"rules": {DEADLINE: "remediate"}}))
    names = {policy.name.removeprefix("gpufleet-mend-") for policy in made}
    assert names == {"jobs", "cronjobs", "pytorchjobs", "mpijobs", "rayjobs", "trainjobs"}
    for policy in made:
        assert policy.rules == (DEADLINE,)
        assert policy.binding["spec"]["policyName"] == policy.policy["metadata"]["name"]
        assert "validationActions" not in policy.binding["spec"]


def test_jobs_are_given_a_queue_only_where_it_is_named():
    chosen = read_settings({"rules": {QUEUE: "remediate"}})
    assert remediation_policies(chosen) == ()
    made = remediation_policies(chosen, queue="research")
    assert made
    assert all("'research'" in json.dumps(policy.policy) for policy in made)


def test_the_command_writes_them_beside_those_that_refuse(tmp_path: Path):
    config = settings_file(tmp_path, DEADLINE)
    plain = json.loads(run("--config", config, "--format", "json").output)
    assert plain["mending"] == []
    out = tmp_path / "out"
    done = run("--config", config, "--mend", "--out", str(out), "--format", "json")
    found = json.loads(done.output)
    assert len(found["mending"]) == 6
    for one in found["mending"]:
        policy, binding = yaml.safe_load_all(Path(one["file"]).read_text())
        assert policy["kind"] == "MutatingAdmissionPolicy"
        assert binding["kind"] == "MutatingAdmissionPolicyBinding"
    text = run("--config", config, "--mend", "--out", str(out)).output
    assert "wrote 6 that fix what 1 rules find" in text
    assert "MutatingAdmissionPolicyBinding" in run("--config", config, "--mend").output


def test_a_queue_without_mending_is_wrong_usage():
    done = run("--queue", "research")
    assert done.exit_code == 2
    assert "--queue is used with --mend only" in done.output
    with pytest.raises(InvalidArgumentsError, match="is used with mend: true only"):
        GpuAdmissionPolicies("gpu", {"queue": "research"})
