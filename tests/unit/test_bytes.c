/* SPDX-License-Identifier: Apache-2.0 */
/* Little-endian integers at any address. */
#include "unit/unit.h"

#include "base/bytes.h"

static void test_order(void **state)
{
	static const uint8_t want[] = { 0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01 };
	uint8_t bytes[8];

	(void)state;
	pl_put_u64(bytes, 0x0102030405060708ull);
	assert_memory_equal(bytes, want, 8);
	pl_put_u32(bytes, 0x05060708);
	assert_memory_equal(bytes, want, 4);
	pl_put_u16(bytes, 0x0708);
	assert_memory_equal(bytes, want, 2);
}

/* Every single bit, alone and missing, at every alignment. */
static void test_there_and_back(void **state)
{
	uint8_t bytes[16];

	(void)state;
	for (unsigned at = 0; at < 8; at++) {
		for (unsigned bit = 0; bit < 64; bit++) {
			uint64_t one = 1ull << bit;

			pl_put_u64(bytes + at, one);
			assert_true(pl_get_u64(bytes + at) == one);
			pl_put_u64(bytes + at, ~one);
			assert_true(pl_get_u64(bytes + at) == ~one);
			pl_put_u32(bytes + at, (uint32_t)~one);
			assert_true(pl_get_u32(bytes + at) == (uint32_t)~one);
			pl_put_u16(bytes + at, (uint16_t)~one);
			assert_true(pl_get_u16(bytes + at) == (uint16_t)~one);
		}
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_there_and_back),
	};

	return cmocka_run_group_tests_name("bytes", tests, NULL, NULL);
}
