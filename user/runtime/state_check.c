/* SPDX-License-Identifier: Apache-2.0 */
/* The evidence, from the outside in: the newest thread state names the interpreter that it was found by and has
 * none before it; its frame is an object whose type is called "frame", of a code object whose type is called
 * "code". Type objects are static and their tp_name follows the head of a variable-sized object (CPython 3.6 to
 * 3.10, Include/object.h and cpython/object.h).
 */
#include "runtime/state_check.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "shared_limits.h"

enum {
	/* The process runs on: a look may find things half done, so many in a row do not. */
	LOOKS = 32,
	/* The last ones with pauses between them, should it be off its CPU. */
	PAUSES = 8,
	PAUSE_NS = 2000000,
	/* ob_type and ob_size precede it. */
	TYPE_NAME_OFF = 16,
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
	       remote_mem_read_u64(mem, type + layout->object_type + TYPE_NAME_OFF, &text) == 0 &&
	       remote_mem_read(mem, text, found, sz) == 0 && memcmp(found, name, sz) == 0;
}

static enum look look(struct remote_mem *mem, const struct py_layout *layout, remote_addr_t runtime_addr)
{
	u8 state[LIMIT_TSTATE_SPAN];
	remote_addr_t interp, tstate, frame, code;

	/* The dynamic linker may not have mapped it yet. */
	if (remote_mem_read_u64(mem, runtime_addr + layout->runtime_interpreters_head, &interp) || !interp)
		return LOOK_NOTHING;
	if (remote_mem_read_u64(mem, interp + layout->interp_threads_head, &tstate))
		return LOOK_WRONG;
	if (!tstate)
		return LOOK_NOTHING;
	if (remote_mem_read(mem, tstate, state, layout->tstate_sz) ||
	    load_u64(state + layout->tstate_interp) != interp || load_u64(state + layout->tstate_prev) != 0)
		return LOOK_WRONG;
	frame = load_u64(state + layout->tstate_frame);
	if (!frame)
		return LOOK_RIGHT;
	return type_is(mem, layout, frame, "frame") &&
			       remote_mem_read_u64(mem, frame + layout->frame_executable, &code) == 0 &&
			       type_is(mem, layout, code, "code")
		       ? LOOK_RIGHT
		       : LOOK_WRONG;
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
