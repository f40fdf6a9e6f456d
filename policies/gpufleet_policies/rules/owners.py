"""Owner keys as patches: what is missing is added with the value that the settings give it."""

import re
from collections.abc import Iterable, Mapping

from gpufleet.cluster import WorkloadFacts
from gpufleet.cluster.pool import Maker, NodePool
from gpufleet.findings.remediation import JsonPatch, add
from gpufleet_policies.rules.pool_money import patchable

_CHART = "helm.sh"
"""API group of workloads that a chart makes: their labels are not the release's."""

_LABEL_KEY = re.compile(
    r"(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
)
_LABEL_VALUE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
"""Labels of Kubernetes (its documentation, Labels and Selectors)."""

_GOOGLE_KEY = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_GOOGLE_VALUE = re.compile(r"[a-z0-9_-]{1,63}")
"""Labels of Google Cloud (its documentation, Labels overview), without letters of other scripts."""

_AWS_KEY = re.compile(r"(?!aws:)[A-Za-z0-9 +=._:/@-]{1,128}")
_AWS_VALUE = re.compile(r"[A-Za-z0-9 +=._:/@-]{1,256}")
"""Tags of AWS (Amazon EC2 user guide, tag restrictions), without letters of other scripts."""


def label_patch(
    workload: WorkloadFacts, keys: Iterable[str], values: Mapping[str, str]
) -> JsonPatch:
    """Labels of the object itself: its pods stay as they are."""
    if workload.api_group == _CHART or not workload.metadata_known:
        return ()
    new = _fitting(keys, values, _LABEL_KEY, _LABEL_VALUE)
    return _written(new, "metadata.labels", there=workload.labels_written)


def tag_patch(pool: NodePool, keys: Iterable[str], values: Mapping[str, str]) -> JsonPatch:
    """Tags or labels in the spelling of the pool's maker; what does not fit it is left out."""
    field = pool.tag_field
    if field is None or not patchable(pool):
        return ()
    if pool.maker is Maker.GKE:
        folded = {key: value.lower() for key, value in values.items()}
        found = _fitting(keys, folded, _ANY, _GOOGLE_VALUE).items()
        spelled = {key.rpartition("/")[2].lower(): value for key, value in found}
        new = {key: value for key, value in spelled.items() if _GOOGLE_KEY.fullmatch(key)}
    elif pool.maker in (Maker.EKS, Maker.AWS):
        new = _fitting(keys, values, _AWS_KEY, _AWS_VALUE)
    else:
        new = _fitting(keys, values, _LABEL_KEY, _LABEL_VALUE)
    if not field.listed:
        return _written(new, field.place, there=field.written)
    tags = [{"key": k, "value": v, "propagateAtLaunch": True} for k, v in new.items()]
    if field.written:
        return tuple(add(tag, field.place, "-") for tag in tags)
    return (add(tags, field.place),) if tags else ()


_ANY = re.compile(r".+")


def _fitting(
    keys: Iterable[str], values: Mapping[str, str], key_form: re.Pattern[str], form: re.Pattern[str]
) -> dict[str, str]:
    given = {key: values[key] for key in keys if key in values}
    return {k: v for k, v in given.items() if key_form.fullmatch(k) and form.fullmatch(v)}


def _written(new: Mapping[str, str], place: str, *, there: bool) -> JsonPatch:
    if there:
        return tuple(add(value, place, key) for key, value in new.items())
    return (add(dict(new), place),) if new else ()
