/**
 * Specs, requests and control lines that nobody should send, to a build that notices every wrong
 * step in memory: it never crashes, and it always answers.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import fc from 'fast-check'
import { Session, sessionSpec } from './session.ts'
import {
  aLauncher,
  isolated,
  noHelper,
  noRoot,
  repository,
  type Launcher,
  type Spec,
} from './launcher.ts'

const build = join(repository, 'tools/build.ts')
const options = { skip: noHelper, timeout: 300_000 }
const SEED = 20_261_115

/** The helper with the address and undefined-behaviour sanitizers. */
function sanitized(t: TestContext): string | undefined {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [build, '--native', '--sanitize'],
    {
      encoding: 'utf8',
    },
  )
  if (status === 0) return stdout.trim()
  t.skip(`the compiler has no sanitizers: ${stderr.split('\n')[0]}`)
  return undefined
}

/** Asks for a start with this text as spec; an answer is all that is asked. */
async function tries(launcher: Launcher, text: string | Buffer): Promise<void> {
  const spec = join(launcher.dir, 'tasks', 'fuzz.spec')
  writeFileSync(spec, text, { mode: 0o600 })
  const answer = await launcher.ask({ op: 'run', spec })
  assert.equal(typeof answer.ok, 'boolean')
  if (answer.ok) {
    await launcher.event((event) => event['shimPid'] === answer['shimPid'])
    // Its end is recorded where the text still says so: the shim did not die on the way either.
    const file = launcher.exitFile('fuzz')
    if (text.includes(file)) rmSync(file)
  }
  assert.ok(
    !/the process that should start the task died/.test(answer.message ?? ''),
    `died of ${String(text)}`,
  )
}

/** A value put in the place of another, somewhere in a good spec. */
const oddValues: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  2 ** 53,
  1.5,
  1e300,
  '',
  'x',
  '/',
  '/..',
  '../x',
  'a'.repeat(5_000),
  '\u0000',
  '\ud800',
  [],
  {},
  [[]],
  [null],
  { a: 1 },
  Array.from({ length: 5_000 }, () => 'x'),
  [['cpu.shares', '1', 'no']],
  [{ path: '/proc' }],
  { root: '/', entries: [] },
]

function placesIn(
  value: unknown,
  path: readonly (string | number)[] = [],
): readonly (readonly (string | number)[])[] {
  if (typeof value !== 'object' || value === null) return [path]
  return [
    path,
    ...Object.entries(value).flatMap(([key, inner]) =>
      placesIn(inner, [...path, Array.isArray(value) ? Number(key) : key]),
    ),
  ]
}

function replaced(
  value: unknown,
  [first, ...rest]: readonly (string | number)[],
  odd: unknown,
): unknown {
  if (first === undefined) return odd
  if (Array.isArray(value))
    return value.map((item, index) => (index === first ? replaced(item, rest, odd) : item))
  // A place is a path through lists and objects, and this is no list.
  const record = value as Readonly<Record<string, unknown>>
  return { ...record, [first]: replaced(record[String(first)], rest, odd) }
}

/** Everything a spec can have, harmless where it works. */
function fullSpec(launcher: Launcher): Spec {
  return launcher.spec({
    ...isolated(launcher, 'exit 0'),
    id: 'fuzz',
    name: 'fuzz',
    cwd: '/',
    groups: [1],
    denyUsers: ['daemon'],
    caps: ['chown'],
    noNewPrivs: true,
    seccomp: true,
    rlimits: { nofile: [64, 64] },
    umask: 18,
    oomScoreAdj: 10,
    cgroups: [],
    shimCgroups: [],
    logs: launcher.logs('fuzz'),
  })
}

test('specs: an odd value in any place is answered', { ...options, skip: noRoot }, async (t) => {
  const program = sanitized(t)
  if (program === undefined) return
  const launcher = aLauncher(t, program)
  const spec = fullSpec(launcher)
  const places = placesIn(spec)
  const dangerous = new Set(['id', 'exitFile', 'handleFile', 'root'])
  const sample = fc.sample(fc.tuple(fc.constantFrom(...places), fc.constantFrom(...oddValues)), {
    seed: SEED,
    numRuns: 300,
  })
  for (const [place, odd] of sample) {
    if (place.some((key) => dangerous.has(String(key)))) continue
    await tries(launcher, JSON.stringify(replaced(spec, place, odd)))
  }
})

test('specs: a damaged text is answered', { ...options, skip: noRoot }, async (t) => {
  const program = sanitized(t)
  if (program === undefined) return
  const launcher = aLauncher(t, program)
  const good = Buffer.from(JSON.stringify(fullSpec(launcher)))
  const damage = fc.record({
    at: fc.nat(good.length - 1),
    byte: fc.constantFrom(...'{}[]",:\\u0-e. \n\0\x7f'),
    cut: fc.boolean(),
  })
  for (const { at, byte, cut } of fc.sample(damage, { seed: SEED, numRuns: 300 })) {
    const bad = Buffer.from(good)
    bad.write(byte, at, 'latin1')
    await tries(launcher, cut ? bad.subarray(0, at + 1) : bad)
  }
})

const texts = [
  '',
  ' ',
  '{',
  '[',
  '"',
  '"\\',
  '"\\u',
  '"\\ud800\\u',
  '{"a"',
  '{"a":',
  '{"a":1',
  '{"a":1,',
  '{"a":1,"a":2}',
  'nul',
  'tru',
  '-',
  '01',
  '1.5',
  '1e9',
  '9007199254740993',
  '[1 2]',
  '{} {}',
  '"\\u0000"',
  '"\n"',
  `${'['.repeat(17)}${']'.repeat(17)}`,
  '['.repeat(60_000),
  '{"a":'.repeat(10_000),
  `[${'1,'.repeat(21_000)}1]`,
  `"${'\\u00e9'.repeat(9_000)}"`,
  `{${Array.from({ length: 4_097 }, (_, i) => `"k${i}":1`).join(',')}}`,
]

test(
  'the JSON reader: what is no request is refused, and the next one is heard',
  options,
  async (t) => {
    const program = sanitized(t)
    if (program === undefined) return
    const launcher = aLauncher(t, program)
    const random = fc.sample(fc.oneof(fc.json(), fc.string({ unit: 'binary', maxLength: 400 })), {
      seed: SEED,
      numRuns: 400,
    })
    for (const text of [...texts, ...random]) launcher.say(text.replaceAll('\n', ' '))
    launcher.say('x'.repeat(200_000))
    for (const op of [
      'run',
      'kill',
      'killTree',
      'alive',
      'write',
      'mkdir',
      'removeCgroups',
      'settle',
      'fly',
      7,
    ]) {
      const answer = await launcher.ask({ op })
      assert.deepEqual([answer.ok, answer.kind], [false, 'config'])
    }
    assert.equal((await launcher.ask({ op: 'probe' })).ok, true)
    assert.ok(launcher.events.some((event) => /longer than/.test(event.message ?? '')))
    assert.ok(launcher.events.slice(1).every((event) => event.kind === 'config'))
  },
)

test('requests: odd members are refused by name', options, async (t) => {
  const launcher = aLauncher(t)
  for (const { request, says } of [
    { request: { op: 'kill', pid: 0, startTime: 1, signal: 9 }, says: /process 0 is gone/ },
    { request: { op: 'kill', pid: -1, startTime: 1, signal: 9 }, says: /pid must be/ },
    { request: { op: 'kill', pid: 1, startTime: 0, signal: 65 }, says: /signal must be/ },
    { request: { op: 'kill', pid: 1, startTime: 99, signal: 9 }, says: /process 1 is gone/ },
    { request: { op: 'probe', more: 1 }, says: /more is not known/ },
    {
      request: { op: 'removeCgroups', paths: ['relative'] },
      says: /paths\[0\] must be an absolute path/,
    },
    { request: { op: 'removeCgroups', paths: ['/proc'] }, says: /rmdir \/proc/ },
    { request: { op: 'settle', paths: ['a/../b'] }, says: /paths\[0\] must be an absolute path/ },
  ]) {
    const answer = await launcher.ask(request)
    assert.equal(answer.ok, false)
    assert.match(answer.message ?? '', says)
  }
})

test('many requests at once are all answered, in any order', options, async (t) => {
  const program = sanitized(t)
  if (program === undefined) return
  const launcher = aLauncher(t, program)
  const answers = await Promise.all(
    Array.from({ length: 600 }, (_, index) =>
      launcher.run({ id: `m${index}`, command: '/bin/true' }),
    ),
  )
  assert.equal(answers.filter((answer) => answer.ok).length, 600)
  await Promise.all(
    answers.map((_, index) => launcher.event((event) => event['task'] === `m${index}`)),
  )
})

test('sessions: odd specs and control lines are survived', options, async (t) => {
  const program = sanitized(t)
  if (program === undefined) return
  const launcher = aLauncher(t, program)
  const handle = await launcher.start({ command: 'sleep', args: ['300'] })
  const spec = sessionSpec(handle, { args: ['-c', 'cat'], tty: { rows: 2, columns: 2 } })
  for (const [place, odd] of fc.sample(
    fc.tuple(fc.constantFrom(...placesIn(spec)), fc.constantFrom(...oddValues)),
    { seed: SEED, numRuns: 60 },
  )) {
    // Whatever it is now, it is written as JSON.
    const session = new Session(replaced(spec, place, odd) as Spec, program)
    session.control.end()
    session.stdin.end()
    assert.notEqual((await session.started).kind, 'died', JSON.stringify([place, odd]))
    await session.status
  }
  const session = new Session(spec, program)
  await session.started
  for (const line of fc.sample(fc.string({ unit: 'binary', maxLength: 600 }), {
    seed: SEED,
    numRuns: 200,
  }))
    session.tell(line)
  for (const line of [
    'resize',
    'resize 1',
    'resize 99999 99999',
    'resize -1 -1',
    'signal',
    'signal 0',
    'signal 99',
  ])
    session.tell(line)
  session.tell('resize 11 12')
  session.tell('eof')
  assert.deepEqual(await session.ended, { code: 0, signal: 0 })
})
