#!/bin/sh
# The story of a feature flag server with four pods, told from three dumps of one real cluster.
set -eu
nearwise=${1:-nearwise}
here=$(dirname "$0")

say() { printf '\n\033[1m%s\033[0m\n\n' "$*"; }
[ -t 1 ] && [ -z "${NO_COLOR:-}" ] || say() { printf '\n# %s\n\n' "$*"; }
ask() {
    printf '$ nearwise %s\n' "$*"
    "$nearwise" "$@" || [ $? -eq 1 ] # 1: there are findings
}

say "1. Hints are on: four pods in zone 2c, every caller in zone 2a. Who gets the traffic?"
ask explain feature-flags -f "$here/flag-server-1-hints-on.yaml"

say "2. A node was added in 2a. Where did the hints go?"
ask explain feature-flags -f "$here/flag-server-2-hints-off.yaml"

say "3. That node is gone again. What does a caller in 2a get now?"
ask explain feature-flags -f "$here/flag-server-3-hints-on-again.yaml" --from ingress-proxy-1

say "4. How near is each service to losing its hints?"
ask hints -f "$here/flag-server-3-hints-on-again.yaml"
echo
ask hints -f "$here/shop.yaml"
