{{/*
Labels every object of the chart carries.
*/}}
{{- define "dra-driver.labels" -}}
app.kubernetes.io/name: dra-driver-nvidia-gpu
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/*
The newest API version the cluster serves, unless one is asked for. Empty: none.
*/}}
{{- define "dra-driver.apiVersion" -}}
{{- $found := .Values.resourceApiVersion -}}
{{- range $version := list "v1" "v1beta2" "v1beta1" -}}
{{- $api := printf "resource.k8s.io/%s" $version -}}
{{- if and (not $found) ($.Capabilities.APIVersions.Has (printf "%s/DeviceClass" $api)) -}}
{{- $found = $api -}}
{{- end -}}
{{- end -}}
{{- $found -}}
{{- end -}}
