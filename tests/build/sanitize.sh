#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# timeout: 400
# timeout-all: 400
# shares: groups
# The unit tests once more with the address and undefined-behaviour sanitizers, leaks included.
set -uo pipefail
. tests/lib.sh

build=$BUILD/san
tap_try 'the tests build with sanitizers' nice make -j2 SAN=address,undefined CFLAGS='-O1 -g1' \
	BUILD="$build" $(printf "$build/%s " $(sed -n 's|^tests/unit/\(.*\)\.c$|tests/\1|p' < <(ls tests/unit/test_*.c)))
for source in tests/unit/test_*.c; do
	name=$(basename "$source" .c)
	case $name in
	test_random_plants) few='20 0' ;; # its own numbers take a sanitizer half a minute
	*) few= ;;
	esac
	tap_try "$name is clean" timeout 100 "$build/tests/$name" $few
done
tap_done
