# SPDX-License-Identifier: Apache-2.0
panopy_unit_test(runtime_debug_offsets_test SOURCES runtime_debug_offsets_test.c STAGES runtime discover base)
panopy_unit_test(runtime_layout_select_test SOURCES runtime_layout_select_test.c STAGES runtime discover base)
panopy_unit_test(runtime_elf_image_test SOURCES runtime_elf_image_test.c STAGES runtime discover base)
target_link_options(runtime_elf_image_test PRIVATE
    -Wl,--wrap=target_file_read -Wl,--wrap=target_file_read_alloc)
panopy_unit_test(runtime_detect_test SOURCES runtime_detect_test.c STAGES runtime discover base)
target_link_options(runtime_detect_test PRIVATE -Wl,--wrap=interpreter_file_inspect)
panopy_unit_test(runtime_code_evidence_test SOURCES runtime_code_evidence_test.c STAGES runtime discover base)
panopy_unit_test(runtime_state_check_test SOURCES runtime_state_check_test.c STAGES runtime discover base)
