/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine: src/engine driven directly, with a clock that moves only when the engine sleeps. */
#include "engine/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define MIB (1024u * 1024u)
#define STACK_BYTES (1u * MIB)

struct seen {
	char text[2][512 * 1024]; /* what was written: stdout, stderr; NUL-terminated */
	size_t len[2];
	int64_t now_ns;
	int interrupts_left; /* the program is interrupted when it has been asked this often; -1: never */
	int finished;	     /* by process.exit */
	struct pl_engine_result result;
	jmp_buf finish;
};

struct setup {
	const char *code;
	enum pl_source_kind kind;
	uint64_t memory_bytes, fail_allocation;
	uint8_t seed;
	int interrupt_after;
};

static struct seen seen;
/* Engines that ended in process.exit cannot be freed; kept here they are no leaks. */
static struct pl_engine *abandoned[2048];
static size_t abandoned_n;

static void host_write(void *opaque, enum pl_stream stream, const uint8_t *bytes, size_t len)
{
	size_t i = stream == PL_STREAM_STDERR, room = sizeof seen.text[0] - 1 - seen.len[i];

	(void)opaque;
	if (len > room)
		len = room;
	memcpy(seen.text[i] + seen.len[i], bytes, len);
	seen.len[i] += len;
	seen.text[i][seen.len[i]] = 0;
}

static int64_t host_monotonic_ns(void *opaque)
{
	(void)opaque;
	return seen.now_ns;
}

static void host_sleep_until_ns(void *opaque, int64_t deadline_ns)
{
	(void)opaque;
	assert_true(deadline_ns > seen.now_ns);
	seen.now_ns = deadline_ns;
}

static int host_interrupt(void *opaque)
{
	(void)opaque;
	if (seen.interrupts_left > 0)
		seen.interrupts_left--;
	return seen.interrupts_left == 0;
}

static void __attribute__((noreturn)) host_finish(void *opaque, const struct pl_engine_result *result)
{
	(void)opaque;
	seen.result = *result;
	seen.finished = 1;
	longjmp(seen.finish, 1);
}

static const struct pl_engine_host host = {
	.write = host_write,
	.monotonic_ns = host_monotonic_ns,
	.sleep_until_ns = host_sleep_until_ns,
	.interrupt = host_interrupt,
	.finish = host_finish,
};

static struct pl_job job_of(const struct setup *setup)
{
	struct pl_job job = {
		.kind = setup->kind,
		.memory_bytes = setup->memory_bytes ? setup->memory_bytes : 64 * MIB,
		.fail_allocation = setup->fail_allocation,
		.name = "[eval]",
		.name_len = 6,
		.code = setup->code,
		.code_len = strlen(setup->code),
	};

	memset(job.seed, setup->seed, sizeof job.seed);
	return job;
}

/* Runs to the end; the result is in seen. The engine is returned unless process.exit has left it as it was. */
static struct pl_engine *run_and_keep(const struct setup *setup)
{
	struct pl_engine *volatile engine;
	struct pl_job job = job_of(setup);

	memset(seen.len, 0, sizeof seen.len);
	seen.text[0][0] = seen.text[1][0] = 0;
	seen.finished = 0;
	seen.now_ns = 1000000000;
	seen.interrupts_left = setup->interrupt_after ? setup->interrupt_after : -1;
	engine = pl_engine_new(&host, STACK_BYTES);
	assert_non_null(engine);
	if (setjmp(seen.finish)) {
		assert_true(abandoned_n < sizeof abandoned / sizeof abandoned[0]);
		abandoned[abandoned_n++] = engine;
		return NULL;
	}
	pl_engine_run(engine, &job, &seen.result);
	return engine;
}

static void run_setup(const struct setup *setup)
{
	pl_engine_free(run_and_keep(setup));
}

static void run(const char *code)
{
	run_setup(&(struct setup){ .code = code });
}

static void expect(const char *code, int exit_code, const char *out)
{
	run(code);
	assert_string_equal(seen.text[0], out);
	assert_int_equal(seen.result.exit_code, exit_code);
	assert_int_equal(seen.result.oom, 0);
}

static void expect_error(const char *code, int exit_code, const char *err_part)
{
	run(code);
	if (!strstr(seen.text[1], err_part))
		fail_msg("no \"%s\" in: %s", err_part, seen.text[1]);
	assert_int_equal(seen.result.exit_code, exit_code);
	assert_int_equal(seen.result.oom, 0);
}

static void test_print(void **state)
{
	(void)state;
	expect("console.log(6 * 7)", 0, "42\n");
	expect("console.log('a'); console.log('b'); console.log()", 0, "a\nb\n\n");
	expect("console.error('e'); console.log('o')", 0, "o\n");
	assert_string_equal(seen.text[1], "e\n");
	expect("", 0, "");
	expect("process.stdout.write('no line')", 0, "no line");
}

static void test_bytes(void **state)
{
	static const char nul[] = "5\nab\0cd\n";

	(void)state;
	run("const s = 'ab\\u0000cd'; console.log(s.length); console.log(s)");
	assert_int_equal(seen.len[0], sizeof nul - 1);
	assert_memory_equal(seen.text[0], nul, sizeof nul);
	expect("console.log('\\ud800a', '\xf0\x9f\x90\x9f\xf0\x9f\x90\xa0'.slice(1), '\\udc00')", 0,
	       "\xef\xbf\xbd" "a \xef\xbf\xbd\xf0\x9f\x90\xa0 \xef\xbf\xbd\n");
	expect("process.stdout.write(new Uint8Array([255, 10]))", 0, "\xff\n");
	run("console.log('x'.repeat(300000)); throw new Error('end')");
	assert_int_equal(seen.len[0], 300001);
	assert_int_equal(seen.result.exit_code, 1);
}

static void test_exit_codes(void **state)
{
	char code[64];

	(void)state;
	for (int n = 0; n < 256; n++) {
		snprintf(code, sizeof code, "process.exitCode = %d", n);
		expect(code, n, "");
		assert_false(seen.finished);
		snprintf(code, sizeof code, "console.log('a'); process.exit(%d); console.log('b')", n);
		expect(code, n, "a\n");
		assert_true(seen.finished);
	}
	expect("process.exit(256 + 7)", 7, "");
	expect("process.exit(-1)", 255, "");
	expect("process.exitCode = 9; process.exit()", 9, "");
	expect_error("process.exit({})", 1, "ERR_INVALID_ARG_TYPE");
}

static void test_exit_cannot_be_caught(void **state)
{
	(void)state;
	expect("try { process.exit(3) } catch { console.log('no') } finally { console.log('no') }", 3, "");
	expect("async function f() { try { process.exit(4) } finally { console.log('no') } } f().catch(() => 0); console.log('no')",
	       4, "");
	expect("Promise.resolve().then(() => process.exit(5)).finally(() => console.log('no'))", 5, "");
	expect("setTimeout(() => { process.exit(6) }, 5); setTimeout(() => console.log('no'), 5)", 6, "");
	expect("[1].map(() => JSON.stringify({ toJSON() { process.exit(7) } })); console.log('no')", 7, "");
	expect("process.nextTick(() => process.exit(8)); setImmediate(() => console.log('no'))", 8, "");
}

static void test_uncaught(void **state)
{
	(void)state;
	expect_error("throw new TypeError('bad input')", 1, "Uncaught TypeError: bad input\n    at ");
	expect_error("throw 'plain'", 1, "Uncaught 'plain'\n");
	expect_error("throw { code: 7 }", 1, "Uncaught { code: 7 }\n");
	expect_error("throw null", 1, "Uncaught null\n");
	expect_error("throw undefined", 1, "Uncaught undefined\n");
	expect_error("await Promise.reject(Object.assign(new Error('coded'), { code: 'E_X' }))", 1, "Error: coded");
	assert_non_null(strstr(seen.text[1], "code: 'E_X'"));
	expect_error("const ok = 1;\nfunction go() {\n  throw new Error('here');\n}\ngo();", 1,
		     "at go ([eval]:3:18)\n    at <eval> ([eval]:5:3)\n");
	expect_error("let a = 1;\nlet b = ;", 1, "SyntaxError");
	assert_non_null(strstr(seen.text[1], "[eval]:2:"));
	expect_error("setTimeout(() => { throw new RangeError('t') }, 1)", 1, "RangeError: t");
	expect_error("process.nextTick(() => { throw 1 })", 1, "Uncaught 1\n");
	expect_error("setImmediate(() => { throw 2 })", 1, "Uncaught 2\n");
	expect_error("queueMicrotask(() => { throw 3 })", 1, "Uncaught 3\n");
	/* What cannot be printed is still an error. */
	expect_error("throw { [Symbol.for('nodejs.util.inspect.custom')]() { throw 1 } }", 1, "Uncaught exception");
}

/* A script that throws has ended: nothing of what it had queued runs. */
static void test_throw_ends_script(void **state)
{
	(void)state;
	expect("Promise.resolve().then(() => console.log('no')); setTimeout(() => console.log('no')); throw 1", 1, "");
}

static void test_rejections(void **state)
{
	(void)state;
	expect_error("Promise.resolve().then(() => { nope() }); setTimeout(() => console.log('no'))", 1, "ReferenceError");
	assert_string_equal(seen.text[0], "");
	expect_error("Promise.reject('plain')", 1, "Uncaught 'plain'");
	expect_error("await new Promise(async (ok) => { missing(); ok() })", 1, "missing");
	expect("const p = Promise.reject(1); Promise.resolve().then(() => p.catch((e) => console.log(e)))", 0, "1\n");
	expect("const p = Promise.reject(1); process.nextTick(() => p.catch((e) => console.log(e)))", 0, "1\n");
	expect_error("const p = Promise.reject(1); setTimeout(() => p.catch(() => 0))", 1, "Uncaught 1");
	/* Handled in the order of rejection, in the opposite one, and in another. */
	expect("const ps = []; for (let i = 0; i < 1000; i++) ps.push(Promise.reject(i));"
	       "for (const p of ps) p.catch(() => 0); console.log('ok')", 0, "ok\n");
	expect("const ps = []; for (let i = 0; i < 1000; i++) ps.push(Promise.reject(i));"
	       "for (const p of ps.reverse()) p.catch(() => 0); console.log('ok')", 0, "ok\n");
	expect("const ps = []; for (let i = 0; i < 1000; i++) ps.push(Promise.reject(i));"
	       "for (let i = 0; i < 1000; i++) ps[i * 7 % 1000].catch(() => 0); console.log('ok')", 0, "ok\n");
	expect_error("const ps = []; for (let i = 0; i < 9; i++) ps.push(Promise.reject(i));"
		     "for (const i of [0, 1, 2, 8, 7, 6, 3, 5]) ps[i].catch(() => 0)", 1, "Uncaught 4\n");
}

static void test_order(void **state)
{
	(void)state;
	expect("console.log(1); setTimeout(() => console.log(6), 50); setImmediate(() => console.log(5));"
	       "process.nextTick(() => console.log(3)); Promise.resolve().then(() => console.log(4)); console.log(2)", 0,
	       "1\n2\n3\n4\n5\n6\n");
	expect("setTimeout(() => { console.log('a'); Promise.resolve().then(() => console.log('b'));"
	       "process.nextTick(() => console.log('c')) }, 1); setTimeout(() => console.log('d'), 1)", 0, "a\nc\nb\nd\n");
	expect("for (const ms of [5, 1, 3, 1, 4, 2, '2', NaN, -1, 2 ** 31]) setTimeout((x) => console.log(x), ms, ms)", 0,
	       "1\n1\nNaN\n-1\n2147483648\n2\n2\n3\n4\n5\n");
	expect("setImmediate(() => { console.log(1); setImmediate(() => console.log(3)) }); setImmediate(() => console.log(2))", 0,
	       "1\n2\n3\n");
}

static void test_timers(void **state)
{
	(void)state;
	run("const start = performance.now(); setTimeout(() => console.log(performance.now() - start), 50)");
	assert_string_equal(seen.text[0], "50\n");
	assert_int_equal(seen.now_ns, 1050000000);
	expect("let n = 0; const t = setInterval(() => { console.log(++n); if (n === 3) clearInterval(t) }, 10)", 0, "1\n2\n3\n");
	assert_int_equal(seen.now_ns, 1030000000);
	expect("const t = setTimeout(() => console.log('no'), 10); clearTimeout(t); clearTimeout(t); clearTimeout(null)", 0, "");
	expect("const t = setTimeout(() => console.log('no'), 10); clearTimeout(+t); clearTimeout(`${+t}`)", 0, "");
	expect("setTimeout(() => console.log('no'), 10).unref(); console.log('end')", 0, "end\n");
	expect("const t = setTimeout(() => console.log('yes'), 10); t.unref(); t.unref(); t.ref(); t.ref(); console.log(t.hasRef())", 0,
	       "true\nyes\n");
	expect("const t = setTimeout(() => console.log('late'), 10); setTimeout(() => t.refresh(), 5);"
	       "setTimeout(() => console.log('mid'), 12)", 0, "mid\nlate\n");
	expect("const t = setInterval(() => { clearInterval(t); console.log('once') }, 1)", 0, "once\n");
	expect("const i = setImmediate(() => console.log('no')); clearImmediate(i); clearImmediate(i); clearImmediate({})", 0, "");
	expect("const ts = []; for (let i = 0; i < 500; i++) ts.push(setTimeout(() => console.log('no'), i * 37 % 101));"
	       "for (let i = 0; i < 500; i++) clearTimeout(ts[i * 7 % 500]); console.log('ok')", 0, "ok\n");
	expect("setTimeout(function () { console.log(this === t) }, 1); const t = setTimeout(function () { console.log(this === t) }, 2)",
	       0, "false\ntrue\n");
	expect_error("setTimeout('code')", 1, "ERR_INVALID_ARG_TYPE");
	expect_error("setTimeout(() => 0, Symbol())", 1, "TypeError");
	expect_error("Object.getPrototypeOf(setTimeout(() => 0)).refresh.call({})", 1, "TypeError");
}

static void test_top_level_await(void **state)
{
	(void)state;
	expect("const x = await Promise.resolve(69); console.log(x)", 0, "69\n");
	expect("await new Promise((r) => setTimeout(r, 30)); console.log('late')", 0, "late\n");
	expect("console.log('before'); await new Promise(() => {}); console.log('after')", 13, "before\n");
	assert_non_null(strstr(seen.text[1], "unsettled top-level await"));
	expect("process.exitCode = 3; await new Promise(() => {})", 3, "");
}

static void test_kinds(void **state)
{
	(void)state;
	expect("console.log(this === undefined, typeof import.meta); export const a = 1", 0, "true object\n");
	expect("const a = 1; console.log(this === undefined); export { a }", 0, "true\n");
	expect("// comment\n/* import */ console.log(this === globalThis)", 0, "true\n");
	run_setup(&(struct setup){ .code = "export const a = 1", .kind = PL_SOURCE_SCRIPT });
	assert_int_equal(seen.result.exit_code, 1);
	run_setup(&(struct setup){ .code = "console.log(this === undefined)", .kind = PL_SOURCE_MODULE });
	assert_string_equal(seen.text[0], "true\n");
	expect_error("import { x } from './x.mjs'", 1, "Cannot find module './x.mjs' imported from [eval]");
	expect_error("import('node:fs')", 1, "ERR_MODULE_NOT_FOUND");
	/* Code that is wrong as a module is told so at its own place, not at the word that made it a module. */
	expect_error("const a = 1;\nexport { a };\nlet b = ;", 1, "[eval]:3:");
	expect_error("const a = 1;\nlet b = ;\nexport { a };", 1, "[eval]:2:");
}

static void test_out_of_memory(void **state)
{
	static const char grow[] = "const a = []; for (;;) a.push(new Uint8Array(1 << 20))";

	(void)state;
	run(grow);
	assert_int_equal(seen.result.exit_code, 137);
	assert_int_equal(seen.result.oom, 1);
	run("const b = []; for (;;) b.push({ i: b.length })");
	assert_int_equal(seen.result.oom, 1);
	run("Promise.resolve().then(() => { const b = []; for (;;) b.push('x'.repeat(100000)) })");
	assert_int_equal(seen.result.oom, 1);
	run("setTimeout(() => { const b = []; for (;;) b.push([b.length]) })");
	assert_int_equal(seen.result.oom, 1);
	expect("try { const a = []; for (;;) a.push(new Uint8Array(1 << 20)) } catch (e) { console.log('caught', e.message) }", 0,
	       "caught out of memory\n");
	expect("try { const a = []; for (;;) a.push(new Uint8Array(1 << 20)) } catch {} throw new Error('other')", 1, "");
	/* Who only says so has not run out of it. */
	expect_error("throw new Error('out of memory')", 1, "out of memory");
	expect_error("throw null", 1, "null");
	run_setup(&(struct setup){ .code = "console.log('fits')", .memory_bytes = 8 * MIB });
	assert_string_equal(seen.text[0], "fits\n");
	run_setup(&(struct setup){ .code = "console.log('x'.repeat(100000))", .memory_bytes = 1 });
	assert_int_equal(seen.result.exit_code, 137);
	/* Small objects only: no exception, the end. */
	run("let o; try { for (;;) o = { o } } catch { console.log('no') }");
	assert_true(seen.finished);
	assert_string_equal(seen.text[0], "");
	assert_int_equal(seen.result.oom, 1);
	assert_string_equal(seen.text[1], "Uncaught InternalError: out of memory\n");
}

/* The compilers' buffers, which no refusal may reach: src/engine/compilers.c. */
static void test_compilers_out_of_memory(void **state)
{
	static const char *const programs[] = {
		"new Function('a+'.repeat(400000) + 'a')",
		"eval('[' + '1+2,'.repeat(300000) + ']')",
		"new RegExp('(a|b)?'.repeat(100000))",
	};
	char code[256];

	(void)state;
	for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
		snprintf(code, sizeof code, "const keep = []; try { for (;;) keep.push(new Uint8Array(70000)) } catch {} %s",
			 programs[i]);
		run(code);
		assert_int_equal(seen.result.exit_code, 137);
		assert_int_equal(seen.result.oom, 1);
	}
}

/* Cycles that only a collection frees, many times the limit in all, with much of the memory in use. */
static void test_collects_before_refusing(void **state)
{
	(void)state;
	run_setup(&(struct setup){
		.code = "const keep = new Array(200000).fill(0).map((_, i) => i + 0.5);"
			"for (let i = 0; i < 40000; i++) { const a = { b: new Array(100).fill(i) }; a.self = a } console.log('ok')",
		.memory_bytes = 8 * MIB });
	assert_string_equal(seen.text[0], "ok\n");
	assert_int_equal(seen.result.exit_code, 0);
}

static void test_random(void **state)
{
	static const char code[] = "console.log(Math.random(), Math.random()); const v = []; for (let i = 0; i < 10000; i++)"
				   "v.push(Math.random()); console.log(v.every((x) => x >= 0 && x < 1),"
				   "Math.abs(v.reduce((a, b) => a + b) / 10000 - 0.5) < 0.02)";
	char first[256];

	(void)state;
	run_setup(&(struct setup){ .code = code, .seed = 1 });
	assert_non_null(strstr(seen.text[0], "true true"));
	memcpy(first, seen.text[0], sizeof first);
	run_setup(&(struct setup){ .code = code, .seed = 1 });
	assert_memory_equal(first, seen.text[0], strlen(seen.text[0]));
	run_setup(&(struct setup){ .code = code, .seed = 2 });
	assert_string_not_equal(first, seen.text[0]);
	run_setup(&(struct setup){ .code = "console.log(Math.random() !== Math.random())", .seed = 0 });
	assert_string_equal(seen.text[0], "true\n");
}

static void test_recursion(void **state)
{
	(void)state;
	expect("try { (function f() { f() })() } catch (e) { console.log(e.name, e.message) } console.log('on')", 0,
	       "InternalError stack overflow\non\n");
	expect_error("(function f() { f() })()", 1, "stack overflow");
	expect("try { JSON.parse('['.repeat(200000)) } catch (e) { console.log(e instanceof Error) }", 0, "true\n");
}

static void test_interrupt(void **state)
{
	(void)state;
	run_setup(&(struct setup){ .code = "try { for (;;); } catch { console.log('no') } finally { console.log('no') }",
				   .interrupt_after = 10 });
	assert_string_equal(seen.text[0], "");
	assert_int_equal(seen.result.exit_code, 1);
	assert_non_null(strstr(seen.text[1], "interrupted"));
}

/* internals.c looks inside a proxy with its own idea of QuickJS's memory. */
static void test_proxies(void **state)
{
	(void)state;
	expect("const t = { a: 1 }; const traps = new Proxy({}, { get() { throw 1 } });"
	       "console.log(new Proxy(t, traps), new Proxy(new Proxy([1], traps), traps), new Proxy(class A {}, traps));"
	       "const r = Proxy.revocable({ b: 2 }, {}); r.revoke(); console.log(typeof r.proxy); console.log(r.proxy); console.log('after')",
	       0, "{ a: 1 } [ 1 ] [class A]\nobject\n{ b: 2 }\nafter\n");
}

static void test_nothing_of_the_host(void **state)
{
	(void)state;
	expect("console.log(typeof require, typeof std, typeof os, typeof scriptArgs, typeof internals, typeof print, typeof bjson)", 0,
	       "undefined undefined undefined undefined undefined undefined undefined\n");
	expect("console.log(JSON.stringify(process.env))", 0, "{\"PATH\":\"/usr/bin:/bin\",\"HOME\":\"/tmp\",\"LANG\":\"C.UTF-8\"}\n");
	expect("try { null.x } catch (e) { console.log(e.stack.includes('/')) } try { setTimeout(1) } catch (e) {"
	       "console.log(e.constructor.constructor('return this')() === globalThis, e.stack.includes('/')) }", 0,
	       "false\ntrue false\n");
}

/* A program that touches what there is, so that every allocation of it is made to fail once. */
static const char busy_program[] =
	"console.log({ a: [1, 'two', new Map([[1, new Set([2])]])], e: new Error('x').message, d: new Date(0), r: /x/g });"
	"class A { #p = 1; get p() { return this.#p } static { A.s = 1 } } console.log(new A().p, new A());"
	"const t = setInterval(() => clearInterval(t), 1); setTimeout((a) => console.log(a), 2, 'arg'); setImmediate(() => console.log('i'));"
	"process.nextTick(() => console.log('tick')); queueMicrotask(() => console.log('micro'));"
	"Promise.reject(new Error('handled')).catch(() => console.log('caught'));"
	"try { JSON.parse('{') } catch (e) { console.log(e.name) } console.log(JSON.stringify({ a: [1, { b: 2 }] }), [3, 1, 2].sort());"
	"function* g() { yield* [1, 2] } console.log([...g()], 'a-b'.replace(/-/g, '+'), `${2n ** 70n}`);"
	"console.log(new TextDecoder().decode(new TextEncoder().encode('h\\u00e9')), structuredClone({ a: [new Date(1)] }));"
	"await new Promise((r) => setTimeout(r, 3)); console.log('end'); export const done = 1;";

/* A child that process.exit or the end of memory leaves in the middle of the engine reports from here. */
static int report_fd = -1;

static void __attribute__((noreturn)) report(void)
{
	_exit(write(report_fd, &seen.result, sizeof seen.result) < 0);
}

/* How a run ended in a process of its own: 1000 + the signal, or the exit code. */
static int run_in_child(const struct setup *setup, uint64_t *ret_oom)
{
	int pair[2], status;
	struct pl_engine_result result = { .exit_code = -1 };
	pid_t pid;

	assert_int_equal(pipe(pair), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		report_fd = pair[1];
		run_setup(setup);
		report();
	}
	close(pair[1]);
	if (read(pair[0], &result, sizeof result) < 0)
		result.exit_code = -1;
	close(pair[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	*ret_oom = result.oom;
	return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : result.exit_code;
}

static void test_every_allocation_may_fail(void **state)
{
	struct setup setup = { .code = busy_program };
	unsigned normal = 0, refused = 0;
	uint64_t oom;
	int end = -1;

	(void)state;
	run_setup(&setup);
	assert_int_equal(seen.result.exit_code, 0);
	for (uint64_t n = 1; n < 100000; n += n < 500 ? 1 : 37) {
		setup.fail_allocation = n;
		end = run_in_child(&setup, &oom);
		if (end != 0 && end != 1 && !(end == 137 && oom))
			fail_msg("allocation %llu refused: ended with %d, oom %d", (unsigned long long)n, end, (int)oom);
		normal += end == 0;
		refused += end == 137;
		/* Past the last allocation of the program nothing fails any more. */
		if (end == 0 && normal > 60)
			break;
	}
	assert_true(refused > 300);
	assert_int_equal(end, 0);
}

/* Programs that need much, under every limit: a refused array, string or buffer is an error that the program sees. */
static const char large_program[] =
	"let ok = 0; const big = (f) => { try { f(); ok++ } catch (e) { if (!(e instanceof Error)) throw e } };"
	"big(() => Array.from({ length: 20000 }, (_, i) => [i])); big(() => 'ab'.repeat(50000).split(''));"
	"big(() => new Uint8Array(200000).fill(1).slice().map((x) => x + 1).sort()); big(() => JSON.parse('[' + '1,'.repeat(30000) + '1]'));"
	"big(() => JSON.stringify(Array.from({ length: 20000 }, (_, i) => ({ i })))); big(() => [].concat(new Array(20000).fill(1)).sort().join());"
	"big(() => { const o = {}; for (let i = 0; i < 20000; i++) o['k' + i] = i; return Object.entries(o) });"
	"big(() => { const m = new Map(); for (let i = 0; i < 20000; i++) m.set(i, 'v' + i); return [...m] });"
	"big(() => { let s = ''; for (let i = 0; i < 30000; i++) s += i; return s.replace(/1/g, '\\u20ac').toUpperCase().normalize() });"
	"big(() => eval('[' + '1+2,'.repeat(20000) + ']')); big(() => Math.max(...new Array(20000).fill(1)));"
	"big(() => (2n ** 300000n).toString()); big(() => encodeURIComponent('\\u20ac'.repeat(20000)));"
	"big(() => structuredClone(new Array(20000).fill({ a: 1 }))); big(() => new TextDecoder().decode(new TextEncoder().encode('\\u20ac'.repeat(30000))));"
	"big(() => { for (let i = 0; i < 9000; i++) clearTimeout(setTimeout(() => 0)) });"
	"big(() => { for (let i = 0; i < 9000; i++) Promise.reject(i).catch(() => 0) }); big(() => console.log('\\ud800'.repeat(40000).length));"
	"big(() => { try { (function f() { f() })() } catch (e) { return e.stack.length } });"
	"await new Promise((r) => setTimeout(r, 1)); process.exitCode = ok === 19 ? 0 : 2;";

static void test_every_limit(void **state)
{
	struct setup setup = { .code = large_program };
	unsigned whole = 0, partly = 0, ended = 0;
	uint64_t oom;

	(void)state;
	for (uint64_t bytes = MIB / 4; bytes < 16 * MIB; bytes += 97001) {
		int end;

		setup.memory_bytes = bytes;
		end = run_in_child(&setup, &oom);
		if (end != 0 && end != 2 && !(end == 137 && oom))
			fail_msg("limit of %llu bytes: ended with %d, oom %d", (unsigned long long)bytes, end, (int)oom);
		whole += end == 0;
		partly += end == 2;
		ended += end == 137;
	}
	assert_true(whole > 10);
	assert_true(partly > 10);
	assert_true(ended > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_exit_codes),
		cmocka_unit_test(test_exit_cannot_be_caught),
		cmocka_unit_test(test_uncaught),
		cmocka_unit_test(test_throw_ends_script),
		cmocka_unit_test(test_rejections),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_timers),
		cmocka_unit_test(test_top_level_await),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_compilers_out_of_memory),
		cmocka_unit_test(test_collects_before_refusing),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_interrupt),
		cmocka_unit_test(test_proxies),
		cmocka_unit_test(test_nothing_of_the_host),
		cmocka_unit_test(test_every_allocation_may_fail),
		cmocka_unit_test(test_every_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
