# SPDX-License-Identifier: GPL-2.0
# What the doctor says of a server with P-states and control groups of version 2 is what a run there finds.
. tests/lib.sh
. tests/live/observe.lib
scratch

truth-server --port 21260 >/dev/null &
server=$!
own $server
wait_for_port 21260
printf '[service truth]\nmatch = pid:%s\ntarget = p99 < 60ms\n' $server >"$scratch/conf"

# The programs are loaded once: a verifier in an emulator takes its time.
echo 0 >/sys/devices/system/cpu/cpu15/online
parties doctor -c "$scratch/conf" >"$scratch/out" 2>&1
tap_is "$? $(tail -n 1 "$scratch/out")" '0 run: can' 'a run could work'
sed 's/^/# /' "$scratch/out"
knob() {
	sed -n "s/^$1  *yes  *//p" "$scratch/out"
}
run=$(parties check -c "$scratch/conf" | sed -n 's/^; here: //p')
tap_note "$run"
tap_is "$(knob topology)" '8 cores of 15 CPUs, 2 L3 domains, 2 sockets, 1 NUMA node' 'cores are counted, an offline CPU is not'
grep -q 'offline, used once online: CPUs 15' "$scratch/out"
tap_ok $? 'the offline CPU is named'
tap_is "$(knob cpuset)" 'version 2 at /sys/fs/cgroup' 'cpusets are of version 2'
tap_is "$(knob frequency | sed 's/.* by \([a-z]*\), \([0-9]*\) steps.*/speed=cpufreq by=\1 steps=\2/')" "$(echo "$run" | sed 's/.* speed=/speed=/')" \
	'method and steps are those of a run'
echo 1 >/sys/devices/system/cpu/cpu15/online

mount -o remount,ro /sys
tap_is "$(parties check -c "$scratch/conf" | sed -n 's/^; here: .* \(speed=.*\)/\1/p')" 'speed=bandwidth' \
	'where /sys is read-only bandwidth stands in for frequency'
mount -o remount,rw /sys

# With what clients report, no program is loaded.
printf '[controller]\nfeedback = client\n' | cat - "$scratch/conf" >"$scratch/clients"
echo "client = $scratch/reports" >>"$scratch/clients"
: >"$scratch/reports"
printf '#!/bin/sh\nread -r line\n' >"$scratch/tuned"
chmod +x "$scratch/tuned"
mkfifo "$scratch/never"
"$scratch/tuned" <>"$scratch/never" &
own $!
tap_is "$(parties run -c "$scratch/clients" --mode dry-run --for 100ms 2>&1 | grep -c "tuned (pid $!) sets speeds, too")" 1 \
	'beside another program that sets speeds a run is refused, by its name'
tap_done
