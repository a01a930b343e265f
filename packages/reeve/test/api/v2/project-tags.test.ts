import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { v2 } from '@reeve/contract'
import {
  aBody,
  aGovernanceServer,
  aTagged,
  NOT_FOUND,
  someTags,
  type GovernanceServer,
} from './harness.ts'
import { accessBody } from './permission-world.ts'
import { giveProject } from './rows.ts'

const ACME = { organization_name: 'acme' }

async function withProject(tags: object = {}): Promise<{
  readonly it: GovernanceServer
  readonly params: { readonly project_id: string }
}> {
  const it = await aGovernanceServer()
  await it.organization('acme')
  return { it, params: { project_id: (await it.project('acme', { name: 'one' }, tags)).id } }
}

test('P21 add: the answer holds the named bindings in the order of the request', async () => {
  const { it, params } = await withProject()
  const body = { data: someTags({ zeta: 'z', alpha: 'a' }) }
  const { data } = await it.ok('updateProjectTagBindings', { params, body })
  assert.deepEqual(
    data.map(({ attributes }) => attributes),
    [
      { key: 'zeta', value: 'z' },
      { key: 'alpha', value: 'a' },
    ],
  )
  const list = await it.ok('listProjectTagBindings', { params })
  assert.deepEqual(
    list.data.map(({ attributes }) => attributes.key),
    ['alpha', 'zeta'],
  )
})

test('P29 add: values change, other bindings stay, and a key keeps its identity', async () => {
  const { it, params } = await withProject({ a: '1', b: '2' })
  const [before] = (await it.ok('listProjectTagBindings', { params })).data
  const body = { data: someTags({ a: 'new', c: '3' }) }
  await it.ok('updateProjectTagBindings', { params, body })
  const { data } = await it.ok('listProjectTagBindings', { params })
  assert.deepEqual(
    data.map(({ attributes }) => [attributes.key, attributes.value]),
    [
      ['a', 'new'],
      ['b', '2'],
      ['c', '3'],
    ],
  )
  assert.deepEqual(
    [data[0]?.id, data[0]?.attributes['created-at']],
    [before?.id, before?.attributes['created-at']],
  )
})

test('add: a value that is left out, null or empty is a key alone', async () => {
  const { it, params } = await withProject({ a: '1', b: '2', c: '3' })
  const body = {
    data: [
      { type: 'tag-bindings', attributes: { key: 'a' } },
      { type: 'tag-bindings', attributes: { key: 'b', value: null } },
      { type: 'tag-bindings', attributes: { key: 'c', value: '' } },
    ],
  }
  const { data } = await it.ok('updateProjectTagBindings', { params, body })
  assert.deepEqual(
    data.map(({ attributes }) => attributes.value),
    ['', '', ''],
  )
})

function many(count: number): object {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`key${i}`, 'v']))
}

const KEY_RULE = 'invalid attribute: Key may only contain letters, numbers and _ . = + - @ :'
const BAD_TAGS: readonly { name: string; data: unknown; says: string }[] = [
  { name: 'an empty list', data: [], says: "invalid attribute: Data can't be blank" },
  { name: 'no list', data: {}, says: 'invalid attribute: Data must be a list' },
  { name: 'a space in a key', data: someTags({ 'a b': 'c' }), says: KEY_RULE },
  {
    name: 'an empty key',
    data: someTags({ '': 'c' }),
    says: "invalid attribute: Key can't be blank",
  },
  {
    name: 'a long key',
    data: someTags({ ['k'.repeat(129)]: 'c' }),
    says: 'invalid attribute: Key is too long (maximum is 128 characters)',
  },
  {
    name: 'a long value',
    data: someTags({ a: 'v'.repeat(257) }),
    says: 'invalid attribute: Value is too long (maximum is 256 characters)',
  },
  {
    name: 'a slash in a value',
    data: someTags({ a: 'b/c' }),
    says: 'invalid attribute: Value may only contain letters, numbers and _ . = + - @ :',
  },
  {
    name: 'a reserved prefix',
    data: someTags({ 'SYS:a': 'b' }),
    says: 'invalid attribute: Key uses a reserved prefix',
  },
  {
    name: 'the other reserved prefix',
    data: someTags({ 'reeve:a': 'b' }),
    says: 'invalid attribute: Key uses a reserved prefix',
  },
  {
    name: 'a key given twice',
    data: [...someTags({ a: '1' }), ...someTags({ a: '2' })],
    says: 'invalid attribute: Key has been given more than once',
  },
  {
    name: 'P22, 26 of them',
    data: someTags(many(26)),
    says: 'invalid attribute: Data cannot exceed 10 bindings per resource',
  },
  {
    name: 'more than ten with those that are there',
    data: someTags(many(10)),
    says: 'invalid attribute: Tag bindings cannot exceed 10 bindings per resource',
  },
  {
    name: 'a wrong type',
    data: [{ type: 'tags', attributes: { key: 'a' } }],
    says: 'invalid attribute: Type must be tag-bindings',
  },
  {
    name: 'no key',
    data: [{ type: 'tag-bindings', attributes: {} }],
    says: "invalid attribute: Key can't be blank",
  },
]
for (const { name, data, says } of BAD_TAGS)
  test(`add: ${name} is refused, and nothing changes`, async () => {
    const { it, params } = await withProject({ old: 'x' })
    const call = { params, body: { data } }
    assert.deepEqual(await it.refusal('updateProjectTagBindings', call), [422, says])
    assert.equal((await it.ok('listProjectTagBindings', { params })).data.length, 1)
  })

test('add: each key that breaks a rule is told, whichever rule it is', async () => {
  const { it, params } = await withProject()
  const tags = someTags({ 'sys:a': '1', 'a b': '2', c: '3' })
  const body = { data: [...tags, ...someTags({ c: '4' })] }
  const reply = await it.call('updateProjectTagBindings', { params, body })
  // The answer was held against the contract.
  const { errors } = reply.json as v2.ErrorDocument
  assert.deepEqual(
    errors.map(({ detail, source }) => [source?.pointer, detail]),
    [
      ['/data/1/attributes/key', 'Key may only contain letters, numbers and _ . = + - @ :'],
      ['/data/0/attributes/key', 'Key uses a reserved prefix'],
      ['/data/3/attributes/key', 'Key has been given more than once'],
    ],
  )
})

test('add: ten tags fit, and the limits of key and value themselves', async () => {
  const { it, params } = await withProject()
  const body = { data: someTags({ ['k'.repeat(128)]: 'v'.repeat(256), 'a_.=+-@:Z': 'b_.=+-@:9' }) }
  await it.ok('updateProjectTagBindings', { params, body })
  await it.ok('updateProjectTagBindings', { params, body: { data: someTags(many(8)) } })
  assert.equal((await it.ok('listProjectTagBindings', { params })).data.length, 10)
})

test('P23 an empty relationship removes all tags, without any attributes', async () => {
  const { it, params } = await withProject({ a: '1' })
  const body = { data: { type: 'projects', relationships: aTagged({}) } }
  await it.ok('updateProject', { params, body })
  assert.deepEqual((await it.ok('listProjectTagBindings', { params })).data, [])
})

test('create: one bad tag and no project is made', async () => {
  const { it } = await withProject()
  const body = aBody('projects', { name: 'two' }, aTagged({ 'sys:x': '1' }))
  assert.deepEqual(await it.refusal('createProject', { params: ACME, body }), [
    422,
    'invalid attribute: Key uses a reserved prefix',
  ])
  assert.equal(it.server.context.store.tables.projects.size, 2)
})

test('aliases: list, add without answer, and replace', async () => {
  const { it, params } = await withProject({ a: '1' })
  await it.done('addProjectTagBindings', { params, body: { data: someTags({ b: '2' }) } })
  const both = await it.ok('listProjectTagBindingMembers', { params })
  assert.equal(both.data.length, 2)
  await it.done('replaceProjectTagBindings', { params, body: { data: someTags({ c: '3' }) } })
  const { data } = await it.ok('listProjectTagBindings', { params })
  assert.deepEqual(
    data.map(({ attributes }) => attributes.key),
    ['c'],
  )
})

test('rights: who may change a project and does not administer it takes no tag away', async () => {
  const { it, params } = await withProject({ a: '1' })
  const { id: teamId, token: as } = await it.team('acme', 'settings')
  const custom = { access: 'custom', 'project-access': { settings: 'update' } }
  await it.created('createTeamProjectAccess', {
    body: accessBody('project', [teamId, params.project_id, custom]),
  })
  const bound = (tags: Record<string, string>) => ({
    params,
    body: aBody('projects', {}, aTagged(tags)),
    as,
  })
  assert.deepEqual(await it.refusal('updateProject', bound({})), NOT_FOUND)
  const whole = { params, body: { data: [] }, as }
  assert.deepEqual(await it.refusal('replaceProjectTagBindings', whole), NOT_FOUND)
  await it.ok('updateProject', bound({ a: '2', b: '3' }))
  const { data } = await it.ok('listProjectTagBindings', { params, as })
  assert.deepEqual(
    data.map(({ attributes: { key, value } }) => [key, value]),
    [
      ['a', '2'],
      ['b', '3'],
    ],
  )
})

test('rights: readers list, writers add, admins replace', async () => {
  const { it, params } = await withProject({ a: '1' })
  const body = { data: someTags({ b: '2' }) }
  const levels = { read: [404, 404], write: [200, 404], maintain: [200, 404], admin: [200, 204] }
  for (const [level, [add, replace]] of Object.entries(levels)) {
    const team = await it.team('acme', level)
    const teamProject = { teamId: team.id, projectId: params.project_id }
    // Each is a level of access to a project.
    await giveProject(it, teamProject, level as 'read')
    const as = team.token
    await it.ok('listProjectTagBindings', { params, as })
    assert.equal((await it.call('updateProjectTagBindings', { params, body, as })).status, add)
    assert.equal((await it.call('replaceProjectTagBindings', { params, body, as })).status, replace)
  }
  const { token: as } = await it.team('acme', 'none')
  assert.deepEqual(await it.refusal('listProjectTagBindings', { params, as }), NOT_FOUND)
})
