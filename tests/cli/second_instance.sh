#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# waits: groups
# One machine has one controller: a second run, and a restore, step back from a live run, name it and touch nothing.
set -uo pipefail
. tests/lib.sh

[ "$(id -u)" -eq 0 ] || tap_skip_all 'a live run needs root'
parties=$BUILD/parties
scratch
sleep 600 &
own $!
printf '[service cli-first]\nmatch = pid:%s\ntarget = p99 < 25ms\n' $! >"$scratch/first.conf"
sed 's/cli-first/cli-second/' "$scratch/first.conf" >"$scratch/second.conf"

groups_of() {
	find /sys/fs/cgroup -type d -path "*/parties/$1" 2>/dev/null
}

: >"$scratch/first.err"
"$parties" run -c "$scratch/first.conf" --for 60s --quiet >"$scratch/first.out" 2>"$scratch/first.err" &
first=$!
own $first
for _ in {1..150}; do
	grep -q '^event=start' "$scratch/first.err" && break
	kill -0 $first 2>/dev/null || break
	sleep 0.1
done
if ! grep -q '^event=start' "$scratch/first.err"; then
	grep -q 'another instance' "$scratch/first.err" && tap_skip_all "somebody else's run: $(cat "$scratch/first.err")"
	tap_ok 1 'a first run starts'
	tap_note "$(cat "$scratch/first.err")"
	tap_done
fi
groups=$(groups_of cli-first)
[ -n "$groups" ]
tap_ok $? 'a first run starts and makes its groups'

# steps_back NAME COMMAND...
steps_back() {
	local name=$1 status
	shift
	"$@" >"$scratch/out" 2>"$scratch/err"
	status=$?
	tap_is $status 3 "$name: exit status"
	[ "$(wc -l <"$scratch/err")" -eq 1 ] && grep -qw $first "$scratch/err"
	tap_ok $? "$name: one line that names the first by its pid"
	tap_note "$(cat "$scratch/err")"
	[ -z "$(groups_of cli-second)" ] && [ "$(groups_of cli-first)" = "$groups" ] && kill -0 $first
	tap_ok $? "$name: the first run and its groups are as before"
}
steps_back 'a second run' "$parties" run -c "$scratch/second.conf" --for 1s
steps_back 'a restore' "$parties" restore

"$parties" doctor >"$scratch/out" 2>"$scratch/err"
tap_is "$? $(grep -c "^state  *no  *another instance is running, pid $first$" "$scratch/out")" '3 1' 'the doctor names the first'

kill -TERM $first
wait $first
tap_is $? 0 'the first run ends well when told to'
disown_pid $first
tap_is "$(groups_of 'cli-*')" '' 'no group is left'
tap_is "$("$parties" restore 2>&1)" 'nothing to restore' 'then there is nothing to restore'
tap_done
