"""Whether this process serves components to programs in other languages."""

_SERVING: list[bool] = []


def serving() -> None:
    """Note that this process serves components."""
    _SERVING.append(True)


def is_component_host() -> bool:
    """Whether this process serves components. Then it cannot make resources of Python dynamic
    providers: the engine looks for their provider in the caller's program, which may not be Python.
    """
    return bool(_SERVING)
