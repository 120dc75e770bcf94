/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "options.h"
#include "options_value.h"

enum { MAX_WORDS = 32 };

/* Splits at spaces; the words live as long as the line. */
struct line {
	char text[512];
	char *argv[MAX_WORDS + 1];
	int argc;
};

static void split(struct line *line, const char *text)
{
	char *rest = line->text;

	snprintf(line->text, sizeof(line->text), "panopy %s", text);
	for (line->argc = 0; rest && *rest && line->argc < MAX_WORDS;)
		line->argv[line->argc++] = strsep(&rest, " ");
	line->argv[line->argc] = NULL;
}

static int parse(struct options *options, struct line *line, const char *text, char *error)
{
	split(line, text);
	error[0] = '\0';
	return options_parse(options, line->argc, line->argv, error);
}

static void test_defaults(void **state)
{
	char error[OPTIONS_ERROR_SZ];
	struct options options;
	struct line line;

	assert_int_equal(parse(&options, &line, "record", error), 0);
	assert_int_equal(options.command, OPTIONS_COMMAND_RECORD);
	assert_int_equal(options.pid_cnt, 0);
	assert_null(options.argv);
	assert_int_equal(options.duration_ns, 0);
	assert_int_equal(options.rate_hz, 99);
	assert_int_equal(options.period_ns, 10101010);
	assert_true(options.output_is_default);
	assert_ptr_equal(strstr(options.output, "panopy-"), options.output);
	assert_string_equal(options.output + strlen(options.output) - 7, ".folded");
	assert_int_equal(options.per, OPTIONS_PER_PROCESS);
	assert_true(options.lines);
	assert_true(options.subprocesses);
	assert_false(options.full_paths);
	assert_false(options.strict);
	assert_null(options.summary);
	assert_int_equal(options_log_level(&options), LOG_LEVEL_INFO);
	options_release(&options);
}

static void test_every_option(void **state)
{
	char error[OPTIONS_ERROR_SZ];
	struct options options;
	struct line line;

	assert_int_equal(parse(&options, &line,
			       "record -p3,4 --pid 4,5 -d 1.5 --rate=1khz -o a --per thread --full-p "
			       "--no-l --no-subprocesses --summ=b -vv",
			       error),
			 0);
	assert_int_equal(options.pid_cnt, 3);
	assert_int_equal(options.pids[0], 3);
	assert_int_equal(options.pids[2], 5);
	assert_int_equal(options.duration_ns, 1500000000);
	assert_int_equal(options.period_ns, 1000000);
	assert_int_equal(options.rate_hz, 1000);
	assert_string_equal(options.output, "a");
	assert_false(options.output_is_default);
	assert_int_equal(options.per, OPTIONS_PER_THREAD);
	assert_true(options.full_paths);
	assert_false(options.lines);
	assert_false(options.subprocesses);
	assert_string_equal(options.summary, "b");
	assert_int_equal(options.verbosity, 2);
	assert_int_equal(options_log_level(&options), LOG_LEVEL_TRACE);
	options_release(&options);

	assert_int_equal(parse(&options, &line, "record --strict=0.5 -qd2 --color never", error), 0);
	assert_true(options.strict);
	assert_true(options.strict_percent == 0.5);
	assert_int_equal(options.duration_ns, 2000000000);
	assert_int_equal(options.color, LOG_COLOR_NEVER);
	assert_int_equal(options_log_level(&options), LOG_LEVEL_ERROR);
	options_release(&options);

	assert_int_equal(parse(&options, &line, "ps --json", error), 0);
	assert_int_equal(options.command, OPTIONS_COMMAND_PS);
	assert_true(options.json);
	options_release(&options);
}

static void test_split(void **state)
{
	struct options options;
	struct line line;
	char error[OPTIONS_ERROR_SZ];

	/* The folder stands for the default file, and beside one that was asked for. */
	assert_int_equal(parse(&options, &line, "record --split d --per container", error), 0);
	assert_string_equal(options.split, "d");
	assert_null(options.output);
	assert_int_equal(options.per, OPTIONS_PER_CONTAINER);
	options_release(&options);
	assert_int_equal(parse(&options, &line, "record --split=d -o a --per=user", error), 0);
	assert_string_equal(options.output, "a");
	assert_int_equal(options.per, OPTIONS_PER_USER);
	options_release(&options);
	assert_int_equal(parse(&options, &line, "record --per cgroup", error), 0);
	assert_int_equal(options.per, OPTIONS_PER_CGROUP);
	assert_null(options.split);
	assert_non_null(options.output);
	options_release(&options);
}

static void test_command_after_dashes(void **state)
{
	char error[OPTIONS_ERROR_SZ];
	struct options options;
	struct line line;

	assert_int_equal(parse(&options, &line, "record --strict -- python3 -p 7 --help", error), 0);
	assert_int_equal(options.command, OPTIONS_COMMAND_RECORD);
	assert_int_equal(options.pid_cnt, 0);
	assert_string_equal(options.argv[0], "python3");
	assert_string_equal(options.argv[3], "--help");
	assert_null(options.argv[4]);
	assert_true(options.strict);
	assert_true(options.strict_percent == 0);
	options_release(&options);
}

static void test_stats(void **state)
{
	char error[OPTIONS_ERROR_SZ];
	struct options options;
	struct line line;

	assert_int_equal(parse(&options, &line, "record --stats", error), 0);
	assert_true(options.stats);
	assert_true(options.stats_interval_ns == 0);
	options_release(&options);
	assert_int_equal(parse(&options, &line, "record --stats=2.5", error), 0);
	assert_true(options.stats);
	assert_true(options.stats_interval_ns == 2500000000);
	options_release(&options);
}

static void test_help_wins(void **state)
{
	static const struct {
		const char *text;
		enum options_command command;
		enum options_command help_of;
	} CASES[] = {
		{"--help", OPTIONS_COMMAND_HELP, OPTIONS_COMMAND_HELP},
		{"-h", OPTIONS_COMMAND_HELP, OPTIONS_COMMAND_HELP},
		{"record -h --nonsense", OPTIONS_COMMAND_HELP, OPTIONS_COMMAND_RECORD},
		{"doctor --help", OPTIONS_COMMAND_HELP, OPTIONS_COMMAND_DOCTOR},
		{"--version record", OPTIONS_COMMAND_VERSION, OPTIONS_COMMAND_COUNT},
		{"-V", OPTIONS_COMMAND_VERSION, OPTIONS_COMMAND_COUNT},
		{"--bash", OPTIONS_COMMAND_COMPLETION, OPTIONS_COMMAND_COUNT},
	};

	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		char error[OPTIONS_ERROR_SZ];
		struct options options;
		struct line line;

		assert_int_equal(parse(&options, &line, CASES[i].text, error), 0);
		assert_int_equal(options.command, CASES[i].command);
		assert_int_equal(options.help_of, CASES[i].help_of);
		options_release(&options);
	}
}

/* Each message must name the culprit and what to write instead. */
static void test_errors(void **state)
{
	static const struct {
		const char *text;
		const char *culprit;
		const char *fix;
	} CASES[] = {
		{"", "no command", "panopy record, ps or doctor"},
		{"recrod", "'recrod'", "panopy record, ps or doctor"},
		{"--rate 9 record", "--rate", "panopy record --rate"},
		{"record --pdi 3", "--pdi", "did you mean --pid"},
		{"record --frobnicate", "--frobnicate", "panopy record --help"},
		{"record -Z", "-Z", "panopy record --help"},
		{"record --json", "--json", "panopy record --help"},
		{"record --no", "--no-lines or --no-subprocesses", "write it out"},
		{"record --p 1", "--p can mean", "--pid or --pod"},
		{"record -p 1,x", "'x'", "-p 1234,1300"},
		{"record -p 1,", "''", "-p 1234,1300"},
		{"record -p 0", "'0'", "-p 1234,1300"},
		{"record -p -5", "'-5'", "-p 1234,1300"},
		{"record -p 99999999999", "'99999999999'", "-p 1234,1300"},
		{"record -d 0", "-d 0", "more than 0"},
		{"record -d soon", "'soon'", "-d 10, 500ms or 2m"},
		{"record --duration=10x", "--duration: '10x'", "500ms"},
		{"record -r 30000", "-r 30000", "1 to 20000 Hz"},
		{"record -r 10us", "-r 10us", "50us to 1s"},
		{"record -r fast", "'fast'", "1khz"},
		{"record -o", "-o needs", "-o FILE"},
		{"record -o -- ls", "-o needs", "-o FILE"},
		{"record --output=", "--output needs a path", "give one"},
		{"record --per cpu", "'cpu'", "process, thread, container, cgroup, user or none"},
		{"record --split=", "--split needs a folder", "give its path"},
		{"record --split -", "--split needs a folder", "give its path"},
		{"record --split d --per none", "--split needs to know", "--per process, thread"},
		{"record --color red", "'red'", "auto, always or never"},
		{"record --strict=101", "'101'", "0 to 100"},
		{"record --stats=0.05", "'0.05'", "0.1 seconds or more"},
		{"record --stats=often", "'often'", "--stats=5"},
		{"record -q --stats", "-q and --stats", "drop one"},
		{"record --full-paths=yes", "--full-paths takes no value", "drop '=yes'"},
		{"record app.py", "'app.py'", "panopy record -- app.py"},
		{"record --", "-- needs a command", "panopy record -- python3 app.py"},
		{"record --strict 5 -d 1", "--strict takes its value", "--strict=5"},
		{"record --stats 2", "--stats takes its value", "--stats=2"},
		{"record --quiet 5", "is no option", "panopy record -- 5"},
		{"ps -- ls", "only record", "panopy record -- COMMAND"},
		{"ps 12", "takes no argument", "drop '12'"},
		{"record -qv", "-q and -v", "drop one"},
		{"record -p 1 -- ls", "--pid and a command", "drop one"},
		{"record --no-subprocesses", "--no-subprocesses needs", "--pid or a command"},
		{"record --user no-such-user", "--user: 'no-such-user'", "a name or a number"},
		{"record --name (", "--name: '('", "no regular expression"},
		{"record --python 2", "--python: '2'", "3.12+"},
		{"ps --exclude root", "--exclude: 'root'", "user="},
		{"record --wait", "--wait needs", "--cgroup, --unit, --container or --pod"},
		{"ps --no-subprocesses", "--no-subprocesses needs", "--pid"},
		{"record -o x --summary x", "both write to 'x'", "another path"},
	};

	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		char error[OPTIONS_ERROR_SZ];
		struct options options;
		struct line line;

		assert_int_equal(parse(&options, &line, CASES[i].text, error), -EINVAL);
		if (!strstr(error, CASES[i].culprit) || !strstr(error, CASES[i].fix))
			fail_msg("'%s' gave: %s", CASES[i].text, error);
		assert_null(strchr(error, '\n'));
		options_release(&options);
	}
}

static void test_too_many_pids(void **state)
{
	enum { TEXT_SZ = 7 * (OPTIONS_MAX_PIDS + 2) };
	char *text = calloc(1, TEXT_SZ);
	char *argv[] = {"panopy", "record", "-p", text, NULL};
	char error[OPTIONS_ERROR_SZ];
	struct options options;
	size_t used = 0;

	for (int pid = 1; pid <= OPTIONS_MAX_PIDS; pid++)
		used += (size_t)snprintf(text + used, TEXT_SZ - used, "%s%d", used ? "," : "", pid);
	assert_int_equal(options_parse(&options, 4, argv, error), 0);
	assert_int_equal(options.pid_cnt, OPTIONS_MAX_PIDS);
	options_release(&options);
	snprintf(text + used, TEXT_SZ - used, ",%d", OPTIONS_MAX_PIDS + 1);
	assert_int_equal(options_parse(&options, 4, argv, error), -EINVAL);
	options_release(&options);
	free(text);
}

static void test_rate(void **state)
{
	static const struct {
		const char *text;
		int err;
		u64 period_ns;
	} CASES[] = {
		{"99", 0, 10101010},
		{"1", 0, 1000000000},
		{"20000", 0, 50000},
		{"1khz", 0, 1000000},
		{"1.5kHz", 0, 666666},
		{"20khz", 0, 50000},
		{"100us", 0, 100000},
		{"50us", 0, 50000},
		{"10ms", 0, 10000000},
		{"1s", 0, 1000000000},
		{"12.5Hz", 0, 80000000},
		{"0", -ERANGE, 0},
		{"0.9", -ERANGE, 0},
		{"20001", -ERANGE, 0},
		{"49us", -ERANGE, 0},
		{"2s", -ERANGE, 0},
		{"0us", -ERANGE, 0},
		{"", -EINVAL, 0},
		{"khz", -EINVAL, 0},
		{"-5", -EINVAL, 0},
		{"1.", -EINVAL, 0},
		{".5", -ERANGE, 0},
		{".5khz", 0, 2000000},
		{".", -EINVAL, 0},
		{"1e3", -EINVAL, 0},
		{"99 hz", -EINVAL, 0},
		{"0x10", -EINVAL, 0},
		{"1mhz", -EINVAL, 0},
		{"99999999999999999999", -ERANGE, 0},
		{"0.000000001", -ERANGE, 0},
		{"1.0000000001", -EINVAL, 0},
	};

	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		u64 period_ns = 0;
		int err = options_decode_rate(CASES[i].text, &period_ns);

		if (err != CASES[i].err || period_ns != CASES[i].period_ns)
			fail_msg("'%s' gave %d, %llu", CASES[i].text, err, (unsigned long long)period_ns);
	}
}

static void test_duration(void **state)
{
	static const struct {
		const char *text;
		int err;
		u64 ns;
	} CASES[] = {
		{"10", 0, 10000000000},	  {"10s", 0, 10000000000},
		{"0.5", 0, 500000000},	  {"500ms", 0, 500000000},
		{"2m", 0, 120000000000},  {"2min", 0, 120000000000},
		{"1h", 0, 3600000000000}, {"365d", 0, 31536000000000000},
		{"250us", 0, 250000},	  {"1ns", 0, 1},
		{"0", -ERANGE, 0},	  {"0.1ns", -ERANGE, 0},
		{"366d", -ERANGE, 0},	  {"999999999d", -ERANGE, 0},
		{"ten", -EINVAL, 0},	  {"10 s", -EINVAL, 0},
		{"10y", -EINVAL, 0},	  {"-1", -EINVAL, 0},
		{"1:30", -EINVAL, 0},	  {"inf", -EINVAL, 0},
		{".3", 0, 300000000},	  {".", -EINVAL, 0},
		{".s", -EINVAL, 0},	  {"", -EINVAL, 0},
	};

	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		u64 ns = 0;
		int err = options_decode_duration(CASES[i].text, &ns);

		if (err != CASES[i].err || ns != CASES[i].ns)
			fail_msg("'%s' gave %d, %llu", CASES[i].text, err, (unsigned long long)ns);
	}
}

static void test_percent(void **state)
{
	double percent = -1;

	assert_int_equal(options_decode_percent("100", &percent), 0);
	assert_true(percent == 100);
	assert_int_equal(options_decode_percent("0.25%", &percent), 0);
	assert_true(percent == 0.25);
	assert_int_equal(options_decode_percent("100.1", &percent), -ERANGE);
	assert_int_equal(options_decode_percent("5%%", &percent), -EINVAL);
	assert_int_equal(options_decode_percent("", &percent), -EINVAL);
	assert_true(percent == 0.25);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults), cmocka_unit_test(test_every_option),
		cmocka_unit_test(test_split),	 cmocka_unit_test(test_command_after_dashes),
		cmocka_unit_test(test_stats),	 cmocka_unit_test(test_help_wins),
		cmocka_unit_test(test_errors),	 cmocka_unit_test(test_too_many_pids),
		cmocka_unit_test(test_rate),	 cmocka_unit_test(test_duration),
		cmocka_unit_test(test_percent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
