"""Waiver: why a finding is not counted."""

from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from gpufleet.messages import one_line


class WaiverKind(StrEnum):
    """Where a waiver is written."""

    ANNOTATION = "annotation"
    COMMENT = "comment"
    SETTINGS = "settings"
    BASELINE = "baseline"

    @property
    def in_source(self) -> bool:
        """Whether it is in the file of the object."""
        return self in (WaiverKind.ANNOTATION, WaiverKind.COMMENT)


@dataclass(frozen=True, slots=True)
class Waiver:
    """Why a finding is not counted."""

    kind: WaiverKind
    place: str
    """Annotation, comment, setting or baseline that holds it."""
    reason: str
    until: date | None = None
    """Last day; None: a baseline has none."""

    def __str__(self) -> str:
        end = "" if self.until is None else f", until {self.until}"
        return f"{one_line(self.reason)} ({one_line(self.place)}{end})"
