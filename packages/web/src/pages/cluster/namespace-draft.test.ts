import assert from 'node:assert/strict'
import type { Namespace } from '@reeve/contract'
import { test } from 'node:test'
import { toNamespaceRequest, toNamespaceDraft, draftError } from './namespace-draft.ts'

const PROD: Namespace = {
  Name: 'prod',
  Description: 'Live',
  Quota: '',
  Capabilities: {
    EnabledTaskDrivers: ['docker', 'exec'],
    DisabledTaskDrivers: null,
    EnabledNetworkModes: ['bridge'],
    DisabledNetworkModes: null,
  },
  NodePoolConfiguration: { Default: 'gpu', Allowed: ['gpu', 'cpu'], Denied: null },
  Meta: { team: 'web' },
  Hash: '',
  CreateIndex: 1,
  ModifyIndex: 2,
}

test('a namespace comes back from its form as it was', () => {
  const { Capabilities, NodePoolConfiguration, Meta } = toNamespaceRequest(
    PROD,
    toNamespaceDraft(PROD),
  )
  assert.deepEqual(
    [Capabilities, NodePoolConfiguration, Meta],
    [PROD.Capabilities, PROD.NodePoolConfiguration, PROD.Meta],
  )
})

test('a new namespace says nothing about what its form leaves empty', () => {
  const body = toNamespaceRequest(undefined, { ...toNamespaceDraft(undefined), name: ' staging ' })
  assert.deepEqual(body, {
    Name: 'staging',
    Description: '',
    Capabilities: null,
    NodePoolConfiguration: null,
  })
})

test('drivers are taken away, and the modes that the form does not show stay', () => {
  const body = toNamespaceRequest(PROD, {
    ...toNamespaceDraft(PROD),
    drivers: '',
    deniedDrivers: 'raw_exec',
  })
  assert.deepEqual(body.Capabilities, {
    EnabledTaskDrivers: null,
    DisabledTaskDrivers: ['raw_exec'],
    EnabledNetworkModes: ['bridge'],
    DisabledNetworkModes: null,
  })
})

const FAULTS = [
  { name: 'has no name', change: { name: ' ' }, fault: /name/ },
  { name: 'allows and denies pools', change: { deniedPools: 'cpu' }, fault: /not both/ },
  { name: 'allows and denies a driver', change: { deniedDrivers: 'exec' }, fault: /driver exec/ },
]
for (const { name, change, fault } of FAULTS)
  test(`a namespace is not stored that ${name}`, () =>
    assert.match(draftError({ ...toNamespaceDraft(PROD), ...change }) ?? '', fault))
