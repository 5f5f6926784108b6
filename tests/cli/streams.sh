#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# shares: yes
# Output that goes nowhere: a full disk, a closed stream, a reader that has gone.  The reason is told, the exit code says
# that something is missing, no file of ours gets what was meant for a stream, and nothing of the run itself is lost.
set -uo pipefail
. tests/lib.sh

parties=$BUILD/parties
scratch
tree=$scratch/tree
tests/fixtures/machines/make "$tree" epyc-7302 cpufreq=none groups=search:101
printf '[controller]\ninterval = 10ms\n[service search]\nmatch = cgroup:/search\ntarget = p99 < 25ms\n' >"$scratch/conf"
run=("$parties" --root "$tree" run -c "$scratch/conf" --for 100ms)

record=tests/fixtures/golden/parties-paper.record
# says NAME COMMAND...: with standard output on a full disk, and closed.
says() {
	local name=$1
	shift
	"$@" >/dev/full 2>"$scratch/err"
	tap_is "$? $(grep -v '^event=' "$scratch/err")" \
		"1 parties $name: the output cannot be written: No space left on device" "$name on a full disk"
	"$@" >&- 2>"$scratch/err"
	tap_is "$? $(grep -v '^event=' "$scratch/err")" "1 parties $name: the output cannot be written: Bad file descriptor" \
		"$name with its output closed"
}
says --help "$parties" --help
says --version "$parties" --version
says doctor "$parties" doctor --help
"${run[@]}" --record "$scratch/run" >/dev/null 2>&1
says explain "$parties" explain search -r "$scratch/run"
says replay "$parties" replay $record
says sim "$parties" sim tests/fixtures/golden/ramps.ini
says run "${run[@]}"

# What a run has to say on standard output, and its record, do not depend on each other.
"${run[@]}" --record "$scratch/closed" >&- 2>&- <&-
tap_is $? 1 'a run with every stream closed goes on to its end'
tap_try 'and its record has nothing of what was meant for them' "$parties" report "$scratch/closed" -o "$scratch/closed.csv"
"${run[@]}" --for 600ms --record "$scratch/head" 2>"$scratch/err" | head -1 >/dev/null
tap_is "${PIPESTATUS[0]} $(grep -vc '^event=' "$scratch/err") $(tail -1 "$scratch/head" | cut -c1-14)" '0 0 {"totals":true' \
	'a reader that has gone ends no run'
tap_done
