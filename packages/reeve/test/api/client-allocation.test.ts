import assert from 'node:assert/strict'
import { access, rm } from 'node:fs/promises'
import { test } from 'node:test'
import type { AllocationUsage, HostUsage } from '@reeve/contract'
import { until } from '../build/until.ts'
import { aNodeWorld, shell } from './node-world.ts'

const POST = { method: 'POST' } as const

test('signal: reaches one task or all that run, and is an event', async (t) => {
  const { server, run, driver } = await aNodeWorld(t)
  const mock = (Name: string) => ({ Name, Driver: 'mock', Config: {} })
  const { id, row } = await run([mock('one'), mock('two')])
  await until('both to run', () => {
    const states = ['one', 'two'].map((name) => row().TaskStates?.[name]?.State)
    return states.every((state) => state === 'running') || undefined
  })
  const params = { alloc_id: id }
  const body = { Signal: 'SIGHUP', Task: 'two' }
  assert.deepEqual(await server.ok('signalAllocation', { params, body }), {})
  const signals = () =>
    Object.fromEntries(driver.running.map((task) => [task.launch.handle.task, task.signals]))
  assert.deepEqual(signals(), { one: [], two: ['SIGHUP'] })
  await server.ok('signalAllocation', { params, body: { Signal: 'SIGUSR1' } })
  assert.deepEqual(signals(), { one: ['SIGUSR1'], two: ['SIGHUP', 'SIGUSR1'] })
  await until('the events', () => {
    const types = row().TaskStates?.['two']?.Events?.map((event) => event.Type) ?? []
    return types.filter((type) => type === 'Signaling').length === 2 || undefined
  })
})

test('restart: one task, all that run, or all; the body may name the task either way', async (t) => {
  const { server, run } = await aNodeWorld(t)
  const setUp = shell('true', { Name: 'set-up', Lifecycle: { Hook: 'prestart', Sidecar: false } })
  const { id, row } = await run([setUp, shell('sleep 300'), shell('sleep 300', { Name: 'api' })])
  const restarts = () =>
    ['set-up', 'web', 'api'].map((name) => row().TaskStates?.[name]?.Restarts ?? 0)
  const settled = async (wanted: readonly number[]) => {
    await until(`the restarts ${wanted.join()}`, () => {
      const states = [row().TaskStates?.['web']?.State, row().TaskStates?.['api']?.State]
      const isRunning = states.every((state) => state === 'running')
      return (isRunning && restarts().join() === wanted.join()) || undefined
    })
  }
  await settled([0, 0, 0])
  const params = { alloc_id: id }
  await server.ok('restartAllocation', { params, body: { TaskName: 'web' } })
  await settled([0, 1, 0])
  await server.ok('restartAllocation', { params, body: { Task: 'api' } })
  await settled([0, 1, 1])
  await server.ok('restartAllocation', { params })
  await settled([0, 2, 2])
  const reasons = (task: string) =>
    row().TaskStates?.[task]?.Events?.flatMap(({ RestartReason }) => RestartReason ?? []) ?? []
  assert.ok(reasons('web').includes('User requested task to restart'))
  assert.ok(reasons('web').includes('User requested running tasks to restart'))
  await server.ok('restartAllocation', { params, body: { AllTasks: true } })
  await until('the lifecycle to begin again', () => {
    const all = ['set-up', 'web', 'api'].every((task) =>
      reasons(task).includes('User requested all tasks to restart'),
    )
    const { web, api } = row().TaskStates ?? {}
    return (all && web?.State === 'running' && api?.State === 'running') || undefined
  })
})

test('signal and restart: what cannot be done is told with its text', async (t) => {
  const { run, get } = await aNodeWorld(t)
  const { id } = await run([shell('sleep 300')])
  const ended = await run([shell('exit 0')], { status: 'complete', job: { Type: 'batch' } })
  const unknown = '00000000-0000-4000-8000-00000000ffff'
  const at = (alloc: string, verb: string) => `/v1/client/allocation/${alloc}/${verb}`
  const HUP = { Signal: 'SIGHUP' }
  const cases: readonly (readonly [string, unknown, number, string | RegExp])[] = [
    [at(id, 'signal'), undefined, 400, 'Failed to decode body: Request body is empty'],
    [at(id, 'signal'), '{', 400, /^Failed to decode body: /],
    [at(unknown, 'signal'), HUP, 404, `Unknown allocation "${unknown}"`],
    [at('x', 'signal'), HUP, 400, 'alloc lookup failed: UUID must be 36 characters'],
    [at(id, 'signal'), { ...HUP, Task: 'other' }, 400, 'Task not found'],
    [at(id, 'signal'), { Signal: 'SIGNOT', Task: 'web' }, 400, 'unknown signal "SIGNOT"'],
    [at(id, 'signal'), { Signal: '', Task: 'web' }, 400, 'unknown signal ""'],
    [
      at(id, 'signal'),
      { Signal: 'SIGNOT' },
      400,
      '1 error occurred:\n\t* Failed to signal task: web, err: unknown signal "SIGNOT"\n\n',
    ],
    [at(ended.id, 'signal'), { ...HUP, Task: 'web' }, 400, 'Task not running'],
    [at(id, 'restart'), '{', 400, /./],
    [at(unknown, 'restart'), {}, 404, `Unknown allocation "${unknown}"`],
    [at(id, 'restart'), { TaskName: 'other' }, 400, 'Could not find task runner for task: other'],
    [
      at(id, 'restart'),
      { TaskName: 'web', AllTasks: true },
      400,
      'task name cannot be set when restarting all tasks',
    ],
    [at(ended.id, 'restart'), {}, 400, 'restart of an alloc that should not run'],
    [at(ended.id, 'restart'), 'null', 400, 'restart of an alloc that should not run'],
  ]
  for (const [path, body, status, text] of cases) {
    const got = await get(path, { ...POST, body })
    const what = `${path} ${JSON.stringify(body)}`
    assert.equal(got.status, status, `${what}: ${got.text}`)
    if (typeof text === 'string') assert.equal(got.text, text, what)
    else assert.match(got.text, text)
  }
})

test('pause: a scheduled task is paused, run and given back, and its node says so', async (t) => {
  const { server, run, get } = await aNodeWorld(t)
  // A window of a minute on one day of the year: outside it but for that minute.
  const Schedule = { Cron: { Start: '0 0 1 1 *', End: '1 0', Timezone: 'UTC' } }
  const mock = (Name: string, more = {}) => ({ Name, Driver: 'mock', Config: {}, ...more })
  const { id, row } = await run([mock('web', { Schedule }), mock('plain')])
  const params = { alloc_id: id }
  const stateIs = async (State: string, Paused: string) =>
    await until(`the task to be ${State} ${Paused}`, () => {
      // Stored rows leave out what is zero.
      const { State: state = 'pending', Paused: paused = '' } = row().TaskStates?.['web'] ?? {}
      return (state === State && paused === Paused) || undefined
    })
  const read = async () =>
    (await server.ok('readAllocationPause', { params, query: { task: 'web' } })).ScheduleState
  await stateIs('pending', 'scheduled_pause')
  assert.equal(await read(), 'scheduled')
  for (const [ScheduleState, State, Paused] of [
    ['run', 'running', 'force_run'],
    ['pause', 'pending', 'force_pause'],
    ['run', 'running', 'force_run'],
    ['scheduled', 'pending', 'scheduled_pause'],
  ] as const) {
    await server.ok('pauseAllocation', { params, body: { Task: 'web', ScheduleState } })
    await stateIs(State, Paused)
    assert.equal(await read(), ScheduleState)
  }
  const types = row().TaskStates?.['web']?.Events?.map(({ Type }) => Type) ?? []
  assert.ok(types.includes('Pausing') && types.includes('Running'), types.join())
  const path = `/v1/client/allocation/${id}/pause`
  const cases: readonly (readonly [unknown, string])[] = [
    [undefined, 'Request body is empty'],
    [{ Task: 'web', ScheduleState: 'stop' }, 'Not a valid task schedule state'],
    [{ Task: 'web' }, 'Not a valid task schedule state'],
    [{ Task: 'other', ScheduleState: 'run' }, 'unknown task name "other"'],
    [
      { Task: 'plain', ScheduleState: 'pause' },
      'task "plain" has no schedule block; only scheduled tasks can be paused and resumed',
    ],
  ]
  for (const [body, text] of cases) {
    const got = await get(path, { ...POST, body })
    assert.deepEqual([got.status, got.text], [400, text])
  }
  const unknown = await get(`${path}?task=other`)
  assert.deepEqual([unknown.status, unknown.text], [400, 'unknown task name "other"'])
})

test('stats: what the tasks and the node use', async (t) => {
  const { server, run, agent } = await aNodeWorld(t)
  const { id } = await run([shell('while :; do :; done')])
  const params = { alloc_id: id }
  await server.ok('readAllocationStats', { params })
  const usage: AllocationUsage = await until('time to be used', async () => {
    const read = await server.ok('readAllocationStats', { params })
    return read.ResourceUsage.CpuStats.Percent > 0 ? read : undefined
  })
  assert.deepEqual(Object.keys(usage.Tasks), ['web'])
  assert.ok(usage.ResourceUsage.MemoryStats.RSS > 0)
  const [status, text] = await server.refusal('readAllocationStats', {
    params,
    query: { task: 'other' },
  })
  assert.deepEqual([status, text], [400, 'unknown task name "other"'])
  const host: HostUsage = await server.ok('readClientStats', { query: { node_id: agent.nodeId } })
  assert.ok(host.Memory.Total > host.Memory.Free)
  assert.ok(host.CPU.length > 0 && host.Uptime > 0 && host.AllocDirStats.Size > 0)
})

test('checks: an allocation without checks has none', async (t) => {
  const { server, run } = await aNodeWorld(t)
  const { id } = await run([{ Driver: 'mock', Config: {} }])
  const params = { alloc_id: id }
  assert.deepEqual(await server.ok('readClientAllocationChecks', { params }), {})
  assert.deepEqual(await server.ok('readAllocationChecks', { params }), {})
})

test('gc: removes the directory of what has ended, and nothing else', async (t) => {
  const { server, run, agent, get } = await aNodeWorld(t)
  const live = await run([shell('sleep 300')])
  const batch = { status: 'complete', job: { Type: 'batch' } } as const
  const [one, two] = [await run([shell('exit 0')], batch), await run([shell('exit 0')], batch)]
  const exists = (path: string) =>
    access(path).then(
      () => true,
      () => false,
    )
  const refused = [400, 'No such allocation on client, or allocation not eligible for GC']
  const collect = (id: string) => server.call('collectAllocation', { params: { alloc_id: id } })
  const ineligible = await collect(live.id)
  assert.deepEqual([ineligible.status, ineligible.text], refused)
  assert.equal((await collect(one.id)).status, 200)
  const again = await collect(one.id)
  assert.deepEqual([again.status, again.text], refused)
  assert.deepEqual(await Promise.all([one, two].map(({ directory }) => exists(directory))), [
    false,
    true,
  ])
  const gone = await get(`/v1/client/fs/ls/${one.id}`)
  assert.deepEqual(
    [gone.status, gone.text],
    [404, `state for allocation ${one.id} not found on client`],
  )
  await server.ok('collectClient', { query: { node_id: agent.nodeId } })
  assert.deepEqual(await Promise.all([one, two, live].map(({ directory }) => exists(directory))), [
    false,
    false,
    true,
  ])
})

test('gc: files that an agent before this one removed are told as removed', async (t) => {
  const { run, get } = await aNodeWorld(t)
  const { id, directory } = await run([shell('exit 0')], {
    status: 'complete',
    job: { Type: 'batch' },
  })
  await rm(directory, { recursive: true })
  const text = `state for allocation ${id} not found on client`
  for (const path of [`ls/${id}`, `logs/${id}?task=main&type=stdout`]) {
    const gone = await get(`/v1/client/fs/${path}`)
    assert.deepEqual([gone.status, gone.text], [404, text])
  }
})

test('client: a node must be named, known and connected', async (t) => {
  const { server, agent } = await aNodeWorld(t)
  const unknown = '00000000-0000-4000-8000-00000000ffff'
  const cases = [
    ['', 400, 'No local Node and node_id not provided'],
    ['x', 400, 'node lookup failed: UUID must be 36 characters'],
    [unknown, 404, `Unknown node "${unknown}"`],
  ] as const
  for (const [node_id, status, text] of cases)
    for (const route of ['readClientStats', 'collectClient'] as const)
      assert.deepEqual(await server.refusal(route, { query: { node_id } }), [status, text])
  await agent.stop()
  await until('the node to leave', async () => {
    const { text } = await server.call('readClientStats', { query: { node_id: agent.nodeId } })
    return text === 'No path to node' || undefined
  })
})

test('host usage: a node that never had an allocation tells it too', async (t) => {
  const { server, agent } = await aNodeWorld(t)
  const usage = await server.ok('readClientStats', { query: { node_id: agent.nodeId } })
  assert.ok((usage.AllocDirStats?.Size ?? 0) > 0)
})

test('task events: what the system says comes without paths of the host', async (t) => {
  const { run } = await aNodeWorld(t)
  const Templates = [
    { EmbeddedTmpl: 'x', DestPath: 'local/a' },
    { EmbeddedTmpl: 'x', DestPath: 'local/a/b' },
  ]
  const { row } = await run([shell('true', { Templates })], {
    status: 'failed',
    job: { Type: 'batch' },
  })
  const events = row().TaskStates?.['web']?.Events ?? []
  const texts = events.map(({ DisplayMessage }) => DisplayMessage)
  const told = texts.find((text) => text?.includes('is in the way')) ?? assert.fail(texts.join())
  assert.match(told, /ENOTDIR: not a directory$/)
  assert.ok(!texts.join().includes('/proc/self'), texts.join())
})
