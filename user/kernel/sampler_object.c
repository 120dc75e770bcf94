/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/sampler_object.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/bpf_probes.h"
#include "sampler_bounded.skel.h"
#include "sampler_callback.skel.h"
#include "sampler_may_goto.skel.h"

static bool is_present(void (*probe)(struct feature_result *ret_result))
{
	struct feature_result result = {};

	probe(&result);
	return result.state == FEATURE_STATE_PRESENT;
}

static bool may_goto_is_there(void)
{
	return is_present(probe_may_goto);
}

static bool task_work_is_there(void)
{
	return is_present(probe_may_goto) && probe_task_work_kind() != SAMPLER_TASK_WORK_NONE;
}

static bool bpf_loop_is_there(void)
{
	return is_present(probe_bpf_loop);
}

struct variant {
	const char *name;
	const void *(*bytes)(size_t *ret_sz);
	bool (*may_load)(void); /* cheap, and spares the kernel a vain attempt; NULL: always */
	bool resumes;		/* reads on when a thread returns to user mode */
};

static const struct variant variants[] = {
	{"resume", sampler_may_goto_bpf__elf_bytes, task_work_is_there, true},
	{"may_goto", sampler_may_goto_bpf__elf_bytes, may_goto_is_there, false},
	{"callback", sampler_callback_bpf__elf_bytes, bpf_loop_is_there, false},
	{"bounded", sampler_bounded_bpf__elf_bytes, NULL, false},
};

enum { VARIANT_CNT = sizeof(variants) / sizeof(variants[0]) };

static const char *const map_names[SAMPLER_MAP_COUNT] = {
	[SAMPLER_MAP_PROCESSES] = "processes",
	[SAMPLER_MAP_STATS] = "stats",
	[SAMPLER_MAP_THREAD_SLOTS] = "thread_slots",
	[SAMPLER_MAP_SENT_STACKS] = "sent_stacks",
	[SAMPLER_MAP_LAST_TICKS] = "last_ticks",
	[SAMPLER_MAP_SCRATCHES] = "scratches",
	[SAMPLER_MAP_SAMPLE_RINGS] = "sample_rings",
	[SAMPLER_MAP_RESUME_SCRATCHES] = "resume_scratches",
	[SAMPLER_MAP_SELECTION_CGROUPS] = "selection_cgroups",
	[SAMPLER_MAP_CGROUP_DIRS] = "cgroup_dirs",
};

struct sampler_object {
	const struct variant *variant;
	struct bpf_object *object;
	struct bpf_program *program;
	struct bpf_map *maps[SAMPLER_MAP_COUNT];
	size_t ring_cnt;
};

enum {
	/* Threads that read on at one time, beside one a CPU: those that were preempted while they did. */
	RESUME_SCRATCHES_MORE = 4,
};

const char *sampler_object_variant(size_t idx)
{
	return idx < VARIANT_CNT ? variants[idx].name : NULL;
}

void sampler_object_close(struct sampler_object *object)
{
	if (!object)
		return;
	bpf_object__close(object->object);
	free(object);
}

static int parts_find(struct sampler_object *object)
{
	object->program = bpf_object__find_program_by_name(object->object, "on_perf_sample");
	if (!object->program)
		return -ENOENT;
	for (size_t i = 0; i < SAMPLER_MAP_COUNT; i++) {
		object->maps[i] = bpf_object__find_map_by_name(object->object, map_names[i]);
		if (!object->maps[i] && i != SAMPLER_MAP_RESUME_SCRATCHES)
			return -ENOENT;
	}
	return 0;
}

static int map_resize(struct sampler_object *object, enum sampler_map map, u32 entries)
{
	return object->maps[map] ? bpf_map__set_max_entries(object->maps[map], entries) : 0;
}

static int object_configure(struct sampler_object *object, const struct sampler_config *config,
			    const struct sampler_sizes *sizes)
{
	struct bpf_map *settings = bpf_object__find_map_by_name(object->object, SAMPLER_CONFIG_SECTION);
	struct sampler_config own = *config;
	int err;

	if (!settings)
		return -ENOENT;
	if (object->variant->resumes) {
		own.task_work = probe_task_work_kind();
		own.resume_scratch_cnt = own.cpu_cnt + RESUME_SCRATCHES_MORE;
	}
	object->ring_cnt = object->variant->resumes ? 2 * own.cpu_cnt : own.cpu_cnt;
	err = bpf_map__set_initial_value(settings, &own, sizeof(own));
	err = err ?: map_resize(object, SAMPLER_MAP_SCRATCHES, own.cpu_cnt + own.resume_scratch_cnt);
	err = err ?: map_resize(object, SAMPLER_MAP_RESUME_SCRATCHES, own.cpu_cnt + RESUME_SCRATCHES_MORE);
	err = err ?: map_resize(object, SAMPLER_MAP_LAST_TICKS, own.cpu_cnt);
	err = err ?: map_resize(object, SAMPLER_MAP_SAMPLE_RINGS, object->ring_cnt);
	err = err ?: map_resize(object, SAMPLER_MAP_PROCESSES, sizes->max_processes);
	if (!own.selection.uses_v2)
		err = err ?: bpf_map__set_autocreate(object->maps[SAMPLER_MAP_CGROUP_DIRS], false);
	return err
		       ?: bpf_map__set_inner_map_fd(object->maps[SAMPLER_MAP_SAMPLE_RINGS],
						    sizes->ring_pattern_fd);
}

static int variant_load(struct sampler_object **ret_object, const struct variant *variant,
			const struct sampler_config *config, const struct sampler_sizes *sizes)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "panopy");
	struct sampler_object *object = calloc(1, sizeof(*object));
	const void *bytes;
	size_t sz;
	int err;

	if (!object)
		return -ENOMEM;
	object->variant = variant;
	bytes = variant->bytes(&sz);
	object->object = bpf_object__open_mem(bytes, sz, &opts);
	err = object->object ? parts_find(object) : -errno;
	err = err ?: object_configure(object, config, sizes);
	err = err ?: bpf_object__load(object->object);
	if (err) {
		sampler_object_close(object);
		return err;
	}
	*ret_object = object;
	return 0;
}

/* Too little memory or privilege is no matter of the variant. */
static bool is_final(int err)
{
	return !err || err == -EPERM || err == -ENOMEM;
}

int sampler_object_load(struct sampler_object **ret_object, const struct sampler_config *config,
			const struct sampler_sizes *sizes, const char *variant)
{
	int err = -EINVAL;

	for (size_t i = 0; i < VARIANT_CNT; i++) {
		if ((variant && strcmp(variant, variants[i].name) != 0) ||
		    (variants[i].may_load && !variants[i].may_load()))
			continue;
		err = variant_load(ret_object, &variants[i], config, sizes);
		if (is_final(err))
			return err;
	}
	return err;
}

const char *sampler_object_name(const struct sampler_object *object)
{
	return object->variant->name;
}

size_t sampler_object_ring_count(const struct sampler_object *object)
{
	return object->ring_cnt;
}

int sampler_object_program_fd(const struct sampler_object *object)
{
	return bpf_program__fd(object->program);
}

int sampler_object_map_fd(const struct sampler_object *object, enum sampler_map map)
{
	return bpf_map__fd(object->maps[map]);
}
