"""Command lines that only wait: what a container does when its last statement is reached.

A finite sleep below the limit is a test, not a waste. A sleep in front of real work is not the last
statement of its shell line, and waiting for work in the background is not waiting for nothing.
"""

import re
import shlex
from decimal import Decimal

from gpufleet.cluster import Container

_SHELLS = frozenset({"sh", "bash", "ash", "dash", "zsh"})
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_SLEEP = re.compile(r"^sleep\s+(infinity|inf|\d+(?:\.\d+)?)([smhd]?)(?=$|\s)")
_LOOP = re.compile(
    r"(?:while\s+(?:true|:|\[\s*1\s*\]|1|(sleep\s+[\w.]+))|until\s+false)\s*[;\n]\s*do\b(.*?)\bdone\b",
    re.DOTALL,
)
_PYTHON_SLEEP = re.compile(
    r"^(?:import time|from time import sleep)\s*[;\n]+\s*(?:(while\s+(?:True|1)\s*:)\s*)?"
    r"(?:time\.)?sleep\(\s*([\d._]+(?:e\d+)?)(?:\s*\*\*\s*(\d+))?\s*\)\s*$"
)
_QUIET = re.compile(
    r"^(?:echo|printf|date|true|:|trap|set|export|cd|ls|env|wait|sleep|nvidia-smi|hostname|whoami|"
    r"pwd|id|mkdir|touch|ulimit|umask|source|\.|local|declare|exit)\b|^:$|^\.\s|^[A-Za-z_]\w*=\S*$|^$"
)
"""Statements that compute nothing."""

_DAEMONS = re.compile(
    r"^(?:ray\s+start(?!.*--block)|service\s+(?!ssh)|nginx\b|supervisord\b|systemctl\s|nohup\s|"
    r"eval\s+\"?\$|nvidia-cuda-mps-control\b|dockerd\b|rclone\b|tmux\b|screen\b|(?:\S*/)?entrypoint)|"
    r"\s--daemon(?:ize)?\b"
)
"""Statements that leave a program running behind them."""

_SMI_GOES_ON = frozenset({"-l", "--loop", "-lms", "--loop-ms", "dmon", "pmon", "daemon"})
"""Arguments with which nvidia-smi goes on."""


def waits_for_ever(container: Container, longest_sleep: int) -> str | None:
    """The words by which a container waits without end, or None."""
    image = container.image.found or ""
    words = container.words
    if words.is_absent and image.rsplit("/", 1)[-1].partition("@")[0].partition(":")[0] == "pause":
        return f"image {image}"
    if not words.is_known or not words.value:
        return None
    program = _name(words.value[0])
    if program == "pause" and len(words.value) == 1:
        return "pause"
    if program in _SHELLS and all(
        word in ("-i", "-l", "-il", "--login") for word in words.value[1:]
    ):
        return f"{program} without a script"
    if program not in _SHELLS and len(words.value) > 1 and not words.value[0].startswith("-"):
        return _wait(" ".join((program, *words.value[1:])), longest_sleep)
    return _of_script(_script(words.value), longest_sleep)


_FETCHES = re.compile(
    r"^(?:download-to-cache|create-model-store|list-model-profiles|nim-hf-download|"
    r"(?:huggingface-cli|hf)\s+download|wget\s|curl\s|git\s+(?:clone|lfs)|aws\s+s3\s|gsutil\s|"
    r"gcloud\s+storage\s|pip\d?\s+install|apt(?:-get)?\s|export\s|rclone\s)"
    r"|^(?:download-to-cache|create-model-store|list-model-profiles)$"
)
"""Statements that only fetch (NVIDIA NIM for LLMs, Utilities: tools of the image that fill a cache
and end)."""


def fetches(container: Container) -> str | None:
    """The download that is all a container does; None where it does more, or something else."""
    words = container.words
    if not words.is_known or not words.value:
        return None
    found = [_plain(text) for text, _ in _statements(_script(words.value))]
    loads = [text for text in found if _FETCHES.match(text)]
    if not loads or not all(_FETCHES.match(text) or _is_quiet(text) for text in found):
        return None
    return " ".join(loads[-1].split()[:2])


def last_statement(words: tuple[str, ...]) -> str:
    """The last thing a command line does, without `exec` and `wait`."""
    statements = [text for text, _ in _statements(_script(words))]
    return _plain(statements[-1]).removeprefix("wait ").strip() if statements else ""


def leaves_it(words: tuple[str, ...]) -> bool:
    """Whether a shell puts its last program into the background, and ends."""
    statements = _statements(_script(words))
    return _name(words[0]) in _SHELLS and bool(statements) and statements[-1][1]


def goes_on(arguments: list[str]) -> bool:
    """Whether nvidia-smi with these arguments does not end by itself."""
    return bool(_SMI_GOES_ON.intersection(word.partition("=")[0] for word in arguments))


def _name(word: str) -> str:
    return word.rsplit("/", 1)[-1]


def _script(words: tuple[str, ...]) -> str:
    """The text that decides: of a shell its script, also where the script starts a shell again."""
    if _name(words[0]) not in _SHELLS and not re.fullmatch(r"-[a-z]*c", words[0]):
        return " ".join(words)
    script = words[-1]
    for _ in range(3):
        try:
            inner = shlex.split(script)
        except ValueError:
            return script
        one = len(inner) == 3 and inner[1].startswith("-") and inner[1].endswith("c")
        if not one or _name(inner[0].removeprefix("exec ")) not in _SHELLS:
            return script
        script = inner[2]
    return script


def _statements(script: str) -> list[tuple[str, bool]]:
    """Statements in their order, with whether each runs in the background; none that runs only
    when the one before it fails."""
    found: list[tuple[str, bool]] = []
    text = script.strip().rstrip("; \n)}")
    parts = re.split(r"(&&|\|\||;|\n|(?<![&>0-9])&(?![&>]))", text)
    for at in range(0, len(parts), 2):
        ends = parts[at + 1] if at + 1 < len(parts) else ""
        statement = parts[at].strip("(){} \t\r")
        fallback = at and parts[at - 1] == "||"
        if statement and not statement.startswith("#") and not fallback:
            found.append((statement, ends == "&"))
    return found


def _plain(statement: str) -> str:
    """Without `exec` and the path of the program."""
    text = statement.removeprefix("exec ").strip()
    head, blank, rest = text.partition(" ")
    return f"{_name(head)}{blank}{rest}"


_STOPS = re.compile(r"(?:^|[;\n]|&&)\s*sleep\s+(?:infinity|inf)\s*(?=[;\n]|&&)")
"""A statement that is never passed."""

_BRANCHES = re.compile(r"\b(?:if|case|function|for|while|until)\b|\(\)|\|\|")


def _of_script(script: str, longest: int) -> str | None:
    stop = _STOPS.search(script)
    if stop is not None and not _BRANCHES.search(script):
        script = script[: stop.end()]  # what follows never runs
    said, script = _without_loops(script)
    statements = _statements(script)
    works = [
        text
        for text, behind in statements
        if (behind and _wait(_plain(text), longest) is None and not _is_quiet(text))
        or _DAEMONS.search(_plain(text))
    ]
    if works:
        return None
    if said is not None:
        return said
    if not statements:
        return None
    last, behind = statements[-1]
    plain = _plain(last)
    if plain == "wait" or plain.startswith("wait "):
        behind_it = [_wait(_plain(text), longest) for text, background in statements if background]
        inner = _wait(plain.removeprefix("wait").strip(), longest)
        return inner or next((one for one in behind_it if one), None)
    return None if behind else _wait(plain, longest)


def _without_loops(script: str) -> tuple[str | None, str]:
    """Command of an endless loop at the end, and the script without its loops that only poll."""
    said = None
    for loop in list(_LOOP.finditer(script)):
        body = [text for text, _ in _statements(loop[2])]
        quiet = all(_is_quiet(text) for text in body)
        pauses = loop[1] or any(_plain(text).startswith(("sleep", "wait")) for text in body)
        after = script[loop.end() :].strip().strip(")\n ;\"'")
        if not quiet or not (pauses or not body):
            return None, script.replace(loop[0], "work")
        looks = any(_plain(text).startswith("nvidia-smi") for text in body)
        if re.fullmatch(r"(?:&\s*wait\b.*)?", after):
            said = "a loop of nvidia-smi and sleep" if looks else "a loop of nothing but sleep"
    return said, _LOOP.sub(":", script)


def _is_quiet(statement: str) -> bool:
    return _QUIET.match(_plain(statement)) is not None


def _wait(statement: str, longest: int) -> str | None:
    """Text of a statement that waits, or None."""
    found = _SLEEP.match(statement)
    if found is not None:
        if found[1] in ("infinity", "inf"):
            return f"sleep {found[1]}"
        seconds = Decimal(found[1]) * _SECONDS[found[2]]
        return f"sleep {found[1]}{found[2]}" if seconds >= longest else None
    program, *rest = statement.split() or [""]
    if program == "tail" and any(word in ("-f", "-F", "--follow", "-fn0") for word in rest):
        return f"tail -f {rest[-1]}"
    if program == "nvidia-smi" and goes_on(rest):
        return "nvidia-smi in a loop"
    if program == "watch" and any("nvidia-smi" in word for word in rest):
        return "watch nvidia-smi"
    if program == "sshd" and any(re.match(r"-[a-zA-Z]*D", word) for word in rest):
        return "sshd -D"
    if program in ("cat", "pause") and not rest:
        return program
    if program.startswith("python") and rest[:1] == ["-c"]:
        code = statement.partition("-c")[2].strip().strip("\"'")
        slept = _PYTHON_SLEEP.match(code)
        if slept and (slept[1] or _seconds(slept[2], slept[3]) >= longest):
            return "a Python program of nothing but sleep"
    return None


def _seconds(number: str, power: str | None) -> Decimal:
    """Value of a number in Python, `10**9` too. Powers of more than two digits are long enough."""
    base = Decimal(number.replace("_", ""))
    return base ** min(int(power), 99) if power else base
