import assert from 'node:assert/strict'
import { link, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { FakeEngine } from '../../../test/build/fake-engine.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { until } from '../../../test/build/until.ts'
import { readDockerConfig } from './docker-config.ts'
import { DEFAULT_DOCKER_SETTINGS, DOCKER_LIMITS } from './docker-policy.ts'
import { EngineClient } from './engine-client.ts'
import { ImagePuller, PullProgress } from './image-puller.ts'

interface PullBench {
  readonly engine: FakeEngine
  readonly clock: SimulatedClock
  readonly images: ImagePuller
  readonly dir: string
  /** Lets the pulls end. */
  finish(): void
}

const NAME = 'far/away:2'

/** A registry whose pulls send two lines and then stand still. */
async function openBench(t: TestContext): Promise<PullBench> {
  const dir = await temporaryDirectory(t)
  const engine = await FakeEngine.open(dir)
  const held = Promise.withResolvers<void>()
  engine.pullsEnd = held.promise
  engine.registry.set(NAME, [
    { status: 'Pulling fs layer', id: 'a' },
    { status: 'Already exists', id: 'b' },
    { status: 'Downloading', id: 'a', progressDetail: { current: 5 * 2 ** 20, total: 2 ** 24 } },
  ])
  const client = new EngineClient(engine.socketPath)
  t.after(() => {
    held.resolve()
    client.close()
    engine.close()
  })
  const clock = new SimulatedClock()
  const settings = DEFAULT_DOCKER_SETTINGS
  const images = new ImagePuller({ engine: client, clock, authFile: undefined, settings })
  return { engine, clock, images, dir, finish: () => held.resolve() }
}

interface Waiting {
  readonly done: Promise<string>
  readonly reports: readonly string[]
  readonly stop: AbortController
}

/** A task that wants the image; `done` is empty when it got it, else why not. */
function want(bench: PullBench, timeout = '5m', fields: object = {}): Waiting {
  const reports: string[] = []
  const stop = new AbortController()
  const config = readDockerConfig({ image: NAME, image_pull_timeout: timeout, ...fields })
  const wish = {
    taskDir: bench.dir,
    signal: stop.signal,
    report: (message: string) => void reports.push(message),
  }
  const done = bench.images.ensure(config, wish).then(
    () => '',
    (thrown: unknown) => String(thrown instanceof Error ? thrown.message : thrown),
  )
  return { done, reports, stop }
}

const pullsOf = ({ engine }: PullBench): number =>
  engine.requests.filter(({ line }) => line === 'POST /images/create').length

const begun = (bench: PullBench, count = 1): Promise<true> =>
  until(`${count} pulls`, () => (pullsOf(bench) === count ? true : undefined))

test('pulls: progress is reported immediately and then at increasing intervals', async (t) => {
  const bench = await openBench(t)
  const task = want(bench, '1h')
  await begun(bench)
  assert.deepEqual(task.reports, ['Downloading image far/away:2'])
  // The lines of the engine come through a real socket.
  await until('the progress', () => {
    bench.clock.advance(DOCKER_LIMITS.pullReportInitialDelayMs)
    return task.reports.at(-1)?.includes('layers') === true ? true : undefined
  })
  assert.equal(
    task.reports.at(-1),
    'Downloading image far/away:2: 1 of 2 layers, 5.0 MiB of 16 MiB',
  )
  bench.finish()
  assert.equal(await task.done, '')
})

test('pulls: reports of an hour leave room for other events', async (t) => {
  const bench = await openBench(t)
  const task = want(bench, '2h')
  await begun(bench)
  for (let minute = 0; minute < 60; minute += 1) {
    bench.clock.advance(60_000)
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.ok(task.reports.length <= 10, String(task.reports.length))
  task.stop.abort()
  await task.done
})

test('pulls: one that is stopped ends at once, and so does the engine’s', async (t) => {
  const bench = await openBench(t)
  const task = want(bench)
  await begun(bench)
  task.stop.abort()
  assert.equal(await task.done, 'cannot fetch image far/away:2: it was interrupted')
  await until('the engine to hear of it', () => (bench.engine.cutPulls === 1 ? true : undefined))
})

test('pulls: tasks that share one have timeouts of their own', async (t) => {
  const bench = await openBench(t)
  const hasty = want(bench, '2s')
  await begun(bench)
  const patient = want(bench, '5m')
  await until('both to wait', () => (patient.reports.length === 1 ? true : undefined))
  bench.clock.advance(2_000)
  assert.match(await hasty.done, /^cannot fetch image far\/away:2: it took longer than 2s/)
  assert.match(await hasty.done, /raise image_pull_timeout$/)
  assert.equal(bench.engine.cutPulls, 0)
  bench.finish()
  assert.equal(await patient.done, '')
  assert.equal(pullsOf(bench), 1)
})

test('pulls: the last task that leaves ends it, and the next one begins another', async (t) => {
  const bench = await openBench(t)
  const [first, second] = [want(bench, '2s'), want(bench, '3s')]
  await until('both', () => (first.reports.length + second.reports.length === 2 ? true : undefined))
  bench.clock.advance(3_000)
  assert.match(await first.done, /longer than 2s/)
  assert.match(await second.done, /longer than 3s/)
  const third = want(bench)
  await begun(bench, 2)
  bench.finish()
  assert.equal(await third.done, '')
  assert.equal(bench.engine.cutPulls, 1)
})

test('pulls: with another login it is another pull', async (t) => {
  const bench = await openBench(t)
  const auth = [{ username: 'ann', password: 'secret7' }]
  const [first, second] = [want(bench), want(bench, '5m', { auth })]
  await begun(bench, 2)
  bench.finish()
  assert.deepEqual(await Promise.all([first.done, second.done]), ['', ''])
})

test('pulls: one that receives nothing is given up before its time', async (t) => {
  const bench = await openBench(t)
  const task = want(bench, '1h')
  await begun(bench)
  const ended = task.done.then((message) => ({ message }))
  const { message } = await until('the end of the pull', async () => {
    bench.clock.advance(DEFAULT_DOCKER_SETTINGS.pullActivityMs)
    return Promise.race([ended, new Promise<undefined>((go) => setImmediate(go, undefined))])
  })
  assert.match(message, /: nothing was received for 2m0s \(pull_activity_timeout\)$/)
})

test('pulls: a registry’s words are shown without control characters', async (t) => {
  const bench = await openBench(t)
  bench.finish()
  bench.engine.registry.set(NAME, [{ error: `denied \u001b[2J\n${'x'.repeat(5_000)}` }])
  const message = await want(bench).done
  assert.match(message, /^cannot fetch image far\/away:2: denied \[2J xxx/)
  assert.ok(message.length < 1_100)
})

test('progress: endless lines, layers and single lines are bounded', () => {
  const progress = new PullProgress()
  for (let id = 0; id < 5_000; id += 1) {
    progress.read(
      `{"status":"Downloading","id":"l${id}","progressDetail":{"current":9,"total":1}}\n`,
    )
  }
  assert.match(progress.summary(), new RegExp(`of ${DOCKER_LIMITS.layersMax} layers`))
  const line = 'x'.repeat(DOCKER_LIMITS.progressLineCharsMax)
  for (let piece = 0; piece < 100; piece += 1) progress.read(line)
  progress.read('","error":"no"}\n{"error":"boom"}')
  progress.finish()
  assert.equal(progress.error, 'boom')
})

test('progress: lines may be cut anywhere', () => {
  const text = '{"status":"Pulling fs layer","id":"a"}\r\n{"status":"Pull complete","id":"a"}\n'
  for (let cut = 0; cut <= text.length; cut += 1) {
    const progress = new PullProgress()
    progress.read(text.slice(0, cut))
    progress.read(text.slice(cut))
    progress.finish()
    assert.equal(progress.summary(), '1 of 1 layers')
  }
})

const archives = [
  { file: 'local/none.tar', message: /^load: "local\/none\.tar" is not there$/ },
  { file: 'local/link.tar', message: /is not a file of the task$/ },
  { file: '/etc/hostname', message: /is not a file of the task$/ },
  { file: 'local', message: /is not a file of the task$/ },
]
for (const { file, message } of archives) {
  test(`load: ${file} is refused`, async (t) => {
    const bench = await openBench(t)
    await mkdir(join(bench.dir, 'local'))
    await symlink('/etc/hostname', join(bench.dir, 'local/link.tar'))
    assert.match(await want(bench, '5m', { load: file }).done, message)
  })
}

test('load: an archive is sent as it is', async (t) => {
  const bench = await openBench(t)
  await writeFile(join(bench.dir, 'image.tar'), 'layers')
  await link(join(bench.dir, 'image.tar'), join(bench.dir, 'other.tar'))
  const task = want(bench, '5m', { load: 'other.tar' })
  assert.equal(await task.done, '')
  assert.deepEqual(task.reports, ['Loading image from "other.tar"'])
  const sent = bench.engine.requests.find(({ line }) => line === 'POST /images/load')
  assert.equal(sent?.body, 'layers')
})
