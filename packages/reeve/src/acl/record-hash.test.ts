import assert from 'node:assert/strict'
import { test } from 'node:test'
import { blake2b256 } from '@reeve/kit/hash.ts'
import { namespaceHash, nodePoolHash, policyHash, roleHash, tokenHash } from './record-hash.ts'

test('tokenHash: name, type, policies, scope and role ids, without separators', () => {
  const token = {
    Name: 'ci',
    Type: 'client',
    Policies: ['a', 'b'],
    Roles: [{ ID: 'r1', Name: 'ignored' }],
    Global: false,
  } as const
  assert.equal(tokenHash(token), blake2b256('ciclientablocalr1'))
  assert.equal(tokenHash({ ...token, Global: true }), blake2b256('ciclientabglobalr1'))
  assert.equal(
    tokenHash({ Name: '', Type: 'management', Policies: null, Roles: null, Global: true }),
    blake2b256('managementglobal'),
  )
})

test('policyHash: name, description, rules and workload', () => {
  const policy = { Name: 'n', Description: 'd', Rules: 'r', JobACL: null }
  const JobACL = { Namespace: 's', JobID: 'j', Group: 'g', Task: 't' }
  assert.equal(policyHash(policy), blake2b256('ndr'))
  assert.equal(policyHash({ ...policy, JobACL }), blake2b256('ndrsjgt'))
})

test('roleHash: name, description and policy names', () => {
  const role = { Name: 'n', Description: 'd', Policies: [{ Name: 'a' }, { Name: 'b' }] }
  assert.equal(roleHash(role), blake2b256('ndab'))
})

test('namespaceHash: every field counts, the order of meta does not', () => {
  const namespace = {
    Name: 'n',
    Description: 'd',
    Quota: '',
    Capabilities: null,
    NodePoolConfiguration: null,
    Meta: { b: '2', a: '1' },
  }
  assert.equal(namespaceHash(namespace), blake2b256('nda1b2'))
  assert.equal(namespaceHash({ ...namespace, Meta: { a: '1', b: '2' } }), namespaceHash(namespace))
  assert.notEqual(
    namespaceHash({
      ...namespace,
      NodePoolConfiguration: { Default: 'gpu', Allowed: null, Denied: null },
    }),
    namespaceHash(namespace),
  )
})

test('nodePoolHash: every field counts', () => {
  const pool = { Name: 'gpu', Description: '', Meta: null, SchedulerConfiguration: null }
  const SchedulerConfiguration = {
    SchedulerAlgorithm: 'spread',
    MemoryOversubscriptionEnabled: true,
  }
  assert.equal(nodePoolHash(pool), blake2b256('gpu'))
  assert.equal(nodePoolHash({ ...pool, SchedulerConfiguration }), blake2b256('gpuspreadtrue'))
})
