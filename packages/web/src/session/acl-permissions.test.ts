import assert from 'node:assert/strict'
import type { AclPolicyRules, NamespaceCapability } from '@reeve/contract'
import { test } from 'node:test'
import {
  hasClusterPolicy,
  hasNamespaceCapability,
  hasPoolCapability,
  hasSomeVariableCapability,
  hasVariableCapability,
  NO_PERMISSIONS,
  ALL_PERMISSIONS,
  type AclPermissions,
} from './acl-permissions.ts'

const NONE: AclPolicyRules = {
  Namespaces: null,
  NodePools: null,
  HostVolumes: null,
  Agent: null,
  Node: null,
  Operator: null,
  Quota: null,
  Plugin: null,
}

function namespaces(rules: Readonly<Record<string, readonly string[]>>): AclPolicyRules {
  const Namespaces = Object.entries(rules).map(([Name, Capabilities]) => ({
    Name,
    Policy: '',
    Capabilities,
    Variables: null,
  }))
  return { ...NONE, Namespaces }
}

const limited = (...rules: readonly AclPolicyRules[]): AclPermissions => ({
  isUnlimited: false,
  rules,
})

interface Case {
  readonly name: string
  readonly rights: AclPermissions
  readonly namespace: string
  readonly capability: NamespaceCapability
  readonly may: boolean
}

const CASES: readonly Case[] = [
  {
    name: 'management may all',
    rights: ALL_PERMISSIONS,
    namespace: 'x',
    capability: 'submit-job',
    may: true,
  },
  {
    name: 'nobody may nothing',
    rights: NO_PERMISSIONS,
    namespace: 'x',
    capability: 'read-job',
    may: false,
  },
  {
    name: 'a rule of the namespace counts',
    rights: limited(namespaces({ prod: ['read-job'] })),
    namespace: 'prod',
    capability: 'read-job',
    may: true,
  },
  {
    name: 'a rule of another does not',
    rights: limited(namespaces({ prod: ['read-job'] })),
    namespace: 'test',
    capability: 'read-job',
    may: false,
  },
  {
    name: 'a pattern matches',
    rights: limited(namespaces({ 'team-*': ['read-job'] })),
    namespace: 'team-a',
    capability: 'read-job',
    may: true,
  },
  {
    name: 'the nearest rule of a policy wins over its patterns',
    rights: limited(namespaces({ '*': ['submit-job'], prod: ['read-job'] })),
    namespace: 'prod',
    capability: 'submit-job',
    may: false,
  },
  {
    name: 'policies add up',
    rights: limited(namespaces({ prod: ['read-job'] }), namespaces({ prod: ['submit-job'] })),
    namespace: 'prod',
    capability: 'submit-job',
    may: true,
  },
  {
    name: 'the nearest rule counts alone, also where another policy has the pattern',
    rights: limited(namespaces({ '*': ['submit-job'] }), namespaces({ prod: ['read-job'] })),
    namespace: 'prod',
    capability: 'submit-job',
    may: false,
  },
  {
    name: 'the longest pattern is the nearest',
    rights: limited(namespaces({ 'p*': ['read-job'], 'pr*': ['submit-job'] })),
    namespace: 'prod',
    capability: 'submit-job',
    may: true,
  },
  {
    name: 'a denial wins',
    rights: limited(namespaces({ prod: ['deny'] }), namespaces({ prod: ['submit-job'] })),
    namespace: 'prod',
    capability: 'submit-job',
    may: false,
  },
]

for (const { name, rights, namespace, capability, may } of CASES)
  test(`rights: ${name}`, () =>
    assert.equal(hasNamespaceCapability(rights, namespace, [capability]), may))

test('rights: who may write nodes may read them, not the reverse', () => {
  const rights = (Policy: string) => limited({ ...NONE, Node: { Policy } })
  assert.equal(hasClusterPolicy(rights('write'), 'Node', 'read'), true)
  assert.equal(hasClusterPolicy(rights('read'), 'Node', 'write'), false)
  assert.equal(hasClusterPolicy(rights('deny'), 'Node', 'read'), false)
})

test('rights: a node pool is read, written and deleted by its nearest rule', () => {
  const rule = (Name: string, ...Capabilities: string[]) => ({ Name, Policy: '', Capabilities })
  const rights = limited(
    { ...NONE, NodePools: [rule('*', 'read')] },
    { ...NONE, NodePools: [rule('gpu-*', 'read', 'write'), rule('gpu-x', 'deny')] },
  )
  assert.deepEqual(
    [hasPoolCapability(rights, 'gpu-a', 'write'), hasPoolCapability(rights, 'gpu-a', 'delete')],
    [true, false],
  )
  assert.deepEqual(
    [hasPoolCapability(rights, 'cpu', 'read'), hasPoolCapability(rights, 'gpu-x', 'read')],
    [true, false],
  )
  assert.equal(hasPoolCapability(ALL_PERMISSIONS, 'gpu-x', 'delete'), true)
})

test('rights: a variable is reached by namespace and path, and a star stays in its part', () => {
  const path = (PathSpec: string, ...Capabilities: string[]) => ({ PathSpec, Capabilities })
  const Variables = { Paths: [path('apps/*', 'list', 'read'), path('apps/secret', 'deny')] }
  const rights = limited({
    ...NONE,
    Namespaces: [{ Name: 'we*', Policy: '', Capabilities: [], Variables }],
  })
  const may = (namespace: string, name: string) =>
    hasVariableCapability(rights, { namespace, path: name }, 'read')
  assert.deepEqual(
    [may('web', 'apps/db'), may('web', 'apps/secret'), may('web', 'other'), may('x', 'apps/db')],
    [true, false, false, false],
  )
  assert.deepEqual(
    [hasSomeVariableCapability(rights, 'list'), hasSomeVariableCapability(rights, 'write')],
    [true, false],
  )
  assert.equal(hasSomeVariableCapability(NO_PERMISSIONS, 'list'), false)
  assert.equal(
    hasVariableCapability(ALL_PERMISSIONS, { namespace: 'a', path: 'b' }, 'destroy'),
    true,
  )
})
