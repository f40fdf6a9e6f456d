{{/*
Labels every object of the chart carries.
*/}}
{{- define "device-plugin.labels" -}}
app.kubernetes.io/name: nvidia-device-plugin
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "device-plugin.namespace" -}}
{{ .Values.namespaceOverride | default .Release.Namespace }}
{{- end -}}
