import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { systemClock } from '../../../test/build/agent.ts'
import { LogEngine } from '../../../test/build/log-engine.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { until, whenBusy } from '../../../test/build/until.ts'
import { written } from '../../../test/suites/shell-task-driver.ts'
import { listLogNumbers } from '../rotating-log.ts'
import { EngineClient } from './engine-client.ts'
import { LogFollower, type LogFollowerOptions } from './log-follower.ts'

interface Bench {
  readonly engine: LogEngine
  readonly dir: string
  readonly reports: string[]
  follow(options?: Partial<LogFollowerOptions>): LogFollower
  stdout(): Promise<string>
}

async function openBench(t: TestContext, maxFileBytes = 64 * 1024 * 1024): Promise<Bench> {
  const dir = await temporaryDirectory(t)
  const engine = await LogEngine.open(dir)
  t.after(() => engine.close())
  const reports: string[] = []
  const [stdoutPrefix, stderrPrefix] = [join(dir, 'web.stdout'), join(dir, 'web.stderr')]
  return {
    engine,
    dir,
    reports,
    follow: (options) =>
      new LogFollower({
        engine: new EngineClient(engine.socketPath),
        containerId: 'c1',
        logs: { stdoutPrefix, stderrPrefix, maxFiles: 3, maxFileBytes },
        isTty: false,
        dir,
        clock: systemClock,
        report: (message) => reports.push(message),
        isRunning: () => Promise.resolve(engine.isRunning),
        ...options,
      }),
    stdout: () => written(stdoutPrefix),
  }
}

function lines(count: number, from = 0): readonly Buffer[] {
  return Array.from({ length: count }, (_, n) => Buffer.from(`${from + n} of the lines\n`))
}

function textOf(pieces: readonly Buffer[]): string {
  return Buffer.concat(pieces).toString('latin1')
}

test('container log: everything that a container wrote at its end is kept', async (t) => {
  const bench = await openBench(t)
  const said = lines(60_000)
  bench.engine.write(said)
  const startMs = performance.now()
  await bench.follow().finish()
  const tookMs = performance.now() - startMs
  assert.equal(await bench.stdout(), textOf(said))
  assert.deepEqual(bench.reports, [])
  // A write and a rename for each line took two minutes.
  assert.ok(tookMs < whenBusy(20_000), `${tookMs} ms`)
})

test('container log: lines arrive while the container runs, both streams apart', async (t) => {
  const bench = await openBench(t)
  bench.engine.isRunning = true
  const follower = bench.follow()
  for (let n = 0; n < 5; n += 1) {
    bench.engine.write([Buffer.from(`out ${n}\n`)])
    bench.engine.write([Buffer.from(`err ${n}\n`)], 2)
    await until(`line ${n}`, async () => {
      return (await bench.stdout()).endsWith(`out ${n}\n`) ? true : undefined
    })
  }
  bench.engine.end()
  await follower.finish()
  assert.equal(
    await written(join(bench.dir, 'web.stderr')),
    [0, 1, 2, 3, 4].map((n) => `err ${n}\n`).join(''),
  )
})

test('container log: the rest is requested from an engine that closed the stream early', async (t) => {
  const bench = await openBench(t)
  const said = lines(2_000)
  bench.engine.write(said)
  bench.engine.breaksAfter = 777
  await bench.follow({ clock: quick() }).finish()
  assert.equal(await bench.stdout(), textOf(said))
  assert.deepEqual(bench.reports, [])
})

/** Pauses of a second take a hundredth of it. */
function quick(): LogFollowerOptions['clock'] {
  return { ...systemClock, after: (ms, wake) => systemClock.after(ms / 100, wake) }
}

test('container log: a stream that is left open does not hold the end of the task', async (t) => {
  const bench = await openBench(t)
  bench.engine.leavesOpen = true
  bench.engine.write(lines(10))
  await bench.follow({ clock: quick() }).finish()
  assert.equal(await bench.stdout(), textOf(lines(10)))
})

test('container log: lines that a stream leaves out after the end are read all the same', async (t) => {
  const bench = await openBench(t)
  bench.engine.isRunning = true
  bench.engine.hasGaps = true
  const follower = bench.follow()
  bench.engine.write(lines(100))
  await until('the first lines', async () => {
    return (await bench.stdout()) === textOf(lines(100)) ? true : undefined
  })
  // It has ended, and nobody knows yet.
  bench.engine.isRunning = false
  bench.engine.write(lines(1_000, 100))
  await follower.finish()
  assert.equal(await bench.stdout(), textOf(lines(1_100)))
})

test('container log: unread output is reported with its size', async (t) => {
  const bench = await openBench(t)
  bench.engine.write(lines(3))
  bench.engine.failsWith = 500
  const follower = bench.follow({
    drainTimeoutMs: 50,
    engineLogSize: () => Promise.resolve(123_456),
  })
  await follower.finish()
  assert.match(bench.reports.join('\n'), /^Up to 123456 bytes of output could not be read/)
})

test('container log: dropped output is reported with its size', async (t) => {
  const bench = await openBench(t)
  const said = lines(1_000)
  bench.engine.write(said)
  await mkdir(join(bench.dir, 'web.stdout.0'))
  await bench.follow().finish()
  assert.match(bench.reports.at(-1) ?? '', new RegExp(`^${textOf(said).length} bytes of output`))
})

test('container log: the newest files stay when the output is longer', async (t) => {
  const bench = await openBench(t, 10_000)
  const said = lines(20_000)
  bench.engine.write(said)
  await bench.follow().finish()
  const kept = await bench.stdout()
  assert.equal((await listLogNumbers(join(bench.dir, 'web.stdout'))).length, 3)
  assert.ok(kept.length > 20_000 && textOf(said).endsWith(kept))
})

test('container log: bytes of any kind and lines of any length are kept as they are', async (t) => {
  const bench = await openBench(t)
  const binary = Buffer.from(Array.from({ length: 256 }, (_, n) => n))
  // An entry that looks like a time, a line of 5 MB in pieces, no newline at the end.
  const piece = Buffer.alloc(16 * 1024, 'x')
  const said = [
    Buffer.from('2026-01-02T03:04:05.000000006Z not a time\n'),
    binary,
    ...Array.from({ length: 320 }, () => piece),
    Buffer.from([0xff, 0xfe, 0]),
  ]
  bench.engine.write(said)
  await bench.follow().finish()
  const found = await readFile(join(bench.dir, 'web.stdout.0'))
  assert.ok(found.equals(Buffer.concat(said)))
})

test('container log: agents killed while they write leave no gap and repeat nothing', async (t) => {
  // Small enough that files change under the kills.
  const maxFileBytes = 100_000
  const bench = await openBench(t, maxFileBytes)
  bench.engine.isRunning = true
  const said: Buffer[] = []
  const write = (): void => {
    const more = lines(200, said.length)
    said.push(...more)
    bench.engine.write(more)
  }
  for (let kills = 0; kills < 3; kills += 1) {
    const before = await sizeOf(bench.dir)
    const agent = startFollower(bench, maxFileBytes)
    await until('output of this agent', async () => {
      write()
      return (await sizeOf(bench.dir)) > before + 10_000 ? true : undefined
    })
    write()
    agent.kill('SIGKILL')
    await once(agent, 'exit')
  }
  bench.engine.end()
  const { stdoutPrefix, stderrPrefix } = prefixes(bench.dir)
  const logs = { stdoutPrefix, stderrPrefix, maxFiles: 1_000, maxFileBytes }
  await bench.follow({ logs }).finish()
  assert.equal(await bench.stdout(), textOf(said))
})

function prefixes(dir: string): { readonly stdoutPrefix: string; readonly stderrPrefix: string } {
  return { stdoutPrefix: join(dir, 'web.stdout'), stderrPrefix: join(dir, 'web.stderr') }
}

async function sizeOf(dir: string): Promise<number> {
  const { stdoutPrefix } = prefixes(dir)
  const numbers = await listLogNumbers(stdoutPrefix)
  const sizes = await Promise.all(numbers.map((n) => stat(`${stdoutPrefix}.${n}`)))
  return sizes.reduce((sum, { size }) => sum + size, 0)
}

function startFollower(bench: Bench, maxFileBytes: number): ReturnType<typeof spawn> {
  const program = new URL('../../../test/build/log-follower-process.ts', import.meta.url)
  const args = [program.pathname, bench.engine.socketPath, bench.dir, String(maxFileBytes)]
  return spawn(process.execPath, args, { stdio: 'inherit' })
}
