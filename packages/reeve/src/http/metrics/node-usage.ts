import { NodeUsageReport } from '@reeve/contract'
import { Compile } from 'typebox/compile'
import { LIMITS } from '../../model/index.ts'
import type { Store } from '../../state/index.ts'
import type { NodeGateway } from '../../workload/index.ts'

/** How long a node may take to report its usage; it is left out of one response if it is slower. */
const REPORT_TIMEOUT_MS = 3_000
/** Nodes that are asked at the same time. */
const NODES_AT_ONCE = 64

const reportChecker = Compile(NodeUsageReport)

/** What nodes report, by node. Nodes that are not connected to this server are not in it. */
export type NodeUsages = ReadonlyMap<string, NodeUsageReport>

/** Asks all connected nodes for their usage. Nodes of earlier versions do not answer. */
export async function readNodeUsages(
  { tables }: Pick<Store, 'tables'>,
  gateway: Pick<NodeGateway, 'request'>,
): Promise<NodeUsages> {
  const usages = new Map<string, NodeUsageReport>()
  const waiting = tables.nodes.keys()
  let taskCount = 0
  const ask = async (): Promise<void> => {
    for (const nodeId of waiting) {
      if (taskCount >= LIMITS.metricTasksMax) return
      const reply = await gateway.request(nodeId, { verb: 'node-usage' }, REPORT_TIMEOUT_MS)
      if (!reply.ok || !reportChecker.Check(reply.value)) continue
      taskCount += reply.value.tasks.length
      usages.set(nodeId, reply.value)
    }
  }
  await Promise.all(Array.from({ length: NODES_AT_ONCE }, ask))
  return usages
}
