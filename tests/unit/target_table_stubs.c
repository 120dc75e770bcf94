/* SPDX-License-Identifier: Apache-2.0 */
/* What the target table asks of later stages, where all tests of it want the same answer. What /proc says is real; the
 * kernel side's map, runtime_detect() and thread_list_walk() are each test's own.
 */
#include <stddef.h>

#include "kernel/process_publish.h"
#include "runtime/runtime_detect.h"
#include "symbolize/code_cache.h"

int process_publish_thread(int thread_slots_fd, u64 epoch, pid_t tid, u64 tstate_addr)
{
	return 0;
}

int runtime_detector_new(struct runtime_detector **ret_detector)
{
	*ret_detector = NULL;
	return 0;
}

void runtime_detector_free(struct runtime_detector *detector)
{
}

int runtime_detect_mapping(struct runtime_detector *detector, pid_t pid, u64 start, u64 end, u64 file_offset,
			   struct py_runtime *ret_runtime)
{
	return runtime_detect(detector, pid, ret_runtime);
}

void code_cache_forget(struct code_cache *cache, u64 epoch)
{
}
