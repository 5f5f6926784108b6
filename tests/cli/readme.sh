#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# shares: yes
# What the README names is there: files, make's targets, commands and their options; and its configuration is one.
set -uo pipefail
. tests/lib.sh

scratch
# words PATTERN: what in the README matches, each once.
words() {
	grep -oE "$1" README.md | sort -u
}

# --- files: in links, and in backticks with a slash and nothing that only a run makes or a machine has ---
missing=
for path in $(words '\]\([^)#:]+\)' | tr -d '])(') \
	$(words '`[a-z][a-z0-9_.-]*/[A-Za-z0-9_./-]*' | tr -d '`' | grep -v '^build/'); do
	[ -e "$path" ] || missing="$missing $path"
done
tap_is "$missing" '' 'every file that the README names is there'

# --- targets ---
missing=
for target in $(words '(`|^)make [a-z][a-z-]*' | tr -d '`' | cut -d' ' -f2); do
	grep -q "^\.PHONY:.* $target\( \|$\)" Makefile || missing="$missing $target"
done
tap_is "$missing" '' 'every target of make that it names is one'

# --- commands ---
missing=
nr=0
while read -r program command rest; do
	nr=$((nr + 1))
	case $program in
	*/parties)
		help=$("$BUILD/parties" "$command" --help 2>&1) || missing="$missing $command"
		;;
	*)
		rest="$command $rest"
		help=$("$BUILD/${program##*/}" --help 2>&1) || missing="$missing $program"
		;;
	esac
	for option in $(grep -oE '(^| )--?[a-z][a-z-]*' <<<"${rest%%#*}"); do
		grep -qE -- "(^| )$option\b" <<<"$help" || missing="$missing $program:$command:$option"
	done
done < <(grep -oE 'build/parties(-load)? [^`]*' README.md | grep -v -- '--root')
tap_is "$missing" '' 'every option in its commands is one'
[ $nr -ge 8 ]
tap_ok $? "and its $nr commands were found"

# --- configuration ---
# Its services are not here, which is the first thing to find fault with.
awk '/```ini/ { on = 1; next } /```/ { on = 0 } on' README.md | sed 's/^   //; s/port:8082/port:1/' >"$scratch/conf"
"$BUILD/parties" check -c "$scratch/conf" >"$scratch/out" 2>&1
tap_is "$? $(cut -d: -f3- "$scratch/out")" \
	'2  match: nobody listens on port 1; start the service first or correct the port' 'its configuration is one'
tap_is "$(grep '^| `policies/`' README.md | grep -o '`[a-z-]*`' | tr -d '`' | sort | xargs)" \
	"$(sed -n 's/^Known are: //p' controller/man/parties.conf.5 | tr -d ',.' | xargs -n1 | sort | xargs)" 'it names every policy'
tap_done
