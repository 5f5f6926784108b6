#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# waits: yes
# What a machine measures of itself, speed and package energy, stands in the record of a run beside what was asked for.
set -uo pipefail
. tests/lib.sh

scratch
tree=$scratch/tree
tests/fixtures/machines/make "$tree" vm-2 cgroup=v2 groups=a:101
zone=$tree/sys/class/powercap/intel-rapl:0
mkdir -p "$tree"/sys/devices/system/cpu/cpu{0,1}/cpufreq "$zone"
echo 2300000 | tee "$tree"/sys/devices/system/cpu/cpu{0,1}/cpufreq/cpuinfo_avg_freq >"$scratch/null"
echo package-0 >"$zone/name"
echo 10000000 >"$zone/max_energy_range_uj"
echo 9000000 >"$zone/energy_uj"
printf '[controller]\ninterval = 100ms\n[service a]\nmatch = cgroup:/a\ntarget = p99 < 60ms\n' >"$scratch/conf"

"$BUILD/parties" --root "$tree" run -c "$scratch/conf" --for 1s -q --record "$scratch/record" >"$scratch/out" 2>&1 &
run=$!
own $run
sleep 0.5
echo 1500000 >"$zone/energy_uj" # past the end of its range
wait $run
tap_is $? 0 'the run ends well'
grep -q 'event=start .* clock=cpuinfo_avg_freq ' "$scratch/out"
tap_ok $? 'what tells the speed is named at the start'
tap_is "$(sed -n 5p "$scratch/record" | grep -o '"measured_khz":[0-9]*')" '"measured_khz":2300000' 'the measured speed is on record'
tap_is "$(tail -n 1 "$scratch/record" | grep -o '"package_j":[0-9.]*')" '"package_j":2.5' 'so is what the package used'
tap_is "$(tail -n 1 "$scratch/record" | grep -o '"energy_source":"[a-z]*"')" '"energy_source":"modelled"' \
	'the energy that is scored stays modelled'
grep -q 'package energy    2.5 J (measured' "$scratch/out"
tap_ok $? 'the summary has both'
tap_done
