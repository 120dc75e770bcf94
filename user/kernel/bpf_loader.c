/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/bpf_loader.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "bpf_stats.h"
#include "kernel/bpf_probes.h"
#include "kernel/sampler_object.h"
#include "kernel/stolen_time.h"
#include "process_watch.skel.h"
#include "shared_limits.h"

enum {
	LOAD_ATTEMPTS = 10,
	/* Where a memlock limit counts maps; the other programs need room, too. */
	LIMITED_PROCESSES = 4096,
	RING_SZ_MIN = 256 << 10, /* two of the largest records, with the code objects of one of them */
	/* At any rate: several threads with deep stacks, or the code objects of dozens of programs, at once. */
	RING_SZ_WANTED = 4 << 20,
	RING_SZ_MAX = 16 << 20,
	/* All sample rings together. */
	RINGS_SZ_MAX = 256 << 20,
	/* What a ring must hold while user space does not get a CPU: this long, at this depth. */
	RING_HOLD_MS = 500,
	/* A burst of new code objects must be taken in before it fills half a ring. */
	WAKEUP_BYTES_MAX = 64 << 10,
	RING_FRAMES = 200,
};

struct bpf_loader {
	struct sampler_object *sampler;
	struct process_watch_bpf *watch;
	int *rings;
	size_t ring_cnt;
	size_t cpu_cnt;
	size_t ring_sz;
	size_t ring_wanted_sz;
};

static int on_libbpf_print(enum libbpf_print_level level, const char *format, va_list args)
{
	/* libbpf's warnings repeat what panopy says in one sentence; they help only who looks deeper. */
	return log_library(LOG_TOPIC_KERNEL, level == LIBBPF_DEBUG ? LOG_LEVEL_TRACE : LOG_LEVEL_DEBUG,
			   format, args);
}

static size_t ring_sz_for(u64 period_ns, size_t cpu_cnt)
{
	size_t record = sizeof(u64) * 10 + RING_FRAMES * 16;
	size_t wanted = RING_HOLD_MS * 1000000ULL / period_ns * record;
	size_t sz = RING_SZ_MIN;

	if (wanted < RING_SZ_WANTED)
		wanted = RING_SZ_WANTED;
	while (sz < wanted && sz < RING_SZ_MAX && sz * 2 * cpu_cnt <= RINGS_SZ_MAX)
		sz *= 2;
	return sz;
}

static u64 random_key(void)
{
	u64 key = 0;

	if (getrandom(&key, sizeof(key), GRND_NONBLOCK) != sizeof(key))
		key = (u64)getpid() * 0x9e3779b97f4a7c15ULL;
	return key;
}

static struct sampler_config sampler_config_of(const struct bpf_loader *loader,
					       const struct bpf_loader_config *config)
{
	u32 frames = config->kernel_frames;

	return (struct sampler_config){
		.hash_key = random_key(),
		.period_ns = config->period_ns,
		.compare = config->compare,
		.kernel_frames = frames && frames < LIMIT_SAMPLE_FRAMES ? frames : LIMIT_SAMPLE_FRAMES,
		.stolen_time_off = stolen_time_off(),
		.kernel_stack_sz = 4 * (u32)sysconf(_SC_PAGESIZE),
		.wakeup_bytes =
			loader->ring_sz / 8 < WAKEUP_BYTES_MAX ? loader->ring_sz / 8 : WAKEUP_BYTES_MAX,
		.cpu_cnt = loader->cpu_cnt,
		.selection = config->selection,
	};
}

static int ring_make(const struct bpf_loader *loader)
{
	return bpf_map_create(BPF_MAP_TYPE_RINGBUF, "sample_ring", 0, 0, loader->ring_sz, NULL);
}

static int rings_make(struct bpf_loader *loader)
{
	int outer_fd = sampler_object_map_fd(loader->sampler, SAMPLER_MAP_SAMPLE_RINGS);

	for (u32 i = 0; i < sampler_object_ring_count(loader->sampler); i++) {
		int fd = ring_make(loader);

		if (fd < 0)
			return fd;
		loader->rings[loader->ring_cnt++] = fd;
		if (bpf_map_update_elem(outer_fd, &i, &fd, BPF_ANY))
			return -errno;
	}
	return 0;
}

static void rings_drop(struct bpf_loader *loader)
{
	for (size_t i = 0; i < loader->ring_cnt; i++)
		close(loader->rings[i]);
	loader->ring_cnt = 0;
}

static int sampler_load(struct bpf_loader *loader, const struct bpf_loader_config *config)
{
	struct sampler_config settings = sampler_config_of(loader, config);
	struct sampler_sizes sizes = {.max_processes = config->max_processes};
	int err;

	/* What the map of rings takes as the pattern of its values. */
	sizes.ring_pattern_fd = ring_make(loader);
	if (sizes.ring_pattern_fd < 0)
		return sizes.ring_pattern_fd;
	err = sampler_object_load(&loader->sampler, &settings, &sizes, config->variant);
	close(sizes.ring_pattern_fd);
	return err ?: rings_make(loader);
}

static void sampler_unload(struct bpf_loader *loader)
{
	rings_drop(loader);
	sampler_object_close(loader->sampler);
	loader->sampler = NULL;
}

/* The memlock limit counts every map before Linux 5.11, and cannot always be raised. What a vain attempt
 * took is given back a little later. */
static int sampler_load_shrinking(struct bpf_loader *loader, const struct bpf_loader_config *config)
{
	const struct timespec pause = {.tv_nsec = 50 * CLOCK_NS_PER_MS};
	struct bpf_loader_config smaller = *config;
	int err;

	for (int attempt = 0; attempt < LOAD_ATTEMPTS; attempt++) {
		err = sampler_load(loader, &smaller);
		if (!err)
			return 0;
		sampler_unload(loader);
		if (err != -EPERM && err != -ENOMEM)
			return err;
		if (loader->ring_sz > RING_SZ_MIN)
			loader->ring_sz /= 2;
		if (smaller.max_processes > 1024)
			smaller.max_processes /= 2;
		nanosleep(&pause, NULL);
	}
	return err;
}

static int watch_load(struct bpf_loader *loader, const struct bpf_loader_config *config)
{
	struct process_watch_bpf *skel = process_watch_bpf__open();
	int err;

	if (!skel)
		return -errno;
	loader->watch = skel;
	skel->rodata->cfg_only_followed = config->only_followed;
	err = bpf_map__reuse_fd(skel->maps.processes, bpf_loader_processes_fd(loader));
	err = err ?: bpf_map__reuse_fd(skel->maps.stats, bpf_loader_stats_fd(loader));
	err = err ?: process_watch_bpf__load(skel);
	if (!err)
		loader->rings[loader->ring_cnt++] = bpf_map__fd(skel->maps.process_events);
	return err;
}

/* Linux before 5.11; what a vain attempt took would be given back too late for the next one. */
static bool memlock_counts_maps(void)
{
	struct feature_result room = {};

	probe_bpf_memory_accounting(&room);
	return room.state != FEATURE_STATE_PRESENT;
}

int bpf_loader_open(struct bpf_loader **ret_loader, const struct bpf_loader_config *config)
{
	struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
	struct bpf_loader *loader;
	struct bpf_loader_config own = *config;
	bool limited;
	int cpu_cnt, err;

	libbpf_set_print(on_libbpf_print);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL & ~LIBBPF_STRICT_AUTO_RLIMIT_MEMLOCK);
	limited = setrlimit(RLIMIT_MEMLOCK, &unlimited) && memlock_counts_maps();
	cpu_cnt = libbpf_num_possible_cpus();
	if (cpu_cnt < 0)
		return cpu_cnt;
	loader = calloc(1, sizeof(*loader));
	if (!loader)
		return -ENOMEM;
	loader->cpu_cnt = cpu_cnt;
	loader->ring_wanted_sz = ring_sz_for(config->period_ns, cpu_cnt);
	loader->ring_sz = limited ? RING_SZ_MIN : loader->ring_wanted_sz;
	loader->rings = calloc(2 * cpu_cnt + 1, sizeof(*loader->rings));
	err = loader->rings ? 0 : -ENOMEM;
	if (limited && own.max_processes > LIMITED_PROCESSES)
		own.max_processes = LIMITED_PROCESSES;
	err = err ?: sampler_load_shrinking(loader, &own);
	err = err ?: watch_load(loader, &own);
	if (err) {
		bpf_loader_close(loader);
		return err;
	}
	*ret_loader = loader;
	return 0;
}

void bpf_loader_close(struct bpf_loader *loader)
{
	if (!loader)
		return;
	/* The last ring is the skeleton's own. */
	if (loader->sampler && loader->ring_cnt > sampler_object_ring_count(loader->sampler))
		loader->ring_cnt = sampler_object_ring_count(loader->sampler);
	process_watch_bpf__destroy(loader->watch);
	if (loader->rings)
		rings_drop(loader);
	sampler_object_close(loader->sampler);
	free(loader->rings);
	free(loader);
}

int bpf_loader_attach_watch(struct bpf_loader *loader)
{
	return process_watch_bpf__attach(loader->watch);
}

const char *bpf_loader_variant(const struct bpf_loader *loader)
{
	return sampler_object_name(loader->sampler);
}

int bpf_loader_sampler_fd(const struct bpf_loader *loader)
{
	return sampler_object_program_fd(loader->sampler);
}

int bpf_loader_processes_fd(const struct bpf_loader *loader)
{
	return sampler_object_map_fd(loader->sampler, SAMPLER_MAP_PROCESSES);
}

int bpf_loader_stats_fd(const struct bpf_loader *loader)
{
	return sampler_object_map_fd(loader->sampler, SAMPLER_MAP_STATS);
}

int bpf_loader_thread_slots_fd(const struct bpf_loader *loader)
{
	return sampler_object_map_fd(loader->sampler, SAMPLER_MAP_THREAD_SLOTS);
}

int bpf_loader_sent_stacks_fd(const struct bpf_loader *loader)
{
	return sampler_object_map_fd(loader->sampler, SAMPLER_MAP_SENT_STACKS);
}

int bpf_loader_last_ticks_fd(const struct bpf_loader *loader)
{
	return sampler_object_map_fd(loader->sampler, SAMPLER_MAP_LAST_TICKS);
}

int bpf_loader_selection_cgroups_fd(const struct bpf_loader *loader)
{
	return sampler_object_map_fd(loader->sampler, SAMPLER_MAP_SELECTION_CGROUPS);
}

int bpf_loader_cgroup_dirs_fd(const struct bpf_loader *loader)
{
	return sampler_object_map_fd(loader->sampler, SAMPLER_MAP_CGROUP_DIRS);
}

const int *bpf_loader_rings(const struct bpf_loader *loader, size_t *ret_cnt)
{
	*ret_cnt = loader->ring_cnt;
	return loader->rings;
}

size_t bpf_loader_ring_sz(const struct bpf_loader *loader, size_t *ret_wanted)
{
	*ret_wanted = loader->ring_wanted_sz;
	return loader->ring_sz;
}
