#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# shares: yes
# Every header compiles alone, so that it can be included first; the library's also as C++.  Headers of the kernel side are
# compiled for BPF, those that serve both sides for both.
set -uo pipefail
. tests/lib.sh

flags="-fsyntax-only -Wall -Wextra -Werror -D_GNU_SOURCE -I. -Ibpf -Imetrics -Ipolicies -Icontroller -I$BUILD/bpf"

# alone HEADER COMPILER...: compiles a file that includes nothing but HEADER.
alone() {
	local header=$1
	shift
	printf '#include "%s"\n' "$header" | "$1" $flags "${@:2}" -
}

# A header that is bpf/kernel.h or includes it, however deep.
kernel_side() {
	printf '#include "%s"\n' "$1" | gcc -E -D__bpf__ -I. -Ibpf -x c - 2>/dev/null | grep '^# [0-9]* "[./]*bpf/kernel\.h"' >/dev/null
}

for header in {bpf,metrics,policies,controller,experiments/*}/*.h; do
	[ -e "$header" ] || continue
	if kernel_side "$header"; then
		tap_try "$header compiles alone for BPF" alone "$header" clang -target bpf -O2 -D__TARGET_ARCH_x86 \
			-Wno-unused-parameter -Wno-unused-function \
			-isystem "/usr/include/$(gcc -print-multiarch)" -x c
		continue
	fi
	tap_try "$header compiles alone with gcc" alone "$header" gcc -std=gnu11 -x c
	tap_try "$header compiles alone with clang" alone "$header" clang -std=gnu11 -x c
done
if command -v g++ >/dev/null; then
	tap_try 'metrics/ebee.h compiles as C++' alone metrics/ebee.h g++ -x c++
else
	tap_skip 'metrics/ebee.h compiles as C++' 'g++ is not installed'
fi
tap_done
