/**
 * Fuzzes the parsers of the task helper, which run as root (native/fuzz): the seed corpus is
 * replayed and mutated for a while, in a build with sanitizers.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { repository } from './launcher.ts'

const native = join(repository, 'packages/reeve/native')
const fuzz = join(native, 'fuzz')
const SECONDS = 8
const SEED = 20_261_118
const RUNS_MIN = 1_000

const BASE = ['-std=c11', '-D_GNU_SOURCE', '-O1', '-g', '-fno-omit-frame-pointer']
const WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Werror', '-Wconversion', '-Wshadow']
const SANITIZERS = ['-fsanitize=address,undefined', '-fno-sanitize-recover=all']
const FLAGS = [...BASE, ...WARNINGS, ...SANITIZERS]
/** Not every compiler reports branches: without them mutation is blind, but not useless. */
const COVERAGE = '-fsanitize-coverage=trace-pc'

const options = { timeout: 540_000 }
const environment = { ASAN_OPTIONS: 'detect_leaks=0' }

interface Outcome {
  readonly isOk: boolean
  readonly output: string
}

function run(command: string, args: readonly string[], timeoutMs: number): Outcome {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    timeout: timeoutMs,
    env: { ...process.env, ...environment },
  })
  return { isOk: status === 0, output: error === undefined ? stdout + stderr : error.message }
}

const compile = (...args: readonly string[]): Outcome => run('cc', args, 240_000)

/** Skips the test, with the reason, where nothing can be built with sanitizers. */
async function sanitizerTrouble(t: TestContext): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'the task helper is for Linux'
  const dir = await temporaryDirectory(t)
  const [source, program] = [join(dir, 'empty.c'), join(dir, 'empty')]
  writeFileSync(source, 'int main(void) { return 0; }\n')
  const built = compile(...FLAGS, source, '-o', program)
  if (!built.isOk) return `the C compiler cannot build with sanitizers: ${firstLine(built.output)}`
  const ran = run(program, [], 10_000)
  return ran.isOk ? undefined : `sanitizers do not run here: ${firstLine(ran.output)}`
}

const firstLine = (text: string): string => text.trim().split('\n')[0] ?? ''

/** The target with the driver of this directory, and the parsers of the helper. */
function buildParsers(dir: string): string {
  const driver = buildDriver(dir)
  const program = join(dir, 'parsers')
  // main.c has another main; the arena is replaced by one that hides no wrong step.
  const sources = globSync(join(native, 'src/*.c')).filter(
    (file) => !['main.c', 'arena.c'].includes(basename(file)),
  )
  const own = ['target.c', 'exact_arena.c'].map((file) => join(fuzz, file))
  const rest = [...own, ...sources, driver, '-o', program]
  const built = compile(...FLAGS, COVERAGE, ...rest)
  const result = built.isOk ? built : compile(...FLAGS, ...rest)
  assert.ok(result.isOk, result.output)
  return program
}

/** Never instrumented itself: its own branches are no news. */
function buildDriver(dir: string): string {
  const object = join(dir, 'driver.o')
  const built = compile(...FLAGS, '-c', join(fuzz, 'driver.c'), '-o', object)
  assert.ok(built.isOk, built.output)
  return object
}

const seeds = globSync(join(fuzz, 'corpus/*/*')).toSorted()

/** The input that was under way when the driver ended. */
function inputIn(path: string): string {
  const bytes = readFileSync(path)
  const length = Number(bytes.readBigUInt64LE(0))
  return bytes.subarray(8, 8 + length).toString('latin1')
}

/** The readers that accept the seeds of a folder. A seed that none accepts tests little. */
const READERS: Readonly<Record<string, string>> = {
  json: 'json',
  requests: 'json request',
  'task-specs': 'json task',
  'session-specs': 'json session',
}

test(
  'fuzz: the parsers of the task helper stand what is derived from real input',
  options,
  async (t) => {
    const trouble = await sanitizerTrouble(t)
    if (trouble !== undefined) return t.skip(trouble)
    const dir = await temporaryDirectory(t)
    const program = buildParsers(dir)

    const listed = run(program, ['--list', ...seeds], 60_000)
    assert.ok(listed.isOk, listed.output)
    for (const line of listed.output.trim().split('\n')) {
      const [file = '', ...readers] = line.split(' ')
      const wanted = READERS[basename(dirname(file))]
      if (wanted !== undefined) assert.equal(readers.join(' '), wanted, file)
    }

    const current = join(dir, 'current')
    const args = [String(SECONDS), String(SEED), current, ...seeds]
    const fuzzed = run(program, args, (SECONDS + 60) * 1_000)
    const help = 'Mend it, and add the input to native/fuzz/corpus/regressions:'
    assert.ok(fuzzed.isOk, `${fuzzed.output}\n${help}\n${fuzzed.isOk ? '' : inputIn(current)}`)
    const { runs }: { readonly runs: number } = JSON.parse(fuzzed.output)
    assert.ok(runs >= RUNS_MIN, fuzzed.output)
  },
)

/** Reads one byte too far when the input holds a tilde, which no seed below does. */
const PLANTED = `
#include "target.h"
#include <stdlib.h>
#include <string.h>
unsigned readers_accepting(const uint8_t *data, size_t size) {
    (void)data;
    return (unsigned)size;
}
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *copy = malloc(size + 1);
    if (copy == NULL) abort();
    memcpy(copy, data, size);
    volatile char last = copy[memchr(copy, '~', size) == NULL ? 0 : size + 1];
    (void)last;
    free(copy);
    return 0;
}
`

test(
  'fuzz: the driver finds a planted fault and keeps the input that shows it',
  options,
  async (t) => {
    const trouble = await sanitizerTrouble(t)
    if (trouble !== undefined) return t.skip(trouble)
    const dir = await temporaryDirectory(t)
    const [source, seed] = [join(dir, 'planted.c'), join(dir, 'seed')]
    writeFileSync(source, PLANTED)
    writeFileSync(seed, '{"a":[1,2]}')
    const program = join(dir, 'planted')
    const built = compile(...FLAGS, '-I', fuzz, source, buildDriver(dir), '-o', program)
    assert.ok(built.isOk, built.output)
    const current = join(dir, 'current')
    const fuzzed = run(program, ['60', '1', current, seed], 90_000)
    assert.equal(fuzzed.isOk, false)
    assert.match(fuzzed.output, /heap-buffer-overflow/)
    assert.match(inputIn(current), /~/)
  },
)
