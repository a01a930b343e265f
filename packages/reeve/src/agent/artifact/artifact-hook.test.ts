import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, mkdir, readdir, readFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import type { TaskArtifact } from '@reeve/contract'
import { allocationId, anAssignment, aTask, turn } from '../../../test/build/agent.ts'
import { aTar } from '../../../test/build/archive.ts'
import { serveFiles, type ServedFiles } from '../../../test/build/artifact-bench.ts'
import { aRunner, type RunnerBench } from '../../../test/build/runner.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { until } from '../../../test/build/until.ts'
import { DiskWorkspace } from '../store/workspace.ts'
import { buildTaskHooks } from '../task/task-hooks.ts'
import type { ArtifactSettings } from './fetch-artifact.ts'

interface Bench extends RunnerBench {
  readonly allocationDir: string
  /** Waits for the event, and returns its message. */
  failure(): Promise<string>
}

interface BenchOptions {
  readonly paths: readonly string[]
  readonly files: ServedFiles
  readonly diskMB?: number
  readonly settings?: Partial<ArtifactSettings>
}

async function aBench(t: TestContext, options: BenchOptions): Promise<Bench> {
  const ending: (() => Promise<void>)[] = []
  t.after(async () => {
    for (const end of ending) await end()
  })
  const { url } = await serveFiles(t, options.files)
  const root = await temporaryDirectory(t)
  await chmod(root, 0o711)
  const Artifacts = options.paths.map((path): TaskArtifact => ({
    GetterSource: `${url}${path}`,
    GetterOptions: null,
    GetterHeaders: null,
    GetterMode: 'any',
    GetterInsecure: false,
    RelativeDest: 'local/',
    Chown: false,
  }))
  const EphemeralDisk = { SizeMB: options.diskMB ?? 10, Sticky: false, Migrate: false }
  const tasks = [aTask({ Artifacts })]
  const workspace = new DiskWorkspace(root)
  const artifacts = { allowsLocal: true, ...options.settings }
  const bench = await aRunner(anAssignment({ tasks, group: { EphemeralDisk } }), {
    workspace,
    taskHooks: buildTaskHooks({ artifacts }),
  })
  ending.push(() => bench.runner.destroy())
  return {
    ...bench,
    allocationDir: workspace.allocationDir(allocationId(1)),
    failure: () =>
      until('a failed download', () => {
        const { Events } = bench.runner.task('web').state
        return Events.find(({ Type }) => Type === 'Failed Artifact Download')?.DisplayMessage
      }),
  }
}

test('artifacts come with the disk of the allocation', async (t) => {
  const files = { '/a': Buffer.alloc(400_000, 'a'), '/b': Buffer.alloc(300_000, 'b') }
  const bench = await aBench(t, { paths: ['/a', '/b'], files, diskMB: 1 })
  await until('the task', () => (bench.driver.running.length > 0 ? true : undefined))
  const local = join(bench.allocationDir, 'web/local')
  assert.deepEqual((await readdir(local)).toSorted(), ['a', 'b'])
  assert.equal((await readFile(join(local, 'a'))).length, 400_000)
  assert.deepEqual((await readdir(bench.allocationDir)).toSorted(), ['alloc', 'web'])
})

test('an artifact that is larger than the disk of the allocation is refused', async (t) => {
  const bench = await aBench(t, {
    paths: ['/big'],
    files: { '/big': Buffer.alloc(2 ** 20) },
    diskMB: 1,
  })
  // The directories of the allocation take some of it already.
  assert.match(
    await bench.failure(),
    /^artifact http:\S+\/big: it does not fit on the allocation's disk: 0\.9\d* MiB of 1 MiB are left, .*ephemeral_disk\.size$/,
  )
  assert.deepEqual(await readdir(join(bench.allocationDir, 'web/local')), [])
})

test('a download that never ends is ended at the deadline', async (t) => {
  const reached = Promise.withResolvers<void>()
  const begin = (response: ServerResponse): void => {
    response.write('begin')
    reached.resolve()
  }
  const settings = { timeoutMs: 90_000 }
  const bench = await aBench(t, { paths: ['/slow'], files: { '/slow': begin }, settings })
  await reached.promise
  bench.clock.advance(89_999)
  await turn()
  assert.equal(bench.events('web').includes('Failed Artifact Download'), false)
  bench.clock.advance(1)
  assert.match(
    await bench.failure(),
    /^artifact http:\S+\/slow: it was not fetched within 90 s \(client\.artifact\.timeout\)$/,
  )
  assert.deepEqual((await readdir(bench.allocationDir)).toSorted(), ['alloc', 'web'])
})

test('a node without settings reaches no local address', async (t) => {
  const files = { '/a': Buffer.from('a') }
  const bench = await aBench(t, { paths: ['/a'], files, settings: { allowsLocal: false } })
  assert.match(
    await bench.failure(),
    /^Artifact source http:\S+\/a resolves to 127\.0\.0\.1, which this node does not allow \(client\.artifact\.allow_local = true permits it\)$/,
  )
})

const FILES = 10_000
/** Milliseconds of processor time, not of the clock: a busy machine must not fail the test. */
const TURN_MS_MAX = 50

test(`an archive of ${FILES} files does not block the event loop`, async (t) => {
  const tree = gzipSync(
    aTar(Array.from({ length: FILES }, (_, n) => ({ path: `d/f${n}`, text: 'x' }))),
  )
  const { url } = await serveFiles(t, { '/many.tar.gz': tree })
  const root = await temporaryDirectory(t)
  await mkdir(join(root, 'local'))
  const program = fileURLToPath(
    new URL('../../../test/build/fetch-and-measure.ts', import.meta.url),
  )
  const args = [program, `${url}/many.tar.gz`, root, String(FILES + 1)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  assert.equal((await readdir(join(root, 'local/d'))).length, FILES)
  const longestMs = Number(stdout)
  assert.ok(longestMs > 0 && longestMs < TURN_MS_MAX, `one turn took ${stdout} ms`)
})
