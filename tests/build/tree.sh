#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# What the source tree must not hold, what its pure files must not call, and that the manual pages are well formed.
set -uo pipefail
. tests/lib.sh

rm -f "$BUILD/purity"
tap_try 'pure files call nothing but each other and arithmetic' make BUILD="$BUILD" purity

if [ -e .git ]; then
	tap_is "$(git ls-files | grep -E '\.(o|a|so|d|aml|ko|deb|gcda|gcno|jsonl)$|\.skel\.h$|(^|/)vmlinux\.h$|^build')" '' \
		'no generated file is committed'
	tap_is "$(git ls-files -z | xargs -0 grep -lIE '(^|[^.[:alnum:]])/(wor[k]|hom[e]/[a-z]|Use[r]s)/' --)" '' \
		'no file names a path of the machine it was written on'
	tap_is "$(git ls-files -z | xargs -0 grep -lIE '[a-z]\.debia[n]\.org/|registr[y]\.[a-z]+' --)" '' \
		'no file names a package server'
else
	tap_skip 'the tree holds nothing generated' 'not a git checkout'
fi

if command -v mandoc >/dev/null; then
	for page in controller/man/*.[1-8]; do
		[ ! -e "$page" ] || tap_try "$page passes mandoc's lint" mandoc -T lint -W warning "$page"
	done
else
	tap_skip "manual pages pass mandoc's lint" 'mandoc is not installed'
fi
tap_done
