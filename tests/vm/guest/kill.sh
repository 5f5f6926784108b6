# SPDX-License-Identifier: GPL-2.0
# The kill test on cgroup v2 and cpufreq, with few kills, and without the programs: everything is slow here.
FEEDBACK=client BUSY=no RATE=50 INTERVAL=100ms KILLS=4 exec sh tests/faults/kill.sh
