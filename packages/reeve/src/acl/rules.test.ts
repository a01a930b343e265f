import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  NAMESPACE_CAPABILITIES,
  type HostVolumeCapability,
  type NamespaceCapability,
  type NodePoolCapability,
  type OperatorCapability,
  type VariableCapability,
} from '@reeve/contract'
import {
  hostVolumeCapabilities,
  namespaceCapabilities,
  nodePoolCapabilities,
  operatorCapabilities,
  type PolicyShorthand,
  variableCapabilities,
} from './rules.ts'

/** Expansion of each shorthand of a namespace rule. */
const READ =
  'list-jobs parse-job read-job csi-list-volume csi-read-volume read-job-scaling ' +
  'list-scaling-policies read-scaling-policy host-volume-read'
const WRITE =
  `${READ} scale-job submit-job dispatch-job read-logs read-fs alloc-exec alloc-lifecycle ` +
  'csi-mount-volume csi-write-volume submit-recommendation host-volume-create'
const SCALE =
  'list-scaling-policies read-scaling-policy read-job-scaling scale-job read-job ' +
  'submit-recommendation'

interface Case<C> {
  readonly policy?: PolicyShorthand
  readonly listed?: readonly C[]
  readonly gives: string
}

function check<C extends string>(
  kind: string,
  expand: (rule: { policy: PolicyShorthand; capabilities: readonly C[] }) => readonly C[],
  cases: readonly Case<C>[],
): void {
  for (const { policy = '', listed = [], gives } of cases)
    test(`${kind} with policy "${policy}" and [${listed.join(', ')}] has [${gives}]`, () => {
      const wanted = gives === '' ? [] : gives.split(' ')
      assert.deepEqual(expand({ policy, capabilities: listed }).toSorted(), wanted.toSorted())
    })
}

check<NamespaceCapability>('namespace', namespaceCapabilities, [
  { gives: '' },
  { policy: 'deny', gives: 'deny' },
  { policy: 'read', gives: READ },
  { policy: 'write', gives: WRITE },
  { policy: 'scale', gives: SCALE },
  { policy: 'read', listed: ['read-job', 'submit-job'], gives: `${READ} submit-job` },
  { policy: 'write', listed: ['deny'], gives: 'deny' },
  { policy: 'deny', listed: ['read-job'], gives: 'deny' },
  { listed: ['alloc-node-exec'], gives: 'alloc-node-exec' },
  { listed: ['host-volume-create'], gives: 'host-volume-create host-volume-read' },
  {
    listed: ['host-volume-register'],
    gives: 'host-volume-register host-volume-create host-volume-read',
  },
  {
    listed: ['host-volume-write'],
    gives:
      'host-volume-write host-volume-register host-volume-create host-volume-delete ' +
      'host-volume-read',
  },
  { listed: ['host-volume-delete'], gives: 'host-volume-delete' },
])

check<NodePoolCapability>('node pool', nodePoolCapabilities, [
  { gives: '' },
  { policy: 'deny', gives: 'deny' },
  { policy: 'read', gives: 'read' },
  { policy: 'write', gives: 'delete read write' },
  { policy: 'scale', gives: '' },
  { policy: 'read', listed: ['delete'], gives: 'read delete' },
  { policy: 'write', listed: ['deny'], gives: 'deny' },
])

check<HostVolumeCapability>('host volume', hostVolumeCapabilities, [
  { policy: 'deny', gives: 'deny' },
  { policy: 'read', gives: 'mount-readonly' },
  { policy: 'write', gives: 'mount-readonly mount-readwrite' },
  { policy: 'scale', gives: '' },
  { listed: ['mount-readwrite'], gives: 'mount-readwrite' },
])

check<OperatorCapability>('operator', operatorCapabilities, [
  { policy: 'deny', gives: 'deny' },
  { policy: 'read', gives: 'license-read keyring-read' },
  {
    policy: 'write',
    gives: 'snapshot-save license-read keyring-rotate keyring-read keyring-delete',
  },
  { policy: 'read', listed: ['snapshot-save'], gives: 'license-read keyring-read snapshot-save' },
])

check<VariableCapability>(
  'variable path',
  ({ capabilities }) => variableCapabilities(capabilities),
  [
    { gives: '' },
    { listed: ['list'], gives: 'list' },
    { listed: ['read'], gives: 'read list' },
    { listed: ['write'], gives: 'write' },
    { listed: ['destroy'], gives: 'destroy' },
    { listed: ['write', 'read', 'destroy'], gives: 'write read destroy list' },
    { listed: ['read', 'deny', 'write'], gives: 'deny' },
  ],
)

test('no shorthand contains capabilities that must be listed explicitly', () => {
  const explicit: readonly NamespaceCapability[] = [
    'alloc-node-exec',
    'policy-override',
    'csi-register-plugin',
    'host-volume-register',
    'host-volume-write',
    'host-volume-delete',
    'register-job',
    'revert-job',
    'deregister-job',
    'purge-job',
    'evaluate-job',
    'plan-job',
    'tag-job-version',
    'stable-job',
    'fail-deployment',
    'pause-deployment',
    'promote-deployment',
    'unblock-deployment',
    'cancel-deployment',
    'set-alloc-health-deployment',
    'gc-allocation',
    'pause-allocation',
    'force-periodic-job',
    'delete-service-registration',
  ]
  const held = new Set(
    (['read', 'write', 'scale'] as const).flatMap((policy) =>
      namespaceCapabilities({ policy, capabilities: [] }),
    ),
  )
  assert.deepEqual(
    NAMESPACE_CAPABILITIES.filter((one) => one !== 'deny' && !held.has(one)).toSorted(),
    explicit.toSorted(),
  )
})
