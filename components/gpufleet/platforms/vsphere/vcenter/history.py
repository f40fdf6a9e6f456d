"""Who changed an object last, from vCenter's events."""

from typing import Any

from pyVmomi import vim

from gpufleet.platforms.vsphere.vcenter.session import Session


def last_event(session: Session, entity: Any) -> str:
    """`; its last event is VmReconfiguredEvent by root at 2026-11-22T09:00:00+00:00`; empty when
    vCenter keeps none."""
    wanted = vim.event.EventFilterSpec(
        entity=vim.event.EventFilterSpec.ByEntity(
            entity=entity, recursion=vim.event.EventFilterSpec.RecursionOption.self
        )
    )
    events = session.call(lambda: session.content.eventManager.QueryEvents(wanted))
    if not events:
        return ""
    last = max(events, key=lambda event: event.key)
    name = type(last).__name__.rsplit(".", 1)[-1]
    when = last.createdTime.isoformat(timespec="seconds")
    return f"; its last event is {name} by {last.userName or 'vCenter'} at {when}"
