"""One vCenter for all tests here that one process runs; a test that changes how it is made has its
own."""

import gc
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from gpufleet_vcenter.session import close_all
from tests.engine.vcenter_fixture import PASSWORD, USER, Vcenter, inventory, simulated
from tests.engine.vsphere.direct import Made


@pytest.fixture(scope="session")
def shared() -> Iterator[Vcenter]:
    with simulated(inventory(hosts=3, gpus=4, machines=2)) as found:
        yield found


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The credentials, and no state of this process that outlives its test: no session, and no
    group of another update."""
    monkeypatch.setenv("VSPHERE_USER", USER)
    monkeypatch.setenv("VSPHERE_PASSWORD", PASSWORD)
    monkeypatch.setattr("gpufleet_vcenter.session.PATIENCE_SECONDS", 6.0)
    monkeypatch.setattr("gpufleet_vcenter.group_provider._MADE", set[str]())
    yield
    close_all()
    gc.collect()  # while the connection of a refused login is still passed over


@pytest.fixture
def cloud(shared: Vcenter) -> Iterator[Vcenter]:
    """The shared vCenter, without what a failed test before may have left."""
    shared.proxy.reset()
    shared.said.clear()
    yield shared
    shared.proxy.reset()
    shared.remove_owned()


@pytest.fixture
def other() -> Iterator[Made]:
    """Another vCenter for one test."""
    with ExitStack() as stack:
        yield lambda **more: stack.enter_context(simulated(inventory(**more)))
