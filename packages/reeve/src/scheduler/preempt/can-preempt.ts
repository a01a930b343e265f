import type { Job, PreemptionConfig } from '@reeve/contract'
import type { PlacementSettings } from '../view.ts'

/** What the settings allow when they say nothing else. */
const DEFAULTS = {
  SystemSchedulerEnabled: true,
  SysBatchSchedulerEnabled: false,
  BatchSchedulerEnabled: false,
  ServiceSchedulerEnabled: false,
}

/** The setting that jobs of a type go by. */
const SETTINGS: Readonly<Record<string, keyof PreemptionConfig>> = {
  system: 'SystemSchedulerEnabled',
  sysbatch: 'SysBatchSchedulerEnabled',
  batch: 'BatchSchedulerEnabled',
  service: 'ServiceSchedulerEnabled',
}

export function preemptionSetting({ Type: type }: Pick<Job, 'Type'>): keyof PreemptionConfig {
  return SETTINGS[type] ?? 'ServiceSchedulerEnabled'
}

/** Whether jobs of this type may displace others of lower priority. */
export function canPreempt(job: Job, { preemption }: PlacementSettings): boolean {
  return (preemption ?? DEFAULTS)[preemptionSetting(job)]
}

/** The settings with which they may. */
export function withPreemption(job: Job, { preemption }: PlacementSettings): PreemptionConfig {
  return { ...DEFAULTS, ...preemption, [preemptionSetting(job)]: true }
}
