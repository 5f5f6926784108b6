#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# shares: yes
# `make` alone builds everything: the first rule of the Makefile is `all`, whatever else comes to stand in it.
set -uo pipefail
. tests/lib.sh

scratch
make -npq BUILD="$scratch/build" >"$scratch/out" 2>&1
tap_is "$(sed -n 's/^\.DEFAULT_GOAL := //p' "$scratch/out")" all 'make alone makes all'
tap_done
