/** What a task writes: every byte, in files of an exact size, whatever happens around it. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  mkdtempSync,
  readdirSync,
  rmdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { aLauncher, noHelper, noRoot, type Launcher } from './launcher.ts'

const options = { skip: noHelper }

/** The files of a stream by rising number. */
function files(launcher: Launcher, name: string): readonly string[] {
  const folder = join(launcher.dir, 'logs')
  const number = (file: string) => Number(file.slice(name.length + 1))
  return readdirSync(folder)
    .filter((file) => file.startsWith(`${name}.`))
    .toSorted((a, b) => number(a) - number(b))
    .map((file) => join(folder, file))
}

function digest(parts: readonly (string | Buffer)[]): string {
  const hash = createHash('md5')
  for (const part of parts) hash.update(part)
  return hash.digest('hex')
}

const sizes = [
  { name: 'one byte over the end of a file', bytes: 65_537, maxBytes: 65_536, count: 2 },
  { name: 'exactly one file', bytes: 65_536, maxBytes: 65_536, count: 1 },
  { name: 'files smaller than a page', bytes: 100_000, maxBytes: 1_000, count: 100 },
  { name: 'an odd size of file', bytes: 1_000_003, maxBytes: 77_777, count: 13 },
  { name: 'one byte in each file', bytes: 40, maxBytes: 1, count: 40 },
]
for (const c of sizes) {
  test(`logs: no byte is lost or moved over ${c.name}`, options, async (t) => {
    const launcher = aLauncher(t)
    const source = join(launcher.dir, 'source')
    spawnSync('dd', [
      'if=/dev/urandom',
      `of=${source}`,
      `bs=${c.bytes}`,
      'count=1',
      'iflag=fullblock',
    ])
    const logs = launcher.logs('task', { maxBytes: c.maxBytes, maxFiles: 10_000 })
    await launcher.start({ command: 'cat', args: [source], logs })
    const exit = await launcher.exit()
    const written = files(launcher, 'task.stdout')
    assert.equal(exit.logBytes, c.bytes)
    assert.equal(written.length, c.count)
    assert.ok(written.slice(0, -1).every((file) => statSync(file).size === c.maxBytes))
    assert.equal(digest(written.map((file) => readFileSync(file))), digest([readFileSync(source)]))
  })
}

test('logs: only the newest files stay, and the numbers grow', options, async (t) => {
  const launcher = aLauncher(t)
  const logs = launcher.logs('task', { maxBytes: 10_000, maxFiles: 3 })
  await launcher.start({ args: ['-c', 'yes 123456789 | head -c 95000'], logs })
  await launcher.exit()
  const names = files(launcher, 'task.stdout').map((file) => file.split('.').at(-1))
  assert.deepEqual(names, ['7', '8', '9'])
  assert.equal(statSync(files(launcher, 'task.stdout')[2] ?? '').size, 5_000)
})

test('logs: a later start continues at the end of the newest file', options, async (t) => {
  const launcher = aLauncher(t)
  const logs = launcher.logs('task', { maxBytes: 10, maxFiles: 5 })
  for (const id of ['first', 'second', 'third']) {
    await launcher.start({ id, args: ['-c', 'printf 1234567'], logs })
    await launcher.exit(id)
  }
  const contents = files(launcher, 'task.stdout').map((file) => readFileSync(file, 'utf8'))
  assert.deepEqual(contents, ['1234567123', '4567123456', '7'])
})

test('logs: fewer files than before are kept after the limit was lowered', options, async (t) => {
  const launcher = aLauncher(t)
  for (const n of [0, 1, 2, 3, 4])
    writeFileSync(join(launcher.dir, 'logs', `task.stdout.${n}`), 'x')
  for (const name of ['task.stdout.x', 'task.stdout.01', 'task.stdoutx.0', 'task.stdout'])
    writeFileSync(join(launcher.dir, 'logs', name), 'not ours')
  await launcher
    .finish({ args: ['-c', 'echo'], logs: launcher.logs('task', { maxFiles: 2 }) })
    .catch(() => undefined)
  const names = readdirSync(join(launcher.dir, 'logs')).filter((name) =>
    name.startsWith('task.stdout'),
  )
  assert.deepEqual(names.toSorted(), [
    'task.stdout',
    'task.stdout.01',
    'task.stdout.3',
    'task.stdout.4',
    'task.stdout.x',
    'task.stdoutx.0',
  ])
})

test('logs: both streams are kept apart', options, async (t) => {
  const launcher = aLauncher(t)
  const { stdout, stderr } = await launcher.finish({ args: ['-c', 'echo a; echo b >&2; echo c'] })
  assert.deepEqual([stdout, stderr], ['a\nc\n', 'b\n'])
})

test('logs: without a place for them the output goes nowhere', options, async (t) => {
  const launcher = aLauncher(t)
  await launcher.start({
    args: ['-c', 'yes | head -c 1000000; readlink /proc/self/fd/1 >&2; exit 4'],
  })
  const exit = await launcher.exit()
  assert.deepEqual([exit.code, exit.logBytes, exit.logDropped], [4, 0, 0])
})

test('logs: a link or pipe planted under the next name is not followed', options, async (t) => {
  const launcher = aLauncher(t)
  const victim = join(launcher.dir, 'victim')
  writeFileSync(victim, 'precious')
  symlinkSync(victim, join(launcher.dir, 'logs', 'task.stdout.1'))
  spawnSync('mkfifo', [join(launcher.dir, 'logs', 'pipe.stdout.1')])
  const first = await launcher.run({ args: ['-c', 'echo x'], logs: launcher.logs('task') })
  assert.equal(first.kind, 'start')
  assert.equal(readFileSync(victim, 'utf8'), 'precious')
  const second = await launcher.run({ args: ['-c', 'echo x'], logs: launcher.logs('pipe') })
  assert.equal(second.kind, 'start')
})

test(
  'logs: a full disk drops bytes, counts them, and never holds the task',
  { skip: noRoot },
  async (t) => {
    const small = mkdtempSync(join(tmpdir(), 'reeve-small-'))
    assert.equal(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', small]).status, 0)
    t.after(() => {
      spawnSync('umount', ['-l', small])
      rmdirSync(small)
    })
    const launcher = aLauncher(t)
    const logs = {
      stdout: join(small, 'out'),
      stderr: join(small, 'err'),
      maxBytes: 1 << 20,
      maxFiles: 2,
    }
    await launcher.start({ args: ['-c', 'head -c 1000000 /dev/zero; exit 7'], logs })
    const exit = await launcher.exit()
    assert.equal(exit.code, 7)
    assert.equal(exit.logBytes + exit.logDropped, 1_000_000)
    assert.ok(exit.logDropped > 900_000 && exit.logBytes > 0)
  },
)

test(
  'logs: a flood does not delay the end of the task by more than its drain',
  options,
  async (t) => {
    const launcher = aLauncher(t)
    const logs = launcher.logs('task', { maxBytes: 100_000, maxFiles: 2 })
    const handle = await launcher.start({ command: 'yes', logs })
    const answer = await launcher.killTree(handle)
    assert.equal(answer.ok, true)
    const exit = await launcher.exit()
    assert.deepEqual([exit.signal, exit.killed], [9, true])
    const total = files(launcher, 'task.stdout').reduce((sum, file) => sum + statSync(file).size, 0)
    assert.ok(total <= 200_000)
  },
)
