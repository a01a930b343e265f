import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aBody, NOT_FOUND } from './harness.ts'
import { aParameter, aPolicySet, withSets } from './policy-set-calls.ts'

test('S18 parameters: listed page by page, in the order of their creation', async () => {
  const it = await withSets()
  const { id } = await aPolicySet(it, { name: 's' })
  const made = [await aParameter(it, id, { key: 'z' }), await aParameter(it, id, { key: 'a' })]
  const params = { policy_set_id: id }
  const { data, meta } = await it.ok('listPolicySetParameters', { params })
  assert.deepEqual(data, made)
  assert.equal(meta.pagination['total-count'], 2)
  const query = { 'page[number]': '999', 'page[size]': '100' }
  const page = await it.ok('listPolicySetParameters', { params, query })
  assert.deepEqual([page.data, page.meta.pagination['total-count']], [[], 2])
})

test('S19 parameters: created with a value, an empty one, or none', async () => {
  const it = await withSets()
  const { id } = await aPolicySet(it, { name: 's' })
  const made = await aParameter(it, id, { key: 'k', value: 'v' })
  assert.deepEqual(made.attributes, {
    key: 'k',
    value: 'v',
    category: 'policy-set',
    sensitive: false,
    'created-at': made.attributes['created-at'],
  })
  assert.equal((await aParameter(it, id, { key: 'empty', value: '' })).attributes.value, '')
  assert.equal((await aParameter(it, id, { key: 'missing' })).attributes.value, '')
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
  const { id: other } = await aPolicySet(it, { name: 'other' })
  await aParameter(it, other, { key: 'k' })
})

test('S20 parameters: a part is changed; what is sensitive stays so and is never shown', async () => {
  const it = await withSets()
  const { id } = await aPolicySet(it, { name: 's' })
  const made = await aParameter(it, id, { key: 'k', value: 'v1' })
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
  const it = await withSets()
  const { id } = await aPolicySet(it, { name: 's' })
  const { id: other } = await aPolicySet(it, { name: 'other' })
  const made = await aParameter(it, id, { key: 'k' })
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
