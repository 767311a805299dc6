/* SPDX-License-Identifier: Apache-2.0 */
/* random: Math.random from the job's seed.
 *
 * QuickJS seeds its own generator from the time at which the context was made, which forked workers would share. This one is
 * xoshiro256** (Blackman and Vigna, public domain algorithm), seeded with 32 fresh bytes of the host's for every run. It is
 * no source of secrets, nor is Math.random anywhere. */
#include "engine/priv.h"

#include "base/bytes.h"

static uint64_t rotate_left(uint64_t x, unsigned k)
{
	return x << k | x >> (64 - k);
}

static uint64_t random_next(uint64_t s[4])
{
	uint64_t result = rotate_left(s[1] * 5, 7) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate_left(s[3], 45);
	return result;
}

static JSValue math_random(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv)
{
	(void)this_val, (void)argc, (void)argv;
	/* The upper 53 bits: every double in [0, 1) that is a multiple of 2^-53, equally likely. */
	return JS_NewFloat64(ctx, (double)(random_next(pl_engine_of(ctx)->random) >> 11) * 0x1p-53);
}

void pl_random_seed(struct pl_engine *engine, const uint8_t seed[PL_SEED_LEN])
{
	uint64_t any = 0;

	for (unsigned i = 0; i < 4; i++) {
		engine->random[i] = pl_get_u64(seed + i * 8);
		any |= engine->random[i];
	}
	if (!any)
		engine->random[0] = 1; /* all zero is the one state that the generator cannot leave */
}

int pl_random_install(struct pl_engine *engine)
{
	JSValue global = JS_GetGlobalObject(engine->ctx);
	JSValue math = JS_GetPropertyStr(engine->ctx, global, "Math");
	int r = JS_DefinePropertyValueStr(engine->ctx, math, "random", JS_NewCFunction(engine->ctx, math_random, "random", 0),
					  JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);

	JS_FreeValue(engine->ctx, math);
	JS_FreeValue(engine->ctx, global);
	return r < 0 ? -1 : 0;
}
