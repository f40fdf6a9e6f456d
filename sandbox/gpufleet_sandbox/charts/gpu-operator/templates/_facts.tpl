{{/*
Labels every object of the chart carries.
*/}}
{{- define "gpu-operator.labels" -}}
app.kubernetes.io/name: gpu-operator
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/*
One section of the ClusterPolicy: the value section as it stands, without the keys named in "without".
Empty strings, lists and mappings stay away, as upstream writes only what is set.
Arguments: dict "values" <section> "without" <list of keys>.
*/}}
{{- define "gpu-operator.section" -}}
{{- $section := dict -}}
{{- $without := .without | default list -}}
{{- range $key, $value := .values -}}
{{- $empty := or (kindIs "invalid" $value) (and (or (kindIs "string" $value) (kindIs "map" $value) (kindIs "slice" $value)) (empty $value)) -}}
{{- if not (or $empty (has $key $without)) -}}
{{- $_ := set $section $key $value -}}
{{- end -}}
{{- end -}}
{{- toYaml $section -}}
{{- end -}}
