"""Paths into a document, as findings print them: `mig-configs.all-1g[0].mig-devices["1g.5gb"]`."""

import re

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def child(path: str, step: str | int) -> str:
    """The path of one entry of the mapping or list at `path`."""
    if isinstance(step, int):
        return f"{path}[{step}]"
    if _PLAIN_KEY.fullmatch(step):
        return f"{path}.{step}" if path else step
    quoted = step.replace("\\", "\\\\").replace('"', '\\"')
    return f'{path}["{quoted}"]'
