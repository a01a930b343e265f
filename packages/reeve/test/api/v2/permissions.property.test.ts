import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { v2 } from '@reeve/contract'
import fc from 'fast-check'
import { put } from '../../../src/state/index.ts'
import { aBody, someTags, type Call } from './harness.ts'
import { accessBody, buildWorld, plannedWorld, undone, type World } from './permission-world.ts'
import { aWorkspaceBody } from './workspace-calls.ts'

const ACME = { organization_name: 'acme' }

/** A call that succeeds, or fails for another reason, when the caller may; and is 404 otherwise. */
interface Probe {
  readonly promise: string
  readonly route: v2.V2RouteId
  readonly call: Omit<Call, 'as'>
  /** What is answered to who may: a success, or a refusal that is not about rights. */
  readonly may: number
  /** 404 unless given. */
  readonly mayNot?: number
}

type Flags = Readonly<Record<string, boolean>>

/** Somebody who calls. */
interface Caller {
  readonly name: string
  readonly as: string
}

/** Holds a resource's permissions against its routes; all false for who cannot read it. */
async function checkProbes(
  world: World,
  { name, as }: Caller,
  { what, flags, probes }: { what: string; flags: Flags; probes: readonly Probe[] },
): Promise<void> {
  for (const { promise, route, call, may, mayNot = 404 } of probes) {
    const { status, text } = await undone(world, () => world.it.call(route, { ...call, as }))
    const wanted = flags[promise] === true ? may : mayNot
    assert.equal(status, wanted, `${name}: ${promise} of ${what} is ${flags[promise]}: ${text}`)
  }
}

/** The permissions that a document shows; nothing when it is not found. */
async function permissionsOf(
  world: World,
  { as }: Caller,
  [route, params]: readonly [v2.V2RouteId, Readonly<Record<string, string>>],
): Promise<Flags | undefined> {
  const reply = await world.it.call(route, { params, as })
  if (reply.status === 404) return undefined
  assert.equal(reply.status, 200, reply.text)
  // A document of the contract whose resource has permissions.
  const { data } = reply.json as { data: { attributes: { permissions: Flags } } }
  return data.attributes.permissions
}

function projectProbes({ workspaceIds, projectIds, probeId }: World, id: string): readonly Probe[] {
  const params = { project_id: id }
  const inside = workspaceIds[projectIds.indexOf(id)] ?? ''
  const move = { params, body: { data: [{ type: 'workspaces', id: inside }] } }
  const tags = { params, body: { data: someTags({ t: 'v' }) } }
  // What is asked for changes nothing, or breaks a rule that is looked at after the rights.
  const taken = { params: ACME, body: aWorkspaceBody('w0', { projectId: id }) }
  const given = { body: accessBody('project', [probeId, id, { access: 'read' }]) }
  const teams = { query: { 'filter[project][id]': id } }
  const same = { params, body: aBody('projects', {}) }
  return [
    { promise: 'can-update', route: 'updateProject', call: same, may: 200 },
    { promise: 'can-destroy', route: 'deleteProject', call: { params }, may: 422 },
    { promise: 'can-create-workspace', route: 'createWorkspace', call: taken, may: 422 },
    { promise: 'can-move-workspace', route: 'moveWorkspaces', call: move, may: 204 },
    { promise: 'can-manage-tags', route: 'updateProjectTagBindings', call: tags, may: 200 },
    { promise: 'can-read-teams', route: 'listTeamProjectAccesses', call: teams, may: 200 },
    { promise: 'can-manage-teams', route: 'createTeamProjectAccess', call: given, may: 422 },
  ]
}

function workspaceProbes({ probeId }: World, id: string, flags: Flags): readonly Probe[] {
  const call = { params: { workspace_id: id } }
  const same = { ...call, body: aBody('workspaces', {}) }
  const tags = { ...call, body: { data: someTags({ t: 'v' }) } }
  const given = { body: accessBody('workspace', [probeId, id, { access: 'read' }]) }
  // Who may delete only safely is told so.
  const mayNot = flags['can-destroy'] === true ? 403 : 404
  return [
    { promise: 'can-update', route: 'updateWorkspace', call: same, may: 200 },
    { promise: 'can-force-delete', route: 'deleteWorkspace', call, may: 204, mayNot },
    { promise: 'can-unlock', route: 'unlockWorkspace', call, may: 409 },
    { promise: 'can-force-unlock', route: 'forceUnlockWorkspace', call, may: 409 },
    { promise: 'can-read-settings', route: 'listWorkspaceTagBindings', call, may: 200 },
    { promise: 'can-manage-tags', route: 'updateWorkspaceTagBindings', call: tags, may: 200 },
    // Who administers a workspace gives access to it, too.
    { promise: 'can-force-unlock', route: 'createTeamWorkspaceAccess', call: given, may: 422 },
  ]
}

/** Of a workspace that is locked: nothing is locked, deleted or run then, but rights count. */
function lockedProbes(id: string): readonly Probe[] {
  const call = { params: { workspace_id: id } }
  const workspace = { data: { type: 'workspaces', id } }
  const run = (attributes: object) => ({ body: aBody('runs', attributes, { workspace }) })
  const applied = run({ 'auto-apply': true })
  const destroyed = run({ 'is-destroy': true })
  return [
    { promise: 'can-lock', route: 'lockWorkspace', call, may: 409 },
    { promise: 'can-destroy', route: 'safeDeleteWorkspace', call, may: 409 },
    { promise: 'can-queue-run', route: 'createRun', call: run({}), may: 422 },
    { promise: 'can-queue-apply', route: 'createRun', call: applied, may: 422 },
    { promise: 'can-queue-destroy', route: 'createRun', call: destroyed, may: 422 },
  ]
}

function teamProbes(id: string): readonly Probe[] {
  const call = { params: { team_id: id } }
  const same = { ...call, body: aBody('teams', {}) }
  const nobody = { ...call, body: { data: [{ type: 'users', id: 'nobody' }] } }
  const token = { ...call, body: aBody('authentication-tokens', { 'expired-at': 'never' }) }
  return [
    { promise: 'can-update-visibility', route: 'updateTeam', call: same, may: 200 },
    { promise: 'can-update-membership', route: 'addTeamUsers', call: nobody, may: 400 },
    { promise: 'can-update-api-token', route: 'createTeamToken', call: token, may: 422 },
    { promise: 'can-view-api-token', route: 'readSingleTeamToken', call, may: 200 },
    { promise: 'can-destroy', route: 'deleteTeam', call, may: 204 },
  ]
}

function organizationProbes(): readonly Probe[] {
  const params = ACME
  const project = { params, body: aBody('projects', { name: 'one' }) }
  const team = { params, body: aBody('teams', { name: 'probe' }) }
  const key = { params, body: aBody('reserved-tag-keys', { key: '/' }) }
  const member = { params, body: aBody('organization-memberships', { email: '/' }) }
  const policy = { params, body: aBody('policies', { name: '/' }) }
  const same = { params, body: aBody('organizations', {}) }
  return [
    { promise: 'can-traverse', route: 'listWorkspaces', call: { params }, may: 200 },
    { promise: 'can-update', route: 'updateOrganization', call: same, may: 200 },
    { promise: 'can-create-project', route: 'createProject', call: project, may: 422 },
    { promise: 'can-create-team', route: 'createTeam', call: team, may: 422 },
    { promise: 'can-manage-tags', route: 'createReservedTagKey', call: key, may: 422 },
    { promise: 'can-manage-users', route: 'createOrganizationMembership', call: member, may: 422 },
    { promise: 'can-read-policies', route: 'listOrganizationPolicies', call: { params }, may: 200 },
    { promise: 'can-update-policies', route: 'createPolicy', call: policy, may: 422 },
    // Nobody here may: owners alone, and not the organization's token.
    { promise: 'can-destroy', route: 'deleteOrganization', call: { params }, may: 204 },
    { promise: 'can-update-api-token', route: 'readOrganizationToken', call: { params }, may: 200 },
  ]
}

async function lock(world: World, id: string): Promise<void> {
  const { store } = world.it.server.context
  const held = { byType: 'runs', byId: 'run-1', byName: 'run-1', reason: null } as const
  const row = { ...store.tables.workspaces.get(id), lock: held }
  await store.commit({ by: 'system', cause: undefined, changes: () => [put('workspaces', row)] })
    .durable
}

/** What the caller may read, by id, with the permissions that are shown. */
type Readable = ReadonlyMap<string, Flags>

async function checkCaller(world: World, caller: Caller): Promise<void> {
  const projects = new Map<string, Flags>()
  for (const id of world.projectIds) {
    const flags = await permissionsOf(world, caller, ['readProject', { project_id: id }])
    if (flags !== undefined) projects.set(id, flags)
    // A project that is not seen does not exist, where a workspace is to be made in it.
    const probes = projectProbes(world, id).filter(
      ({ route }) => flags !== undefined || route !== 'createWorkspace',
    )
    await checkProbes(world, caller, { what: `project ${id}`, flags: flags ?? {}, probes })
  }
  const workspaces = new Map<string, Flags>()
  for (const id of world.workspaceIds) {
    const flags = await permissionsOf(world, caller, ['readWorkspace', { workspace_id: id }])
    if (flags !== undefined) workspaces.set(id, flags)
    const about = { what: `workspace ${id}`, flags: flags ?? {} }
    const probes = workspaceProbes(world, id, about.flags)
    await checkProbes(world, caller, { ...about, probes })
    await undone(world, async () => {
      await lock(world, id)
      await checkProbes(world, caller, { ...about, probes: lockedProbes(id) })
    })
  }
  for (const id of [...world.teamIds, world.probeId]) {
    const flags = await permissionsOf(world, caller, ['readTeam', { team_id: id }])
    const about = { what: `team ${id}`, flags: flags ?? {}, probes: teamProbes(id) }
    await checkProbes(world, caller, about)
  }
  const flags = await permissionsOf(world, caller, ['readOrganization', ACME])
  const probes = organizationProbes()
  await checkProbes(world, caller, { what: 'the organization', flags: flags ?? {}, probes })
  if (flags === undefined) return
  await checkWorkspaceLists(world, caller, workspaces)
  await checkProjectLists(world, caller, projects)
  // What the organization says of workspaces holds in its default project.
  const inDefault = projects.get(world.projectIds[0] ?? '')?.['can-create-workspace']
  if (flags['can-create-workspace'] === true) assert.equal(inDefault, true, caller.name)
}

const WORKSPACE_QUERIES = [
  {},
  { sort: 'name' },
  { sort: '-name' },
  { sort: 'latest-change-at' },
  { 'search[name]': 'w' },
  { 'search[wildcard-name]': 'w*' },
  { 'search[exclude-tags]': 'none' },
  { include: 'project,organization,locked_by' },
]

/** Lists find and count what can be read, and nothing else, however they are asked. */
async function checkWorkspaceLists(world: World, { name, as }: Caller, readable: Readable) {
  const ids = [...readable.keys()].toSorted()
  for (const query of WORKSPACE_QUERIES) {
    const page = await world.it.ok('listWorkspaces', { params: ACME, query: { ...query }, as })
    const listed = page.data.map(({ id }) => id).toSorted()
    assert.deepEqual(listed, ids, `${name}: ${JSON.stringify(query)}`)
    assert.equal(page.meta.pagination['total-count'], ids.length)
    for (const { id, attributes } of page.data)
      assert.deepEqual(attributes.permissions, readable.get(id), `${name}: ${id}`)
  }
  for (const [tag, others] of [
    ['k0', 'k1'],
    ['k1', 'k0'],
  ] as const) {
    const tagged = { 'filter[tagged][0][key]': tag, 'filter[tagged][0][value]': '' }
    const wanted = ids.filter((id) => world.workspaceIds.indexOf(id) % 2 === (tag === 'k0' ? 0 : 1))
    for (const query of [tagged, { 'search[tags]': tag }, { 'search[exclude-tags]': others }]) {
      const page = await world.it.ok('listWorkspaces', { params: ACME, query, as })
      assert.deepEqual(page.data.map(({ id }) => id).toSorted(), wanted, JSON.stringify(query))
    }
  }
}

const RIGHT_FILTERS = {
  'filter[permissions][update]': 'can-update',
  'filter[permissions][create-workspace]': 'can-create-workspace',
  'filter[permissions][move-workspace]': 'can-move-workspace',
}

async function checkProjectLists(world: World, { name, as }: Caller, readable: Readable) {
  const list = async (
    query: Readonly<Record<string, string>>,
    holds: (flags: Flags) => boolean,
  ) => {
    const page = await world.it.ok('listProjects', { params: ACME, query, as })
    const wanted = [...readable].filter(([, flags]) => holds(flags)).map(([id]) => id)
    const found = page.data.map(({ id }) => id)
    assert.deepEqual(found.toSorted(), wanted.toSorted(), `${name}: ${JSON.stringify(query)}`)
    const counts = { total: readable.size, matching: wanted.length }
    assert.deepEqual(page.meta['status-counts'], counts)
    for (const { id, attributes } of page.data)
      assert.deepEqual(attributes.permissions, readable.get(id), `${name}: ${id}`)
  }
  await list({}, () => true)
  for (const [filter, right] of Object.entries(RIGHT_FILTERS))
    await list({ [filter]: 'true' }, (flags) => flags[right] === true)
}

test('permissions: what they promise, the routes do, and lists show no more, for random organizations', async () => {
  await fc.assert(
    fc.asyncProperty(plannedWorld, async (plan) => {
      const world = await buildWorld(plan)
      for (const [name, as] of Object.entries(world.callers)) await checkCaller(world, { name, as })
    }),
    { numRuns: 4 },
  )
})
