# SPDX-License-Identifier: Apache-2.0
panopy_fuzz_test(proc_maps_fuzz SOURCES proc_maps_fuzz.c STAGES base discover)
panopy_fuzz_test(container_id_fuzz SOURCES container_id_fuzz.c STAGES base discover)
panopy_fuzz_test(cgroup_hierarchy_fuzz SOURCES cgroup_hierarchy_fuzz.c STAGES base discover)
