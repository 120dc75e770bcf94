/* SPDX-License-Identifier: Apache-2.0 */
/* Reads code objects out of every interpreter that is here and compares them with what the interpreter
 * says of them (code_object_target.py).
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpreters.h"
#include "runtime/runtime_detect.h"
#include "symbolize/code_object.h"
#include "symbolize/py_string.h"

enum {
	MIN_CODES = 19, /* in code_object_target.py, more where comprehensions have code of their own */
};

static struct runtime_detector *g_detector;
static char g_script[1 << 16];

static bool equals_hex(const char *hex, const char *data, size_t sz)
{
	if (strcmp(hex, "-") == 0)
		return sz == 0;
	if (strlen(hex) != sz * 2)
		return false;
	for (size_t i = 0; i < sz; i++) {
		unsigned byte;

		if (sscanf(hex + i * 2, "%2x", &byte) != 1 || byte != (unsigned char)data[i])
			return false;
	}
	return true;
}

static bool text_equals(const struct code_object *object, enum code_part part, const char *hex)
{
	struct byte_buf text;
	bool equal;

	byte_buf_init(&text, 1 << 20);
	equal = py_string_decode(&text, (const u8 *)object->parts[part].data, object->parts[part].sz,
				 object->char_sz[part]) == 0 &&
		equals_hex(hex, text.data, text.sz);
	byte_buf_release(&text);
	return equal;
}

/* One line of the target. */
static bool check_code(struct remote_mem *mem, const struct py_layout *layout, char *line)
{
	char *state, *words[5];
	struct code_object object;
	u32 fingerprint = 0;
	u64 addr;
	bool ok;
	int err;

	for (int i = 0; i < 5; i++) {
		words[i] = strtok_r(i ? NULL : line, " \n", &state);
		if (!words[i])
			return false;
	}
	addr = strtoull(words[0], NULL, 10);
	code_object_init(&object);
	err = code_object_fingerprint(mem, layout, addr, &fingerprint);
	if (!err)
		err = code_object_read(mem, layout, addr, fingerprint, &object);
	ok = !err && fingerprint && object.firstlineno == strtol(words[3], NULL, 10) && !object.flags &&
	     text_equals(&object, CODE_PART_QUALNAME, words[1]) &&
	     text_equals(&object, CODE_PART_FILENAME, words[2]) &&
	     equals_hex(words[4], object.parts[CODE_PART_LINETABLE].data,
			object.parts[CODE_PART_LINETABLE].sz) &&
	     code_object_read(mem, layout, addr, fingerprint + 1, &object) == -ESTALE;
	if (!ok)
		printf("  wrong: error %d, fingerprint %#x, %.60s %.60s\n", err, fingerprint, words[1],
		       words[2]);
	code_object_release(&object);
	return ok;
}

static int check_codes(struct child *target, const char *version)
{
	struct py_runtime runtime;
	struct remote_mem *mem;
	char *line = NULL;
	size_t cap = 0;
	int cnt = 0, wrong = 0, err;

	/* The first line says that the interpreter runs; before, there is nothing to detect. */
	if (getline(&line, &cap, target->from_child) < 0)
		return 1;
	err = runtime_detect(g_detector, target->pid, &runtime);
	if (!err && runtime.refusal)
		err = -ENOTSUP;
	if (!err)
		err = remote_mem_open_process(&mem, target->pid);
	if (err) {
		printf("%s: %s\n", version, strerror(-err));
		free(line);
		return 1;
	}
	do {
		if (*line == '.')
			break;
		wrong += !check_code(mem, &runtime.layout, line);
		cnt++;
	} while (getline(&line, &cap, target->from_child) > 0);
	remote_mem_close(mem);
	free(line);
	printf("%s: %d code objects, %d wrong\n", version, cnt, wrong);
	return wrong || cnt < MIN_CODES;
}

static int check_interpreter(const char *version, char *root, char *command)
{
	char *args[] = {"-I", "-X", "utf8", "-c", g_script, NULL}, *argv[10];
	struct child target;
	int failed;

	/* The script is an argument: a root file system does not have its file. */
	interpreter_argv(argv, root, command, args);
	if (child_start(&target, argv, NULL))
		return 1;
	failed = check_codes(&target, version);
	return child_end(&target) || failed;
}

int main(void)
{
	FILE *script = fopen(PANOPY_SOURCE_DIR "/tests/unit/code_object_target.py", "r");
	int result;

	if (!script || !fread(g_script, 1, sizeof(g_script) - 1, script))
		return 1;
	fclose(script);
	if (runtime_detector_new(&g_detector))
		return 1;
	result = interpreters_check(check_interpreter);
	runtime_detector_free(g_detector);
	return result;
}
