"""Search for a row by name: exact keys, aliases, and nearest names for an unknown name."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TypeVar

from gpufleet.catalogue.gpu import Gpu
from gpufleet.secret_text import masked

Row = TypeVar("Row")

_SEPARATORS = re.compile(r"[\s_\-]+")
_VENDOR_PREFIX = re.compile(r"^(nvidia|tesla|amd|aws|google)+")
_MEMORY_SIZE = re.compile(r"-\d+GB$", re.IGNORECASE)
_TYPE_FORMS = (
    re.compile(r"[a-z][a-z0-9-]*\.[a-z0-9-]+"),
    re.compile(r"[a-z][a-z0-9]*-[a-z]+-[a-z0-9*+-]+"),
)
"""Forms of machine type names of AWS and Google: `p5.48xlarge`, `a3-highgpu-8g`."""
_SURE = 0.8
"""Similarity from which a name is a typing error and not another name."""
_PRODUCT_SUFFIX = re.compile(r"(-MIG-[0-9a-zA-Z.]+)?(-SHARED)?$")


class UnknownKeyError(LookupError):
    """A table has no row of this name. Carries the nearest names, best first."""

    def __init__(self, kind: str, key: str, nearest: Iterable[str] = ()) -> None:
        self.kind = kind
        self.key = key
        self.nearest = tuple(nearest)
        hint = f"; nearest: {', '.join(self.nearest)}" if self.nearest else ""
        super().__init__(f"no {kind} named {masked(key)!r} in the catalogue{hint}")

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.kind, self.key, self.nearest))


class AmbiguousKeyError(UnknownKeyError):
    """A short name fits several rows: `nearest` lists them all."""

    def __init__(self, kind: str, key: str, nearest: Iterable[str] = ()) -> None:
        super().__init__(kind, key, nearest)
        self.args = (
            f"{masked(key)!r} names more than one {kind}: write {' or '.join(self.nearest)}",
        )


def nearest_names(
    key: str, names: Iterable[str], limit: int = 3, *, likeness: float = 0.5
) -> tuple[str, ...]:
    """At most `limit` names similar to the key, best first, in any case."""
    import difflib  # only errors need it

    by_folded: dict[str, str] = {}
    for name in names:
        by_folded.setdefault(name.lower(), name)
    close = difflib.get_close_matches(key.lower(), list(by_folded), n=limit, cutoff=likeness)
    return tuple(by_folded[name] for name in close)


def nearest_fix(key: str, names: Collection[str], otherwise: str = "") -> str:
    """Proposed fix: the name most similar to the key, else `otherwise`, else a list of names."""
    near = nearest_names(key, names, limit=1)
    return f"write `{near[0]}`" if near else otherwise or f"one of {', '.join(names)}"


def nearest_gpus(text: str, gpus: Mapping[str, Gpu]) -> tuple[str, ...]:
    """Keys of GPUs that are similar to a name: those of its series (`MI`, `RTX`, `H`), else those
    of the vendor of the series. A name of an unknown series has few similar keys."""
    short = len(plain(text)) < 3 or plain(text).isalpha()
    part = [key for key in gpus if not short and plain(key).endswith(plain(text))]
    if part:
        return tuple(part[:3])
    text = _VENDOR_PREFIX.sub("", text.lower()).strip("-_ ")
    series = _series(text)
    kin = [key for key in gpus if _series(key) == series]
    if not kin:
        return nearest_names(text, gpus, likeness=_SURE)
    # Two vendors have a series V: take the vendor with most GPUs in it.
    vendor, _ = Counter(gpus[key].vendor for key in kin).most_common(1)[0]
    kin = [key for key in kin if gpus[key].vendor == vendor]
    near = nearest_names(text, kin, likeness=0.3)
    return near or nearest_names(text, [k for k, gpu in gpus.items() if gpu.vendor == vendor])


def nearest_models(text: str, names: Iterable[str]) -> tuple[str, ...]:
    """Names of models of the same series (`Llama`, `Qwen`) that look like a name; of a series that
    no model has, hardly any."""
    names = tuple(names)
    kin = [name for name in names if _series(name) == _series(text)]
    return nearest_names(text, kin) if kin else nearest_names(text, names, likeness=_SURE)


def nearest_types(name: str, names: Iterable[str]) -> tuple[str, ...]:
    """Machine types that look like a name, of the cloud that forms names this way."""
    form = next((form for form in _TYPE_FORMS if form.fullmatch(name.lower())), None)
    if form is None:
        return ()
    return nearest_names(name, [other for other in names if form.fullmatch(other)])


def _series(text: str) -> str:
    found = re.match(r"[a-z]*", plain(text))
    return found[0] if found else ""


def find_row(
    table: Mapping[str, Row],
    kind: str,
    key: str,
    nearest: Callable[[str, Mapping[str, Row]], tuple[str, ...]] = nearest_names,
) -> Row:
    """The row of exactly this name.

    Raises UnknownKeyError with the nearest names; a name that differs in case only comes first.
    """
    try:
        return table[key]
    except KeyError:
        raise UnknownKeyError(kind, key, nearest(key, table)) from None


def squeezed(text: str) -> str:
    """A name in lower case without separators: `nvidia-tesla-a100` is `nvidiateslaa100`."""
    return _SEPARATORS.sub("", text.strip().lower())


def plain(text: str) -> str:
    """A squeezed name without vendor in front and `gb` behind: `NVIDIA A100-80GB` is `a10080`."""
    return _VENDOR_PREFIX.sub("", squeezed(text)).removesuffix("gb")


def alias_index(gpus: Mapping[str, Gpu]) -> dict[str, tuple[str, ...]]:
    """Name -> keys of the GPUs it may mean. More than one: the name is ambiguous.

    A GPU is known by its key, name and product names, with or without vendor and `GB`, and by its
    aliases as they stand; a product name that is an alias of another GPU is not one. Keys and
    aliases without their memory size (`A100`) are names too, except where an alias gives such a
    name to one GPU (`H100`).
    """
    exact: dict[str, set[str]] = {}
    families: dict[str, set[str]] = {}
    aliases = {squeezed(name): gpu.key for gpu in gpus.values() for name in gpu.aliases}
    for gpu in gpus.values():
        products = [n for n in gpu.product_names if aliases.get(plain(n), gpu.key) == gpu.key]
        for name in (gpu.key, gpu.name, *products):
            exact.setdefault(plain(name), set()).add(gpu.key)
        for name in gpu.aliases:
            exact.setdefault(squeezed(name), set()).add(gpu.key)
        for name in (gpu.key, *gpu.aliases):
            family = _MEMORY_SIZE.sub("", name)
            if family != name:
                families.setdefault(plain(family), set()).add(gpu.key)
    return {name: tuple(sorted(keys)) for name, keys in (families | exact).items()}


def resolve_gpu(gpus: Mapping[str, Gpu], index: Mapping[str, tuple[str, ...]], text: str) -> Gpu:
    """The GPU meant by a key, alias, product name or cloud accelerator type.

    Raises AmbiguousKeyError if several GPUs match and UnknownKeyError if no GPU matches.
    """
    if text in gpus:
        return gpus[text]
    keys = index.get(squeezed(text)) or index.get(plain(text), ())
    if len(keys) == 1:
        return gpus[keys[0]]
    if keys:
        raise AmbiguousKeyError("GPU", text, keys)
    raise UnknownKeyError("GPU", text, nearest_gpus(text, gpus))


def bare_product(label: str) -> str:
    """A `nvidia.com/gpu.product` value without the suffixes that MIG and sharing append."""
    return _PRODUCT_SUFFIX.sub("", label)
