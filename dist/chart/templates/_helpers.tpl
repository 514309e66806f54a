{{- define "iowhy.labels" -}}
app.kubernetes.io/name: iowhy
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
{{/* Whether the metrics can be reached from outside of the pod. */}}
{{- define "iowhy.wide" -}}
{{- if or .Values.metrics.open (and .Values.metrics.tokenSecret .Values.metrics.tlsSecret) }}yes{{ end -}}
{{- end -}}
