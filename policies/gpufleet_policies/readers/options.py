"""Options of a command line, read once: `--name value`, `--name=value`, `-x value`."""

import re
from collections.abc import Iterable, Mapping, Sequence

from gpufleet.cluster.container import Container

_REFERENCE = re.compile(r"\$(?:\((\w+)\)|\{(\w+)(?::?-[^{}]*)?\}|([A-Za-z_]\w*))")
_MORE = "VLLM_ADDITIONAL_ARGS"
"""Variable whose words an LLMInferenceService adds to those of vLLM
(kserve/kserve config/llmisvcconfig/config-llm-template.yaml)."""


class Options(dict[str, list[str]]):
    """Option, underscores as dashes -> its values in the order they were written."""

    def first(self, names: Iterable[str]) -> str | None:
        """The value of the first of these options that is there and has one; None without."""
        for name in names:
            for value in self.get(name, ()):
                if value:
                    return value
        return None

    def single(self, names: Iterable[str]) -> str | None:
        """The value of these options; None without one, "?" where they contradict each other."""
        found = {value for name in names for value in self.get(name, ())}
        if not found:
            return None
        return found.pop() if len(found) == 1 else "?"

    def has(self, names: Iterable[str]) -> bool:
        """Whether any of these options is there, with or without a value."""
        return any(name in self for name in names)


def split_words(container: Container, variables: Mapping[str, str]) -> list[str]:
    """Command and arguments, variables filled in, shell lines split at blanks."""
    found = container.words
    parts: list[str] = []
    for word in found.value if found.is_known else ():
        parts.extend(one.strip("\"'") for one in _filled(word, variables).split() if one != "\\")
    if container.command.is_absent:
        parts.extend(variables.get(_MORE, "").split())
    return parts


_ASSIGNMENT = re.compile(
    r"""(?:^|[\s;])(?:export\s+)?([A-Za-z_]\w*)=(["']?)([^\s"'$`;&|()]+)\2(?=[\s;]|$)"""
)


def _filled(word: str, variables: Mapping[str, str]) -> str:
    """A word with the variables, and with those that it sets itself, if it is a script; one that
    has several values stays."""
    if "$" not in word:
        return word
    known = dict(variables)
    for name, _, value in _ASSIGNMENT.findall(word):
        if known.setdefault(name, value) != value:
            known[name] = f"${name}"
    return _REFERENCE.sub(lambda m: known.get(m[1] or m[2] or m[3], m[0]), word)


def read_options(words: Sequence[str]) -> Options:
    """Every option among the words; one without a value has the value ""."""
    found = Options()
    pending: list[str] | None = None
    for word in words:
        if word.startswith("-") and len(word) > 1 and not word[1].isdigit():
            head, equals, tail = word.partition("=")
            values = found.setdefault(head.replace("_", "-"), [])
            if equals:
                values.append(tail.strip("\"'"))
                pending = None
            else:
                values.append("")
                pending = values
        elif pending is not None:
            pending[-1] = word.strip("\"'")
            pending = None
    return found
