/* SPDX-License-Identifier: Apache-2.0 */
/* The captured images, for a group of cmocka tests: cmocka_run_group_tests(tests, load, unload). */
#ifndef PANOPY_REPLAY_IMAGE_FIXTURE_H
#define PANOPY_REPLAY_IMAGE_FIXTURE_H

#include "image_case.h"

static struct image_case *cases;
static size_t case_cnt;

static int load(void **state)
{
	case_cnt = image_cases_load(&cases);
	return case_cnt ? 0 : -1;
}

static int unload(void **state)
{
	image_cases_free(cases, case_cnt);
	return 0;
}

#endif
