/**
 * Resources used on many nodes, as one column per dimension: scanning all nodes of a cluster reads
 * columns instead of objects. Each node has a slot in them.
 */
export interface UsageColumns {
  readonly cpuShares: Float64Array
  readonly memoryMB: Float64Array
  readonly diskMB: Float64Array
  /** Not zero if allocations use cores, ports or devices; the node's usage contains them. */
  readonly hasDiscreteUsage: Uint8Array
  /** Returns the slot of a node, which is stable while this object is the view's. */
  slotOf(nodeId: string): number
}
