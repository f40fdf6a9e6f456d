# pyright: standard
"""Reading properties and events: leaf paths only, many objects in one call, no silent gaps.

Whole trees (`vm.runtime`, `vm.summary`) are never read: they contain values that pyVmomi refuses,
and many values that are not used.
"""

import contextlib
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyVmomi import vim, vmodl

from gpufleet_vcenter.errors import failed
from gpufleet_vcenter.session import Session

_PAGE = 500
"""Objects per answer: limits the memory for a large inventory."""

_collector = vmodl.query.PropertyCollector


def properties(
    session: Session, objects: Sequence[Any], kind: type, paths: Sequence[str], *, gone: bool = True
) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """The properties at `paths` of each object that still exists. Unset ones are absent. An object
    that does not exist is a fault if `gone` is false.

    Raises:
        VsphereError: a property may not be read; the text names the privilege.
    """
    if not objects:
        return
    wanted = _collector.FilterSpec(
        objectSet=[_collector.ObjectSpec(obj=item) for item in objects],
        propSet=[_collector.PropertySpec(type=kind, pathSet=list(paths))],
        reportMissingObjectsInResults=gone,
    )
    collector = session.content.propertyCollector
    options = _collector.RetrieveOptions(maxObjects=_PAGE)
    answer = session.call(lambda: checked(collector.RetrievePropertiesEx([wanted], options)))
    while answer is not None:
        for item in answer.objects:
            yield item.obj, {entry.name: entry.val for entry in item.propSet}
        token = answer.token
        more = functools.partial(collector.ContinueRetrievePropertiesEx, token)
        answer = session.call(lambda ask=more: checked(ask())) if token else None


def one(session: Session, item: Any, kind: type, paths: Sequence[str]) -> Mapping[str, Any] | None:
    """The properties of one object; None: it no longer exists."""
    try:
        for _, found in properties(session, [item], kind, paths):
            return found
    except vmodl.fault.ManagedObjectNotFound:
        return None
    return None


def children(
    session: Session, root: Any, kind: type, paths: Sequence[str]
) -> list[tuple[Any, Mapping[str, Any]]]:
    """Every object of a kind under `root`, with its properties."""
    views = session.content.viewManager
    left = 2
    while True:
        view = session.call(lambda: views.CreateContainerView(root, [kind], True))
        try:
            # In a call of its own: an ended session answers a traversal of the view with no object.
            found = properties(session, [view], type(view), ("view",), gone=False)
            objects = [item for _, known in found for item in known.get("view", ())]
            return list(properties(session, objects, kind, paths))
        except (vmodl.fault.ManagedObjectNotFound, vmodl.fault.InvalidArgument):
            if not left:
                raise
            left -= 1  # the view, or the page of it, went with the session that was lost
        finally:
            with contextlib.suppress(vmodl.fault.ManagedObjectNotFound):
                session.call(view.Destroy)


def checked(answer: Any) -> Any:
    """The answer, unless something in it could not be read.

    Raises:
        VsphereError: a property may not be read.
        vim.fault.NotAuthenticated: the session is lost, which reads report for each property.
    """
    if answer is None:
        return None
    for item in answer.objects:
        for missing in item.missingSet:
            fault = missing.fault
            if isinstance(fault, vim.fault.NotAuthenticated):
                raise fault  # the second shape of a lost session
            if isinstance(fault, vmodl.fault.ManagedObjectNotFound):
                continue
            if isinstance(fault, vmodl.fault.SecurityError):  # NoPermission is one
                raise failed(
                    "permission/property",
                    missing=missing,
                    item=item,
                    privilege=getattr(fault, "privilegeId", "System.Read"),
                    fault=type(fault).__name__,
                )
            raise fault
    return answer


def events(session: Session, entity: Any, kinds: Sequence[str] = ()) -> list[Any]:
    """The latest events of an object that vCenter keeps, of these types. Default: of all."""
    recursion = vim.event.EventFilterSpec.RecursionOption.self
    of = vim.event.EventFilterSpec.ByEntity(entity=entity, recursion=recursion)
    wanted = vim.event.EventFilterSpec(entity=of, eventTypeId=list(kinds))
    return list(session.call(lambda: session.content.eventManager.QueryEvents(wanted)) or ())


def last_event(session: Session, entity: Any) -> str:
    """`; its last event is VmReconfiguredEvent by root at 2026-11-22T09:00:00+00:00`; empty when
    vCenter keeps none."""
    last = max(events(session, entity), key=lambda event: event.key, default=None)
    if last is None:
        return ""
    name = type(last).__name__.rsplit(".", 1)[-1]
    when = last.createdTime.isoformat(timespec="seconds")
    return f"; its last event is {name} by {last.userName or 'vCenter'} at {when}"
