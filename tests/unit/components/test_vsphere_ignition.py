"""First-boot data for Red Hat CoreOS in `VsphereGpuNodeGroup`: its form, and what is refused."""

import json
from typing import Any

from tests.unit.components.test_vsphere_group import arguments, nodes, refused

RKE2 = {"method": "rke2", "endpoint": "https://10.0.0.1:9345", "token": "t"}
OPENSHIFT = {
    "method": "openshift",
    "endpoint": "https://api-int.lab.example.com:22623/config/worker",
    "ca_certificate": "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n",
}
UNTAINTED = {"gpu_taint": False}


def written(value: Any) -> Any:
    """First-boot data, which is a secret, as the document it is."""
    return json.loads(value["value"] if isinstance(value, dict) else value)


def test_a_join_as_ignition(run: Any) -> None:
    first = nodes(run, arguments(join=RKE2, user_data_format="ignition"))[0].inputs
    assert first["userDataFormat"] == "ignition"
    document = written(first["userData"])
    assert document["ignition"]["version"] == "3.4.0"
    assert document["storage"]["files"]


def test_cloud_init_is_the_default(run: Any) -> None:
    first = nodes(run, arguments(join=RKE2))[0].inputs
    assert "userDataFormat" not in first
    assert "#cloud-config" in str(first["userData"])


def test_the_machine_config_server_of_openshift(run: Any) -> None:
    given = arguments(UNTAINTED, join=OPENSHIFT, user_data_format="ignition")
    document = written(nodes(run, given)[0].inputs["userData"])
    assert document["ignition"]["config"]["merge"] == [{"source": OPENSHIFT["endpoint"]}]
    assert document["ignition"]["security"]["tls"]["certificateAuthorities"]


def test_all_that_is_wrong_with_a_join_is_said_at_once(run: Any) -> None:
    wrong = {"method": "openshift", "endpoint": OPENSHIFT["endpoint"]}
    text = refused(run, arguments(join=wrong))
    assert "vsphere-join-needs-ignition" in text
    assert "vsphere-join-without-authority" in text
    assert "vsphere-join-openshift-taints" in text


def test_unknown_formats_are_refused(run: Any) -> None:
    text = refused(run, arguments(user_data="{}", user_data_format="butane"))
    assert "vsphere-user-data-format-unknown" in text
