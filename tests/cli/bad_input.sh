#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# timeout: 180
# What a user gets wrong: the exit code, one line on stderr that says where and what, nothing on stdout, and a machine
# that is as before.
set -uo pipefail
. tests/lib.sh

parties=$BUILD/parties
scratch
conf=$scratch/bad.conf
sleep 600 &
own $!
alive=$!
sleep 0 &
gone=$!
wait $gone

# No other program makes groups of these names, whatever else runs on this machine.
our_groups() {
	find /sys/fs/cgroup -type d -path '*/parties/cli-*' 2>/dev/null
}

# refuse NAME STATUS LINE COMMAND...
refuse() {
	local name=$1 want_status=$2 want=$3 status
	shift 3
	"$@" >"$scratch/out" 2>"$scratch/err"
	status=$?
	tap_is "$status: $(cat "$scratch/err")" "$want_status: $want" "$name"
	[ "$(wc -l <"$scratch/err")" -eq 1 ] && [ ! -s "$scratch/out" ] && [ -z "$(our_groups)" ]
	tap_ok $? "$name: one line on stderr, none on stdout, nothing touched"
}

# refuse_file NAME LINE TEXT: the file TEXT (as printf's %b reads it) is refused by check and by run, in the same words.
refuse_file() {
	printf '%b' "$3" >"$conf"
	refuse "check: $1" 2 "$conf:$2" "$parties" check -c "$conf"
	refuse "run: $1" 2 "$conf:$2" "$parties" run -c "$conf" --for 1s
}

# The same for what only the machine shows.  A run asks for rights before it looks there, and a live one for the lock.
refuse_match() {
	printf '%b' "$3" >"$conf"
	refuse "check: $1" 2 "$conf:$2" "$parties" check -c "$conf"
	if [ "$(id -u)" -eq 0 ]; then
		refuse "run: $1" 2 "$conf:$2" "$parties" run -c "$conf" --mode observe --for 1s
	else
		tap_skip "run: $1" 'not root'
	fi
}

service="[service cli-a]\nmatch  = pid:$alive\ntarget = p99 < 25ms\n"
other=${service/cli-a/cli-b}

# --- the file ---
refuse_file 'an unknown key' "4: tagret: unknown key in [service cli-a], did you mean 'target'?" \
	"${service}tagret = p99 < 1ms\n"
refuse_file 'a missing unit' '3: target: unit missing: write 25ms or 25us' \
	'[service cli-a]\nmatch = pid:1\ntarget = p99 < 25\n'
refuse_file 'an unknown section' "1: [servce cli-a]: unknown section, did you mean 'service'?" \
	'[servce cli-a]\nmatch = pid:1\n'
refuse_file 'a target of zero' \
	'3: target: a target of zero can never be met: write the latency to keep, for example p99 < 25ms' \
	'[service cli-a]\nmatch = pid:1\ntarget = p99 < 0ms\n'
refuse_file 'a ceiling below the floor' '4: cores: floor 2 is above ceiling 1: write the smaller number first' \
	"${service}cores = 2..1\n"
refuse_file 'feedback from clients that report nowhere' \
	'3: client: missing in [service cli-a], which feedback asks for: write client = path' \
	"[controller]\nfeedback = client\n$service"
refuse_file 'a feedback there is not' "2: feedback: 'ebpf' is not known: write bpf | client | both | client-first" \
	"[controller]\nfeedback = ebpf\n$service"
known=$(sed -n '/^Known are: /{s///;s/\.$//;p;}' controller/man/parties.conf.5)
refuse_file 'an unknown policy' "2: policy: unknown policy 'partys'; known: $known" \
	"[controller]\npolicy = partys\n$service"
refuse_file 'a service named twice' '4: [service cli-a]: the name is taken by the section on line 1' "$service$service"
refuse_file 'a line that says nothing' "4: [service cli-a]: neither 'key = value' nor '[section]'" "${service}cores\n"
refuse_file 'a value out of range' '2: interval: 1ms is out of range: 10ms to 10s' '[controller]\ninterval = 1ms\n'
refuse_file 'a name that is a path' '1: [service ../../etc]: a name has only letters, digits and _ . -' \
	'[service ../../etc]\n'
refuse_file 'no core' '4: cores: 0 is out of range: 1 to 512' "${service}cores = 0..0\n"
refuse_file 'more cores than can be counted' '4: cores: 99999999999999999999 is out of range: 1 to 512' \
	"${service}cores = 1..99999999999999999999\n"
refuse_file 'a target without end' '3: target: 99999999999999999999ms is out of range: 1us to 100s' \
	'[service cli-a]\nmatch = pid:1\ntarget = p99 < 99999999999999999999ms\n'
refuse_file 'a key twice' '3: match: appears twice in [service cli-a], first on line 2' \
	'[service cli-a]\nmatch = pid:1\nmatch = pid:2\n'
refuse_file 'a key before any section' \
	'1: match: stands before any section: write [service NAME], [batch NAME] or [controller] above it' 'match = pid:1\n'
refuse_file 'a port without its kind' \
	"2: match: '8082' says no kind: write pid:N, port:N, cgroup:PATH, unit:NAME or exe:NAME" \
	'[service cli-a]\nmatch = 8082\n'
refuse_file 'no service at all' '1: [service]: no service at all: write [service NAME] with match and target' '\n'
refuse_file 'a byte that is no text' '1: line: byte 16 (0x00) is not text' '[service cli-a]\0000\n'
for command in check run; do
	refuse "$command: a missing file" 2 "$scratch/none.conf: cannot be read: No such file or directory" \
		"$parties" $command -c "$scratch/none.conf"
	refuse "$command: a directory" 2 "$scratch: cannot be read: Is a directory" "$parties" $command -c "$scratch"
done

# --- the machine ---
cores=$("$parties" check -c <(printf '%b' "${service}cores = 512\n") 2>&1 |
	sed -n 's/.*this machine has \([0-9]*\) to give.*/\1/p')
refuse_match 'a port nobody listens on' \
	'2: match: nobody listens on port 21097; start the service first or correct the port' \
	'[service cli-a]\nmatch = port:21097\ntarget = p99 < 25ms\n'
refuse_match 'a pid that is gone' "2: match: pid $gone does not exist; start the service first or correct the pid" \
	"[service cli-a]\nmatch = pid:$gone\ntarget = p99 < 25ms\n"
refuse_match 'two services with one process' \
	"5: match: service 'cli-a' and service 'cli-b' both claim pid $alive (sleep); give each its own processes" \
	"$service$other"
refuse_match 'fewer cores than the floor' \
	"1: cores: floors need 500 cores, this machine has $cores to give; lower a floor or take a service away" \
	"${service}cores = 500..\n"

# --- what is no mistake ---
# Files from other systems: a byte order mark, and lines that end with a carriage return, too.
printf '\357\273\277%b' "${service//\\n/\\r\\n}" >"$conf"
tap_try 'check: a file from another system' "$parties" check -c "$conf"

# --- the command line ---
printf '%b' "$service" >"$conf"
refuse 'run: a record that cannot be written' 2 'parties run: --record: /nonexistent/x: No such file or directory' \
	"$parties" run -c "$conf" --record /nonexistent/x
refuse 'run: a record that is a directory' 2 "parties run: --record: $scratch: Is a directory" \
	"$parties" run -c "$conf" --record "$scratch"
refuse 'an unknown command' 2 "parties: unknown command 'chekc', did you mean 'check'?; see parties --help" \
	"$parties" chekc
refuse 'no command' 2 'parties: a command is missing; see parties --help' "$parties"
for command in run check; do
	refuse "$command: no configuration" 2 "parties $command: -c FILE is missing; see parties $command --help" \
		"$parties" $command
	refuse "$command: an unknown option" 2 \
		"parties $command: unknown option '--confg', did you mean '--config'?; see parties $command --help" \
		"$parties" $command "--confg=$conf"
done
refuse 'run: a duration without unit' 2 \
	"parties run: --for: '10' is not a duration; write for example 500ms or 2m; see parties run --help" \
	"$parties" run -c "$conf" --for 10
refuse 'run: an unknown mode' 2 "parties run: --mode: 'dry' is not live, dry-run or observe; see parties run --help" \
	"$parties" run -c "$conf" --mode dry
for command in "replay $conf" "report $conf -o $scratch/x.svg"; do
	refuse "${command%% *}: a file that is no record" 2 "$conf:1: not a record: invalid token near 'service'" \
		"$parties" $command
done
refuse 'restore: an operand' 2 "parties restore: unexpected operand 'now'; see parties restore --help" \
	"$parties" restore now
tap_done
