# SPDX-License-Identifier: GPL-2.0
# Violations, energy and best-effort work of every policy.  Wants policies, d (folder of the data, with its slash).
load "experiments/figures/common.gp"
set terminal svg size 1000,420 font "sans-serif,14" background "white"
n = words(policies)
width = 0.8 / n
x(i, j) = i - 0.4 + (j - 0.5) * width
short(v) = v != v ? "" : v < 0.05 ? sprintf("%.2f", v) : v < 9.95 ? sprintf("%.1f", v) : sprintf("%.0f", v)
digits(v) = v != v ? "" : sprintf("%.2f", v)
set multiplot
set boxwidth width * 0.95
set key at screen 0.5,0.99 center top maxrows 2 samplen 1 width -2 font ",13"
set xtics ("ramp" 0, "ramp, best effort" 1, "step" 2, "staircase" 3) scale 0

set lmargin at screen 0.07; set rmargin at screen 0.56; set tmargin at screen 0.80; set bmargin at screen 0.10
set title "violated windows, % (lower is better)" offset 0,-0.4
set yrange [0:*]; set xrange [-0.5:3.5]
plot for [j=1:n] d."violated" using (x($0, j)):(column(j + 1)) \
	with boxes lc rgb colour(word(policies, j)) title word(policies, j), \
     for [j=1:n] d."violated" using (x($0, j)):(column(j + 1)):(short(column(j + 1))) \
	with labels offset 0,0.5 font ",10" notitle
unset key
set lmargin at screen 0.62; set rmargin at screen 0.74
set title "ramp: energy ÷ oracle" offset 0,-0.4
set offsets graph 0, 0, 0.06, 0
set xrange [-0.5:0.5]; set yrange [0.8:*]; set xtics ("" 0)
plot for [j=1:n] d."energy" using (x($0, j)):(column(j + 1)) \
	with boxes lc rgb colour(word(policies, j)), \
     for [j=1:n] d."energy" using (x($0, j)):(column(j + 1)):(digits(column(j + 1))) \
	with labels offset 0,0.5 font ",10"
set lmargin at screen 0.79; set rmargin at screen 0.99
set title "best-effort work ÷ oracle" offset 0,-0.4
unset offsets
set xrange [-0.5:2.5]; set yrange [0:1.1]; set xtics ("ramp" 0, "step" 1, "staircase" 2)
plot for [j=1:n] d."work" using (x($0, j)):(column(j + 1)) \
	with boxes lc rgb colour(word(policies, j)), \
     for [j=1:n] d."work" using (x($0, j)):(column(j + 1)):(digits(column(j + 1))) \
	with labels rotate by 90 left offset 0,0.3 font ",10"
unset multiplot
