import { HostUsage, NodeMeta, v1Routes } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { checkUuid, LIMITS, refusal, type Refusal } from '../../model/index.ts'
import { unknownNode } from '../../workload/index.ts'
import type { AgentInfo } from './agent.ts'
import type { ClientHost } from './client-allocations.ts'
import { read, type Endpoint } from './endpoint.ts'
import { asked, emptyOf, jsonOf, nodeAnswer } from './node-answer.ts'
import { nodeRead, nodeWrite } from './requirements.ts'

const askUsage = nodeAnswer(HostUsage)
const askMeta = nodeAnswer(NodeMeta)

/**
 * Returns the routes for resource usage and garbage collection of a node; the node in this process
 * unless one is named.
 */
export function clientNodeEndpoints(
  { context, gateway }: ClientHost,
  agent: Pick<AgentInfo, 'nodeId'>,
): readonly Endpoint[] {
  const find = (given: string | undefined): Result<string, Refusal> => {
    const text = given || agent.nodeId?.()
    if (text === undefined)
      return err(refusal('invalid-input', 'No local Node and node_id not provided'))
    const id = checkUuid('node', text)
    if (!id.ok) return err(refusal('invalid-input', id.error))
    return context.store.tables.nodes.has(id.value) ? ok(id.value) : err(unknownNode(id.value))
  }
  return [
    read(v1Routes.readClientStats, nodeRead, ({ query }) =>
      asked(async () => {
        const node = find(query.node_id)
        if (!node.ok) return node
        const request = { verb: 'host-usage' } as const
        return jsonOf(await askUsage(gateway, { nodeId: node.value, request }))
      }),
    ),
    read(v1Routes.readNodeMeta, nodeRead, ({ query }) =>
      asked(async () => {
        const node = find(query.node_id)
        if (!node.ok) return node
        const request = { verb: 'read-meta' } as const
        return jsonOf(await askMeta(gateway, { nodeId: node.value, request }))
      }),
    ),
    read(v1Routes.applyNodeMeta, nodeWrite, ({ query, body }) =>
      asked(async () => {
        const node = find(query.node_id || body?.NodeID || undefined)
        if (!node.ok) return node
        const changes = Object.entries(body?.Meta ?? {})
        const meta = Object.fromEntries(changes.map(([name, value]) => [name, value ?? null]))
        const request = { verb: 'apply-meta', meta } as const
        return jsonOf(await askMeta(gateway, { nodeId: node.value, request }))
      }),
    ),
    read(v1Routes.collectClient, nodeWrite, ({ query }) =>
      asked(async () => {
        const node = find(query.node_id)
        if (!node.ok) return node
        const ms = LIMITS.nodeSlowRequestMsMax
        return emptyOf(await gateway.request(node.value, { verb: 'collect-all' }, ms))
      }),
    ),
  ]
}
