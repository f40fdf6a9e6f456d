"""Upgrading the virtual hardware of a machine that is off. There is no way back."""

from pyVmomi import vim, vmodl

from gpufleet.platforms.vsphere.vcenter.errors import OutcomeUnknownError
from gpufleet.platforms.vsphere.vcenter.faults import translated
from gpufleet.platforms.vsphere.vcenter.observed import Observed
from gpufleet.platforms.vsphere.vcenter.session import Session
from gpufleet.platforms.vsphere.vcenter.settings import NodeSettings
from gpufleet.platforms.vsphere.vcenter.tasks import TaskTimeoutError, run, timed_out


def upgrade(session: Session, settings: NodeSettings, live: Observed, version: int) -> None:
    """Upgrade the machine. The caller looks at it afterwards: a lost answer, and a machine that
    has the version already, are fine.

    Raises:
        VsphereError: vCenter refuses, as for a version that no host of the cluster knows.
    """
    doing = f"upgrading the virtual hardware of {live.name} from {live.hardware_version}"
    doing = f"{doing} to {version}"
    try:
        run(
            session,
            lambda: live.reference.UpgradeVM_Task(f"vmx-{version}"),
            settings.timeouts.reconfigure,
        )
    except (vim.fault.AlreadyUpgraded, OutcomeUnknownError):
        return
    except TaskTimeoutError as problem:
        raise timed_out(doing, problem, "reconfigure", f"{live.name} exists") from None
    except vmodl.MethodFault as fault:
        raise translated(fault, doing) from None
