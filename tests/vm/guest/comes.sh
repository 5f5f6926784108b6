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
work=$!
own $work
: >"$scratch/reports"
printf '[controller]\npolicy = static\ninterval = 200ms\nfeedback = client\n[service work]\nmatch = pid:%s\nclient = %s\ntarget = p99 < 60ms\n' \
	$work "$scratch/reports" >"$scratch/conf"
switch 0 "$core $second"
parties run -c "$scratch/conf" --quiet --record "$scratch/record" >"$scratch/log" 2>&1 &
run=$!
own $run
until [ "$(lines)" -gt 3 ] || ! kill -0 $run 2>/dev/null; do
	sleep 0.2
done
before=$(tail -n 1 "$scratch/record" | sed 's/.*"core_ids": *"\([^"]*\)".*/\1/')
switch 1 "$core $second"
seen=$(lines)
until [ "$(lines)" -gt $((seen + 6)) ] || ! kill -0 $run 2>/dev/null; do
	sleep 0.2
done
after=$(tail -n 1 "$scratch/record" | sed 's/.*"core_ids": *"\([^"]*\)".*/\1/')
during=$(governors)
cpus=$(cat /sys/fs/cgroup/parties/work/cpuset.cpus)
kill -TERM $run
wait $run
tap_is $? 0 'the run ends well'
disown_pid $run
tap_is "$(grep -c 'event=cores-added nr=1' "$scratch/log")" 1 'a core that was offline at the start is added'
tap_is "$(grep -c 'event=apply-failed' "$scratch/log")" 0 'without a step that fails'
[ "$before" != "$after" ]
tap_ok $? "a second thread joins its core: $before, then $after"
tap_is "$cpus" "$after" 'the record says what the group had'
tap_is "$during" userspace 'their speed is set like that of all'
tap_is "$(governors)" schedutil 'and put back in the end'
tap_is "$(ls -d /sys/fs/cgroup/parties /run/parties 2>/dev/null)" '' 'nothing of the run is left'
tap_note "$(cat "$scratch/log")"
tap_done
