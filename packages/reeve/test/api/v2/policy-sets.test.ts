import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { v2 } from '@reeve/contract'
import { aBody, type GovernanceServer } from './harness.ts'
import {
  ACME,
  aMember,
  aParameter,
  aPolicySet,
  idsOf,
  members,
  patchSet,
  showSet,
  withSets,
} from './policy-set-calls.ts'

async function refusedSet(it: GovernanceServer, attributes: object, relationships?: object) {
  const body = aBody('policy-sets', attributes, relationships)
  return await it.refusal('createPolicySet', { params: ACME, body })
}

// List

test('S1, S2 list: oldest first, equal to what create answered; pages and searches', async () => {
  const it = await withSets()
  const agents = { 'agent-enabled': true }
  const made = [
    await aPolicySet(it, { name: 'zeta', ...agents }),
    await aPolicySet(it, { name: 'alpha', ...agents }),
    await aPolicySet(it, { name: 'opa-set', kind: 'opa' }),
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
  const it = await withSets()
  const attached = { workspaces: members('workspaces', it.workspaceId) }
  const excluded = { 'workspace-exclusions': members('workspaces', it.workspaceId) }
  await aPolicySet(it, { name: 'first' }, attached)
  await aPolicySet(it, { name: 'second', global: true }, excluded)
  await aPolicySet(it, { name: 'third' })
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
  const it = await withSets()
  const { id } = await aPolicySet(
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
  const it = await withSets()
  const { id, attributes, relationships, links } = await aPolicySet(it, { name: 'small' })
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
    const it = await withSets()
    const { attributes } = await aPolicySet(it, { name: 's', ...given })
    assert.deepEqual({ ...attributes, ...shows }, attributes)
  })

test('S8 create: with policies, workspaces, projects, namespaces and exclusions', async () => {
  const it = await withSets()
  const policyId = await aMember(it, 'p')
  const made = await aPolicySet(
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
  assert.deepEqual(await showSet(it, made.id), made)
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
    attributes: { name: 's', global: true, 'tag-selectors': [{ 'tag-key': 'a' }] },
    says: ['invalid attribute: Tag selectors of a global set can only exclude'],
  },
]
for (const { attributes, says } of REFUSED)
  test(`S9 create: ${JSON.stringify(attributes)} is refused`, async () => {
    const it = await withSets()
    await aPolicySet(it, { name: 'taken' })
    assert.deepEqual(await refusedSet(it, attributes), [422, ...says])
  })

test('create: a tool version without an agent is accepted and dropped, as clients send it', async () => {
  const it = await withSets()
  const body = aBody('policy-sets', { name: 's', 'policy-tool-version': '1.0' })
  const { data } = await it.created('createPolicySet', { params: ACME, body })
  assert.equal(data.attributes['policy-tool-version'], null)
})

test('create: what does not fit is refused, each with its place, and nothing is made', async () => {
  const it = await withSets()
  const { relationships } = await it.organization('other')
  const elsewhere = relationships['default-project'].data.id
  const opa = await aMember(it, 'o', 'opa')
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
  // Held against the contract.
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
  const it = await withSets()
  const agents = { 'agent-enabled': true, 'policy-tool-version': '1.0', overridable: true }
  const made = await aPolicySet(
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
  const data = await patchSet(it, made.id, {
    attributes: { name: 'after', global: true, 'agent-enabled': false },
  })
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
  const back = await patchSet(it, made.id, { attributes: { global: false } })
  assert.deepEqual(idsOf(back.relationships.workspaces), [])
})

test('S11 update: an opa set becomes overridable', async () => {
  const it = await withSets()
  const { id } = await aPolicySet(it, { name: 's', kind: 'opa' })
  assert.equal(
    (await patchSet(it, id, { attributes: { overridable: true } })).attributes.overridable,
    true,
  )
})

test('S12 update: patterns and path are echoed', async () => {
  const it = await withSets()
  const { id } = await aPolicySet(it, { name: 's' })
  const changes = { 'policy-update-patterns': ['a/**/*', 'b'], 'policies-path': 'policies' }
  const { attributes } = await patchSet(it, id, { attributes: changes })
  assert.deepEqual({ ...attributes, ...changes }, attributes)
})

test('update: relationships are replaced as a whole; the same again writes nothing', async () => {
  const it = await withSets()
  const [a, b] = [await aMember(it, 'a'), await aMember(it, 'b')]
  const { id } = await aPolicySet(it, { name: 's' }, { policies: members('policies', a) })
  const { relationships } = await patchSet(it, id, {
    relationships: {
      policies: members('policies', b),
      projects: members('projects', it.projectId),
    },
  })
  assert.deepEqual(
    [idsOf(relationships.policies), idsOf(relationships.projects)],
    [[b], [it.projectId]],
  )
  const { index } = it.server.context.store
  await patchSet(it, id, {
    attributes: { name: 's', kind: 'native' },
    relationships: { policies: members('policies', b) },
  })
  assert.equal(it.server.context.store.index, index)
  const cleared = await patchSet(it, id, { relationships: { projects: { data: [] } } })
  assert.deepEqual(idsOf(cleared.relationships.projects), [])
  assert.deepEqual(idsOf(cleared.relationships.policies), [b])
  const body = aBody('policy-sets', { kind: 'opa' })
  assert.deepEqual(await it.refusal('updatePolicySet', { params: { policy_set_id: id }, body }), [
    422,
    'invalid attribute: Kind cannot be changed',
  ])
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
    const it = await withSets()
    const { id } = await aPolicySet(it, { name: 's' })
    const { id: parameterId } = await aParameter(it, id, { key: 'k' })
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
