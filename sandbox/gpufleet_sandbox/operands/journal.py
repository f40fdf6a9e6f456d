"""One line per transition on standard output."""

import sys
from datetime import UTC, datetime


def log(subject: str, message: str) -> None:
    """Write `<UTC time> <subject> <message>`; a closed reader does not stop the process."""
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    try:
        sys.stdout.write(f"{stamp} {subject}: {' '.join(message.split())}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        sys.stdout = open("/dev/null", "w")  # noqa: SIM115, PTH123
