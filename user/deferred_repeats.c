/* SPDX-License-Identifier: Apache-2.0 */
#include "deferred_repeats.h"

#include <errno.h>
#include <stdlib.h>

enum { MAX_REPEATS = 4096 };

struct deferred_repeats {
	size_t cnt;
	size_t tried_cnt; /* the first ones: were tried before */
	struct repeat_record records[MAX_REPEATS];
};

int deferred_repeats_new(struct deferred_repeats **ret_repeats)
{
	struct deferred_repeats *repeats = calloc(1, sizeof(*repeats));

	if (!repeats)
		return -ENOMEM;
	*ret_repeats = repeats;
	return 0;
}

void deferred_repeats_free(struct deferred_repeats *repeats)
{
	free(repeats);
}

bool deferred_repeats_put(struct deferred_repeats *repeats, const struct repeat_record *record)
{
	if (repeats->cnt == MAX_REPEATS)
		return false;
	repeats->records[repeats->cnt++] = *record;
	return true;
}

void deferred_repeats_settle(struct deferred_repeats *repeats, const struct deferred_repeats_ops *ops)
{
	size_t left = 0;

	for (size_t i = 0; i < repeats->cnt; i++) {
		if (ops->resolve(ops->ctx, &repeats->records[i]))
			continue;
		if (i < repeats->tried_cnt)
			ops->lose(ops->ctx, &repeats->records[i]);
		else
			repeats->records[left++] = repeats->records[i];
	}
	repeats->cnt = left;
	repeats->tried_cnt = left;
}
