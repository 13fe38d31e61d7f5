#!/bin/sh
# The story of a feature flag server with four pods, told from three dumps of one real cluster.
set -eu
nearwise=${1:-nearwise}
here=$(dirname "$0")

say() { printf '\n\033[1m%s\033[0m\n\n' "$*"; }
[ -t 1 ] && [ -z "${NO_COLOR:-}" ] || say() { printf '\n# %s\n\n' "$*"; }

say "1. Hints are on: four pods in zone 2c, every caller in zone 2a. Who gets the traffic?"
"$nearwise" explain platform/feature-flags -f "$here/flag-server-1-hints-on.yaml"

say "2. A node was added in 2a. Where did the hints go?"
"$nearwise" explain platform/feature-flags -f "$here/flag-server-2-hints-off.yaml"

say "3. That node is gone again."
"$nearwise" explain platform/feature-flags -f "$here/flag-server-3-hints-on-again.yaml"

say "4. How near is each service to losing its hints?"
"$nearwise" hints -f "$here/flag-server-3-hints-on-again.yaml"
echo
"$nearwise" hints -f "$here/shop.yaml" || [ $? -eq 1 ] # 1: there are findings
