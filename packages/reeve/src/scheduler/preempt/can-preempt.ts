import type { Job } from '@reeve/contract'
import type { PlacementSettings } from '../view.ts'

/** Scheduling reference §10: what the settings allow when they say nothing else. */
const DEFAULTS = {
  SystemSchedulerEnabled: true,
  SysBatchSchedulerEnabled: false,
  BatchSchedulerEnabled: false,
  ServiceSchedulerEnabled: false,
}

/** Whether jobs of this type may displace others of lower priority. */
export function canPreempt({ Type: type }: Job, { preemption }: PlacementSettings): boolean {
  const allowed = preemption ?? DEFAULTS
  switch (type) {
    case 'system':
      return allowed.SystemSchedulerEnabled
    case 'sysbatch':
      return allowed.SysBatchSchedulerEnabled
    case 'batch':
      return allowed.BatchSchedulerEnabled
    default:
      return allowed.ServiceSchedulerEnabled
  }
}
