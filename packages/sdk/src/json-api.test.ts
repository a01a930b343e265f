import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { v2 } from '@reeve/contract'
import { findIncluded, includedResources, resource, toMany, toOne } from './json-api.ts'

test('a resource document holds type and attributes', () => {
  const body: v2.ProjectCreateRequest = resource('projects', { name: 'web' })
  assert.deepEqual(body, { data: { type: 'projects', attributes: { name: 'web' } } })
})

test('a resource document holds relationships when there are some', () => {
  const body: v2.RunCreateRequest = resource(
    'runs',
    { message: 'try' },
    { workspace: toOne('workspaces', 'ws-1') },
  )
  assert.deepEqual(body, {
    data: {
      type: 'runs',
      attributes: { message: 'try' },
      relationships: { workspace: { data: { type: 'workspaces', id: 'ws-1' } } },
    },
  })
})

test('members are a list of identifiers', () => {
  const body: v2.PolicySetPoliciesRequest = toMany('policies', ['pol-1', 'pol-2'])
  assert.deepEqual(body, {
    data: [
      { type: 'policies', id: 'pol-1' },
      { type: 'policies', id: 'pol-2' },
    ],
  })
})

const document = {
  included: [
    { type: 'policy-sets', id: 'polset-1', attributes: { name: 'one' } },
    { type: 'projects', id: 'prj-1', attributes: { name: 'two' } },
    { type: 'policy-sets', id: 'prj-1', attributes: { name: 'three' } },
  ],
}

test('included resources are found by type', () => {
  const sets = includedResources(document, 'policy-sets')
  assert.deepEqual(
    sets.map(({ attributes }) => attributes.name),
    ['one', 'three'],
  )
  assert.deepEqual(includedResources(document, 'teams'), [])
  assert.deepEqual(includedResources({}, 'policy-sets'), [])
})

test('an included resource is found by what a relationship says', () => {
  const found = findIncluded(document, { type: 'projects', id: 'prj-1' })
  assert.equal(found?.attributes.name, 'two')
  assert.equal(findIncluded(document, { type: 'projects', id: 'prj-2' }), undefined)
})
