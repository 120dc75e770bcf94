/* SPDX-License-Identifier: Apache-2.0 */
/* A process's executable file mappings are candidates. The executable comes first: its symbols win over a
 * library's (dynamic symbol lookup order), so an interpreter linked into it is the one that runs. Then files
 * with likely names, then all others, as any library may hold an interpreter under any name.
 *
 * What a file says is cached by its identity, "no interpreter" too. Errors of reading are not cached:
 * another process may lead to the same file with better luck. Nor does a process that maps a thousand files which
 * take long hold up the others: what the budget leaves is not looked at, and if no interpreter was found before,
 * that is why.
 */
#define _GNU_SOURCE
#include "runtime/runtime_detect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "discover/proc_maps.h"
#include "runtime/interpreter_file.h"
#include "runtime/state_check.h"

enum {
	/* Files of the whole host; each entry takes 1 KiB. */
	CACHE_MAX_FILES = 4096,
	/* Of one process: the largest real ones map some hundred libraries. */
	MAX_CANDIDATES = 1024,
};

/* On x86-64 nothing differs between glibc and musl: pthread_self() is the thread pointer with both, and musl's
 * pthread types, which lie in _PyRuntime and in the interpreter state, have glibc's sizes
 * (scripts/generate-layouts --check compares all of a layout). On aarch64 musl's mutexes are 40 bytes, not 48:
 * 3.11's _PyRuntime.gilstate and 3.13's counter lie elsewhere, and a struct's size may be another release's. */
#ifdef __x86_64__
#define IS_MUSL_KNOWN true
#else
#define IS_MUSL_KNOWN false
#endif

/* Of one process: a hundred files that lie on a busy disk. */
#define BUDGET_NS (2 * CLOCK_NS_PER_S)

struct cached_file {
	struct target_file_id id;
	struct interpreter_file info;
	UT_hash_handle hh;
};

SHARED_ASSERT_SIZE(struct target_file_id, 40); /* no padding: it is a hash key */

struct runtime_detector {
	struct cached_file *files; /* oldest first */
	u64 budget_ns;
};

/* One file that the process maps executable. */
struct candidate {
	struct target_mapping mapping; /* its path is the one below */
	u64 file_off;
	char *path;
	int rank; /* order of looking */
};

struct candidates {
	struct candidate *items;
	size_t cnt;
	size_t cap;
	u64 exe_ino; /* 0: not known */
	bool maps_musl;
	int err;
};

int runtime_detector_new(struct runtime_detector **ret_detector)
{
	struct runtime_detector *detector = calloc(1, sizeof(*detector));

	if (!detector)
		return -ENOMEM;
	detector->budget_ns = BUDGET_NS;
	*ret_detector = detector;
	return 0;
}

void runtime_detector_set_budget(struct runtime_detector *detector, u64 budget_ns)
{
	detector->budget_ns = budget_ns;
}

static void drop_file(struct runtime_detector *detector, struct cached_file *cached)
{
	HASH_DEL(detector->files, cached);
	free(cached);
}

void runtime_detector_free(struct runtime_detector *detector)
{
	if (!detector)
		return;
	while (detector->files)
		drop_file(detector, detector->files);
	free(detector);
}

static void cache_file(struct runtime_detector *detector, const struct target_file_id *id,
		       const struct interpreter_file *info)
{
	struct cached_file *cached;

	if (HASH_COUNT(detector->files) >= CACHE_MAX_FILES)
		drop_file(detector, detector->files);
	cached = calloc(1, sizeof(*cached));
	if (!cached)
		return; /* it is only a cache */
	cached->id = *id;
	cached->info = *info;
	HASH_ADD(hh, detector->files, id, sizeof(cached->id), cached);
	if (!cached->hh.tbl)
		free(cached);
}

static int inspect_file(struct runtime_detector *detector, struct target_file *file, const char *path,
			struct interpreter_file *ret_info)
{
	const struct target_file_id *id = target_file_id(file);
	const struct cached_file *cached;
	int err;

	HASH_FIND(hh, detector->files, id, sizeof(*id), cached);
	if (cached) {
		*ret_info = cached->info;
		return 0;
	}
	err = interpreter_file_inspect(file, path, ret_info);
	if (!err)
		cache_file(detector, id, ret_info);
	return err;
}

static int inspect_candidate(struct runtime_detector *detector, pid_t pid, const struct candidate *candidate,
			     struct interpreter_file *ret_info)
{
	struct target_file *file;
	int err = target_file_open_mapping(&file, pid, &candidate->mapping);

	if (err)
		return err;
	err = inspect_file(detector, file, candidate->path, ret_info);
	target_file_close(file);
	return err;
}

static void candidates_release(struct candidates *list)
{
	for (size_t i = 0; i < list->cnt; i++)
		free(list->items[i].path);
	free(list->items);
}

static bool is_known(const struct candidates *list, const struct proc_mapping *mapping)
{
	for (size_t i = 0; i < list->cnt; i++) {
		const struct target_mapping *known = &list->items[i].mapping;

		if (known->ino == mapping->ino && known->dev == mapping->dev)
			return true;
	}
	return false;
}

static int rank_of(const struct candidates *list, const struct proc_mapping *mapping)
{
	/* The device may differ on btrfs and overlayfs; a wrong guess only changes the order. */
	if (list->exe_ino && mapping->ino == list->exe_ino)
		return 0;
	return interpreter_name_is_likely(mapping->path) ? 1 : 2;
}

static int reserve_candidate(struct candidates *list)
{
	size_t cap = list->cap ? 2 * list->cap : 32;
	struct candidate *items;

	if (list->cnt < list->cap)
		return 0;
	items = reallocarray(list->items, cap, sizeof(*items));
	if (!items)
		return -ENOMEM;
	list->items = items;
	list->cap = cap;
	return 0;
}

static int on_mapping(void *ctx, const struct proc_mapping *mapping)
{
	struct candidates *list = ctx;
	struct candidate *candidate;

	if (mapping->ino == 0 || !mapping->executable)
		return 0;
	if (strstr(mapping->path, "/ld-musl-"))
		list->maps_musl = true;
	if (is_known(list, mapping))
		return 0;
	if (list->cnt == MAX_CANDIDATES)
		return 1;
	list->err = reserve_candidate(list);
	if (list->err)
		return 1;
	candidate = &list->items[list->cnt];
	*candidate = (struct candidate){
		.mapping = {.start = mapping->start,
			    .end = mapping->end,
			    .dev = mapping->dev,
			    .ino = mapping->ino},
		.file_off = mapping->offset,
		.path = strdup(mapping->path),
		.rank = rank_of(list, mapping),
	};
	if (!candidate->path) {
		list->err = -ENOMEM;
		return 1;
	}
	candidate->mapping.path = candidate->path;
	list->cnt++;
	return 0;
}

static int compare_candidates(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->mapping.start < b->mapping.start ? -1 : 1;
}

static int collect_candidates(pid_t pid, struct candidates *list)
{
	CLEANUP_FREE char *text = NULL;
	struct target_file *exe;
	size_t sz;
	int err = read_proc_maps(pid, &text, &sz);

	if (err)
		return err;
	if (target_file_open_exe(&exe, pid) == 0) {
		list->exe_ino = target_file_id(exe)->ino;
		target_file_close(exe);
	}
	proc_maps_for_each(text, sz, on_mapping, list);
	if (list->err)
		return list->err;
	if (list->cnt > 1)
		qsort(list->items, list->cnt, sizeof(list->items[0]), compare_candidates);
	return 0;
}

static void set_path(struct py_runtime *runtime, const char *path)
{
	size_t sz = strnlen(path, sizeof(runtime->path) - 1);

	memcpy(runtime->path, path, sz);
	runtime->path[sz] = '\0';
}

static void refuse(struct py_runtime *runtime, const struct candidate *candidate, enum py_refusal refusal)
{
	*runtime = (struct py_runtime){.refusal = refusal};
	set_path(runtime, candidate->path);
}

/* 0xA, 0xB, 0xC in the second last digit: alpha, beta, candidate; 0xF: final. Nothing is known of the
 * release level of versions told by their exports. */
static bool is_prerelease(u32 version)
{
	u32 level = version >> 4 & 0xf;

	return level >= 0xa && level <= 0xc;
}

/* A program that ends its interpreter and makes another one (Py_FinalizeEx, Py_Initialize) gets one of the same id,
 * whose counters begin anew and whose code objects lie where the first one's did: with 3.13 to 3.15 half of what ran
 * in the second had the names of the first. */
static void void_proof(struct py_layout *layout)
{
	layout->traits &= ~(u32)(PY_TRAIT_PROOF_GENERATION | PY_TRAIT_PROOF_NEXT_VERSION);
}

static void fill_runtime(struct py_runtime *runtime, const struct candidate *candidate,
			 const struct interpreter_file *info, bool is_musl)
{
	u64 bias;

	*runtime = (struct py_runtime){
		.refusal = info->refusal,
		.version = info->version,
		.free_threaded = info->free_threaded,
		.debug = info->debug,
		.musl = is_musl,
		.shared = candidate->rank != 0,
		.prerelease = is_prerelease(info->version),
	};
	set_path(runtime, candidate->path);
	if (elf_loads_bias(&info->loads, candidate->mapping.start, candidate->file_off, true, &bias) == 0) {
		runtime->runtime_addr = info->runtime_addr + bias;
		runtime->image_start = info->loads.begin + bias;
		runtime->image_end = info->loads.end + bias;
	} else if (runtime->refusal == PY_REFUSAL_NONE) {
		runtime->refusal = PY_REFUSAL_FILE_INVALID;
	}
	if (is_musl && !IS_MUSL_KNOWN && runtime->refusal == PY_REFUSAL_NONE)
		runtime->refusal = PY_REFUSAL_MUSL;
	if (runtime->refusal == PY_REFUSAL_NONE)
		runtime->layout = info->layout;
}

struct search {
	struct runtime_detector *detector;
	pid_t pid;
	struct py_runtime *runtime;
	bool has_suspect; /* runtime holds the refusal of one */
	bool is_musl;
	bool is_launcher; /* the executable */
	u64 copy_addr;	  /* of an executable's copy of _PyRuntime */
};

static void remember_suspect(struct search *search, const struct candidate *candidate,
			     enum py_refusal refusal)
{
	if (search->has_suspect)
		return;
	search->has_suspect = true;
	refuse(search->runtime, candidate, refusal);
}

static enum py_refusal refusal_of(int err)
{
	if (err == -ETIMEDOUT)
		return PY_REFUSAL_FILE_HANGS;
	if (err == -EPERM || err == -EACCES)
		return PY_REFUSAL_NOT_PERMITTED;
	return PY_REFUSAL_FILE_UNREADABLE;
}

/* 1: found, search->runtime is filled. */
static int look_at(struct search *search, const struct candidate *candidate)
{
	struct interpreter_file info;
	u64 bias;
	int err = inspect_candidate(search->detector, search->pid, candidate, &info);

	if (err == -ENOMEM)
		return err;
	if (err) {
		if (err != -ESRCH && interpreter_name_is_likely(candidate->path))
			remember_suspect(search, candidate, refusal_of(err));
		return 0;
	}
	search->is_musl |= info.is_musl;
	search->is_launcher |= candidate->rank == 0 && info.is_launcher;
	if (info.kind == INTERPRETER_FOUND) {
		fill_runtime(search->runtime, candidate, &info, search->is_musl);
		if (!search->is_launcher)
			void_proof(&search->runtime->layout);
		if (search->copy_addr)
			search->runtime->runtime_addr = search->copy_addr;
		return 1;
	}
	if (info.kind == INTERPRETER_SUSPECT)
		remember_suspect(search, candidate, info.refusal);
	if (info.kind == INTERPRETER_COPY &&
	    elf_loads_bias(&info.loads, candidate->mapping.start, candidate->file_off, true, &bias) == 0)
		search->copy_addr = info.runtime_addr + bias;
	return 0;
}

/* The version is all that chose the layout before 3.13: what stands in the process must fit it. A process that
 * cannot be read now is no evidence against it, nor is one that just maps its interpreter: nothing has begun, or the
 * linker is at it, and one that is kept off its CPU there would look wrong for as long as that lasts. */
static void check_state(pid_t pid, struct py_runtime *runtime)
{
	struct remote_mem *mem;

	if (runtime->refusal != PY_REFUSAL_NONE ||
	    !(runtime->layout.traits & (PY_TRAIT_FRAME_OBJECT | PY_TRAIT_CFRAME)) ||
	    remote_mem_open_process(&mem, pid))
		return;
	if (!state_check(mem, &runtime->layout, runtime->runtime_addr))
		runtime->refusal = PY_REFUSAL_STATE_INVALID;
	remote_mem_close(mem);
}

/* 1: found. */
static int look_through(struct search *search, const struct candidates *list)
{
	u64 begin = clock_monotonic_ns();
	int result = 0;

	for (size_t i = 0; i < list->cnt && result == 0; i++) {
		if (i && clock_monotonic_ns() - begin >= search->detector->budget_ns) {
			remember_suspect(search, &list->items[i], PY_REFUSAL_FILES_SLOW);
			break;
		}
		result = look_at(search, &list->items[i]);
	}
	return result;
}

static int detect(struct runtime_detector *detector, pid_t pid, struct py_runtime *ret_runtime)
{
	struct py_runtime runtime;
	struct search search = {.detector = detector, .pid = pid, .runtime = &runtime};
	struct candidates list = {0};
	int result = collect_candidates(pid, &list);

	search.is_musl = list.maps_musl;
	if (!result)
		result = look_through(&search, &list);
	candidates_release(&list);
	if (result < 0)
		return result;
	if (result == 0 && !search.has_suspect)
		return -ENOENT;
	*ret_runtime = runtime;
	return 0;
}

int runtime_detect(struct runtime_detector *detector, pid_t pid, struct py_runtime *ret_runtime)
{
	int err = detect(detector, pid, ret_runtime);

	if (!err)
		check_state(pid, ret_runtime);
	return err;
}

/* The path is only for its name here: what matters is found again in runtime_detect. */
static int open_by_range(struct target_file **ret_file, pid_t pid, u64 start, u64 end, char *ret_path,
			 size_t sz)
{
	const struct target_mapping mapping = {.start = start, .end = end};
	char link[128];
	ssize_t got;

	snprintf(link, sizeof(link), "/proc/%d/map_files/%llx-%llx", (int)pid, (unsigned long long)start,
		 (unsigned long long)end);
	got = readlink(link, ret_path, sz - 1);
	if (got < 0)
		return -errno;
	ret_path[got] = '\0';
	return target_file_open_mapping(ret_file, pid, &mapping);
}

int runtime_detect_mapping(struct runtime_detector *detector, pid_t pid, u64 start, u64 end, u64 file_offset,
			   struct py_runtime *ret_runtime)
{
	char path[PROC_MAPS_PATH_SZ];
	struct interpreter_file info;
	struct target_file *file;
	int err = open_by_range(&file, pid, start, end, path, sizeof(path));

	(void)file_offset;
	if (!err) {
		err = inspect_file(detector, file, path, &info);
		target_file_close(file);
		if (!err && info.kind == INTERPRETER_NONE)
			return -ENOENT;
	}
	/* An interpreter, or not to be had by its range (no privilege for map_files, mapping changed
	 * since): the whole process tells. */
	return detect(detector, pid, ret_runtime);
}

struct image_search {
	const struct py_runtime *runtime;
	bool found;
};

static int on_mapping_of_image(void *ctx, const struct proc_mapping *mapping)
{
	struct image_search *search = ctx;
	const struct py_runtime *runtime = search->runtime;

	search->found = mapping->executable && mapping->start >= runtime->image_start &&
			mapping->start < runtime->image_end &&
			strncmp(mapping->path, runtime->path, sizeof(runtime->path) - 1) == 0;
	return search->found;
}

bool runtime_is_mapped(pid_t pid, const struct py_runtime *runtime)
{
	CLEANUP_FREE char *text = NULL;
	struct image_search search = {.runtime = runtime};
	size_t sz;

	if (read_proc_maps(pid, &text, &sz))
		return false;
	proc_maps_for_each(text, sz, on_mapping_of_image, &search);
	return search.found;
}
