#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# timeout: 620
# timeout-all: 1300
# shares: yes
#
# Boots Debian's kernel in an emulated server (2 L3 domains of 4 cores of 2 threads, P-states, cgroup v2), runs our programs
# there and prints what they print.  Needs no root and no KVM; installs nothing; the guest has no network but loopback.
#
#   vm.sh [BOOT...]        boots, each a script of this folder, as TAP: guest-tests (all of tests/vm/guest) when none is
#                          named; when all tests are wanted, also guest-all, guest-faults, lockdown, no-cpuset,
#                          no-btf and systemd
#   vm.sh --exec 'ls'      any commands (busybox sh, build's programs in PATH); exits with their status
#   vm.sh --exec 'ls' 'lockdown=confidentiality'      the same, with words for the kernel's command line
#
# The kernel package is fetched once into $BUILD/vm, and the kernel unpacked there, once as it is and once without types.
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

# kernel PATH [no-btf]: uncompressed, in the cache.
kernel() {
	[ ! -f "$1" ] || return 0
	"$here/vmlinux" "$cache/vmlinuz" "$work/vmlinux" ${2:-} && mv "$work/vmlinux" "$1"
}

# Copies programs into the guest's tree together with the libraries they load.
add_programs() {
	local dir=$1 program
	shift
	mkdir -p "$root/$dir"
	for program; do
		[ -f "$program" ] && [ -x "$program" ] || continue
		strip -g -o "$root/$dir/${program##*/}" "$program" 2>/dev/null || cp -L "$program" "$root/$dir/"
		ldd "$program" 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// { print $3 } $1 ~ /^\// { print $1 }'
	done | sort -u | while read -r library; do
		[ -f "$root$library" ] || cp -L --parents "$library" "$root"
	done
}

build_root() {
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
	cp --parents controller/man/parties-doctor.1 "$root/parties/"
	(cd "$root" && find . | cpio -o -H newc -R 0:0 --quiet) >"$work/initramfs" || exit 1
	"$here/pstates" $nr_cpus >"$work/pstates.asl" && iasl -p "$work/pstates" "$work/pstates.asl" >"$work/iasl.log"
}

# What a guest needs whose kernel is told to start systemd: Debian's, its targets, a unit that does init's work, and ours.
add_systemd() {
	local root=$1 units=$1/etc/systemd/system
	[ -x /lib/systemd/systemd ] || unable 'systemd is not installed'
	mkdir -p "$units" "$root/lib/systemd/system"
	add_programs lib/systemd /lib/systemd/systemd{,-cgroups-agent,-shutdown,-executor}
	add_programs usr/bin "$(command -v systemctl)" "$(command -v systemd-run)"
	cp -L /lib/systemd/system/*.target /lib/systemd/system/*.slice "$root/lib/systemd/system/"
	printf '%s\n' '[Unit]' 'DefaultDependencies=no' '[Service]' 'Slice=vm.slice' 'ExecStart=/parties/tests/vm/systemd-init' \
		>"$units/vm.service"
	printf '%s\n' '[Unit]' 'DefaultDependencies=no' 'Requires=vm.service' >"$units/default.target"
	sed 's|@PREFIX@|/parties|' controller/parties.service.in >"$units/parties.service"
	echo 0123456789abcdef0123456789abcdef >"$root/etc/machine-id"
	cp /etc/os-release "$root/etc/"
}

# start NAME COMMANDS [KERNEL-WORDS [KERNEL]]: a guest that runs COMMANDS, in the background, with their output in
# $work/NAME/output.
# The emulator shows SMT only to a kernel that believes in the other vendor; with a thread per CPU it may run stale code for
# ever after the guest's kernel patched a hot function (seen when programs attach under load).
declare -A boots=()
start() {
	local dir=$work/$1
	mkdir -p "$dir/parties"
	printf '%s\n' "$2" >"$dir/parties/run"
	case ${3:-} in *systemd*) add_systemd "$dir" ;; esac
	(cat "$work/initramfs" && cd "$dir" && find . ! -name initramfs | cpio -o -H newc -R 0:0 --quiet) >"$dir/initramfs" || exit 1
	timeout --foreground "$limit" $first qemu-system-x86_64 -accel tcg,thread=single -M q35 -cpu EPYC-Milan,vendor=GenuineIntel \
		-smp $nr_cpus,sockets=2,cores=$((nr_cpus / 4)),threads=2 -m 3G -nodefaults -display none -nic none -no-reboot \
		-kernel "${4:-$cache/vmlinux}" -initrd "$dir/initramfs" -acpitable "file=$work/pstates.aml" \
		-append 'console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable'" ${3:-}" \
		-serial "file:$dir/console" -serial "${output:-file:$dir/output}" -serial "file:$dir/status" </dev/null 2>"$dir/qemu.log" &
	own $!
	boots[$!]=$1
}

# Waits for one guest.  Its status is that of its commands, 124 after $limit seconds, 125 when it never came to its end.
finish() {
	local number dir said
	wait -n -p number "${!boots[@]}"
	said=$?
	dir=$work/${boots[$number]}
	disown_pid "$number"
	unset "boots[$number]"
	rm -f "$dir/initramfs"
	[ $said -ne 0 ] || said=$(tr -cd '0-9' <"$dir/status" | grep . || echo 125)
	[ "$said" -eq 0 ] || status=$said
	[ -s "$dir/status" ] || tail -v -n 30 "$dir/qemu.log" "$dir/console" | sed 's/^/# /' >&2
}

# Two at a time: each takes one CPU of ours.
boot() {
	local words= image=
	case $1 in
	lockdown) words=lockdown=confidentiality ;;
	no-cpuset) words=cgroup_disable=cpuset ;;
	systemd) words='rdinit=/lib/systemd/systemd maxcpus=8' ;;
	no-btf) image=$cache/vmlinux-no-btf && { kernel "$image" no-btf || exit 1; } ;;
	esac
	[ ${#boots[@]} -lt 2 ] || finish
	case $1 in
	guest-*) start "$1" "sh tests/vm/$1" ;;
	*) start "$1" "echo '# begin $1'; sh tests/vm/$1; echo \"# end $1 \$?\"" "$words" "$image" ;;
	esac
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

usage() {
	echo 'usage: vm.sh [BOOT...] | vm.sh --exec COMMANDS [KERNEL-WORDS]' >&2
	exit 2
}
mode=tests output=
if [ "${1:-}" = --exec ]; then
	[ $# -ge 2 ] && [ $# -le 3 ] || usage
	mode=exec output=stdio
fi
for name; do
	[ $mode = exec ] || case $name in guest-tests | guest-all | guest-faults | lockdown | no-cpuset | no-btf | systemd) ;; *) usage ;; esac
done

for tool in qemu-system-x86_64 iasl busybox cpio apt-get python3 strip; do
	command -v $tool >/dev/null || unable "$tool is not installed"
done
mkdir -p "$cache"
work=$(mktemp -d "$PWD/$cache/run.XXXXXX") || exit 1
at_exit "rm -rf '$work'"
fetch_kernel
kernel "$cache/vmlinux" && build_root || exit 1
limit=600 status=0
# It takes one CPU for minutes, others may share the machine, and what it tells of time is compared: as root, it goes first.
first=
[ "$(id -u)" -ne 0 ] || first='nice -n -20'
if [ $mode = exec ]; then
	start exec "$2" "${3:-}"
	finish
else
	[ $# -gt 0 ] || set -- guest-tests ${TEST_ALL:+guest-all guest-faults lockdown no-cpuset no-btf systemd}
	for name; do boot "$name"; done
	while [ ${#boots[@]} -gt 0 ]; do finish; done
	for name; do cat "$work/$name/output"; done | merge || exit 1
fi
exit "$status"
