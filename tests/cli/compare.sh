#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The comparison of policies: bad usage is refused, the ramp's row says what the adaptive policy is for, and the oracle gives
# the answer that can be worked out by hand.
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
scratch
compare=experiments/policies/compare

for arguments in --seeds '--seeds 0' '--only nothing' --only --what; do
	# shellcheck disable=SC2086
	$compare $arguments >"$scratch/out" 2>&1
	tap_is $? 2 "'compare $arguments' is refused"
done

$compare --seeds 2 --no-oracle --only ramp adaptive 2>/dev/null >"$scratch/table"
tap_ok $? "one scenario is compared"
awk '$1 == "ramp" && $2 == "adaptive" && $3 <= 0.5 && $6 + 0 <= 1 { ok = 1 } END { exit !ok }' "$scratch/table"
tap_ok $? "the adaptive policy violates at most half a percent of the ramp's windows"
tap_note "$(cat "$scratch/table")"

$compare --seeds 1 --only mixes-1 adaptive >/dev/null 2>&1
tap_is $? 2 "mixes of one service are refused"
"$BUILD/oracle" 2>/dev/null
tap_is $? 2 "an oracle without a scenario is refused"
# Two requests a second of 1 ms each hold on one core at the lowest speed: three cores are left for 10 s.
cat >"$scratch/calm.ini" <<END
[plant]
cores = 4
duration = 10s
[controller]
interval = 500ms
[service a]
target = p99 < 100ms
service_time = 1ms
max_load = 20
profile = at 0s 10%
END
tap_is "$("$BUILD/oracle" "$scratch/calm.ini" 2>/dev/null | sed 's/.*"be_work"/"be_work"/')" \
	'"be_work":27.27,"impossible_s":0.0}' "the oracle leaves three of four cores to best-effort work beside a calm service"
tap_done
