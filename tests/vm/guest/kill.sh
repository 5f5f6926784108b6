# SPDX-License-Identifier: GPL-2.0
# The kill test on cgroup v2 and cpufreq, with few kills: everything is slow here.
KILLS=3 exec sh tests/faults/kill.sh
