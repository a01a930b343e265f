import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aBody, NOT_FOUND } from './harness.ts'
import {
  ACME,
  aMember,
  aPolicySet,
  idsOf,
  members,
  patchSet,
  showSet,
  withSets,
} from './policy-set-calls.ts'
import { aWorkspace } from './rows.ts'

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
    const it = await withSets()
    await aWorkspace(it, it.projectId, { id: 'ws-2222222222222222', name: 'api' })
    const { id: second } = await it.project('acme', { name: 'second' })
    const found = {
      policies: [await aMember(it, 'p1'), await aMember(it, 'p2')],
      workspaces: [it.workspaceId, 'ws-2222222222222222'],
      projects: [it.projectId, second],
      namespaces: ['default'],
    }[type]
    const { id } = await aPolicySet(it, { name: 's' })
    const params = { policy_set_id: id }
    const [first = ''] = found
    await it.done(add, { params, body: members(type, first) })
    await it.done(add, { params, body: members(type, ...found) })
    const after = await showSet(it, id)
    assert.deepEqual(idsOf(after.relationships[type]), found.toSorted())
    if (type === 'policies') assert.equal(after.attributes['policy-count'], 2)
    const refused = await it.refusal(add, { params, body: members(type, first, 'nonexisting') })
    assert.match(refused[1] ?? '', /nonexisting does not exist$/)
    await it.done(remove, { params, body: members(type, ...found, 'nonexisting') })
    assert.deepEqual(idsOf((await showSet(it, id)).relationships[type]), [])
    assert.equal((await it.refusal(add, { params, body: { data: [] } }))[0], 422)
    assert.equal((await it.refusal(add, { params, body: members('teams', first) }))[0], 422)
  })

test('members: a namespace that is deleted is in no policy set and no project any more', async () => {
  const it = await withSets()
  const { server } = it
  const name = { namespace_name: 'prod' }
  const call = { token: it.root, params: name }
  await server.ok('writeNamespaceByName', { ...call, body: { Name: 'prod' } })
  const { id } = await aPolicySet(it, { name: 's' })
  const body = members('namespaces', 'prod')
  await it.done('addPolicySetNamespaces', { params: { policy_set_id: id }, body })
  await it.done('addProjectNamespaces', { params: { project_id: it.projectId }, body })
  await server.ok('deleteNamespace', call)
  await server.ok('writeNamespaceByName', { ...call, body: { Name: 'prod' } })
  assert.deepEqual(idsOf((await showSet(it, id)).relationships.namespaces), [])
  assert.equal(server.context.store.tables.project_namespaces.has('prod'), false)
})

test('S15 members: exclusions of workspaces, and of projects on a global set', async () => {
  const it = await withSets()
  const { id } = await aPolicySet(it, { name: 's', global: true })
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
  const after = await showSet(it, id)
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
  const it = await withSets()
  const { relationships } = await it.organization('other')
  await it.done('addProjectNamespaces', {
    params: { project_id: relationships['default-project'].data.id },
    body: members('namespaces', 'default'),
  })
  const { id } = await aPolicySet(it, { name: 's' })
  assert.deepEqual(
    await it.refusal('addPolicySetNamespaces', {
      params: { policy_set_id: id },
      body: members('namespaces', 'default'),
    }),
    [422, 'invalid attribute: Namespace default belongs to another organization'],
  )
})

test('members: an organization is given namespaces by the site administrator, and takes none', async () => {
  const it = await withSets()
  const access = { 'manage-policies': true, 'manage-projects': true }
  const { token: as } = await it.team('acme', 'rules', access)
  const { id } = await aPolicySet(it, { name: 's' })
  const [set, project] = [{ policy_set_id: id }, { project_id: it.projectId }]
  // Whether there is one of the name is not told either.
  for (const name of ['default', 'nowhere']) {
    const body = members('namespaces', name)
    const relationships = { namespaces: body }
    const unclaimed = [
      422,
      `invalid attribute: Namespace ${name} belongs to no project of the organization; ` +
        'the site administrator adds it to one',
    ]
    assert.deepEqual(
      [
        await it.refusal('addPolicySetNamespaces', { params: set, body, as }),
        await it.refusal('updatePolicySet', {
          params: set,
          body: aBody('policy-sets', {}, relationships),
          as,
        }),
        await it.refusal('createPolicySet', {
          params: ACME,
          body: aBody('policy-sets', { name: 'n' }, relationships),
          as,
        }),
        await it.refusal('addProjectNamespaces', { params: project, body, as }),
      ],
      [
        unclaimed,
        unclaimed,
        unclaimed,
        [422, `invalid attribute: Namespace ${name} can only be added by the site administrator`],
      ],
    )
  }
  const body = members('namespaces', 'default')
  await it.done('addProjectNamespaces', { params: project, body })
  await it.done('addProjectNamespaces', { params: project, body, as })
  await it.done('addPolicySetNamespaces', { params: set, body, as })
  assert.deepEqual(idsOf((await showSet(it, id)).relationships.namespaces), ['default'])
})

test('S16 delete: gone for good, and the policies stay', async () => {
  const it = await withSets()
  const policyId = await aMember(it, 'p')
  const { id } = await aPolicySet(
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
  const it = await withSets()
  const selector = (key: string, value: string | null, isExclude: boolean) => ({
    'tag-key': key,
    'tag-value': value,
    'is-exclude': isExclude,
  })
  const global = await aPolicySet(it, { name: 'global', global: true })
  const include = { data: [{ 'tag-key': 'env' }] }
  const exclude = { data: [{ 'tag-key': 'env', 'tag-value': 'dev', 'is-exclude': true }] }
  const onGlobal = { params: { policy_set_id: global.id } }
  await it.done('addPolicySetTagSelectors', { ...onGlobal, body: exclude })
  assert.deepEqual((await showSet(it, global.id)).attributes['tag-selectors'], [
    selector('env', 'dev', true),
  ])
  assert.deepEqual(await it.refusal('addPolicySetTagSelectors', { ...onGlobal, body: include }), [
    422,
    'invalid attribute: Tag selectors of a global set can only exclude',
  ])
  const plain = await aPolicySet(it, { name: 'plain' })
  const onPlain = { params: { policy_set_id: plain.id } }
  await it.done('addPolicySetTagSelectors', { ...onPlain, body: include })
  await it.done('addPolicySetTagSelectors', { ...onPlain, body: include })
  const { attributes } = await showSet(it, plain.id)
  assert.deepEqual(attributes['tag-selectors'], [selector('env', null, false)])
  assert.equal(attributes['scoping-type'], 'tag')
  const projects = members('projects', it.projectId)
  assert.deepEqual(await it.refusal('addPolicySetProjects', { ...onPlain, body: projects }), [
    422,
    'invalid attribute: Projects cannot be given: the set goes by tags',
  ])
  await it.done('removePolicySetTagSelectors', { ...onPlain, body: include })
  assert.equal((await showSet(it, plain.id)).attributes['scoping-type'], 'explicit')
  await it.done('addPolicySetProjects', { ...onPlain, body: projects })
  const mixed = 'invalid attribute: Tag selectors cannot be given: the set names where it applies'
  assert.deepEqual(await it.refusal('addPolicySetTagSelectors', { ...onPlain, body: include }), [
    422,
    mixed,
  ])
  const body = aBody('policy-sets', { 'tag-selectors': include.data })
  assert.deepEqual(await it.refusal('updatePolicySet', { ...onPlain, body }), [422, mixed])
  const replaced = await patchSet(it, plain.id, {
    attributes: { 'tag-selectors': include.data },
    relationships: { projects: { data: [] } },
  })
  assert.equal(replaced.attributes['scoping-type'], 'tag')
  const created = await aPolicySet(it, {
    name: 'made',
    'tag-selectors': [...include.data, ...exclude.data],
  })
  assert.deepEqual(created.attributes['tag-selectors'], [
    selector('env', null, false),
    selector('env', 'dev', true),
  ])
})
