# SPDX-License-Identifier: Apache-2.0
panopy_unit_test(aggregate_profile_test SOURCES aggregate_profile_test.c STAGES base symbolize aggregate)
panopy_unit_test(aggregate_known_stacks_test SOURCES aggregate_known_stacks_test.c STAGES aggregate base symbolize)
