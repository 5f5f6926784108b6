# SPDX-License-Identifier: GPL-2.0
# figure.gp - accuracy.tsv as a figure: for every service the client's p99 and the kernel's over load.
# Given by the caller: tsv, svg, services (names separated by spaces).
nr = words(services)
nr_columns = nr < 3 ? nr : 3
nr_rows = (nr + nr_columns - 1) / nr_columns
set terminal svg size 360 * nr_columns, 290 * nr_rows + 70 font 'sans,11' background 'white'
set output svg
set datafile separator "\t"
set multiplot layout nr_rows, nr_columns title 'p99 latency (ms) over load (% of the maximum)' font ',13' \
	margins char 7, char 2, char 5, char 4 spacing char 7, char 5
set logscale y
set format y '%g'
set grid ytics lc rgb '#dddddd'
set border 3
set tics nomirror
set xrange [0:130]
set xtics 0, 30
unset key
# Rows of a service: its own by the kernel's method, or those for comparison, as pairing or the study would have it.
mine(s) = sprintf("< awk -F '\\t' '$1 == \"%s\" && $2 !~ /^(naive|ebee)/' '%s'", s, tsv)
paired(s, kind) = sprintf("< awk -F '\\t' '$1 == \"%s\" && $2 == \"%s\"' '%s'", s, kind, tsv)
kinds(s) = system(sprintf("awk -F '\\t' '$1 == \"%s\" && $2 ~ /^(naive|ebee)/ && $14 { print $2 }' '%s'", s, tsv))
# One legend for all: a coloured text for each line.
set label 1 '● client' at screen 0.06, screen 0.02 textcolor rgb '#888888'
set label 2 '● kernel: owed' at screen 0.17, screen 0.02 textcolor rgb '#0060ad'
set label 3 '┄ kernel: until the first read' at screen 0.32, screen 0.02 textcolor rgb '#2a9d4a'
set label 4 '+ paired: accept-close' at screen 0.55, screen 0.02 textcolor rgb '#d62728'
set label 5 '× paired: read-send' at screen 0.72, screen 0.02 textcolor rgb '#d62728'
set label 6 '△ lifecycle ebee' at screen 0.87, screen 0.02 textcolor rgb '#d62728'
do for [i = 1:nr] {
	s = word(services, i)
	set title s font ',12'
	# A plot of no rows would be warned of.
	pairing = words(kinds(s)) == 0 ? '' : ", for [kind in kinds(s)] paired(s, kind) using 3:($18 / 1000) " . \
		"with points lc rgb '#d62728' pt (kind eq 'ebee' ? 8 : kind eq 'naive-accept_close' ? 1 : 2)"
	eval "plot mine(s) using 3:($12 / 1000) with linespoints lc rgb '#888888' lw 5 pt 7 ps 0.9, " . \
		"mine(s) using 3:($18 / 1000) with linespoints lc rgb '#0060ad' lw 1.5 pt 7 ps 0.5, " . \
		"mine(s) using 3:($21 / 1000) with lines lc rgb '#2a9d4a' lw 1.5 dt 2" . pairing
	unset label
}
unset multiplot
