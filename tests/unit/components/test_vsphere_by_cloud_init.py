"""First-boot data as cloud-init itself reads it: its data source for VMware, the schema of its user
data, and its renderers of networks.

cloud-init is not a package of the registry. `CLOUD_INIT` names folders that hold it and what it
imports, `apt-get download cloud-init` and `dpkg -x` with configobj, jinja2, netifaces, pyserial and
requests: `CLOUD_INIT=root/usr/lib/python3/dist-packages:deps`.
"""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from gpufleet.platforms.vsphere.node_join import Join, JoinMethod, join_user_data
from gpufleet_vcenter.guest_data import StaticAddress, guest_keys, network_kargs
from gpufleet_vcenter.settings import NodeSettings
from tests.vcenter.test_outputs import NODE

WHERE = os.environ.get("CLOUD_INIT", "")
needs_cloud_init = pytest.mark.skipif(not WHERE, reason="CLOUD_INIT does not name a cloud-init")
MACS = ("00:50:56:00:00:0A", "00:50:56:00:00:0B")
STATIC = StaticAddress.model_validate(
    {
        "adapter": 1,
        "address": "10.0.0.10/24",
        "gateway": "10.0.0.1",
        "nameservers": ["10.0.0.2"],
        "searchDomains": ["lab.example"],
    }
)


def declared(user_data: str | None, form: str = "cloudInit") -> NodeSettings:
    texts = {"userData": user_data, "userDataFormat": form}
    return NodeSettings.model_validate({**NODE, **texts, "addresses": [STATIC]})


READER = """
import json, os, sys, tempfile
from cloudinit import safeyaml
from cloudinit.config.schema import get_schema, validate_cloudconfig_schema
from cloudinit.net.netplan import Renderer as Netplan
from cloudinit.net.network_manager import Renderer as NetworkManager
from cloudinit.net.network_state import parse_net_config_data
from cloudinit.sources import DataSourceVMware as vmware

given = json.load(sys.stdin)
for key, value in given.items():
    os.environ[vmware.get_guestinfo_envvar_key_name(key.removeprefix("guestinfo."))] = value
read = {}
for name in ("metadata", "userdata"):
    read[name] = vmware.guestinfo_envvar(name)
metadata = vmware.process_metadata(vmware.load_json_or_yaml(read["metadata"]))
config = safeyaml.load(read["userdata"])
validate_cloudconfig_schema(config, get_schema(), strict=True)
files = {}
if "network" in metadata:
    state = parse_net_config_data(metadata["network"]["config"])
    for renderer in (Netplan({"netplan_path": "netplan.yaml"}), NetworkManager()):
        with tempfile.TemporaryDirectory() as folder:
            renderer.render_network_state(state, target=folder)
            for parent, _, names in os.walk(folder):
                for name in names:
                    with open(os.path.join(parent, name)) as file:
                        files[name] = file.read()
json.dump({"metadata": metadata, "userdata": config, "files": files}, sys.stdout)
"""


def by_cloud_init(keys: dict[str, str]) -> dict[str, Any]:
    paths = os.pathsep.join((*sys.path, *WHERE.split(os.pathsep)))
    done = subprocess.run(
        [sys.executable, "-c", READER],
        input=json.dumps(keys),
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


JOINS = [
    Join(JoinMethod.RKE2, "https://h:9345", "token", kubelet_arguments={"v": "2"}),
    Join(JoinMethod.KUBEADM, "h:6443", "token", ("sha256:" + "0" * 64,)),
]


@needs_cloud_init
@pytest.mark.parametrize("join", JOINS, ids=lambda join: join.method.value)
def test_it_reads_what_is_written(join: Join) -> None:
    user_data = join_user_data(join, {"a": "b"}, [], "gpu-0")
    keys = guest_keys("uuid", declared(user_data), MACS)
    found = by_cloud_init(dict(keys))
    assert found["metadata"]["local-hostname"] == "gpu-0"
    assert [file["permissions"] for file in found["userdata"]["write_files"]] == ["0600"]


@needs_cloud_init
def test_netplan_and_network_manager_get_the_addresses() -> None:
    keys = guest_keys("uuid", declared("#cloud-config\n{}\n"), MACS)
    files = by_cloud_init(dict(keys))["files"]
    netplan = files["netplan.yaml"]
    for expected in (
        "- 10.0.0.10/24",
        "via: 10.0.0.1",
        "macaddress: 00:50:56:00:00:0b",
        "- lab.example",
    ):
        assert expected in netplan, netplan
    (static,) = (text for name, text in files.items() if "adapter1" in name)
    for expected in (
        "address1=10.0.0.10/24",
        "mac-address=00:50:56:00:00:0B",
        "dns=10.0.0.2;",
        "method=manual",
    ):
        assert expected.lower() in static.lower(), static
    assert "10.0.0.1" in static.split("route1=", 1)[1].splitlines()[0]


def test_arguments_of_coreos_are_those_of_the_machine_api() -> None:
    """Rows of openshift/machine-api-operator, pkg/controller/vsphere/reconciler_test.go."""
    assert (
        network_kargs([STATIC]) == "ip=10.0.0.10::10.0.0.1:255.255.255.0:::none nameserver=10.0.0.2"
    )
    keys = guest_keys("uuid", declared(None, "ignition"))
    assert list(keys) == ["guestinfo.afterburn.initrd.network-kargs"]
