#!/usr/bin/env bash
# Lints the Helm chart, renders it with several values, and checks the result against the schemas of Kubernetes: fields
# that are missing, unknown or of a wrong type. Outside of CI: the first run builds helm, which takes minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
chart=packaging/chart/ironbark
tools=${TOOLS:-$PWD/target/chart-tools}
for program in go python3; do
  command -v "$program" >/dev/null || { echo "test-chart.sh: $program is needed" >&2; exit 2; }
done
mkdir -p "$tools"
[ -x "$tools/helm" ] || GOBIN=$tools go install helm.sh/helm/v3/cmd/helm@v3.17.3
[ -x "$tools/bin/kubernetes-validate" ] || {
  python3 -m venv "$tools"
  "$tools/bin/pip" --quiet install kubernetes-validate==1.37.0
}

"$tools/helm" lint --quiet --strict "$chart" --set adminPassword=x

# $1: the kinds that must be there, with their numbers; the rest: values.
renders() {
  local wanted=$1 found
  shift
  for version in 1.25.0 1.36.0; do
    "$tools/helm" template release "$chart" --kube-version "$version" "$@" >"$tools/rendered.yaml"
    "$tools/bin/kubernetes-validate" --strict --quiet -k "$version" "$tools/rendered.yaml"
  done
  found=$(sed -n 's/^kind: //p' "$tools/rendered.yaml" | sort | uniq -c | awk '{printf "%s%s=%s", s, $2, $1; s=" "}')
  [ "$found" = "$wanted" ] || { echo "test-chart.sh: $*: $found instead of $wanted" >&2; exit 1; }
}
has() { grep -qF -- "$1" "$tools/rendered.yaml" || { echo "test-chart.sh: missing: $1" >&2; exit 1; }; }
lacks() { ! grep -qF -- "$1" "$tools/rendered.yaml" || { echo "test-chart.sh: must not be there: $1" >&2; exit 1; }; }

renders 'Secret=1 Service=2 StatefulSet=1' --set adminPassword=x
has 'readOnlyRootFilesystem: true'
has 'value: "dc=example,dc=org"'
lacks IRONBARK_REPLICATION
renders 'Service=2 StatefulSet=1' --set existingSecret=mine,ldapDomain=o=acme,persistence.enabled=false
has 'secretName: mine'
has 'value: "o=acme"'
has 'emptyDir: {}'
renders 'ConfigMap=2 NetworkPolicy=1 PodDisruptionBudget=1 Secret=1 Service=4 StatefulSet=2' \
  --set 'adminPassword=x,replicaCount=3,readOnlyReplicaCount=2,configAdmin.enabled=true,configAdmin.password=y' \
  --set 'tls.enabled=true,tls.require=true,tls.secretName=cert,networkPolicy.enabled=true,persistence.storageClass=-' \
  --set 'customLdifFiles.a\.ldif=dn: dc=x,customSchemaFiles.b\.ldif=dn: cn=x,env.LDAP_CONFIGURE_PPOLICY=yes'
has 'ldap://release-ironbark-2.release-ironbark-headless.default.svc.cluster.local:1389'
has 'value: consumer'
has 'storageClassName: ""'
renders 'PodDisruptionBudget=1 Secret=1 Service=4 StatefulSet=2' --set adminPassword=x,readOnlyReplicaCount=1
has LDAP_ENABLE_SYNCPROV
"$tools/helm" lint --quiet --strict "$chart" -f "$chart/cluster-values.yaml"
renders 'NetworkPolicy=1 PodDisruptionBudget=1 Service=2 StatefulSet=1' -f "$chart/cluster-values.yaml"
has 'podManagementPolicy: Parallel'
has 'value: "https://etcd-0.etcd-headless.default.svc.cluster.local:2379,https://etcd-1.'
has 'value: "release-ironbark-0"'
has 'value: "$(HOSTNAME).release-ironbark-headless.default.svc.cluster.local:1390"'
has '- port: copy'
has 'secretKeyRef: {name: etcd-ldap, key: username}'
has 'items: [{key: password, path: password}]'
has /etcd-certs/ca.crt
lacks /etcd-certs/tls.key
lacks IRONBARK_REPLICATION
# Copies follow the service; they are no servers of the cluster.
renders 'NetworkPolicy=1 PodDisruptionBudget=1 Service=4 StatefulSet=2' -f "$chart/cluster-values.yaml" \
  --set 'readOnlyReplicaCount=1,cluster.begin=false,cluster.tls.clientCertificate=true,cluster.options=prefix=/here'
has 'value: "ldap://release-ironbark.default.svc.cluster.local:389"'
has LDAP_ENABLE_SYNCPROV
has 'value: "none"'
has /etcd-certs/tls.key
has 'value: "prefix=/here"'
[ "$(grep -c 'name: IRONBARK_CLUSTER$' "$tools/rendered.yaml")" = 1 ] || {
  echo 'test-chart.sh: copies are servers of the cluster' >&2
  exit 1
}
for wrong in '' 'adminPassword=x,tls.enabled=true' 'adminPassword=x,configAdmin.enabled=true' \
  'adminPassword=x,cluster.enabled=true' 'adminPassword=x,cluster.enabled=true,cluster.endpoints={etcd:2379}' \
  'adminPassword=x,cluster.enabled=true,cluster.endpoints={http://a:1},persistence.enabled=false' \
  'adminPassword=x,replicas=3' 'adminPassword=x,tls.verifyClients=maybe'; do
  if "$tools/helm" template release "$chart" --kube-version 1.30.0 --set "$wrong" >/dev/null 2>&1; then
    echo "test-chart.sh: rendered without what is needed: $wrong" >&2
    exit 1
  fi
done
echo 'chart: ok'
