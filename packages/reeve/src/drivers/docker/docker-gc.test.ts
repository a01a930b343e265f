import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { systemClock } from '../../../test/build/agent.ts'
import { FakeEngine } from '../../../test/build/fake-engine.ts'
import { ProgramBench } from '../../../test/build/shell-bench.ts'
import { DEFAULT_CAPS } from '../capabilities.ts'
import { findDangling, type ListedContainer, mayMatchImage } from './docker-gc.ts'
import { DockerDriver } from './docker-driver.ts'
import { DEFAULT_GC, type DockerGc, type DockerPolicy } from './docker-policy.ts'

const policy: DockerPolicy = {
  allowPrivileged: false,
  allowVolumes: false,
  allowHostNamespaces: false,
  allowCaps: DEFAULT_CAPS,
  pidsMax: 4_096,
}

/** Everything that is not needed goes at once. */
const AT_ONCE: DockerGc = {
  ...DEFAULT_GC,
  imageDelayMs: 0,
  dangling: { ...DEFAULT_GC.dangling, periodMs: 0, graceMs: 0 },
}

const NOTHING = { handleIds: new Set<string>(), allocationIds: new Set<string>(), configs: [] }

interface Bench {
  readonly engine: FakeEngine
  readonly bench: ProgramBench
  /** The driver of the agent with this data directory. */
  readonly driver: (gc?: Partial<DockerGc>, agent?: string) => DockerDriver
}

async function openBench(t: TestContext): Promise<Bench> {
  let engine: FakeEngine | undefined
  const make = (gc: Partial<DockerGc> = {}, agent = 'one'): DockerDriver => {
    assert.ok(engine !== undefined)
    return new DockerDriver({
      clock: systemClock,
      socketPath: engine.socketPath,
      policy,
      gc: { ...AT_ONCE, ...gc },
      stateDir: join(bench.dir, agent),
    })
  }
  const bench: ProgramBench = await ProgramBench.open(t, async (dir) => {
    const fake = await FakeEngine.open(dir)
    engine = fake
    return {
      driver: new DockerDriver({ clock: systemClock, socketPath: fake.socketPath, policy }),
      config: (text) => ({ image: 'box:1', command: 'sh', args: ['-c', text] }),
      close: () => fake.close(),
    }
  })
  assert.ok(engine !== undefined)
  return { engine, bench, driver: make }
}

test('dangling: a container that no allocation knows is ended and removed', async (t) => {
  const { engine, bench, driver } = await openBench(t)
  const lost = bench.launch({ kind: 'runs' })
  const kept = bench.launch({ kind: 'runs' })
  for (const launch of [lost, kept]) (await driver().start(launch)).detach()
  // The next agent, with the same data directory.
  const found = await driver().reconcile({ ...NOTHING, handleIds: new Set([kept.handle.id]) })
  assert.equal(found.removedContainers.length, 1)
  assert.equal(engine.containerCount, 1)
  assert.equal((await driver().recover(kept.handle)).kind, 'attached')
})

test('dangling: containers of another agent on the same engine are left alone', async (t) => {
  const { engine, bench, driver } = await openBench(t)
  const task = await driver({}, 'other').start(bench.launch({ kind: 'runs' }))
  task.detach()
  assert.deepEqual((await driver().reconcile(NOTHING)).removedContainers, [])
  assert.equal(engine.containerCount, 1)
})

test('dangling: a dry run names containers and removes none', async (t) => {
  const { engine, bench, driver } = await openBench(t)
  const task = await driver().start(bench.launch({ kind: 'runs' }))
  task.detach()
  const dangling = { ...AT_ONCE.dangling, isDryRun: true }
  const found = await driver({ dangling }).reconcile(NOTHING)
  assert.deepEqual([found.removedContainers.length, found.isDryRun], [1, true])
  assert.equal(engine.containerCount, 1)
})

test('dangling: they are looked for once in each period, and not at all when switched off', async (t) => {
  const { engine, bench, driver } = await openBench(t)
  const task = await driver().start(bench.launch({ kind: 'runs' }))
  task.detach()
  const off = { ...AT_ONCE.dangling, isEnabled: false }
  assert.deepEqual((await driver({ dangling: off }).reconcile(NOTHING)).removedContainers, [])
  const hourly = driver({ dangling: { ...AT_ONCE.dangling, periodMs: 3_600_000 } })
  await hourly.reconcile({ ...NOTHING, handleIds: new Set([task.handle.id]) })
  assert.deepEqual((await hourly.reconcile(NOTHING)).removedContainers, [])
  assert.equal(engine.containerCount, 1)
})

const OURS: ListedContainer = {
  id: 'c1',
  imageId: 'i1',
  createdMs: 1_000,
  isRunning: true,
  handleId: 's1',
  networkAllocationId: '',
  agentId: 'a1',
}
const TASKS = { handleIds: new Set(['known']), allocationIds: new Set(['living']) }
const RULES = { agentId: 'a1', tasks: TASKS, nowMs: 2_000, graceMs: 500 }
const PAUSE = { handleId: '', networkAllocationId: 'gone' }
const danglingCases: readonly {
  readonly name: string
  readonly container?: Partial<ListedContainer>
  readonly rules?: {
    readonly graceMs?: number
    readonly agentId?: string
    readonly removesEnded?: boolean
  }
  readonly is: boolean
}[] = [
  { name: 'one that nobody knows', is: true },
  { name: 'one that an allocation knows', container: { handleId: 'known' }, is: false },
  { name: 'one exactly as old as the grace', rules: { graceMs: 1_000 }, is: true },
  { name: 'one that is younger', rules: { graceMs: 1_001 }, is: false },
  { name: 'one of another agent', container: { agentId: 'a2' }, is: false },
  { name: 'one without an agent', container: { agentId: '' }, rules: { agentId: '' }, is: false },
  { name: 'one that nobody started for a task', container: { handleId: '' }, is: false },
  { name: 'the network of an allocation that is gone', container: PAUSE, is: true },
  {
    name: 'the network of an allocation that lives',
    container: { ...PAUSE, networkAllocationId: 'living' },
    is: false,
  },
  { name: 'a young network', container: PAUSE, rules: { graceMs: 1_001 }, is: false },
  { name: 'the network of another agent', container: { ...PAUSE, agentId: 'a2' }, is: false },
  { name: 'one that has ended', container: { isRunning: false }, is: true },
  {
    name: 'one that has ended and is kept on purpose',
    container: { isRunning: false },
    rules: { removesEnded: false },
    is: false,
  },
]
for (const { name, container, rules, is } of danglingCases) {
  test(`dangling: ${name} is${is ? '' : ' not'} removed`, () => {
    const given = { ...RULES, removesEnded: true, ...rules }
    assert.equal(findDangling([{ ...OURS, ...container }], given).length, is ? 1 : 0)
  })
}

test('containers: an ended container is kept if the node is configured so', async (t) => {
  const { engine, bench, driver } = await openBench(t)
  const task = await driver({ removesContainers: false }).start(bench.script('exit 0'))
  await task.exited
  await task.destroyRecords()
  const keeps = driver({ removesContainers: false })
  assert.deepEqual((await keeps.reconcile(NOTHING)).removedContainers, [])
  assert.equal(engine.containerCount, 1)
})

/** Starts a task from `box:1` and takes it away again. */
async function useImage({ bench, driver }: Bench, gc: Partial<DockerGc> = {}): Promise<void> {
  const task = await driver(gc).start(bench.script('exit 0'))
  await task.exited
  await task.destroyRecords()
}

test('images: one that no allocation needs is removed by the next agent too', async (t) => {
  const bench = await openBench(t)
  bench.engine.images.add('untouched:1')
  await useImage(bench)
  const { removedImages } = await bench.driver().reconcile(NOTHING)
  assert.deepEqual(removedImages, ['box:1'])
  assert.deepEqual([...bench.engine.images], ['untouched:1'])
})

test('images: one is removed after its delay, also when the agent restarts meanwhile', async (t) => {
  const bench = await openBench(t)
  let nowMs = 1_000_000
  const clock = { ...systemClock, nowMs: () => nowMs }
  const make = (): DockerDriver =>
    new DockerDriver({
      clock,
      socketPath: bench.engine.socketPath,
      policy,
      gc: { ...AT_ONCE, imageDelayMs: 180_000 },
      stateDir: join(bench.bench.dir, 'one'),
    })
  const task = await make().start(bench.bench.script('exit 0'))
  await task.exited
  await task.destroyRecords()
  assert.deepEqual((await make().reconcile(NOTHING)).removedImages, [])
  nowMs += 179_999
  assert.deepEqual((await make().reconcile(NOTHING)).removedImages, [])
  nowMs += 1
  assert.deepEqual((await make().reconcile(NOTHING)).removedImages, ['box:1'])
})

test('images: one that a container or a waiting task needs is kept', async (t) => {
  const bench = await openBench(t)
  const running = await bench.driver().start(bench.bench.launch({ kind: 'runs' }))
  running.detach()
  const starts = new Set([running.handle.id])
  assert.deepEqual(
    (await bench.driver().reconcile({ ...NOTHING, handleIds: starts })).removedImages,
    [],
  )
  await running.destroyRecords()
  const configs = [{ image: 'box:${meta.release}' }]
  const waiting = { ...NOTHING, configs }
  assert.deepEqual((await bench.driver().reconcile(waiting)).removedImages, [])
  assert.deepEqual((await bench.driver().reconcile(NOTHING)).removedImages, ['box:1'])
})

test('images: are kept if the node is configured so', async (t) => {
  const bench = await openBench(t)
  await useImage(bench, { removesImages: false })
  assert.deepEqual(
    (await bench.driver({ removesImages: false }).reconcile(NOTHING)).removedImages,
    [],
  )
  assert.ok(bench.engine.images.has('box:1'))
})

const imageNames = [
  { wanted: 'box', name: 'box:latest', may: true },
  { wanted: 'box:1', name: 'box:1', may: true },
  { wanted: 'box:1', name: 'box:2', may: false },
  { wanted: 'team/${meta.app}:1', name: 'team/shop:1', may: true },
  { wanted: 'team/${meta.app}', name: 'team/shop:latest', may: true },
  { wanted: '${a}/x/${b}:1', name: 'r.test/x/y:1', may: true },
  { wanted: '${a}/x/${b}:1', name: 'r.test/z/y:1', may: false },
  { wanted: 'a${x}a', name: 'a', may: false },
  { wanted: '\u0000${', name: 'box:1', may: false },
]
for (const { wanted, name, may } of imageNames) {
  const text = `${JSON.stringify(wanted)} may${may ? '' : ' not'} start from ${name}`
  test(`images: ${text}`, () => assert.equal(mayMatchImage(wanted, name), may))
}
