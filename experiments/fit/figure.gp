# SPDX-License-Identifier: GPL-2.0
# Percentiles over load, measured (full points: fitted by; open: predicted) and modelled.  Called with tsv and svg set.
set terminal svg size 900,380 font 'sans,13' background rgb 'white'
set output svg
set datafile separator '\t'
set multiplot layout 1,2
set logscale y
set grid ytics lc rgb '#dddddd'
set xlabel 'load, % of the maximum'
set ylabel 'latency, us'
set key top left reverse Left samplen 2
set xrange [15:95]
do for [service in 'memcached hotel-http2'] {
	set title service
	at(name, load) = name eq service ? load : NaN
	plot for [p = 1:3] tsv skip 1 using (at(strcol(1), $3)):(strcol(5) eq 'yes' ? column(5 + p) : NaN) pt 7 lc p notitle, \
		for [p = 1:3] tsv skip 1 using (at(strcol(1), $3)):(strcol(5) eq 'yes' ? NaN : column(5 + p)) pt 6 lc p notitle, \
		for [p = 1:3] tsv skip 1 using (at(strcol(1), $3)):(column(8 + p)) with lines lw 2 lc p \
			title word('p50 p95 p99', p).', modelled'
}
unset multiplot
