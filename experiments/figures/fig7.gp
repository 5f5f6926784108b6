# SPDX-License-Identifier: GPL-2.0
# Total load that holds.  Wants policies, d.
load "experiments/figures/common.gp"
set terminal svg size 1000,400 font "sans-serif,14" background "white"
n = words(policies)
width = 0.8 / n
whole(v) = v == v ? sprintf("%.0f", v) : ""
x(i, j) = i - 0.4 + (j - 0.5) * width
set lmargin at screen 0.07; set rmargin at screen 0.99; set tmargin at screen 0.78; set bmargin at screen 0.17
set boxwidth width * 0.95
set key at screen 0.5,0.99 center top maxrows 2 samplen 1 width -2 font ",13"
set xtics 1 scale 0
set xlabel "services"
set ylabel "sum of loads, % of each one's maximum" offset 1,0
stats d."emu" using 1 nooutput
set xrange [STATS_min - 0.5:STATS_max + 0.5]
set yrange [0:*]
plot for [j=1:n] d."emu" using (x($1, j)):(column(j + 1)) \
	with boxes lc rgb colour(word(policies, j)) title word(policies, j), \
     for [j=1:n] d."emu" using (x($1, j)):(column(j + 1)):(whole(column(j + 1))) \
	with labels offset 0,0.5 font ",9" notitle
