#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# timeout: 600
# timeout-all: 900
# shares: yes
# The other compiler has no warning for anything either.  With its own one `make check` has built it so, or it would not have
# come here.  Clang compiles every file by itself, which is where compilers warn; with --all the other one builds everything.
set -uo pipefail
. tests/lib.sh

other=clang
! readelf -p .comment "$BUILD/parties" | grep -q clang || other=gcc
if ! command -v $other >/dev/null; then
	tap_skip "$other has no warning" "$other is not installed"
elif [ $other = gcc ] || [ -n "${TEST_ALL:-}" ]; then
	tap_try "$other builds everything without a warning" \
		nice make -j2 WERROR=1 CC=$other CFLAGS=-O1 BUILD="$BUILD/werror-$other" all tests
else
	tap_try "$other has no warning" nice make -j2 BUILD="$BUILD" warned
fi
tap_done
