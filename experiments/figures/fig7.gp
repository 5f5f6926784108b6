# SPDX-License-Identifier: GPL-2.0
# Total load that holds.  Wants policies, d.
load "experiments/figures/common.gp"
set terminal svg size 1000,380 font "sans-serif,14" background "white"
n = words(policies)
width = 0.8 / n
x(i, j) = i - 0.4 + (j - 0.5) * width
set lmargin at screen 0.07; set rmargin at screen 0.99; set tmargin at screen 0.82; set bmargin at screen 0.14
set boxwidth width * 0.95
set key at screen 0.5,0.95 center maxrows 1 samplen 1 width 1
set xtics scale 0
set xlabel "services"
set ylabel "sum of loads, % of each one's maximum" offset 1,0
set yrange [0:*]
plot for [j=1:n] d."emu" using (x($0, j)):(column(j + 1)):xtic(1) with boxes lc rgb colour(word(policies, j)) title word(policies, j), \
     for [j=1:n] d."emu" using (x($0, j)):(column(j + 1)):(column(j + 1) == column(j + 1) ? sprintf("%.0f", column(j + 1)) : "") with labels offset 0,0.5 font ",9" notitle
