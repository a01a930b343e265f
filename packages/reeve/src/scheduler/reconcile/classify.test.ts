import assert from 'node:assert/strict'
import test from 'node:test'
import type { DisconnectStrategy, Node } from '@reeve/contract'
import { aGroup, aJob, anAllocation, aNode, NOW_MS } from '../../../test/build/index.ts'
import { isoFromMs, nsFromMs } from '@reeve/kit/duration.ts'
import type { AllocationRow } from '../../model/index.ts'
import { classify, type ClassifiedAllocations } from './classify.ts'

type List =
  | Exclude<
      keyof ClassifiedAllocations,
      | 'rescheduleLater'
      | 'disconnectReplaceLater'
      | 'unknownReplaceLater'
      | 'heldByDeployment'
      | 'mustWaitForLost'
    >
  | 'nowhere'

const HOUR = nsFromMs(3_600_000)
const unknownSince = (ms: number) => ({
  AllocStates: [{ Field: 'ClientStatus', Value: 'unknown', Time: isoFromMs(ms) }],
})
const wait: Partial<DisconnectStrategy> = { LostAfter: HOUR }

interface Case {
  readonly name: string
  readonly row: Partial<AllocationRow>
  readonly node?: Partial<Node> | undefined
  readonly gone?: boolean
  readonly type?: string
  readonly version?: number
  readonly disconnect?: Partial<DisconnectStrategy>
  readonly want: readonly List[]
}

const migrate = { DesiredTransition: { Migrate: true } }
const canary = {
  DeploymentStatus: { Healthy: null, Timestamp: '', Canary: true, ModifyIndex: 0 },
}

const cases: readonly Case[] = [
  { name: 'one that runs stays', row: {}, want: ['keep'] },
  {
    name: 'one that was unknown and failed meanwhile comes back',
    row: { ClientStatus: 'failed', NextAllocation: 'x', ...unknownSince(NOW_MS) },
    want: ['reconnecting'],
  },
  {
    name: 'one that was stopped for good keeps its slot',
    row: {
      DesiredStatus: 'stop',
      DesiredTransition: { Migrate: true, MigrateDisablePlacement: true },
    },
    want: ['keep'],
  },
  {
    name: 'batch work that was stopped for good runs again with a new version',
    type: 'batch',
    version: 1,
    row: {
      DesiredStatus: 'stop',
      ClientStatus: 'complete',
      DesiredTransition: { Migrate: true, MigrateDisablePlacement: true },
    },
    want: ['nowhere'],
  },
  { name: 'one that was stopped is forgotten', row: { DesiredStatus: 'stop' }, want: ['nowhere'] },
  { name: 'one that was evicted is forgotten', row: { DesiredStatus: 'evict' }, want: ['nowhere'] },
  {
    name: 'a canary that ended and is marked moves',
    row: { ClientStatus: 'failed', ...migrate, ...canary },
    want: ['migrate'],
  },
  { name: 'a service that ended is missing', row: { ClientStatus: 'complete' }, want: ['nowhere'] },
  {
    name: 'batch work that ended well is done',
    type: 'batch',
    row: { ClientStatus: 'complete' },
    want: ['keep'],
  },
  {
    name: 'one that is unknown for too long is lost',
    row: { ClientStatus: 'unknown', ...unknownSince(NOW_MS - 3_600_000) },
    node: { Status: 'disconnected' },
    disconnect: wait,
    want: ['lost'],
  },
  {
    name: 'one that is unknown and was replaced is neither here nor there',
    row: { ClientStatus: 'unknown', NextAllocation: 'x', ...unknownSince(NOW_MS) },
    node: { Status: 'disconnected' },
    disconnect: wait,
    want: ['nowhere'],
  },
  {
    name: 'one that is unknown waits to be replaced',
    row: { ClientStatus: 'unknown', ...unknownSince(NOW_MS) },
    node: { Status: 'disconnected' },
    disconnect: wait,
    want: ['keep'],
  },
  {
    name: 'one that is unknown and due is replaced',
    row: { ClientStatus: 'unknown', ...unknownSince(NOW_MS - 60_000) },
    node: { Status: 'disconnected' },
    disconnect: wait,
    want: ['disconnectReplaceNow'],
  },
  {
    name: 'one on a silent node that never ran is lost',
    row: { ClientStatus: 'pending' },
    node: { Status: 'disconnected' },
    disconnect: wait,
    want: ['lost'],
  },
  {
    name: 'one on a silent node that nobody waits for is lost',
    row: {},
    node: { Status: 'disconnected' },
    want: ['lost'],
  },
  {
    name: 'one on a silent node becomes unknown',
    row: {},
    node: { Status: 'disconnected' },
    disconnect: wait,
    want: ['keep', 'disconnecting'],
  },
  {
    name: 'one on a silent node becomes unknown also when it is marked',
    row: migrate,
    node: { Status: 'disconnected' },
    disconnect: wait,
    want: ['keep', 'disconnecting'],
  },
  { name: 'one that is marked moves', row: migrate, want: ['migrate'] },
  {
    name: 'one whose node is back and has spoken returns',
    row: unknownSince(NOW_MS),
    disconnect: wait,
    want: ['reconnecting'],
  },
  {
    name: 'one whose node drains stays while nobody marked it',
    row: {},
    node: { SchedulingEligibility: 'ineligible', Drain: true },
    want: ['keep'],
  },
  { name: 'one whose node nobody knows is lost', row: {}, gone: true, want: ['lost'] },
  {
    name: 'one that shall not be replaced stays unknown on a node that is down',
    row: { ClientStatus: 'unknown', ...unknownSince(NOW_MS) },
    node: { Status: 'down' },
    disconnect: { Replace: false },
    want: ['keep'],
  },
  {
    name: 'one that shall not be replaced becomes unknown on a node that is down',
    row: {},
    node: { Status: 'down' },
    disconnect: { Replace: false },
    want: ['keep', 'disconnecting'],
  },
  { name: 'one on a node that is down is lost', row: {}, node: { Status: 'down' }, want: ['lost'] },
  {
    name: 'one that is unknown on a node that is down is lost',
    row: { ClientStatus: 'unknown', ...unknownSince(NOW_MS) },
    node: { Status: 'down' },
    disconnect: wait,
    want: ['lost'],
  },
  {
    name: 'one on a node that is starting stays',
    row: {},
    node: { Status: 'initializing' },
    want: ['keep'],
  },
]
for (const { name, row, node, gone = false, type = 'service', version, disconnect, want } of cases)
  test(`classify: ${name}`, () => {
    const Disconnect = disconnect === undefined ? null : disconnect
    const job = aJob({ Type: type, groups: [aGroup({ Disconnect })] })
    const [group] = job.TaskGroups
    assert.ok(group)
    const one = anAllocation({ job, ...row })
    const found = classify([one], {
      job: { ...job, Version: version ?? job.Version },
      group,
      disconnect: group.Disconnect,
      findNode: () => (gone ? undefined : aNode(node)),
      nowMs: NOW_MS,
      evaluationIds: new Set(),
      isPendingEvaluation: () => true,
      activeDeploymentId: undefined,
    })
    const {
      mustWaitForLost,
      rescheduleLater: _,
      disconnectReplaceLater: _s,
      unknownReplaceLater: _u,
      heldByDeployment: _h,
      ...lists
    } = found
    const names = Object.entries(lists).filter(([, rows]) => rows.length > 0)
    assert.deepEqual(
      names.map(([list]) => list),
      want.filter((list) => list !== 'nowhere'),
    )
    assert.equal(mustWaitForLost, false)
  })
