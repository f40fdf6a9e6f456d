"""What goes wrong between a machine and its vCenter, one test each: on vcsim, through the proxy.

The provider runs in this process: nothing here is killed (test_vsphere_chaos.py does that).
"""

import gc
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import psutil
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from pyVmomi import vim

from gpufleet.nodes.vsphere.certificate import tls_context
from gpufleet.nodes.vsphere.credentials import Credentials
from gpufleet.nodes.vsphere.errors import Code, VsphereError
from gpufleet.nodes.vsphere.guest_data import USER_DATA_KEYS
from gpufleet.nodes.vsphere.identity import OWNER
from gpufleet.nodes.vsphere.lookup import by_name
from gpufleet.nodes.vsphere.provider import VsphereGpuNodeProvider
from gpufleet.nodes.vsphere.read_inventory import read_inventory
from gpufleet.nodes.vsphere.session import Session, close_all, session_for
from gpufleet.nodes.vsphere.settings import Endpoint
from gpufleet.sandbox.vcenter.fault_proxy import Action, Rule
from gpufleet.sandbox.vcenter.simulator import SimulatedTemplate
from tests.engine.vcenter_fixture import (
    FIXED,
    PASSWORD,
    SECRET,
    USER,
    VGPU,
    Vcenter,
    inventory,
    simulated,
)

# pyVmomi leaves the connection of a refused login to the collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
PROVIDER = VsphereGpuNodeProvider()
Made = Callable[..., Vcenter]


@pytest.fixture(scope="module")
def shared() -> Iterator[Vcenter]:
    with simulated(inventory(machines=2)) as found:
        yield found


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("VSPHERE_USER", USER)
    monkeypatch.setenv("VSPHERE_PASSWORD", PASSWORD)
    yield
    close_all()
    gc.collect()  # while such a connection is still passed over


@pytest.fixture
def cloud(shared: Vcenter) -> Iterator[Vcenter]:
    shared.proxy.reset()
    yield shared
    shared.proxy.reset()
    shared.remove_owned()


@pytest.fixture
def other() -> Iterator[Made]:
    """Another vCenter for one test."""
    with ExitStack() as stack:
        yield lambda **more: stack.enter_context(simulated(inventory(**more)))


def refused(code: Code, operation: Callable[[], Any]) -> str:
    with pytest.raises(VsphereError) as caught:
        operation()
    text = str(caught.value)
    assert caught.value.code is code, text
    assert PASSWORD not in text
    assert SECRET not in text
    return text


def created(node: dict[str, Any]) -> dict[str, Any]:
    return PROVIDER.create(node).outs or {}


def read(outs: dict[str, Any]) -> dict[str, Any]:
    return PROVIDER.read(outs["instanceUuid"], outs).outs or {}


def end_sessions(cloud: Vcenter) -> None:
    """What an administrator, or a time-out, does."""
    with cloud.service() as service:
        sessions = service.RetrieveContent().sessionManager
        own = sessions.currentSession.key
        for session in sessions.sessionList:
            if session.key != own:
                sessions.TerminateSession([session.key])


@pytest.mark.parametrize("method", ["CloneVM_Task", "RetrievePropertiesEx"])
def test_a_session_that_ends_is_renewed(cloud: Vcenter, method: str) -> None:
    """A change answers NotAuthenticated; a read answers with every property missing."""
    cloud.proxy.reset([Rule(Action.BEFORE, method, nth=1, do=lambda: end_sessions(cloud))])
    outs = created(cloud.node(1))
    assert outs["powerState"] == "poweredOn"
    assert cloud.proxy.calls["Login"] == 2
    assert len(cloud.owned()) == 1
    end_sessions(cloud)
    assert read(outs)["drifted"] == {}


def test_a_session_that_ends_at_once_again_is_told(cloud: Vcenter) -> None:
    cloud.proxy.reset([Rule(Action.FAULT, "CloneVM_Task", nth=0, fault="NotAuthenticated")])
    text = refused(Code.SESSION, lambda: created(cloud.node(1)))
    assert "ended the session twice in a row" in text
    assert "compare the clocks" in text
    assert cloud.owned() == []


def test_a_wrong_password_is_tried_once(cloud: Vcenter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VSPHERE_PASSWORD", "wrong-" + SECRET)
    text = refused(Code.AUTHENTICATION, lambda: created(cloud.node(1)))
    assert "127.0.0.1 refuses the user name or the password" in text
    assert "VSPHERE_USER and VSPHERE_PASSWORD" in text
    assert cloud.proxy.calls["Login"] == 1, "more would lock the account"


def test_no_password_names_both_places(cloud: Vcenter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VSPHERE_PASSWORD")
    text = refused(Code.AUTHENTICATION, lambda: created(cloud.node(1)))
    assert "no password for vCenter" in text
    assert "pulumi config set --secret vsphere:password" in text


def test_a_rotated_password_needs_nothing_but_itself(
    cloud: Vcenter, monkeypatch: pytest.MonkeyPatch
) -> None:
    outs = created(cloud.node(1))
    close_all()
    fresh = "fresh-horse-battery"

    def rotated(body: bytes) -> bytes:
        old, new = PASSWORD.encode(), fresh.encode()
        return body.replace(old, b"no longer").replace(new, old)

    cloud.proxy.reset([Rule(Action.REWRITE, "Login", nth=0, rewrite=rotated)])
    refused(Code.AUTHENTICATION, lambda: read(outs))
    monkeypatch.setenv("VSPHERE_PASSWORD", fresh)
    assert read(outs) == outs
    PROVIDER.delete(outs["instanceUuid"], outs)
    assert cloud.owned() == []


def test_nobody_answers(cloud: Vcenter) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        node = cloud.node(1)
        node["endpoint"]["port"] = unused.getsockname()[1]
        text = refused(Code.CONNECTION, lambda: created(node))
    assert f"127.0.0.1:{node['endpoint']['port']} cannot be reached" in text


def test_certificates(other: Made, tmp_path: Path) -> None:
    cloud = other(tls=True)
    server, port = "127.0.0.1", cloud.running.port
    pem = ssl.get_server_certificate((server, port))
    digest = x509.load_pem_x509_certificate(pem.encode()).fingerprint(hashes.SHA256())
    fingerprint = ":".join(f"{byte:02X}" for byte in digest)

    def login(**trust: Any) -> str:
        endpoint = Endpoint.model_validate({"server": server, "port": port, **trust})
        session = Session(endpoint, Credentials(USER, PASSWORD))
        session.close()
        return session.server_id

    assert login(thumbprintSha256=fingerprint)
    assert login(insecure=True)
    authority = tmp_path / "authority.pem"
    authority.write_text(pem)
    assert login(caCertFile=str(authority))

    untrusted = refused(Code.CERTIFICATE, login)
    assert f"the certificate of {server}:{port} is not trusted" in untrusted
    wrong = "00:" + fingerprint[3:]
    pinned = refused(Code.CERTIFICATE, lambda: login(thumbprintSha256=wrong))
    assert fingerprint in pinned, "the one offered"
    assert wrong in pinned
    missing = refused(Code.CERTIFICATE, lambda: login(caCertFile=str(tmp_path / "none.pem")))
    assert "none.pem, cannot be used" in missing


def test_a_clock_that_is_behind_shows_in_the_certificate(tmp_path: Path) -> None:
    """A certificate that is not valid yet: the usual sign of a clock that is wrong."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "vcenter")])
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .not_valid_before(tomorrow)
        .not_valid_after(tomorrow + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    both = tmp_path / "server.pem"
    both.write_bytes(
        certificate.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(both)

    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            plain, _ = listening.accept()
            with plain, pytest.raises(OSError, match=r"."):
                context.wrap_socket(plain, server_side=True).recv(1)

        thread = threading.Thread(target=serve)
        thread.start()
        endpoint = Endpoint.model_validate(
            {
                "server": "127.0.0.1",
                "port": listening.getsockname()[1],
                "caCertFile": str(both),
            }
        )
        text = refused(
            Code.CERTIFICATE, lambda: Session(endpoint, Credentials(USER, PASSWORD)).close()
        )
        thread.join(10)
    assert "not yet valid" in text
    assert tls_context(endpoint).verify_mode is ssl.CERT_REQUIRED


def test_a_slow_clone_is_adopted_by_a_later_run(other: Made) -> None:
    cloud = other(hosts=1, method_delay_ms={"CloneVm": 4000, "LockHandoff": 0})
    hasty = cloud.node(1, timeouts={"clone": 1})
    text = refused(Code.TIMEOUT, lambda: created(hasty))
    assert "cloning gpu-1 was not done after 1 s" in text
    assert "the next run adopts it" in text
    assert "timeouts.clone" in text
    text = refused(Code.TIMEOUT, lambda: created(hasty))
    assert cloud.proxy.calls["CloneVM_Task"] == 1, "no second clone beside the one in flight"
    outs = created(cloud.node(1))
    assert outs["adopted"] is True
    assert len(cloud.owned()) == 1
    assert cloud.proxy.calls["CloneVM_Task"] == 1


def test_a_guest_that_never_gets_ready_is_kept_and_told(cloud: Vcenter) -> None:
    node = cloud.node(1, waitFor="tools", onCreateFailure="keep", timeouts={"address": 1})
    text = refused(Code.TIMEOUT, lambda: created(node))
    assert "its guest was not ready after 1 s: VMware tools do not run" in text
    assert "/var/log/cloud-init-output.log" in text
    assert "the next `pulumi up` goes on with it" in text
    assert len(cloud.owned()) == 1


def test_an_ambiguous_name_lists_all(other: Made) -> None:
    cloud = other(hosts=1)
    with cloud.service() as service:
        (datacenter,) = service.RetrieveContent().rootFolder.childEntity
        folder = datacenter.vmFolder.CreateFolder("copies")
        (compute,) = [c for c in datacenter.hostFolder.childEntity if c.name == "DC0_C0"]
        location = vim.vm.RelocateSpec(pool=compute.resourcePool, host=compute.host[0])
        (template,) = [m for m in datacenter.vmFolder.childEntity if m.name == "gpu-template"]
        spec = vim.vm.CloneSpec(location=location, template=True)
        finished(template.CloneVM_Task(folder, "gpu-template", spec))
    text = refused(Code.AMBIGUOUS, lambda: created(cloud.node(1)))
    assert "/DC0/vm/copies/gpu-template, /DC0/vm/gpu-template" in text
    node = cloud.node(1)
    node["place"]["template"] = "/DC0/vm/gpu-template"
    assert created(node)["powerState"] == "poweredOn"


def finished(task: Any) -> None:
    while task.info.state in ("queued", "running"):
        time.sleep(0.01)
    assert task.info.state == "success", task.info.error


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("template", "gpu-templat", "no template named 'gpu-templat'"),
        ("cluster", "DC0_C1", "near: DC0_C0"),
        ("datastore", "LocalDS_1", "near: LocalDS_0"),
        ("resourcePool", "Resource", "near: Resources"),
        ("folder", "/DC0/vm/none", "no folder at /DC0/vm/none"),
        ("network", "DC0_DVPG9", "near: DC0_DVPG0"),
    ],
)
def test_not_found_says_what_is_near(cloud: Vcenter, key: str, value: str, expected: str) -> None:
    node = cloud.node(1)
    node["place"][key] = value
    assert expected in refused(Code.NOT_FOUND, lambda: created(node))
    assert cloud.owned() == []


def test_a_taken_name_names_its_owner(cloud: Vcenter) -> None:
    made = created(cloud.node(1))
    again = cloud.node(1, owner="organisation/project/other/group/1")
    text = refused(Code.NAME_TAKEN, lambda: created(again))
    assert f"gpu-1 ({made['moRef']}, instance uuid {made['instanceUuid']})" in text
    assert "belongs to organisation/project/stack/group/1" in text
    assert cloud.owned() == ["organisation/project/stack/group/1"]


def test_a_machine_with_our_uuid_and_other_marks_is_never_touched(cloud: Vcenter) -> None:
    outs = created(cloud.node(1))
    with cloud.machine("gpu-1") as machine:
        mark = vim.option.OptionValue(key=OWNER, value="somebody/else")
        finished(machine.ReconfigVM_Task(vim.vm.ConfigSpec(extraConfig=[mark])))
    cloud.proxy.reset()
    for operation in (
        lambda: created(cloud.node(1)),
        lambda: read(outs),
        lambda: PROVIDER.delete(outs["instanceUuid"], outs),
    ):
        assert "belongs to somebody/else" in refused(Code.FOREIGN, operation)
    assert cloud.proxy.changing == {}
    assert cloud.owned() == ["somebody/else"]


def test_a_full_datastore_is_told_before_the_clone(cloud: Vcenter) -> None:
    text = refused(Code.DATASTORE_FULL, lambda: created(cloud.node(1, diskGib=5000)))
    assert "datastore LocalDS_0 has" in text
    assert "gpu-1 needs 5500 GiB" in text
    assert cloud.proxy.changing == {}


def test_an_unfit_template_gives_all_reasons(other: Made) -> None:
    cloud = other(hosts=1, template=SimulatedTemplate(firmware="bios", hardware="vmx-15"))
    text = refused(Code.TEMPLATE, lambda: created(cloud.node(1)))
    assert "its firmware is bios: GPUs need EFI" in text
    assert "its hardware version is 15: dynamic passthrough needs 17" in text
    fixed = refused(Code.TEMPLATE, lambda: created(cloud.node(1, FIXED)))
    assert "hardware version" not in fixed
    assert cloud.proxy.changing == {}


def test_an_api_that_would_drop_the_gpu_is_refused(other: Made) -> None:
    cloud = other(hosts=1, api_version="6.7.3")
    text = refused(Code.UNSUPPORTED, lambda: created(cloud.node(1)))
    assert "dynamic passthrough needs vSphere API 7.0, and 127.0.0.1 speaks 6.7.3" in text
    assert cloud.proxy.changing == {}


def test_two_creates_for_one_gpu(other: Made) -> None:
    """Both see it free; one gets it, and the other is told who has it."""
    cloud = other(hosts=1, gpus=1)
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(created, cloud.node(ordinal)) for ordinal in range(2)]
    failures = [future.exception() for future in futures if future.exception() is not None]
    (failure,) = failures
    assert isinstance(failure, VsphereError)
    assert failure.code is Code.GPU_CAPACITY
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
    text = refused(Code.GPU_CAPACITY, lambda: created(cloud.node(1)))
    assert "no host has the GPUs free" in text
    assert cloud.proxy.changing["CloneVM_Task"] == 3, "each host once"
    assert cloud.owned() == []


def test_a_suspended_machine_is_reported_and_left(cloud: Vcenter) -> None:
    node = cloud.node(1)
    outs = created(node)
    with cloud.machine("gpu-1") as machine:
        finished(machine.SuspendVM_Task())
    seen = read(outs)
    assert seen["drifted"] == {"powerState": "suspended"}
    assert seen["warnings"] == ["the machine is suspended, which nobody declared"]
    cloud.proxy.reset()
    text = refused(Code.HOST_STATE, lambda: PROVIDER.update(outs["instanceUuid"], seen, node))
    assert "gpu-1 is suspended" in text
    assert cloud.proxy.changing == {}


def test_cleared_user_data_is_no_drift(cloud: Vcenter) -> None:
    node = cloud.node(1, VGPU)
    outs = created(node)
    with cloud.machine("gpu-1") as machine:
        empty = [vim.option.OptionValue(key=key, value="") for key in USER_DATA_KEYS]
        finished(machine.ReconfigVM_Task(vim.vm.ConfigSpec(extraConfig=empty)))
    seen = read(outs)
    assert seen["drifted"] == {}
    assert PROVIDER.diff(outs["instanceUuid"], seen, node).changes is False


def test_somebody_who_keeps_changing_the_machine(cloud: Vcenter) -> None:
    node = cloud.node(1)
    outs = created(node)
    cloud.proxy.reset([Rule(Action.FAULT, "ReconfigVM_Task", nth=0, fault="ConcurrentAccess")])
    changed = cloud.node(1, updatePolicy="restart", cpus=16)
    text = refused(Code.CONFLICT, lambda: PROVIDER.update(outs["instanceUuid"], outs, changed))
    assert "still differs after 4 reconfigurations" in text
    assert cloud.proxy.calls["ReconfigVM_Task"] == 3, "one attempt switched it off"


def test_a_change_that_needs_power_off(cloud: Vcenter) -> None:
    outs = created(cloud.node(1))
    changed = cloud.node(1, cpus=16)
    text = refused(
        Code.NEEDS_POWER_OFF, lambda: PROVIDER.update(outs["instanceUuid"], outs, changed)
    )
    assert "gpu-1 is poweredOn, and it must be off to change cpus" in text


@pytest.mark.chaos  # building so many takes the simulator most of a minute
def test_an_inventory_of_two_thousand_machines(other: Made) -> None:
    cloud = other(hosts=8, gpus=4, machines=2000)
    endpoint = Endpoint.model_validate(
        {"server": "127.0.0.1", "port": cloud.running.port, "plainHttp": True}
    )
    session = session_for(endpoint, Credentials(USER, PASSWORD))
    datacenter = by_name(session, session.content.rootFolder, vim.Datacenter, "DC0", "datacenter")
    compute = by_name(session, datacenter, vim.ComputeResource, "DC0_C0", "cluster")
    me = psutil.Process()
    before, started = me.memory_info().rss, time.process_time()
    found = read_inventory(session, datacenter, compute)
    seconds, grown = time.process_time() - started, me.memory_info().rss - before
    assert len(found.hosts) == 8
    assert sum(len(host.gpus) for host in found.hosts) == 32
    assert grown < 150 << 20, f"{grown >> 20} MiB"
    assert seconds < 10, f"{seconds:.1f} s of this process's time"
