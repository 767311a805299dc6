/* SPDX-License-Identifier: Apache-2.0 */
/* native: the engine of plimsoll-guest, for its main and its session. */
#ifndef PL_GUEST_NATIVE_H
#define PL_GUEST_NATIVE_H

#include "guest/session.h"

extern const struct pl_session_engine pl_native_engine;

/* Makes the engine, ready for a job; -1 when there is no memory. */
int pl_native_warm(void);

#endif
