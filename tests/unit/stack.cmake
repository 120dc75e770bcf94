# SPDX-License-Identifier: Apache-2.0
panopy_unit_test(stack_complete_test SOURCES stack_complete_test.c STAGES base stack)
panopy_unit_test(stack_thread_list_test SOURCES stack_thread_list_test.c STAGES base stack)
panopy_unit_test(stack_deep_test SOURCES stack_deep_test.c STAGES base stack)
panopy_unit_test(stack_frame_cache_test SOURCES stack_frame_cache_test.c STAGES base stack)
