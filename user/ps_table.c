/* SPDX-License-Identifier: Apache-2.0 */
#include "ps_table.h"

#include <errno.h>
#include <string.h>

#include "base/printable.h"
#include "base/python_version.h"
#include "export/json_text.h"
#include "export/process_json.h"

enum {
	TEXT_SZ = 4 * PY_RUNTIME_PATH_SZ, /* every byte escaped */
	LINE_SZ = 8192,
	/* On a terminal longer interpreter paths lose their beginning: their end tells more. */
	MAX_INTERPRETER_COLUMNS = 32,
	MAX_CONTAINER_COLUMNS = 32, /* the same: namespaces of Kubernetes stand in front */
	LABEL_SZ = 1024,
	/* Below this the command is worth more than the interpreter's path, which is left out. */
	MIN_INTERPRETER_WIDTH = 120,
	/* And so much of it is worth more than the build, the threads and the pid in the namespace. */
	MIN_COMMAND_COLUMNS = 20,
};

enum column {
	COLUMN_PID,
	COLUMN_NS_PID,
	COLUMN_USER,
	COLUMN_CONTAINER,
	COLUMN_VERSION,
	COLUMN_BUILD,
	COLUMN_THREADS,
	COLUMN_PROFILE,
	COLUMN_INTERPRETER,
	COLUMN_COMMAND,
	COLUMN_COUNT
};

static const struct {
	const char *title;
	bool right; /* aligned */
} COLUMNS[COLUMN_COUNT] = {
	[COLUMN_PID] = {"PID", true},	       [COLUMN_NS_PID] = {"NSPID", true},
	[COLUMN_USER] = {"USER", false},       [COLUMN_VERSION] = {"VERSION", false},
	[COLUMN_BUILD] = {"BUILD", false},     [COLUMN_THREADS] = {"THREADS", true},
	[COLUMN_PROFILE] = {"PROFILE", false}, [COLUMN_INTERPRETER] = {"INTERPRETER", false},
	[COLUMN_COMMAND] = {"COMMAND", false}, [COLUMN_CONTAINER] = {"CONTAINER", false},
};

static const char UNREADABLE_NAME[] = "unreadable";
static const char UNREADABLE_TEXT[] = "its memory may not be read: run panopy as root or with CAP_SYS_PTRACE";

static bool has_namespace_pid(const struct ps_row *row)
{
	return row->process->ns_pid && row->process->ns_pid != row->process->pid;
}

static const char *refusal_name(const struct ps_row *row)
{
	if (row->unreadable)
		return UNREADABLE_NAME;
	return row->runtime.refusal ? py_refusal_name(row->runtime.refusal) : NULL;
}

static const char *refusal_text(const struct ps_row *row)
{
	return row->unreadable ? UNREADABLE_TEXT : py_refusal_text(row->runtime.refusal);
}

static void format_build(char *buf, size_t sz, const struct ps_row *row)
{
	if (row->unreadable || !row->runtime.version)
		snprintf(buf, sz, "-");
	else
		snprintf(buf, sz, "%s %s%s%s", row->runtime.free_threaded ? "free-threaded" : "GIL",
			 row->runtime.shared ? "shared" : "static", row->runtime.debug ? " debug" : "",
			 row->runtime.musl ? " musl" : "");
}

static void keep_end(char *buf, size_t sz, size_t max_columns)
{
	size_t columns = printable_columns(buf);
	char whole[TEXT_SZ];

	if (columns <= max_columns)
		return;
	snprintf(whole, sizeof(whole), "%s", buf);
	snprintf(buf, sz, "...%s", whole + printable_prefix(whole, columns - max_columns + 3));
}

static void format_interpreter(char *buf, size_t sz, const struct ps_row *row, bool shorten)
{
	const char *path = row->unreadable ? row->process->exe : row->runtime.path;

	printable_text(buf, sz, path && *path ? path : "-");
	if (shorten)
		keep_end(buf, sz, MAX_INTERPRETER_COLUMNS);
}

static void format_container(char *buf, size_t sz, const struct process *process, bool shorten)
{
	char label[LABEL_SZ];

	if (!process->container)
		return;
	container_format_label(label, sizeof(label), process->container);
	printable_text(buf, sz, label);
	if (shorten)
		keep_end(buf, sz, MAX_CONTAINER_COLUMNS);
}

/* The text of one cell; `shorten` on a terminal. */
static void format_cell(char *buf, size_t sz, const struct ps_row *row, enum column column, bool shorten)
{
	const struct process *process = row->process;
	const char *name;

	buf[0] = '\0';
	switch (column) {
	case COLUMN_PID:
		snprintf(buf, sz, "%d", (int)process->pid);
		break;
	case COLUMN_NS_PID:
		if (has_namespace_pid(row))
			snprintf(buf, sz, "%d", (int)process->ns_pid);
		break;
	case COLUMN_USER:
		printable_text(buf, sz, row->user);
		break;
	case COLUMN_CONTAINER:
		format_container(buf, sz, process, shorten);
		break;
	case COLUMN_VERSION:
		python_version_format(buf, sz, row->unreadable ? 0 : row->runtime.version);
		break;
	case COLUMN_BUILD:
		format_build(buf, sz, row);
		break;
	case COLUMN_THREADS:
		if (row->thread_cnt)
			snprintf(buf, sz, "%zu", row->thread_cnt);
		break;
	case COLUMN_PROFILE:
		name = refusal_name(row);
		snprintf(buf, sz, "%s%s", name ? "no: " : "yes", name ? name : "");
		break;
	case COLUMN_INTERPRETER:
		format_interpreter(buf, sz, row, shorten);
		break;
	case COLUMN_COMMAND: /* escaped by the process table */
		snprintf(buf, sz, "%s", process->command && *process->command ? process->command : "-");
		break;
	case COLUMN_COUNT:
		break;
	}
	if (!buf[0] && column != COLUMN_NS_PID && column != COLUMN_CONTAINER)
		snprintf(buf, sz, "-");
}

struct layout {
	size_t widths[COLUMN_COUNT]; /* 0: the column is left out */
	bool shorten;
};

static bool is_left_out(enum column column, bool namespaces, bool containers, int width)
{
	return (column == COLUMN_NS_PID && !namespaces) || (column == COLUMN_CONTAINER && !containers) ||
	       (column == COLUMN_INTERPRETER && width > 0 && width < MIN_INTERPRETER_WIDTH);
}

static void measure(struct layout *layout, const struct ps_listing *listing, int terminal_width)
{
	char cell[TEXT_SZ];
	bool namespaces = false, containers = false;

	for (size_t i = 0; i < listing->cnt; i++) {
		namespaces |= has_namespace_pid(&listing->rows[i]);
		containers |= listing->rows[i].process->container != NULL;
	}
	for (int column = 0; column < COLUMN_COUNT; column++) {
		size_t width = strlen(COLUMNS[column].title);

		for (size_t i = 0; i < listing->cnt; i++) {
			size_t columns;

			format_cell(cell, sizeof(cell), &listing->rows[i], column, layout->shorten);
			columns = printable_columns(cell);
			width = columns > width ? columns : width;
		}
		layout->widths[column] =
			is_left_out(column, namespaces, containers, terminal_width) ? 0 : width;
	}
}

static void make_room(struct layout *layout, size_t terminal_width)
{
	static const enum column LEAST[] = {COLUMN_BUILD, COLUMN_THREADS, COLUMN_NS_PID};
	size_t used = layout->widths[COLUMN_COMMAND] < MIN_COMMAND_COLUMNS ? layout->widths[COLUMN_COMMAND]
									   : MIN_COMMAND_COLUMNS;

	for (int column = 0; column < COLUMN_COMMAND; column++)
		used += layout->widths[column] ? layout->widths[column] + 2 : 0;
	for (size_t i = 0; i < sizeof(LEAST) / sizeof(LEAST[0]) && used > terminal_width; i++) {
		size_t *width = &layout->widths[LEAST[i]];

		used -= *width ? *width + 2 : 0;
		*width = 0;
	}
}

struct line {
	char text[LINE_SZ];
	size_t sz;
};

static void line_add(struct line *line, const char *text, size_t width, bool right, bool last)
{
	size_t columns = printable_columns(text);
	int pad = columns < width ? (int)(width - columns) : 0;
	int done;

	done = snprintf(line->text + line->sz, sizeof(line->text) - line->sz, "%*s%s%*s", right ? pad : 0, "",
			text, right || last ? 0 : pad, "");
	line->sz += (size_t)done;
	if (!last && line->sz < sizeof(line->text))
		line->sz += (size_t)snprintf(line->text + line->sz, sizeof(line->text) - line->sz, "  ");
	if (line->sz >= sizeof(line->text))
		line->sz = sizeof(line->text) - 1;
}

/* `row` NULL: the titles. */
static void print_row(FILE *out, const struct layout *layout, const struct ps_row *row, int width)
{
	struct line line = {.sz = 0};

	for (int column = 0; column < COLUMN_COUNT; column++) {
		char cell[TEXT_SZ];

		if (!layout->widths[column])
			continue;
		if (row)
			format_cell(cell, sizeof(cell), row, column, layout->shorten);
		else
			snprintf(cell, sizeof(cell), "%s", COLUMNS[column].title);
		line_add(&line, cell, layout->widths[column], COLUMNS[column].right,
			 column == COLUMN_COMMAND);
	}
	if (width > 0)
		line.text[printable_prefix(line.text, (size_t)width)] = '\0';
	fprintf(out, "%s\n", line.text);
}

/* Each reason once, in the order of the rows. */
static void print_reasons(FILE *out, const struct ps_listing *listing)
{
	bool any = false;

	for (size_t i = 0; i < listing->cnt; i++) {
		const char *name = refusal_name(&listing->rows[i]);
		bool seen = !name;

		for (size_t j = 0; j < i && !seen; j++) {
			const char *other = refusal_name(&listing->rows[j]);

			seen = other && strcmp(other, name) == 0;
		}
		if (seen)
			continue;
		fprintf(out, "%s%s: %s\n", any ? "" : "\n", name, refusal_text(&listing->rows[i]));
		any = true;
	}
}

void ps_table_print(FILE *out, const struct ps_listing *listing, int width)
{
	struct layout layout = {.shorten = width > 0};

	measure(&layout, listing, width);
	if (width > 0 && width < MIN_INTERPRETER_WIDTH)
		make_room(&layout, (size_t)width);
	print_row(out, &layout, NULL, width);
	for (size_t i = 0; i < listing->cnt; i++)
		print_row(out, &layout, &listing->rows[i], width);
	print_reasons(out, listing);
}

static void add_text(struct json_object *object, const char *key, const char *text)
{
	char buf[TEXT_SZ];

	json_object_object_add(object, key,
			       text && *text ? json_object_new_string(printable_text(buf, sizeof(buf), text))
					     : NULL);
}

/* Already printable, and possibly longer than the buffer above. */
static void add_clean_text(struct json_object *object, const char *key, const char *text)
{
	json_object_object_add(object, key, text && *text ? json_object_new_string(text) : NULL);
}

static void add_runtime(struct json_object *object, const struct ps_row *row)
{
	const struct py_runtime *runtime = row->unreadable ? NULL : &row->runtime;
	bool known = runtime && runtime->version;
	char version[PYTHON_VERSION_SZ];

	add_text(object, "version",
		 python_version_format(version, sizeof(version), runtime ? runtime->version : 0));
	json_object_object_add(object, "prerelease",
			       known ? json_object_new_boolean(runtime->prerelease) : NULL);
	json_object_object_add(object, "free_threaded",
			       known ? json_object_new_boolean(runtime->free_threaded) : NULL);
	json_object_object_add(object, "debug", known ? json_object_new_boolean(runtime->debug) : NULL);
	json_object_object_add(object, "shared", known ? json_object_new_boolean(runtime->shared) : NULL);
	json_object_object_add(object, "musl", known ? json_object_new_boolean(runtime->musl) : NULL);
	add_text(object, "interpreter", runtime ? runtime->path : row->process->exe);
}

static struct json_object *row_to_json(const struct ps_row *row)
{
	struct json_object *object = json_object_new_object();
	const struct process *process = row->process;
	const char *name = refusal_name(row);

	if (!object)
		return NULL;
	json_object_object_add(object, "pid", json_object_new_int64(process->pid));
	json_object_object_add(object, "namespace_pid",
			       process->ns_pid ? json_object_new_int64(process->ns_pid) : NULL);
	process_json_add(object, process, row->user);
	add_runtime(object, row);
	json_object_object_add(object, "threads", json_object_new_int64((int64_t)row->thread_cnt));
	add_text(object, "comm", process->comm);
	add_clean_text(object, "command", process->command);
	json_object_object_add(object, "profilable", json_object_new_boolean(!name));
	add_text(object, "refusal", name);
	add_text(object, "reason", name ? refusal_text(row) : NULL);
	return object;
}

int ps_table_print_json(FILE *out, const struct ps_listing *listing)
{
	struct json_object *root = json_object_new_object();
	struct json_object *processes = json_object_new_array();

	if (!root || !processes) {
		json_object_put(root);
		json_object_put(processes);
		return -ENOMEM;
	}
	json_object_object_add(root, "processes", processes);
	for (size_t i = 0; i < listing->cnt; i++)
		json_object_array_add(processes, row_to_json(&listing->rows[i]));
	json_object_object_add(root, "unreadable", json_object_new_int64((int64_t)listing->unreadable_cnt));
	return json_text_print(out, root);
}
