#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# waits: yes
# The runner itself: what is wrong must be reported as failed, whatever way it goes wrong.
set -uo pipefail
. tests/lib.sh
scratch

# verdict BODY: what the runner's last line and exit status are for a test with this body.
verdict() {
	local output status
	printf '#!/bin/bash\n%s\n' "$1" >"$scratch/test.sh"
	chmod +x "$scratch/test.sh"
	output=$(tests/run "$scratch/test.sh" 2>&1)
	status=$?
	echo "$(printf '%s\n' "$output" | tail -n 1) -> $status"
}

tap_is "$(verdict 'echo 1..2; echo ok 1; echo ok 2 - b')" '2 passed, 0 failed, 0 skipped -> 0' 'passing tests pass'
tap_is "$(verdict 'echo 1..1; echo not ok 1; exit 1')" '0 passed, 1 failed, 0 skipped -> 1' 'a failing test fails'
tap_is "$(verdict 'echo 1..1; echo not ok 1')" '0 passed, 2 failed, 0 skipped -> 1' \
	'a failing test that exits with 0 is caught lying'
tap_is "$(verdict 'echo 1..1; echo ok 1; exit 3')" '1 passed, 1 failed, 0 skipped -> 1' 'a bad exit status fails'
tap_is "$(verdict 'echo 1..1; echo ok 1; kill -SEGV $$')" '1 passed, 1 failed, 0 skipped -> 1' 'a crash fails'
tap_is "$(verdict 'echo 1..2; echo not ok 1; kill -SEGV $$')" '0 passed, 2 failed, 0 skipped -> 1' \
	'a crash after a failure counts as well'
tap_is "$(verdict ':')" '0 passed, 1 failed, 0 skipped -> 1' 'no output fails'
tap_is "$(verdict 'echo ok 1')" '1 passed, 1 failed, 0 skipped -> 1' 'a missing plan fails'
tap_is "$(verdict 'echo 1..3; echo ok 1')" '1 passed, 1 failed, 0 skipped -> 1' 'a broken plan fails'
tap_is "$(verdict 'echo 1..0')" '0 passed, 1 failed, 0 skipped -> 1' 'an empty plan fails'
tap_is "$(verdict $'# timeout: 1\necho 1..1; echo ok 1; sleep 60')" '1 passed, 1 failed, 0 skipped -> 1' \
	'running out of time fails'
tap_is "$(verdict 'echo 1..1; echo ok 1; sleep 60 & exit 0')" '1 passed, 1 failed, 0 skipped -> 1' \
	'a process left behind fails'
tap_is "$(verdict 'echo 1..1; echo ok 1; mktemp >/dev/null')" '1 passed, 1 failed, 0 skipped -> 1' \
	'a file left behind fails'
tap_is "$(verdict 'echo 1..2; echo "ok 1 - a # SKIP no root"; echo no disk; echo "not ok 2 # SKIP b"')" \
	'0 passed, 0 failed, 2 skipped -> 0' 'both spellings of a skip count as skipped'
tap_is "$(verdict 'echo "1..0 # SKIP no root"')" '0 passed, 0 failed, 1 skipped -> 0' 'a whole script can be skipped'
tap_is "$(tests/run "$scratch/absent" | tail -n 1)" '0 passed, 1 failed, 0 skipped' 'a missing program fails'

# Tests that share the machine: all of them count.
for ((i = 1; i <= 3; i++)); do
	printf '#!/bin/bash\n# shares: yes\necho 1..2; echo ok 1; echo "ok 2 - b # SKIP reason %d"; exit %d\n' $i $((i == 2)) >"$scratch/share$i.sh"
	chmod +x "$scratch/share$i.sh"
done
tests/run "$scratch"/share{1,2,3}.sh >"$scratch/output"
tap_is "$(tail -n 1 "$scratch/output")" '3 passed, 1 failed, 3 skipped' 'tests that share the machine are added up'
tap_is "$(grep -c '^  .*: b # SKIP reason' "$scratch/output")" 3 'and their skips are named'

# Of those with the same word, one at a time.
for i in 1 2; do
	printf '#!/bin/bash\n# shares: word\necho 1..1; mkdir "%s/busy" && echo ok 1; sleep 0.2; rmdir "%s/busy"\n' "$scratch" "$scratch" \
		>"$scratch/word$i.sh"
	chmod +x "$scratch/word$i.sh"
done
tap_is "$(tests/run "$scratch"/word{1,2}.sh | tail -n 1)" '2 passed, 0 failed, 0 skipped' 'tests of the same word wait for each other'

# Those that wait do so beside each other, before those that share, and after those that say nothing.
beside() {
	printf '#!/bin/bash\n# %s\necho 1..1; echo %s >>"%s/order"; %s; echo ok 1\n' "$2" "$1" "$scratch" "$3" >"$scratch/$1.sh"
	chmod +x "$scratch/$1.sh"
}
beside shares 'shares: yes' :
for i in 1 2; do
	beside wait$i 'waits: yes' "touch '$scratch/here$i'; until [ -e '$scratch/here$((3 - i))' ]; do sleep 0.05; done"
done
beside alone '' :
tests/run "$scratch"/{shares,wait1,wait2,alone}.sh >"$scratch/output"
tap_is "$(tail -n 1 "$scratch/output")" '4 passed, 0 failed, 0 skipped' 'tests that wait are beside each other'
tap_is "$(tr -d 12 <"$scratch/order" | xargs)" 'alone wait wait shares' 'between those that have the machine and those that share it'
tap_is "$(grep -c '^  [1-4]/4 .* ok ' "$scratch/output")" 4 'how far it is stands before each'

# Ctrl-C must end the test that is running.
printf '#!/bin/bash\necho $$ >"%s/pid"\nsleep 60\n' "$scratch" >"$scratch/test.sh"
tests/run "$scratch/test.sh" >/dev/null 2>&1 &
runner=$!
for ((i = 0; i < 50; i++)); do
	[ -s "$scratch/pid" ] && break
	sleep 0.1
done
kill -TERM $runner
wait $runner
tap_is $? 143 'an interrupted runner says so'
tap_is "$(ps -o pid= -p "$(cat "$scratch/pid")")" '' 'and ends the test that was running'
tap_done
