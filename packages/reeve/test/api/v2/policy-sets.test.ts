import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { v2 } from '@reeve/contract'
import { aBody, aGovernanceServer, NOT_FOUND, type GovernanceServer } from './harness.ts'
import { aWorkspace } from './rows.ts'

const ACME = { organization_name: 'acme' }

interface Acme extends GovernanceServer {
  readonly project: GovernanceServer['project']
  readonly projectId: string
  readonly workspaceId: string
}

const WORKSPACE = 'ws-1111111111111111'

/** An organization with one more project and a workspace in it. */
async function withAcme(): Promise<Acme> {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const { id: projectId } = await it.project('acme', { name: 'payments' })
  await aWorkspace(it, projectId, { id: WORKSPACE, name: 'web' })
  return { ...it, projectId, workspaceId: WORKSPACE }
}

async function set(it: GovernanceServer, attributes: object, relationships?: object) {
  const body = aBody('policy-sets', attributes, relationships)
  return (await it.created('createPolicySet', { params: ACME, body })).data
}

async function refusedSet(it: GovernanceServer, attributes: object, relationships?: object) {
  const body = aBody('policy-sets', attributes, relationships)
  return await it.refusal('createPolicySet', { params: ACME, body })
}

async function show(it: GovernanceServer, id: string): Promise<v2.PolicySet> {
  return (await it.ok('readPolicySet', { params: { policy_set_id: id } })).data
}

async function patch(it: GovernanceServer, id: string, attributes: object, relationships?: object) {
  const body = aBody('policy-sets', attributes, relationships)
  return (await it.ok('updatePolicySet', { params: { policy_set_id: id }, body })).data
}

async function policy(it: GovernanceServer, name: string, kind: v2.PolicyKind = 'native') {
  const opa = { kind, query: 'data.reeve.deny' }
  const attributes = { name, 'enforcement-level': 'advisory', ...(kind === 'opa' ? opa : {}) }
  const body = aBody('policies', attributes)
  return (await it.ok('createPolicy', { params: ACME, body })).data.id
}

function members(type: string, ...ids: readonly string[]) {
  return { data: ids.map((id) => ({ id, type })) }
}

function idsOf(relationship: { readonly data: readonly { readonly id: string }[] } | undefined) {
  return relationship?.data.map(({ id }) => id)
}

// List

test('S1, S2 list: oldest first, equal to what create answered; pages and searches', async () => {
  const it = await withAcme()
  const agents = { 'agent-enabled': true }
  const made = [
    await set(it, { name: 'zeta', ...agents }),
    await set(it, { name: 'alpha', ...agents }),
    await set(it, { name: 'opa-set', kind: 'opa' }),
  ]
  const { data, meta } = await it.ok('listPolicySets', { params: ACME })
  assert.deepEqual(data, made)
  assert.equal(data[0]?.attributes['agent-enabled'], true)
  assert.equal(meta.pagination['total-count'], 3)
  const list = async (query: Record<string, string>) => {
    const page = await it.ok('listPolicySets', { params: ACME, query })
    const { 'current-page': current, 'total-count': total } = page.meta.pagination
    return [page.data.map(({ attributes }) => attributes.name), current, total]
  }
  assert.deepEqual(await list({ 'page[number]': '999', 'page[size]': '100' }), [[], 999, 3])
  assert.deepEqual(await list({ 'search[name]': 'ALP' }), [['alpha'], 1, 1])
  assert.deepEqual(await list({ 'filter[kind]': 'opa' }), [['opa-set'], 1, 1])
  assert.deepEqual(await list({ 'filter[versioned]': 'true' }), [[], 1, 0])
  const both = { 'filter[versioned]': 'false', 'filter[kind]': 'native' }
  assert.deepEqual(await list(both), [['zeta', 'alpha'], 1, 2])
})

test('S3 list: workspaces and exclusions are included, each once', async () => {
  const it = await withAcme()
  const attached = { workspaces: members('workspaces', it.workspaceId) }
  const excluded = { 'workspace-exclusions': members('workspaces', it.workspaceId) }
  await set(it, { name: 'first' }, attached)
  await set(it, { name: 'second', global: true }, excluded)
  await set(it, { name: 'third' })
  const { data, included } = await it.ok('listPolicySets', {
    params: ACME,
    query: { include: 'workspaces,workspace_exclusions' },
  })
  assert.equal(data.length, 3)
  assert.deepEqual(idsOf(data[0]?.relationships.workspaces), [it.workspaceId])
  assert.deepEqual(idsOf(data[1]?.relationships['workspace-exclusions']), [it.workspaceId])
  assert.deepEqual(
    included?.map(({ id, type, attributes }) => [type, id, attributes?.['name']]),
    [['workspaces', it.workspaceId, 'web']],
  )
  assert.equal(typeof included?.[0]?.attributes?.['created-at'], 'string')
})

test('list: what the caller may not read is named and not included', async () => {
  const it = await withAcme()
  const { id } = await set(
    it,
    { name: 's' },
    {
      workspaces: members('workspaces', it.workspaceId),
      projects: members('projects', it.projectId),
    },
  )
  const { token: as } = await it.team('acme', 'readers', { 'read-policies': true })
  const query = { include: 'workspaces,projects' }
  const { data, included } = await it.ok('readPolicySet', {
    params: { policy_set_id: id },
    query,
    as,
  })
  assert.deepEqual(idsOf(data.relationships.projects), [it.projectId])
  assert.deepEqual(included, [])
})

// Create

test('S4 create: a name is enough', async () => {
  const it = await withAcme()
  const { id, attributes, relationships, links } = await set(it, { name: 'small' })
  assert.match(id, /^polset-[1-9A-Za-z]{16}$/)
  const { 'created-at': created, 'updated-at': updated, ...rest } = attributes
  assert.equal(created, updated)
  assert.deepEqual(rest, {
    name: 'small',
    description: null,
    global: false,
    kind: 'native',
    overridable: null,
    'agent-enabled': false,
    'policy-tool-version': null,
    'policy-count': 0,
    'workspace-count': 0,
    'project-count': 0,
    versioned: false,
    'policies-path': null,
    'policy-update-patterns': [],
    'tag-selectors': [],
    'scoping-type': 'explicit',
  })
  assert.deepEqual(relationships, {
    organization: { data: { id: 'acme', type: 'organizations' } },
    policies: { data: [] },
    workspaces: { data: [] },
    projects: { data: [] },
    namespaces: { data: [] },
    'workspace-exclusions': { data: [] },
    'project-exclusions': { data: [] },
    'current-version': { data: null },
    'newest-version': { data: null },
  })
  assert.deepEqual(links, { self: `/api/v2/policy-sets/${id}` })
})

const TOOL_CASES: readonly {
  readonly row: string
  readonly given: object
  readonly shows: object
}[] = [
  {
    row: 'S5',
    given: { kind: 'opa' },
    shows: { overridable: false, 'policy-tool-version': 'latest' },
  },
  {
    row: 'S5',
    given: { kind: 'opa', overridable: true },
    shows: { kind: 'opa', overridable: true },
  },
  { row: 'S5', given: { kind: 'opa', overridable: null }, shows: { overridable: false } },
  { row: 'S5', given: { overridable: true }, shows: { overridable: null } },
  {
    row: 'S6',
    given: { 'agent-enabled': true, 'policy-tool-version': '0.22.1' },
    shows: { kind: 'native', 'agent-enabled': true, 'policy-tool-version': '0.22.1' },
  },
  {
    row: 'S6',
    given: { kind: 'native', 'agent-enabled': true, overridable: true },
    shows: { 'policy-tool-version': 'latest', overridable: true },
  },
  { row: 'S7', given: { global: true }, shows: { global: true } },
  { row: 'S7', given: { global: true, kind: 'opa' }, shows: { global: true, kind: 'opa' } },
]
for (const { row, given, shows } of TOOL_CASES)
  test(`${row} create: ${JSON.stringify(given)} shows ${JSON.stringify(shows)}`, async () => {
    const it = await withAcme()
    const { attributes } = await set(it, { name: 's', ...given })
    assert.deepEqual({ ...attributes, ...shows }, attributes)
  })

test('S8 create: with policies, workspaces, projects, namespaces and exclusions', async () => {
  const it = await withAcme()
  const policyId = await policy(it, 'p')
  const made = await set(
    it,
    { name: 's' },
    {
      policies: members('policies', policyId, policyId),
      workspaces: members('workspaces', it.workspaceId),
      projects: members('projects', it.projectId),
      namespaces: members('namespaces', 'default'),
      'workspace-exclusions': members('workspaces', it.workspaceId),
      'project-exclusions': members('projects', it.projectId),
    },
  )
  const { attributes, relationships } = made
  assert.deepEqual(
    [attributes['policy-count'], attributes['workspace-count'], attributes['project-count']],
    [1, 1, 1],
  )
  assert.deepEqual(idsOf(relationships.policies), [policyId])
  assert.deepEqual(idsOf(relationships.workspaces), [it.workspaceId])
  assert.deepEqual(idsOf(relationships.namespaces), ['default'])
  assert.deepEqual(idsOf(relationships['workspace-exclusions']), [it.workspaceId])
  assert.deepEqual(idsOf(relationships['project-exclusions']), [it.projectId])
  assert.deepEqual(await show(it, made.id), made)
})

const NAME_RULE = 'invalid attribute: Name may only contain letters, numbers, - and _'
const REFUSED: readonly { readonly attributes: object; readonly says: readonly string[] }[] = [
  { attributes: {}, says: ["invalid attribute: Name can't be blank"] },
  { attributes: { name: 'a b' }, says: [NAME_RULE] },
  { attributes: { name: 'TAKEN' }, says: ['invalid attribute: Name has already been taken'] },
  {
    attributes: { name: 's', kind: 'other' },
    says: ['invalid attribute: Kind must be one of native, opa'],
  },
  {
    attributes: { name: 's', 'policy-tool-version': '1.0' },
    says: ['invalid attribute: Policy tool version can be set only with agent-enabled'],
  },
  {
    attributes: { name: 's', global: true, 'tag-selectors': [{ 'tag-key': 'a' }] },
    says: ['invalid attribute: Tag selectors of a global set can only exclude'],
  },
]
for (const { attributes, says } of REFUSED)
  test(`S9 create: ${JSON.stringify(attributes)} is refused`, async () => {
    const it = await withAcme()
    await set(it, { name: 'taken' })
    assert.deepEqual(await refusedSet(it, attributes), [422, ...says])
  })

test('create: what does not fit is refused, each with its place, and nothing is made', async () => {
  const it = await withAcme()
  const { relationships } = await it.organization('other')
  const elsewhere = relationships['default-project'].data.id
  const opa = await policy(it, 'o', 'opa')
  const wrong = {
    policies: members('policies', opa, 'nonexisting'),
    projects: members('projects', elsewhere),
    workspaces: members('workspaces', 'ws-no'),
    namespaces: members('namespaces', 'nowhere'),
    'workspace-exclusions': members('workspaces', 'ws-no'),
    'project-exclusions': members('projects', elsewhere),
  }
  const body = aBody('policy-sets', { name: 's' }, wrong)
  const reply = await it.call('createPolicySet', { params: ACME, body })
  const { errors } = reply.json as v2.ErrorDocument
  const at = '/data/relationships'
  assert.deepEqual(
    errors.map(({ source, detail }) => [source?.pointer, detail]),
    [
      [`${at}/projects/data/0`, `Project ${elsewhere} does not exist`],
      [`${at}/workspaces/data/0`, 'Workspace ws-no does not exist'],
      [`${at}/namespaces/data/0`, 'Namespace nowhere does not exist'],
      [`${at}/workspace-exclusions/data/0`, 'Workspace ws-no does not exist'],
      [`${at}/project-exclusions/data/0`, `Project ${elsewhere} does not exist`],
      [`${at}/policies/data/0`, `Policy ${opa} is of the kind opa`],
      [`${at}/policies/data/1`, 'Policy nonexisting does not exist'],
    ],
  )
  assert.deepEqual((await it.ok('listPolicySets', { params: ACME })).data, [])
  const global = { projects: members('projects', it.projectId), workspaces: { data: [] } }
  assert.deepEqual(await refusedSet(it, { name: 's', global: true }, global), [
    422,
    'invalid attribute: Projects cannot be given: the set is global',
  ])
})

// Update

test('S10 update: without agents the settings of the tool go; global drops attachments', async () => {
  const it = await withAcme()
  const agents = { 'agent-enabled': true, 'policy-tool-version': '1.0', overridable: true }
  const made = await set(
    it,
    { name: 'before', ...agents },
    {
      workspaces: members('workspaces', it.workspaceId),
      projects: members('projects', it.projectId),
      namespaces: members('namespaces', 'default'),
      'workspace-exclusions': members('workspaces', it.workspaceId),
    },
  )
  it.server.clock.advance(1_000)
  const data = await patch(it, made.id, { name: 'after', global: true, 'agent-enabled': false })
  const { attributes, relationships } = data
  assert.deepEqual(
    [attributes.name, attributes['agent-enabled'], attributes.overridable],
    ['after', false, null],
  )
  assert.equal(attributes['policy-tool-version'], null)
  assert.equal(attributes['workspace-count'], 0)
  assert.notEqual(attributes['updated-at'], made.attributes['updated-at'])
  assert.equal('workspaces' in relationships, false)
  assert.deepEqual(idsOf(relationships['workspace-exclusions']), [it.workspaceId])
  const back = await patch(it, made.id, { global: false })
  assert.deepEqual(idsOf(back.relationships.workspaces), [])
})

test('S11 update: an opa set becomes overridable', async () => {
  const it = await withAcme()
  const { id } = await set(it, { name: 's', kind: 'opa' })
  assert.equal((await patch(it, id, { overridable: true })).attributes.overridable, true)
})

test('S12 update: patterns and path are echoed', async () => {
  const it = await withAcme()
  const { id } = await set(it, { name: 's' })
  const changes = { 'policy-update-patterns': ['a/**/*', 'b'], 'policies-path': 'policies' }
  const { attributes } = await patch(it, id, changes)
  assert.deepEqual({ ...attributes, ...changes }, attributes)
})

test('update: relationships are replaced as a whole; the same again writes nothing', async () => {
  const it = await withAcme()
  const [a, b] = [await policy(it, 'a'), await policy(it, 'b')]
  const { id } = await set(it, { name: 's' }, { policies: members('policies', a) })
  const { relationships } = await patch(
    it,
    id,
    {},
    { policies: members('policies', b), projects: members('projects', it.projectId) },
  )
  assert.deepEqual(
    [idsOf(relationships.policies), idsOf(relationships.projects)],
    [[b], [it.projectId]],
  )
  const { index } = it.server.context.store
  await patch(it, id, { name: 's', kind: 'native' }, { policies: members('policies', b) })
  assert.equal(it.server.context.store.index, index)
  const cleared = await patch(it, id, {}, { projects: { data: [] } })
  assert.deepEqual(idsOf(cleared.relationships.projects), [])
  assert.deepEqual(idsOf(cleared.relationships.policies), [b])
  const body = aBody('policy-sets', { kind: 'opa' })
  assert.deepEqual(await it.refusal('updatePolicySet', { params: { policy_set_id: id }, body }), [
    422,
    'invalid attribute: Kind cannot be changed',
  ])
})

// Members

const MEMBER_CASES = [
  { row: 'S13', add: 'addPolicySetPolicies', remove: 'removePolicySetPolicies', type: 'policies' },
  {
    row: 'S14',
    add: 'addPolicySetWorkspaces',
    remove: 'removePolicySetWorkspaces',
    type: 'workspaces',
  },
  { row: 'S14', add: 'addPolicySetProjects', remove: 'removePolicySetProjects', type: 'projects' },
  {
    row: 'ours',
    add: 'addPolicySetNamespaces',
    remove: 'removePolicySetNamespaces',
    type: 'namespaces',
  },
] as const
for (const { row, add, remove, type } of MEMBER_CASES)
  test(`${row} members: ${type} are added and removed; who was none is ignored`, async () => {
    const it = await withAcme()
    await aWorkspace(it, it.projectId, { id: 'ws-2222222222222222', name: 'api' })
    const { id: second } = await it.project('acme', { name: 'second' })
    const found = {
      policies: [await policy(it, 'p1'), await policy(it, 'p2')],
      workspaces: [it.workspaceId, 'ws-2222222222222222'],
      projects: [it.projectId, second],
      namespaces: ['default'],
    }[type]
    const { id } = await set(it, { name: 's' })
    const params = { policy_set_id: id }
    const [first = ''] = found
    await it.done(add, { params, body: members(type, first) })
    await it.done(add, { params, body: members(type, ...found) })
    const after = await show(it, id)
    assert.deepEqual(idsOf(after.relationships[type]), found.toSorted())
    if (type === 'policies') assert.equal(after.attributes['policy-count'], 2)
    const refused = await it.refusal(add, { params, body: members(type, first, 'nonexisting') })
    assert.match(refused[1] ?? '', /nonexisting does not exist$/)
    await it.done(remove, { params, body: members(type, ...found, 'nonexisting') })
    assert.deepEqual(idsOf((await show(it, id)).relationships[type]), [])
    assert.equal((await it.refusal(add, { params, body: { data: [] } }))[0], 422)
    assert.equal((await it.refusal(add, { params, body: members('teams', first) }))[0], 422)
  })

test('S15 members: exclusions of workspaces, and of projects on a global set', async () => {
  const it = await withAcme()
  const { id } = await set(it, { name: 's', global: true })
  const params = { policy_set_id: id }
  const workspaces = members('workspaces', it.workspaceId)
  const projects = members('projects', it.projectId)
  await it.done('addPolicySetWorkspaceExclusions', { params, body: workspaces })
  await it.done('addPolicySetProjectExclusions', { params, body: projects })
  const include = 'workspace_exclusions,project_exclusions'
  const { data, included } = await it.ok('readPolicySet', { params, query: { include } })
  assert.deepEqual(idsOf(data.relationships['workspace-exclusions']), [it.workspaceId])
  assert.deepEqual(
    included?.map((one) => [one.type, one.id]),
    [
      ['workspaces', it.workspaceId],
      ['projects', it.projectId],
    ],
  )
  await it.done('removePolicySetWorkspaceExclusions', { params, body: workspaces })
  await it.done('removePolicySetProjectExclusions', { params, body: projects })
  const after = await show(it, id)
  assert.deepEqual(idsOf(after.relationships['workspace-exclusions']), [])
  assert.deepEqual(idsOf(after.relationships['project-exclusions']), [])
  for (const [route, body, words] of [
    ['addPolicySetProjects', projects, 'Projects'],
    ['addPolicySetWorkspaces', workspaces, 'Workspaces'],
    ['addPolicySetNamespaces', members('namespaces', 'default'), 'Namespaces'],
  ] as const)
    assert.deepEqual(await it.refusal(route, { params, body }), [
      422,
      `invalid attribute: ${words} cannot be given: the set is global`,
    ])
})

test('members: a namespace of another organization cannot be guarded from here', async () => {
  const it = await withAcme()
  const { relationships } = await it.organization('other')
  await it.done('addProjectNamespaces', {
    params: { project_id: relationships['default-project'].data.id },
    body: members('namespaces', 'default'),
  })
  const { id } = await set(it, { name: 's' })
  assert.deepEqual(
    await it.refusal('addPolicySetNamespaces', {
      params: { policy_set_id: id },
      body: members('namespaces', 'default'),
    }),
    [422, 'invalid attribute: Namespace default belongs to another organization'],
  )
})

test('S16 delete: gone for good, and the policies stay', async () => {
  const it = await withAcme()
  const policyId = await policy(it, 'p')
  const { id } = await set(
    it,
    { name: 's' },
    {
      policies: members('policies', policyId),
      projects: members('projects', it.projectId),
    },
  )
  const params = { policy_set_id: id }
  const body = aBody('vars', { key: 'k', category: 'policy-set' })
  await it.created('createPolicySetParameter', { params, body })
  await it.created('createPolicySetVersion', { params })
  await it.done('deletePolicySet', { params })
  assert.deepEqual(await it.refusal('readPolicySet', { params }), NOT_FOUND)
  assert.deepEqual(await it.refusal('deletePolicySet', { params }), NOT_FOUND)
  const { data } = await it.ok('readPolicy', { params: { policy_id: policyId } })
  assert.equal(data.attributes['policy-set-count'], 0)
  const { tables } = it.server.context.store
  assert.deepEqual(
    [
      tables.policy_set_members.size,
      tables.policy_set_parameters.size,
      tables.policy_set_versions.size,
    ],
    [0, 0, 0],
  )
})

// Tag selectors

test('S17 tag selectors: exclude on a global set, include on another, removed, at create', async () => {
  const it = await withAcme()
  const selector = (key: string, value: string | null, isExclude: boolean) => ({
    'tag-key': key,
    'tag-value': value,
    'is-exclude': isExclude,
  })
  const global = await set(it, { name: 'global', global: true })
  const include = { data: [{ 'tag-key': 'env' }] }
  const exclude = { data: [{ 'tag-key': 'env', 'tag-value': 'dev', 'is-exclude': true }] }
  const onGlobal = { params: { policy_set_id: global.id } }
  await it.done('addPolicySetTagSelectors', { ...onGlobal, body: exclude })
  assert.deepEqual((await show(it, global.id)).attributes['tag-selectors'], [
    selector('env', 'dev', true),
  ])
  assert.deepEqual(await it.refusal('addPolicySetTagSelectors', { ...onGlobal, body: include }), [
    422,
    'invalid attribute: Tag selectors of a global set can only exclude',
  ])
  const plain = await set(it, { name: 'plain' })
  const onPlain = { params: { policy_set_id: plain.id } }
  await it.done('addPolicySetTagSelectors', { ...onPlain, body: include })
  await it.done('addPolicySetTagSelectors', { ...onPlain, body: include })
  const { attributes } = await show(it, plain.id)
  assert.deepEqual(attributes['tag-selectors'], [selector('env', null, false)])
  assert.equal(attributes['scoping-type'], 'tag')
  const projects = members('projects', it.projectId)
  assert.deepEqual(await it.refusal('addPolicySetProjects', { ...onPlain, body: projects }), [
    422,
    'invalid attribute: Projects cannot be given: the set goes by tags',
  ])
  await it.done('removePolicySetTagSelectors', { ...onPlain, body: include })
  assert.equal((await show(it, plain.id)).attributes['scoping-type'], 'explicit')
  await it.done('addPolicySetProjects', { ...onPlain, body: projects })
  const mixed = 'invalid attribute: Tag selectors cannot be given: the set names where it applies'
  assert.deepEqual(await it.refusal('addPolicySetTagSelectors', { ...onPlain, body: include }), [
    422,
    mixed,
  ])
  const body = aBody('policy-sets', { 'tag-selectors': include.data })
  assert.deepEqual(await it.refusal('updatePolicySet', { ...onPlain, body }), [422, mixed])
  const replaced = await patch(
    it,
    plain.id,
    { 'tag-selectors': include.data },
    { projects: { data: [] } },
  )
  assert.equal(replaced.attributes['scoping-type'], 'tag')
  const created = await set(it, {
    name: 'made',
    'tag-selectors': [...include.data, ...exclude.data],
  })
  assert.deepEqual(created.attributes['tag-selectors'], [
    selector('env', null, false),
    selector('env', 'dev', true),
  ])
})

// Parameters

async function parameter(it: GovernanceServer, setId: string, attributes: object) {
  const body = aBody('vars', { category: 'policy-set', ...attributes })
  const params = { policy_set_id: setId }
  return (await it.created('createPolicySetParameter', { params, body })).data
}

test('S18 parameters: listed page by page, in the order of their creation', async () => {
  const it = await withAcme()
  const { id } = await set(it, { name: 's' })
  const made = [await parameter(it, id, { key: 'z' }), await parameter(it, id, { key: 'a' })]
  const params = { policy_set_id: id }
  const { data, meta } = await it.ok('listPolicySetParameters', { params })
  assert.deepEqual(data, made)
  assert.equal(meta.pagination['total-count'], 2)
  const query = { 'page[number]': '999', 'page[size]': '100' }
  const page = await it.ok('listPolicySetParameters', { params, query })
  assert.deepEqual([page.data, page.meta.pagination['total-count']], [[], 2])
})

test('S19 parameters: created with a value, an empty one, or none', async () => {
  const it = await withAcme()
  const { id } = await set(it, { name: 's' })
  const made = await parameter(it, id, { key: 'k', value: 'v' })
  assert.deepEqual(made.attributes, {
    key: 'k',
    value: 'v',
    category: 'policy-set',
    sensitive: false,
    'created-at': made.attributes['created-at'],
  })
  assert.equal((await parameter(it, id, { key: 'empty', value: '' })).attributes.value, '')
  assert.equal((await parameter(it, id, { key: 'missing' })).attributes.value, '')
  const params = { policy_set_id: id }
  const refused = async (attributes: object) =>
    await it.refusal('createPolicySetParameter', { params, body: aBody('vars', attributes) })
  const category = 'policy-set'
  assert.deepEqual(await refused({ key: 'k', category }), [
    422,
    'invalid attribute: Key has already been taken',
  ])
  assert.deepEqual(await refused({ category }), [422, "invalid attribute: Key can't be blank"])
  assert.equal((await refused({ key: 'x', category: 'env' }))[0], 422)
  const { id: other } = await set(it, { name: 'other' })
  await parameter(it, other, { key: 'k' })
})

test('S20 parameters: a part is changed; what is sensitive stays so and is never shown', async () => {
  const it = await withAcme()
  const { id } = await set(it, { name: 's' })
  const made = await parameter(it, id, { key: 'k', value: 'v1' })
  const params = { policy_set_id: id, parameter_id: made.id }
  const change = async (attributes?: object) => {
    const body = aBody('vars', attributes)
    return (await it.ok('updatePolicySetParameter', { params, body })).data
  }
  const renamed = await change({ key: 'k2' })
  assert.deepEqual(renamed.attributes, { ...made.attributes, key: 'k2' })
  assert.deepEqual(await change(), renamed)
  const sealed = await change({ sensitive: true })
  assert.deepEqual([sealed.attributes.value, sealed.attributes.sensitive], [null, true])
  const still = await change({ sensitive: false, key: 'k3', value: 'SECRET-2' })
  assert.deepEqual(
    [still.attributes.key, still.attributes.value, still.attributes.sensitive],
    ['k3', null, true],
  )
  const { data } = await it.ok('listPolicySetParameters', { params: { policy_set_id: id } })
  assert.deepEqual(data, [still])
  const row = it.server.context.store.tables.policy_set_parameters.get(made.id)
  assert.equal(row.value.includes('SECRET-2'), false)
  assert.equal(it.server.context.sealer.open(row.value), 'SECRET-2')
})

test('S21 parameters: what is not there is 404, also under another set', async () => {
  const it = await withAcme()
  const { id } = await set(it, { name: 's' })
  const { id: other } = await set(it, { name: 'other' })
  const made = await parameter(it, id, { key: 'k' })
  const absent = { policy_set_id: id, parameter_id: 'nonexisting' }
  const elsewhere = { policy_set_id: other, parameter_id: made.id }
  for (const params of [absent, elsewhere]) {
    assert.deepEqual(await it.refusal('readPolicySetParameter', { params }), NOT_FOUND)
    assert.deepEqual(await it.refusal('deletePolicySetParameter', { params }), NOT_FOUND)
    const body = aBody('vars', { key: 'x' })
    assert.deepEqual(await it.refusal('updatePolicySetParameter', { params, body }), NOT_FOUND)
  }
  const params = { policy_set_id: id, parameter_id: made.id }
  assert.deepEqual((await it.ok('readPolicySetParameter', { params })).data, made)
  await it.done('deletePolicySetParameter', { params })
  assert.deepEqual(await it.refusal('readPolicySetParameter', { params }), NOT_FOUND)
})

// Who may

const CALLERS = [
  { access: {}, reads: false, writes: false },
  { access: { 'manage-workspaces': true }, reads: false, writes: false },
  { access: { 'read-policies': true }, reads: true, writes: false },
  { access: { 'manage-policies': true }, reads: true, writes: true },
]
for (const { access, reads, writes } of CALLERS)
  test(`who has ${JSON.stringify(access)} ${reads ? 'reads' : 'sees no'} sets, ${writes ? 'and' : 'never'} writes`, async () => {
    const it = await withAcme()
    const { id } = await set(it, { name: 's' })
    const { id: parameterId } = await parameter(it, id, { key: 'k' })
    const { token: as } = await it.team('acme', 'team', access)
    const params = { policy_set_id: id, parameter_id: parameterId }
    const hidden = async (route: v2.V2RouteId, call: object = {}): Promise<boolean> =>
      (await it.call(route, { params, ...call, as })).status === 404
    assert.equal(await hidden('listPolicySets', { params: ACME }), !reads)
    for (const route of [
      'readPolicySet',
      'listPolicySetParameters',
      'readPolicySetParameter',
      'listPolicySetVersions',
    ] as const)
      assert.equal(await hidden(route), !reads, route)
    const body = {}
    for (const route of [
      'updatePolicySet',
      'addPolicySetPolicies',
      'removePolicySetNamespaces',
      'addPolicySetTagSelectors',
      'createPolicySetParameter',
      'updatePolicySetParameter',
    ] as const)
      assert.equal(await hidden(route, { body }), !writes, route)
    assert.equal(await hidden('createPolicySet', { params: ACME, body }), !writes)
    assert.equal(await hidden('createPolicySetVersion'), !writes)
    assert.equal(await hidden('deletePolicySetParameter'), !writes)
    assert.equal(await hidden('deletePolicySet'), !writes)
  })
