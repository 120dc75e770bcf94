/* SPDX-License-Identifier: Apache-2.0 */
/* One fixed profile, written in every form and compared byte for byte with the files beside this one.
 *
 *   folded_test DIR            compares
 *   folded_test DIR --write    writes the files anew, to be read before they are committed
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export/exporter.h"

enum {
	PROCESSES = 4,
	MAX_FRAMES = 8,
	MAX_FILE_SZ = 1 << 16,
	MAX_SPLIT = 32,
};

/* Stands in for the stage that fills it from /proc. */
struct process_table {
	struct process processes[PROCESSES];
};

#define HASH_A "3f2a9c0d5b7e41688a1c2d3e4f5061728394a5b6c7d8e9f00112233445566778"
#define HASH_B "b0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecf"

/* Two of one name, and one that nobody names. */
static const struct container g_web = {
	.runtime = CONTAINER_RUNTIME_DOCKER, .id = HASH_A, .name = "web;1", .name_source = "docker"};
static const struct container g_other_web = {.runtime = CONTAINER_RUNTIME_PODMAN,
					     .id = HASH_B,
					     .name = "web;1",
					     .name_source = "podman",
					     .rootless = true,
					     .user = 1000};
static const struct container g_unnamed = {
	.runtime = CONTAINER_RUNTIME_CONTAINERD, .id = HASH_B, .outermost = HASH_A};

static struct process_table g_processes = {{
	{.id = 0, .pid = 1234, .comm = "python3", .container = &g_web, .cgroup = "/docker/" HASH_A},
	{.id = 1,
	 .pid = 77,
	 .uid = 33,
	 .comm = "gunicorn: w",
	 .container = &g_other_web,
	 .cgroup = "/a;b/c d"},
	{.id = 2,
	 .pid = 4194304,
	 .uid = 70000,
	 .comm = "a;b\\c\n\xe9",
	 .container = &g_unnamed,
	 .cgroup = "/"},
	{.id = 3, .pid = 1235, .comm = "python3"},
}};

size_t process_table_count(const struct process_table *table)
{
	return PROCESSES;
}

const char *process_table_user_name(struct process_table *table, uid_t uid)
{
	return uid == 33 ? "www-data" : uid ? "70000" : "root";
}

struct process *process_table_at(struct process_table *table, u32 id)
{
	return id < PROCESSES ? &table->processes[id] : NULL;
}

static void fail(const char *what, int err)
{
	fprintf(stderr, "%s: %s\n", what, strerror(-err));
	exit(1);
}

static u32 intern_text(struct profile *profile, const char *text)
{
	u32 id;
	int err = string_table_intern(frame_table_strings(profile_frames(profile)), text, strlen(text), &id);

	if (err)
		fail("string table", err);
	return id;
}

/* A frame as the stages before would have made it. */
struct golden_frame {
	const char *qualname;
	const char *file;
	s32 line;
	u32 fixed_id; /* with qualname NULL */
};

struct golden_sample {
	u32 process_id;
	u32 tid;
	const char *thread;
	u8 status;
	u8 reason;
	u64 times;
	struct golden_frame frames[MAX_FRAMES]; /* root first, up to one without name and id */
};

#define MAIN                                                                                                 \
	{                                                                                                    \
		"<module>", "main.py", 12, 0                                                                 \
	}

static const struct golden_sample g_samples[] = {
	{0, 1234, "python3", SAMPLE_EXACT, 0, 41, {MAIN, {"C.run", "app/core.py", 3, 0}}},
	{0, 1234, "python3", SAMPLE_COMPLETED, 0, 1, {MAIN, {"C.run", "app/core.py", 3, 0}}},
	{0, 1234, "python3", SAMPLE_EXACT, 0, 7, {MAIN}},
	{0, 1234, "python3", SAMPLE_EXACT, 0, 2, {MAIN, {"C.run", "app/core.py", 30, 0}}},
	{0, 1240, "worker-1", SAMPLE_EXACT, 0, 5, {MAIN, {"f.<locals>.<lambda>", "<string>", 1, 0}}},
	{3, 1235, "python3", SAMPLE_EXACT, 0, 9, {MAIN}},
	/* no line, no file, nothing */
	{1, 77, "main", SAMPLE_EXACT, 0, 1, {{"f", "mod.py", 0, 0}, {"g", "", 0, 0}, {"", "", 5, 0}}},
	/* text that must not break the line */
	{1, 77, "main", SAMPLE_EXACT, 0, 1, {{"a;b", "dir name/x;y.py", 1, 0}, {"new\nline", "\t", 2, 0}}},
	{1,
	 77,
	 "main",
	 SAMPLE_EXACT,
	 0,
	 1,
	 {{"back\\slash", "caf\xe9.py", 1, 0}, {"\x1b[31m 9", "x 9", 2, 0}}},
	{1,
	 77,
	 "main",
	 SAMPLE_EXACT,
	 0,
	 1,
	 {{"\xe4\xb8\xad\xe6\x96\x87", "caf\xc3\xa9.py", 1, 0}, {"\xf0\x9f\x90\x8d", "\xed\xa0\x80", 2, 0}}},
	{2, 5, "t;\\\n\xff", SAMPLE_EXACT, 0, 3, {MAIN}},
	/* every marker */
	{0, 1234, "python3", SAMPLE_LATE, SAMPLE_REASON_BUDGET, 1, {MAIN}},
	{0, 1234, "python3", SAMPLE_LATE, SAMPLE_REASON_PAGE_FAULT, 1, {MAIN}},
	{0, 1234, "python3", SAMPLE_TRUNCATED, SAMPLE_REASON_BUDGET, 1, {{"deep", "d.py", 9, 0}}},
	{0, 1234, "python3", SAMPLE_TRUNCATED, SAMPLE_REASON_PAGE_FAULT, 1, {{"deep", "d.py", 9, 0}}},
	{0, 1234, "python3", SAMPLE_TRUNCATED, SAMPLE_REASON_BAD_POINTER, 1, {{"deep", "d.py", 9, 0}}},
	{0, 1234, "python3", SAMPLE_TRUNCATED, SAMPLE_REASON_CYCLE, 1, {{"deep", "d.py", 9, 0}}},
	{0, 1234, "python3", SAMPLE_TRUNCATED, SAMPLE_REASON_MID_TRANSITION, 1, {{"deep", "d.py", 9, 0}}},
	{0, 1234, "python3", SAMPLE_TRUNCATED, SAMPLE_REASON_FINALIZING, 1, {{"deep", "d.py", 9, 0}}},
	{0, 1234, "python3", SAMPLE_TRUNCATED, SAMPLE_REASON_AMBIGUOUS_STATE, 1, {{"deep", "d.py", 9, 0}}},
	{0, 1234, "python3", SAMPLE_TRUNCATED, SAMPLE_REASON_NONE, 1, {{NULL, NULL, 0, 0}}},
	{0, 1250, "idle", SAMPLE_NONE, SAMPLE_REASON_NO_FRAMES, 6, {{NULL, NULL, 0, 0}}},
	{0, 1251, "blas", SAMPLE_NONE, SAMPLE_REASON_NO_THREAD_STATE, 4, {{NULL, NULL, 0, 0}}},
	{3, 1235, "python3", SAMPLE_NONE, SAMPLE_REASON_NOT_INITIALIZED, 1, {{NULL, NULL, 0, 0}}},
	{3, 1235, "python3", SAMPLE_NONE, SAMPLE_REASON_IN_EXEC, 1, {{NULL, NULL, 0, 0}}},
	{3, 1235, "python3", SAMPLE_NONE, SAMPLE_REASON_STATE_FAULT, 1, {{NULL, NULL, 0, 0}}},
	{3, 1235, "python3", SAMPLE_NONE, SAMPLE_REASON_THREAD_SCAN, 1, {{NULL, NULL, 0, 0}}},
	{0,
	 1234,
	 "python3",
	 SAMPLE_EXACT,
	 0,
	 2,
	 {MAIN, {NULL, NULL, 1, FRAME_ID_UNNAMED}, {NULL, NULL, 1, FRAME_ID_FOLDED}}},
	/* a process that the table no longer has */
	{9, 1, "?", SAMPLE_EXACT, 0, 1, {MAIN}},
	/* an exact stack without frames cannot be an empty line */
	{3, 1235, "python3", SAMPLE_EXACT, 0, 1, {{NULL, NULL, 0, 0}}},
};

static void add_sample(struct profile *profile, const struct golden_sample *golden)
{
	u32 ids[MAX_FRAMES];
	size_t cnt = 0;
	int err = 0;

	for (; cnt < MAX_FRAMES && (golden->frames[cnt].qualname || golden->frames[cnt].line); cnt++)
		;
	for (size_t i = 0; i < cnt && !err; i++) {
		const struct golden_frame *from = &golden->frames[i];

		ids[cnt - 1 - i] = from->fixed_id;
		if (from->qualname)
			err = frame_table_intern(profile_frames(profile),
						 &(struct frame){intern_text(profile, from->qualname),
								 intern_text(profile, from->file),
								 from->line},
						 &ids[cnt - 1 - i]);
	}
	for (u64 i = 0; i < golden->times && !err; i++)
		err = profile_add(profile,
				  &(struct profile_sample){
					  .process_id = golden->process_id,
					  .tid = golden->tid,
					  .thread_comm = golden->thread,
					  .status = golden->status,
					  .reason = golden->reason,
					  .frame_ids = ids,
					  .frame_cnt = cnt,
				  },
				  NULL);
	if (err)
		fail("profile", err);
}

static struct profile *make_profile(size_t max_nodes, bool backwards)
{
	size_t cnt = sizeof(g_samples) / sizeof(*g_samples);
	struct profile *profile;
	int err = profile_new(&profile, &(struct profile_config){.max_nodes = max_nodes});

	if (err)
		fail("profile", err);
	for (size_t i = 0; i < cnt; i++)
		add_sample(profile, &g_samples[backwards ? cnt - 1 - i : i]);
	return profile;
}

static size_t read_file(const char *path, char *buf)
{
	FILE *in = fopen(path, "r");
	size_t sz;

	if (!in)
		fail(path, -errno);
	sz = fread(buf, 1, MAX_FILE_SZ, in);
	fclose(in);
	return sz;
}

static bool matches(const char *path, const char *golden_path)
{
	static char got[MAX_FILE_SZ], want[MAX_FILE_SZ];
	size_t got_sz = read_file(path, got), want_sz = read_file(golden_path, want);

	if (got_sz == want_sz && memcmp(got, want, got_sz) == 0)
		return true;
	fprintf(stderr, "%s is not what was written:\n%.*s\n", golden_path, (int)got_sz, got);
	return false;
}

static bool check(struct profile *profile, enum exporter_per per, const char *dir, const char *name,
		  bool write)
{
	struct exporter_input input = {.profile = profile, .processes = &g_processes, .per = per};
	char golden_path[512], path[] = "/tmp/panopy-golden-XXXXXX";
	int fd, err;
	bool ok;

	snprintf(golden_path, sizeof(golden_path), "%s/%s", dir, name);
	if (write) {
		err = exporter_write(exporter_find("folded"), &input, golden_path);
		if (err)
			fail(golden_path, err);
		return true;
	}
	fd = mkstemp(path);
	if (fd < 0)
		fail(path, -errno);
	close(fd);
	err = exporter_write(exporter_find("folded"), &input, path);
	if (err)
		fail(path, err);
	ok = matches(path, golden_path);
	unlink(path);
	return ok;
}

static int compare_names(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Every file of a folder, in the order of their names, behind a line with the name; removes them. */
static void gather(const char *dir, const char *path)
{
	static char text[MAX_FILE_SZ];
	char *names[MAX_SPLIT];
	size_t cnt = 0;
	DIR *list = opendir(dir);
	FILE *out = fopen(path, "w");

	if (!list || !out)
		fail(dir, -errno);
	for (struct dirent *entry; (entry = readdir(list)) && cnt < MAX_SPLIT;) {
		if (entry->d_name[0] != '.')
			names[cnt++] = strdup(entry->d_name);
	}
	closedir(list);
	qsort(names, cnt, sizeof(names[0]), compare_names);
	for (size_t i = 0; i < cnt; i++) {
		char name[512];
		size_t sz;

		snprintf(name, sizeof(name), "%s/%s", dir, names[i]);
		sz = read_file(name, text);
		fprintf(out, "== %s\n%.*s", names[i], (int)sz, text);
		unlink(name);
		free(names[i]);
	}
	if (fclose(out))
		fail(path, -errno);
}

static bool check_split(struct profile *profile, enum exporter_per per, const char *dir, const char *name,
			bool write)
{
	struct exporter_input input = {.profile = profile, .processes = &g_processes, .per = per};
	char golden_path[512], parent[] = "/tmp/panopy-golden-XXXXXX", split[64], path[64];
	size_t cnt = 0;
	bool ok = true;
	int err;

	snprintf(golden_path, sizeof(golden_path), "%s/%s", dir, name);
	if (!mkdtemp(parent))
		fail(parent, -errno);
	snprintf(split, sizeof(split), "%s/split", parent);
	snprintf(path, sizeof(path), "%s/all", parent);
	err = split_dir_make(split);
	err = err ? err : split_dir_make(split);
	err = err ? err : exporter_split(exporter_find("folded"), &input, split, &cnt);
	if (err)
		fail(split, err);
	gather(split, write ? golden_path : path);
	if (!write)
		ok = matches(path, golden_path);
	unlink(path);
	if (rmdir(split) || rmdir(parent))
		fail(parent, -errno);
	return ok && cnt > 1;
}

/* A disk that is full at any point must be told. */
static bool check_full_disk(struct profile *profile)
{
	struct exporter_input input = {.profile = profile, .processes = &g_processes};

	return exporter_write(exporter_find("folded"), &input, "/dev/full") == -ENOSPC;
}

int main(int argc, char **argv)
{
	bool write = argc > 2 && strcmp(argv[2], "--write") == 0, ok = true;
	struct profile *profile, *small, *empty;

	if (argc < 2 || exporter_find("nonsense"))
		return 2;
	profile = make_profile(0, false);
	ok &= check(profile, EXPORTER_PER_PROCESS, argv[1], "process.folded", write);
	ok &= check(profile, EXPORTER_PER_THREAD, argv[1], "thread.folded", write);
	ok &= check(profile, EXPORTER_PER_NONE, argv[1], "none.folded", write);
	ok &= check(profile, EXPORTER_PER_CONTAINER, argv[1], "container.folded", write);
	ok &= check(profile, EXPORTER_PER_CGROUP, argv[1], "cgroup.folded", write);
	ok &= check(profile, EXPORTER_PER_USER, argv[1], "user.folded", write);
	ok &= check_split(profile, EXPORTER_PER_PROCESS, argv[1], "split-process.txt", write);
	ok &= check_split(profile, EXPORTER_PER_THREAD, argv[1], "split-thread.txt", write);
	ok &= check_split(profile, EXPORTER_PER_CONTAINER, argv[1], "split-container.txt", write);
	ok &= check_full_disk(profile);
	profile_free(profile);
	/* The order in which samples came must not show. */
	profile = make_profile(0, true);
	ok &= check(profile, EXPORTER_PER_PROCESS, argv[1], "process.folded", false);
	ok &= check(profile, EXPORTER_PER_THREAD, argv[1], "thread.folded", false);
	profile_free(profile);
	small = make_profile(3, false);
	ok &= check(small, EXPORTER_PER_PROCESS, argv[1], "full.folded", write);
	profile_free(small);
	if (profile_new(&empty, &(struct profile_config){0}))
		return 1;
	ok &= check(empty, EXPORTER_PER_PROCESS, argv[1], "empty.folded", write);
	profile_free(empty);
	return !ok;
}
