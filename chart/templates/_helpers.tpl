{{/* Not by `required`: helm lint warns of that one, though a chart can't know these. */}}
{{- define "sidecar-first.image" -}}
{{- if not .Values.image }}{{ fail "image is required: the server's, where your nodes can pull it" }}{{ end }}
{{- .Values.image }}
{{- end }}

{{- define "sidecar-first.waiterImage" -}}
{{- if not .Values.waiterImage }}{{ fail "waiterImage is required: the waiter's, where your pods can pull it" }}{{ end }}
{{- .Values.waiterImage }}
{{- end }}

{{- define "sidecar-first.kubernetesVersion" -}}
{{- if not .Values.kubernetesVersion }}{{ fail "kubernetesVersion is required: the oldest node's, such as \"1.36\", with the quotes (kubectl get nodes)" }}{{ end }}
{{- .Values.kubernetesVersion }}
{{- end }}

{{/* What every pod takes from the values. The images are for Linux. */}}
{{- define "sidecar-first.pod" -}}
nodeSelector:
  kubernetes.io/os: linux
  {{- with omit (.Values.nodeSelector | default dict) "kubernetes.io/os" }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- if or .Values.pullSecret .Values.imagePullSecrets }}
imagePullSecrets:
  {{- with .Values.pullSecret }}
  - name: {{ . }}
  {{- end }}
  {{- with .Values.imagePullSecrets }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end }}

{{/* The configuration's text, without the newline at its end. */}}
{{- define "sidecar-first.configuration" -}}
{{- if kindIs "bool" .Values.lock }}{{ fail "lock is a boolean: write \"on\" or \"off\" with the quotes" }}{{ end }}
{{- $command := printf "sidecar-first config --helm --mode %s --namespace %s FILE > configuration.yaml" .Values.mode .Release.Namespace }}
{{- if .Values.configuration }}
{{- $text := trimSuffix "\n" .Values.configuration }}
{{- $made := .Values.webhooks }}
{{- if not $made }}{{ fail (printf "webhooks is missing beside configuration: make both with %s" $command) }}{{ end }}
{{- if ne $made.hash (printf "%s\n" $text | sha256sum) }}{{ fail (printf "webhooks were made for another configuration: make both with %s" $command) }}{{ end }}
{{- if or (ne $made.mode .Values.mode) (ne $made.namespace .Release.Namespace) }}{{ fail (printf "webhooks were made for mode %s and namespace %s: make them with %s" $made.mode $made.namespace $command) }}{{ end }}
{{- range $key := list "gate" "lock" "kubernetesVersion" "delivery" }}{{ if get $.Values $key }}{{ fail (printf "%s has no effect beside configuration: write it there" $key) }}{{ end }}{{ end }}
{{- $text }}
{{- else }}
{{- if .Values.webhooks }}{{ fail (printf "webhooks has no configuration beside it: make both with %s" $command) }}{{ end }}
{{- include "sidecar-first.standard" . | trim }}
{{- end }}
{{- end }}
