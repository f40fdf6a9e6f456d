"""Messages of admission policies about an object."""

from gpufleet_policies.fronts.admission.policies import CHECKS, policies
from gpufleet_policies.rules.registry import by_id
from gpufleet_policies.rules.settings import read_settings


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
