# SPDX-License-Identifier: GPL-2.0
# The virtual machine is what the other tests take it for: P-states that keep what is written, SMT, L3 domains, cgroup v2.
. tests/lib.sh

cpu=/sys/devices/system/cpu
tap_is "$(cat $cpu/cpu*/cpufreq/scaling_driver | sort | uniq -c | xargs)" '16 acpi-cpufreq' \
	'acpi-cpufreq drives every CPU'
tap_is "$(cat $cpu/cpu*/topology/thread_siblings_list | sort -u | wc -l)" 8 'there are eight cores of two threads'
tap_is "$(cat $cpu/cpu*/cache/index3/shared_cpu_list | sort -u | xargs)" '0-7 8-15' 'there are two L3 domains'

echo userspace >$cpu/cpu3/cpufreq/scaling_governor
echo 1700000 >$cpu/cpu3/cpufreq/scaling_setspeed
tap_is "$(cat $cpu/cpu3/cpufreq/scaling_cur_freq)" 1700000 'a set speed reads back'
tap_is "$(cat $cpu/cpu4/cpufreq/scaling_governor)" schedutil 'the other CPUs keep their governor'
echo schedutil >$cpu/cpu3/cpufreq/scaling_governor

controllers=$(cat /sys/fs/cgroup/cgroup.controllers)
case " $controllers " in *' cpuset cpu '*) status=0 ;; *) status=1 ;; esac
tap_ok $status "cgroup v2 offers cpuset and cpu ($controllers)"
tap_done
