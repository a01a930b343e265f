/** Reports whether jobs of the type run on every feasible node. */
export function isSystemType(type: string): boolean {
  return type === 'system' || type === 'sysbatch'
}

/** Reports whether allocations of the type can complete. */
export function isBatchType(type: string): boolean {
  return type === 'batch' || type === 'sysbatch'
}
