#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# timeout: 600
# timeout-all: 4000
# shares: yes
# Every parser of text that others may have written, fed by libFuzzer for 20 s (600 s with --all) from a small committed
# corpus, with sanitizers.  What makes one fail is printed in base64.
set -uo pipefail
. tests/lib.sh
scratch
seconds=20
[ -z "${TEST_ALL:-}" ] || seconds=600

clang=$(command -v clang) || tap_skip_all 'clang is not installed'
echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
	$clang -fsanitize=fuzzer -x c - -o "$scratch/probe" 2>/dev/null || tap_skip_all "clang's fuzzer library is not installed"

# fuzz NAME: one fuzzer on a copy of its corpus.
fuzz() {
	local name=$1
	mkdir -p "$scratch/$name"
	cp -r "tests/fuzz/corpus/$name/." "$scratch/$name" &&
		nice -n 5 "$BUILD/san/fuzz/fuzz_$name" -max_total_time=$seconds -timeout=10 -rss_limit_mb=2048 -max_len=8192 -print_final_stats=1 \
			-artifact_prefix="$scratch/$name." "$scratch/$name" >"$scratch/$name.log" 2>&1
	echo $? >"$scratch/$name.status"
}

tap_try 'the fuzzers build' nice make -j2 BUILD="$BUILD" fuzzers
# One after another, since others run beside us; with --all as many at once as there are CPUs.
running=0 most=1
[ -z "${TEST_ALL:-}" ] || most=$(nproc)
for source in tests/fuzz/fuzz_*.c; do
	name=$(basename "$source" .c)
	fuzz "${name#fuzz_}" &
	own $!
	running=$((running + 1))
	[ $running -lt $most ] || { wait -n && running=$((running - 1)); }
done
wait

for source in tests/fuzz/fuzz_*.c; do
	name=$(basename "$source" .c)
	name=${name#fuzz_}
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$scratch/$name.log")
	[ "$(cat "$scratch/$name.status")" -eq 0 ] && [ "${runs:-0}" -gt 1000 ]
	status=$?
	tap_ok $status "$name survives $seconds s of fuzzing"
	tap_note "${runs:-0} inputs"
	[ $status -eq 0 ] || tap_note "$(tail -n 40 "$scratch/$name.log")
$(for input in "$scratch/$name".{crash,leak,oom,timeout}-*; do [ ! -e "$input" ] || base64 "$input"; done)"
done
tap_done
