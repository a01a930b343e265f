import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import { v2, type Route } from '@reeve/contract'
import { aBody, type Call } from './harness.ts'
import { accessBody } from './permission-world.ts'
import { aRunWorld, NATIVE_ENCRYPTED, OPA_ENCRYPTED } from './run-world.ts'

/**
 * Every route of the table, called by who holds every permission in an organization of its own and
 * none in this one. A new route is tested as soon as it is in the contract.
 */

const ACME = { organization_name: 'acme' }

type Params = Readonly<Record<string, string>>

const STATE_BYTES = Buffer.from(
  JSON.stringify({
    version: 4,
    serial: 1,
    lineage: 'b5a9e6c2-8c0f-4f0c-9d43-0a2a8f3f3b11',
    outputs: { address: { value: '10.0.0.1', type: 'string' } },
    resources: [],
  }),
)
const STATE = {
  serial: 1,
  lineage: 'b5a9e6c2-8c0f-4f0c-9d43-0a2a8f3f3b11',
  md5: createHash('md5').update(STATE_BYTES).digest('hex'),
  state: STATE_BYTES.toString('base64'),
}

/** One of everything that a path can name, in one organization. */
async function aFullOrganization(t: TestContext) {
  const world = await aRunWorld()
  t.after(() => world.close())
  const { it, workspaceId } = world
  await world.set('native', { name: 'native', policies: [{ name: 'one', code: NATIVE_ENCRYPTED }] })
  const setId = await world.set('opa', {
    name: 'opa',
    policies: [{ name: 'two', code: OPA_ENCRYPTED, level: 'advisory' }],
  })
  const policyId = await world.policy({ name: 'three', code: NATIVE_ENCRYPTED })
  const judged = await world.judged()
  const stage = await world.stage(judged)
  const check = await world.check(judged)
  const evaluations = await it.ok('listPolicyEvaluations', { params: { task_stage_id: stage.id } })
  const evaluation = evaluations.data[0] ?? assert.fail('the run has a policy evaluation')
  const outcomes = await it.ok('listPolicySetOutcomes', {
    params: { policy_evaluation_id: evaluation.id },
  })
  const project = await it.project('acme', { name: 'payments' })
  const team = await it.team('acme', 'builders')
  const alice = await it.user('alice')
  const membership = await it.created('createOrganizationMembership', {
    params: ACME,
    body: aBody('organization-memberships', { email: 'alice@example.com' }),
  })
  const onProject = await it.created('createTeamProjectAccess', {
    body: accessBody('project', [team.id, project.id, { access: 'read' }]),
  })
  const onWorkspace = await it.created('createTeamWorkspaceAccess', {
    body: accessBody('workspace', [team.id, workspaceId, { access: 'read' }]),
  })
  const key = await it.created('createReservedTagKey', {
    params: ACME,
    body: aBody('reserved-tag-keys', { key: 'cost', 'disable-overrides': false }),
  })
  const parameter = await it.created('createPolicySetParameter', {
    params: { policy_set_id: setId },
    body: aBody('vars', { key: 'k', value: 'v', category: 'policy-set' }),
  })
  const empty = await it.created('createPolicySet', {
    params: ACME,
    body: aBody('policy-sets', { name: 'versioned', kind: 'native' }),
  })
  const version = await it.created('createPolicySetVersion', {
    params: { policy_set_id: empty.data.id },
  })
  const inWorkspace = { params: { workspace_id: workspaceId } }
  const workspaceData = { type: 'workspaces', id: workspaceId }
  const variable = await it.created('createWorkspaceVariable', {
    ...inWorkspace,
    body: aBody('vars', { key: 'region', value: 'eu', category: 'env' }),
  })
  const variableSet = await it.created('createVariableSet', {
    params: ACME,
    body: aBody('varsets', { name: 'cloud' }, { workspaces: { data: [workspaceData] } }),
  })
  const setVariable = await it.created('createVariableSetVariable', {
    params: { variable_set_id: variableSet.data.id },
    body: aBody('vars', { key: 'region', value: 'eu', category: 'env' }),
  })
  const configuration = await it.created('createConfigurationVersion', {
    ...inWorkspace,
    body: aBody('configuration-versions'),
  })
  const { data: source } = await it.created('createWorkspace', {
    params: ACME,
    body: aBody('workspaces', { name: 'source' }),
  })
  const runTrigger = await it.created('createRunTrigger', {
    ...inWorkspace,
    body: aBody('run-triggers', undefined, {
      sourceable: { data: { type: 'workspaces', id: source.id } },
    }),
  })
  const notifications = await it.created('createNotificationConfiguration', {
    ...inWorkspace,
    body: aBody('notification-configurations', {
      name: 'hook',
      'destination-type': 'generic',
      url: 'https://receiver.example',
    }),
  })
  await it.ok('lockWorkspace', inWorkspace)
  const state = await it.created('createStateVersion', {
    ...inWorkspace,
    body: aBody('state-versions', STATE),
  })
  await it.ok('unlockWorkspace', inWorkspace)
  const outputs = await it.ok('listStateVersionOutputs', {
    params: { state_version_id: state.data.id },
  })
  await it.created('createOrganizationToken', { params: ACME })
  const token = await it.ok('readSingleTeamToken', { params: { team_id: team.id } })
  const params: Params = {
    ...ACME,
    workspace_id: workspaceId,
    workspace_name: 'net',
    project_id: project.id,
    team_id: team.id,
    user_id: alice.id,
    organization_membership_id: membership.data.id,
    team_project_id: onProject.data.id,
    team_workspace_id: onWorkspace.data.id,
    reserved_tag_key_id: key.data.id,
    policy_id: policyId,
    policy_set_id: setId,
    parameter_id: parameter.data.id,
    policy_set_version_id: version.data.id,
    run_id: judged.id,
    run_trigger_id: runTrigger.data.id,
    notification_configuration_id: notifications.data.id,
    plan_id: judged.relationships.plan.data.id,
    policy_check_id: check.id,
    task_stage_id: stage.id,
    policy_evaluation_id: evaluation.id,
    policy_set_outcome_id: outcomes.data[0]?.id ?? assert.fail('the evaluation has an outcome'),
    token_id: token.data.id,
    variable_id: variable.data.id,
    variable_set_id: variableSet.data.id,
    set_variable_id: setVariable.data.id,
    configuration_version_id: configuration.data.id,
    state_version_id: state.data.id,
    state_version_output_id: outputs.data[0]?.id ?? assert.fail('the state has an output'),
  }
  return { it, params }
}

type World = Awaited<ReturnType<typeof aFullOrganization>>

/** Callers that hold everything there is, in an organization of their own. */
async function strangersOf({ it }: World): Promise<readonly Caller[]> {
  const { token: owner } = await it.user('mallory')
  const there = { organization_name: 'elsewhere' }
  await it.created('createOrganization', {
    as: owner,
    body: aBody('organizations', { name: 'elsewhere', email: 'mallory@example.com' }),
  })
  const organization = await it.created('createOrganizationToken', { params: there, as: owner })
  const access = Object.fromEntries(v2.ORGANIZATION_ACCESS.map((name) => [name, true]))
  const team = await it.team('elsewhere', 'everything', access)
  return [
    { who: 'the owner of another organization', as: owner },
    { who: 'the token of another organization', as: organization.data.attributes.token },
    { who: 'a team of another organization with every access', as: team.token },
  ]
}

/**
 * A team that administers another project and another workspace of the same organization, and has
 * this access to the ones that the paths name.
 */
async function neighbourOf({ it, params }: World, here: 'none' | 'read'): Promise<Caller> {
  const project = await it.project('acme', { name: 'other' })
  const { data: workspace } = await it.created('createWorkspace', {
    params: ACME,
    body: aBody('workspaces', { name: 'other' }),
  })
  const team = await it.team('acme', 'neighbours')
  const given = [
    ['project', project.id, 'admin'],
    ['workspace', workspace.id, 'admin'],
    ...(here === 'none'
      ? []
      : ([
          ['project', params['project_id'] ?? '', here],
          ['workspace', params['workspace_id'] ?? '', here],
        ] as const)),
  ] as const
  for (const [what, id, access] of given) {
    const body = accessBody(what, [team.id, id, { access }])
    const route = what === 'project' ? 'createTeamProjectAccess' : 'createTeamWorkspaceAccess'
    await it.created(route, { body })
  }
  return { who: 'a team that administers a neighbour', as: team.token }
}

interface Caller {
  readonly who: string
  readonly as: string
}

const NAMED_WORKSPACE = {
  'filter[organization][name]': 'acme',
  'filter[workspace][name]': 'net',
}

/** Queries and bodies of the routes that name what they are about there, not in the path. */
function calls(params: Params): Readonly<Partial<Record<v2.V2RouteId, Omit<Call, 'as'>>>> {
  const { workspace_id = '', project_id = '', team_id = '' } = params
  const workspace = { data: { type: 'workspaces', id: workspace_id } }
  const admin = { access: 'admin' }
  return {
    findWorkspaceVariables: { query: NAMED_WORKSPACE },
    listStateVersions: { query: NAMED_WORKSPACE },
    createRun: { body: aBody('runs', {}, { workspace }) },
    listTeamProjectAccesses: { query: { 'filter[project][id]': project_id } },
    listTeamWorkspaceAccesses: { query: { 'filter[workspace][id]': workspace_id } },
    createTeamProjectAccess: { body: accessBody('project', [team_id, project_id, admin]) },
    createTeamWorkspaceAccess: { body: accessBody('workspace', [team_id, workspace_id, admin]) },
  }
}

/** Not about one organization, or about the caller itself. Their answers must name none of it. */
const OPEN: ReadonlySet<string> = new Set<v2.V2RouteId>([
  'createOrganization',
  'listOrganizations',
  'listOwnOrganizationMemberships',
  'ping',
  'readAccount',
  'readAuditEvents',
  'updateAccount',
])

/** Everything that belongs to one project or one workspace. */
const OF_ONE_PLACE =
  /:(?:workspace_|project_id|run_|plan_|policy_check_|task_stage_|policy_evaluation_|policy_set_outcome_|team_project_|team_workspace_)/

// The table has its own ids as keys.
const ids = (Object.keys(v2.v2Routes) as readonly v2.V2RouteId[]).filter(takesTokens)

/** Not those that are opened by a key in the path, or by the token of one phase of a run. */
function takesTokens(id: v2.V2RouteId): boolean {
  const { path } = v2.v2Routes[id]
  return !path.includes(':upload_key') && !path.includes(':phase_id')
}

async function callAs(world: World, id: v2.V2RouteId, as: string) {
  const { params, it } = world
  const route: Route = v2.v2Routes[id]
  const body = route.body === undefined ? {} : { body: { data: {} } }
  return await it.call(id, { params, ...body, ...calls(params)[id], as })
}

test('every object that a path can name is there', async (t) => {
  const world = await aFullOrganization(t)
  for (const id of ids.filter(isReadOfJson)) {
    const { status, text } = await callAs(world, id, world.it.root)
    assert.equal(status, 200, `${id}: ${text}`)
  }
})

/** The runs of this world are judged only; what was executed has a test of its own. */
function isReadOfJson(id: v2.V2RouteId): boolean {
  const { methods, answers }: Route = v2.v2Routes[id]
  if (v2.v2Routes[id].path.includes(':apply_id')) return false
  return methods[0] === 'GET' && answers[200]?.contentType === undefined && !OPEN.has(id)
}

test('permissions in another organization give nothing in this one', async (t) => {
  const world = await aFullOrganization(t)
  for (const { who, as } of await strangersOf(world)) {
    // The first use of a token is written down.
    await world.it.ok('readAccount', { as })
    for (const id of ids)
      await t.test(`${id}: ${who}`, async () => {
        const before = world.it.server.context.store.index
        const { status, text } = await callAs(world, id, as)
        for (const name of ['acme', ...Object.values(world.params)])
          assert.ok(!text.includes(`"${name}"`), `${id} names ${name}`)
        if (OPEN.has(id)) return
        assert.ok(status === 403 || status === 404, `${status} ${text}`)
        assert.equal(world.it.server.context.store.index, before, 'nothing was written')
      })
  }
})

/** Routes of one project or workspace; who may read may use the GET routes. */
const ofOnePlace = {
  none: (id: v2.V2RouteId) => isOfOnePlace(id),
  read: (id: v2.V2RouteId) => isOfOnePlace(id) && v2.v2Routes[id].methods[0] !== 'GET',
} as const

function isOfOnePlace(id: v2.V2RouteId): boolean {
  return OF_ONE_PLACE.test(v2.v2Routes[id].path) || Object.hasOwn(calls({}), id)
}

for (const here of ['none', 'read'] as const)
  test(`permissions in another project or workspace give nothing to who has ${here} here`, async (t) => {
    const world = await aFullOrganization(t)
    const { who, as } = await neighbourOf(world, here)
    // As above.
    await world.it.ok('readAccount', { as })
    for (const id of ids.filter(ofOnePlace[here]))
      await t.test(`${id}: ${who}`, async () => {
        const before = world.it.server.context.store.index
        const { status, text } = await callAs(world, id, as)
        assert.ok(status === 403 || status === 404, `${status} ${text}`)
        assert.equal(world.it.server.context.store.index, before, 'nothing was written')
      })
  })
