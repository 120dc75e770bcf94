# SPDX-License-Identifier: Apache-2.0
panopy_unit_test(base_id_map_test SOURCES base_id_map_test.c STAGES base)
panopy_unit_test(base_byte_buf_test SOURCES base_byte_buf_test.c STAGES base)
panopy_unit_test(base_atomic_file_test SOURCES base_atomic_file_test.c STAGES base)
panopy_unit_test(base_byte_reader_test SOURCES base_byte_reader_test.c STAGES base)
panopy_unit_test(base_deadline_call_test SOURCES base_deadline_call_test.c STAGES base)
panopy_unit_test(base_remote_mem_test SOURCES base_remote_mem_test.c STAGES base)
panopy_unit_test(base_target_file_test SOURCES base_target_file_test.c STAGES base discover)
panopy_unit_test(base_sudo_user_test SOURCES base_sudo_user_test.c STAGES base)
