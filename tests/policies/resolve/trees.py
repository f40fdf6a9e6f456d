"""Kustomizations of our own with the features that repositories of GPU clusters use."""

BASE = {
    "base/kustomization.yaml": """\
namespace: base-ns
namePrefix: p-
commonLabels: {team: ml}
resources: [d.yaml, list.yaml]
configMapGenerator:
  - name: cfg
    files: [conf.txt, k=conf.txt]
    literals: [a=b]
images: [{name: vllm/vllm-openai, newTag: v2}]
""",
    "base/conf.txt": "hello: 1\n",
    "base/d.yaml": """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: llm}
spec:
  replicas: 1
  selector: {matchLabels: {app: llm}}
  template:
    metadata: {labels: {app: llm}}
    spec:
      tolerations: [{key: a, operator: Exists}]
      volumes: [{name: c, configMap: {name: cfg}}, {name: d, emptyDir: {}}]
      initContainers: [{name: i, image: busybox}]
      containers:
        - name: main
          image: vllm/vllm-openai:v1@sha256:abc
          args: [a, b]
          env: [{name: A, value: "1"}, {name: B, value: "2"}]
          ports: [{containerPort: 80}]
          volumeMounts: [{name: c, mountPath: /c}]
          resources: {limits: {nvidia.com/gpu: 1, cpu: 4}}
        - {name: side, image: "busybox:1"}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: hpa}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: llm}
  minReplicas: 1
  maxReplicas: 3
---
apiVersion: v1
kind: Service
metadata: {name: svc}
spec: {selector: {app: llm}, ports: [{port: 80, name: http}]}
""",
    "base/list.yaml": """\
apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: ServiceAccount, metadata: {name: sa}}
  - apiVersion: kueue.x-k8s.io/v1beta1
    kind: LocalQueue
    metadata: {name: q}
    spec: {clusterQueue: cq, x: [{name: a, v: 1}, {name: b}]}
  - {apiVersion: v1, kind: Namespace, metadata: {name: foo}}
""",
}
OVERLAY = {
    "comp/kustomization.yaml": """\
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
  - target: {kind: Deployment}
    patch: |
      - op: add
        path: /spec/template/spec/containers/0/args/-
        value: --tp=8
      - op: replace
        path: /spec/template/spec/containers/0/resources/limits/nvidia.com~1gpu
        value: 8
      - op: replace
        path: /spec/template/spec/dnsPolicy
        value: Default
""",
    "over/kustomization.yaml": """\
resources: [../base]
components: [../comp]
nameSuffix: -prod
namespace: prod
replicas: [{name: llm, count: 5}]
labels: [{pairs: {env: prod}, includeTemplates: true}]
commonAnnotations: {note: x}
patchesStrategicMerge:
  - sm.yaml
  - |-
    apiVersion: v1
    kind: Service
    metadata: {name: svc}
    spec: {ports: [{port: 80, targetPort: 8000}, {port: 90}]}
patches:
  - path: lq.yaml
  - target: {kind: Deployment, name: l.*}
    patch: |-
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: ignored}
      spec:
        template:
          spec:
            containers:
              - name: side
                $patch: delete
              - name: new
                image: x
              - name: main
                resources: {limits: {cpu: null, memory: 8Gi}}
                env: [{name: B, value: "3"}, {name: C, value: "4"}]
                args: [z]
            tolerations: [{key: b, operator: Exists}]
            nodeSelector: {gpu: h100}
configMapGenerator:
  - name: cfg
    behavior: merge
    literals: [a=c, z=9]
replacements:
  - source: {kind: Service, name: svc, fieldPath: spec.ports.0.port}
    targets:
      - select: {kind: Deployment}
        fieldPaths: ["spec.template.spec.containers.[name=main].env.[name=A].value"]
""",
    "over/sm.yaml": """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: llm}
spec:
  strategy: {type: Recreate}
  template:
    spec:
      volumes: [{name: e, emptyDir: {}}, {name: d, $patch: delete}]
      containers: [{name: main, volumeMounts: [{name: e, mountPath: /e}]}]
""",
    "over/lq.yaml": """\
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: q}
spec: {x: [{name: a, v: 2}]}
""",
}
SERVER = {
    "base/kustomization.yaml": "resources: [d.yaml]\n",
    "base/d.yaml": """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: llm}
spec:
  replicas: 1
  selector: {matchLabels: {app: llm}}
  template:
    metadata: {labels: {app: llm}}
    spec:
      nodeSelector: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.11.0
          args: [--model, org/model, --tensor-parallel-size, "1"]
          resources:
            requests: {cpu: "4", memory: 16Gi}
            limits: {memory: 16Gi, nvidia.com/gpu: 1}
""",
    "overlays/prod/kustomization.yaml": "resources: [../../base]\npatches: [{path: p.yaml}]\n",
    "overlays/prod/p.yaml": """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: llm}
spec:
  template:
    spec:
      containers:
        - name: vllm
          resources:
            limits: {nvidia.com/gpu: 8}
""",
}
"""Neither file alone shows that seven GPUs are idle."""
