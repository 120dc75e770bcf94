# SPDX-License-Identifier: Apache-2.0
panopy_unit_test(session_awaited_stack_test
    SOURCES session_awaited_stack_test.c ${CMAKE_SOURCE_DIR}/user/awaited_stack.c
    STAGES base)
panopy_unit_test(session_deferred_repeats_test
    SOURCES session_deferred_repeats_test.c ${CMAKE_SOURCE_DIR}/user/deferred_repeats.c)
panopy_unit_test(awaited_pids_test SOURCES awaited_pids_test.c ${CMAKE_SOURCE_DIR}/user/awaited_pids.c STAGES base)
panopy_unit_test(look_debt_test SOURCES look_debt_test.c ${CMAKE_SOURCE_DIR}/user/look_debt.c STAGES base)
panopy_unit_test(process_rows_test SOURCES process_rows_test.c ${CMAKE_SOURCE_DIR}/user/process_rows.c STAGES base)
