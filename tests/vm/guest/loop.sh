# SPDX-License-Identifier: GPL-2.0
# A closed loop on real cpusets and real P-states: what the record says is what the machine had.
. tests/lib.sh
. tests/live/observe.lib
scratch

truth-server --port 21240 --spin >/dev/null &
server=$!
be-job --threads 1 --out "$scratch/work" >/dev/null &
job=$!
own $server $job
wait_for_port 21240
cat >"$scratch/conf" <<END
[controller]
interval = 200ms
seed = 7
[service truth]
match = port:21240
target = p99 < 60ms
[batch work]
match = pid:$job
END
parties-load --protocol truth --to 127.0.0.1:21240 --connections 8 --for 1h --rate 20 --service-us 1000..3000 \
	--report "$scratch/reports" >/dev/null 2>&1 &
own $!

parties run -c "$scratch/conf" --quiet --record "$scratch/record" >"$scratch/log" 2>&1 &
run=$!
own $run

# It is not stopped while it loads its programs: a verifier in an emulator takes its time, and gives up on a signal.
until grep -q . "$scratch/record" 2>/dev/null || ! kill -0 $run 2>/dev/null; do
	sleep 0.2
done

# switch 0|1 CPU,CPU: off or on, and the controller has had a moment to see it.
switch() {
	for cpu in $(echo "$2" | tr ',-' '  '); do
		echo "$1" >"/sys/devices/system/cpu/cpu$cpu/online"
	done
	sleep 1
}

# The controller is stopped for each look, so that the record cannot run ahead of it; it ends after the last, which puts
# everything back.
looks=0
while kill -0 $run 2>/dev/null && [ $looks -lt 16 ]; do
	kill -STOP $run
	cpus=$(cat /sys/fs/cgroup/parties/truth/cpuset.cpus.effective 2>/dev/null)
	first=${cpus%%[-,]*}
	lines=$(grep -c . "$scratch/record")
	[ "$lines" -lt 2 ] || [ -z "$cpus" ] || echo "$lines $cpus" \
		"$(cat "/sys/devices/system/cpu/cpu$first/cpufreq/scaling_setspeed")" \
		"$(cat "/sys/devices/system/cpu/cpu$first/cpufreq/scaling_cur_freq")"
	kill -CONT $run
	looks=$((looks + 1))
	# The service's last core goes away, and comes back; the first CPU of all cannot.
	case $looks in
	5)
		gone=$(cat "/sys/devices/system/cpu/cpu${cpus##*[-,]}/topology/thread_siblings_list")
		case $gone in 0*) gone=$(cat /sys/devices/system/cpu/cpu15/topology/thread_siblings_list) ;; esac
		switch 0 "$gone"
		;;
	10) switch 1 "$gone" ;;
	esac
	sleep 0.4
done >"$scratch/seen"
kill -TERM $run
wait $run
tap_is $? 0 'the run ends well'
disown_pid $run
tap_is "$(grep -c -e 'event=cores-offline nr=1' -e 'event=cores-offline nr=0' "$scratch/log")" 2 \
	'a core that goes offline is planned around, and is back'
tap_is "$(grep -c 'event=apply-failed' "$scratch/log")" 0 'without a step that fails'
tap_note "$(cat "$scratch/log")"

# Record: cpus and kHz after each line; a look must match the last whole line or the step under way.
sed -n 's/.*"core_ids": *"\([^"]*\)".*"khz": *\([0-9]*\).*/\1 \2/p; t
	s/.*/- -/p' "$scratch/record" >"$scratch/recorded"
awk 'NR == FNR { cpus[FNR] = $1; khz[FNR] = $2; next }
	$3 != $4 { print "speed set " $3 ", speed now " $4 }
	cpus[$1] != $2 && cpus[$1 + 1] != $2 || khz[$1] != $3 && khz[$1 + 1] != $3 {
		print "line " $1 " says " cpus[$1] " " khz[$1] ", machine has " $2 " " $3
	}
	{ looks++; seen[$2 " " $3] = 1 }
	END { for (s in seen) kinds++; print looks + 0, kinds + 0 > "/dev/stderr" }' \
	"$scratch/recorded" "$scratch/seen" >"$scratch/wrong" 2>"$scratch/counts"
tap_is "$(head -n 5 "$scratch/wrong")" '' "cores and speed on record are those of the machine"
read -r looks kinds <"$scratch/counts"
[ "$looks" -ge 10 ] && [ "$kinds" -ge 2 ]
tap_ok $? "the machine was looked at $looks times and had $kinds different allocations"
tap_is "$(ls -d /sys/fs/cgroup/parties /run/parties 2>/dev/null)" '' 'nothing of the run is left'
tap_is "$(cat /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor | sort -u)" schedutil 'every governor is back'

# A run that ends while a core is offline: its CPUs' speed waits for them.  It goes by what the client sees, without loading
# any program.
sed -i "s|^seed.*|&\nfeedback = client|; s|^target.*|&\nclient = $scratch/reports|" "$scratch/conf"
parties run -c "$scratch/conf" --quiet --for 3s >"$scratch/log" 2>&1 &
run=$!
own $run
until grep -q 'event=start' "$scratch/log" || ! kill -0 $run 2>/dev/null; do
	sleep 0.2
done
switch 0 "$(cat /sys/devices/system/cpu/cpu15/topology/thread_siblings_list)"
wait $run
tap_is $? 0 'a run beside a core that went offline ends well'
disown_pid $run
switch 1 14,15
tap_is "$(cat /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor | sort -u | xargs)" 'schedutil userspace' \
	'the core comes back as it was during the run'
parties restore >"$scratch/log" 2>&1
tap_is $? 0 'restore puts the rest back'
tap_is "$(cat /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor | sort -u)" schedutil 'and every governor is as before'
tap_done
