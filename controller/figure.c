// SPDX-License-Identifier: GPL-2.0
/*
 * figure.c - port: the gnuplot script of a figure.  It starts no program and reads no file.
 */
#include "figure.h"

#include <math.h>
#include <string.h>

/* Distinguishable for the colour-blind (Okabe and Ito), and apart in grey. */
static const char *const colors[] = {
	"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f3c8d", "#5c5c00",
};
static const char IDLE_COLOR[] = "#999999", BE_COLOR[] = "#000000", LATE_COLOR[] = "#c00000";
enum { NR_COLORS = sizeof(colors) / sizeof(colors[0]) };
enum { PANEL_PX = 200, GAP_PX = 36, WIDTH_PX = 960, HEAD_PX = 78, FOOT_PX = 30 };

/* Columns of the data block: time, then these for each service, then best effort and idle. */
enum data { DATA_LOAD, DATA_LATENCY, DATA_LATE, DATA_OTHER, DATA_CORES, DATA_SPEED, DATA_NR };

/* Shared by all runs of a figure, so that columns can be compared. */
struct axes {
	double time_s, low_ms, high_ms; /* latencies in whole decades */
};

static int column(uint32_t service, enum data which)
{
	return 2 + (int)service * DATA_NR + (int)which;
}

static double latency_ms(const struct report_point *p)
{
	/* A service that completes nothing is as late as its oldest request. */
	return (isnan(p->value[REPORT_STEER_US]) && p->value[REPORT_SLACK] < 0 ? p->value[REPORT_OLDEST_US] :
		p->value[REPORT_STEER_US]) / 1000;
}

/* As the feedback that does not steer shows it; NAN where there is none. */
static double other_ms(const struct report_point *p)
{
	return p->value[REPORT_OTHER_STEER_US] / 1000;
}

static struct axes axes_of(const struct report_run *runs, uint32_t nr_runs)
{
	struct axes axes = { 0, INFINITY, 0 };

	for (uint32_t r = 0; r < nr_runs; r++) {
		const struct report_run *run = &runs[r];

		axes.time_s = fmax(axes.time_s, run->ticks[run->nr_ticks - 1].t_s);
		for (size_t i = 0; i < run->nr_ticks * run->nr_services; i++) {
			double target_ms = run->services[i % run->nr_services].target_us / 1000;
			double ms = latency_ms(&run->points[i]);

			if (!(ms > 0))
				ms = target_ms;
			axes.low_ms = fmin(fmin(axes.low_ms, other_ms(&run->points[i])), fmin(ms, target_ms));
			axes.high_ms = fmax(fmax(axes.high_ms, other_ms(&run->points[i])), fmax(ms, target_ms));
		}
	}
	axes.time_s = axes.time_s > 0 ? axes.time_s : 1;
	axes.low_ms = pow(10, floor(log10(axes.low_ms)));
	axes.high_ms = pow(10, ceil(log10(axes.high_ms * 1.01)));
	return axes;
}

static double speed(const struct report_run *run, const struct report_point *p)
{
	return run->speed == REPORT_SPEED_KHZ ? p->value[REPORT_KHZ] / 1e6 : p->value[REPORT_PERMILLE] / 10;
}

static void put(FILE *out, double value)
{
	if (isnan(value))
		fputs(" NaN", out);
	else
		fprintf(out, " %.6g", value);
}

static void write_data(const struct report_run *run, uint32_t index, FILE *out)
{
	fprintf(out, "$run%u << END_OF_DATA\n", index);
	for (size_t i = 0; i < run->nr_ticks; i++) {
		fprintf(out, "%.6f", run->ticks[i].t_s);
		for (uint32_t s = 0; s < run->nr_services; s++) {
			const struct report_point *p = report_point(run, i, s);
			double max_rps = run->services[s].max_rps;

			/* The first tick has no window behind it, so it has cores but no load. */
			put(out, run->ticks[i].window_s > 0 ? 100 * p->value[REPORT_RPS] / max_rps : NAN);
			put(out, latency_ms(p));
			put(out, p->value[REPORT_SLACK] < 0 ? latency_ms(p) : NAN);
			put(out, other_ms(p));
			put(out, p->value[REPORT_CORES]);
			put(out, speed(run, p));
		}
		put(out, run->ticks[i].be_cores);
		put(out, run->ticks[i].idle_cores);
		fputc('\n', out);
	}
	fputs("END_OF_DATA\n", out);
}

/* A panel's heading and axis, NAN for as far as the data goes; its curves follow. */
static void begin_plot(FILE *out, const char *heading, double low, double high, bool log_axis)
{
	fprintf(out, "set label 3 '%s' at graph 0, graph 1.08 left\n", heading);
	fprintf(out, "%s logscale y\n", log_axis ? "set" : "unset");
	if (isnan(high))
		fprintf(out, "set yrange [%.9g:*]\nplot \\\n", low);
	else
		fprintf(out, "set yrange [%.9g:%.9g]\nplot \\\n", low, high);
}

/* One curve of a `plot` command. */
static void curve(FILE *out, uint32_t run, int data, const char *style, const char *color, const char *title)
{
	fprintf(out, "\t$run%u using 1:%d with %s lc rgb '%s' title '%s', \\\n", run, data, style, color, title);
}

/* Services that own the same lie on top of each other: the first ones are wider, so that all are seen. */
static void step_curves(FILE *out, const struct report_run *run, uint32_t index, enum data which)
{
	for (uint32_t s = 0; s < run->nr_services; s++) {
		uint32_t below = run->nr_services - 1 - s;
		char style[32];

		snprintf(style, sizeof(style), "steps lw %g", 1.5 + 2 * (below < 4 ? below : 4));
		curve(out, index, column(s, which), style, colors[s % NR_COLORS], run->services[s].name);
	}
}

/* gnuplot warns of a curve without a point. */
static bool is_ever_late(const struct report_run *run, uint32_t service)
{
	for (size_t i = 0; i < run->nr_ticks; i++)
		if (report_point(run, i, service)->value[REPORT_SLACK] < 0)
			return true;
	return false;
}

static bool has_other(const struct report_run *run, uint32_t service)
{
	for (size_t i = 0; i < run->nr_ticks; i++)
		if (other_ms(report_point(run, i, service)) > 0)
			return true;
	return false;
}

static bool clients_steer(const struct report_run *run)
{
	return !strncmp(run->feedback, "client", strlen("client"));
}

static bool has_latency(const struct report_run *run, uint32_t service)
{
	for (size_t i = 0; i < run->nr_ticks; i++)
		if (latency_ms(report_point(run, i, service)) > 0)
			return true;
	return false;
}

/* Ends the list of curves; gnuplot draws nothing for it. */
static void end_plot(FILE *out)
{
	fputs("\tNaN notitle\n", out);
}

static void plot_load(const struct report_run *run, uint32_t index, const struct axes *axes, FILE *out)
{
	(void)axes;
	begin_plot(out, "load [% of the most seen]", 0, 105, false);
	for (uint32_t s = 0; s < run->nr_services; s++) {
		char title[CONFIG_NAME_SIZE + 64];
		double max_rps = run->services[s].max_rps;

		snprintf(title, sizeof(title), "%s (max %.*f/s)", run->services[s].name,
			 max_rps < 100 ? 1 : 0, max_rps);
		curve(out, index, column(s, DATA_LOAD), "linespoints lw 1.5 pt 7 ps 0.1", colors[s % NR_COLORS], title);
	}
	end_plot(out);
}

static void plot_latency(const struct report_run *run, uint32_t index, const struct axes *axes, FILE *out)
{
	begin_plot(out, "latency [ms]", axes->low_ms, axes->high_ms, true);
	for (uint32_t s = 0; s < run->nr_services; s++) {
		const struct report_service *service = &run->services[s];
		const char *color = colors[s % NR_COLORS];
		char title[CONFIG_NAME_SIZE + 64];

		snprintf(title, sizeof(title), "%s p%g", service->name, service->percentile);
		if (has_latency(run, s))
			curve(out, index, column(s, DATA_LATENCY), "linespoints lw 1.5 pt 7 ps 0.1", color, title);
		if (has_other(run, s))
			curve(out, index, column(s, DATA_OTHER), "lines lw 0.6", color,
			      clients_steer(run) ? "in the kernel" : "reported by clients");
		fprintf(out, "\t%.9g with lines dt 2 lw 1.5 lc rgb '%s' title 'target %.9g ms', \\\n",
			service->target_us / 1000, color, service->target_us / 1000);
		if (is_ever_late(run, s))
			curve(out, index, column(s, DATA_LATE), "points pt 7 ps 0.4", LATE_COLOR, "");
	}
	fprintf(out, "\tkeyentry with points pt 7 ps 0.4 lc rgb '%s' title 'target missed', \\\n", LATE_COLOR);
	end_plot(out);
}

static void plot_cores(const struct report_run *run, uint32_t index, const struct axes *axes, FILE *out)
{
	double high = run->nr_cores > 0 ? run->nr_cores : 1;

	(void)axes;
	fprintf(out, "set ytics %g\n", ceil(high / 8));
	begin_plot(out, "cores", 0, high * 1.05, false);
	curve(out, index, column(run->nr_services, 0) + 1, "steps lw 1 dt 3", IDLE_COLOR, "idle");
	curve(out, index, column(run->nr_services, 0), "steps lw 1.5", BE_COLOR, "best effort");
	step_curves(out, run, index, DATA_CORES);
	end_plot(out);
	fputs("set ytics autofreq\n", out);
}

static void plot_speed(const struct report_run *run, uint32_t index, const struct axes *axes, FILE *out)
{
	(void)axes;
	if (run->speed == REPORT_SPEED_KHZ)
		begin_plot(out, "speed [GHz]", 0, NAN, false);
	else
		begin_plot(out, "speed [% of the time on its cores]", 0, 105, false);
	step_curves(out, run, index, DATA_SPEED);
	end_plot(out);
}

typedef void (*panel_fn)(const struct report_run *run, uint32_t index, const struct axes *axes, FILE *out);

/* The panels a record has data for; returns how many. */
static uint32_t panels_of(const struct report_run *run, panel_fn panels[4])
{
	uint32_t nr = 0;

	panels[nr++] = plot_load;
	panels[nr++] = plot_latency;
	if (report_has_cores(run)) {
		panels[nr++] = plot_cores;
		if (run->speed != REPORT_SPEED_NONE)
			panels[nr++] = plot_speed;
	}
	return nr;
}

static void write_head(const struct report_run *run, double left, double height_px, FILE *out)
{
	const json_t *t = run->totals;
	const char *source = json_string_value(json_object_get(t, "energy_source"));

	fprintf(out, "set label 1 '%s, %s feedback, %s, on %s (%g cores)' at screen %.4f, screen %.4f left font ',13'\n",
		run->policy, clients_steer(run) ? "client" : "kernel", run->mode,
		strcmp(run->mode, "sim") ? run->host : "a simulated machine", run->nr_cores, left, 1 - 16 / height_px);
	fprintf(out, "set label 2 '");
	if (t)
		fprintf(out, "violated %.2f %% of the time, %.0f core seconds, %.0f J %s, best-effort work %.1f",
			json_number_value(json_object_get(t, "violated_windows_pct")),
			json_number_value(json_object_get(t, "core_seconds")),
			json_number_value(json_object_get(t, "energy_j")),
			source && !strcmp(source, "measured") ? "measured" : "modelled",
			json_number_value(json_object_get(t, "be_work")));
	else
		fprintf(out, "the run did not end: no totals");
	fprintf(out, "' at screen %.4f, screen %.4f left font ',10'\n", left, 1 - 36 / height_px);
}

static void write_column(const struct report_run *run, uint32_t index, uint32_t nr_runs, const struct axes *axes,
			 double height_px, FILE *out)
{
	double left = (index + 0.06) / nr_runs, right = (index + 0.73) / nr_runs;
	panel_fn panels[4];
	uint32_t nr = panels_of(run, panels);

	fprintf(out, "set xrange [0:%.9g]\nset lmargin at screen %.4f\nset rmargin at screen %.4f\n", axes->time_s,
		left, right);
	write_head(run, left, height_px, out);
	for (uint32_t p = 0; p < nr; p++) {
		double top = 1 - (HEAD_PX + p * PANEL_PX) / height_px, bottom = top - (PANEL_PX - GAP_PX) / height_px;

		fprintf(out, "set tmargin at screen %.4f\nset bmargin at screen %.4f\n", top, bottom);
		fprintf(out, "set key at screen %.4f, screen %.4f\n", right + 0.01 / nr_runs, top);
		if (p + 1 < nr)
			fputs("set format x ''\nunset xlabel\n", out);
		else
			fputs("set format x '%g'\nset xlabel 'time [s]'\n", out);
		panels[p](run, index, axes, out);
		fputs("unset label 1\nunset label 2\n", out);
	}
}

void figure_script(const struct report_run *runs, uint32_t nr_runs, enum figure_format format, FILE *out)
{
	const struct axes axes = axes_of(runs, nr_runs);
	uint32_t nr_panels = 0, width = WIDTH_PX * nr_runs, height;
	panel_fn panels[4];

	for (uint32_t i = 0; i < nr_runs; i++) {
		uint32_t nr = panels_of(&runs[i], panels);

		if (nr > nr_panels)
			nr_panels = nr;
		write_data(&runs[i], i, out);
	}
	height = HEAD_PX + nr_panels * PANEL_PX + FOOT_PX;
	if (format == FIGURE_PDF)
		fprintf(out, "set terminal pdfcairo size %.2fin,%.2fin", width / 96.0, height / 96.0);
	else
		fprintf(out, "set terminal %s size %u,%u", format == FIGURE_SVG ? "svg" : "pngcairo", width, height);
	fputs(" noenhanced font 'sans-serif,11' background 'white'\n", out);
	fputs("set multiplot\nset key left top Left reverse samplen 2 font ',10'\n"
	      "set grid lc rgb '#dddddd' lt 1\nset border 3\nset tics nomirror out\nset format y '%g'\n", out);
	for (uint32_t i = 0; i < nr_runs; i++)
		write_column(&runs[i], i, nr_runs, &axes, height, out);
	fputs("unset multiplot\n", out);
}
