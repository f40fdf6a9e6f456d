"""Limits of documents, so that no document can block or exhaust the program."""

from dataclasses import dataclass, replace


class UnreadableDocumentError(ValueError):
    """The text is malformed or beyond the limits; the message has place and reason."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one text."""

    size: int
    """Bytes."""
    depth: int
    """Lists and mappings inside one another."""
    values: int
    """Values of one document, once every alias and merge key is written out."""

    def decoded(self, text: str | bytes) -> str:
        """The text as characters.

        Raises UnreadableDocumentError if it is too large or not UTF-8.
        """
        raw = text if isinstance(text, bytes) else text.encode(errors="surrogatepass")
        self.check_size(len(raw))
        try:
            return raw.decode("utf-8-sig")
        except UnicodeDecodeError as problem:
            what = f"byte {problem.start}: this is not UTF-8 text: save the file as UTF-8"
            raise UnreadableDocumentError(what) from None

    def check_size(self, size: int) -> None:
        """Raise UnreadableDocumentError for more bytes than are read."""
        if size > self.size:
            raise UnreadableDocumentError(
                f"{size} bytes are more than the limit of {self.size >> 20} MiB"
            )


CONFIGURATION = Limits(size=1 << 20, depth=40, values=200_000)
"""FleetSpecs and the configuration of NVIDIA's programs. A FleetSpec of a thousand pools takes a
fiftieth of the size, and nests nine levels deep."""
MANIFESTS = Limits(size=4 << 20, depth=100, values=1_000_000)
"""Kubernetes manifests in YAML. The nodes of libyaml take about fifty times their text."""
YAML_DUMPS = replace(MANIFESTS, size=64 << 20)
"""Dumps of clusters in YAML, which are read piece by piece."""
JSON_DUMPS = replace(MANIFESTS, size=128 << 20)
"""JSON: dumps of clusters and states are large."""


def fault(problem: Exception) -> str:
    """Why a text cannot be read, without Python's advice to its programmers."""
    if isinstance(problem, RecursionError):
        return f"nested deeper than {JSON_DUMPS.depth} levels"
    words = str(problem)
    return "a number has thousands of digits: write a smaller one" if "digits" in words else words
