"""Behaviour of a vCenter 8 that vcsim lacks, with its source and its simulation by the proxy."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from tests.vcenter.fault_proxy import Action, Rule

_CONFIGURATION = re.compile(rb"<propSet><name>config\..*?</propSet>", re.DOTALL)
_STARTED = re.compile(rb"<vm [^>]*>vm-\d+</vm>")


def without_configuration(answer: bytes, machine: str = r"vm-\d+") -> bytes:
    """A response about machines whose configuration vCenter does not show.

    Args:
        answer: Response of the property collector.
        machine: Pattern of the machines' references. Default: every machine.
    """
    one = re.compile(
        rb"<objects><obj[^>]*>" + machine.encode() + rb"</obj>.*?</objects>", re.DOTALL
    )
    return one.sub(lambda found: _CONFIGURATION.sub(b"", found[0]), answer)


def visible_while_cloned(machine: str) -> list[Rule]:
    """The machine is found by its name, and has no configuration yet."""
    reference = f'<returnval type="VirtualMachine">{machine}</returnval>'.encode()
    found = re.compile(rb"(<FindChildResponse[^>]*?)(?:/>|></FindChildResponse>)")
    return [
        Rule(
            Action.REWRITE_REPLY,
            "FindChild",
            nth=0,
            rewrite=lambda answer: found.sub(
                lambda empty: empty[1] + b">" + reference + b"</FindChildResponse>", answer
            ),
        ),
        Rule(
            Action.REWRITE_REPLY,
            "RetrievePropertiesEx",
            nth=0,
            rewrite=lambda answer: without_configuration(answer, machine),
        ),
    ]


def recommended() -> list[Rule]:
    """A start without the option OverrideAutomationLevel starts nothing."""

    def manual(body: bytes) -> bytes:
        option = b"OverrideAutomationLevel" in body and b"fullyAutomated" in body
        return body if option else _STARTED.sub(b"", body)

    return [Rule(Action.REWRITE, "PowerOnMultiVM_Task", nth=0, rewrite=manual)]


@dataclass(frozen=True)
class Difference:
    """One thing that a vCenter 8 does in another way than vcsim."""

    simulator: str
    vcenter: str
    source: str
    played: str
    """Test that plays it: file and function."""
    rules: Callable[..., list[Rule]] | None = None
    """Action of the proxy; None: the test does it through vCenter's own calls."""


DIFFERENCES = {
    "copied extra configuration": Difference(
        "a clone has none of its source's extra configuration",
        "a clone has its source's, gpufleet's marks among it, and an instance uuid of its own",
        "vSphere Web Services API, VirtualMachineCloneSpec.config: the clone has the configuration "
        "of its source, with these changes",
        "test_copies.py::test_a_copy_stays_and_is_named",
    ),
    "recommendation": Difference(
        "PowerOnMultiVM_Task starts every machine",
        "a machine or cluster whose DRS behaviour is manual gets a recommendation, unless the "
        "option OverrideAutomationLevel is fullyAutomated",
        "vSphere Web Services API, DrsBehavior and ClusterPowerOnVmOption; openshift/machine-api-"
        "operator, pkg/controller/vsphere/reconciler.go",
        "test_starting.py::test_drs_manual_gets_its_machine",
        recommended,
    ),
    "visible while it is cloned": Difference(
        "a machine is found once its clone is done",
        "a machine is found from the start of its clone, and its configuration may be unavailable",
        "vSphere Web Services API, VirtualMachine.config: `often also unavailable during the "
        "initial phases of virtual machine creation`",
        "test_reconciling.py::test_a_machine_that_is_visible_while_it_is_cloned",
        visible_while_cloned,
    ),
    "lockout": Difference(
        "a wrong password is refused any number of times",
        "an account is locked after five failed logins",
        "vSphere 8.0 Authentication, vCenter Single Sign-On Lockout Policy: maximum number of "
        "failed login attempts 5",
        "test_login.py::test_refused_credentials_are_remembered_by_all_threads",
    ),
}
