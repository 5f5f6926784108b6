# SPDX-License-Identifier: GPL-2.0
# Violations, energy and best-effort work of every policy.  Wants policies, d (folder of the data, with its slash).
load "experiments/figures/common.gp"
set terminal svg size 1000,420 font "sans-serif,14" background "white"
n = words(policies)
width = 0.8 / n
x(i, j) = i - 0.4 + (j - 0.5) * width
label(v) = v != v ? "" : v < 0.05 ? sprintf("%.2f", v) : v < 9.95 ? sprintf("%.1f", v) : sprintf("%.0f", v)
set multiplot
set boxwidth width * 0.95
set key at screen 0.5,0.97 center maxrows 1 samplen 1 width 1
set xtics scale 0

set lmargin at screen 0.07; set rmargin at screen 0.56; set tmargin at screen 0.80; set bmargin at screen 0.10
set title "violated windows, % (lower is better)" offset 0,-0.4
set yrange [0:*]; set xrange [-0.5:3.5]
plot for [j=1:n] d."violated" using (x($0, j)):(column(j + 1)):xtic(1) with boxes lc rgb colour(word(policies, j)) title word(policies, j), \
     for [j=1:n] d."violated" using (x($0, j)):(column(j + 1)):(label(column(j + 1))) with labels offset 0,0.5 font ",10" notitle
unset key
set lmargin at screen 0.62; set rmargin at screen 0.74
set title "ramp: energy ÷ oracle" offset 0,-0.4
set xrange [-0.5:0.5]; set yrange [0.8:*]
plot for [j=1:n] d."energy" using (x($0, j)):(column(j + 1)):xtic("") with boxes lc rgb colour(word(policies, j)), \
     for [j=1:n] d."energy" using (x($0, j)):(column(j + 1)):(sprintf("%.2f", column(j + 1))) with labels offset 0,0.5 font ",10"
set lmargin at screen 0.79; set rmargin at screen 0.99
set title "best-effort work ÷ oracle" offset 0,-0.4
set xrange [-0.5:2.5]; set yrange [0:1]
plot for [j=1:n] d."work" using (x($0, j)):(column(j + 1)):xtic(1) with boxes lc rgb colour(word(policies, j)), \
     for [j=1:n] d."work" using (x($0, j)):(column(j + 1)):(sprintf("%.2f", column(j + 1))) with labels offset 0,0.5 font ",9"
unset multiplot
