/* SPDX-License-Identifier: Apache-2.0 */
/* helpers: where the programs are that do the work. */
#ifndef PL_CLI_HELPERS_H
#define PL_CLI_HELPERS_H

/* The directory of this very program if plimsoll-supervisor stands beside it (a build directory), else NULL, which means the
 * directory compiled into the library. Neither PATH nor the environment is looked at. Lives as long as the program. */
const char *helpers_dir(void);

/* The flavours of KVM for the option microvm_flavours: what the flag says, else the environment's PLIMSOLL_MICROVM_FLAVOURS, else
 * NULL, which means the default. The one thing that is taken from the environment. */
const char *helpers_flavours(const char *flag);

#endif
