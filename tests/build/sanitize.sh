#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# timeout: 600
# timeout-all: 900
# shares: yes
# The unit tests once more with clang's sanitizers for addresses and undefined behaviour, leaks included.  Those that make
# control groups on this machine come with sanitize_groups.sh, so that only they wait for others that do.
set -uo pipefail
. tests/lib.sh

want=${1:-}
tap_try 'the tests build with sanitizers' nice make -j2 BUILD="$BUILD" sanitized
for source in tests/unit/test_*.c; do
	[ "$(sed -n '1,20s/^ \* waits: \(groups\)$/\1/p' "$source")" = "$want" ] || continue
	name=$(basename "$source" .c)
	case $name in
	test_random_plants) few='20 0' ;; # its own numbers take a sanitizer half a minute
	*) few= ;;
	esac
	tap_try "$name is clean" timeout 100 "$BUILD/san/tests/$name" $few
done
tap_done
