# SPDX-License-Identifier: GPL-2.0
# Times to an allocation that lasts, and the share of time in such.  Wants policies, d.
load "experiments/figures/common.gp"
set terminal svg size 1000,440 font "sans-serif,14" background "white"
n = words(policies)
width = 0.8 / n
x(i, j) = i - 0.4 + (j - 0.5) * width
stats d."ok" using 1 nooutput
set multiplot layout 1,3 margins 0.06,0.99,0.15,0.76 spacing 0.06,0.1
set boxwidth width * 0.95
set key at screen 0.5,0.99 center top maxrows 2 samplen 1 width -2 font ",13"
set xtics 1 scale 0
set xlabel "services"
set xrange [STATS_min - 0.5:STATS_max + 0.5]
set yrange [0:*]
set title "first moment all targets are met, s"
plot for [j=1:n] d."ok" using (x($1, j)):(column(j + 1)) with boxes lc rgb colour(word(policies, j)) \
	title word(policies, j)
unset key
set title "until a valid allocation lasts, s"
plot for [j=1:n] d."valid" using (x($1, j)):(column(j + 1)) with boxes lc rgb colour(word(policies, j))
set yrange [0:1]
set title "share of 30-60 s in a valid allocation"
plot for [j=1:n] d."in_v" using (x($1, j)):(column(j + 1)) with boxes lc rgb colour(word(policies, j))
unset multiplot
