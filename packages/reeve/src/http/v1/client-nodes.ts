import { HostUsage, NodeMeta, v1Routes } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { checkUuid, LIMITS, refusal, type Refusal } from '../../model/index.ts'
import { unknownNode } from '../../workload/index.ts'
import type { AgentInfo } from './agent.ts'
import type { NodeRouteDeps } from './client-allocations.ts'
import { read, type Endpoint } from './endpoint.ts'
import { unwatchedRead, emptyResult, jsonResult, nodeRpc } from './node-answer.ts'
import { nodeRead, nodeWrite } from './requirements.ts'

const askHostUsage = nodeRpc(HostUsage)
const askMeta = nodeRpc(NodeMeta)

/**
 * Returns the routes for resource usage and garbage collection of a node; the node in this process
 * unless one is named.
 */
export function clientNodeEndpoints(
  { context, gateway }: NodeRouteDeps,
  agent: Pick<AgentInfo, 'nodeId'>,
): readonly Endpoint[] {
  const find = (requestedId: string | undefined): Result<string, Refusal> => {
    const text = requestedId || agent.nodeId?.()
    if (text === undefined)
      return err(refusal('invalid-input', 'No local Node and node_id not provided'))
    const id = checkUuid('node', text)
    if (!id.ok) return err(refusal('invalid-input', id.error))
    return context.store.tables.nodes.has(id.value) ? ok(id.value) : err(unknownNode(id.value))
  }
  return [
    read(v1Routes.readClientStats, nodeRead, ({ query }) =>
      unwatchedRead(async () => {
        const node = find(query.node_id)
        if (!node.ok) return node
        const request = { verb: 'host-usage' } as const
        return jsonResult(await askHostUsage(gateway, { nodeId: node.value, request }))
      }),
    ),
    read(v1Routes.readNodeMeta, nodeRead, ({ query }) =>
      unwatchedRead(async () => {
        const node = find(query.node_id)
        if (!node.ok) return node
        const request = { verb: 'read-meta' } as const
        return jsonResult(await askMeta(gateway, { nodeId: node.value, request }))
      }),
    ),
    read(v1Routes.applyNodeMeta, nodeWrite, ({ query, body }) =>
      unwatchedRead(async () => {
        const node = find(query.node_id || body?.NodeID || undefined)
        if (!node.ok) return node
        const changes = Object.entries(body?.Meta ?? {})
        const meta = Object.fromEntries(changes.map(([name, value]) => [name, value ?? null]))
        const request = { verb: 'apply-meta', meta } as const
        return jsonResult(await askMeta(gateway, { nodeId: node.value, request }))
      }),
    ),
    read(v1Routes.collectClient, nodeWrite, ({ query }) =>
      unwatchedRead(async () => {
        const node = find(query.node_id)
        if (!node.ok) return node
        const ms = LIMITS.nodeSlowRequestTimeoutMs
        return emptyResult(await gateway.request(node.value, { verb: 'collect-all' }, ms))
      }),
    ),
  ]
}
