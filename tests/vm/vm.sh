#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# timeout: 420
# timeout-all: 1300
# shares: yes
#
# Boots Debian's kernel in an emulated server (2 L3 domains of 4 cores of 2 threads, P-states, cgroup v2), runs our programs
# there and prints what they print.  Needs no root and no KVM; installs nothing; the guest has no network but loopback.
#
#   vm.sh                  the guest tests of tests/vm/guest, as TAP; when all tests are wanted, guest-all and lockdown, too
#   vm.sh --exec 'ls'      any commands (busybox sh, build's programs in PATH); exits with their status
#   vm.sh --exec 'ls' 'lockdown=confidentiality'      the same, with words for the kernel's command line
#
# The kernel package is fetched once into $BUILD/vm.
set -uo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
cd "$top" || exit 1
BUILD=${BUILD:-build}
cache=$BUILD/vm
nr_cpus=16
. tests/lib.sh

unable() {
	[ "$mode" = tests ] && tap_skip_all "$1"
	echo "vm.sh: $1" >&2
	exit 3
}

# Puts vmlinuz and the frequency modules of Debian's kernel into the cache.
fetch_kernel() {
	local package
	[ -f "$cache/vmlinuz" ] && return 0
	package=$(apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
	[ -n "$package" ] || unable 'apt knows no linux-image-amd64'
	(cd "$work" && apt-get download "$package" >apt.log 2>&1) || unable "cannot download $package: $(tail -n 1 "$work/apt.log")"
	mkdir -p "$work/kernel" "$cache/modules"
	dpkg-deb --fsys-tarfile "$work/$package"_*.deb |
		tar -x -C "$work/kernel" --wildcards './boot/vmlinuz-*' './lib/modules/*/cpufreq/*.ko' || exit 1
	find "$work/kernel/lib" \( -name 'cpufreq_*.ko' -o -name acpi-cpufreq.ko \) -exec mv {} "$cache/modules/" \; &&
		mv "$work"/kernel/boot/vmlinuz-* "$cache/vmlinuz"
}

# Copies programs into the guest's tree together with the libraries they load.
add_programs() {
	local dir=$1 program
	shift
	mkdir -p "$root/$dir"
	for program; do
		[ -f "$program" ] && [ -x "$program" ] || continue
		cp -L "$program" "$root/$dir/"
		ldd "$program" 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// { print $3 } $1 ~ /^\// { print $1 }'
	done | sort -u | while read -r library; do
		[ -f "$root$library" ] || cp -L --parents "$library" "$root"
	done
}

build_initramfs() {
	root=$work/root
	mkdir -p "$root"/{bin,dev,proc,sys,etc,usr/bin,usr/sbin,modules,lib64}
	cp /bin/busybox "$root/bin/busybox"
	cp "$here/init" "$root/init"
	cp "$cache"/modules/*.ko "$root/modules/"
	printf '%s\n' 'root:x:0:0::/root:/bin/sh' 'nobody:x:65534:65534::/:/bin/false' >"$root/etc/passwd"
	printf '%s\n' 'root:x:0:' 'nogroup:x:65534:' >"$root/etc/group"
	echo '127.0.0.1 localhost' >"$root/etc/hosts"
	add_programs parties/bin "$BUILD"/*
	add_programs parties/bin/tests "$BUILD"/tests/*
	add_programs usr/bin "$(command -v memcached)" /usr/bin/setpriv
	cp -r tests experiments "$root/parties/"
	printf '%s\n' "$1" >"$root/parties/run"
	(cd "$root" && find . | cpio -o -H newc -R 0:0 --quiet) >"$work/initramfs"
}

# Runs /parties/run in the guest with its output on stdout, $1 added to the kernel's command line.  Returns its status, 124
# after $limit seconds, 125 when the guest never came to its end.  The emulator shows SMT only to a kernel that believes in
# the other vendor; with a thread per CPU it may run stale code for ever after the guest's kernel patched a hot function
# (seen when programs attach under load).
boot() {
	"$here/pstates" $nr_cpus >"$work/pstates.asl" && iasl -p "$work/pstates" "$work/pstates.asl" >"$work/iasl.log" || return
	timeout --foreground "$limit" qemu-system-x86_64 -accel tcg,thread=single -M q35 -cpu EPYC-Milan,vendor=GenuineIntel \
		-smp $nr_cpus,sockets=2,cores=$((nr_cpus / 4)),threads=2 -m 3G -nodefaults -display none -nic none -no-reboot \
		-kernel "$cache/vmlinuz" -initrd "$work/initramfs" -acpitable "file=$work/pstates.aml" \
		-append 'console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable'" ${1:-}" \
		-serial "file:$work/console" -serial stdio -serial "file:$work/status" </dev/null 2>"$work/qemu.log" &
	own $!
	wait $! || return
	return "$(tr -cd '0-9' <"$work/status" | grep . || echo 125)"
}

# Turns the guest's "# begin NAME", TAP, "# end NAME STATUS" into one TAP stream.
merge() {
	awk '
		function result(word, text) { printf "%s %d - vm: %s\n", word, ++count, text; if (word != "ok") failed = 1 }
		/^# begin / { name = $3; planned = -1; seen = bad = skipped_all = 0; next }
		/^# end / {
			if (planned != seen && !skipped_all) result("not ok", name ": planned " planned " tests, ran " seen)
			else if ($4 != 0 && !bad) result("not ok", name ": exits " $4)
			name = ""
			next
		}
		/^1\.\.0 # SKIP/ { skipped_all = 1; sub(/^1\.\.0 /, ""); result("ok", name " " $0); next }
		/^1\.\.[0-9]+/ { planned = substr($1, 4) + 0; next }
		/^(not )?ok / {
			seen++
			word = $1 == "not" && !/# SKIP/ ? "not ok" : "ok"
			if (word != "ok") bad = 1
			sub(/^(not )?ok [0-9]* *(- )?/, "")
			result(word, name ": " $0)
			next
		}
		{ print /^#/ ? $0 : "# " $0 }
		END {
			if (name != "") result("not ok", name ": did not end")
			if (!count) result("not ok", "no test ran")
			printf "1..%d\n", count
			exit failed
		}'
}

mode=tests
if [ "${1:-}" = --exec ] && [ $# -ge 2 ] && [ $# -le 3 ]; then
	mode=exec
elif [ $# -gt 0 ]; then
	echo "usage: vm.sh [--exec COMMANDS [KERNEL-WORDS]]" >&2
	exit 2
fi

limit=300
for tool in qemu-system-x86_64 iasl busybox cpio apt-get; do
	command -v $tool >/dev/null || unable "$tool is not installed"
done
mkdir -p "$cache"
work=$(mktemp -d "$PWD/$cache/run.XXXXXX") || exit 1
at_exit "rm -rf '$work'"
fetch_kernel
build_initramfs "${2:-sh tests/vm/guest-tests}"
if [ $mode = exec ]; then
	boot "${3:-}"
else
	boot >"$work/output"
	status=$?
	if [ -n "${TEST_ALL:-}" ]; then
		limit=400
		build_initramfs 'sh tests/vm/guest-all'
		boot >>"$work/output" || status=$?
		build_initramfs 'echo "# begin lockdown"; sh tests/vm/lockdown; echo "# end lockdown $?"'
		boot lockdown=confidentiality >>"$work/output" || status=$?
	fi
	merge <"$work/output" && [ $status -eq 0 ]
fi
status=$?
[ $status -eq 0 ] || [ -s "$work/status" ] || tail -v -n 30 "$work/qemu.log" "$work/console" | sed 's/^/# /' >&2
exit $status
