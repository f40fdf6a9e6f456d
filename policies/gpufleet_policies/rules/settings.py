"""Settings of the rules: one format for all integrations, with all problems reported at once."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

from gpufleet.cluster import Provenance
from gpufleet.documents.shapes import is_list, is_mapping, items, mapping
from gpufleet.findings import Finding, FleetError, Level, error
from gpufleet.rules.context import EnvironmentBudget, RuleContext, Thresholds
from gpufleet.rules.rule import Profile, Rule
from gpufleet_policies.names import names
from gpufleet_policies.readers.blocks import camel
from gpufleet_policies.rules.exceptions import SettledException
from gpufleet_policies.rules.registry import EXCEPTION_INVALID, all_rules, by_id

KEYS = names("key of the settings")
AUTO = "auto"
"""Profile by environment: prod in production, dev elsewhere."""

_NUMBERS = (int, Decimal, Decimal | None)
THRESHOLDS = {camel(f.name): f.name for f in fields(Thresholds) if f.type in _NUMBERS}
_WHOLE = frozenset(one.name for one in fields(Thresholds) if one.type is int)
"""Thresholds that are counts."""


@dataclass(frozen=True, slots=True)
class RuleSettings:
    """A project's settings of the rules."""

    profile: Profile | None = None
    """None: by environment."""
    environment: str | None = None
    """Environment of the checked program, for objects that do not declare theirs."""
    levels: Mapping[str, Level] = field(default_factory=dict[str, Level])
    """Rule id -> level, over the profile's."""
    exceptions: tuple[SettledException, ...] = ()
    thresholds: Thresholds = field(default_factory=Thresholds)
    fleet: Any = None
    """The pools of workloads whose GpuFleet is in another program: a path or plain data."""
    asked_for: frozenset[str] = frozenset()
    """Rules that a command names one by one: advisory where their level is off."""
    clusters: tuple[str, ...] = ()
    """Patterns of folders; the files below each folder that matches are one cluster."""
    everything_off: str = ""
    """Why no rule is on, where that is meant; empty: it would be a mistake."""

    @property
    def is_off(self) -> bool:
        """Whether no rule is on in any profile that may apply."""
        profiles = tuple(Profile) if self.profile is None else (self.profile,)
        return all(
            self.level(rule, profile) is Level.OFF for rule in all_rules() for profile in profiles
        )

    def level(self, rule: Rule, profile: Profile) -> Level:
        """The level of a rule in a profile, before the evidence is considered."""
        usual = rule.levels[profile]
        level = self.levels.get(rule.id) or usual
        if rule.id not in self.levels and usual is not Level.OFF:
            level = self.levels.get(rule.group, usual)
        return Level.ADVISORY if level is Level.OFF and rule.id in self.asked_for else level

    def profile_for(self, context: RuleContext, subject: Any) -> Profile:
        """The profile that applies to one object. Where the environment is unknown: dev."""
        if self.profile is not None:
            return self.profile
        return Profile.PROD if context.is_production(subject) else Profile.DEV


def weighted(level: Level, rule: Rule, evidence: Provenance, at_most: Level) -> Level:
    """A level after the evidence: weaker than the rule needs, or capped, means advisory."""
    weak = evidence < rule.mandatory_needs or at_most is not Level.MANDATORY
    return Level.ADVISORY if level is Level.MANDATORY and weak else level


def read_settings(data: Mapping[str, Any], origin: str = "policy settings") -> RuleSettings:
    """Settings from plain data. Raises FleetError with every problem at once."""
    problems: list[Finding] = []
    for key in data:
        if key not in KEYS:
            problems.append(_problem(key, f"{key!r} is not a setting", ", ".join(KEYS)))
    profile = data.get("profile", AUTO)
    allowed = [AUTO, *Profile]
    if profile not in allowed:
        problems.append(_problem("profile", f"{profile!r} is not a profile", ", ".join(allowed)))
        profile = AUTO
    environment = data.get("environment")
    if environment is not None and not isinstance(environment, str):
        problems.append(_problem("environment", f"{environment!r} is not a name", "prod, dev, ..."))
        environment = None
    levels = dict(_levels(data.get("rules"), problems))
    exceptions = tuple(_exceptions(data.get("exceptions"), problems))
    thresholds = replace(
        _thresholds(data.get("thresholds"), problems),
        budgets=dict(_budgets(data.get("budgets"), problems)),
        owner_tags=_owners(data.get("ownerTags"), problems),
    )
    clusters = tuple(_clusters(data.get("clusters"), problems))
    reason = data.get("everythingOff", "")
    if "everythingOff" in data and not (isinstance(reason, str) and reason.strip()):
        problems.append(
            _problem("everythingOff", f"{reason!r} is not a reason", "a reason in words")
        )
    if problems:
        raise FleetError(problems, origin)
    return RuleSettings(
        None if profile == AUTO else Profile(profile),
        environment,
        levels,
        exceptions,
        thresholds,
        data.get("fleet"),
        clusters=clusters,
        everything_off=reason,
    )


def _clusters(value: Any, problems: list[Finding]) -> Iterator[str]:
    if value is None:
        return
    wanted = "a list of folders, such as clusters/*"
    if not is_list(value):
        problems.append(_problem("clusters", "must be a list", wanted))
        return
    for index, one in enumerate(value):
        if isinstance(one, str) and one.strip("/. "):
            yield one
        else:
            problems.append(_problem(f"clusters[{index}]", f"{one!r} is not a folder", wanted))


def _problem(path: str, message: str, allowed: str) -> Finding:
    return error("policy-setting-invalid", path, message, f"one of: {allowed}")


def _levels(value: Any, problems: list[Finding]) -> Iterator[tuple[str, Level]]:
    if value is None:
        return
    if not is_mapping(value):
        problems.append(_problem("rules", "must map rule ids to levels", ", ".join(Level)))
        return
    for rule, level in value.items():
        if rule not in by_id() and rule != EXCEPTION_INVALID:
            problems.append(_problem(f"rules.{rule}", "no such rule", "`gpufleet policies rules`"))
        elif level is False:
            yield rule, Level.OFF  # `off` without quotes, as YAML reads it
        elif level not in list(Level):
            problems.append(
                _problem(f"rules.{rule}", f"{level!r} is not a level", ", ".join(Level))
            )
        else:
            yield rule, Level(level)


def _exceptions(value: Any, problems: list[Finding]) -> Iterator[SettledException]:
    for index, raw in enumerate(items(value)):
        path = f"exceptions[{index}]"
        fields = mapping(raw)
        texts = {key: fields.get(key) for key in ("rule", "object", "reason")}
        until = fields.get("until")
        day = _day(until)
        if str(texts["rule"]) not in by_id():
            problems.append(
                _problem(
                    f"{path}.rule", f"{texts['rule']!r} is not a rule", "`gpufleet policies rules`"
                )
            )
        for key in ("object", "reason"):
            if not isinstance(texts[key], str) or not str(texts[key]).strip():
                wanted = (
                    "a reason in words" if key == "reason" else "a name such as `Deployment ml/*`"
                )
                problems.append(_problem(f"{path}.{key}", "is empty", wanted))
        named = texts["object"]
        if isinstance(named, str) and named.strip() and not named.strip("*?/ "):
            wanted = "a name such as `Deployment ml/*`"
            problems.append(_problem(f"{path}.object", "names every object", wanted))
        if day is None:
            problems.append(_problem(f"{path}.until", f"{until!r} is not a date", "YYYY-MM-DD"))
        if day is not None and all(isinstance(text, str) for text in texts.values()):
            yield SettledException(**texts, until=day)  # type: ignore[arg-type]
    if value is not None and not is_list(value):
        problems.append(_problem("exceptions", "must be a list", "rule, object, reason, until"))


def _day(value: Any) -> date | None:
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        return None


def _thresholds(value: Any, problems: list[Finding]) -> Thresholds:
    if value is None:
        return Thresholds()
    if not is_mapping(value):
        problems.append(_problem("thresholds", "must be a mapping", ", ".join(THRESHOLDS)))
        return Thresholds()
    chosen: dict[str, Any] = {}
    for key, raw in value.items():
        name = THRESHOLDS.get(key)
        if name is None:
            problems.append(
                _problem(f"thresholds.{key}", "no such threshold", ", ".join(THRESHOLDS))
            )
            continue
        number = _amount(raw)
        if number is None:
            problems.append(_problem(f"thresholds.{key}", f"{raw!r} is not an amount", "0 or more"))
            continue
        chosen[name] = int(number) if name in _WHOLE else number
    return Thresholds(**chosen)


_BUDGET_KEYS = {
    "standingUsdPerMonth": "standing_usd_per_month",
    "exposureUsdPerHour": "exposure_usd_per_hour",
}


def _budgets(value: Any, problems: list[Finding]) -> Iterator[tuple[str, EnvironmentBudget]]:
    """Environment -> budget; `*` represents every environment without one."""
    if value is None:
        return
    if not is_mapping(value):
        wanted = "an environment and its amounts"
        problems.append(_problem("budgets", "must be a mapping", wanted))
        return
    for environment, amounts in value.items():
        path = f"budgets.{environment}"
        if not is_mapping(amounts):
            problems.append(_problem(path, "must be a mapping", ", ".join(_BUDGET_KEYS)))
            continue
        chosen: dict[str, Decimal] = {}
        for key, raw in amounts.items():
            number = _amount(raw)
            if key not in _BUDGET_KEYS:
                problems.append(
                    _problem(f"{path}.{key}", "no such amount", ", ".join(_BUDGET_KEYS))
                )
            elif number is None:
                problems.append(_problem(f"{path}.{key}", f"{raw!r} is not an amount", "0 or more"))
            else:
                chosen[_BUDGET_KEYS[key]] = number
        yield str(environment).lower(), EnvironmentBudget(**chosen)


def _amount(raw: Any) -> Decimal | None:
    try:
        number = Decimal(str(raw))
    except InvalidOperation:
        return None
    if isinstance(raw, bool) or not number.is_finite() or abs(number.adjusted()) > _DIGITS:
        return None
    return number if number >= 0 else None


_DIGITS = 40
"""Maximum number of digits before and after the point; longer numbers could fill the memory."""


def _owners(tags: Any, problems: list[Finding]) -> tuple[str, ...]:
    if tags is None:
        return ()
    if not is_list(tags) or not all(isinstance(key, str) and key for key in tags):
        problems.append(_problem("ownerTags", f"{tags!r} is not a list of keys", "[owner, team]"))
        return ()
    return tuple(tags)
