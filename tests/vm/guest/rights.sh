# SPDX-License-Identifier: GPL-2.0
# The rights of an ordinary user on a kernel whose hooks are functions, and whose probes are perf events.
exec sh tests/live/rights.sh
