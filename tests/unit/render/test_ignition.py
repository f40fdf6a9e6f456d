"""First-boot data of Red Hat CoreOS: valid for Ignition 3.4.0, without other downloads."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpufleet.fleet.model import GPU_TAINT
from gpufleet.platforms.vsphere.node_join import (
    Join,
    JoinMethod,
    data_url,
    ignition,
    ignition_file,
    join_ignition,
    join_user_data,
)

LABELS = {"gpufleet.dev/pool": "chat", "nvidia.com/mig.config": "chat-0a1b"}
KUBEADM = Join(JoinMethod.KUBEADM, "10.0.0.1:6443", "abcdef.0123", ("sha256:" + "0" * 64,))
RKE2 = Join(JoinMethod.RKE2, "https://10.0.0.1:9345", "token-1")
SERVER = "https://api-int.lab.example.com:22623/config/worker"
OPENSHIFT = Join(JoinMethod.OPENSHIFT, SERVER, authority="-----BEGIN CERTIFICATE-----\nMII\n")


def content(source: str) -> str:
    head, _, data = source.partition(",")
    assert head == "data:text/plain;charset=utf-8;base64"
    return base64.b64decode(data, validate=True).decode()


def files(document: dict[str, Any]) -> dict[str, str]:
    return {f["path"]: content(f["contents"]["source"]) for f in document["storage"]["files"]}


def unit(document: dict[str, Any]) -> tuple[str, str]:
    (found,) = document["systemd"]["units"]
    assert found["enabled"] is True
    return found["name"], found["contents"]


@given(st.text())
def test_any_text_survives_its_address(text: str) -> None:
    assert content(data_url(text)) == text


def test_the_empty_configuration_is_only_a_version() -> None:
    assert json.loads(ignition()) == {"ignition": {"version": "3.4.0"}}


def test_files_are_private_unless_said() -> None:
    made = json.loads(
        ignition([ignition_file("/a", "x"), ignition_file("/b", "y", 0o644)], {"u": "c"})
    )
    assert [(f["path"], f["mode"], f["overwrite"]) for f in made["storage"]["files"]] == [
        ("/a", 384, True),
        ("/b", 420, True),
    ]


def test_kubeadm_joins_once_and_says_so() -> None:
    made = json.loads(join_ignition(KUBEADM, LABELS, [GPU_TAINT], "gpu-chat-0"))
    written = files(made)
    assert written["/etc/hostname"] == "gpu-chat-0\n"
    configuration = written["/etc/kubernetes/gpufleet-join.yaml"]
    assert "gpufleet.dev/pool=chat,nvidia.com/mig.config=chat-0a1b" in configuration
    assert "nvidia.com/gpu" in configuration
    name, text = unit(made)
    assert name == "gpufleet-join.service"
    assert "ConditionPathExists=!/var/lib/gpufleet-joined" in text
    assert "kubeadm join --config /etc/kubernetes/gpufleet-join.yaml && touch" in text
    assert "Restart=on-failure" in text
    assert "guestinfo.gpufleet.join done" in text
    (secret,) = [f for f in made["storage"]["files"] if f["path"].endswith("join.yaml")]
    assert secret["mode"] == 0o600


def test_rke2_writes_the_same_configuration_as_cloud_init() -> None:
    made = files(json.loads(join_ignition(RKE2, LABELS, [GPU_TAINT], "n")))
    cloud = join_user_data(RKE2, LABELS, [GPU_TAINT], "n")
    for line in made["/etc/rancher/rke2/config.yaml"].splitlines():
        assert line.strip() in cloud


def test_openshift_asks_the_machine_config_server() -> None:
    made = json.loads(join_ignition(OPENSHIFT, LABELS, [], "gpu-chat-0"))
    assert made["ignition"]["config"] == {"merge": [{"source": SERVER}]}
    (authority,) = made["ignition"]["security"]["tls"]["certificateAuthorities"]
    assert content(authority["source"]) == OPENSHIFT.authority
    environment = files(made)["/etc/kubernetes/kubelet-env"]
    assert environment == (
        "CUSTOM_KUBELET_LABELS=gpufleet.dev/pool=chat,nvidia.com/mig.config=chat-0a1b\n"
    )
    assert unit(made)[0] == "gpufleet-joined.service"


@pytest.mark.parametrize(
    ("join", "taints", "text"),
    [
        (Join(JoinMethod.OPENSHIFT, SERVER), [], "OpenShift needs caCertificate"),
        (OPENSHIFT, [GPU_TAINT], "cannot taint a node of OpenShift \\(nvidia.com/gpu\\)"),
        (Join(JoinMethod.KUBEADM, "h:6443", "t"), [], "kubeadm needs caCertHashes"),
    ],
)
def test_what_cannot_join_is_refused(join: Join, taints: list[Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        join_ignition(join, LABELS, taints, "n")


def test_coreos_reads_no_cloud_config() -> None:
    with pytest.raises(ValueError, match="reads Ignition"):
        join_user_data(OPENSHIFT, LABELS, [], "n")


def test_the_same_arguments_give_the_same_bytes_and_no_secret_is_printed() -> None:
    first = join_ignition(RKE2, LABELS, [GPU_TAINT], "n")
    assert join_ignition(RKE2, dict(reversed(LABELS.items())), [GPU_TAINT], "n") == first
    assert "token-1" not in repr(RKE2)
