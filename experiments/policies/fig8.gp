# SPDX-License-Identifier: GPL-2.0
# fig8.gp - cells of fig8 as heat maps, one per policy.  Given by the caller: tsv, policies (names separated by spaces, the
# oracle among them), svg.  A cell shows memcached's load; one in which xapian and nginx do not hold is left white.
nr = words(policies)
nr_columns = nr < 3 ? nr : 3
nr_rows = (nr + nr_columns - 1) / nr_columns
set terminal svg size 330 * nr_columns + 60, 300 * nr_rows + 60 font 'sans-serif,14' background 'white'
set output svg
set datafile separator "\t"
set multiplot layout nr_rows, nr_columns title 'Highest load of memcached, % of its maximum' font ',15' \
	margins char 8, char 3, char 4, char 5 spacing char 9, char 6
set palette defined (0 '#deebf7', 50 '#6baed6', 100 '#08306b')
set cbrange [0:100]
unset colorbox
set border 3 lc rgb '#555555'
set tics nomirror out
set xlabel 'xapian, %' offset 0, 0.5
set ylabel 'nginx, %' offset 1, 0
unset key
cells(p) = sprintf("< awk -F '\\t' '$1 == \"%s\"' '%s'", p, tsv)
stats tsv using 2 nooutput
step = STATS_min
set xrange [step / 2.0:100 + step / 2.0]
set yrange [step / 2.0:100 + step / 2.0]
set xtics 20
set ytics 20
do for [i = 1:nr] {
	p = word(policies, i)
	set title p offset 0, -0.5
	plot cells(p) using 2:3:($4 < 0 ? NaN : $4) with image pixels, \
		cells(p) using 2:3:($4 < 0 ? '' : sprintf('%.0f', $4)):($4 < 60 ? 0x222222 : 0xffffff) with labels \
		font ',10' textcolor rgb variable
}
unset multiplot
