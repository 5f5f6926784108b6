#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# timeout: 400
# timeout-all: 400
# shares: yes
# The other compiler has no warning for anything either.  With its own one `make check` has built it so, or it would not have
# come here.  With --all the other one builds everything; otherwise every file is compiled by
# itself, which is where compilers warn.
set -uo pipefail
. tests/lib.sh

other=clang
! readelf -p .comment "$BUILD/parties" | grep -q clang || other=gcc
if ! command -v $other >/dev/null; then
	tap_skip "$other has no warning" "$other is not installed"
elif [ -n "${TEST_ALL:-}" ]; then
	tap_try "$other builds everything without a warning" \
		nice make -j2 WERROR=1 CC=$other CFLAGS=-O1 BUILD="$BUILD/werror-$other" all tests
else
	tap_try "$other has no warning" nice make -j2 WERROR=1 CC=$other CFLAGS='-O0 -Itests' BUILD="$BUILD/werror-$other" objects
fi
tap_done
