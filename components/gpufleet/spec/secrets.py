"""Credentials do not belong in declarations: specs are committed, and state stores values."""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from gpufleet.findings import Finding, error
from gpufleet.secret_text import SECRET_NAME, secret_in


def validate_secrets(value: object, path: str = "") -> Iterator[Finding]:
    """A finding for every value that is, or is named like, a credential; it is never repeated.

    `path` is the place of the value. Entries `{name: ..., value: ...}` of a list, such as variables
    of containers, are validated by their own name.
    """
    if isinstance(value, Mapping):
        entries = cast("Mapping[object, object]", value)
        name = entries.get("name")
        if isinstance(name, str) and _holds_secret(name, entries.get("value")):
            yield _finding(f"{path}.value", f"the variable `{name}` is named like a credential")
            return
        for key, item in entries.items():
            inner = f"{path}.{key}" if path else str(key)
            if _holds_secret(str(key), item):
                yield _finding(inner, f"the key `{key}` names a credential")
            else:
                yield from validate_secrets(item, inner)
    elif isinstance(value, str):
        kind = secret_in(value)
        if kind is not None:
            yield _finding(path, f"the value looks like {kind}")
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        for index, item in enumerate(cast("Sequence[object]", value)):
            yield from validate_secrets(item, f"{path}[{index}]")


def _holds_secret(name: str, value: object) -> bool:
    return isinstance(value, str) and bool(value) and SECRET_NAME.search(name) is not None


def _finding(path: str, why: str) -> Finding:
    message = f"{why}; specs are committed and stored in state, so they never hold secrets"
    fix = "put it into a Kubernetes Secret and name that Secret here"
    return error("spec-holds-secret", path, message, fix)
