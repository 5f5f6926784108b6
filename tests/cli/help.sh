#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Help, version and manual say the same: every command and every option is in both.
set -uo pipefail
. tests/lib.sh

parties=$BUILD/parties
scratch
page() {
	echo "controller/man/parties${1:+-$1}.1"
}

"$parties" --help >"$scratch/help" 2>"$scratch/err"
tap_is "$? $(cat "$scratch/err")" '0 ' 'parties --help is no error'
tap_is "$("$parties" --version)" "parties $(sed -n 's/^VERSION := //p' Makefile)" 'parties --version prints the version'

commands=$(sed -n 's/^  \([a-z]*\)  .*/\1/p' "$scratch/help")
tap_is "$(echo $commands)" "$(echo $(sed -n 's/^\.It Ic //p' "$(page)"))" 'the manual lists the commands of --help'
for command in $commands; do
	"$parties" $command --help >"$scratch/help" 2>"$scratch/err"
	tap_is "$? $(cat "$scratch/err")" '0 ' "parties $command --help is no error"
	tap_is "$("$parties" $command -h)" "$(cat "$scratch/help")" "parties $command -h says the same"
	tap_is "$(head -c "$((15 + ${#command}))" "$scratch/help")" "usage: parties $command" \
		"parties $command --help begins with its usage"
	tap_is "$(grep -c ' $' "$scratch/help")" 0 "parties $command --help has no blank at a line's end"
	tap_is "$(sed -n 's/^  .*--\([a-z-]*\).*/\1/p' "$scratch/help" | sort)" \
		"$(sed -n 's/^\.It Fl \(. , \)\{0,1\}-\([a-z-]*\).*/\2/p' "$(page $command)" | sort)" \
		"the manual of $command lists the options of its --help"
done
for file in controller/man/*; do
	if command -v mandoc >/dev/null; then
		tap_try "$file is clean" mandoc -T lint -W warning "$file"
	else
		tap_skip "$file is clean" 'mandoc is not installed'
	fi
done
tap_done
