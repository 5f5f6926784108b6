#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# shares: yes
# Simulated runs steered by what clients see: their own latencies, the kernel's beside them, decided again to the byte; and
# the figure that compares the two.
set -uo pipefail
. tests/lib.sh

parties=$BUILD/parties
scratch
sed '/^\[service slow\]/a network = 1ms 1ms' tests/fixtures/golden/ramps.ini >"$scratch/ramps.ini"

# sim FEEDBACK: a record of it, with the totals.
sim() {
	"$parties" sim "$scratch/ramps.ini" --policy adaptive --set feedback="$1" --record "$scratch/$1" --json \
		>"$scratch/$1.totals"
}

# mean KEY FILE: over all windows of the service behind the network.
mean() {
	sed -n "s/.*\"name\":\"slow\"[^}]*\"$1\":\([0-9.]*\).*\"name\":\"fast\".*/\1/p" "$2" |
		awk '{ sum += $1 } END { printf "%.0f\n", NR ? sum / NR : 0 }'
}

for feedback in bpf client both client-first; do
	tap_try "feedback = $feedback is simulated" sim $feedback
	tap_try "a run with $feedback decides again as recorded" "$parties" replay "$scratch/$feedback"
done
decisions() {
	sed -n 's/.*"action":/"action":/p' "$1" | cksum
}
tap_is "$(decisions "$scratch/both")" "$(decisions "$scratch/bpf")" 'what is only recorded beside it changes no decision'
[ "$(decisions "$scratch/client")" != "$(decisions "$scratch/bpf")" ]
tap_ok $? 'other feedback leads to other decisions'
[ "$(mean other_p99_us "$scratch/both")" -gt $(($(mean p99_us "$scratch/both") + 1000)) ]
tap_ok $? 'clients behind a network wait longer than the kernel sees'
[ "$(mean other_p99_us "$scratch/client-first")" -lt $(($(mean p99_us "$scratch/client-first") - 1000)) ]
tap_ok $? 'and where they steer, theirs comes first'
! grep -q other_ "$scratch/bpf" "$scratch/client"
tap_ok $? 'a run with one feedback has nothing beside it'

experiments/fig11/feedback --seeds 1 --policy adaptive >"$scratch/table"
tap_ok $? 'both are compared and drawn by one command'
awk '/the clients/ { client = $4 } /the kernel/ { kernel = $4 } END { exit !(kernel > 0 && kernel < client) }' "$scratch/table"
tap_ok $? 'kernel feedback leaves out the network, and leaves the service less on the way down'
tap_note "$(cat "$scratch/table")"
tap_done
