# SPDX-License-Identifier: GPL-2.0
# show.awk - rows of accuracy.tsv as lines of a table for people.  Column numbers as run writes them.
function number(text) {
	return text == "" ? "-" : text == "-" ? "-" : sprintf("%.0f", text)
}
BEGIN {
	FS = "\t"
	line = "   %-18s %4s %8s | %8s %8s %8s %8s | %8s %8s %8s %8s %9s %9s %9s %s\n"
}
$1 == "service" {
	printf line, "", "", "", "client", "p50_us", "p95_us", "p99_us", "kernel", "p50_us", "p95_us", "p99_us",
		"total_p50", "total_p99", "resid_p99", ""
	printf line, "method", "load", "req/s", "requests", "", "", "", "requests", "", "", "", "", "", "", "notes"
	next
}
{
	note = ($22 == "-" ? "" : $22) ($13 > 1 ? sprintf("client late %.0f %%", $13) : "")
	printf line, $2, $3 " %", number($5), $7, number($10), number($11), number($12), $14, number($16), number($17),
		number($18), number($19), number($20), number($21), note
	fflush()
}
