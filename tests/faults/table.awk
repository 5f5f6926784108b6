# SPDX-License-Identifier: GPL-2.0
# Of `check`: the table with what the logs of the tests in `work` say.

# Reads a log once: its TAP lines, and why all of it was skipped.
function load(program,    file, line, name, word, last) {
	if (program in loaded) return
	loaded[program] = 1
	file = program ~ /^vm\// ? "vm/vm.sh" : program
	gsub(/\//, "-", file)
	file = work "/" file ".log"
	while ((getline line < file) > 0) {
		if (line ~ /^1\.\.0 # SKIP/) { sub(/^1\.\.0 # SKIP */, "", line); skipped_all[program] = line; continue }
		if (line !~ /^(not )?ok /) { last = line; sub(/^# *(skip: )?/, "", last); continue }
		word = line ~ /# SKIP/ ? "skipped" : line ~ /^not / ? "FAILED" : "ok"
		name = line
		sub(/^(not )?ok [0-9]* *(- |# SKIP )?/, "", name)
		if (word == "skipped" && line ~ /^not/) why[program, name] = last
		else if (word == "skipped") { why[program, name] = name; sub(/.*# SKIP /, "", why[program, name]) }
		count[program]++
		names[program, count[program]] = name
		words[program, count[program]] = word
	}
	close(file)
}

# "ok", "FAILED ...", "not run: ..." of one test.
function look(test,    program, name, i, seen, at) {
	program = test
	sub(/ .*/, "", program)
	name = substr(test, length(program) + 2)
	if (program == "-") return name
	load(program)
	if (program in skipped_all) return "not run: " skipped_all[program]
	if (program ~ /^vm\//) name = "vm: " substr(program, 4) ": " (name == "*" ? "" : name)
	for (i = 1; i <= count[program]; i++) {
		at = names[program, i]
		if (name != "*" && substr(at, 1, length(name)) != name) continue
		if (words[program, i] == "FAILED") return "FAILED: " test
		if (words[program, i] == "skipped") seen = seen == "ok" ? seen : "not run: " why[program, at]
		else seen = "ok"
	}
	return seen ? seen : "FAILED: no test " test
}

# A cell of `width`; the words that do not fit stay in rest[column].
function cell(column, width,    text, len) {
	text = rest[column]
	len = length(text)
	if (len > width) {
		for (len = width + 1; len > 0 && substr(text, len, 1) != " "; len--) ;
		if (!len) len = width
	}
	rest[column] = substr(text, len + 1)
	text = substr(text, 1, len)
	sub(/ $/, "", text)
	sub(/^ /, "", rest[column])
	return sprintf("%-" width "s", text)
}

function row(fault, how, expected, seen) {
	rest[1] = fault; rest[2] = how; rest[3] = expected; rest[4] = seen
	while (rest[1] rest[2] rest[3] rest[4] != "")
		print cell(1, 28) "  " cell(2, 24) "  " cell(3, 36) "  " cell(4, 24)
	print ""
}

BEGIN { row("FAULT", "HOW INJECTED", "EXPECTED", "SEEN") }
{
	n = split($4, tests, / ; /)
	verdict = ""
	nr_ok = 0
	missing = ""
	for (t = 1; t <= n; t++) {
		seen = look(tests[t])
		if (seen == "ok") nr_ok++
		else if (seen ~ /^FAILED/) verdict = verdict (verdict ? "; " : "") seen
		else if (!missing) missing = seen
	}
	if (verdict) total["failed"]++
	else if (nr_ok) { total["ok"]++; verdict = "ok (" nr_ok (missing ? "; one " missing : "") ")" }
	else if (missing ~ /^not done/) { total["not done"]++; verdict = missing }
	else { total["not run"]++; verdict = missing }
	row($1, $2, $3, verdict)
}
END {
	printf "%d faults as expected, %d not, %d not run, %d not done\n", total["ok"], total["failed"], total["not run"],
		total["not done"]
	exit total["failed"] > 0
}
