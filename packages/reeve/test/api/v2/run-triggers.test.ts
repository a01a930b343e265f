import assert from 'node:assert/strict'
import { test } from 'node:test'
import { v2 } from '@reeve/contract'
import { aBody, NOT_FOUND, type Call, type GovernanceServer } from './harness.ts'
import { giveWorkspace } from './rows.ts'
import { aRunWorld, ENCRYPTED, uploadedConfiguration, type RunWorld } from './run-world.ts'
import { newWorkspace, patchWorkspace } from './workspace-calls.ts'

/** The workspace `app` is set off by the workspace `net`, whose plans are uploaded. */
async function aWorld() {
  const world = await aRunWorld()
  const { it, workspaceId: sourceId } = world
  const { id } = await newWorkspace(it, 'app')
  await uploadedConfiguration(it, id, { 'auto-queue-runs': false })
  const { data: trigger } = await it.created('createRunTrigger', asked(id, sourceId))
  return { ...world, sourceId, id, trigger }
}

function asked(id: string, sourceId: string, call: Call = {}): Call {
  const sourceable = { data: { type: 'workspaces', id: sourceId } }
  const body = aBody('run-triggers', undefined, { sourceable })
  return { params: { workspace_id: id }, body, ...call }
}

/** Applies a run of the source, as whoever uploads plans does it. */
async function applyInSource(world: RunWorld): Promise<string> {
  const { it } = world
  const { id } = await world.judged({}, ENCRYPTED)
  const params = { run_id: id }
  assert.equal((await it.call('applyRun', { params })).status, 202)
  await it.ok('reportRun', { params, body: { data: { type: 'runs', id, attributes: APPLIED } } })
  return id
}
const APPLIED = { status: 'applied' }

async function runsOf(it: GovernanceServer, id: string) {
  return (await it.ok('listWorkspaceRuns', { params: { workspace_id: id } })).data
}

test('run triggers: an applied run queues one run, which waits for confirmation', async () => {
  const world = await aWorld()
  const { it, id } = world
  const source = await applyInSource(world)
  const [run, ...others] = await runsOf(it, id)
  assert.equal(others.length, 0)
  const { attributes } = run ?? assert.fail('no run was queued')
  assert.deepEqual(
    [attributes.status, attributes['trigger-reason'], attributes['auto-apply']],
    ['pending', 'run-trigger', false],
  )
  assert.equal(attributes.message, `Run ${source} of workspace net was applied.`)
})

test('run triggers: the workspace says whether their runs confirm themselves', async () => {
  const world = await aWorld()
  const { it, id } = world
  const attributes = { 'auto-apply-run-trigger': true }
  const changed = await patchWorkspace(it, id, { attributes })
  assert.equal(changed.attributes['auto-apply-run-trigger'], true)
  await applyInSource(world)
  const [run] = await runsOf(it, id)
  assert.equal(run?.attributes['auto-apply'], true)
})

test('run triggers: a run that is not applied queues none, and neither does a deleted one', async () => {
  const world = await aWorld()
  const { it, id, trigger } = world
  const run = await world.judged({}, ENCRYPTED)
  await it.call('discardRun', { params: { run_id: run.id } })
  await it.done('deleteRunTrigger', { params: { run_trigger_id: trigger.id } })
  await applyInSource(world)
  assert.deepEqual(await runsOf(it, id), [])
})

test('run triggers: one that can queue no run says why, until it can', async () => {
  const world = await aWorld()
  const { it, sourceId } = world
  const { id } = await newWorkspace(it, 'empty')
  const { data } = await it.created('createRunTrigger', asked(id, sourceId))
  const problem = async () => {
    const read = await it.ok('readRunTrigger', { params: { run_trigger_id: data.id } })
    return read.data.attributes['error-message']
  }
  await applyInSource(world)
  assert.match((await problem()) ?? '', /no configuration yet/)
  await uploadedConfiguration(it, id, { 'auto-queue-runs': false })
  await applyInSource(world)
  assert.equal(await problem(), null)
  assert.equal((await runsOf(it, id)).length, 1)
})

test('run triggers: both ends list them, with what is asked to be included', async () => {
  const { it, id, sourceId, trigger } = await aWorld()
  const list = async (of: string, type?: string) => {
    const query = { include: 'sourceable', ...(type !== undefined && { [TYPE]: type }) }
    return await it.ok('listRunTriggers', { params: { workspace_id: of }, query })
  }
  const inbound = await list(id)
  assert.deepEqual(inbound.data, [trigger])
  assert.deepEqual(
    inbound.included?.map((one) => one.id),
    [sourceId],
  )
  assert.deepEqual((await list(id, 'outbound')).data, [])
  assert.deepEqual((await list(sourceId, 'outbound')).data, [trigger])
  const { attributes } = trigger
  assert.deepEqual([attributes['workspace-name'], attributes['sourceable-name']], ['app', 'net'])
})
const TYPE = 'filter[run-trigger][type]'

test('run triggers: a source is another workspace of the organization, once, up to the limit', async () => {
  const { it, id, sourceId } = await aWorld()
  const refused = async (source: string) => {
    const [status, text = ''] = await it.refusal('createRunTrigger', asked(id, source))
    return `${status} ${text}`
  }
  assert.match(await refused(id), /^422 .*must be another workspace$/)
  assert.match(await refused(sourceId), /^422 .*already been taken$/)
  assert.match(await refused('ws-nobody'), /^422 .*a workspace of the organization$/)
  for (let i = 1; i < v2.RUN_TRIGGERS_MAX; i++)
    await it.created('createRunTrigger', asked(id, (await newWorkspace(it, `s${i}`)).id))
  const one = await newWorkspace(it, 'more')
  assert.match(await refused(one.id), /^422 .*already has 20 sources/)
  for (let i = 1; i < v2.RUN_TRIGGERS_MAX; i++)
    await it.created('createRunTrigger', asked((await newWorkspace(it, `t${i}`)).id, sourceId))
  const [status, text] = await it.refusal('createRunTrigger', asked(one.id, sourceId))
  assert.match(`${status} ${text}`, /^422 .*already triggers 20 workspaces/)
})

test('run triggers: a team needs both ends to create one, and reads what it may', async () => {
  const { it, id, sourceId, trigger } = await aWorld()
  const admins = await it.team('acme', 'app admins')
  await giveWorkspace(it, { teamId: admins.id, workspaceId: id }, 'admin')
  const as = admins.token
  const params = { run_trigger_id: trigger.id }
  await it.ok('readRunTrigger', { params, as })
  await it.done('deleteRunTrigger', { params, as })
  const [status] = await it.refusal('createRunTrigger', asked(id, sourceId, { as }))
  assert.equal(status, 422)
  const readers = await it.team('acme', 'net readers')
  await giveWorkspace(it, { teamId: readers.id, workspaceId: sourceId }, 'read')
  await it.created('createRunTrigger', asked(id, sourceId))
  const outbound = { params: { workspace_id: sourceId }, query: { [TYPE]: 'outbound' } }
  const seen = await it.ok('listRunTriggers', { ...outbound, as: readers.token })
  assert.deepEqual(seen.data, [])
  const refused = await it.refusal('createRunTrigger', asked(sourceId, id, { as: readers.token }))
  assert.deepEqual(refused, NOT_FOUND)
})

for (const end of ['sourceId', 'id'] as const)
  test(`run triggers: they go with either workspace (${end})`, async () => {
    const world = await aWorld()
    const { it } = world
    await it.done('deleteWorkspace', { params: { workspace_id: world[end] } })
    assert.equal([...it.server.context.store.tables.run_triggers.rows()].length, 0)
  })
