#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# shares: yes
# A simulated run is decided again from its record; what was changed by hand, by an option or by a cut is found where it is.
set -uo pipefail
. tests/lib.sh

parties=$BUILD/parties
scratch

# replay STATUS PATTERN NAME ARGUMENT...: the first line printed has PATTERN.
replay() {
	local want=$1 pattern=$2 name=$3
	shift 3
	"$parties" replay "$@" >"$scratch/out" 2>&1
	tap_is $? "$want" "$name: exit status"
	head -n 1 "$scratch/out" | grep -q -- "$pattern"
	tap_ok $? "$name: '$pattern'"
	tap_note "$(head -n 3 "$scratch/out")"
}

# change LINE SED: writes the record with one line changed; nothing to change is a failure.
change() {
	sed "$1$2" "$scratch/parties-paper" >"$scratch/changed"
	! cmp -s "$scratch/parties-paper" "$scratch/changed"
	tap_ok $? "line $1 is changed by $2"
}

for policy in parties-paper adaptive static; do
	"$parties" sim experiments/fig11/fig11.ini --policy $policy --record "$scratch/$policy" --json >/dev/null
	tap_ok $? "$policy plays fig11"
	replay 0 ': [12][48]0*1 decisions, all as recorded$' "$policy decides the same again" "$scratch/$policy"
done
record=$scratch/parties-paper

cat >"$scratch/alone.ini" <<'END'
[plant]
cores = 4
[service a]
target = p99 < 50ms
service_time = 1ms
max_load = 4000
profile = at 0s 50%; hold 10s
END
"$parties" sim "$scratch/alone.ini" --record "$scratch/alone" >/dev/null
tap_ok $? 'a single service is played'
replay 0 'decisions, all as recorded$' 'a single service decides the same again' "$scratch/alone"

change 102 's/"reason":"[a-z-]*"/"reason":"no-signal"/'
replay 1 'changed:102: first difference: tick 100, 50.000 s, service ' 'another reason is found' "$scratch/changed"
tap_is "$(grep -c ': counterfactual: tick ' "$scratch/out")" 180 'the 180 decisions after it are counterfactual'
tap_is "$(grep -c '^  recorded: {"reason":"no-signal"' "$scratch/out")" 1 'what was recorded is shown'
change 60 's/"be_cores":/"be_cores":1/'
replay 1 'changed:60: first difference: tick 58, 29.000 s' 'other wanted cores are found' "$scratch/changed"
change 80 's/"cores":\([0-9]*\),"core_ids"/"cores":1\1,"core_ids"/2'
replay 1 'changed:80: first difference: tick 78, 39.000 s, service memcached$' 'other cores in force are found' \
	"$scratch/changed"
change 100 's/"arrivals":[0-9]*,"completed":[0-9]*/"arrivals":9,"completed":0/g; 100s/"in_flight":[0-9]*/"in_flight":9/g'
replay 1 'changed:10[0-9]: first difference' 'other measurements change a decision' "$scratch/changed"

replay 1 ':3: first difference: tick 1, 0.500 s, service memcached$' 'another policy differs' "$record" --policy static
tap_is "$(sed -n 's/^  now: *{"reason":"\([a-z]*\)".*/\1/p' "$scratch/out")" hold 'what is decided now is shown'
replay 1 ':[0-9]*: first difference: tick [0-9]*, [0-9.]* s, service search$' 'another target differs' \
	"$record" --set 'search.target = p99 < 20ms'
replay 1 'first difference' 'another seed differs' "$record" --set seed=2
replay 0 'all as recorded$' 'the recorded values change nothing' \
	"$record" --set policy=parties-paper --set seed=1 --set 'search.target=p99 < 25ms' --set memcached.cores=1.. \
	--set overlap=no --policy parties-paper

# Decisions of today against those of when the records were made; tests/fixtures/golden/make makes them
# anew when a policy is meant to decide otherwise.
for policy in parties-paper parties-released adaptive heracles; do
	replay 0 'all as recorded$' "$policy decides as in its golden record" "tests/fixtures/golden/$policy.record"
done

replay 2 "unknown policy 'nope'" 'a policy that is not there' "$record" --policy nope
replay 2 '--set: interval: nothing depends on it; known: policy, seed, SERVICE.target, SERVICE.cores' 'a key that decides nothing' "$record" --set interval=1s
replay 2 '--set: x.target: nothing depends on it' 'a service that is not there' "$record" --set 'x.target=p99 < 1s'
replay 2 'is not KEY=VALUE' 'a word' "$record" --set search
replay 2 'only the percentile p99$' 'another percentile' "$record" --set 'search.target=p95 < 25ms'
replay 2 ':1: the services need at least 17 cores' 'more cores than there are' "$record" --set search.cores=16
replay 2 'an operand is missing' 'no record'
replay 2 '/nonexistent: No such file' 'a record that is not there' /nonexistent

head -c -9 "$record" >"$scratch/cut"
replay 2 'cut:283: the line is cut off: ' 'a cut last line' "$scratch/cut"
head -n 200 "$record" >"$scratch/killed"
replay 0 'killed: 199 decisions, all as recorded$' 'a record of a killed run' "$scratch/killed"
sed 77d "$record" >"$scratch/gap"
"$parties" replay "$scratch/gap" >"$scratch/out" 2>&1
tap_is "$? $(cat "$scratch/out")" \
	"2 $scratch/gap:77: the window does not begin where the one before ended: a line is missing" 'a lost line is noticed'
sed 's/"now_ns":[0-9]*,//' "$record" >"$scratch/older"
replay 2 'older:2: now_ns is missing or out of range; a record of an older version' 'an older record' "$scratch/older"
"$parties" replay "$record" >/dev/full 2>"$scratch/err"
tap_is "$? $(cat "$scratch/err")" '1 parties replay: the output cannot be written: No space left on device' \
	'an output that cannot be written is a failure'
: >"$scratch/empty"
replay 2 'empty:0: empty$' 'an empty file' "$scratch/empty"
tap_done
