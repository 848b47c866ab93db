{{- define "ironbark.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "ironbark.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else }}
{{- $name := include "ironbark.name" . }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "ironbark.selector" -}}
app.kubernetes.io/name: {{ include "ironbark.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "ironbark.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{ include "ironbark.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "ironbark.suffix" -}}
{{- if contains "=" .Values.ldapDomain }}
{{- .Values.ldapDomain }}
{{- else }}
{{- printf "dc=%s" (.Values.ldapDomain | splitList "." | join ",dc=") }}
{{- end }}
{{- end }}

{{- define "ironbark.secret" -}}
{{- default (include "ironbark.fullname" .) .Values.existingSecret }}
{{- end }}

{{/* What copies follow: all servers that take writes, or any one of a cluster. */}}
{{- define "ironbark.hosts" -}}
{{- $name := include "ironbark.fullname" . }}
{{- if .Values.cluster.enabled }}
{{- printf "ldap://%s.%s.svc.%s:%d" $name .Release.Namespace .Values.clusterDomain (int .Values.service.ldapPort) }}
{{- else }}
{{- $root := . }}
{{- $urls := list }}
{{- range $number := until (int .Values.replicaCount) }}
{{- $urls = append $urls (printf "ldap://%s-%d.%s-headless.%s.svc.%s:1389" $name $number $name $root.Release.Namespace $root.Values.clusterDomain) }}
{{- end }}
{{- join " " $urls }}
{{- end }}
{{- end }}
