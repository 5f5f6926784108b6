#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# waits: yes
# parties on a tree that stands in for the machine, with faults of its files: what the controller does then, and that the
# tree is as before.
set -uo pipefail
. tests/lib.sh
. tests/cli/tree.lib

configure 'policy = parties-paper'

# What kernel files would say: their first lines.
picture() {
	(cd "$tree" && find . | sort && find . -type f -exec awk 'FNR == 1 { print FILENAME ": " $0 }' {} + | sort)
}
picture >"$scratch/before"

# steer STATUS NAME RULE...: a run with these faults ends so, and the tree is as before; where the faults keep the run from
# putting back, after a restore without them.  A run that is to fail has the time that it takes on a busy machine, and one
# whose fault passes (it happens once) is ended when it has.
steer() {
	local want=$1 name=$2 for=300ms until=
	shift 2
	[ "$want" = 0 ] || for=20s
	case "$*" in *' '[1-9]*) [ "$want" != 0 ] || until=event=apply-back for=20s ;; esac
	printf '%s\n' "$@" >"$scratch/rules"
	: >"$scratch/err"
	"$parties" --root "$tree" --inject "$scratch/rules" run -c "$scratch/conf" --quiet --for $for \
		--record "$scratch/record" >"$scratch/out" 2>"$scratch/err" &
	run=$!
	own $run
	while [ -n "$until" ] && kill -0 $run 2>/dev/null && ! grep -q "^$until" "$scratch/err"; do
		sleep 0.05
	done
	[ -z "$until" ] || kill -TERM $run
	wait $run
	tap_is $? "$want" "$name: exit status"
	disown_pid $run
	[ "$want" != 1 ] || tap_try "$name: restore does what the run could not" "$parties" --root "$tree" restore
	picture | diff "$scratch/before" - >"$scratch/diff"
	tap_ok $? "$name: the tree is as before"
	tap_note "$(head "$scratch/diff"; cat "$scratch/err")"
}
says() {
	tap_is "$(grep -c -- "$1" "$scratch/err")" "$2" "$3"
}
# A step that does not touch the file works in between.
comes_back() {
	grep 'event=apply' "$scratch/err" | awk -v what="event=apply-failed.*$1" 'NR % 2 ? $0 !~ what : !/^event=apply-back$/ { bad = 1 }
		END { exit bad || NR < 2 || NR % 2 }'
	tap_ok $? "$2"
}
moves() {
	sed -n '/violated_windows_pct/s/.*"moves":\([0-9]*\).*/\1/p' "$scratch/record"
}

steer 0 'no fault'
says 'sensor=made-up' 1 'latencies are made up on a tree'
says 'event=apply-failed' 0 'nothing fails'
free=$(moves)
[ "${free:-0}" -gt 3 ]
tap_ok $? "the controller moves things ($free times)"

steer 0 'a set is refused (ENOSPC) for a while' '/sys/fs/cgroup/mail/cpuset.cpus write ENOSPC 1 2'
comes_back 'No space left' 'it is told, and planned again until it works'
steer 1 'a set is refused (EACCES) for ever' '/sys/fs/cgroup/mail/cpuset.cpus write EACCES 0 2'
grep -q 'event=apply-failed.*Permission denied' "$scratch/err"
tap_ok $? 'it is told, and the run ends'
steer 0 'a quota is busy now and then' '*/cpu.max write EBUSY 1 3'
steer 4 'quotas are taken and do nothing' '*/cpu.max write ignored'
says "wrote '[^']*', reads 'max 100000'" 1 'what is written is read back'
steer 0 'reading fails for a moment' '*/cpuset.cpus read EIO 1 40'
comes_back 'Input/output error' 'the next intervals work'
steer 4 'a set may only be read' '/sys/fs/cgroup/search/cpuset.cpus open EPERM 1'
steer 3 'originals cannot be read' '/sys/fs/cgroup/mail/cpu.max read EIO'
steer 3 'there is no freezer' '*/cgroup.freeze open ENOENT'
steer 3 'there is no room for originals' '/run/parties/journal write ENOSPC'
says 'journal: No space left on device' 1 'it is told'
steer 3 'there is room for a few originals' '/run/parties/journal write ENOSPC 0 4'
steer 0 'best effort cannot be frozen at first' '*/cgroup.freeze write EIO 1'

echo 'root invalid (Cpu list in cpuset.cpus not exclusive)' >"$tree/sys/fs/cgroup/mail/cpuset.cpus.partition"
picture >"$scratch/before"
steer 0 'a partition is invalid'
says 'event=apply-failed' 0 'a set in it is moved as any other, and partitions are left alone'
for mode in dry-run observe; do
	"$parties" --root "$tree" run -c "$scratch/conf" --mode $mode --quiet --for 100ms >"$scratch/out" 2>"$scratch/err"
	tap_is "$? $(grep -c "event=start mode=$mode" "$scratch/err")" '0 1' "$mode works on a tree"
done
"$parties" --root "$tree" check -c "$scratch/conf" >"$scratch/out" 2>&1
tap_is "$? $(grep -c 'here: cores=16 cpuset=v2 freezer=v2 speed=bandwidth' "$scratch/out")" '0 1' 'check speaks of the tree'
echo '*/topology/core_cpus_list read EIO 1 7' >"$scratch/rules"
"$parties" --root "$tree" --inject "$scratch/rules" check -c "$scratch/conf" >"$scratch/out" 2>&1
tap_is "$? $(grep -c "topology below $tree/sys.*Input/output error" "$scratch/out")" '3 1' 'a topology that cannot be read is told'
picture | diff "$scratch/before" - >"$scratch/diff"
tap_ok $? 'none of them writes anything'

# (A plain file does not take "-cpuset" as the kernel does: the tree is made anew below.)
echo >"$tree/sys/fs/cgroup/cgroup.subtree_control"
echo '*/cgroup.subtree_control write EBUSY 1' >"$scratch/rules"
"$parties" --root "$tree" --inject "$scratch/rules" run -c "$scratch/conf" >"$scratch/out" 2>"$scratch/err"
tap_is $? 3 'controllers cannot be handed out (EBUSY): exit status'
says 'holds processes itself.*move them to a group below it' 1 'what is in the way is named, and what to do'

printf '/x write EBUSY\n/x rite EBUSY\n' >"$scratch/rules"
"$parties" --root "$tree" --inject "$scratch/rules" run -c "$scratch/conf" >"$scratch/out" 2>"$scratch/err"
tap_is "$? $(cut -d, -f 1 "$scratch/err")" "2 parties: $scratch/rules:2: operation: 'rite' is none of open" \
	'a rule without sense is told with its place, its key and the reason'
"$parties" --root / --inject "$scratch/record" run -c "$scratch/conf" >"$scratch/out" 2>"$scratch/err"
tap_is $? 2 'no rule counts on the machine itself'
"$parties" --root "$tree" observe --port 1 >"$scratch/out" 2>"$scratch/err"
tap_is "$? $(cat "$scratch/err")" '2 parties: observe does not work on a tree: leave --root out' \
	'what needs a kernel does not work on a tree'

rm -rf "$tree"
tests/fixtures/machines/make "$tree" epyc-7302 cpufreq=none groups=search:101,mail:102,jobs:103
picture >"$scratch/before"
# A run that is killed leaves its journal in the tree, and restore finds it there.
"$parties" --root "$tree" run -c "$scratch/conf" --quiet >"$scratch/out" 2>"$scratch/err" &
run=$!
own $run
for _ in {1..100}; do
	[ -s "$tree/run/parties/journal" ] && grep -q [0-9] "$tree/sys/fs/cgroup/mail/cpuset.cpus" && break
	sleep 0.05
done
kill -KILL $run
wait $run 2>/dev/null
disown_pid $run
"$parties" --root "$tree" restore >"$scratch/out" 2>&1
tap_is "$? $(grep -c 'put back' "$scratch/out")" '0 1' 'restore undoes a killed run of the tree'
picture | diff "$scratch/before" - >"$scratch/diff"
tap_ok $? 'and the tree is as before'

# Killed at each of its first writes to a group, and to the journal.
bad=
for where in '/run/parties/journal write killed 1 '{0,1,2,3} '/sys/fs/cgroup/* write killed 1 '{0,1,2,3,5,8,13}; do
	echo "$where" >"$scratch/rules"
	"$parties" --root "$tree" --inject "$scratch/rules" run -c "$scratch/conf" --quiet --for 10s >"$scratch/out" 2>"$scratch/err" &
	wait $! 2>/dev/null
	killed=$?
	"$parties" --root "$tree" restore >"$scratch/out" 2>&1 && picture | diff "$scratch/before" - >"$scratch/diff" && [ $killed -eq 137 ] ||
		bad="$bad $where: $killed"
done
tap_is "$bad" '' 'killed at each of its first writes, and put back: the tree is as before'
tap_note "$(cat "$scratch/diff" "$scratch/err")"
tap_done
