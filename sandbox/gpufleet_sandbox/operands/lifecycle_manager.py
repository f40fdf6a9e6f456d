"""Operator Lifecycle Manager: it reports the installed version of every Subscription.

As upstream (operator-framework/operator-lifecycle-manager, read 2026-11-22): a namespace needs
exactly one OperatorGroup, else nothing in it is installed; with manual approval the version waits
for an administrator. Nothing is really installed: the sandbox has its own kinds and operands.
"""

import threading
from collections import Counter
from collections.abc import Mapping
from typing import Any

from gpufleet_sandbox.operands.api import Api, ApiError
from gpufleet_sandbox.operands.informer import Informer, Key
from gpufleet_sandbox.operands.journal import log
from gpufleet_sandbox.operands.settling import Settling

SUBSCRIPTIONS = "/apis/operators.coreos.com/v1alpha1/subscriptions"
GROUPS = "/apis/operators.coreos.com/v1/operatorgroups"
NAME = "lifecycle-manager"


class LifecycleOperand:
    """The manager of one cluster. Acts on every change of a Subscription or OperatorGroup."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._lock = threading.Lock()
        self._settling = Settling(NAME, self.settle)
        self._subscriptions = Informer(api, SUBSCRIPTIONS, self._changed)
        self._groups = Informer(api, GROUPS, self._changed)
        self.informers = (self._subscriptions, self._groups)

    def settle(self) -> None:
        """Write the status that every Subscription deserves now."""
        with self._lock:
            groups = Counter(namespace for namespace, _ in self._groups.objects())
            for (namespace, name), item in self._subscriptions.objects().items():
                wanted = status(item.get("spec") or {}, groups[namespace])
                if wanted is None or (item.get("status") or {}) == wanted:
                    continue
                self._write(namespace, name, wanted)

    def _write(self, namespace: str, name: str, wanted: dict[str, Any]) -> None:
        path = SUBSCRIPTIONS.replace("/subscriptions", f"/namespaces/{namespace}/subscriptions")
        try:
            answer = self._api.merge_patch(f"{path}/{name}/status", {"status": wanted})
        except ApiError as problem:
            if problem.status != 404:  # removed since
                raise
        else:
            self._subscriptions.put(answer)
            log(NAME, f"{namespace}/{name}: {wanted['state']}")

    def _changed(self, _: Key) -> None:
        self._settling.changed()


def status(spec: Mapping[str, Any], groups: int) -> dict[str, Any] | None:
    """The status of a Subscription in a namespace with this number of OperatorGroups; None while
    the namespace does not have exactly one."""
    if groups != 1:
        return None
    version = spec.get("startingCSV") or f"{spec['name']}.{spec.get('channel', 'stable')}"
    if spec.get("installPlanApproval") == "Manual":
        return {"state": "UpgradePending", "currentCSV": version}
    return {"state": "AtLatestKnown", "currentCSV": version, "installedCSV": version}
