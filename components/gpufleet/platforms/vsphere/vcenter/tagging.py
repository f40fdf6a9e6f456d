"""Tags of machines: found by category and name, put on and taken off."""

import difflib
from collections.abc import Iterable

from gpufleet.platforms.vsphere.vcenter.errors import Code, VsphereError
from gpufleet.platforms.vsphere.vcenter.observed import Observed
from gpufleet.platforms.vsphere.vcenter.session import Session

Tag = tuple[str, str]
"""Category and name."""

_TAGGING = "/tagging"


def tag_ids(session: Session, tags: Iterable[Tag]) -> dict[Tag, str]:
    """The id of each tag.

    Raises:
        VsphereError: a category or a tag does not exist, or the user cannot see it; the text has
            near names.
    """
    wanted = list(tags)
    known = session.tag_ids
    lacking = {category for category, name in wanted if (category, name) not in known}
    if lacking:
        categories = {
            str(row["name"]): str(row["id"])
            for key in session.rest.get(f"{_TAGGING}/category") or []
            if (row := session.rest.get(f"{_TAGGING}/category/id:{key}"))
        }
        for category in sorted(lacking):
            if category not in categories:
                raise _unknown("category of tags", category, categories)
            _learn(session, category, categories[category])
    for category, name in wanted:
        if (category, name) not in known:
            others = [other for of, other in known if of == category]
            raise _unknown(f"tag of category {category!r}", name, others)
    return {tag: known[tag] for tag in wanted}


def _learn(session: Session, category: str, key: str) -> None:
    for tag in session.rest.post(f"{_TAGGING}/tag/id:{key}", "list-tags-for-category") or []:
        row = session.rest.get(f"{_TAGGING}/tag/id:{tag}")
        if row:
            session.tag_ids[category, str(row["name"])] = str(tag)


def _unknown(what: str, wanted: str, names: Iterable[str]) -> VsphereError:
    near = difflib.get_close_matches(wanted, sorted(names), n=3, cutoff=0.5)
    hint = f"; near: {', '.join(near)}" if near else ""
    return VsphereError(
        Code.NOT_FOUND,
        f"no {what} named {wanted!r} that this user can see{hint}",
        "create it in vCenter, or correct `tags`",
    )


def attached(session: Session, live: Observed, ids: dict[Tag, str]) -> frozenset[Tag]:
    """Those of the tags that the machine has."""
    there = session.rest.post(
        f"{_TAGGING}/tag-association", "list-attached-tags", {"object_id": _machine(live)}
    )
    return frozenset(tag for tag, key in ids.items() if key in (there or ()))


def attach(session: Session, live: Observed, tag_id: str) -> None:
    """Put a tag on the machine; one that is on it is fine."""
    path = f"{_TAGGING}/tag-association/id:{tag_id}"
    session.rest.post(path, "attach", {"object_id": _machine(live)})


def detach(session: Session, live: Observed, tag_id: str) -> None:
    """Take a tag off the machine; one that is not on it is fine."""
    path = f"{_TAGGING}/tag-association/id:{tag_id}"
    session.rest.post(path, "detach", {"object_id": _machine(live)})


def _machine(live: Observed) -> dict[str, str]:
    return {"id": live.moref, "type": "VirtualMachine"}
