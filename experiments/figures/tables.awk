# SPDX-License-Identifier: GPL-2.0
# First file: lines "scenario label seed key=value...".  Second: the template, in which a line "@table ..." becomes a
# table, "@file F" a file of dir, @{SCENARIO LABEL KEY DIGITS} a cell, @{SCENARIO LABEL KEY spread} its spread in
# percent, and @{F.tsv POLICY COLUMN} that column of a policy's rows, with slashes between.
#
# A cell is "mean ± half of the 95 % interval" for what is a share or a time, and "mean (spread)" for amounts, the
# spread being the relative standard deviation over seeds.  - : not measured there.

BEGIN {
	split("12.71 4.30 3.18 2.78 2.57 2.45 2.36 2.31 2.26 2.23 2.20 2.18 2.16 2.14 2.13", student, " ")
}

FNR == NR {
	cell = $1 SUBSEP $2
	if (!(cell in runs)) {
		labels[$1] = labels[$1] " " $2
		if (!($2 in known)) order[++nr_labels] = $2
		known[$2] = 1
	}
	runs[cell]++
	for (i = 4; i <= NF; i++) {
		split($i, pair, "=")
		nr[cell, pair[1]]++
		sum[cell, pair[1]] += pair[2]
		squares[cell, pair[1]] += pair[2] * pair[2]
	}
	minutes[cell] = mean($1, $2, "duration_s") / 60
	next
}

function has(s, l, key) { return nr[s SUBSEP l, key] > 0 }
function mean(s, l, key) { return sum[s SUBSEP l, key] / nr[s SUBSEP l, key] }
function deviation(s, l, key,  n, v) {
	n = nr[s SUBSEP l, key]
	v = n > 1 ? (squares[s SUBSEP l, key] - n * mean(s, l, key) ^ 2) / (n - 1) : 0
	return v > 0 ? sqrt(v) : 0
}
function interval(s, l, key, digits,  n) {
	if (!has(s, l, key)) return "-"
	n = nr[s SUBSEP l, key]
	if (n < 2) return sprintf("%." digits "f", mean(s, l, key))
	return sprintf("%." digits "f ± %." digits "f", mean(s, l, key),
		(n - 1 in student ? student[n - 1] : 1.96) * deviation(s, l, key) / sqrt(n))
}
function spread(s, l, key, digits) {
	if (!has(s, l, key) || mean(s, l, key) == 0) return "-"
	return sprintf("%." digits "f (%.1f %%)", mean(s, l, key), 100 * deviation(s, l, key) / mean(s, l, key))
}
function plain(s, l, key, digits) {
	return has(s, l, key) ? sprintf("%." digits "f", mean(s, l, key)) : "-"
}
function per_minute(s, l, key, span) {
	return has(s, l, key) ? sprintf("%.1f", mean(s, l, key) / span) : "-"
}
function name(l) { return "`" l "`" }
function is_policy(l) { return l !~ /-without-/ }

function scenario_table(s,  i, l) {
	print "| policy | violated % | late %, worst service | energy J (spread) | ÷ oracle | best-effort work (spread) |" \
		" ÷ oracle | in V % | worst time to valid s | moves/min |"
	print "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
	for (i = 1; i <= nr_labels; i++) {
		l = order[i]
		if (!is_policy(l) || !has(s, l, "energy_j")) continue
		printf "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", name(l), interval(s, l, "violated_windows_pct", 2),
			plain(s, l, "late_requests_pct", 2), spread(s, l, "energy_j", 0), plain(s, l, "energy_vs_oracle", 3),
			spread(s, l, "be_work", 0), plain(s, l, "be_work_vs_oracle", 3), plain(s, l, "time_in_v_pct", 1),
			interval(s, l, "time_to_valid_s", 1), per_minute(s, l, "moves", minutes[s, l])
	}
}

function change_table(s, at,  i, l) {
	print "| policy | valid after s | last violated window ends after s |"
	print "| --- | --- | --- |"
	for (i = 1; i <= nr_labels; i++) {
		l = order[i]
		if (is_policy(l) && has(s, l, "valid@" at))
			printf "| %s | %s | %s |\n", name(l), interval(s, l, "valid@" at, 1), interval(s, l, "recover@" at, 1)
	}
}

# What `over@` and `worst@` say of each service, in the order given.
function services_table(s, services, extra,  i, j, l, n, list, line) {
	n = split(services, list, ",")
	line = "| policy |"
	for (j = 1; j <= n; j++)
		line = line " " list[j] ": windows over target % | worst p99 ÷ target |"
	print line (extra ? " reported after s | moves/min |" : "")
	gsub(/[^|]+/, " --- ", line)
	print line (extra ? " --- | --- |" : "")
	for (i = 1; i <= nr_labels; i++) {
		l = order[i]
		if (!is_policy(l) || !has(s, l, "over@" list[1])) continue
		line = "| " name(l) " |"
		for (j = 1; j <= n; j++)
			line = line " " interval(s, l, "over@" list[j], 1) " | " plain(s, l, "worst@" list[j], 1) " |"
		if (extra) {
			line = line " " (nr[s SUBSEP l, "reported_s"] == runs[s, l] ? interval(s, l, "reported_s", 1) : \
				nr[s SUBSEP l, "reported_s"] + 0 " of " runs[s, l] " runs") " |"
			line = line " " plain(s, l, "moves_infeasible", 0) " |"
		}
		print line
	}
}

# A second column per scenario says what can be lost there beside violations.
function ablation_table(  i, j, l, n, list, second, title, line) {
	n = split("ramp step staircase ramp-late1 infeasible", list, " ")
	split("energy_j be_work be_work energy_j over@memcached", second, " ")
	title["energy_j"] = "energy J"
	title["be_work"] = "best-effort work"
	title["over@memcached"] = "windows of the first named over target %"
	line = "| `adaptive` |"
	for (j = 1; j <= n; j++)
		line = line " " list[j] ": violated % | " title[second[j]] " |"
	print line
	gsub(/[^|]+/, " --- ", line)
	print line
	for (i = 1; i <= nr_labels; i++) {
		l = order[i]
		if (l !~ /^adaptive(-without-|$)/) continue
		line = l == "adaptive" ? "| as it is |" : "| without `" substr(l, 18) "` |"
		for (j = 1; j <= n; j++)
			line = line " " interval(list[j], l, "violated_windows_pct", 2) " | " \
				plain(list[j], l, second[j], second[j] ~ /over/ ? 1 : 0) " |"
		print line
	}
}

function sensitivity_table(  i, j, n, lines, at, s, what, line) {
	print "| the ramp with | `parties-paper`: violated % | energy J (spread) | moves/min |" \
		" `adaptive`: violated % | energy J (spread) | moves/min |"
	print "| --- | --- | --- | --- | --- | --- | --- |"
	n = split("\nramp  nothing otherwise" variants, lines, "\n")
	for (i = 2; i <= n; i++) {
		at = index(lines[i], " ")
		s = substr(lines[i], 1, at - 1)
		what = substr(lines[i], at)
		sub(/^ +/, "", what)
		line = "| " what " |"
		for (j = 1; j <= 2; j++) {
			l = j == 1 ? "parties-paper" : "adaptive"
			line = line " " interval(s, l, "violated_windows_pct", 2) " | " spread(s, l, "energy_j", 0) " | " \
				per_minute(s, l, "moves", minutes[s, l]) " |"
		}
		print line
	}
}

# Chosen columns of a table with a header line; "column=title".
function tsv_table(file, columns,  n, i, want, title, pair, head, cells, at, line, rule, title_line) {
	n = split(columns, want, ",")
	for (i = 1; i <= n; i++) {
		split(want[i], pair, "=")
		want[i] = pair[1]
		line = line " " (pair[2] ? pair[2] : pair[1]) " |"
		rule = rule " --- |"
	}
	title_line = "|" line "\n|" rule
	file = dir "/" file
	if ((getline line < file) <= 0) {
		print "Not part of this run."
		return
	}
	print title_line
	do {
		split(line, cells, "\t")
		if (!head) {
			for (i in cells) at[cells[i]] = i
			head = 1
			continue
		}
		line = "|"
		for (i = 1; i <= n; i++)
			line = line " " (want[i] in at ? cells[at[want[i]]] : "?") " |"
		print line
	} while ((getline line < file) > 0)
	close(file)
}

# The rows of a policy in a table, from top to bottom.
function tsv_values(file, policy, column,  line, cells, at, i, values) {
	file = dir "/" file
	while ((getline line < file) > 0) {
		split(line, cells, "\t")
		if (!(column in at))
			for (i in cells) at[cells[i]] = i
		else if (cells[at["policy"]] == policy)
			values = values (values == "" ? "" : " / ") cells[at[column]]
	}
	close(file)
	return values == "" ? "-" : values
}

function cell_text(words,  w, n) {
	n = split(words, w, " ")
	if (w[1] ~ /\.tsv$/) return tsv_values(w[1], w[2], w[3])
	if (!has(w[1], w[2], w[3])) return "-"
	if (w[4] == "spread") return sprintf("%.1f %%", 100 * deviation(w[1], w[2], w[3]) / mean(w[1], w[2], w[3]))
	return interval(w[1], w[2], w[3], w[4])
}

{
	while (match($0, /@\{[^}]*\}/))
		$0 = substr($0, 1, RSTART - 1) cell_text(substr($0, RSTART + 2, RLENGTH - 3)) substr($0, RSTART + RLENGTH)
}
$1 == "@table" && $2 == "scenario" { scenario_table($3); next }
$1 == "@table" && $2 == "change" { change_table($3, $4); next }
$1 == "@table" && $2 == "services" { services_table($3, $4, $5 == "reported"); next }
$1 == "@table" && $2 == "ablation" { ablation_table(); next }
$1 == "@table" && $2 == "sensitivity" { sensitivity_table(); next }
$1 == "@file" {
	print "```"
	while ((getline line < (dir "/" $2)) > 0)
		if (line !~ /^(figure|means of)/) print line
	print "```"
	next
}
$1 == "@table" && $2 == "tsv" {
	columns = $0
	sub(/^@table tsv [^ ]+ /, "", columns)
	tsv_table($3, columns)
	next
}
{
	gsub(/@seeds/, seeds)
	gsub(/@mixes/, mixes)
	gsub(/@directions/, directions)
	gsub(/@grid/, grid)
	print
}
