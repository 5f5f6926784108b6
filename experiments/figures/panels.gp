# SPDX-License-Identifier: GPL-2.0
# Two runs side by side: load, latency against target, cores, speed.  Wants left and right (paths up to the
# service's name), left_title, right_title, headline, services.
set terminal svg size 1000,820 font "sans-serif,14" background "white"
array colours[4] = [ "#0072b2", "#d55e00", "#009e73", "#cc79a7" ]
n = words(services)
file(i, s) = (i == 1 ? left : right).word(services, s)
most_t = 0
most_cores = 0
do for [i=1:2] {
	do for [s=1:n] {
		stats file(i, s) using 1:4 nooutput
		if (STATS_max_x > most_t) { most_t = STATS_max_x }
		if (STATS_max_y > most_cores) { most_cores = STATS_max_y }
	}
}
set xrange [0:most_t]
set border 3 lc rgb "#555555"
set tics nomirror
set grid lc rgb "#e4e4e4" lt 1
set multiplot title headline font ",17"
edge(i) = 0.075 + (i - 1) * 0.48
do for [i=1:2] {
	set lmargin at screen edge(i); set rmargin at screen edge(i) + 0.425
	set xtics format ""
	set xlabel ""
	set title (i == 1 ? left_title : right_title) font ",15" offset 0,-0.5
	set tmargin at screen 0.885; set bmargin at screen 0.74
	unset ylabel
	unset key
	if (i == 1) {
		set ylabel "requests/s" offset 1,0
		set key at screen 0.5,0.935 center maxrows 1 samplen 2
	}
	set logscale y; set yrange [*:*]; set format y "10^{%T}"
	plot for [s=1:n] file(i, s) using 1:2 with lines lw 1.5 lc rgb colours[s] title word(services, s)
	unset key; unset title
	set format y "%g"
	set tmargin at screen 0.71; set bmargin at screen 0.49
	if (i == 1) { set ylabel "latency ÷ target" }
	set yrange [0.1:100]
	set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead lc rgb "#333333" dt 2 front
	plot for [s=1:n] file(i, s) using 1:($3 < 0.1 ? 0.1 : $3 > 100 ? 100 : $3) with lines lw 1 lc rgb colours[s]
	unset arrow 1
	unset logscale y
	set tmargin at screen 0.46; set bmargin at screen 0.27
	if (i == 1) { set ylabel "cores" }
	set yrange [0:most_cores]
	plot for [s=1:n] file(i, s) using 1:4 with steps lw 1.5 lc rgb colours[s]
	set tmargin at screen 0.24; set bmargin at screen 0.08
	if (i == 1) { set ylabel "GHz" }
	set yrange [1.1:2.9]
	set xtics format "%g"
	set xlabel "s" offset 0,0.5
	plot for [s=1:n] file(i, s) using 1:5 with steps lw 1.5 lc rgb colours[s]
}
unset multiplot
