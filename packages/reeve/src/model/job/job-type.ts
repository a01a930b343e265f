/** Whether jobs of the type run once on every node rather than so many times anywhere. */
export function isSystemType(type: string): boolean {
  return type === 'system' || type === 'sysbatch'
}

/** Whether the work of jobs of the type is done when it ends well. */
export function isBatchType(type: string): boolean {
  return type === 'batch' || type === 'sysbatch'
}
