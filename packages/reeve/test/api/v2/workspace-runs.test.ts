import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RunRow } from '../../../src/model/index.ts'
import { put } from '../../../src/state/index.ts'
import { aBody, aGovernanceServer, NOT_FOUND, type GovernanceServer } from './harness.ts'
import { giveWorkspace } from './rows.ts'
import { listedNames, newWorkspace } from './workspace-calls.ts'

/** Stores a run; a test names only what it is about. */
async function aRun(
  it: GovernanceServer,
  fields: Pick<RunRow, 'id' | 'workspaceId' | 'status'> & Partial<RunRow>,
  resources = 0,
): Promise<void> {
  const { store } = it.server.context
  const { organizationId } = store.tables.workspaces.get(fields.workspaceId)
  const of = { organizationId, workspaceId: fields.workspaceId }
  const planId = `plan-${fields.id}`
  const run: RunRow = {
    ...of,
    planId,
    statusMs: {},
    message: null,
    source: 'api',
    commitSha: null,
    isDestroy: false,
    refresh: true,
    refreshOnly: false,
    planOnly: false,
    autoApply: false,
    allowEmptyApply: false,
    hasChanges: true,
    targetAddresses: [],
    replaceAddresses: [],
    variableNames: [],
    createdMs: 0,
    createdById: 'user-1',
    decision: null,
    ...fields,
  }
  const plan = {
    ...of,
    id: planId,
    runId: fields.id,
    status: 'finished',
    statusMs: {},
    counts: { additions: 0, changes: 0, destructions: 0, imports: 0, resources },
    hasChanges: true,
    bytes: null,
    frozenSets: null,
  } as const
  const changes = [put('runs', run), put('run_plans', plan)]
  await store.commit({ by: 'system', cause: undefined, changes: () => changes }).durable
}

async function aWorld() {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const ids: Record<string, string> = {}
  for (const name of ['a', 'b', 'c']) ids[name] = (await newWorkspace(it, name)).id
  const { a = '', b = '' } = ids
  await aRun(it, { id: 'run-b1', workspaceId: b, status: 'applied' }, 7)
  await aRun(it, { id: 'run-a1', workspaceId: a, status: 'errored' })
  await aRun(it, { id: 'run-a2', workspaceId: a, status: 'planned' })
  await aRun(it, { id: 'run-a3', workspaceId: a, status: 'planned', planOnly: true })
  return { it, a, b }
}

test('runs: a workspace shows its current and latest run and what they left', async () => {
  const { it, a, b } = await aWorld()
  const shown = async (id: string) => {
    const { data } = await it.ok('readWorkspace', { params: { workspace_id: id } })
    const { attributes, relationships } = data
    return [
      relationships['current-run'].data?.id,
      relationships['latest-run'].data?.id,
      attributes['resource-count'],
      attributes['run-failures'],
    ]
  }
  assert.deepEqual(await shown(a), ['run-a2', 'run-a3', 0, 1])
  assert.deepEqual(await shown(b), ['run-b1', 'run-b1', 7, 0])
})

test('W25 safe delete: a run on its way and resources that are there are in the way', async () => {
  const { it, a, b } = await aWorld()
  assert.deepEqual(await it.refusal('safeDeleteWorkspace', { params: { workspace_id: a } }), [
    409,
    'conflict: Workspace has a run that is being processed',
  ])
  assert.deepEqual(await it.refusal('safeDeleteWorkspace', { params: { workspace_id: b } }), [
    409,
    'conflict: Workspace manages 7 resource(s); destroy them first',
  ])
})

const LISTS = [
  { query: { 'filter[current-run][status]': 'applied' }, finds: ['b'] },
  { query: { 'filter[current-run][status]': 'applied, planned' }, finds: ['b', 'a'] },
  { query: { 'filter[current-run][status]': 'errored' }, finds: [] },
  { query: { sort: 'current-run.created-at' }, finds: ['b', 'a', 'c'] },
  { query: { sort: '-current-run.created-at' }, finds: ['a', 'b', 'c'] },
  { query: { sort: '-current-run.created-at', 'page[size]': '1' }, finds: ['a'] },
  { query: { sort: 'current-run.created-at', 'search[name]': 'a' }, finds: ['a'] },
]
for (const { query, finds } of LISTS)
  test(`runs: a list with ${JSON.stringify(query)} finds ${finds.join() || 'nothing'}`, async () => {
    const { it } = await aWorld()
    assert.deepEqual(await listedNames(it, query), finds)
  })

function aRunBody(workspaceId: string, attributes: object) {
  return aBody('runs', attributes, { workspace: { data: { type: 'workspaces', id: workspaceId } } })
}

test('include: the current and the latest run, each once', async () => {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const { id } = await newWorkspace(it, 'web')
  const run = await it.created('createRun', { body: aRunBody(id, {}) })
  const look = await it.created('createRun', { body: aRunBody(id, { 'plan-only': true }) })
  const query = { include: 'current_run,latest_run' }
  const { included = [] } = await it.ok('readWorkspace', { params: { workspace_id: id }, query })
  assert.deepEqual(
    included.map((one) => `${one.type} ${one.id}`),
    [`runs ${run.data.id}`, `runs ${look.data.id}`],
  )
})

test('runs: who may only plan queues none that applies itself, whatever the workspace says', async () => {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const { id } = await newWorkspace(it, 'web', { attributes: { 'auto-apply': true } })
  const { id: teamId, token: as } = await it.team('acme', 'planners')
  await giveWorkspace(it, { teamId, workspaceId: id }, 'plan')
  const { data } = await it.created('createRun', { body: aRunBody(id, {}), as })
  assert.equal(data.attributes['auto-apply'], false)
  for (const attributes of [{ 'auto-apply': true }, { 'is-destroy': true }])
    assert.deepEqual(
      await it.refusal('createRun', { body: aRunBody(id, attributes), as }),
      NOT_FOUND,
    )
  await it.created('createRun', {
    body: aRunBody(id, { 'is-destroy': true, 'plan-only': true }),
    as,
  })
})

test('auto-destroy: an apply restarts the clock, a destroy stops it', async () => {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const attributes = { 'auto-destroy-activity-duration': '1h' }
  const { id } = await newWorkspace(it, 'web', { attributes })
  const { store } = it.server.context
  for (const [isDestroy, found] of [
    [false, ['2026-01-01T01:00:01.000Z', 'scheduled']],
    [true, [null, 'destroyed']],
  ] as const) {
    const run = await it.created('createRun', { body: aRunBody(id, { 'is-destroy': isDestroy }) })
    const row = store.tables.runs.get(run.data.id)
    const confirmed = put('runs', { ...row, status: 'confirmed' })
    await store.commit({ by: 'system', cause: undefined, changes: () => [confirmed] }).durable
    it.server.clock.advance(1_000)
    const body = aBody('runs', { status: 'applied' })
    await it.ok('reportRun', { params: { run_id: run.data.id }, body })
    const { data } = await it.ok('readWorkspace', { params: { workspace_id: id } })
    const { 'auto-destroy-at': at, 'auto-destroy-status': status } = data.attributes
    assert.deepEqual([at, status], found)
  }
})

const filters: readonly [query: string, found: readonly string[]][] = [
  ['', ['run-a3', 'run-a2', 'run-a1']],
  ['filter[status]=planned', ['run-a3', 'run-a2']],
  ['filter[status]=planned,errored', ['run-a3', 'run-a2', 'run-a1']],
  ['filter[status]=planned, errored', ['run-a3', 'run-a2', 'run-a1']],
  ['filter[status]=planned,planned', ['run-a3', 'run-a2']],
  ['filter[status]=unknown', []],
  ['filter[operation]=plan_only', ['run-a3']],
  ['filter[operation]=plan_and_apply,destroy&filter[status]=errored', ['run-a1']],
  ['filter[source]=api', ['run-a3', 'run-a2', 'run-a1']],
  ['filter[source]=upload', []],
  ['search[basic]=RUN-A2', ['run-a2']],
  ['search[user]=nobody', []],
  ['search[commit]=abc', []],
  ['search[user]=&search[commit]=', ['run-a3', 'run-a2', 'run-a1']],
]
for (const [query, found] of filters)
  test(`runs: the list of a workspace with ${query === '' ? 'no filter' : query}`, async () => {
    const { it, a } = await aWorld()
    const headers = { authorization: `Bearer ${it.root}` }
    const url = `/api/v2/workspaces/${a}/runs?${query}`
    const { status, text } = await it.server.send('GET', url, { headers })
    assert.equal(status, 200, text)
    // Checked by the contract where rows have real ids.
    const { data } = JSON.parse(text) as { readonly data: readonly { readonly id: string }[] }
    assert.deepEqual(
      data.map(({ id }) => id),
      found,
    )
  })
