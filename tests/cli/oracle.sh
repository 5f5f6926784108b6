#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shares: yes
# `parties sim --oracle`: its numbers for loads whose answer is known, and what a folder that cannot be made does.
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
scratch
parties=$BUILD/parties

# Four cores carry 4000 requests of 1 ms a second: half of that until 20 s, half as much again as they can until 40 s.
cat >"$scratch/burst.ini" <<END
[plant]
cores = 4
[controller]
policy = static
interval = 500ms
speed = none
[service a]
target = p99 < 50ms
service_time = 1ms
cv = 0.5
max_load = 4000
profile = at 0s 50%; at 20s 150%; at 40s 50%; hold 20s
END

field() {
	sed "s/.*\"$1\":\([^,}]*\).*/\1/" "$scratch/json"
}

"$parties" sim "$scratch/burst.ini" --oracle /proc/nothing --json >/dev/null 2>"$scratch/err"
tap_is $? 2 "a folder that cannot be made is refused"
grep -q '^parties sim: --oracle: /proc/nothing' "$scratch/err"
tap_ok $? "with its name"
"$parties" sim "$scratch/burst.ini" --oracle "$scratch/found" --json >"$scratch/json" 2>/dev/null
tap_ok $? "a run is compared with an oracle"
tap_is "$(field infeasible_windows)" 40 "windows that nobody could serve are counted"
tap_is "$(field time_in_v_pct)" 100.0 "all cores are valid wherever anything is"
nr=$(grep -o '"time_to_valid_s":null' "$scratch/json" | wc -l)
tap_is "$((nr))" 1 "a change that nothing could hold has no time"
tap_is "$(field be_work_vs_oracle)" null "work that nobody has is not compared"
"$parties" sim "$scratch/burst.ini" --oracle "$scratch/found" --json 2>"$scratch/err" | cmp -s "$scratch/json"
tap_ok $? "what was found gives the same answer"
tap_is "$(cat "$scratch/err")" '' "and is not looked for again"
# Half of the load needs three cores, two of them busy at 5.3 W: the fourth is idle at 0.4 W instead of parked at 0.1 W.
sed 's/^profile.*/profile = at 0s 50%; hold 20s/' "$scratch/burst.ini" >"$scratch/half.ini"
"$parties" sim "$scratch/half.ini" --oracle "$scratch/found" --json >"$scratch/json" 2>/dev/null
awk -v ratio="$(field energy_vs_oracle)" 'BEGIN { exit !(ratio > 1.01 && ratio < 1.06) }'
tap_ok $? "a core too much costs what an idle core costs: $(field energy_vs_oracle)"
tap_done
