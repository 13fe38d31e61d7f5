#!/bin/sh
# A control plane of our own on this machine, the shop loaded with the real kubectl, and a DaemonSet
# rolled pod by pod, while `explain --watch` tells where the traffic goes. Nothing but Python runs.
set -eu
bin=$(CDPATH= cd -- "$(dirname -- "${1:-.venv/bin/nearwise}")" && pwd)
here=$(dirname "$0")
PATH=$bin:$PATH
scratch=$(mktemp -d)
KUBECONFIG=$scratch/kubeconfig
export PATH KUBECONFIG
trap 'kill $running 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$scratch"' EXIT
running=

say() { printf '\n\033[1m%s\033[0m\n\n' "$*"; }
[ -t 1 ] && [ -z "${NO_COLOR:-}" ] || say() { printf '\n# %s\n\n' "$*"; }
show() {
    printf '$ %s\n' "$*"
    "$@"
}

say "A Kubernetes API with its controllers, on this machine"
echo '$ nearwise up &'
nearwise up --port 0 --kubeconfig "$KUBECONFIG" >"$scratch/up.log" 2>&1 &
running=$!
tries=0
until kubectl get namespaces >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt 100 ] || { cat "$scratch/up.log" >&2; exit 1; }
    sleep 0.1
done
show kubectl version

say "kubectl loads the shop; the controllers write its slices"
echo "$ kubectl create -f $here/shop"
kubectl create -f "$here/shop" 2>/dev/null | cut -d/ -f1 | sort | uniq -c
kubectl replace --subresource=status -f "$here/shop/2-nodes-and-pods.yaml" >/dev/null
sleep 1
show kubectl get endpointslices -n shop

say "Which services have hints"
show nearwise hints -n shop || [ $? -eq 1 ] # 1: there are findings

say "A DaemonSet is rolled pod by pod: where does its traffic go meanwhile?"
echo '$ nearwise explain shop/cache-preloader --watch &'
nearwise explain shop/cache-preloader --watch &
running="$running $!"
sleep 2
ready() {
    kubectl patch pod -n shop "$1" --subresource=status --type=strategic \
        -p "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"$2\"}]}}" >/dev/null
}
for pod in $(kubectl get pods -n shop -l app=cache-preloader -o name | head -n 3); do
    ready "${pod#pod/}" False
    sleep 1
    ready "${pod#pod/}" True
    sleep 1
done

say "That was it; nothing is left running"
