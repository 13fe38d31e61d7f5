#!/bin/sh
# A cluster of three zones on this machine, and where connections go when pods fail. It stays up for
# you to go on with. Needs root, and the program ip. LAB gives the lab another name.
set -eu
nearwise=${1:-.venv/bin/nearwise}
lab=${LAB:-lab}
named=${LAB:+ --name $LAB}

say() { printf '\n\033[1m%s\033[0m\n\n' "$*"; }
[ -t 1 ] && [ -z "${NO_COLOR:-}" ] || say() { printf '\n# %s\n\n' "$*"; }
run() {
    printf '$ nearwise lab %s\n' "$*"
    "$nearwise" lab "$@" --name "$lab"
}

[ "$(id -u)" = 0 ] || { echo "A lab makes network namespaces, which needs root: use sudo." >&2; exit 2; }
if [ -e "/run/nearwise/lab/$lab" ]; then
    echo "There is a lab already; this takes it away: $nearwise lab down$named" >&2
    exit 2
fi

say "Three zones, two nodes each, and two services"
run up >/dev/null
run status

say "Node a1 has clients of web: they stay in their zone"
run curl a1 web -n 200

say "One of the two pods of zone-a fails its readiness probe: the other one gets all of it"
run fail web-1
run curl a1 web -n 200

say "The other one fails too: now the whole cluster answers, until one is back"
run fail web-4
run curl a1 web -n 200
run heal web-1
run heal web-4
run curl a1 web -n 200

say "dns has a pod on every node; that of a1 dies: its zone steps in"
run curl a1 dns -n 100
run kill pod dns-a1 --wait
run curl a1 dns -n 100

say "The lab is still up. What to try next:"
cat <<END
  $nearwise lab rollout web$named
  $nearwise lab kill node b1$named
  $nearwise lab latency zone-a zone-b 5ms$named
  KUBECONFIG=/run/nearwise/lab/$lab/kubeconfig $nearwise explain web
  $nearwise lab down$named
END
