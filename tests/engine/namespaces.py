"""Namespaces as tests use them: made when the last one of that name is gone, and ready for pods."""

from kubernetes import client

from tests.engine.waiting import until


def make_namespace(core: client.CoreV1Api, name: str) -> None:
    """Make a namespace in which pods may be made at once.

    One of that name that an earlier test removed takes seconds to go, and pods are refused until
    the namespace has its default account.
    """
    await_gone(core, name)
    core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=name)))
    await_account(core, name)


def await_account(core: client.CoreV1Api, name: str) -> None:
    """Wait until pods are accepted in a namespace that another program created."""
    default = "metadata.name=default"
    until(
        lambda: core.list_namespaced_service_account(name, field_selector=default).items,
        f"the default account of the namespace {name}",
    )


def await_gone(core: client.CoreV1Api, *names: str) -> None:
    """Wait until namespaces that were removed are gone."""
    until(
        lambda: not any(_there(core, name) for name in names),
        lambda: f"still there: {[name for name in names if _there(core, name)]}",
    )


def remove_namespaces(core: client.CoreV1Api, *names: str) -> None:
    """Remove namespaces that the teams of an earlier test kept, and wait until they are gone."""
    for name in names:
        if _there(core, name):
            core.delete_namespace(name)
    await_gone(core, *names)


def _there(core: client.CoreV1Api, name: str) -> bool:
    return bool(core.list_namespace(field_selector=f"metadata.name={name}").items)
