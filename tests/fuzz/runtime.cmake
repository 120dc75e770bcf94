# SPDX-License-Identifier: Apache-2.0
panopy_fuzz_test(debug_offsets_fuzz SOURCES debug_offsets_fuzz.c STAGES runtime discover base)
panopy_fuzz_test(elf_image_fuzz SOURCES elf_image_fuzz.c STAGES runtime discover base)
