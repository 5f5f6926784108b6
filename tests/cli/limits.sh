#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# waits: yes
# parties on a tree whose best effort has limits of memory, disk and egress: they are moved by tenths and by what the link
# sends, recorded, decided again from the record, and put back; without what they need it is said what to do.
set -uo pipefail
. tests/lib.sh
. tests/cli/tree.lib

cgroup=$tree/sys/fs/cgroup

# ready: controllers, a group of jobs without limits, little memory and a link of 10 Gbit/s that sends nothing.
ready() {
	local group
	for group in . search mail jobs; do
		echo 'cpuset cpu io memory pids' >"$cgroup/$group/cgroup.controllers"
		echo 'cpuset cpu io memory pids' >"$cgroup/$group/cgroup.subtree_control"
	done
	echo max >"$cgroup/jobs/memory.high"
	echo '259:0 rbps=max wbps=max riops=max wiops=max' >"$cgroup/jobs/io.max"
	echo 'MemAvailable: 500000 kB' >"$tree/proc/meminfo"
	mkdir -p "$tree/sys/class/net/eth0/statistics"
	echo 10000 >"$tree/sys/class/net/eth0/speed"
	echo 1000 >"$tree/sys/class/net/eth0/statistics/tx_bytes"
}

# What kernel files would say that a run writes: their first lines.
picture() {
	awk 'FNR == 1 { print FILENAME ": " $0 }' "$cgroup/jobs/"{memory.high,io.max,cpuset.cpus} "$cgroup"/*/cgroup.subtree_control
}

# prepare POLICY STORAGE: with $batch as best effort's keys and $link as the controller's.
prepare() {
	configure "policy = $1
$link
$2" 'storage = disk' "$batch"
}

# steer POLICY STORAGE [RULE...]
steer() {
	prepare "$1" "$2"
	run_on_tree $span "${@:3}"
}

# steer_until CONDITION POLICY STORAGE [RULE...]: the same, ended as soon as that holds, however long it takes.
steer_until() {
	local condition=$1 run status
	prepare "$2" "$3"
	printf '%s\n' "${@:4}" >"$scratch/rules"
	: >"$scratch/record" >"$scratch/err"
	"$parties" --root "$tree" --inject "$scratch/rules" run -c "$scratch/conf" --quiet --record "$scratch/record" \
		>"$scratch/out" 2>"$scratch/err" &
	run=$!
	own $run
	for _ in $(seq 600); do
		eval "$condition" && break
		kill -0 $run 2>/dev/null || break
		sleep 0.05
	done
	kill -TERM $run
	wait $run
	status=$?
	disown_pid $run
	return $status
}

# values KEY: all that a record says of best effort's KEY, one a line, without repetitions.
values() {
	grep -o "\"be\":{[^}]*}" "$scratch/record" | grep -o "\"$1\":[0-9.]*" | cut -d: -f2 | uniq
}

storage=$'[policy]\nstorage = yes'
limits=$'memory_high = 1G\nio_max = 259:0 rbps=100M'
span=250ms link= batch=$limits
ready
picture >"$scratch/before"

steer parties-paper ''
tap_is "$? $(values memory) $(values disk)" '0 10 10' 'without the option limits stay as they are configured'
steer_until '[ $(values memory | sort -u | wc -l) -ge 3 ]' parties-paper "$storage"
status=$?
tap_ok $((status || $(values memory | sort -un | wc -l) < 3)) 'with it memory of best effort is moved'
tap_note "$status $(values memory | tr '\n' ' ') $(cat "$scratch/err")"
tap_is "$(values memory | awk '$1 < 1 || $1 > 10 || (NR > 1 && ($1 - last) ^ 2 != 1) { print } { last = $1 }')" '' \
	'by one tenth at a time, and never to nothing'
tap_is "$(grep -c '"memory_slack":512000000' "$scratch/record")" "$(grep -c '"now_ns"' "$scratch/record")" \
	'how much memory is free is recorded'
tap_try 'the record is decided again as it was' "$parties" replay "$scratch/record"
picture | diff "$scratch/before" - >"$scratch/diff"
tap_ok $? 'limits are put back'
tap_note "$(cat "$scratch/diff")"
span=100ms
for policy in parties-released adaptive heracles static; do
	steer $policy ''
	tap_is "$? $(values memory) $(values disk)" '0 10 10' "$policy leaves limits alone"
done
span=250ms
steer_until 'grep -q event=apply-back "$scratch/err"' parties-paper "$storage" '*/jobs/memory.high write EINVAL 1 5'
tap_is "$? $(grep -c 'event=apply-failed.*memory.high' "$scratch/err") $(grep -c 'event=apply-back' "$scratch/err")" '0 1 1' \
	'a limit that is refused for a while is told once, and planned again'
tap_note "$(cat "$scratch/err")"
rm "$tree/proc/meminfo"
steer parties-paper "$storage"
tap_is "$? $(grep -c '"memory_slack":0[,}]' "$scratch/record")" "0 $(grep -c '"now_ns"' "$scratch/record")" \
	'memory that nobody knows is scarce'
ready
foreign() {
	if [ "$(head -n 1 "$cgroup/jobs/memory.high")" = 1073741824 ] && [ -z "${seen:-}" ]; then
		seen=1
		echo max >"$cgroup/jobs/memory.high"
	fi
	grep -q event=drift "$scratch/err"
}
steer_until foreign parties-paper ''
tap_is "$(grep -c 'event=drift note="jobs: somebody else changed its limits; put back"' "$scratch/err")" 1 'a limit that somebody else sets is put back'
tap_note "$(cat "$scratch/err")"

link='link = eth0' batch='egress = auto'
steer_until '[ $(values egress_limit_mbit | wc -l) -ge 3 ]' parties-paper ''
tap_is "$? $(values egress_limit_mbit | head -n 3 | tr '\n' ' ')" '0 500.0 1000.0 1500.0 ' \
	'a limit on egress starts with one step and grows on a link that is idle'
tap_note "$(cat "$scratch/err")"
steer_until '[ $(values egress_limit_mbit | wc -l) -ge 2 ]' parties-paper '' '*/tx_bytes read EIO 1 1'
tap_is "$? $(grep -c 'link eth0: Input/output error; the limit of egress stays' "$scratch/err")" '0 1' \
	'a link that is not seen for a while is told once, and the limit moves on afterwards'
tap_note "$(cat "$scratch/err")"
busy=()
for i in $(seq 40); do
	busy+=("*/tx_bytes read text=${i}000000000000 1")
done
steer_until '[ $(values link_mbit | wc -l) -ge 4 ]' parties-paper '' "${busy[@]}"
tap_is "$? $(values egress_limit_mbit | tr '\n' ' ')" '0 500.0 ' 'on a link that is busy it stays at the step it may keep'
tap_note "$(values link_mbit | tr '\n' ' ') $(grep ^event "$scratch/err")"

refused() {
	local what=$1 name=$2
	steer parties-paper ''
	tap_is "$? $(grep -c "$what" "$scratch/err")" '3 1' "$name"
	tap_note "$(cat "$scratch/err")"
}
ready
link='link = eth9'
refused 'no such interface; `ip -br link`' 'a link that is not there is an error'
link='link = eth0'
echo -1 >"$tree/sys/class/net/eth0/speed"
refused 'write for example link = eth0 10Gbit' 'one whose speed is not known is an error that says what to write'
span=100ms link='link = eth0 1Gbit'
steer parties-paper ''
tap_is "$? $(values egress_limit_mbit)" '0 50.0' 'a speed that is given counts, and steps shrink with a slow link'
batch=$limits
echo 'cpuset cpu pids' >"$cgroup/cgroup.controllers"
refused 'need version 2 of the controllers' 'limits without their controllers are an error'
tap_done
