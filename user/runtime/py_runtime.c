/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/py_runtime.h"

static const struct {
	const char *name;
	const char *text;
} refusals[PY_REFUSAL_COUNT] = {
	[PY_REFUSAL_NONE] = {"none", "can be profiled"},
	[PY_REFUSAL_VERSION_TOO_OLD] = {"version_too_old", "older than Python 3.6"},
	[PY_REFUSAL_VERSION_UNKNOWN] = {"version_unknown", "a Python version that is not known"},
	[PY_REFUSAL_PRERELEASE] = {"prerelease", "an alpha or beta release before Python 3.13"},
	[PY_REFUSAL_MUSL] = {"musl", "linked to musl, which is known on x86-64 only"},
	[PY_REFUSAL_NOT_CPYTHON] = {"not_cpython", "another implementation than CPython"},
	[PY_REFUSAL_ARCHITECTURE] = {"architecture", "built for another architecture than this machine's"},
	[PY_REFUSAL_NO_RUNTIME_SYMBOL] = {"no_runtime_symbol", "_PyRuntime is not found in the interpreter"},
	[PY_REFUSAL_OFFSETS_INVALID] = {"offsets_invalid",
					"the interpreter's table of offsets makes no sense"},
	[PY_REFUSAL_LAYOUT_UNKNOWN] = {"layout_unknown", "its structs have the sizes of no known build"},
	[PY_REFUSAL_NO_INTERPRETER_LIST] =
		{"no_interpreter_list", "its list of interpreters is not found (3.6 has no symbol for it)"},
	[PY_REFUSAL_NO_THREAD_IDS] = {"no_thread_ids",
				      "before Python 3.11 threads can be told on x86-64 only"},
	[PY_REFUSAL_STATE_INVALID] =
		{"state_invalid", "its memory does not look like this version's: another build, or damaged"},
	[PY_REFUSAL_FILES_SLOW] = {"files_slow", "looking through the files that it maps takes too long"},
	[PY_REFUSAL_FILE_HANGS] = {"file_hangs", "the file system of the interpreter's file does not answer"},
	[PY_REFUSAL_FILE_UNREADABLE] = {"file_unreadable", "the interpreter's file cannot be read"},
	[PY_REFUSAL_NOT_PERMITTED] = {"not_permitted", "panopy may not look into it: run it as root or with "
						       "CAP_SYS_PTRACE"},
	[PY_REFUSAL_FILE_INVALID] = {"file_invalid", "the interpreter's file is no valid ELF file"},
};

const char *py_refusal_name(enum py_refusal refusal)
{
	return (unsigned int)refusal < PY_REFUSAL_COUNT ? refusals[refusal].name : "unknown";
}

const char *py_refusal_text(enum py_refusal refusal)
{
	return (unsigned int)refusal < PY_REFUSAL_COUNT ? refusals[refusal].text : "unknown";
}
