{{- define "f5router.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "f5router.labels" -}}
app: {{ include "f5router.fullname" . }}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- /* metadata of an object; arguments: the root, a suffix of the name, and "namespaced" or a namespace */ -}}
{{- define "f5router.metadata" -}}
{{- $root := index . 0 -}}
name: {{ include "f5router.fullname" $root }}{{ index . 1 }}
{{- with index . 2 }}
namespace: {{ . }}
{{- end }}
labels:
  {{- include "f5router.labels" $root | nindent 2 }}
{{- end -}}

{{- define "f5router.account" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "f5router.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- /* A binding of the account; arguments: the root, a suffix, a namespace or "", kind and name of the role */ -}}
{{- define "f5router.binding" -}}
{{- $root := index . 0 -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ if index . 2 }}RoleBinding{{ else }}ClusterRoleBinding{{ end }}
metadata:
  {{- include "f5router.metadata" (list $root (index . 1) (index . 2)) | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ index . 3 }}
  name: {{ index . 4 }}
subjects:
- kind: ServiceAccount
  name: {{ include "f5router.account" $root }}
  namespace: {{ $root.Release.Namespace }}
{{- end -}}

{{- /* A role with its binding; arguments: the root, a suffix, a namespace or "", the rules as a list */ -}}
{{- define "f5router.role" -}}
{{- $root := index . 0 -}}
{{- $kind := ternary "Role" "ClusterRole" (ne (index . 2) "") -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}
metadata:
  {{- include "f5router.metadata" (list $root (index . 1) (index . 2)) | nindent 2 }}
rules:
{{ toYaml (index . 3) }}
---
{{ include "f5router.binding" (list $root (index . 1) (index . 2) $kind
     (printf "%s%s" (include "f5router.fullname" $root) (index . 1))) }}
{{- end -}}

{{- /* Refuse to let a router with election start beside one without it. Rendered without a cluster, nothing is
       known of the old Deployment, and nothing is refused. */ -}}
{{- define "f5router.guard" -}}
{{- $old := lookup "apps/v1" "Deployment" .Release.Namespace (include "f5router.fullname" .) -}}
{{- if and $old (gt (int .Values.replicaCount) 1) (eq (dig "spec" "strategy" "type" "" $old) "Recreate") -}}
{{- $status := dig "status" (dict) $old -}}
{{- $updated := int (dig "updatedReplicas" 0 $status) -}}
{{- $elects := contains "ROUTER_LEADER_ELECT" (dig "spec" "template" "spec" (dict) $old | toJson) -}}
{{- $seen := eq (int64 (dig "observedGeneration" 0 $status)) (int64 (dig "metadata" "generation" 0 $old)) -}}
{{- if not (and $elects $seen (gt $updated 0) (eq $updated (int (dig "replicas" 0 $status)))) -}}
{{- fail (printf "%s: a router without election may still run, and would undo the work of the new ones. First upgrade with --set leaderElection.enabled=true --set replicaCount=1 --wait, then with replicaCount=%d" (include "f5router.fullname" .) (int .Values.replicaCount)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
