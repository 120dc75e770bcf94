/* SPDX-License-Identifier: Apache-2.0 */
/* The evidence, from the outside in: the newest thread state names the interpreter that it was found by and has
 * none before it; its frame, up to 3.10 an object whose type is called "frame", is of a code object, whose type is
 * called "code" (entry frames of 3.12 have one, too). A build whose objects have longer heads (--with-trace-refs)
 * fails here. Type objects are static and their tp_name follows the head of a variable-sized object (CPython 3.6
 * to 3.12, Include/object.h and cpython/object.h).
 */
#include "runtime/state_check.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "cpython_facts.h"
#include "shared_limits.h"

enum {
	/* The process runs on: a look may find things half done, so many in a row do not. */
	LOOKS = 32,
	/* The last ones with pauses between them, should it be off its CPU. */
	PAUSES = 8,
	PAUSE_NS = 2000000,
};

enum look { LOOK_RIGHT, LOOK_WRONG, LOOK_NOTHING };

static u64 load_u64(const u8 *bytes)
{
	u64 value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* Whether the object's type is called `name`. */
static bool type_is(struct remote_mem *mem, const struct py_layout *layout, remote_addr_t object,
		    const char *name)
{
	size_t sz = strlen(name) + 1;
	remote_addr_t type, text;
	char found[16];

	return remote_mem_read_u64(mem, object + layout->object_type, &type) == 0 &&
	       remote_mem_read_u64(mem, type + layout->object_type + PY_TYPE_NAME_BEHIND_TYPE, &text) == 0 &&
	       remote_mem_read(mem, text, found, sz) == 0 && memcmp(found, name, sz) == 0;
}

/* The thread's innermost frame; 0: it runs nothing. */
static int read_frame(struct remote_mem *mem, const struct py_layout *layout, remote_addr_t hangs_on,
		      remote_addr_t *ret_frame)
{
	if (!hangs_on || !(layout->traits & PY_TRAIT_CFRAME)) {
		*ret_frame = hangs_on;
		return 0;
	}
	return remote_mem_read_u64(mem, hangs_on + layout->cframe_current_frame, ret_frame);
}

static bool is_frame(struct remote_mem *mem, const struct py_layout *layout, remote_addr_t frame)
{
	remote_addr_t code;

	if ((layout->traits & PY_TRAIT_FRAME_OBJECT) && !type_is(mem, layout, frame, "frame"))
		return false;
	return remote_mem_read_u64(mem, frame + layout->frame_executable, &code) == 0 &&
	       type_is(mem, layout, code, "code");
}

static enum look look(struct remote_mem *mem, const struct py_layout *layout, remote_addr_t runtime_addr)
{
	u8 state[LIMIT_TSTATE_SPAN];
	remote_addr_t interp, tstate, frame;

	/* The dynamic linker may not have mapped it yet. */
	if (remote_mem_read_u64(mem, runtime_addr + layout->runtime_interpreters_head, &interp) || !interp)
		return LOOK_NOTHING;
	if (remote_mem_read_u64(mem, interp + layout->interp_threads_head, &tstate))
		return LOOK_WRONG;
	if (!tstate)
		return LOOK_NOTHING;
	if (remote_mem_read(mem, tstate, state, layout->tstate_sz) ||
	    load_u64(state + layout->tstate_interp) != interp || load_u64(state + layout->tstate_prev) != 0 ||
	    read_frame(mem, layout, load_u64(state + layout->tstate_frame), &frame))
		return LOOK_WRONG;
	return !frame || is_frame(mem, layout, frame) ? LOOK_RIGHT : LOOK_WRONG;
}

bool state_check(struct remote_mem *mem, const struct py_layout *layout, remote_addr_t runtime_addr)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	for (int i = 0; i < LOOKS; i++) {
		if (look(mem, layout, runtime_addr) != LOOK_WRONG)
			return true;
		if (i >= LOOKS - PAUSES)
			nanosleep(&pause, NULL);
	}
	return false;
}
