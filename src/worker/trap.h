/* SPDX-License-Identifier: Apache-2.0 */
/* trap: where the generated code ends up when it does what WebAssembly forbids. Included by the build in front of wasm2c's
 * runtime, so it holds a prototype and nothing else. */
#ifndef PL_WORKER_TRAP_H
#define PL_WORKER_TRAP_H

#include "wasm-rt.h"

void pl_wasm_trap(wasm_rt_trap_t code) __attribute__((noreturn));

#endif
