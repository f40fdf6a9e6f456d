"""The stack vsphere-lab as it is in the repository, on vcsim over TLS and the sandbox's cluster."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from kubernetes import client
from pyVim.connect import Disconnect, SmartConnect
from pyVmomi import vim, vmodl

from gpufleet_sandbox.sandbox import Sandbox
from gpufleet_vcenter.guest_data import USER_DATA_KEYS
from gpufleet_vcenter.identity import OWNER
from tests.engine.conftest import require
from tests.engine.sandbox_stack import Stack, stack_files
from tests.engine.vcenter_fixture import PASSWORD, SECRET, USER
from tests.vcenter.simulator import (
    RunningVcenter,
    SimulatedGpu,
    SimulatedHost,
    SimulatedTemplate,
    SimulatedVcenter,
    vcenter,
)

MACHINES = ("lab-chat-0", "lab-chat-1", "lab-notebooks-0")
L4 = SimulatedGpu("0000:3b:00.0", "27b8", "NVIDIA L4", 24_576)
LAB = SimulatedVcenter(
    hosts=3,
    gpu_hosts={
        "DC0_C0_H0": SimulatedHost((L4,)),
        "DC0_C0_H1": SimulatedHost((SimulatedGpu("0000:3b:00.0"),)),
        "DC0_C0_H2": SimulatedHost((L4,)),
    },
    template=SimulatedTemplate("ubuntu-24-gpu"),
    user=USER,
    password=PASSWORD,
    tls=True,
)
POLL_SECONDS = 0.2


@pytest.fixture(scope="module")
def running() -> Iterator[RunningVcenter]:
    with vcenter(require(("vcsim",))["vcsim"], LAB) as found:
        yield found


def ours(running: RunningVcenter) -> dict[str, dict[str, Any]]:
    """Our running machines, by name: host, BIOS uuid and extra configuration."""
    service = SmartConnect(
        host=running.host,
        port=running.port,
        user=USER,
        pwd=PASSWORD,
        disableSslCertValidation=True,
    )
    try:
        content: Any = service.RetrieveContent()
        view = content.viewManager.CreateContainerView(
            content.rootFolder, [vim.VirtualMachine], True
        )
        collector: Any = vmodl.query.PropertyCollector
        paths = ["name", "config.uuid", "config.extraConfig", "runtime.powerState", "runtime.host"]
        asked = collector.FilterSpec(
            objectSet=[collector.ObjectSpec(obj=item) for item in view.view],
            propSet=[collector.PropertySpec(type=vim.VirtualMachine, pathSet=paths)],
        )
        rows: list[dict[str, Any]] = [
            {entry.name: entry.val for entry in item.propSet}
            for item in content.propertyCollector.RetrieveContents([asked])
        ]
        return {
            row["name"]: {
                "host": row["runtime.host"].name,
                "uuid": row["config.uuid"],
                **{entry.key: entry.value for entry in row["config.extraConfig"]},
            }
            for row in rows
            if row.get("runtime.powerState") == "poweredOn"
            and any(entry.key == OWNER for entry in row.get("config.extraConfig") or ())
        }
    finally:
        Disconnect(service)


@contextmanager
def guests(running: RunningVcenter, core: client.CoreV1Api) -> Iterator[None]:
    """Function that the simulator lacks: each running machine becomes a Ready node of its name."""
    over, failures = threading.Event(), list[Exception]()

    def live() -> None:
        joined: set[str] = set()
        while not over.wait(POLL_SECONDS):
            for name, machine in ours(running).items():
                if machine["uuid"] not in joined:
                    joined.add(machine["uuid"])
                    _join(core, name, machine["uuid"])

    def boot() -> None:
        try:
            live()
        except Exception as failure:  # noqa: BLE001 - raised where the test sees it
            failures.append(failure)

    thread = threading.Thread(target=boot)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    assert failures == []


def _join(core: Any, name: str, system_uuid: str) -> None:
    core.create_node({"metadata": {"name": name}})
    names = ("machineID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion")
    more = ("kubeletVersion", "kubeProxyVersion", "operatingSystem", "architecture")
    about = {**dict.fromkeys((*names, *more), ""), "systemUUID": system_uuid}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}
    core.patch_node_status(name, {"status": {"conditions": [ready], "nodeInfo": about}})


@pytest.fixture
def lab(running: RunningVcenter, cluster_project: Callable[..., Any], sandbox: Sandbox) -> Stack:
    """A copy of vsphere-lab whose vCenter is the simulator, and whose cluster is the sandbox."""
    project = cluster_project(stack_files(), name="gpufleet")
    project.engine.env.update({"VSPHERE_USER": USER, "VSPHERE_PASSWORD": PASSWORD})
    stack = Stack(project, "Pulumi.vsphere-lab.yaml")
    kubeconfig = str(sandbox.kubeconfig)
    pem = ssl.get_server_certificate((running.host, running.port))
    digest = x509.load_pem_x509_certificate(pem.encode()).fingerprint(hashes.SHA256())
    stack.config["gpufleet:connection"]["kubeconfig"] = kubeconfig
    stack.config["gpufleet:connection"]["vsphere"] |= {
        "server": running.host,
        "port": running.port,
        "thumbprintSha256": digest.hex(":").upper(),
        "datacenter": "DC0",
        "computeCluster": "DC0_C0",
        "network": "VM Network",
        "kubernetes": {"kubeconfig": kubeconfig},
    }
    # Its chart is in NVIDIA's own repository, which no test accesses.
    stack.fleet["addons"]["gpuOperator"] = {"ownership": "existing"}
    stack.pool("notebooks")["vsphere"]["hosts"] = ["DC0_C0_H1"]
    return stack


def keep_secret(stack: Stack, name: str, value: str) -> None:
    """`pulumi config set --secret`, into the copy that is saved before each update."""
    stack.save()
    setting = ["config", "set", "--secret", name, value, "-s", stack.project.stack]
    stack.project.engine.call(setting).checked()
    stack.config[name] = yaml.safe_load(stack.file.read_text())["config"][name]


def test_secrets_that_are_plain_are_refused_before_anything(lab: Stack) -> None:
    lab.config["gpufleet:joinToken"] = SECRET
    lab.save()
    text = lab.project.run("preview", check=False).output
    assert "gpufleet:joinToken is a plain setting, and the state would show it" in text
    del lab.config["gpufleet:joinToken"]
    keep_secret(lab, "gpufleet:joinToken", SECRET)
    lab.config["vsphere:password"] = PASSWORD
    lab.save()
    text = lab.project.run("preview", check=False).output
    assert "vsphere-password-not-secret" in text
    assert PASSWORD not in text


def test_the_lab_from_nothing_to_nothing(
    lab: Stack, running: RunningVcenter, core: client.CoreV1Api
) -> None:
    keep_secret(lab, "gpufleet:joinToken", SECRET)
    with guests(running, core):
        lab.up()
        made = ours(running)
        assert tuple(sorted(made)) == MACHINES
        assert made["lab-notebooks-0"]["host"] == "DC0_C0_H1"
        for machine in made.values():
            assert not any(machine.get(key) for key in USER_DATA_KEYS), "cleared once it is a node"
        lab.project.run("preview", "--expect-no-changes")
        state = json.dumps(lab.project.engine.state(lab.project.stack))
        assert SECRET not in state
        assert PASSWORD not in state

        lab.pool("chat")["vsphere"]["extraDisks"] = [{"name": "models", "sizeGib": 100}]
        lab.up()
        assert ours(running).keys() == made.keys()
        assert {name for name, one in ours(running).items() if "gpufleet.disk.models" in one} == {
            "lab-chat-0",
            "lab-chat-1",
        }
    lab.project.run("destroy")
    assert ours(running) == {}
    nodes: list[Any] = core.list_node().items
    assert not {node.metadata.name for node in nodes} & set(MACHINES)
