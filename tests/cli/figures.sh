#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shares: yes
# The comparison of policies: bad usage is refused, the ramp's row says what the adaptive policy is for, what was done
# is not done again, and the tables' arithmetic is that of a hand-made example.
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
scratch
figures=experiments/figures/run

for arguments in --seeds '--seeds 0' '--only nothing' --only --what --into nobody; do
	# shellcheck disable=SC2086
	$figures $arguments >"$scratch/out" 2>&1
	tap_is $? 2 "'figures/run $arguments' is refused"
done

# The ramp is known to hold beside noise; its row's third field is the mean of violated windows.
play() {
	$figures --seeds 1 --only ramp-misread --into "$scratch/figures" adaptive 2>"$scratch/err" >"$scratch/$1"
}
play first
tap_ok $? "one scenario is played"
awk -F'[| ]+' '$2 == "`adaptive`" && $3 <= 1 { ok = 1 } END { exit !ok }' "$scratch/first"
tap_ok $? "the adaptive policy violates at most one percent of the ramp's windows although it misreads"
tap_note "$(cat "$scratch/first" "$scratch/err")"
touch -d '1 hour ago' "$scratch"/figures/rows/*
play second
tap_is "$(find "$scratch/figures/rows" -mmin -5 -type f)" '' "what was done is not done again"
cmp -s "$scratch/first" "$scratch/second"
tap_ok $? "and gives the same table"

# Violations 1 and 3: mean 2, deviation sqrt 2, 95 % with one degree of freedom 12.71.  Energy 90 and 110: 14.1 %.
cat >"$scratch/table" <<END
ramp a 1 violated_windows_pct=1 late_requests_pct=0.5 energy_j=90 duration_s=120 moves=4 energy_vs_oracle=1.1
ramp a 2 violated_windows_pct=3 late_requests_pct=0.7 energy_j=110 duration_s=120 moves=8 energy_vs_oracle=1.3
END
echo '@table scenario ramp' >"$scratch/template"
# shellcheck disable=SC2016
tap_is "$(awk -f experiments/figures/tables.awk "$scratch/table" "$scratch/template" | tail -n 1)" \
	'| `a` | 2.00 ± 12.71 | 0.60 | 100 (14.1 %) | 1.200 | - | - | - | - | 3.0 |' \
	"a table has means, spreads and intervals"
tap_done
