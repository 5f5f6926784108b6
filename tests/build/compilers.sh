#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# timeout: 400
# timeout-all: 400
# Everything builds without a warning with both compilers.
set -uo pipefail
. tests/lib.sh

for compiler in gcc clang; do
	if command -v $compiler >/dev/null; then
		tap_try "$compiler builds everything without a warning" \
			make -j2 WERROR=1 CC=$compiler BUILD="$BUILD/werror-$compiler" all tests
	else
		tap_skip "$compiler builds everything without a warning" "$compiler is not installed"
	fi
done
tap_done
