#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# shares: yes
# Options of policies, from a file or the command line to the decisions, the record, and back from it.
set -uo pipefail
. tests/lib.sh

parties=$BUILD/parties
scratch

# A scenario with an option in it; the policy stands below.
{
	printf '[policy]\noverlap = yes\n'
	cat tests/fixtures/golden/ramps.ini
} >"$scratch/with.ini"
play() {
	"$parties" sim "$@" --json --record "$scratch/record" >"$scratch/out" 2>"$scratch/err"
}
options() {
	sed -n '1s/.*"options":\({[^}]*}\).*/\1/p' "$scratch/record"
}
actions() {
	grep -o '"action":{.*' "$scratch/record"
}

play "$scratch/with.ini"
tap_is "$? $(cat "$scratch/err")" '0 ' 'a scenario may have options'
options | grep -q '"overlap":"yes"'
tap_ok $? 'the header of the record has them'
actions >"$scratch/file"
"$parties" replay "$scratch/record" >"$scratch/out" 2>&1
tap_is "$? $(sed 's/.*: //' "$scratch/out")" '0 141 decisions, all as recorded' 'a replay decides by them'
"$parties" replay "$scratch/record" --set overlap=no >"$scratch/out" 2>&1
tap_is $? 1 'a replay by another value differs'

play tests/fixtures/golden/ramps.ini --set overlap=yes
actions | cmp -s - "$scratch/file"
tap_ok $? 'the command line sets the same option to the same decisions'
play "$scratch/with.ini" --set overlap=no
options | grep -q '"overlap":"no"'
tap_ok $? 'the command line is stronger than the file'
! actions | cmp -s - "$scratch/file"
tap_ok $? 'another value decides otherwise'

play "$scratch/with.ini" --policy static
tap_is "$? $(cat "$scratch/err")" \
	"0 parties sim: the scenario's [policy] is for another policy and left out" 'another policy leaves them out and says so'
tap_is "$(options)" '{}' 'the header then has none'
play tests/fixtures/golden/ramps.ini --policy static --set overlap=yes
tap_is "$? $(cat "$scratch/err")" '2 parties sim: --set: overlap: nothing depends on it; known: policy, interval, feedback, seed' \
	'an option of another policy is refused'
play tests/fixtures/golden/ramps.ini --set overlap=yes --set policy=static
tap_is $? 2 'also when the policy is chosen after it'
play tests/fixtures/golden/ramps.ini --set interval=1s --set seed=3
tap_is "$? $(grep -c '"action"' "$scratch/record")" '0 71' 'keys of [controller] are set as well'

sed 's/^overlap.*/overlap = sometimes/' "$scratch/with.ini" >"$scratch/bad.ini"
play "$scratch/bad.ini"
tap_is "$? $(cat "$scratch/err")" "2 $scratch/bad.ini:2: overlap: 'sometimes' is not known: write no | yes" \
	'a wrong value in a scenario is told where it stands'
sed '1s/"options":{[^}]*}/"options":{"nope":"yes"}/' "$scratch/record" >"$scratch/changed"
"$parties" replay "$scratch/changed" >"$scratch/out" 2>&1
tap_is "$? $(cut -d, -f1 "$scratch/out")" "2 $scratch/changed:1: options: nope: no option of parties-paper; known: overlap" \
	'a record with an unknown option is refused'

sleep 600 &
own $!
printf "[service cli-a]\nmatch=pid:$!\ntarget=p99<25ms\n[policy]\noverlap=yes\n" >"$scratch/c.conf"
tap_is "$("$parties" check -c "$scratch/c.conf" | sed -n '/^\[policy\]/,/^$/p' | grep -c '^overlap  *= yes$')" 1 \
	'check prints them'
tap_done
