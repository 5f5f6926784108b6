#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# waits: yes
# `parties run` on trees of machines of many shapes, with every driver of frequency and every way of speed: it finds what
# there is, steers, and leaves the tree as it was.  TEST_ALL=1: every shape with every driver and every way.
set -uo pipefail
. tests/lib.sh

[ ! -w /dev/shm ] || export TMPDIR=/dev/shm
parties=$BUILD/parties
scratch
tree=$scratch/tree

picture() {
	(cd "$tree" && find . | sort && find . -type f -exec awk 'FNR == 1 { print FILENAME ": " $0 }' {} + | sort)
}
# configure WAY MATCH: with control groups they are named, elsewhere processes.
configure() {
	printf '[controller]\npolicy = parties-paper\ninterval = 10ms\nspeed = %s\n' "$1"
	printf '[service search]\nmatch = %s\ntarget = p99 < 25ms\n' "${2:-cgroup:/search}"
	printf '[service mail]\nmatch = %s\ntarget = p99 < 60ms\n' "${3:-cgroup:/mail}"
}
# lay_out SHAPE [KEY=VALUE]...: the tree of that machine
lay_out() {
	rm -rf "$tree"
	tests/fixtures/machines/make "$tree" "$@" groups=search:101,mail:102
	picture >"$scratch/before"
}
# steer STATUS WHAT WAY NAME [MATCH MATCH]: a run ends so, says WHAT at its start, and the tree is as before.
steer() {
	local want=$1 what=$2 way=$3 name=$4
	shift 4
	configure "$way" "$@" >"$scratch/conf"
	"$parties" --root "$tree" run -c "$scratch/conf" --quiet --for 50ms >"$scratch/out" 2>"$scratch/err"
	tap_is $? "$want" "$name, speed = $way: exit status"
	grep -q -- "$what" "$scratch/err" && ! grep -q 'event=apply-failed' "$scratch/err"
	tap_ok $? "$name, speed = $way: says $what"
	picture | diff "$scratch/before" - >"$scratch/diff"
	tap_ok $? "$name, speed = $way: the tree is as before"
	tap_note "$(head "$scratch/diff"; cat "$scratch/err")"
}
# What a driver gives.
way_of() {
	case $1 in
	none) echo speed=bandwidth ;;
	acpi) echo 'speed=cpufreq by=userspace steps=3' ;;
	acpi-nouser) echo 'speed=cpufreq by=cap steps=3' ;;
	nolist) echo 'speed=cpufreq by=userspace steps=16' ;;
	amd-pstate-epp) echo 'speed=cpufreq by=cap steps=16' ;;
	intel_pstate) echo 'speed=cpufreq by=cap steps=12' ;;
	esac
}
# every_way DRIVER NAME: on the tree that is laid out
every_way() {
	steer 0 "$(way_of "$1")" auto "$2"
	steer 0 speed=bandwidth bandwidth "$2"
	steer 0 speed=none none "$2"
	if [ "$1" = none ]; then
		steer 3 'lets nobody set the speed of its CPUs' cpufreq "$2"
	else
		steer 0 "$(way_of "$1")" cpufreq "$2"
	fi
}

drivers='none acpi acpi-nouser nolist amd-pstate-epp intel_pstate'
shapes=$(awk '!/^#/ { print $1 }' tests/fixtures/machines/shapes)
if [ "${TEST_ALL:-}" = 1 ]; then
	for shape in $shapes; do
		for driver in $drivers; do
			lay_out "$shape" cpufreq="$driver"
			every_way "$driver" "$shape with $driver"
		done
	done
else
	for driver in $drivers; do
		lay_out epyc-7302-nosmt cpufreq="$driver"
		steer 0 "$(way_of "$driver")" auto "an EPYC with $driver"
	done
	lay_out vm-2 cpufreq=acpi
	every_way acpi 'two CPUs with P-states'
	lay_out vm-odd
	every_way none 'a virtual machine'
fi
# Eight efficiency cores that are slower than the ladder of the performance cores.
lay_out i9-12900k
for cpu in {16..23}; do
	echo 2900000 | tee "$tree/sys/devices/system/cpu/cpu$cpu/cpufreq"/{cpuinfo_max_freq,scaling_max_freq} >/dev/null
	echo 1800000 >"$tree/sys/devices/system/cpu/cpu$cpu/cpufreq/base_frequency"
done
picture >"$scratch/before"
steer 0 'speed=cpufreq by=cap steps=12' auto 'cores of two kinds'
lay_out epyc-7302 cgroup=v2-nocpu cpufreq=none
steer 0 speed=none auto 'no cpu controller and no cpufreq'
lay_out epyc-7302 cgroup=v2-nocpuset
steer 0 'cpuset=none,affinity freezer=v2 speed=cpufreq' auto 'no cpuset controller' pid:101 pid:102
lay_out vm-2 cgroup=none
steer 0 'cpuset=none,affinity freezer=v0 speed=none' auto 'no control groups' pid:101 pid:102
tap_done
