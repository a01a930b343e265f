import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { VolumeMount, VolumeRequest } from '@reeve/contract'
import { anAssignment, aTask, mockDriver, turn } from '../../../test/build/agent.ts'
import { aRunner, type RunnerBench } from '../../../test/build/runner.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { until } from '../../../test/build/until.ts'
import type { TaskDriver } from '../driver.ts'
import { buildTaskHooks } from './task-hooks.ts'

function aRequest(fields: Partial<VolumeRequest> = {}): VolumeRequest {
  return {
    Name: 'data',
    Type: 'host',
    Source: 'shared',
    ReadOnly: false,
    Sticky: false,
    AccessMode: '',
    AttachmentMode: '',
    MountOptions: null,
    PerAlloc: false,
    ...fields,
  }
}

function aMount(fields: Partial<VolumeMount> = {}): VolumeMount {
  return {
    Volume: 'data',
    Destination: '/data',
    ReadOnly: false,
    PropagationMode: 'private',
    SELinuxLabel: '',
    ...fields,
  }
}

interface Wish {
  readonly request?: Partial<VolumeRequest>
  readonly mount?: Partial<VolumeMount>
  readonly isolation?: TaskDriver['isolation']
  readonly env?: Readonly<Record<string, string>>
  readonly restored?: (name: string) => Promise<void>
}

type Bench = RunnerBench & { readonly dir: string }

async function start(t: TestContext, wish: Wish): Promise<Bench> {
  const bench = await startBench(t, wish)
  await until('the task', () =>
    bench.runner.task('web').state.State === 'pending' ? undefined : true,
  )
  await turn()
  return bench
}

async function startBench(t: TestContext, wish: Wish): Promise<Bench> {
  const dir = await temporaryDirectory(t)
  await writeFile(join(dir, 'file'), '')
  const inner = mockDriver(new SimulatedClock())
  const driver: TaskDriver = {
    name: 'mock',
    isolation: wish.isolation ?? 'chroot',
    fingerprint: () => inner.fingerprint(),
    start: (launch) => inner.start(launch),
    recover: (handle) => inner.recover(handle),
  }
  const task = aTask({ VolumeMounts: [aMount(wish.mount)], Env: wish.env ?? null })
  const group = { Volumes: { data: aRequest(wish.request) } }
  const volumes = {
    shared: { Path: dir, ReadOnly: false },
    'shared[0]': { Path: dir, ReadOnly: false },
    fixed: { Path: dir, ReadOnly: true },
    broken: { Path: join(dir, 'file'), ReadOnly: false },
    gone: { Path: join(dir, 'nothing'), ReadOnly: false },
  }
  const bench = await aRunner(anAssignment({ tasks: [task], group }), {
    driverList: [driver],
    taskHooks: buildTaskHooks({
      volumes: {
        hostVolumes: () => volumes,
        waitForRestore: wish.restored ?? (() => Promise.resolve()),
      },
    }),
  })
  return { ...bench, driver: inner, dir }
}

const mounted: readonly (Wish & { readonly name: string; readonly readOnly: boolean })[] = [
  { name: 'a volume is mounted where the task wants it', readOnly: false },
  { name: 'the group may only read it', request: { ReadOnly: true }, readOnly: true },
  { name: 'the task may only read it', mount: { ReadOnly: true }, readOnly: true },
  { name: 'each allocation has its own', request: { PerAlloc: true }, readOnly: false },
  {
    name: 'the source may have references',
    request: { Source: '${V}' },
    env: { V: 'shared' },
    readOnly: false,
  },
  {
    name: 'a volume that is only read can be read',
    request: { Source: 'fixed', ReadOnly: true },
    readOnly: true,
  },
]
for (const { name, readOnly, ...wish } of mounted) {
  test(`volumes: ${name}`, async (t) => {
    const bench = await start(t, wish)
    assert.deepEqual(bench.driver.running[0]?.launch.mounts, [
      { hostPath: bench.dir, taskPath: '/data', readOnly },
    ])
  })
}

const refused: readonly (Wish & { readonly name: string; readonly message: RegExp })[] = [
  { name: 'a volume that the group has not', mount: { Volume: 'x' }, message: /has no volume "x"/ },
  { name: 'a volume that the node has not', request: { Source: 'y' }, message: /no volume "y"/ },
  { name: 'a name of every object', request: { Source: 'constructor' }, message: /no volume/ },
  { name: 'another kind', request: { Type: 'csi' }, message: /no csi volumes/ },
  { name: 'writing what is only read', request: { Source: 'fixed' }, message: /only be read/ },
  { name: 'a file', request: { Source: 'broken' }, message: /not a directory/ },
  { name: 'a path that is not there', request: { Source: 'gone' }, message: /ENOENT/ },
  { name: 'a relative mount path', mount: { Destination: 'data' }, message: /not a valid mount/ },
  { name: 'a mount path with ..', mount: { Destination: '/a/../b' }, message: /not a valid mount/ },
  { name: 'a driver without a root', isolation: 'none', message: /cannot mount volumes/ },
]
for (const { name, message, ...wish } of refused) {
  test(`volumes refuse ${name}`, async (t) => {
    const bench = await start(t, wish)
    const events = bench.runner.task('web').state.Events
    assert.ok(
      events.some((event) => message.test(event.DisplayMessage)),
      JSON.stringify(events),
    )
    assert.equal(bench.runner.task('web').state.Failed, true)
  })
}

test('a task waits for a volume that is being restored', async (t) => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const asked: string[] = []
  const restored = (name: string): Promise<void> => {
    asked.push(name)
    return promise
  }
  const bench = await startBench(t, { restored })
  await until('the hook', () => (asked.length === 0 ? undefined : true))
  await turn()
  assert.equal(bench.driver.running.length, 0)
  resolve()
  await until('the task', () => (bench.driver.running.length === 0 ? undefined : true))
  assert.deepEqual(asked, ['shared'])
})

test('a task that waits for a volume can be stopped', async (t) => {
  const restored = (): Promise<void> => new Promise(() => undefined)
  const { runner } = await startBench(t, { restored })
  await runner.stop()
  assert.equal(runner.task('web').state.State, 'dead')
})
