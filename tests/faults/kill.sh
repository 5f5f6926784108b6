#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# timeout: 300
# timeout-all: 1800
#
# Whatever way a run ends, the machine is as before: kill -9 at random moments (start and restore included), followed by
# `parties restore` or by the next run; SIGTERM, SIGINT, the end of its time; and a start that fails for want of descriptors
# at every possible place.  "As before" is the full listing of groups, their knobs, speeds and our threads' groups.
#
# SEED and KILLS override the random seed and the number of kills.  Plain sh: also runs in the virtual machine.
. tests/lib.sh

port=21210
kills=${KILLS:-20}
[ -z "$TEST_ALL" ] || kills=200
seed=${SEED:-$(date +%s)}
parties=$BUILD/parties

[ "$(id -u)" -eq 0 ] || tap_skip_all 'only root may move cores'
[ ! -e /run/parties ] || tap_skip_all 'another instance runs, or was killed: parties restore'
scratch

# Everything that a run may change, one value per line.
machine_state() {
	find /sys/fs/cgroup -type d | sort
	find /sys/fs/cgroup -type f \( -name 'cpuset.cpus' -o -name 'cpuset.mems' -o -name 'cpuset.cpu_exclusive' \
		-o -name 'cpuset.cpus.partition' -o -name 'cpu.cfs_*_us' -o -name 'cpu.max' -o -name 'cpu.shares' \
		-o -name 'cpu.weight' -o -name 'freezer.state' -o -name 'cgroup.freeze' -o -name 'cgroup.subtree_control' \) \
		-exec grep -H '' {} + | sort
	find /sys/devices/system/cpu/cpufreq/ -name 'scaling_m??_freq' -o -name 'scaling_governor' -o -name 'scaling_setspeed' |
		sort | xargs -r grep -H ''
	for pid in $services; do
		for task in /proc/"$pid"/task/*; do
			grep -H '' "$task/cgroup"
			grep -H Cpus_allowed_list "$task/status"
		done
	done
	ls -d /run/parties 2>/dev/null
}

as_before() {
	machine_state >"$scratch/after"
	diff "$scratch/before" "$scratch/after" >"$scratch/diff"
	tap_ok $? "$1"
	[ ! -s "$scratch/diff" ] || tap_note "$(head -n 20 "$scratch/diff"; tail -n 5 "$scratch/run.log")"
}

run() {
	"$parties" run -c "$scratch/conf" --quiet "$@" >"$scratch/run.log" 2>&1 &
	run=$!
	own $run
}

# over WHAT: waits for the run; its status must be 0.
over() {
	wait $run
	tap_is $? 0 "$1"
	disown_pid $run
}

kill_run() {
	kill -KILL $run 2>/dev/null
	wait $run 2>/dev/null
	disown_pid $run
}

start_services() {
	"$BUILD/truth-server" --port $port >"$scratch/ready" &
	services=$!
	"$BUILD/be-job" --threads 2 --out "$scratch/work" >/dev/null &
	services="$services $!"
	sleep 1000 &
	services="$services $!"
	own $services
	for i in 1 2 3 4 5 6 7 8 9 10; do
		grep -q ready "$scratch/ready" && break
		sleep 0.2
	done
	set -- $services
	cat >"$scratch/conf" <<-END
		[controller]
		interval = 50ms
		seed = $seed
		[service truth]
		match = port:$port
		target = p99 < 4ms
		[batch work]
		match = pid:$2
		[batch idle]
		match = pid:$3
	END
}

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

at_exit "$parties restore >/dev/null 2>&1"
start_services
"$BUILD/parties-load" --protocol truth --to 127.0.0.1:$port --connections 8 --rate 300 --service-us 500..3000 --for 1h \
	>/dev/null 2>&1 &
own $!
sleep 0.5
kill -0 $own_pids
tap_ok $? 'services and load run'
[ $tap_failed -eq 0 ] || tap_done
machine_state >"$scratch/before"
tap_note "seed $seed, $kills kills"

for signal in TERM INT HUP; do
	run
	sleep 1
	kill -$signal $run
	over "a run ends well on SIG$signal"
	as_before "SIG$signal: everything is as before"
done
run --for 500ms
over 'a run ends well when its time is over'
as_before 'end of time: everything is as before'

# The number of descriptors decides where the start fails; enough of them and it runs.
nr_failed=0
for nr in 4 5 6 7 8 9 10 12 14 16 18 20 22 24 28 32 36 40 48; do
	(ulimit -n $nr && exec "$parties" run -c "$scratch/conf" --quiet --for 100ms) >"$scratch/run.log" 2>&1
	case $? in
	0) ;;
	[1-4]) nr_failed=$((nr_failed + 1)) ;;
	*) tap_ok 1 "at most $nr descriptors: no crash" ;;
	esac
	as_before "at most $nr descriptors: everything is as before"
done
[ $nr_failed -gt 3 ]
tap_ok $? "want of descriptors made $nr_failed starts fail"

awk -v seed="$seed" -v n="$kills" 'BEGIN {
	srand(seed)
	for (i = 1; i <= n; i++) printf "%d %.3f %d %.3f\n", i, rand() * (i % 2 ? 0.3 : 2), int(rand() * 4), rand() * 0.05
}' >"$scratch/plan"
while read -r number delay way second; do
	round "$number" "$delay" "$way" "$second"
done <"$scratch/plan"
tap_done
