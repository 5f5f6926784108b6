#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# timeout: 600
# timeout-all: 900
# shares: groups
# What sanitize.sh leaves to it: the unit tests that make control groups on this machine.
exec tests/build/sanitize.sh groups
