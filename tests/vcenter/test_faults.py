"""vCenter's faults in a person's words: every code is shown by a test."""

from pathlib import Path

import pytest
from pyVmomi import vim, vmodl

from gpufleet_vcenter.credentials import Credentials
from gpufleet_vcenter.errors import OutcomeUnknownError, VsphereError, rows_of
from gpufleet_vcenter.inventory import (
    Host,
    Inventory,
    PassthroughState,
    PhysicalGpu,
)
from gpufleet_vcenter.placement import Wish, place
from gpufleet_vcenter.reading import checked
from gpufleet_vcenter.settings import Endpoint, NodeSettings, parsed
from gpufleet_vcenter.tasks import TaskTimeoutError, in_words, translated

TESTS = Path(__file__).parents[1]
MIB = 1 << 20
CODES = sorted({f"vsphere-{row.partition('/')[0]}" for row in rows_of("failures")})


@pytest.mark.parametrize(
    ("fault", "code", "expected"),
    [
        (
            vim.fault.NoPermission(
                privilegeId="VirtualMachine.Config.AddNewDisk", object=vim.Folder("group-v3")
            ),
            "vsphere-permission",
            "the privilege VirtualMachine.Config.AddNewDisk on group-v3 is missing",
        ),
        (vim.fault.NoDiskSpace(), "vsphere-datastore-full", "the datastore has no room"),
        (
            vim.fault.DatastoreNotWritableOnHost(datastore=vim.Datastore("datastore-7")),
            "vsphere-datastore-full",
            "datastore-7 has no room",
        ),
        (
            vim.fault.InsufficientMemoryResourcesFault(
                requested=65_536 * MIB, unreserved=1024 * MIB
            ),
            "vsphere-memory",
            "65536 MiB must be reserved, 1024 MiB are free",
        ),
        (
            vim.fault.GenericVmConfigFault(msg="Module 'DevicePowerOn' power on failed."),
            "vsphere-mmio",
            "does not fit the MMIO window of 128 GiB. fix: set mmioGib to 256",
        ),
        (vim.fault.NoCompatibleHost(), "vsphere-gpu-capacity", "no host has the GPUs free"),
        (
            vim.fault.InsufficientGraphicsResourcesFault(),
            "vsphere-gpu-capacity",
            "free GPUs or add a host",
        ),
        (
            vim.fault.QuestionPending(text="Was it moved or copied?"),
            "vsphere-question",
            "the machine asks: Was it moved or copied? fix: answer it",
        ),
        (
            vmodl.fault.HostNotConnected(msg="esx1 does not answer"),
            "vsphere-host-state",
            "esx1 does not answer",
        ),
        (
            vim.fault.InvalidPowerState(msg="it is off"),
            "vsphere-host-state",
            "look at the host's and the machine's state",
        ),
        (
            vmodl.fault.NotSupported(msg="no such device"),
            "vsphere-unsupported",
            "see which vSphere version",
        ),
        (
            vim.fault.TooManyConcurrentNativeClones(msg="8 clones run"),
            "vsphere-busy",
            "8 clones run, also after waiting",
        ),
        (vim.fault.FileFault(msg="the disk is gone"), "vsphere-fault", "the disk is gone"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_each_fault(fault: Exception, code: str, expected: str) -> None:
    found = translated(fault, "powering on gpu-0", mmio_gib=128)
    assert found.code == code
    assert str(found).startswith(f"{code}: powering on gpu-0 failed: ")
    assert expected in str(found)
    assert str(found).endswith(f"[{type(fault).__name__.rsplit('.', 1)[-1]}]")


def settings(gpu: dict[str, object]) -> NodeSettings:
    return NodeSettings.model_validate(
        {
            "owner": "o/p/s/g/0",
            "generation": "0123456789ab",
            "endpoint": {"server": "vc.example.com"},
            "place": {"datacenter": "DC", "cluster": "C", "template": "t"},
            "name": "gpu-0",
            "cpus": 8,
            "memoryMib": 65_536,
            "gpu": gpu,
            "gpuMemoryGib": 80,
        }
    )


def host(name: str, *gpus: PhysicalGpu, profiles: tuple[str, ...] = ()) -> Host:
    return Host(name, name, True, False, 1 << 20, 0, gpus, profiles, (), frozenset())


A100 = PhysicalGpu(
    "0000:3b:00.0", "20b5", "A100", 81_920, PassthroughState.ENABLED, "", "shared", ()
)
DYNAMIC: dict[str, object] = {"mode": "dynamic", "deviceIds": ["20b5"], "count": 1}
VGPU: dict[str, object] = {"mode": "vgpu", "profile": "grid_a100d-10c", "count": 1}


@pytest.mark.parametrize(
    ("hosts", "gpu", "code", "expected"),
    [
        ((host("esx1"),), DYNAMIC, "vsphere-gpu-none", "esx1 0 (no device 20b5, it has none)"),
        (
            (host("esx1", A100, profiles=("grid_a100d-20c",)),),
            VGPU,
            "vsphere-gpu-profile",
            "is not offered (no GPU is in sharedDirect mode); offered: grid_a100d-20c",
        ),
        (
            (host("esx1", A100),),
            DYNAMIC,
            "vsphere-gpu-capacity",
            "0000:3b:00.0 is enabled for passthrough but not active: reboot the host",
        ),
    ],
)
def test_why_no_host_will_do(
    hosts: tuple[Host, ...], gpu: dict[str, object], code: str, expected: str
) -> None:
    failure = place(Inventory(hosts), Wish(settings(gpu))).failure()
    assert failure.code == code
    assert expected in str(failure)


def test_what_is_left_stands_between_summary_and_fix() -> None:
    failure = VsphereError("vsphere-timeout", "it took too long", "wait", "Timedout").with_left(
        "a VM"
    )
    assert str(failure) == "vsphere-timeout: it took too long. a VM. fix: wait. [Timedout]"


def test_a_step_that_takes_too_long_names_its_task() -> None:
    late = TaskTimeoutError(600, 30, "task-42")
    with (
        pytest.raises(VsphereError) as caught,
        in_words("powering on gpu-0", "powerOn", "gpu-0 exists"),
    ):
        raise late
    assert str(caught.value) == (
        "vsphere-timeout: powering on gpu-0 was not done after 600 s at 30 % (task-42). gpu-0 "
        "exists. fix: look at the task in vCenter; allow more with timeouts.powerOn."
    )


def test_a_refused_login_names_user_and_server_and_no_password() -> None:
    refused = Credentials("operator", "correct-horse", "lab").refused("vc", "InvalidLogin")
    assert refused.code == "vsphere-authentication"
    assert "vc refuses the user name or the password of operator" in str(refused)
    assert "LAB_USER and LAB_PASSWORD" in str(refused)
    assert "correct-horse" not in str(refused)


def test_a_lost_answer_that_no_step_expected() -> None:
    with pytest.raises(VsphereError) as caught, in_words("making gpu-0"):
        raise OutcomeUnknownError("reset by peer")
    assert caught.value.code == "vsphere-connection"
    assert "making gpu-0: the connection broke: reset by peer" in str(caught.value)


def test_a_property_that_may_not_be_read() -> None:
    collector = vmodl.query.PropertyCollector
    denied = vim.fault.NoPermission(privilegeId="System.View", object=vim.Folder("group-v3"))
    answer = collector.RetrieveResult(
        objects=[
            collector.ObjectContent(
                obj=vim.VirtualMachine("vm-7"),
                missingSet=[collector.MissingProperty(path="config.uuid", fault=denied)],
            )
        ]
    )
    with pytest.raises(VsphereError) as caught:
        checked(answer)
    assert caught.value.code == "vsphere-permission"
    assert (
        "property config.uuid of vm-7 may not be read: the privilege System.View is missing"
        in str(caught.value)
    )


def test_an_address_that_contradicts_itself() -> None:
    given = {"server": "vc", "insecure": True, "caCertFile": "ca.pem", "port": 0}
    with pytest.raises(VsphereError, match="the vCenter cannot be addressed: ") as caught:
        parsed(Endpoint, given, "the vCenter cannot be addressed")
    assert "port: Input should be greater than or equal to 1" in str(caught.value)


@pytest.mark.parametrize("code", CODES)
def test_every_code_has_a_test(code: str) -> None:
    files = [Path(__file__), *TESTS.glob("engine/vsphere/test_*.py")]
    files += Path(__file__).parent.glob("test_cluster_*.py")
    assert any(f'"{code}"' in file.read_text() for file in files)
