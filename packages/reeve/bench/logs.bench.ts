/**
 * Output of busy tasks: lines per second from a container and an `exec` task into the stored log
 * and to a follower. For comparison, the same container output read directly from the engine's log
 * stream. Needs root, podman and the task helper. `--quick` for a short run.
 */
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { followLog, RotatedLog } from '../src/agent/remote/follow-log.ts'
import type { RunningTask, TaskDriver } from '../src/agent/index.ts'
import { DockerDriver, ExecDriver, NativeSupervisor } from '../src/drivers/index.ts'
import { DEFAULT_CAPS } from '../src/drivers/capabilities.ts'
import { EngineClient } from '../src/drivers/docker/engine-client.ts'
import { LogFollower } from '../src/drivers/docker/log-follower.ts'
import { listLogNumbers } from '../src/drivers/rotating-log.ts'
import { systemClock } from '../test/build/agent.ts'
import { LogEngine } from '../test/build/log-engine.ts'
import { Podman, podmanUnavailable, TEST_IMAGE } from '../test/build/podman.ts'
import { ProgramBench } from '../test/build/shell-bench.ts'
import { until } from '../test/build/until.ts'
import { isQuick, printTable, whole } from './measure.ts'

const LINES = isQuick ? 20_000 : 100_000
const FIRST = 1_000_000
const TEXT = ' a line of a busy task as services write'
const BYTES = LINES * (String(FIRST).length + TEXT.length + 1)
const HELPER = join(import.meta.dirname, '../../../node_modules/.cache/reeve/reeve-task')

/** Waits for a file, writes all lines as fast as possible, and stays alive. */
const SCRIPT = `while ! [ -e /local/go ]; do sleep 0.02; done
seq ${FIRST} ${FIRST + LINES - 1} | sed 's/$/${TEXT}/'
exec sleep 1000`

interface Source {
  readonly driver: TaskDriver
  config(text: string): Readonly<Record<string, unknown>>
}

/** Stands in for the test context whose cleanup steps the builders register. */
class Cleanup {
  readonly #steps: (() => unknown)[] = []

  get context(): TestContext {
    // Proof: builders use no other member of a test context.
    return { after: (step: () => unknown) => this.#steps.push(step) } as unknown as TestContext
  }

  async run(): Promise<void> {
    for (const step of this.#steps.toReversed()) await step()
  }
}

/** Starts the task, lets it write, and measures until everything has been read. */
async function measure(
  source: Source,
  readAll: (bench: ProgramBench, task: RunningTask) => Promise<void>,
): Promise<number> {
  const cleanup = new Cleanup()
  try {
    const bench = await ProgramBench.open(cleanup.context, () => source)
    const task = await bench.driver.start(bench.script(SCRIPT))
    const read = readAll(bench, task)
    const startMs = performance.now()
    await mkdir(join(bench.dir, 'web/local/go'))
    await read
    return (LINES / (performance.now() - startMs)) * 1_000
  } finally {
    await cleanup.run()
  }
}

async function storedBytes(prefix: string): Promise<number> {
  const numbers = await listLogNumbers(prefix)
  const sizes = await Promise.all(numbers.map((n) => stat(`${prefix}.${n}`)))
  return sizes.reduce((sum, { size }) => sum + size, 0)
}

function stored(source: Source): Promise<number> {
  return measure(source, async ({ logs }) => {
    await until(
      'the stored log',
      async () => ((await storedBytes(logs.stdoutPrefix)) >= BYTES ? true : undefined),
      300_000,
    )
  })
}

function followed(source: Source): Promise<number> {
  return measure(source, async ({ dir }) => {
    const over = new AbortController()
    let bytes = 0
    await followLog(new RotatedLog(dir, 'web', 'stdout'), {
      offset: 0,
      origin: 'start',
      follow: true,
      clock: systemClock,
      signal: over.signal,
      hasTaskEnded: () => false,
      sink: {
        sendData: (piece) => {
          bytes += piece.length
          if (bytes >= BYTES) over.abort()
          return Promise.resolve()
        },
        sendEvent: () => Promise.resolve(),
        sendHeartbeat: () => Promise.resolve(),
      },
    })
  })
}

/** Reads the engine's stream as the agent does, and discards it. */
function engineAlone(source: Source, socketPath: string): Promise<number> {
  return measure(source, async (_, { handle }) => {
    const record: unknown = JSON.parse(await readFile(join(handle.dir, 'container.json'), 'utf8'))
    const id = String(Reflect.get(Object(record), 'containerId'))
    const engine = new EngineClient(socketPath)
    const response = await engine.openStream({
      method: 'GET',
      path: `/containers/${id}/logs`,
      query: { follow: '1', stdout: '1', timestamps: '1' },
      signal: new AbortController().signal,
    })
    let lines = 0
    for await (const piece of response) {
      // Proof: binary streams of Node yield Buffers.
      for (const byte of piece as Buffer) if (byte === 10) lines += 1
      if (lines >= LINES) break
    }
    engine.close()
  })
}

/** The driver's reader on a complete log of the engine. */
async function readerAlone(): Promise<number> {
  const dir = await mkdtemp(join(tmpdir(), 'reeve-bench-'))
  const engine = await LogEngine.open(dir)
  engine.write(Array.from({ length: LINES }, (_, n) => Buffer.from(`${FIRST + n}${TEXT}\n`)))
  const startMs = performance.now()
  const follower = new LogFollower({
    engine: new EngineClient(engine.socketPath),
    containerId: 'c1',
    logs: {
      stdoutPrefix: join(dir, 'web.stdout'),
      stderrPrefix: join(dir, 'web.stderr'),
      maxFiles: 10,
      maxFileBytes: 10 * 1024 * 1024,
    },
    isTty: false,
    dir,
    clock: systemClock,
    isRunning: () => Promise.resolve(true),
    report: (message) => process.stdout.write(`${message}\n`),
  })
  await follower.finish()
  const rate = (LINES / (performance.now() - startMs)) * 1_000
  engine.close()
  await rm(dir, { recursive: true, force: true })
  return rate
}

async function main(): Promise<void> {
  const why = podmanUnavailable()
  if (why !== false || !existsSync(HELPER)) {
    process.stdout.write(`No bench: ${why === false ? 'the task helper is not built' : why}.\n`)
    return
  }
  const podman = await Podman.open()
  const stateDir = join(podman.dir, 'native')
  const helper = new NativeSupervisor({ program: HELPER, stateDir, clock: systemClock })
  try {
    await compare(podman, helper, stateDir)
  } finally {
    await helper.close()
    await podman.close()
  }
}

async function compare(
  { socketPath }: Podman,
  helper: NativeSupervisor,
  stateDir: string,
): Promise<void> {
  const policy = {
    allowPrivileged: false,
    allowVolumes: false,
    allowHostNamespaces: false,
    allowCaps: DEFAULT_CAPS,
    pidsMax: 4_096,
  }
  const driver = new DockerDriver({ clock: systemClock, socketPath, policy })
  const config = (text: string) => {
    return { image: TEST_IMAGE, network_mode: 'none', command: 'sh', args: ['-c', text] }
  }
  const container: Source = { driver, config }
  // The engine stores the log and the agent does not read it.
  const unread: Source = {
    driver,
    config: (text) => ({ ...config(text), logging: { type: 'json-file' } }),
  }
  const exec: Source = {
    driver: new ExecDriver({
      clock: systemClock,
      helper,
      stateDir,
      policy: {
        allowCaps: DEFAULT_CAPS,
        denyUsers: [],
        denyGroups: [],
        allowGroups: [],
        allowHostNamespaces: false,
        isCpuHard: false,
        pidsMax: 4_096,
        chrootEnv: undefined,
      },
    }),
    config: (text) => ({ command: '/bin/sh', args: ['-c', text] }),
  }
  const own = await engineAlone(unread, socketPath)
  const rows = [
    ['engine’s log stream, read by the bench alone', own],
    ['driver’s log reader, from an engine in memory', await readerAlone()],
    ['container, stored log', await stored(container)],
    ['container, follower', await followed(container)],
    ['exec task, stored log', await stored(exec)],
    ['exec task, follower', await followed(exec)],
  ] as const
  process.stdout.write(`${whole(LINES)} lines of ${BYTES / LINES} bytes, written at once\n`)
  printTable(
    ['output', 'lines/s', 'of the engine'],
    rows.map(([name, rate]) => [name, whole(rate), `${((rate / own) * 100).toFixed(0)} %`]),
  )
}

await main()
