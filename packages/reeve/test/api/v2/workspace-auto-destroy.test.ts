import assert from 'node:assert/strict'
import { test } from 'node:test'
import { v2 } from '@reeve/contract'
import { ClockLoop } from '../../../src/control/index.ts'
import { AutoDestroyLoop } from '../../../src/governance/index.ts'
import { put } from '../../../src/state/index.ts'
import { aBody, aGovernanceServer, type GovernanceServer } from './harness.ts'
import { uploadedConfiguration } from './run-world.ts'
import { aWorkspaceBody, inProject, newWorkspace, patchWorkspace } from './workspace-calls.ts'

const HOUR_MS = 3_600_000
const ACME = { organization_name: 'acme' }
const START = Date.parse('2026-01-01T00:00:00Z')

async function aWorld() {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const plain = (await it.project('acme', { name: 'plain' })).id
  const three = await it.project('acme', { name: 'three', ...lasting('3d') })
  return { it, plain, three: three.id }
}

function lasting(duration: string | null) {
  return { 'auto-destroy-activity-duration': duration }
}

/** Duration, time in hours after the start, status, and whether it inherits. */
function facts({ attributes }: v2.Workspace) {
  const at = attributes['auto-destroy-at']
  return [
    attributes['auto-destroy-activity-duration'],
    at === null ? null : (Date.parse(at) - START) / HOUR_MS,
    attributes['auto-destroy-status'],
    attributes['inherits-project-auto-destroy'],
  ]
}

test('W20 auto-destroy-at: set, kept when absent, changed, cleared', async () => {
  const { it } = await aWorld()
  const at = (time: string | null) => ({ 'auto-destroy-at': time })
  const made = await newWorkspace(it, 'web', { attributes: at('2026-01-02T00:00:00Z') })
  assert.deepEqual(facts(made), [null, 24, 'scheduled', true])
  const kept = await patchWorkspace(it, made.id, { attributes: { description: 'x' } })
  assert.deepEqual(facts(kept), [null, 24, 'scheduled', true])
  const changed = await patchWorkspace(it, made.id, { attributes: at('2026-01-03T01:00:00+01:00') })
  assert.deepEqual(facts(changed), [null, 48, 'scheduled', true])
  assert.deepEqual(facts(await patchWorkspace(it, made.id, { attributes: at(null) })), [
    null,
    null,
    null,
    true,
  ])
})

test('W21 duration: on its own, then explicitly never', async () => {
  const { it, three } = await aWorld()
  const off = { 'inherits-project-auto-destroy': false }
  const attributes = { ...lasting('14d'), ...off }
  const made = await newWorkspace(it, 'web', { attributes, projectId: three })
  assert.deepEqual(facts(made), ['14d', 14 * 24, 'scheduled', false])
  const never = await patchWorkspace(it, made.id, { attributes: { ...lasting(null), ...off } })
  assert.deepEqual(facts(never), [null, null, null, false])
})

test('P26 inherit: a new workspace has what the answer to the project’s creation says', async () => {
  const { it } = await aWorld()
  const { id, attributes } = await it.project('acme', { name: 'new', ...lasting('3d') })
  const workspace = await newWorkspace(it, 'web', { projectId: id })
  const name = 'auto-destroy-activity-duration'
  assert.equal(workspace.attributes[name], attributes[name])
})

test('inherit: the value of the project, from the first and after every change of it', async () => {
  const { it, three } = await aWorld()
  const made = await newWorkspace(it, 'web', { projectId: three })
  assert.deepEqual(facts(made), ['3d', 72, 'scheduled', true])
  const own = { ...lasting('1h'), 'inherits-project-auto-destroy': false }
  const other = await newWorkspace(it, 'own', { projectId: three, attributes: own })
  const body = aBody('projects', lasting('2h'))
  await it.ok('updateProject', { params: { project_id: three }, body })
  const read = async (id: string) =>
    facts((await it.ok('readWorkspace', { params: { workspace_id: id } })).data)
  assert.deepEqual(await read(made.id), ['2h', 2, 'scheduled', true])
  assert.deepEqual(await read(other.id), ['1h', 1, 'scheduled', false])
  const back = await patchWorkspace(it, other.id, {
    attributes: { 'inherits-project-auto-destroy': true },
  })
  assert.deepEqual(facts(back), ['2h', 2, 'scheduled', true])
})

test('inherit: a move by PATCH takes the value of the new project, an override stays', async () => {
  const { it, plain, three } = await aWorld()
  const { id } = await newWorkspace(it, 'web', { projectId: plain })
  const moved = await patchWorkspace(it, id, { relationships: inProject(three) })
  assert.deepEqual(facts(moved), ['3d', 72, 'scheduled', true])
  await patchWorkspace(it, id, {
    attributes: { ...lasting('1d'), 'inherits-project-auto-destroy': false },
  })
  const kept = await patchWorkspace(it, id, { relationships: inProject(plain) })
  assert.deepEqual(facts(kept), ['1d', 24, 'scheduled', false])
})

const MUST_MATCH =
  'invalid attribute: Auto destroy activity duration is inherited: the workspace auto destroy ' +
  'duration must match project auto destroy duration; set inherits-project-auto-destroy to false ' +
  'to override it'

const INHERITED_CASES = [
  { project: 'three', given: lasting('3d'), found: ['3d', true] },
  { project: 'three', given: lasting('4d'), found: MUST_MATCH },
  { project: 'three', given: lasting(null), found: MUST_MATCH },
  {
    project: 'three',
    given: { ...lasting('4d'), 'inherits-project-auto-destroy': true },
    found: MUST_MATCH,
  },
  { project: 'plain', given: lasting(null), found: [null, true] },
  { project: 'plain', given: lasting('4d'), found: ['4d', false] },
  {
    project: 'plain',
    given: { ...lasting('4d'), 'inherits-project-auto-destroy': true },
    found: MUST_MATCH,
  },
] as const
for (const { project, given, found } of INHERITED_CASES)
  test(`inherit: ${JSON.stringify(given)} in the project ${project}`, async () => {
    const world = await aWorld()
    const { it } = world
    const body = aWorkspaceBody('web', { projectId: world[project], attributes: given })
    const { id } = await newWorkspace(it, 'other', { projectId: world[project] })
    const change = { params: { workspace_id: id }, body: aBody('workspaces', given) }
    if (typeof found === 'string') {
      assert.deepEqual(await it.refusal('createWorkspace', { params: ACME, body }), [422, found])
      assert.deepEqual(await it.refusal('updateWorkspace', change), [422, found])
      return
    }
    for (const { data, meta } of [
      await it.created('createWorkspace', { params: ACME, body }),
      await it.ok('updateWorkspace', change),
    ]) {
      const [duration, , , inherits] = facts(data)
      assert.deepEqual([duration, inherits], found)
      // A value that was not requested is shown.
      assert.equal(meta?.notices?.length, inherits === true ? undefined : 1)
    }
  })

function aLoop(it: GovernanceServer, checkClock = (): void => undefined): AutoDestroyLoop {
  const log = {
    warn: (fields: object, what: string) => assert.fail(`${what} ${JSON.stringify(fields)}`),
  }
  return new AutoDestroyLoop({ context: it.server.context, log, checkClock })
}

test('loop: what is due is marked within a minute, once, and the event stream tells it', async () => {
  const { it, three } = await aWorld()
  const loop = aLoop(it)
  loop.start()
  const { id } = await newWorkspace(it, 'web', { projectId: three })
  const { id: later } = await newWorkspace(it, 'db')
  const read = async (one: string) =>
    facts((await it.ok('readWorkspace', { params: { workspace_id: one } })).data)
  it.server.clock.advance(72 * HOUR_MS - 1)
  assert.deepEqual(await read(id), ['3d', 72, 'scheduled', true])
  const { store } = it.server.context
  const events: string[] = []
  store.log.subscribe((commits) => {
    for (const { Topic, Type, Key } of commits.flatMap((commit) => commit.events))
      events.push(`${Topic} ${Type} ${Key}`)
  })
  it.server.clock.advance(60_000)
  assert.deepEqual(await read(id), ['3d', null, 'destroying', true])
  assert.deepEqual(await read(later), [null, null, null, true])
  it.server.clock.advance(10 * 60_000)
  await store.whenDurable()
  assert.deepEqual(events, [`Workspace WorkspaceUpdated ${id}`])
  loop.stop()
})

test('loop: a clock that jumps destroys nothing, a deadline after a canceled run included', async () => {
  const { it, id, loop, runs, status } = await aDueWorkspace()
  const { store, clock } = it.server.context
  loop.runOnce()
  const [run] = await runs()
  await it.call('cancelRun', { params: { run_id: run?.id ?? '' } })
  const silent = () => undefined
  const log = { info: silent, warn: silent, error: silent }
  const clockLoop = new ClockLoop({ store, clock, log, copiesGlobalTokens: false })
  const checked = aLoop(it, () => clockLoop.check())
  clockLoop.start()
  it.server.clock.advance(HOUR_MS)
  it.server.clock.jump(365 * 24 * HOUR_MS)
  checked.runOnce()
  const dueMs = () => (store.tables.workspaces.get(id).autoDestroyAtMs ?? 0) - clock.nowMs()
  assert.deepEqual([status(), dueMs()], ['scheduled', 71 * HOUR_MS])
  it.server.clock.advance(71 * HOUR_MS)
  checked.runOnce()
  assert.equal(status(), 'destroying')
  clockLoop.stop()
})

test('loop: a time that was moved or taken away is not acted on', async () => {
  const { it, three } = await aWorld()
  const loop = aLoop(it)
  const { id } = await newWorkspace(it, 'web', { projectId: three })
  const gone = await newWorkspace(it, 'gone', { projectId: three })
  loop.runOnce()
  await patchWorkspace(it, id, { attributes: { 'auto-destroy-at': '2026-02-01T00:00:00Z' } })
  await it.done('deleteWorkspace', { params: { workspace_id: gone.id } })
  it.server.clock.advance(100 * HOUR_MS)
  loop.runOnce()
  assert.equal(it.server.context.store.tables.workspaces.get(id).autoDestroyStatus, 'scheduled')
  it.server.clock.advance(1_000 * HOUR_MS)
  loop.runOnce()
  const row = it.server.context.store.tables.workspaces.get(id)
  assert.deepEqual([row.autoDestroyStatus, row.autoDestroyAtMs], ['destroying', null])
  // A new time schedules it anew.
  const again = await patchWorkspace(it, id, {
    attributes: { 'auto-destroy-at': '2027-01-01T00:00:00Z' },
  })
  assert.equal(again.attributes['auto-destroy-status'], 'scheduled')
})

test('loop: more than one commit’s worth is marked in one round', async () => {
  const { it, three } = await aWorld()
  const loop = aLoop(it)
  await Promise.all(
    Array.from({ length: 501 }, (_, i) => newWorkspace(it, `w${i}`, { projectId: three })),
  )
  it.server.clock.advance(72 * HOUR_MS)
  loop.runOnce()
  const rows = [...it.server.context.store.tables.workspaces.rows()]
  assert.ok(rows.every(({ autoDestroyStatus }) => autoDestroyStatus === 'destroying'))
})

/** A workspace of the project with a duration, with files, an hour after its time. */
async function aDueWorkspace(attributes: object = {}) {
  const { it, three } = await aWorld()
  const { id } = await newWorkspace(it, 'web', { projectId: three, attributes })
  await uploadedConfiguration(it, id, { 'auto-queue-runs': false })
  it.server.clock.advance(73 * HOUR_MS)
  const loop = aLoop(it)
  const runs = async () => (await it.ok('listWorkspaceRuns', { params: { workspace_id: id } })).data
  const status = () => it.server.context.store.tables.workspaces.get(id).autoDestroyStatus
  return { it, id, loop, runs, status }
}

test('loop: where runs execute here, one that destroys is queued and confirms itself', async () => {
  const { loop, runs, status } = await aDueWorkspace()
  loop.runOnce()
  loop.runOnce()
  const [run, ...others] = await runs()
  assert.deepEqual([others.length, status()], [0, 'destroying'])
  const { attributes, relationships } = run ?? assert.fail('no run was queued')
  assert.deepEqual(
    [attributes.status, attributes['is-destroy'], attributes['auto-apply']],
    ['pending', true, true],
  )
  assert.equal(attributes['trigger-reason'], 'auto-destroy')
  assert.match(
    attributes.message ?? '',
    /^Auto-destroy: due since 2026-01-04T00:00:00.000Z. Inactivity limit 3d.$/,
  )
  assert.match(relationships['created-by'].data.id, /^user-/)
})

test('loop: the queue of an organization takes no more than its limit in one commit', async () => {
  const { it, three } = await aWorld()
  const ids: string[] = []
  for (const name of ['a', 'b']) {
    const { id } = await newWorkspace(it, name, { projectId: three })
    await uploadedConfiguration(it, id, { 'auto-queue-runs': name === 'a' })
    ids.push(id)
  }
  const { store } = it.server.context
  const [run] = [...store.tables.runs.rows()]
  const filled = Array.from({ length: v2.RUNS_PENDING_MAX - 2 }, (_, i) =>
    put('runs', { ...(run ?? assert.fail()), id: `run-x${i}` }),
  )
  await store.commit({ by: 'system', cause: undefined, changes: () => filled }).durable
  it.server.clock.advance(73 * HOUR_MS)
  const warnings: string[] = []
  const { context } = it.server
  const log = { warn: (_fields: object, text: string) => void warnings.push(text) }
  const loop = new AutoDestroyLoop({ context, log, checkClock: () => undefined })
  loop.runOnce()
  const statuses = ids.map((id) => store.tables.workspaces.get(id).autoDestroyStatus)
  assert.deepEqual(new Set(statuses), new Set(['destroying', 'scheduled']))
  assert.deepEqual(warnings, ['destroy run could not be queued'])
})

test('loop: nothing is queued where runs execute elsewhere', async () => {
  const { loop, runs, status } = await aDueWorkspace({ 'execution-mode': 'local' })
  loop.runOnce()
  assert.deepEqual([(await runs()).length, status()], [0, 'destroying'])
})

test('loop: whoever cancels the run that destroys is active: the duration begins anew', async () => {
  const { it, id, loop, runs, status } = await aDueWorkspace()
  loop.runOnce()
  const [run] = await runs()
  await it.call('cancelRun', { params: { run_id: run?.id ?? '' } })
  assert.equal(status(), 'scheduled')
  const { autoDestroyAtMs } = it.server.context.store.tables.workspaces.get(id)
  assert.equal(((autoDestroyAtMs ?? 0) - START) / HOUR_MS, 73 + 72)
})
