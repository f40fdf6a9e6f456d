# pyright: standard
"""Descriptions of a machine for people and other programs: notes, custom attributes and tags.

Declared descriptions are written; descriptions that are no longer declared are removed; all others
of a machine stay.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from pyVmomi import vim

from gpufleet_vcenter.errors import OutcomeUnknownError, VsphereError, failed, near
from gpufleet_vcenter.observed import Observed
from gpufleet_vcenter.owned import MachineWork
from gpufleet_vcenter.reading import one
from gpufleet_vcenter.session import Session
from gpufleet_vcenter.settings import NodeSettings
from gpufleet_vcenter.tasks import in_words, run

Tag = tuple[str, str]
"""Category and name."""


def tags_of(settings: NodeSettings | None) -> frozenset[Tag]:
    """Declared tags; None: no tags."""
    return frozenset((tag.category, tag.name) for tag in (settings.tags if settings else ()))


def check_description(session: Session, settings: NodeSettings) -> None:
    """Refuse attributes and tags that do not exist, before anything is made.

    Raises:
        VsphereError: one does not; the text names it.
    """
    if settings.custom_attributes:
        _known_keys(session, settings.custom_attributes)
    tag_ids(session, tags_of(settings))


def found_on(
    session: Session, settings: NodeSettings, live: Observed
) -> tuple[Mapping[str, str], frozenset[Tag]]:
    """Declared attributes and tags that the machine has; nothing else is read from vCenter."""
    attributes, tags = settings.custom_attributes, tags_of(settings)
    keys = _known_keys(session) if attributes else {}
    has = {name: live.custom_values.get(keys.get(name, -1), "") for name in attributes}
    there = attached(session, live, tag_ids(session, tags, of_all=False)) if tags else tags
    return has, there


def describe(work: MachineWork, live: Observed, before: NodeSettings | None) -> None:
    """Write the declared attributes and tags. Notes are written with the machine's other settings,
    and removed here. Safe to repeat.

    Args:
        before: The previous declaration; None: none.

    Raises:
        VsphereError: an attribute or a tag does not exist, or vCenter refuses.
    """
    session, wanted, former = work.session, tags_of(work.settings), tags_of(before)
    had = before.custom_attributes if before else {}
    notes = before.annotation if before else None
    if notes and not work.settings.annotation and live.annotation == notes:
        spec, seconds = vim.vm.ConfigSpec(annotation=""), work.settings.timeouts.reconfigure
        doing = f"clearing the notes of {live.name}"
        with in_words(doing, "reconfigure"), suppress(OutcomeUnknownError):
            run(session, lambda: live.reference.ReconfigVM_Task(spec), seconds)
    if work.settings.custom_attributes or had:
        attributes, manager = work.settings.custom_attributes, session.content.customFieldsManager
        known = _known_keys(session, attributes)
        # A value cannot be removed, only cleared; those of a deleted attribute are deleted too.
        values = {known[name]: "" for name in had if name in known}
        values |= {known[name]: value for name, value in attributes.items()}
        for key, value in sorted(values.items()):
            if live.custom_values.get(key, "") != value:
                with in_words(f"setting a custom attribute of {live.name}"):
                    # Setting a value twice does no harm: after a lost answer it is set again.
                    session.call(lambda k=key, v=value: manager.SetField(live.reference, k, v))
    if wanted or former:
        gone = tag_ids(session, former - wanted, of_all=False)
        ids = tag_ids(session, wanted)
        there = attached(session, live, {**gone, **ids})
        # A category may allow one tag only: the old tag is removed first.
        for tag in sorted(there & gone.keys()):
            _tagged(session, live, f"/id:{gone[tag]}", "detach")
        for tag in sorted(ids.keys() - there):  # one that is as wanted is fine
            _tagged(session, live, f"/id:{ids[tag]}", "attach")


def _known_keys(session: Session, wanted: Iterable[str] = ()) -> dict[str, int]:
    """Custom attributes that machines may have, the wanted ones among them: name -> key."""
    manager = session.content.customFieldsManager
    found = one(session, manager, vim.CustomFieldsManager, ("field",)) or {}
    known = {
        str(item.name): int(item.key)
        for item in found.get("field") or ()
        if item.managedObjectType in (None, vim.VirtualMachine)
    }
    lacking = sorted(set(wanted) - known.keys())
    if lacking:
        raise failed("not-found/attribute", lacking=[*map(repr, lacking)], known=sorted(known))
    return known


_TAGGING = "/tagging"


def tag_ids(session: Session, tags: Iterable[Tag], *, of_all: bool = True) -> dict[Tag, str]:
    """The id of each tag. One that does not exist is an error, unless `of_all` is false.

    Raises:
        VsphereError: a category or a tag does not exist, or the user cannot see it; the text has
            near names.
    """
    wanted, known = list(tags), session.tag_ids
    lacking = {category for category, name in wanted if (category, name) not in known}
    categories: dict[str, str] = {}
    for key in (session.rest.ask(f"{_TAGGING}/category") or []) if lacking else ():
        if row := session.rest.ask(f"{_TAGGING}/category/id:{key}"):
            categories[str(row["name"])] = str(row["id"])
    for category in sorted(lacking):
        if category in categories:
            path = f"{_TAGGING}/tag/id:{categories[category]}"
            for tag in session.rest.ask(path, "list-tags-for-category") or []:
                if row := session.rest.ask(f"{_TAGGING}/tag/id:{tag}"):
                    known[category, str(row["name"])] = str(tag)
        elif of_all:
            raise _unknown("category of tags", category, categories)
    for category, name in wanted if of_all else ():
        if (category, name) not in known:
            others = [other for of, other in known if of == category]
            raise _unknown(f"tag of category {category!r}", name, others)
    return {tag: known[tag] for tag in wanted if tag in known}


def _unknown(what: str, wanted: str, names: Iterable[str]) -> VsphereError:
    return failed("not-found/tag", what=what, wanted=wanted, near=near(wanted, names))


def attached(session: Session, live: Observed, ids: dict[Tag, str]) -> frozenset[Tag]:
    """Tags among `tags` that the machine has."""
    there = _tagged(session, live, "", "list-attached-tags")
    return frozenset(tag for tag, key in ids.items() if key in (there or ()))


def _tagged(session: Session, live: Observed, path: str, action: str) -> Any:
    about = {"object_id": {"id": live.moref, "type": "VirtualMachine"}}
    return session.rest.ask(f"{_TAGGING}/tag-association{path}", action, about)
