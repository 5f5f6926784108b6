#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# timeout: 180
# waits: groups
# What the manual pages say an ordinary user needs is enough, for services of the same user and of another; without it,
# one message says what is missing.  Plain sh, for the guest's sake.
set -u
. tests/lib.sh
. tests/live/observe.lib

[ "$(id -u)" -eq 0 ] || tap_skip_all 'only root may become another user with capabilities'
setpriv=/usr/bin/setpriv # by its path: busybox has one that cannot do it
$setpriv --help 2>/dev/null | grep -q reuid || tap_skip_all 'setpriv of util-linux is missing'
scratch

# Another user may not reach our files by their paths; descriptors need none.
exec 7<"$BUILD/hotel-search" 8<"$BUILD/truth-server" 9<"$BUILD/parties"
parties=/proc/self/fd/9

# nobody CAPABILITIES COMMAND...: as an ordinary user with +a,+b or, for none, -.  become_nobody is for the background,
# where the process itself must get the signals.
nobody() (
	become_nobody "$@"
)
become_nobody() {
	local capabilities=$1
	shift
	[ "$capabilities" != - ] || capabilities=-all
	exec $setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps="$capabilities" --ambient-caps="$capabilities" "$@"
}

# observe NAME CAPABILITIES ARG...: in the background; `observed` looks at all that were started
observers=
observe() {
	local name=$1 capabilities=$2
	shift 2
	become_nobody "$capabilities" $parties observe --json --interval 200ms "$@" >"$scratch/$name.observe" 2>"$scratch/$name.errors" &
	own $!
	observers="$observers $name:$!"
}

ready() {
	local observer i
	for observer in $observers; do
		for i in $(seq 150); do
			[ ! -s "$scratch/${observer%:*}.observe" ] || break
			kill -0 "${observer#*:}" 2>/dev/null || break
			sleep 0.1
		done
	done
}

# observed N: every observer ends well and has counted N requests
observed() {
	local n=$1 observer name pid
	sleep 0.3
	for observer in $observers; do
		name=${observer%:*} pid=${observer#*:}
		kill -INT "$pid"
		wait "$pid"
		tap_is "$? $(field requests "$scratch/$name.observe")" "0 $n" "$name: counts the $n requests"
		disown_pid "$pid"
		grep -v watching "$scratch/$name.errors" | sed 's/^/# /'
	done
	observers=
}

# refused NAME TEXT COMMAND...: exit status 3, one line, and TEXT in it
refused() {
	local name=$1 text=$2 output status
	shift 2
	output=$("$@" 2>&1)
	status=$?
	case $output in *"$text"*) ;; *) status="$status, without '$text'" ;; esac
	tap_is "$status, $(echo "$output" | wc -l) line" '3, 1 line' "$name: exit status 3 and what is missing"
	tap_note "$output"
}

serve() {
	local i
	: >"$scratch/server"
	"$@" >"$scratch/server" 2>&1 &
	server=$!
	own $server
	for i in $(seq 100); do
		grep -q ready "$scratch/server" && return
		sleep 0.1
	done
	tap_note "$(cat "$scratch/server")"
}

# before_linux VERSION
before_linux() {
	[ "$(printf '%s\n' "$1" "$(uname -r)" | sort -V | head -n 1)" != "$1" ]
}

few=+bpf,+perfmon measure=+bpf,+perfmon
if before_linux 6.4; then measure=+sys_admin; fi
port_own=21910 port_other=21911 port_grpc=21912 port_grpc_other=21913
serve become_nobody - /proc/self/fd/8 --port $port_own
same=$server
serve "$BUILD/truth-server" --port $port_other
other=$server

# ---- what is missing is named ----------------------------------------------------------------------------------------
for way in "--pid $same" "--port $port_own"; do
	refused "no capability, $way" 'missing CAP_BPF (to load kernel programs) and CAP_PERFMON' nobody - $parties observe $way --for 100ms
	refused "CAP_PERFMON alone, $way" 'missing CAP_BPF (' nobody +perfmon $parties observe $way --for 100ms
	refused "CAP_BPF alone, $way" 'missing CAP_PERFMON (' nobody +bpf $parties observe $way --for 100ms
done
if before_linux 6.4; then
	refused 'what newer kernels have' 'missing CAP_SYS_ADMIN (before Linux 6.4' nobody $few $parties observe --pid $same --for 100ms
fi
refused "a probe in a service that is another user's" 'CAP_SYS_PTRACE' \
	nobody $measure $parties observe --pid "$other" --lifecycle grpc --for 100ms
refused "a probe by a port that is another user's" 'missing CAP_SYS_PTRACE (to look at other users' \
	nobody $measure $parties observe --port $port_other --lifecycle grpc --for 100ms

cat >"$scratch/conf" <<END
[service other]
match = port:$port_other
target = p99 < 60ms
END
refused "a configuration with another user's port" 'missing CAP_SYS_PTRACE' nobody $measure sh -c \
	"exec $parties check -c /proc/self/fd/0 <&3" 3<"$scratch/conf"
refused 'steering' 'missing CAP_DAC_OVERRIDE (to write cgroups and frequencies), CAP_SYS_NICE' nobody $few sh -c \
	"exec $parties run -c /proc/self/fd/0 --for 1s <&3" 3<"$scratch/conf"

# The doctor says all of it at once, and has looked at the rest.
knobs=$(sed -n 's/^\.It Sy //p' controller/man/parties-doctor.1 | sed 's/ , / /' | wc -w)
doctor() {
	nobody "$1" $parties doctor >"$scratch/doctor" 2>&1
	tap_is "$? $(tail -n 1 "$scratch/doctor" | cut -c 1-41) $(grep -c '^[a-z-]*  *\(yes\|no\)  *[^ ]' "$scratch/doctor")" "3 $2 $knobs" \
		"the doctor, asked by nobody with $1"
	tap_note "$(grep -A 2 '^bpf\|^rights\|^run:' "$scratch/doctor")"
}
doctor - 'run: cannot, because bpf: missing CAP_BPF'
doctor $measure 'run: cannot, because rights: missing CAP_'

# ---- what is hidden or refused is told apart from a right -------------------------------------------------------------
# in_namespace OPTIONS COMMANDS: the commands of a root with namespaces of its own
in_namespace() {
	unshare $1 sh -c "$2; exec $parties observe --pid $other --for 100ms"
}
if unshare -m true 2>/dev/null; then
	if [ -z "$(ls -d /boot/vmlinux-* /lib/modules/*/*vmlinux* /lib/modules/*/*/vmlinux /usr/lib/debug/*/*vmlinux* 2>/dev/null)" ]; then
		mkdir "$scratch/empty"
		refused 'no BTF' 'no type information' in_namespace -m "mount --bind $scratch/empty /sys/kernel/btf"
	else
		tap_skip 'no BTF' 'the types are in a file, too'
	fi
else
	tap_skip 'no BTF' 'mount namespaces are forbidden'
fi
if unshare -U -r true 2>/dev/null; then
	refused 'in a user namespace' 'user namespace do not count' in_namespace '-U -r' true
else
	tap_skip 'in a user namespace' 'user namespaces are forbidden'
fi

# ---- CAP_BPF and CAP_PERFMON are enough -------------------------------------------------------------------------------
group=$(awk '$3 == "cgroup2" || ($3 == "cgroup" && $4 ~ /(^|,)freezer(,|$)/) { print $2; exit }' /proc/mounts)/rights.$$
mkdir "$group"
at_exit "rmdir '$group'"
echo "$other" >"$group/cgroup.procs"
observe same-pid $measure --pid "$same"
observe same-port $measure --port $port_own
observe other-pid $measure --pid "$other"
observe other-port $measure --port $port_other
observe other-cgroup $measure --cgroup "/rights.$$"
ready
load same --protocol truth --to 127.0.0.1:$port_own --connections 4 --requests 100 --rate 200 --service-us 100..200
load other --protocol truth --to 127.0.0.1:$port_other --connections 4 --requests 100 --rate 200 --service-us 100..200
observed 100
end "$same"
end "$other"

# ---- probes in libraries ----------------------------------------------------------------------------------------------
serve become_nobody - /proc/self/fd/7 --port $port_grpc --threads 2 --weight 1
same=$server
serve "$BUILD/hotel-search" --port $port_grpc_other --threads 2 --weight 1
other=$server
probe=$measure
if before_linux 6.6; then
	probe=+sys_admin
	refused 'a probe before Linux 6.6' 'CAP_SYS_ADMIN' nobody $few $parties observe --pid "$same" --lifecycle grpc --for 100ms
fi
observe same-grpc-pid $probe --pid "$same" --lifecycle grpc
observe same-grpc-port $probe --port $port_grpc --lifecycle grpc
observe other-grpc-pid "$probe,+sys_ptrace" --pid "$other" --lifecycle grpc
observe other-grpc-port "$probe,+sys_ptrace,+dac_read_search" --port $port_grpc_other --lifecycle grpc
ready
load grpc --protocol grpc --to 127.0.0.1:$port_grpc --requests 50 --rate 100
load other-grpc --protocol grpc --to 127.0.0.1:$port_grpc_other --requests 50 --rate 100
observed 50
end "$same"
end "$other"
tap_done
