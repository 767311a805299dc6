/* SPDX-License-Identifier: Apache-2.0 */
/* start: starts a supervisor and greets it. Called by plimsoll_open, with checked options. */
#ifndef PL_LIB_START_H
#define PL_LIB_START_H

#include "wire/msg.h"

/* Starts DIR/plimsoll-supervisor, sends it *open and waits until it is ready. The lifeline's descriptor, close-on-exec, or a
 * negative error with *error filled. The caller's signal mask, signal dispositions and children are as they were. */
int pl_start(const char *libexec_dir, struct pl_msg_open *open, struct plimsoll_error *error);

#endif
