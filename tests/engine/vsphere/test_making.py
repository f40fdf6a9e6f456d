"""Errors that prevent the creation of a machine, and the effects on the others."""

from concurrent.futures import ThreadPoolExecutor

from gpufleet_vcenter.errors import VsphereError
from tests.engine.vcenter_fixture import FIXED, Vcenter
from tests.engine.vsphere.direct import UNCLOSED, Made, created, refused
from tests.vcenter.fault_proxy import Action, Rule
from tests.vcenter.simulator import SimulatedTemplate

pytestmark = UNCLOSED


def test_a_slow_clone_is_adopted_by_a_later_run(other: Made) -> None:
    # Long enough for a second attempt on the busiest machine to find it in flight.
    cloud = other(hosts=1, method_delay_ms={"CloneVm": 10_000, "LockHandoff": 0})
    hasty = cloud.node(1, timeouts={"clone": 1})
    text = refused("vsphere-timeout", lambda: created(hasty))
    assert "cloning gpu-1 from gpu-template was not done after 1 s" in text
    assert "the next run adopts the machine" in text
    assert "timeouts.clone" in text
    text = refused("vsphere-timeout", lambda: created(hasty))
    assert cloud.proxy.calls["CloneVM_Task"] == 1, "no second clone next to the one in flight"
    outs = created(cloud.node(1))
    assert outs["adopted"] is True
    assert len(cloud.owned()) == 1
    assert cloud.proxy.calls["CloneVM_Task"] == 1


def test_a_guest_that_never_gets_ready_is_kept_and_told(cloud: Vcenter) -> None:
    node = cloud.node(1, waitFor="tools", onCreateFailure="keep", timeouts={"address": 1})
    text = refused("vsphere-timeout", lambda: created(node))
    assert "its guest was not ready after 1 s: VMware tools do not run" in text
    assert "/var/log/cloud-init-output.log" in text
    assert "the next `pulumi up` waits for it again" in text
    assert len(cloud.owned()) == 1


def test_a_full_datastore_is_told_before_the_clone(cloud: Vcenter) -> None:
    text = refused("vsphere-datastore-full", lambda: created(cloud.node(1, diskGib=5000)))
    assert "datastore LocalDS_0 has" in text
    assert "gpu-1 needs 5500 GiB" in text
    assert cloud.proxy.changing == {}


def test_an_unfit_template_gives_all_reasons(other: Made) -> None:
    cloud = other(hosts=1, template=SimulatedTemplate(firmware="bios", hardware="vmx-15"))
    text = refused("vsphere-template", lambda: created(cloud.node(1)))
    assert "its firmware is bios: GPUs need EFI" in text
    assert "its hardware version is 15: dynamic passthrough needs 17" in text
    fixed = refused("vsphere-template", lambda: created(cloud.node(1, FIXED)))
    assert "hardware version" not in fixed
    assert cloud.proxy.changing == {}


def test_an_api_that_would_drop_the_gpu_is_refused(other: Made) -> None:
    cloud = other(hosts=1, api_version="6.7.3")
    text = refused("vsphere-unsupported", lambda: created(cloud.node(1)))
    assert "dynamic passthrough needs vSphere API 7.0, and 127.0.0.1 speaks 6.7.3" in text
    assert cloud.proxy.changing == {}


def test_two_creates_for_one_gpu(other: Made) -> None:
    """Both find it free; one gets it, and the other gets an error with the owner."""
    cloud = other(hosts=1, gpus=1)
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(created, cloud.node(ordinal)) for ordinal in range(2)]
    failures = [future.exception() for future in futures if future.exception() is not None]
    (failure,) = failures
    assert isinstance(failure, VsphereError)
    assert failure.code == "vsphere-gpu-capacity"
    assert "0 of 1 devices free and a machine needs 1, held by gpu-" in str(failure)
    assert len(cloud.owned()) == 1


def test_another_stack_was_faster_on_one_host(cloud: Vcenter) -> None:
    once = Rule(Action.FAULT, "PowerOnMultiVM_Task", nth=1, fault="NoCompatibleHost")
    cloud.proxy.reset([once])
    created(cloud.node(1))
    assert cloud.proxy.changing["CloneVM_Task"] == 2
    assert cloud.proxy.changing["Destroy_Task"] == 1
    assert len(cloud.owned()) == 1


def test_another_stack_was_faster_everywhere(cloud: Vcenter) -> None:
    always = Rule(Action.FAULT, "PowerOnMultiVM_Task", nth=0, fault="NoCompatibleHost")
    cloud.proxy.reset([always])
    text = refused("vsphere-gpu-capacity", lambda: created(cloud.node(1)))
    assert "no host has the GPUs free" in text
    assert cloud.proxy.changing["CloneVM_Task"] == 3, "each host once"
    assert cloud.owned() == []
