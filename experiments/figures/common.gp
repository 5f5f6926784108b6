# SPDX-License-Identifier: GPL-2.0
# Shared by the pictures of this folder: a colour per policy, whatever picture it is in.
colour(policy) = \
	policy eq "static" ? "#bbbbbb" : policy eq "heracles" ? "#8c6bb1" : \
	policy eq "parties-paper" ? "#d55e00" : policy eq "parties-released" ? "#e6a23c" : \
	policy eq "adaptive" ? "#0072b2" : policy eq "oracle" ? "#222222" : \
	policy eq "published-parties" ? "#f2c6a6" : policy eq "published-heracles" ? "#d4c7e6" : "#009e73"
set style fill solid 1 noborder
set grid y lc rgb "#dddddd" lt 1
set border 3 lc rgb "#555555"
set tics nomirror
