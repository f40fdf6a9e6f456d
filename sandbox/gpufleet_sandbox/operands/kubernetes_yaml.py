"""Reading YAML the way Go programs on Kubernetes do: through JSON, with its types."""

from typing import Any

import yaml


class DocumentError(ValueError):
    """The text is not valid YAML, or not a mapping where one is needed."""


def load_document(text: str) -> dict[str, Any]:
    """A YAML document as its JSON object: keys are strings, an empty document is `{}`."""
    try:
        data: Any = yaml.safe_load(text)
    except yaml.YAMLError as problem:
        first = str(problem).splitlines()[0]
        raise DocumentError(f"unmarshal error: {first}") from problem
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise DocumentError(f"unmarshal error: a mapping is needed, found {type(data).__name__}")
    return _string_keys(data)


def _string_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {_key(key): _string_keys(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_string_keys(item) for item in value]
    return value


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return str(key)


def whole_number(value: Any) -> int | None:
    """A JSON number without a fraction, else None; booleans are no numbers."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return None
