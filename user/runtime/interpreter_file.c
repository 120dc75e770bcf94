/* SPDX-License-Identifier: Apache-2.0 */
/* Evidence, in this order:
 *   _PyRuntime (exported 3.7+), the .PyRuntime section (3.11+) or, in an unstripped executable, the
 *     symbol among all others;
 *   its first bytes: the cookie of _Py_DebugOffsets with the exact version (3.13+);
 *   Py_Version, a constant with the exact version (3.11+);
 *   for older ones, which functions are exported: the minor version; and the text that Py_GetVersion()
 *     refers to: the exact one (version_text.c).
 * 3.6 has no _PyRuntime: what stands in it later are variables, two of them exported, and the third is what
 * PyInterpreterState_Head() returns.
 * The file's name decides nothing but the words for a file that cannot be used.
 */
#include "runtime/interpreter_file.h"

#include <errno.h>
#include <string.h>

#include "runtime/code_evidence.h"
#include "runtime/layout_select.h"

enum symbol_name {
	SYMBOL_PYRUNTIME,
	SYMBOL_GET_VERSION,
	SYMBOL_PYPY,
	SYMBOL_GRAAL,
	SYMBOL_GRAALPY,
	SYMBOL_FIRST_CNT, /* the above tell interpreters from other files */
	SYMBOL_VERSION = SYMBOL_FIRST_CNT,
	SYMBOL_NEGATIVE_REFCOUNT,
	SYMBOL_ITER_SEND,
	SYMBOL_FRAME_GET_CODE,
	SYMBOL_POS_ONLY_ARGS,
	SYMBOL_AFTER_FORK,
	SYMBOL_FS_PATH,
	SYMBOL_PY2_STRING,
	SYMBOL_INTERPRETER_HEAD,
	SYMBOL_FINALIZING,
	SYMBOL_GILSTATE_CURRENT,
	SYMBOL_BYTES_MAIN,
	SYMBOL_COUNT
};

static const char *const symbol_names[SYMBOL_COUNT] = {
	[SYMBOL_PYRUNTIME] = "_PyRuntime",
	[SYMBOL_GET_VERSION] = "Py_GetVersion",
	[SYMBOL_PYPY] = "pypy_execute_source",
	[SYMBOL_GRAAL] = "graal_create_isolate",
	/* Of its C API (23.1 to 25.2), which from 25.0 on exports a _PyRuntime and a Py_Version, too. */
	[SYMBOL_GRAALPY] = "initialize_graal_capi",
	[SYMBOL_VERSION] = "Py_Version",
	/* Exists in Py_DEBUG (Py_REF_DEBUG) builds only: Include/object.h, every version. */
	[SYMBOL_NEGATIVE_REFCOUNT] = "_Py_NegativeRefcount",
	/* First versions of these: 3.10, 3.9, 3.8, 3.7, 3.6; the last one is Python 2's. */
	[SYMBOL_ITER_SEND] = "PyIter_Send",
	[SYMBOL_FRAME_GET_CODE] = "PyFrame_GetCode",
	[SYMBOL_POS_ONLY_ARGS] = "PyCode_NewWithPosOnlyArgs",
	[SYMBOL_AFTER_FORK] = "PyOS_AfterFork_Child",
	[SYMBOL_FS_PATH] = "PyOS_FSPath",
	[SYMBOL_PY2_STRING] = "PyString_FromString",
	/* 3.6, Python/pystate.c and pylifecycle.c. */
	[SYMBOL_INTERPRETER_HEAD] = "PyInterpreterState_Head",
	[SYMBOL_FINALIZING] = "_Py_Finalizing",
	[SYMBOL_GILSTATE_CURRENT] = "_PyThreadState_Current",
	/* 3.8+, Modules/main.c: in an executable that embeds a static library, only if it is used. */
	[SYMBOL_BYTES_MAIN] = "Py_BytesMain",
};

enum { VERSION_3_6_HEX = 0x03060000, VERSION_3_7_HEX = 0x03070000, VERSION_3_11_HEX = 0x030b0000 };

struct inspection {
	struct elf_image *image;
	struct elf_symbol symbols[SYMBOL_COUNT];
	struct interpreter_file *info;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool interpreter_name_is_likely(const char *path)
{
	const char *name = base_name(path);

	return starts_with(name, "python") || starts_with(name, "libpython") || starts_with(name, "pypy") ||
	       starts_with(name, "libpypy") || starts_with(name, "graalpy");
}

/* "libpython3.11.so.1.0"; not "libpython3.so", which only forwards. */
static bool is_libpython_name(const char *path)
{
	const char *name = base_name(path);

	return starts_with(name, "libpython") && name[9] >= '2' && name[9] <= '9' && name[10] == '.' &&
	       name[11] >= '0' && name[11] <= '9';
}

/* ".../lib/graalpy25.0/libposix.so": GraalPy's home, as its releases and its jar lay it out. */
static bool is_in_graalpy_home(const char *path)
{
	const char *name = base_name(path), *folder;

	if (name - path < 2)
		return false;
	for (folder = name - 1; folder > path && folder[-1] != '/';)
		folder--;
	return starts_with(folder, "graalpy") && folder[7] >= '0' && folder[7] <= '9';
}

static void refuse(struct interpreter_file *info, enum py_refusal refusal)
{
	info->kind = INTERPRETER_FOUND;
	info->refusal = refusal;
}

static bool has(const struct inspection *in, enum symbol_name name)
{
	return in->symbols[name].addr != 0;
}

/* The minor version of what came before 3.11; 0 when nothing tells. */
static u32 version_by_exports(const struct inspection *in)
{
	static const struct {
		enum symbol_name name;
		u32 version;
	} ladder[] = {
		{SYMBOL_PY2_STRING, 0x02070000},     {SYMBOL_ITER_SEND, 0x030a0000},
		{SYMBOL_FRAME_GET_CODE, 0x03090000}, {SYMBOL_POS_ONLY_ARGS, 0x03080000},
		{SYMBOL_AFTER_FORK, 0x03070000},     {SYMBOL_FS_PATH, 0x03060000},
	};

	for (size_t i = 0; i < sizeof(ladder) / sizeof(ladder[0]); i++) {
		if (has(in, ladder[i].name))
			return ladder[i].version;
	}
	return 0;
}

/* 3.6: lays the variables out as if they stood in one struct. */
static int gather_variables(struct inspection *in)
{
	struct interpreter_file *info = in->info;
	u64 finalizing = in->symbols[SYMBOL_FINALIZING].addr;
	u64 current = in->symbols[SYMBOL_GILSTATE_CURRENT].addr;
	u64 head = 0, base;
	int err = code_evidence_returned_variable(in->image, &in->symbols[SYMBOL_INTERPRETER_HEAD], &head);

	if (err && err != -ENOENT)
		return err;
	base = head < finalizing ? head : finalizing;
	base = base < current ? base : current;
	if (err || !base || head - base > UINT32_MAX || finalizing - base > UINT32_MAX ||
	    current - base > UINT32_MAX) {
		refuse(info, PY_REFUSAL_NO_INTERPRETER_LIST);
		return 0;
	}
	info->runtime_addr = base;
	info->layout.runtime_interpreters_head = (u32)(head - base);
	info->layout.runtime_finalizing = (u32)(finalizing - base);
	info->layout.runtime_gilstate_current = (u32)(current - base);
	return 0;
}

/* Before 3.11. */
static int judge_by_exports(struct inspection *in)
{
	struct interpreter_file *info = in->info;
	u32 minor = version_by_exports(in), version = 0;
	int err;

	info->version = minor;
	if (minor < VERSION_3_6_HEX) {
		refuse(info, minor ? PY_REFUSAL_VERSION_TOO_OLD : PY_REFUSAL_VERSION_UNKNOWN);
		return 0;
	}
	err = code_evidence_version(in->image, &in->symbols[SYMBOL_GET_VERSION], &version);
	if (err && err != -ENOENT)
		return err;
	if (!err && version >> 16 != minor >> 16) {
		refuse(info, PY_REFUSAL_VERSION_UNKNOWN);
		return 0;
	}
	if (!err)
		info->version = version;
	refuse(info, layout_select_by_version(info->version, info->debug, &info->layout));
	if (info->refusal == PY_REFUSAL_NONE && minor < VERSION_3_7_HEX)
		return gather_variables(in);
	if (info->refusal == PY_REFUSAL_NONE && !info->runtime_addr)
		refuse(info, PY_REFUSAL_NO_RUNTIME_SYMBOL);
	return 0;
}

/* 3.13+: *ret_done tells whether there was such a table. */
static int judge_by_offsets(struct inspection *in, bool *ret_done)
{
	u8 bytes[DEBUG_OFFSETS_MAX_SZ];
	struct interpreter_file *info = in->info;
	struct debug_offsets offsets = {0};
	size_t sz = sizeof(bytes);
	int err;

	/* _PyRuntime is far larger than its table, unless someone made it up. */
	do {
		err = elf_image_read_addr(in->image, info->runtime_addr, bytes, sz);
	} while ((err == -ENODATA || err == -ERANGE) && (sz /= 2) >= DEBUG_OFFSETS_HEADER_SZ);
	if (err == -ENODATA || err == -ERANGE ||
	    (!err && decode_debug_offsets_header(bytes, sz, &offsets) == -ENOENT)) {
		*ret_done = false;
		return 0;
	}
	if (err)
		return err;
	refuse(info, layout_select_by_offsets(bytes, sz, info->debug, &offsets, &info->layout));
	info->version = offsets.version;
	info->free_threaded = offsets.free_threaded;
	*ret_done = true;
	return 0;
}

static int judge_by_version(struct inspection *in)
{
	struct interpreter_file *info = in->info;
	unsigned long version; /* const unsigned long Py_Version */
	int err;

	if (!has(in, SYMBOL_VERSION))
		return judge_by_exports(in);
	err = elf_image_read_addr(in->image, in->symbols[SYMBOL_VERSION].addr, &version, sizeof(version));
	if (err == -ENODATA || err == -ERANGE ||
	    (!err && (version > UINT32_MAX || version < VERSION_3_11_HEX))) {
		refuse(info, PY_REFUSAL_VERSION_UNKNOWN);
		return 0;
	}
	if (err)
		return err;
	info->version = (u32)version;
	refuse(info, layout_select_by_version(info->version, info->debug, &info->layout));
	return 0;
}

static int judge_runtime(struct inspection *in)
{
	struct interpreter_file *info = in->info;
	u8 byte;
	bool done;
	int err;

	if (info->runtime_addr < info->loads.begin || info->runtime_addr >= info->loads.end) {
		refuse(info, PY_REFUSAL_FILE_INVALID);
		return 0;
	}
	/* Initial contents elsewhere and no API of its own: the executable's copy of a libpython's. */
	if (!has(in, SYMBOL_GET_VERSION) && info->is_executable &&
	    elf_image_read_addr(in->image, info->runtime_addr, &byte, 1) == -ENODATA) {
		info->kind = INTERPRETER_COPY;
		return 0;
	}
	err = judge_by_offsets(in, &done);
	return err || done ? err : judge_by_version(in);
}

/* Symbols that only interpreters are asked for; where all were looked up at once there is nothing left to do. */
static int find_details(struct inspection *in)
{
	if (!elf_image_has_index(in->image))
		return 0;
	return elf_image_find_exported(in->image, symbol_names + SYMBOL_FIRST_CNT,
				       SYMBOL_COUNT - SYMBOL_FIRST_CNT, in->symbols + SYMBOL_FIRST_CNT);
}

/* Fills in->symbols. Scanning all symbols costs much: only executables, which need not export anything. */
static int find_symbols(struct inspection *in)
{
	size_t first_cnt = elf_image_has_index(in->image) ? SYMBOL_FIRST_CNT : SYMBOL_COUNT;
	u64 section_sz;
	bool is_interpreter = false, all;
	int err = elf_image_find_exported(in->image, symbol_names, first_cnt, in->symbols);

	if (err)
		return err;
	for (int i = 0; i < SYMBOL_FIRST_CNT; i++)
		is_interpreter |= in->symbols[i].addr != 0;
	if (!has(in, SYMBOL_PYRUNTIME) &&
	    elf_image_find_section(in->image, ".PyRuntime", &in->info->runtime_addr, &section_sz) == 0)
		is_interpreter = true;
	all = in->info->is_executable && !has(in, SYMBOL_PYRUNTIME) && !has(in, SYMBOL_GET_VERSION);
	if (is_interpreter || all)
		err = find_details(in);
	if (!err && all)
		err = elf_image_find_local(in->image, symbol_names, SYMBOL_COUNT, in->symbols);
	if (err == -EBADMSG && all)
		err = 0; /* too large a table of local symbols: what was found before still holds */
	if (!err && has(in, SYMBOL_PYRUNTIME))
		in->info->runtime_addr = in->symbols[SYMBOL_PYRUNTIME].addr;
	return err;
}

/* Another file may hold a CPython beside it. */
static void suspect(struct interpreter_file *info, enum py_refusal refusal)
{
	*info = (struct interpreter_file){.kind = INTERPRETER_SUSPECT, .refusal = refusal};
}

/* What it does not say is taken for no. */
static int judge_main(struct inspection *in)
{
	static const char *const NAMES[] = {"Py_BytesMain", "Py_Main", "Py_FinalizeEx", "Py_Finalize"};
	bool imported[4];
	int err;

	in->info->is_launcher = has(in, SYMBOL_BYTES_MAIN);
	if (!in->info->is_executable || in->info->runtime_addr)
		return 0;
	err = elf_image_find_imported(in->image, NAMES, 4, imported);
	in->info->is_launcher = !err && (imported[0] || imported[1]) && !imported[2] && !imported[3];
	return err == -EBADMSG ? 0 : err;
}

static int inspect_image(struct inspection *in, const char *path)
{
	struct interpreter_file *info = in->info;
	const char *linker = elf_image_interpreter(in->image);
	int err;

	info->loads = *elf_image_loads(in->image);
	info->is_executable = info->loads.is_fixed || linker[0] != '\0';
	info->is_musl = strstr(linker, "ld-musl") != NULL;
	err = find_symbols(in) ?: judge_main(in);
	if (err)
		return err;
	info->debug = has(in, SYMBOL_NEGATIVE_REFCOUNT);
	if (has(in, SYMBOL_PYPY) || (has(in, SYMBOL_GRAAL) && strstr(base_name(path), "python")))
		refuse(info, PY_REFUSAL_NOT_CPYTHON);
	else if (has(in, SYMBOL_GRAALPY))
		suspect(info, PY_REFUSAL_NOT_CPYTHON);
	else if (info->runtime_addr)
		return judge_runtime(in);
	else if (has(in, SYMBOL_GET_VERSION))
		return judge_by_exports(in); /* 3.6 and older have no _PyRuntime */
	else if (starts_with(base_name(path), "micropython") && info->is_executable)
		refuse(info, PY_REFUSAL_NOT_CPYTHON); /* stripped, it exports nothing of its own */
	else if (is_in_graalpy_home(path))
		suspect(info, PY_REFUSAL_NOT_CPYTHON);
	else if (is_libpython_name(path))
		suspect(info, PY_REFUSAL_NO_RUNTIME_SYMBOL);
	return 0;
}

/* What the ELF file itself got wrong is an answer, not an error. */
static int answer_for(int err, const char *path, struct interpreter_file *info)
{
	if (err != -ENOEXEC && err != -ENOTSUP && err != -EBADMSG && err != -ERANGE)
		return err;
	*info = (struct interpreter_file){0};
	if (interpreter_name_is_likely(path) && (err != -ENOEXEC || is_libpython_name(path))) {
		info->kind = INTERPRETER_SUSPECT;
		info->refusal = err == -ENOTSUP ? PY_REFUSAL_ARCHITECTURE : PY_REFUSAL_FILE_INVALID;
	}
	return 0;
}

int interpreter_file_inspect(struct target_file *file, const char *path, struct interpreter_file *ret_info)
{
	struct interpreter_file info = {0};
	struct inspection in = {.info = &info};
	int err = elf_image_open(&in.image, file);

	if (!err)
		err = inspect_image(&in, path);
	if (err)
		err = answer_for(err, path, &info);
	elf_image_close(in.image);
	if (!err)
		*ret_info = info;
	return err;
}
