/* SPDX-License-Identifier: Apache-2.0 */
#include "image_case.h"

#include <errno.h>
#include <glob.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IMAGES PANOPY_SOURCE_DIR "/tests/replay/images"

static void die(const char *name, const char *what)
{
	fprintf(stderr, "%s: %s\n", name, what);
	exit(1);
}

static u64 member_u64(struct image_case *c, const char *key)
{
	struct json_object *member;

	if (!json_object_object_get_ex(c->description, key, &member))
		die(c->name, key);
	return json_object_get_uint64(member);
}

static void load_layout(struct image_case *c)
{
	const char *text = json_object_get_string(json_object_object_get(c->description, "layout"));
	u8 *bytes = (u8 *)&c->layout;

	if (!text || strlen(text) != 2 * sizeof(c->layout))
		die(c->name, "struct py_layout has another size: capture anew");
	for (size_t i = 0; i < sizeof(c->layout); i++) {
		unsigned value;

		if (sscanf(text + 2 * i, "%2x", &value) != 1)
			die(c->name, "layout is not hexadecimal");
		bytes[i] = (u8)value;
	}
	/* Its first field, so that a layout of other fields does not pass. */
	if (c->layout.version != member_u64(c, "version"))
		die(c->name, "struct py_layout has changed: capture anew");
	c->minor = c->layout.version >> 16;
}

static void load_truth(struct image_case *c)
{
	struct json_object *frames = json_object_object_get(c->description, "frames");

	c->truth_cnt = json_object_array_length(frames);
	c->truth = calloc(c->truth_cnt, sizeof(*c->truth));
	for (size_t i = 0; c->truth && i < c->truth_cnt; i++) {
		struct json_object *frame = json_object_array_get_idx(frames, i);

		c->truth[i] = (struct truth_frame){
			.function = json_object_get_string(json_object_array_get_idx(frame, 0)),
			.file = json_object_get_string(json_object_array_get_idx(frame, 1)),
			.line = json_object_get_int(json_object_array_get_idx(frame, 2)),
		};
	}
}

static u8 read_u8(struct image_case *c, u64 addr)
{
	u8 value;

	if (patched_read(&c->patched, addr, &value, sizeof(value)) != 0)
		die(c->name, "a frame is not in the image");
	return value;
}

static void load_chain(struct image_case *c)
{
	const struct py_layout *layout = &c->layout;
	u64 base = layout->traits & PY_TRAIT_BASE_FRAME
			   ? image_case_u64(c, c->tstate + layout->tstate_base_frame)
			   : 0;
	u64 addr;

	c->leaf_slot = c->tstate + layout->tstate_frame;
	if (layout->traits & PY_TRAIT_CFRAME)
		c->leaf_slot = image_case_u64(c, c->leaf_slot) + layout->cframe_current_frame;
	for (addr = image_case_u64(c, c->leaf_slot); addr && addr != base;
	     addr = c->chain[c->chain_cnt - 1].previous) {
		struct chain_link *link = &c->chain[c->chain_cnt++];

		if (c->chain_cnt == CHAIN_MAX)
			die(c->name, "the chain is too long");
		link->addr = addr;
		link->previous = image_case_u64(c, addr + layout->frame_previous);
		link->owner = image_case_has_objects(c) ? image_case_u64(c, addr + layout->frame_owner) != 0
							: read_u8(c, addr + layout->frame_owner);
		link->is_shown =
			!(layout->traits & PY_TRAIT_OWNER_ENTRY) || link->owner < layout->owner_entry;
		link->is_entry = !link->is_shown;
		if (layout->traits & PY_TRAIT_IS_ENTRY)
			link->is_entry = read_u8(c, addr + layout->frame_is_entry) != 0;
	}
}

static void load_case(struct image_case *c, const char *path)
{
	struct walker_output walk;
	char description[4096];
	const char *base = strrchr(path, '/') + 1;

	snprintf(c->name, sizeof(c->name), "%.*s", (int)(strlen(base) - strlen(".image")), base);
	snprintf(description, sizeof(description), "%s/%s.json", IMAGES, c->name);
	if (remote_mem_open_image(&c->mem, path) != 0)
		die(path, "no image");
	c->description = json_object_from_file(description);
	if (!c->description)
		die(description, json_util_get_last_err());
	load_layout(c);
	load_truth(c);
	c->runtime_addr = member_u64(c, "runtime_addr");
	c->task_id = member_u64(c, "task_id");
	c->tid = c->layout.tstate_native_thread_id ? c->task_id : member_u64(c, "tid");
	c->user_sp = member_u64(c, "user_sp");
	c->patched.base = c->mem;
	image_case_walk(c, &walk);
	c->tstate = walk.tstate;
	c->frame_cnt = walk.frame_cnt;
	c->frames = calloc(walk.frame_cnt + 1, sizeof(*c->frames));
	if (!c->frames || !c->truth || !c->tstate)
		die(c->name, "no thread state, or no memory");
	memcpy(c->frames, walk.frames, walk.frame_cnt * sizeof(*c->frames));
	load_chain(c);
}

size_t image_cases_load(struct image_case **ret_cases)
{
	struct image_case *cases;
	glob_t found;
	size_t cnt;

	if (glob(IMAGES "/*.image", 0, NULL, &found) != 0)
		die(IMAGES, "no images");
	cnt = found.gl_pathc;
	cases = calloc(cnt, sizeof(*cases));
	for (size_t i = 0; cases && i < cnt; i++)
		load_case(&cases[i], found.gl_pathv[i]);
	globfree(&found);
	*ret_cases = cases;
	return cases ? cnt : 0;
}

void image_cases_free(struct image_case *cases, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		remote_mem_close(cases[i].mem);
		json_object_put(cases[i].description);
		free(cases[i].truth);
		free(cases[i].frames);
	}
	free(cases);
}

bool image_case_has_objects(const struct image_case *c)
{
	return c->layout.traits & PY_TRAIT_FRAME_OBJECT;
}

bool image_case_is(const struct image_case *c, const char *program)
{
	return strcmp(strchr(c->name, '-') + 1, program) == 0;
}

struct walker_input image_case_input(struct image_case *c)
{
	static u64 epoch = 1000;

	return (struct walker_input){
		.layout = &c->layout,
		.runtime_addr = c->runtime_addr,
		.task_id = c->task_id,
		.id_is_native = c->layout.tstate_native_thread_id != 0,
		.user_sp = c->user_sp,
		.epoch = epoch++,
		.read = patched_read,
		.ctx = &c->patched,
	};
}

void image_case_walk(struct image_case *c, struct walker_output *ret_output)
{
	struct walker_input input = image_case_input(c);

	walker_walk(&input, ret_output);
}

u64 image_case_u64(struct image_case *c, u64 addr)
{
	u64 value;

	if (patched_read(&c->patched, addr, &value, sizeof(value)) != 0) {
		fprintf(stderr, "%s: nothing at 0x%llx\n", c->name, (unsigned long long)addr);
		exit(1);
	}
	return value;
}

static bool overlaps(const struct patch *patch, u64 addr, size_t sz)
{
	return addr < patch->addr + patch->sz && patch->addr < addr + sz;
}

static const u8 *patch_data(const struct patch *patch)
{
	return patch->bytes ? patch->bytes : patch->own;
}

static void apply(const struct patch *patch, u64 addr, u8 *buf, size_t sz)
{
	u64 begin = addr > patch->addr ? addr : patch->addr;
	u64 end = addr + sz < patch->addr + patch->sz ? addr + sz : patch->addr + patch->sz;

	memcpy(buf + (begin - addr), patch_data(patch) + (begin - patch->addr), end - begin);
}

int patched_read(void *ctx, u64 addr, void *ret_buf, size_t sz)
{
	struct patched_mem *mem = ctx;
	int err = remote_mem_read(mem->base, addr, ret_buf, sz);

	if (addr + sz < addr)
		return -EFAULT;
	for (size_t i = 0; i < mem->cnt; i++) {
		const struct patch *patch = &mem->patches[i];

		if (!overlaps(patch, addr, sz))
			continue;
		if (patch->hole)
			return -EFAULT;
		if (addr >= patch->addr && addr + sz <= patch->addr + patch->sz)
			err = 0;
		if (!err)
			apply(patch, addr, ret_buf, sz);
	}
	return err;
}

void patch_none(struct image_case *c)
{
	c->patched.cnt = 0;
}

static struct patch *patch_add(struct image_case *c, u64 addr, size_t sz)
{
	struct patch *patch = &c->patched.patches[c->patched.cnt];

	if (c->patched.cnt == PATCHES_MAX)
		die(c->name, "too many patches");
	c->patched.cnt++;
	*patch = (struct patch){.addr = addr, .sz = sz};
	return patch;
}

void patch_bytes(struct image_case *c, u64 addr, const void *bytes, size_t sz)
{
	if (sz > PATCH_INLINE_SZ)
		die(c->name, "too long for a patch");
	memcpy(patch_add(c, addr, sz)->own, bytes, sz);
}

void patch_u64(struct image_case *c, u64 addr, u64 value)
{
	patch_bytes(c, addr, &value, sizeof(value));
}

void patch_u8(struct image_case *c, u64 addr, u8 value)
{
	patch_bytes(c, addr, &value, sizeof(value));
}

void patch_region(struct image_case *c, u64 addr, const u8 *bytes, size_t sz)
{
	patch_add(c, addr, sz)->bytes = bytes;
}

void patch_hole(struct image_case *c, u64 addr, size_t sz)
{
	patch_add(c, addr, sz)->hole = true;
}
