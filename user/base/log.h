/* SPDX-License-Identifier: Apache-2.0 */
/* Messages for people, on stderr only: topics x levels. Every call keeps errno, and control characters
 * in the text (it may carry names from a target) are printed as \x1b style escapes. One line a call; no
 * trailing newline in `format`. Not for the sample path.
 *
 * The module also owns the one line at the bottom of the terminal that is rewritten in place (progress),
 * so that messages do not run into it.
 */
#ifndef PANOPY_BASE_LOG_H
#define PANOPY_BASE_LOG_H

#include <stdarg.h>
#include <stdbool.h>

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING, /* something is amiss and panopy goes on */
	LOG_LEVEL_INFO,	   /* what a user wants to read: results, hints */
	LOG_LEVEL_DEBUG,   /* -v */
	LOG_LEVEL_TRACE,   /* -vv: the libraries' own chatter too */
	LOG_LEVEL_COUNT
};

enum log_topic {
	LOG_TOPIC_MAIN,
	LOG_TOPIC_DISCOVER,
	LOG_TOPIC_RUNTIME,
	LOG_TOPIC_KERNEL,
	LOG_TOPIC_STACK,
	LOG_TOPIC_SYMBOLIZE,
	LOG_TOPIC_AGGREGATE,
	LOG_TOPIC_EXPORT,
	LOG_TOPIC_COUNT
};

enum log_color {
	LOG_COLOR_AUTO, /* on a terminal, unless NO_COLOR is set or TERM is dumb */
	LOG_COLOR_ALWAYS,
	LOG_COLOR_NEVER,
};

/* Before the first call everything up to LOG_LEVEL_INFO is printed, with LOG_COLOR_AUTO. */
void log_init(enum log_level level, enum log_color color);
void log_set_level(enum log_topic topic, enum log_level level);
bool log_enabled(enum log_topic topic, enum log_level level);

void log_write(enum log_topic topic, enum log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void log_writev(enum log_topic topic, enum log_level level, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));

#define log_error(topic, ...)	log_write(topic, LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(topic, ...) log_write(topic, LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(topic, ...)	log_write(topic, LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(topic, ...)	log_write(topic, LOG_LEVEL_DEBUG, __VA_ARGS__)

/* Rewrites the bottom line; NULL or "" takes it away. Does nothing unless stderr is a terminal. The
 * text is cut at the terminal's width. */
void log_status_line(const char *text);

/* As long as it is set, nobody who leaves stderr unread can hold the caller up: what finds no room for 100 ms is
 * dropped, and at the end that is said. */
void log_hurry(bool hurried);

/* Writes whole lines to stderr as they are, above the bottom line. */
void log_block(const char *text);

/* Whether stderr is a terminal, and whether to colour text on it. */
bool log_is_terminal(void);
bool log_use_color(void);
/* Columns of the terminal behind `fd`; 0 when it is none. */
int log_terminal_width(int fd);

/* For libraries that hand over their messages one piece at a time and bring their own newlines
 * (libbpf: pass this as the body of its print callback, level mapped by the caller). */
int log_library(enum log_topic topic, enum log_level level, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));

#endif
