#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# timeout: 240
# shares: groups
# timeout-all: 1800
#
# kill -9 at random moments, start and restore included, and then `parties restore` or the next run: the machine is as
# before.  SEED and KILLS override the random seed and the number of kills.
. tests/lib.sh
. tests/faults/run.lib

kills=${KILLS:-20}
[ -z "$TEST_ALL" ] || kills=200
seed=${SEED:-$(date +%s)}

# One kill and one way back: restore, a restore that is itself killed, a whole run, a run that is killed too.
round() {
	local number=$1 delay=$2 way=$3 second=$4
	run
	sleep "$delay"
	kill_run
	case $way in
	0) ;;
	1)
		"$parties" restore >/dev/null 2>&1 &
		run=$!
		sleep "$second"
		kill_run
		;;
	2)
		run --for 300ms
		over "run $number after the kill ends well"
		;;
	3)
		run
		sleep "$second"
		kill_run
		;;
	esac
	[ "$way" = 2 ] || tap_try "restore $number succeeds" "$parties" restore
	as_before "kill $number after $delay s, way $way after $second s: everything is as before"
}

start_services
tap_note "seed $seed, $kills kills"
awk -v seed="$seed" -v n="$kills" 'BEGIN {
	srand(seed)
	for (i = 1; i <= n; i++) printf "%d %.3f %d %.3f\n", i, rand() * (i % 2 ? 0.3 : 2), int(rand() * 4), rand() * 0.05
}' >"$scratch/plan"
while read -r number delay way second; do
	round "$number" "$delay" "$way" "$second"
done <"$scratch/plan"
tap_done
