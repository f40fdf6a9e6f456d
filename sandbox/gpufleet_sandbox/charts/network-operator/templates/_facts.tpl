{{/*
Labels every object of the chart carries.
*/}}
{{- define "network-operator.labels" -}}
app.kubernetes.io/name: network-operator
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}
