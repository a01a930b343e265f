/**
 * What allocations hold of many nodes, one number for each node and dimension: who looks at every
 * node of a cluster reads columns, not objects. A node's place in them is its slot.
 */
export interface UsageColumns {
  readonly cpuShares: Float64Array
  readonly memoryMB: Float64Array
  readonly diskMB: Float64Array
  /** Not zero where an allocation holds cores, ports or devices; the usage of the node has them. */
  readonly special: Uint8Array
  /** The slot stays the node's as long as this object is the view's. */
  slotOf(nodeId: string): number
}
