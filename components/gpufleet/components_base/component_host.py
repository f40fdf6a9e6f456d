"""Whether this process serves components to programs in other languages."""

_SERVING: list[bool] = []


def serving() -> None:
    """Say that it does."""
    _SERVING.append(True)


def is_component_host() -> bool:
    """Whether it does: then resources of Python dynamic providers cannot be made here, because the
    engine looks for their provider in the caller's program, which may not be Python."""
    return bool(_SERVING)
