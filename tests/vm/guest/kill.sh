# SPDX-License-Identifier: GPL-2.0
# The kill test on cgroup v2 and cpufreq.
KILLS=4 exec sh tests/faults/kill.sh
