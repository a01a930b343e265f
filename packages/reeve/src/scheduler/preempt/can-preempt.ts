import type { Job, PreemptionConfig } from '@reeve/contract'
import type { PlacementSettings } from '../view.ts'

/** Default preemption settings. */
const PREEMPTION_DEFAULTS = {
  SystemSchedulerEnabled: true,
  SysBatchSchedulerEnabled: false,
  BatchSchedulerEnabled: false,
  ServiceSchedulerEnabled: false,
}

/** Preemption setting by job type. */
const SETTING_BY_JOB_TYPE: Readonly<Record<string, keyof PreemptionConfig>> = {
  system: 'SystemSchedulerEnabled',
  sysbatch: 'SysBatchSchedulerEnabled',
  batch: 'BatchSchedulerEnabled',
  service: 'ServiceSchedulerEnabled',
}

export function preemptionSetting({ Type: type }: Pick<Job, 'Type'>): keyof PreemptionConfig {
  return SETTING_BY_JOB_TYPE[type] ?? 'ServiceSchedulerEnabled'
}

/** True if jobs of this type may preempt others of lower priority. */
export function canPreempt(job: Job, { preemption }: PlacementSettings): boolean {
  return (preemption ?? PREEMPTION_DEFAULTS)[preemptionSetting(job)]
}

/** Settings with preemption enabled for the type of the job. */
export function enablePreemption(job: Job, { preemption }: PlacementSettings): PreemptionConfig {
  return { ...PREEMPTION_DEFAULTS, ...preemption, [preemptionSetting(job)]: true }
}
