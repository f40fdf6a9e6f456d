"""Cases of rules/kai_queues.py."""

from gpufleet.findings import Level
from tests.policies.cases.case import Case
from tests.policies.cases.workloads import deployment

LABEL = {'metadata.labels."kai.scheduler/queue"': "research"}
OF_RUNAI = {'metadata.labels."runai/queue"': "research"}
NOTE = {'metadata.annotations."kai.scheduler/queue"': "research"}
KAI = {"spec.template.spec.schedulerName": "kai-scheduler"}

CASES = (
    Case(
        "kai-queue-not-read",
        deployment({**LABEL, **KAI}),
        deployment(LABEL),
        "the label kai.scheduler/queue names the queue research, and the default scheduler takes "
        "the pods",
        Level.ADVISORY,
    ),
    Case(
        "kai-queue-not-read",
        deployment({**LABEL, **KAI}),
        deployment({**NOTE, **KAI}),
        "names the queue research in an annotation",
        Level.ADVISORY,
    ),
    Case(
        "kai-queue-not-read",
        deployment({**LABEL, **OF_RUNAI, **KAI}),
        deployment({**OF_RUNAI, **KAI}),
        "names the queue research in the label of Run:ai",
        Level.ADVISORY,
    ),
)
