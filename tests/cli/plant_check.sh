#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shares: yes
# plant-check: a small run agrees with theory, a service without slack is refused, and bad usage as well.
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
scratch
check=$BUILD/plant-check

"$check" --help >"$scratch/out" 2>/dev/null
tap_is $? 0 "help is printed"
for arguments in '--requests 0' '--requests x' '--only nothing' '--what' 'a b' '--only theory a' /nonexistent; do
	# shellcheck disable=SC2086
	"$check" $arguments >"$scratch/out" 2>&1
	tap_is $? 2 "'plant-check $arguments' is refused"
done

"$check" --requests 400000 --only services >"$scratch/out" 2>/dev/null
tap_is $? 0 "the published services leave slack to steer by"
tap_is "$(awk '$5 > 0.7 && $5 < 1.4' "$scratch/out" | grep -c .)" 6 "each is near its target at its maximum load"
tap_note "$(cat "$scratch/out")"

cat >"$scratch/tight.ini" <<END
[plant]
cores = 14
duration = 1s
[service tight]
like = xapian
target = p99 < 2ms
profile = at 0s 30%
END
"$check" --requests 400000 "$scratch/tight.ini" >"$scratch/out" 2>"$scratch/err"
tap_is $? 1 "a service whose p99 at 30 % is over 0.8 of its target is refused"
grep -q 'tight: p99 at 30 % load is 1.2. of the target, more than 0.8' "$scratch/err"
tap_ok $? "and the message says so"
tap_note "$(tr '\r' '\n' <"$scratch/err")"
tap_done
