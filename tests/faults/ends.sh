#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# timeout: 240
# shares: groups
#
# Signals, the end of its time, and a start that fails for want of descriptors at every possible place: the machine is as
# before.
. tests/lib.sh
. tests/faults/run.lib

start_services
for signal in TERM INT HUP; do
	run
	started
	sleep 0.3
	kill -$signal $run
	over "a run ends well on SIG$signal"
	as_before "SIG$signal: everything is as before"
done
run --for 500ms
over 'a run ends well when its time is over'
as_before 'end of time: everything is as before'

# The number of descriptors decides where the start fails; enough of them and it runs.
nr_failed=0 enough=
[ -z "$TEST_ALL" ] || step=2
for nr in 4 5 6 8 10 15 20 30 $(seq 38 "${step:-5}" 90) 200; do
	(ulimit -n $nr && exec "$parties" run -c "$scratch/conf" --quiet --for 100ms) >"$scratch/run.log" 2>&1
	case $? in
	0) enough=$nr ;;
	[1-4]) nr_failed=$((nr_failed + 1)) ;;
	*) tap_ok 1 "at most $nr descriptors: no crash" ;;
	esac
	as_before "at most $nr descriptors: everything is as before"
done
[ $nr_failed -gt 8 ] && [ "$enough" = 200 ]
tap_ok $? "want of descriptors made $nr_failed starts fail, 200 were enough"
tap_done
