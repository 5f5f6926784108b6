#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The table of faults has its four fields in every row and names tests that there are.
set -uo pipefail
. tests/lib.sh

table=tests/faults/table.tsv
tap_is "$(grep -v '^#' $table | awk -F '\t' 'NF != 4 || !$1 || !$2 || !$3 || !$4')" '' 'every row has four fields'
tap_is "$(grep -v '^#' $table | cut -f 1 | sort | uniq -d)" '' 'no fault is there twice'

# Scripts make up some names as they go: their files are looked for, of programs the functions.
missing=$(grep -v '^#' $table | cut -f 4 | sed 's/ ; /\n/g' | sort -u | while read -r program name; do
	case $program in
	-) ;;
	vm/*)
		name=${program#vm/}
		[ -e "tests/vm/guest/$name.sh" ] || [ -e "tests/vm/$name" ] || [ -e "tests/vm/guest-$name" ] || [ -e "tests/unit/$name.c" ] || echo "$program"
		;;
	*.sh) [ -x "tests/$program" ] || echo "$program" ;;
	*) [ "$name" = '*' ] && [ -e "tests/$program.c" ] || grep -q "$name(void \*\*state)" "tests/$program.c" ||
		echo "$program $name" ;;
	esac
done)
tap_is "$missing" '' 'every test it names is there'
tap_done
