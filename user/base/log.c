/* SPDX-License-Identifier: Apache-2.0 */
/* Each message is put together in one buffer and written with one call, so that lines of two threads or
 * processes on one terminal do not mix. State is file-scope because every stage logs; it is set once at
 * start.
 */
#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/printable.h"

enum {
	LINE_SZ = 2048, /* longer messages are cut; the longest are libbpf's verifier logs */
	STATUS_SZ = 512,
	HURRIED_SZ = 4096, /* a pipe that is ready takes so much at once (Linux, PIPE_BUF) */
	HURRIED_MS = 100,
};

static struct {
	enum log_level levels[LOG_TOPIC_COUNT];
	enum log_color color;
	bool initialized;
	bool hurried;
	bool is_stuck; /* nobody read when it was last looked */
	size_t dropped_cnt;
	char status[STATUS_SZ]; /* what the bottom line shows; "" for none */
} g_log;

static const char *const TOPIC_NAMES[LOG_TOPIC_COUNT] = {
	[LOG_TOPIC_MAIN] = "main",	     [LOG_TOPIC_DISCOVER] = "discover",
	[LOG_TOPIC_RUNTIME] = "runtime",     [LOG_TOPIC_KERNEL] = "kernel",
	[LOG_TOPIC_STACK] = "stack",	     [LOG_TOPIC_SYMBOLIZE] = "symbolize",
	[LOG_TOPIC_AGGREGATE] = "aggregate", [LOG_TOPIC_EXPORT] = "export",
};

void log_init(enum log_level level, enum log_color color)
{
	for (int topic = 0; topic < LOG_TOPIC_COUNT; topic++)
		g_log.levels[topic] = level;
	g_log.color = color;
	g_log.initialized = true;
}

void log_set_level(enum log_topic topic, enum log_level level)
{
	if (!g_log.initialized)
		log_init(LOG_LEVEL_INFO, LOG_COLOR_AUTO);
	g_log.levels[topic] = level;
}

bool log_enabled(enum log_topic topic, enum log_level level)
{
	return level <= (g_log.initialized ? g_log.levels[topic] : LOG_LEVEL_INFO);
}

bool log_is_terminal(void)
{
	int saved_errno = errno;
	bool is_terminal = isatty(STDERR_FILENO);

	errno = saved_errno;
	return is_terminal;
}

static bool takes_escapes(void)
{
	const char *term = getenv("TERM");

	return term && strcmp(term, "dumb") != 0;
}

bool log_use_color(void)
{
	const char *no_color = getenv("NO_COLOR");

	if (g_log.color != LOG_COLOR_AUTO)
		return g_log.color == LOG_COLOR_ALWAYS;
	if ((no_color && no_color[0]) || !takes_escapes())
		return false;
	return log_is_terminal();
}

int log_terminal_width(int fd)
{
	int saved_errno = errno;
	struct winsize size = {0};
	int width = 0;

	if (isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0)
		width = size.ws_col ? size.ws_col : 80;
	errno = saved_errno;
	return width;
}

/* Waits for room a moment, and not again before there was some. */
static bool has_room(void)
{
	struct pollfd pollfd = {.fd = STDERR_FILENO, .events = POLLOUT};

	g_log.is_stuck = poll(&pollfd, 1, g_log.is_stuck ? 0 : HURRIED_MS) == 0;
	return !g_log.is_stuck;
}

static void write_stderr(const char *text, size_t sz)
{
	while (sz) {
		size_t piece = g_log.hurried && sz > HURRIED_SZ ? HURRIED_SZ : sz;
		ssize_t done;

		if (g_log.hurried && !has_room()) {
			g_log.dropped_cnt++;
			return;
		}
		done = write(STDERR_FILENO, text, piece);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return; /* nowhere left to say so */
		text += done;
		sz -= (size_t)done;
	}
}

struct line {
	char bytes[LINE_SZ];
	size_t sz;
};

static void line_add(struct line *line, const char *text)
{
	size_t sz = strlen(text);
	size_t room = sizeof(line->bytes) - line->sz;

	if (sz > room)
		sz = room;
	memcpy(line->bytes + line->sz, text, sz);
	line->sz += sz;
}

/* Escape sequences in a target's names must not reach the terminal. */
static void line_add_escaped(struct line *line, const char *text)
{
	size_t sz = strlen(text);

	for (size_t i = 0, length; i < sz; i += length) {
		char piece[8];

		/* What a module escaped already stays as it is. */
		length = text[i] == '\\' ? 1 : printable_character(text + i, sz - i);
		if (length)
			snprintf(piece, sizeof(piece), "%.*s", (int)length, text + i);
		else
			snprintf(piece, sizeof(piece), "\\x%02x", (unsigned char)text[i]);
		length = length ? length : 1;
		line_add(line, piece);
	}
}

static void line_add_heading(struct line *line, enum log_topic topic, enum log_level level)
{
	static const char *const HEADINGS[LOG_LEVEL_COUNT] = {"error: ", "warning: ", "", "", ""};
	static const char *const COLORS[LOG_LEVEL_COUNT] = {"\x1b[1;31m", "\x1b[1;33m", "", "\x1b[2m",
							    "\x1b[2m"};
	bool color = COLORS[level][0] && log_use_color();

	line_add(line, "panopy: ");
	if (color)
		line_add(line, COLORS[level]);
	if (level >= LOG_LEVEL_DEBUG) {
		line_add(line, TOPIC_NAMES[topic]);
		line_add(line, ": ");
	}
	line_add(line, HEADINGS[level]);
	if (color)
		line_add(line, "\x1b[0m");
}

static void write_message(enum log_topic topic, enum log_level level, const char *text)
{
	struct line line = {.sz = 0};

	if (g_log.status[0])
		line_add(&line, "\r\x1b[K");
	line_add_heading(&line, topic, level);
	line_add_escaped(&line, text);
	if (line.sz == sizeof(line.bytes))
		line.sz--;
	line.bytes[line.sz++] = '\n';
	write_stderr(line.bytes, line.sz);
	write_stderr(g_log.status, strlen(g_log.status));
}

void log_writev(enum log_topic topic, enum log_level level, const char *format, va_list args)
{
	int saved_errno = errno;
	char text[LINE_SZ];

	if (!log_enabled(topic, level))
		return;
	vsnprintf(text, sizeof(text), format, args);
	write_message(topic, level, text);
	errno = saved_errno;
}

void log_write(enum log_topic topic, enum log_level level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_writev(topic, level, format, args);
	va_end(args);
}

int log_library(enum log_topic topic, enum log_level level, const char *format, va_list args)
{
	int saved_errno = errno;
	char *text = NULL;
	char *rest;
	char *line;

	if (!log_enabled(topic, level))
		return 0;
	if (vasprintf(&text, format, args) < 0)
		return 0;
	rest = text;
	while ((line = strsep(&rest, "\n")))
		if (*line)
			write_message(topic, level, line);
	free(text);
	errno = saved_errno;
	return 0;
}

void log_block(const char *text)
{
	int saved_errno = errno;

	if (g_log.status[0])
		write_stderr("\r\x1b[K", 4);
	write_stderr(text, strlen(text));
	write_stderr(g_log.status, strlen(g_log.status));
	errno = saved_errno;
}

void log_hurry(bool hurried)
{
	size_t dropped_cnt = g_log.dropped_cnt;

	g_log.hurried = hurried;
	g_log.dropped_cnt = 0;
	if (dropped_cnt)
		log_warning(LOG_TOPIC_MAIN,
			    "standard error was not read for a while: %zu messages are missing", dropped_cnt);
}

void log_status_line(const char *text)
{
	int width = log_terminal_width(STDERR_FILENO);
	int saved_errno = errno;

	if (!width || !takes_escapes())
		return;
	if (g_log.status[0] || (text && *text))
		write_stderr("\r\x1b[K", 4);
	/* A line as wide as the terminal would wrap and leave a copy behind at each redraw. */
	snprintf(g_log.status, sizeof(g_log.status), "%.*s", width - 1, text ? text : "");
	write_stderr(g_log.status, strlen(g_log.status));
	errno = saved_errno;
}
