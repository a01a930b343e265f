import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import type { NodeRegistration, NodeStatus } from '@reeve/contract'
import { HeartbeatMonitor } from '../../src/control/index.ts'
import { registerNode } from '../../src/workload/index.ts'
import { withScheduler } from '../api/cluster.ts'
import { createTestServer } from '../api/harness.ts'
import { aNode } from '../build/index.ts'

/** A server that schedules and watches its nodes; a test speaks for the agents. */
export async function aWorld() {
  const scheduled = await withScheduler(await createTestServer({ aclEnabled: false }), 0)
  const { server, settle } = scheduled
  const { context } = server
  const { store, clock, ids } = context
  const { tables } = store
  const quiet = (): void => undefined
  const log = { info: quiet, warn: quiet, error: quiet }
  const presence = new HeartbeatMonitor({ store, clock, ids, log })
  presence.start()
  /** Nodes whose heartbeats come. */
  const beating = new Set<string>()
  const pass = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 1_000) {
      for (const id of beating) presence.recordHeartbeat(id)
      server.clock.advance(Math.min(left, 1_000))
      await setImmediate()
      await settle()
    }
  }
  return {
    ...scheduled,
    context,
    tables,
    presence,
    beating,
    pass,
    /** The node connects: it is heard from then on. */
    hello: async (id: string, fields: Partial<NodeRegistration> = {}): Promise<void> => {
      const node = registration(id, fields)
      const secret = id.replace(/^./, 'f')
      const registered = await registerNode(context, {
        kind: 'hello',
        version: 1,
        node,
        secret,
        joinToken: 'join',
      })
      assert.ok(registered.ok)
      presence.recordHeartbeat(id)
      beating.add(id)
      await pass(1)
    },
    statusOf: (id: string): NodeStatus | undefined => tables.nodes.find(id)?.Status,
    eventsOf: (id: string) =>
      (tables.nodes.find(id)?.Events ?? []).map(({ Subsystem, Message }) => [Subsystem, Message]),
    triggersOf: (jobId: string) =>
      [...tables.evaluations.rows()]
        .filter((row) => row.JobID === jobId)
        .toSorted((a, b) => a.CreateIndex - b.CreateIndex)
        .map((row) => row.TriggeredBy),
  }
}

function registration(id: string, fields: Partial<NodeRegistration>): NodeRegistration {
  const {
    ComputedClass: _class,
    Status: _status,
    StatusDescription: _description,
    StatusUpdatedAt: _updated,
    SchedulingEligibility: _eligibility,
    Drain: _drain,
    DrainStrategy: _strategy,
    LastDrain: _last,
    Resources: _resources,
    Reserved: _reserved,
    CSIControllerPlugins: _controllers,
    CSINodePlugins: _plugins,
    SecretID: _secret,
    Events: _events,
    CreateIndex: _created,
    ModifyIndex: _modified,
    ...node
  } = aNode({ ID: id, Name: `name-${id.at(-1)}` })
  return { ...node, ...fields }
}
