#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# timeout: 400
# timeout-all: 400
# shares: yes
# Everything builds without a warning with the other compiler, too.  With its own one `make check` has built it so, or it
# would not have come here.  To warn, a compiler need not optimise as much.
set -uo pipefail
. tests/lib.sh

other=clang
! readelf -p .comment "$BUILD/parties" | grep -q clang || other=gcc
if command -v $other >/dev/null; then
	tap_try "$other builds everything without a warning" \
		nice make -j2 WERROR=1 CC=$other CFLAGS=-O1 BUILD="$BUILD/werror-$other" all tests
else
	tap_skip "$other builds everything without a warning" "$other is not installed"
fi
tap_done
