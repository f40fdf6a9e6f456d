"""Recognition of credentials in text, and texts without them.

The patterns of tokens are those that their issuers publish and that scanners for secrets use
(gitleaks/gitleaks config/gitleaks.toml). Text without a known pattern is treated as a credential if
it is as random as a key. Messages of this project never repeat such a value. Patterns are texts:
`re` compiles and keeps those that a run needs.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, cast

MASK = "***"

FORMS: Mapping[str, str] = {
    "an AWS access key id": r"\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b",
    "a private key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[^-]*(?:-----END [A-Z ]*-----)?)?",
    "an NGC API key": r"\bnvapi-[A-Za-z0-9_-]{20,}",
    "a JSON web token": r"(?<![\w-])eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*",
    "a Hugging Face token": r"\bhf_[A-Za-z0-9]{20,}",
    "a GitHub token": r"\b(?:gh[pousr]|github_pat)_[A-Za-z0-9_]{20,}",
    "a GitLab token": r"\bgl(?:pat|dt|rt|cbt|ptt|ft|agent)-[A-Za-z0-9_-]{20,}",
    "a Slack token": r"\bxox[abeprs]-[A-Za-z0-9-]{10,}",
    "a Google API key": r"\bAIza[A-Za-z0-9_-]{35}",
    "a Google access token": r"\bya29\.[A-Za-z0-9_-]{20,}",
    "an API key": r"\bsk-(?=[A-Za-z_-]*\d)(?=[a-z0-9_-]*[A-Z])[A-Za-z0-9_-]{20,}",
    "a Pulumi access token": r"\bpul-[0-9a-f]{40}\b",
    "an npm token": r"\bnpm_[A-Za-z0-9]{36}\b",
    "a PyPI token": r"\bpypi-[A-Za-z0-9_-]{40,}",
    "a Docker Hub token": r"\bdckr_pat_[A-Za-z0-9_-]{20,}",
    "a Vault token": r"\bhv[sb]\.[A-Za-z0-9_-]{20,}",
    "a Databricks token": r"\bdapi[0-9a-f]{32}\b",
    "a bootstrap token": r"(?<![\w.-])(?=[a-z]*\d)[a-z0-9]{6}\.(?=[a-z]*\d)[a-z0-9]{16}(?![\w.-])",
}
"""Kind of a credential -> its pattern."""

_PLACE = r"(?![$<{*.\[(]|REDACTED|changeme|xxx)"
"""A value follows, not a reference to one: `$TOKEN`, `<token>`, `{{ .token }}`, `...`."""
_VALUE = rf"{_PLACE}[^\s'\",;)&`]{{1,500}}"
_NAME = r"(?:password|passwd|passphrase|token|secret|api[-_]?key|access[-_]?key|private[-_]?key)"
_WITH_PASSWORD = (
    rf"(?i)(\b[a-z][a-z0-9+.-]{{0,20}}://[^\s/:@'\"]{{0,200}}:){_PLACE}[^\s/@'\"]{{1,500}}(?=@)"
)
_ASSIGNED = rf"(?i)({_NAME}=['\"]?){_VALUE}"
_OPTION = rf"(?i)((?<![\w-])--?[a-z0-9_.-]{{0,60}}{_NAME}\s+['\"]?)(?=\S*\d)(?=\S{{8}}){_VALUE}"
"""A value with a digit: the text after an option can be a sentence about it."""
_HEADER = r"(\b(?:Bearer|Basic)\s+)[A-Za-z0-9+/=._~-]{20,}"
_BEFORE = (("://", _WITH_PASSWORD), ("=", _ASSIGNED), ("-", _OPTION), (" ", _HEADER))
"""A text that every match of a pattern contains, and the pattern."""
_KEY_BLOCK = "-----BEGIN"
_KNOWN = "|".join(FORMS.values())
_RUN = r"(?<![\w:+/=.-])[A-Za-z0-9+/_=.-]{20,}"
"""Candidates for tokens: every known pattern has at least 20 characters."""
_KEPT = 4
"""Leading characters of a known token that stay visible: they identify its kind (`ghp_`)."""
_UUID = r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_HEXADECIMAL = r"[0-9a-f]{32,}|[0-9A-F]{32,}"
_CHANGES = 0.45
"""Share of adjacent characters of different classes (lowercase, uppercase, digit). Random base64
text has about 0.6; names of models and machines have less than 0.4."""

SECRET_NAME = re.compile(
    r"(password|passwd|token|secret[-_]?(access[-_]?)?key|api[-_]?key|private[-_]?key)$",
    re.IGNORECASE,
)
"""Names of values and variables that hold a secret, not the name of one."""


def secret_in(text: str) -> str | None:
    """The kind of credential that a text contains, or None. The text itself is never returned."""
    if re.search(_WITH_PASSWORD, text):
        return "an address with a password"
    if re.search(_KNOWN, text):
        return next(kind for kind, form in FORMS.items() if re.search(form, text))
    if any(re.search(form, text) for _, form in _BEFORE):
        return "an option with a credential"
    return None


def may_be_secret(name: str, value: object) -> bool:
    """Whether the value of a field or variable may be a credential, hidden in messages."""
    if SECRET_NAME.search(name) is not None:
        return True
    return isinstance(value, str) and secret_in(value) is not None


def masked(text: str) -> str:
    """A text with `***` in place of everything that may be a credential."""
    for sign, form in _BEFORE:
        if sign in text:
            text = re.sub(form, rf"\1{MASK}", text)
    if _KEY_BLOCK in text:
        text = re.sub(FORMS["a private key"], MASK, text)
    return re.sub(_RUN, _masked_run, text)


def _masked_run(found: re.Match[str]) -> str:
    run = found[0]
    if re.search(_KNOWN, run):
        return re.sub(_KNOWN, lambda token: token[0][:_KEPT] + MASK, run)
    return MASK if _is_random(run) else run


def masked_data(value: Any) -> Any:
    """Data with every credential in its texts masked."""
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, Mapping):
        entries = cast("Mapping[Any, Any]", value)
        return {key: masked_data(item) for key, item in entries.items()}
    if isinstance(value, list | tuple):
        return [masked_data(item) for item in cast("Sequence[Any]", value)]
    return value


def _is_random(text: str) -> bool:
    """Whether a run of letters and digits is more like a key than like a name."""
    if re.fullmatch(_HEXADECIMAL, text):
        return True
    if re.search(_UUID, text):
        return False
    parts = [part for part in re.split("[^A-Za-z0-9]", text) if part]
    if sum(map(len, parts)) < 24 or len({_class(letter) for part in parts for letter in part}) < 3:
        return False
    neighbours = [pair for part in parts for pair in pairwise(map(_class, part))]
    changes = sum(one != other for one, other in neighbours)
    return changes >= _CHANGES * len(neighbours)


def _class(letter: str) -> str:
    return "digit" if letter.isdigit() else "capital" if letter.isupper() else "small"
