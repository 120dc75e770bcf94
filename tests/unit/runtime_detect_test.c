/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../fuzz/elf_fixture.h"
#include "../fuzz/offsets_fixture.h"
#include "discover/proc_maps.h"
#include "runtime/code_evidence.h"
#include "runtime/interpreter_file.h"
#include "runtime/layout_select.h"
#include "runtime/runtime_detect.h"

static struct runtime_detector *detector;
static size_t inspected_cnt;

int __real_interpreter_file_inspect(struct target_file *file, const char *path,
				    struct interpreter_file *ret_info);

int __wrap_interpreter_file_inspect(struct target_file *file, const char *path,
				    struct interpreter_file *ret_info)
{
	inspected_cnt++;
	return __real_interpreter_file_inspect(file, path, ret_info);
}

static int set_up(void **state)
{
	return runtime_detector_new(&detector);
}

static int tear_down(void **state)
{
	runtime_detector_free(detector);
	return 0;
}

/* Runs an interpreter that prints its version and sleeps. 0 when it does not start. */
static pid_t start_python(const char *path, u32 *ret_version)
{
	static const char script[] = "import sys, time\n"
				     "sys.stdout.write('%x\\n' % sys.hexversion); sys.stdout.flush()\n"
				     "time.sleep(60)\n";
	char line[32] = "";
	int fds[2];
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(fds[1], STDOUT_FILENO);
		execl(path, path, "-c", script, (char *)NULL);
		_exit(127);
	}
	close(fds[1]);
	if (read(fds[0], line, sizeof(line) - 1) <= 0) {
		waitpid(pid, NULL, 0);
		pid = 0;
	}
	close(fds[0]);
	*ret_version = (u32)strtoul(line, NULL, 16);
	return pid;
}

static void stop_target(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* By the layout and address found, the first thread of the first interpreter must be the main thread. */
static void expect_thread_state(pid_t pid, const struct py_runtime *runtime)
{
	const struct py_layout *layout = &runtime->layout;
	u64 interp, tstate, back, id;
	struct remote_mem *mem;

	assert_int_equal(remote_mem_open_process(&mem, pid), 0);
	assert_int_equal(
		remote_mem_read_u64(mem, runtime->runtime_addr + layout->runtime_interpreters_head, &interp),
		0);
	assert_int_equal(remote_mem_read_u64(mem, interp + layout->interp_threads_head, &tstate), 0);
	assert_int_equal(remote_mem_read_u64(mem, tstate + layout->tstate_interp, &back), 0);
	assert_true(back == interp);
	if (layout->tstate_native_thread_id) {
		assert_int_equal(remote_mem_read_u64(mem, tstate + layout->tstate_native_thread_id, &id), 0);
		assert_int_equal(id, pid);
	} else {
		/* pthread_self(), which on x86-64 points at itself. */
		assert_int_equal(remote_mem_read_u64(mem, tstate + layout->tstate_thread_id, &id), 0);
		assert_int_equal(remote_mem_read_u64(mem, id, &back), 0);
		assert_true(back == id);
	}
	remote_mem_close(mem);
}

static void expect_python(const char *path)
{
	struct py_runtime runtime;
	u32 version;
	pid_t pid = start_python(path, &version);

	if (pid == 0)
		return; /* a wrapper without its interpreter */
	print_message("%s: %x\n", path, version);
	assert_int_equal(runtime_detect(detector, pid, &runtime), 0);
	if (version < 0x03060000) {
		assert_int_equal(runtime.refusal, PY_REFUSAL_VERSION_TOO_OLD);
		assert_int_equal(runtime.version >> 16, version >> 16);
	} else if (version < fixture_unknown_version()) {
		assert_int_equal(runtime.refusal, PY_REFUSAL_NONE);
		assert_int_equal(runtime.version, version);
		assert_int_equal(runtime.layout.version, version);
		assert_true(layout_is_valid(&runtime.layout));
		assert_true(runtime.runtime_addr > runtime.image_start &&
			    runtime.runtime_addr < runtime.image_end);
		assert_true(runtime_is_mapped(pid, &runtime));
		assert_false(runtime_is_mapped(getpid(), &runtime));
		expect_thread_state(pid, &runtime);
	} else {
		assert_int_equal(runtime.refusal, PY_REFUSAL_VERSION_UNKNOWN);
	}
	stop_target(pid);
}

static void for_each_path(const char *pattern, void (*on_path)(const char *path), size_t *cnt)
{
	glob_t found;

	if (glob(pattern, GLOB_TILDE, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++, (*cnt)++)
			on_path(found.gl_pathv[i]);
		globfree(&found);
	}
}

static void test_installed_pythons(void **state)
{
	size_t cnt = 0;

	for_each_path("/usr/bin/python[23].[0-9]", expect_python, &cnt);
	for_each_path("/usr/bin/python3.[0-9][0-9]", expect_python, &cnt);
	for_each_path("~/.pyenv/versions/*/bin/python", expect_python, &cnt);
	/* The builds against musl are called so, others have a letter at the end. */
	for_each_path("~/.cache/panopy/pythons/*/bin/python3.[0-9]", expect_python, &cnt);
	for_each_path("~/.cache/panopy/pythons/*/bin/python3.[0-9][0-9]", expect_python, &cnt);
	if (cnt == 0) {
		print_message("skipped: no Python is installed\n");
		skip();
	}
}

static void copy_file(const char *from, const char *to)
{
	struct target_file *file;
	u8 *bytes;
	u64 sz;
	int fd = open(to, O_CREAT | O_WRONLY | O_CLOEXEC, 0700);

	assert_int_equal(target_file_open_path(&file, from), 0);
	sz = target_file_id(file)->sz;
	assert_int_equal(target_file_read_alloc(file, 0, sz, sz, &bytes), 0);
	assert_int_equal(write(fd, bytes, sz), (ssize_t)sz);
	free(bytes);
	target_file_close(file);
	close(fd);
}

static void test_deleted_under_another_name(void **state)
{
	char folder[] = "/tmp/panopy-detect-XXXXXX", path[64];
	struct py_runtime runtime;
	u32 version;
	pid_t pid;

	if (access("/usr/bin/python3", X_OK) != 0) {
		print_message("skipped: there is no /usr/bin/python3\n");
		skip();
	}
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/snake", folder);
	copy_file("/usr/bin/python3", path);
	setenv("PYTHONHOME", "/usr", 1);
	pid = start_python(path, &version);
	unsetenv("PYTHONHOME");
	unlink(path);
	rmdir(folder);
	assert_true(pid != 0);
	assert_int_equal(runtime_detect(detector, pid, &runtime), 0);
	assert_int_equal(runtime.version, version);
	stop_target(pid);
}

static void test_symlink_as_in_a_venv(void **state)
{
	char folder[] = "/tmp/panopy-detect-XXXXXX", path[64];

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/my-app", folder);
	assert_int_equal(symlink("/usr/bin/python3", path), 0);
	expect_python(path);
	unlink(path);
	rmdir(folder);
}

/* This test program, with no Python in its name or symbols, loads libpython. */
static void expect_embedded(const char *path)
{
	struct py_runtime runtime;
	void *library;

	assert_int_equal(runtime_detect(detector, getpid(), &runtime), -ENOENT);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return; /* needs what is not installed */
	assert_int_equal(runtime_detect(detector, getpid(), &runtime), 0);
	assert_true(runtime.shared);
	assert_string_equal(strrchr(runtime.path, '/'), strrchr(path, '/'));
	if (dlsym(library, "Py_Version")) {
		assert_int_equal(runtime.refusal, PY_REFUSAL_NONE);
		assert_int_equal(runtime.version, *(unsigned long *)dlsym(library, "Py_Version"));
		assert_true(runtime.runtime_addr == (uintptr_t)dlsym(library, "_PyRuntime"));
	} else if (dlsym(library, "PyOS_FSPath")) { /* 3.6 to 3.10 */
		const char *(*get_version)(void) = dlsym(library, "Py_GetVersion");
		char text[16] = "";

		sscanf(get_version(), "%15s", text);
		assert_int_equal(runtime.refusal, PY_REFUSAL_NONE);
		assert_int_equal(runtime.version, code_evidence_parse_version(text));
		assert_true(runtime.runtime_addr >= runtime.image_start &&
			    runtime.runtime_addr < runtime.image_end);
	} else {
		assert_int_equal(runtime.refusal, PY_REFUSAL_VERSION_TOO_OLD);
	}
	dlclose(library);
}

static void test_embedded_and_loaded_late(void **state)
{
	size_t cnt = 0;

	for_each_path("~/.pyenv/versions/*/lib/libpython[23].*.so.1.0", expect_embedded, &cnt);
	for_each_path("/usr/lib/*/libpython3.*.so.1.0", expect_embedded, &cnt);
	if (cnt == 0) {
		print_message("skipped: no libpython is installed\n");
		skip();
	}
}

/* Maps a made-up library into this process, as a target would. */
static int detect_fixture(const void *bytes, size_t sz, const char *name, struct py_runtime *ret_runtime)
{
	char folder[] = "/tmp/panopy-detect-XXXXXX", path[128];
	void *addr;
	int fd, err;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0700);
	assert_int_equal(write(fd, bytes, sz), (ssize_t)sz);
	addr = mmap(NULL, sz, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_true(addr != MAP_FAILED);
	close(fd);
	err = runtime_detect(detector, getpid(), ret_runtime);
	if (!err && ret_runtime->runtime_addr)
		ret_runtime->runtime_addr -= (uintptr_t)addr;
	munmap(addr, sz);
	unlink(path);
	rmdir(folder);
	return err;
}

static enum py_refusal refusal_of(const struct elf_fixture *elf, const char *name, u32 *ret_version)
{
	struct py_runtime runtime;

	assert_int_equal(detect_fixture(elf, sizeof(*elf), name, &runtime), 0);
	*ret_version = runtime.version;
	return runtime.refusal;
}

static void test_made_up_interpreters(void **state)
{
	const struct debug_offsets_format *format;
	const struct layout_row *row;
	struct py_runtime runtime;
	struct elf_fixture elf;
	u32 version;

	elf_fixture_init(&elf, 0x030b02f0);
	assert_int_equal(detect_fixture(&elf, sizeof(elf), "engine.so", &runtime), 0);
	assert_int_equal(runtime.refusal, PY_REFUSAL_NONE);
	assert_int_equal(runtime.version, 0x030b02f0);
	assert_int_equal(runtime.runtime_addr, offsetof(struct elf_fixture, runtime));
	elf_fixture_init(&elf, 0x030d00f0);
	assert_int_equal(refusal_of(&elf, "engine.so", &version), PY_REFUSAL_OFFSETS_INVALID);
	elf_fixture_init(&elf, 0x04000000);
	assert_int_equal(refusal_of(&elf, "engine.so", &version), PY_REFUSAL_VERSION_UNKNOWN);
	elf_fixture_init(&elf, UINT64_MAX);
	assert_int_equal(refusal_of(&elf, "engine.so", &version), PY_REFUSAL_VERSION_UNKNOWN);
	elf_fixture_init(&elf, 0);
	assert_true(fixture_at(0, &format, &row));
	fixture_table(format, row, elf.runtime);
	assert_int_equal(detect_fixture(&elf, sizeof(elf), "engine.so", &runtime), 0);
	assert_int_equal(runtime.version, format->minor << 16 | 0x01f0);
	assert_int_equal(runtime.layout.frame_instr, row->layout.frame_instr);
	put_u64(elf.runtime, 16, 1);
	assert_int_equal(refusal_of(&elf, "engine.so", &version), PY_REFUSAL_LAYOUT_UNKNOWN);
	put_u64(elf.runtime, 16, 0);
	put_u64(elf.runtime, format->positions[DEBUG_OFFSET_FRAME_INSTR], UINT64_MAX);
	assert_int_equal(refusal_of(&elf, "engine.so", &version), PY_REFUSAL_OFFSETS_INVALID);
	assert_int_equal(version, format->minor << 16 | 0x01f0);
	elf_fixture_init(&elf, 0x030b02f0);
	elf.symbols[1].st_value = UINT64_MAX - 4096;
	assert_int_equal(refusal_of(&elf, "engine.so", &version), PY_REFUSAL_FILE_INVALID);
}

/* A name of musl's dynamic linker changes nothing of what else tells: x86-64 has one layout for both. */
static void expect_musl_alike(struct elf_fixture *elf)
{
	static const char linker[] = "/lib/ld-musl-x86_64.so.1";
	size_t off = sizeof(elf->runtime) - sizeof(linker);
	struct py_runtime plain, mapped, asked;
	enum py_refusal refusal;

	assert_int_equal(detect_fixture(elf, sizeof(*elf), "engine.so", &plain), 0);
	assert_false(plain.musl);
	assert_int_equal(detect_fixture(elf, sizeof(*elf), linker + strlen("/lib/"), &mapped), 0);
	memcpy(elf->runtime + off, linker, sizeof(linker));
	elf->programs[1] = (Elf64_Phdr){.p_type = PT_INTERP,
					.p_offset = offsetof(struct elf_fixture, runtime) + off,
					.p_filesz = sizeof(linker)};
	assert_int_equal(detect_fixture(elf, sizeof(*elf), "engine.so", &asked), 0);
	refusal = plain.refusal;
#ifndef __x86_64__
	if (refusal == PY_REFUSAL_NONE)
		refusal = PY_REFUSAL_MUSL;
#endif
	assert_true(mapped.musl && asked.musl);
	assert_int_equal(mapped.refusal, refusal);
	assert_int_equal(asked.refusal, refusal);
	assert_int_equal(mapped.version, plain.version);
	assert_int_equal(asked.version, plain.version);
	if (refusal == PY_REFUSAL_NONE) {
		assert_int_equal(mapped.runtime_addr, plain.runtime_addr);
		assert_int_equal(asked.runtime_addr, plain.runtime_addr);
		assert_memory_equal(&mapped.layout, &plain.layout, sizeof(plain.layout));
		assert_memory_equal(&asked.layout, &plain.layout, sizeof(plain.layout));
	}
}

static void test_musl_needs_the_same_evidence(void **state)
{
	const struct debug_offsets_format *format;
	const struct layout_row *row;
	struct elf_fixture elf;

	elf_fixture_init(&elf, 0x030b02f0);
	expect_musl_alike(&elf);
	elf_fixture_init(&elf, 0x04000000);
	expect_musl_alike(&elf);
	for (size_t i = 0; fixture_at(i, &format, &row); i++) {
		elf_fixture_init(&elf, 0);
		fixture_table(format, row, elf.runtime);
		expect_musl_alike(&elf);
		elf_fixture_init(&elf, 0);
		fixture_table(format, row, elf.runtime);
		put_u64(elf.runtime, format->positions[DEBUG_OFFSET_FRAME_INSTR], UINT64_MAX);
		expect_musl_alike(&elf);
	}
}

static void test_what_is_refused_by_other_names(void **state)
{
	struct py_runtime runtime;
	struct elf_fixture elf;
	u32 version;

	elf_fixture_init(&elf, 0);
	memcpy(elf.strings + 23, "pypy_execute_source", 20);
	assert_int_equal(refusal_of(&elf, "libpypy3.10-c.so", &version), PY_REFUSAL_NOT_CPYTHON);
	/* GraalPy's, which has _PyRuntime and Py_Version too. */
	elf_fixture_init(&elf, 0x030c08f0);
	memcpy(elf.strings + 23, "initialize_graal_capi", 22);
	assert_int_equal(refusal_of(&elf, "libpython-native.so", &version), PY_REFUSAL_NOT_CPYTHON);
	elf_fixture_init(&elf, 0x030b02f0);
	elf.header.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(refusal_of(&elf, "libpython3.11.so.1.0", &version), PY_REFUSAL_ARCHITECTURE);
	assert_int_equal(detect_fixture(&elf, sizeof(elf), "libother.so", &runtime), -ENOENT);
	elf_fixture_init(&elf, 0x030b02f0);
	elf.header.e_shoff = UINT64_MAX;
	assert_int_equal(refusal_of(&elf, "libpython3.11.so.1.0", &version), PY_REFUSAL_FILE_INVALID);
	/* Nothing that an interpreter has. */
	elf_fixture_init(&elf, 0);
	memset(elf.strings + 1, 'x', 40);
	elf.section_names[27] = 'x';
	assert_int_equal(refusal_of(&elf, "libpython3.11.so.1.0", &version), PY_REFUSAL_NO_RUNTIME_SYMBOL);
	assert_int_equal(detect_fixture(&elf, sizeof(elf), "libpython3.so", &runtime), -ENOENT);
	assert_int_equal(detect_fixture(&elf, sizeof(elf), "python3", &runtime), -ENOENT);
	assert_int_equal(detect_fixture("#!/bin/sh\n", 10, "python3", &runtime), -ENOENT);
}

static struct interpreter_file inspected(const struct elf_fixture *elf, const char *path)
{
	struct target_file *file = fixture_file(elf, sizeof(*elf));
	struct interpreter_file info;

	assert_non_null(file);
	assert_int_equal(interpreter_file_inspect(file, path, &info), 0);
	target_file_close(file);
	return info;
}

/* Without extension modules GraalPy on a JVM maps nothing of Python's but a library in its home. */
static void test_graalpy_by_its_home(void **state)
{
	struct elf_fixture elf;
	struct interpreter_file info;

	elf_fixture_init(&elf, 0);
	memset(elf.strings + 1, 'x', 40);
	elf.section_names[27] = 'x';
	info = inspected(&elf, "/opt/lib/graalpy25.0/libposix.so");
	assert_int_equal(info.kind, INTERPRETER_SUSPECT);
	assert_int_equal(info.refusal, PY_REFUSAL_NOT_CPYTHON);
	assert_int_equal(inspected(&elf, "/opt/graalpy25.0/lib/libposix.so").kind, INTERPRETER_NONE);
	assert_int_equal(inspected(&elf, "/opt/graalpy-tools/libposix.so").kind, INTERPRETER_NONE);
	assert_int_equal(inspected(&elf, "graalpy25").kind, INTERPRETER_NONE);
	/* A name is no evidence against a CPython. */
	elf_fixture_init(&elf, 0x030b02f0);
	assert_int_equal(inspected(&elf, "/opt/lib/graalpy25.0/libposix.so").refusal, PY_REFUSAL_NONE);
}

static void test_processes_without_python(void **state)
{
	struct py_runtime runtime;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	assert_int_equal(runtime_detect(detector, pid, &runtime), -ESRCH);
	assert_int_equal(runtime_detect(detector, getpid(), &runtime), -ENOENT);
}

struct own_mapping {
	const char *name;
	struct proc_mapping found;
};

static int find_executable(void *ctx, const struct proc_mapping *mapping)
{
	struct own_mapping *own = ctx;

	if (!mapping->executable || !strstr(mapping->path, own->name))
		return 0;
	own->found = *mapping;
	return 1;
}

static void test_one_mapping(void **state)
{
	struct own_mapping own = {.name = "/python3"};
	struct py_runtime runtime;
	u32 version = 0;
	pid_t pid = access("/usr/bin/python3", X_OK) == 0 ? start_python("/usr/bin/python3", &version) : 0;
	char *text;
	size_t sz;

	if (pid == 0) {
		print_message("skipped: there is no /usr/bin/python3\n");
		skip();
	}
	assert_int_equal(read_proc_maps(pid, &text, &sz), 0);
	assert_int_equal(proc_maps_for_each(text, sz, find_executable, &own), 1);
	assert_int_equal(runtime_detect_mapping(detector, pid, own.found.start, own.found.end,
						own.found.offset, &runtime),
			 0);
	assert_int_equal(runtime.version, version);
	own.name = "libc.so";
	if (geteuid() == 0) { /* else map_files may be closed, and the whole process is looked at */
		assert_int_equal(proc_maps_for_each(text, sz, find_executable, &own), 1);
		assert_int_equal(runtime_detect_mapping(detector, pid, own.found.start, own.found.end,
							own.found.offset, &runtime),
				 -ENOENT);
	}
	free(text);
	stop_target(pid);
	assert_int_equal(runtime_detect_mapping(detector, pid, 0x1000, 0x2000, 0, &runtime), -ESRCH);
}

static void what_the_budget_leaves_is_named(void **state)
{
	struct runtime_detector *hurried;
	struct py_runtime runtime;

	assert_int_equal(runtime_detector_new(&hurried), 0);
	assert_int_equal(runtime_detect(hurried, getpid(), &runtime), -ENOENT);
	runtime_detector_set_budget(hurried, 0);
	assert_int_equal(runtime_detect(hurried, getpid(), &runtime), 0);
	assert_int_equal(runtime.refusal, PY_REFUSAL_FILES_SLOW);
	runtime_detector_free(hurried);
}

/* How many files it takes to find that version in the process. */
static size_t inspected_of(pid_t pid, u32 version)
{
	size_t before = inspected_cnt;
	struct py_runtime runtime;

	assert_int_equal(runtime_detect(detector, pid, &runtime), 0);
	assert_int_equal(runtime.version, version);
	return inspected_cnt - before;
}

static void each_file_is_looked_into_once(void **state)
{
	char path[] = "/tmp/panopy-detect-XXXXXX";
	struct elf_fixture elf;
	pid_t pid;
	void *addr;
	int fd = mkstemp(path);

	elf_fixture_init(&elf, 0x030b02f0);
	assert_int_equal(pwrite(fd, &elf, sizeof(elf), 0), sizeof(elf));
	addr = mmap(NULL, sizeof(elf), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_true(addr != MAP_FAILED);
	assert_true(inspected_of(getpid(), 0x030b02f0) > 0);
	assert_int_equal(inspected_of(getpid(), 0x030b02f0), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_int_equal(inspected_of(pid, 0x030b02f0), 0);
	/* Another one by size and times, under the same inode. */
	elf_fixture_init(&elf, 0x030b03f0);
	assert_int_equal(pwrite(fd, &elf, sizeof(elf), 0), sizeof(elf));
	assert_int_equal(ftruncate(fd, sizeof(elf) + 1), 0);
	assert_int_equal(inspected_of(pid, 0x030b03f0), 1);
	assert_int_equal(inspected_of(getpid(), 0x030b03f0), 0);
	stop_target(pid);
	munmap(addr, sizeof(elf));
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_graalpy_by_its_home),
		cmocka_unit_test(test_processes_without_python),
		cmocka_unit_test(test_installed_pythons),
		cmocka_unit_test(test_deleted_under_another_name),
		cmocka_unit_test(test_symlink_as_in_a_venv),
		cmocka_unit_test(test_embedded_and_loaded_late),
		cmocka_unit_test(test_made_up_interpreters),
		cmocka_unit_test(test_musl_needs_the_same_evidence),
		cmocka_unit_test(test_what_is_refused_by_other_names),
		cmocka_unit_test(test_one_mapping),
		cmocka_unit_test(what_the_budget_leaves_is_named),
		cmocka_unit_test(each_file_is_looked_into_once),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
