/* SPDX-License-Identifier: Apache-2.0 */
/* helpers: where the programs are that do the work. */
#ifndef PL_CLI_HELPERS_H
#define PL_CLI_HELPERS_H

/* The directory of this very program if plimsoll-supervisor stands beside it (a build directory), or ../libexec/plimsoll from there
 * (an installation, wherever it was moved), else NULL, which means the directory compiled into the library. Neither PATH nor the environment is looked at. Lives as long as the program. */
const char *helpers_dir(void);

#endif
