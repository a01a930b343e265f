import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RunRow } from '../../../src/model/index.ts'
import { put } from '../../../src/state/index.ts'
import { aGovernanceServer, type GovernanceServer } from './harness.ts'
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
  await store.commit({ cause: undefined, changes: () => changes }).durable
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
