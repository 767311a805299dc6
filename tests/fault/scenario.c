/* SPDX-License-Identifier: Apache-2.0 */
/* scenario: the ways in which a run can go. Each takes another path through supervisor, launcher and guest. */
#include "drive_fault.h"

#include <string.h>

#define LOOP "for(;;){}"

static const struct scenario scenarios[] = {
	{ .name = "print", .code = "console.log(6*7)", .timeout_ms = 3000, .out = "42\n" },
	{ .name = "exit", .code = "console.error('e');process.exit(7)", .timeout_ms = 3000, .exit_code = 7, .out = "" },
	{ .name = "timeout", .code = "console.log(1);" LOOP, .timeout_ms = 30, .exit_code = 124, .timed_out = true,
	  .out = "1\n" },
	{ .name = "memory", .code = "a=[];for(;;)a.push(new Uint8Array(65536))", .timeout_ms = 3000, .memory_bytes = 16 << 20,
	  .exit_code = 137, .oom = true, .out = "" },
	{ .name = "flood", .code = "s='x'.repeat(1e5);for(i=0;i<30;i++)process.stdout.write(s)", .timeout_ms = 3000,
	  .stdout_max_bytes = 150000, .out_total = 3000000 },
	{ .name = "killed", .code = LOOP, .timeout_ms = 3000, .exit_code = 134, .out = "", .killed = true },
	{ .name = "cancel", .code = LOOP, .timeout_ms = 3000, .cancelled = true },
	{ .name = "measure" },
	{ .name = "doctor", .doctor = true },
	/* Some thousand allocations of many kinds, for the engine's own. */
	{ .name = "engine",
	  .code = "class A{constructor(x){this.x=x}get y(){return this.x+1}}"
		  "let m=new Map(),t='';for(let i=0;i<150;i++){m.set('k'+i,new A(i));t+=JSON.stringify({i,a:[i,{b:i}]})}"
		  "let r=[...m.values()].map(a=>a.y).reverse().sort((a,b)=>a-b);"
		  "t=t.replace(/\\d+/g,d=>d+'.');const f=async n=>n?await f(n-1):0;"
		  "f(20).then(z=>console.log(r.length,t.length,z,new Date(0).toISOString(),2n**200n))",
	  .timeout_ms = 5000, .out = NULL },
};

const struct scenario *scenario_find(const char *name)
{
	for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
		if (strcmp(scenarios[i].name, name) == 0)
			return &scenarios[i];
	return NULL;
}
