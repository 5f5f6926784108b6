# SPDX-License-Identifier: GPL-2.0
# CPUs that are offline when a run begins: a whole core, and the second thread of another.  They come online meanwhile, are
# taken up with their speed, and everything is back afterwards.
. tests/lib.sh
scratch
cpu=/sys/devices/system/cpu
switch() {
	for i in $2; do
		echo "$1" >$cpu/cpu"$i"/online
	done
}
governors() {
	cat $cpu/cpu*/cpufreq/scaling_governor | sort -u | xargs
}
lines() {
	cat "$scratch/record" 2>/dev/null | wc -l
}
core=$(tr ',-' '  ' <$cpu/cpu15/topology/thread_siblings_list)
second=$(cat $cpu/cpu12/topology/thread_siblings_list)
second=${second##*[-,]}

sleep 1000 &
jobs=$!
own $jobs
: >"$scratch/reports"
printf '[controller]\npolicy = static\ninterval = 200ms\nfeedback = client\n[service jobs]\nmatch = pid:%s\nclient = %s\ntarget = p99 < 60ms\n' \
	$jobs "$scratch/reports" >"$scratch/conf"
switch 0 "$core $second"
parties run -c "$scratch/conf" --quiet --record "$scratch/record" >"$scratch/log" 2>&1 &
run=$!
own $run
until [ "$(lines)" -gt 3 ] || ! kill -0 $run 2>/dev/null; do
	sleep 0.2
done
# What the service has now, and some windows later.
cpus() {
	tail -n 1 "$scratch/record" | sed 's/.*"core_ids": *"\([^"]*\)".*/\1/'
}
wait_some() {
	seen=$(lines)
	until [ "$(lines)" -gt $((seen + 6)) ] || ! kill -0 $run 2>/dev/null; do
		sleep 0.2
	done
}
before=$(cpus)
switch 1 "$core $second"
wait_some
after=$(cpus)
smt=$(cat $cpu/smt/control 2>/dev/null)
if [ "$smt" = on ]; then
	echo off >$cpu/smt/control
	wait_some
	halved=$(cat /sys/fs/cgroup/parties/jobs/cpuset.cpus)
	echo on >$cpu/smt/control
	wait_some
fi
during=$(governors)
had=$(cat /sys/fs/cgroup/parties/jobs/cpuset.cpus)
kill -TERM $run
wait $run
tap_is $? 0 'the run ends well'
disown_pid $run
tap_is "$(grep -c 'event=cores-added nr=1' "$scratch/log")" 1 'a core that was offline at the start is added'
# A set may be a moment late to have a CPU in effect that has just come.
tap_is "$(grep -c 'event=apply-failed' "$scratch/log")" "$(grep -c 'event=apply-back' "$scratch/log")" \
	'a step that fails for a moment is made good by the next'
[ "$before" != "$after" ]
tap_ok $? "a second thread joins its core: $before, then $after"
tap_is "$had" "$after" 'the record says what the group had'
if [ "$smt" = on ]; then
	tap_is "$halved" "$(seq -s , 0 2 "${after##*[-,]}")" 'with SMT switched off each core has one CPU, and both when it is on again'
else
	tap_skip 'SMT is switched off and on' "smt/control says ${smt:-nothing}"
fi
tap_is "$during" userspace 'their speed is set like that of all'
tap_is "$(governors)" schedutil 'and put back in the end'
tap_is "$(ls -d /sys/fs/cgroup/parties /run/parties 2>/dev/null)" '' 'nothing of the run is left'
tap_note "$(cat "$scratch/log")"
tap_done
