# SPDX-License-Identifier: GPL-2.0
# judge.awk - accuracy.tsv in, for every service how well kernel and client agree, and what is not as expected.  Exits 1
# when an expectation is broken:
#
#   counts    the kernel counts the requests that the client completed, and none failed
#   latency   no percentile, owed or total, is over 1.016 times the client's (two histograms, half a bucket each).
#             The lifecycle grpc has one arrival for all calls of one read, and towards saturation a read brings
#             several: it is held to this by its owed latency, up to 70 %
#   overload  over 100 %, what waits in the server is at least half of what can: the client's p99, or less where the
#             client has too few connections to leave it all there.  It shows until the first read (residency p99);
#             servers of gRPC read ahead and keep calls waiting inside: theirs is the total p99 (all lifecycles but
#             exchange)
#
# What is over the limit where it is not held to it is printed, too.
#
# Both keep up when the client gets nine tenths of the rate it asks for and sends at most a twentieth late.  R2 is the
# square of the correlation of client and kernel over the loads, error the mean of how far the kernel is from the
# client; both over loads at which both keep up, unless said: one large value would decide alone.
BEGIN {
	FS = "\t"
	limit = 1.016
}
function broken(text) {
	nr_broken++
	print "BROKEN: " text
}
# Square of the correlation of x and y over the first n.
function r2(x, y, key, n,    i, sx, sy, sxx, syy, sxy) {
	for (i = 1; i <= n; i++) {
		sx += x[key, i]; sy += y[key, i]
		sxx += x[key, i] ^ 2; syy += y[key, i] ^ 2; sxy += x[key, i] * y[key, i]
	}
	if (n < 3 || n * sxx <= sx ^ 2 || n * syy <= sy ^ 2)
		return "-"
	return sprintf("%.4f", (n * sxy - sx * sy) ^ 2 / ((n * sxx - sx ^ 2) * (n * syy - sy ^ 2)))
}
function at_most(name, ours, client, held,    text) {
	if (ours == "" || client <= 0) {
		broken(where ": no " name)
		return
	}
	if (ours / client > worst[$1])
		worst[$1] = ours / client
	if (ours <= limit * client)
		return
	text = where ": " name " is " ours " us, " sprintf("%.3f", ours / client) " times the client's"
	if (held)
		broken(text)
	else
		known[++nr_known] = text
}
# As a share of the client's.
function error(name, ours, client) {
	error_of[$1, name] += client > 0 ? (ours > client ? ours - client : client - ours) / client : 0
}
FNR == 1 { next }
{ where = $1 " at " $3 " %" }
$2 ~ /^naive/ || $2 == "ebee" {
	times = ""
	if ($14 > 0)
		times = sprintf("  p50 is %.3g, p99 is %.3g times the client's", $16 / $10, $18 / $12)
	naive[$1] = naive[$1] sprintf("   %-16s %-18s %8d of %8d requests%s\n", $1, $2, $14, $7, times)
	next
}
{
	if (!($1 in nr_all))
		order[++nr_services] = $1
	nr_all[$1] += 0
	client_sum[$1] += $7
	our_sum[$1] += $14
}
$8 != 0 {
	broken(where ": " $8 " requests failed; is this machine busy with other work?")
	next
}
{
	keeps_up = $9 >= 0.9 * $5 && $13 <= 5
	by_stream = $2 == "grpc" || $2 == "http2"
	n = ++nr_all[$1]
	client_p99[$1, n] = $12
	our_p99[$1, n] = $18
	client_rps[$1, n] = $9
	our_rps[$1, n] = $15
	if ($14 != $7)
		broken(where ": the kernel counted " $14 " requests, the client " $7 " (" $22 ")")
}
{
	held = $2 != "grpc" || $3 <= 70
	at_most("p50", $16, $10, held)
	at_most("p95", $17, $11, held)
	at_most("p99", $18, $12, held)
	at_most("total p50", $19, $10, $2 != "grpc")
	at_most("total p99", $20, $12, $2 != "grpc")
}
keeps_up {
	n = ++nr_kept[$1]
	client_kept_p99[$1, n] = $12
	our_kept_p99[$1, n] = $18
	error("p50", $16, $10)
	error("p95", $17, $11)
	error("p99", $18, $12)
}
$3 > 100 {
	room = by_stream ? $12 : $4 / $9 * 1e6
	expected = (room < $12 ? room : $12) / 2
	waits = $2 == "exchange" ? $21 : $20
	if (waits < expected)
		broken(where ": " waits " us of waiting show; at least " sprintf("%.1f", expected) " us are in the server")
}
END {
	print "== kernel against client"
	line = "   %-16s %9s %9s | %8s %8s %8s | %8s %8s %8s | %s\n"
	printf line, "", "requests", "", "R2 p99", "R2 p99", "R2 rate", "mean", "error", "", "worst"
	printf line, "service", "client", "kernel", "kept up", "all", "all", "p50", "p95", "p99", "ratio"
	for (i = 1; i <= nr_services; i++) {
		s = order[i]
		printf line, s, client_sum[s], our_sum[s], r2(client_kept_p99, our_kept_p99, s, nr_kept[s]),
			r2(client_p99, our_p99, s, nr_all[s]), r2(client_rps, our_rps, s, nr_all[s]), percent(s, "p50"),
			percent(s, "p95"), percent(s, "p99"), sprintf("%.3f", worst[s])
	}
	print "== calls paired by descriptor, and the lifecycle ebee"
	for (i = 1; i <= nr_services; i++)
		printf "%s", naive[order[i]]
	if (nr_known)
		print "== over the limit where the lifecycle is known not to hold it"
	for (i = 1; i <= nr_known; i++)
		print "   " known[i]
	if (nr_broken) {
		print "accuracy: " nr_broken " expectations are broken (see BROKEN above)"
		exit 1
	}
	print "accuracy: counts are equal, " (nr_known ? nr_known " percentiles are" : "no percentile is") " over " limit \
		" times the client's"
}
function percent(s, name) {
	return nr_kept[s] ? sprintf("%.1f %%", 100 * error_of[s, name] / nr_kept[s]) : "-"
}
