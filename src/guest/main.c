/* SPDX-License-Identifier: Apache-2.0 */
/* plimsoll-guest: the program inside a container: an engine made ready, then one session on its only descriptor.
 *
 * It starts in a jail that its init has built: no environment, an empty root, a filter that refuses whatever is not listed. It is
 * trusted up to the moment at which it reads the job, and hostile from then on. */
#include "guest/native.h"
#include "linux/sys.h"
#include "wire/jail.h"

#include <stdlib.h>

int main(int argc, char **argv)
{
	/* So that the C library looks for no time zone file; there is none, and asking is refused. */
	static char time_zone[] = "TZ=UTC0";

	pl_fault_set("guest", argc > 2 ? argv[2] : NULL);
	if (putenv(time_zone) || pl_native_warm() < 0)
		return PL_GUEST_EXIT_SYSTEM;
	if (pl_sys_prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return PL_GUEST_EXIT_SYSTEM;
	pl_session_main(PL_GUEST_STREAM_FD, &pl_native_engine);
}
