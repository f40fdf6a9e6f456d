"""Credentials and sessions: lost, wrong, missing, rotated; and a server that is not there."""

import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from gpufleet_vcenter.errors import VsphereError
from gpufleet_vcenter.session import close_all
from tests.engine.vcenter_fixture import PASSWORD, SECRET, Vcenter
from tests.engine.vsphere.direct import PROVIDER, UNCLOSED, created, read, refused
from tests.vcenter.fault_proxy import Action, Rule

pytestmark = UNCLOSED


def end_sessions(cloud: Vcenter) -> None:
    """Effect of an administrator, or a time-out."""
    with cloud.service() as service:
        sessions = service.RetrieveContent().sessionManager
        own = sessions.currentSession.key
        for session in sessions.sessionList:
            if session.key != own:
                sessions.TerminateSession([session.key])


@pytest.mark.parametrize("method", ["CloneVM_Task", "RetrievePropertiesEx"])
def test_a_session_that_ends_is_renewed(cloud: Vcenter, method: str) -> None:
    """A change returns NotAuthenticated; a read returns every property as missing."""
    cloud.proxy.reset([Rule(Action.BEFORE, method, nth=1, do=lambda: end_sessions(cloud))])
    outs = created(cloud.node(1))
    assert outs["powerState"] == "poweredOn"
    assert cloud.proxy.calls["Login"] == 2
    assert len(cloud.owned()) == 1
    end_sessions(cloud)
    assert read(outs)["drifted"] == {}


def test_a_session_that_ends_at_once_again_is_told(cloud: Vcenter) -> None:
    cloud.proxy.reset([Rule(Action.FAULT, "CloneVM_Task", nth=0, fault="NotAuthenticated")])
    text = refused("vsphere-session", lambda: created(cloud.node(1)))
    assert "ended the session twice in a row" in text
    assert "compare the clocks" in text
    assert cloud.owned() == []


def test_a_wrong_password_is_tried_once(cloud: Vcenter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VSPHERE_PASSWORD", "wrong-" + SECRET)
    text = refused("vsphere-authentication", lambda: created(cloud.node(1)))
    assert "127.0.0.1 refuses the user name or the password" in text
    assert "VSPHERE_USER and VSPHERE_PASSWORD" in text
    assert cloud.proxy.calls["Login"] == 1, "more would lock the account"


def test_refused_credentials_are_remembered_by_all_threads(
    cloud: Vcenter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """vCenter locks an account after 5 failed logins (vSphere 8.0 Authentication)."""
    outs = created(cloud.node(1))
    close_all()
    monkeypatch.setenv("VSPHERE_PASSWORD", "wrong-" + SECRET)
    cloud.proxy.reset()
    with ThreadPoolExecutor(12) as pool:
        asked = [
            pool.submit(refused, "vsphere-authentication", lambda: read(outs)) for _ in range(12)
        ]
    assert len({one.result() for one in asked}) == 1
    refused("vsphere-authentication", lambda: created(cloud.node(2)))
    assert cloud.proxy.calls["Login"] == 1


def test_a_password_that_changes_in_mid_update_costs_one_refused_login(cloud: Vcenter) -> None:
    """Sixteen machines at once: their session ends, and the password is another one."""

    def changed(body: bytes) -> bytes:
        return body.replace(PASSWORD.encode(), b"the former one")

    cloud.proxy.reset(
        [
            Rule(Action.REWRITE, "Login", nth=2, rewrite=changed),
            *(Rule(Action.REWRITE, "Login", nth=nth, rewrite=changed) for nth in range(3, 20)),
            Rule(Action.BEFORE, "CloneVM_Task", nth=3, do=lambda: end_sessions(cloud)),
        ]
    )
    with ThreadPoolExecutor(6) as pool:
        made = [pool.submit(refused_or_made, cloud, ordinal) for ordinal in range(6)]
    codes = {one.result() for one in made}
    assert "vsphere-authentication" in codes
    assert cloud.proxy.calls["Login"] == 2, "the first, and the one that was refused"


def refused_or_made(cloud: Vcenter, ordinal: int) -> str:
    try:
        created(cloud.node(ordinal))
    except VsphereError as failure:
        return failure.code
    return "made"


def test_no_password_names_both_places(cloud: Vcenter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VSPHERE_PASSWORD")
    text = refused("vsphere-authentication", lambda: created(cloud.node(1)))
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
    refused("vsphere-authentication", lambda: read(outs))
    monkeypatch.setenv("VSPHERE_PASSWORD", fresh)
    assert read(outs) == outs
    PROVIDER.delete(outs["instanceUuid"], outs)
    assert cloud.owned() == []


def test_nobody_answers(cloud: Vcenter) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        node = cloud.node(1)
        node["endpoint"]["port"] = unused.getsockname()[1]
        text = refused("vsphere-connection", lambda: created(node))
    assert f"127.0.0.1:{node['endpoint']['port']} cannot be reached" in text
