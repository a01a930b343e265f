import {
  SCHEDULER_ALGORITHMS,
  type SchedulerAlgorithm,
  type SchedulerConfiguration,
  type SchedulerConfigurationRequest,
} from '@reeve/contract'

/** Defaults until an operator changes the configuration. */
export const DEFAULT_SCHEDULER_CONFIGURATION: SchedulerConfiguration = {
  SchedulerAlgorithm: 'binpack',
  PreemptionConfig: {
    SystemSchedulerEnabled: true,
    SysBatchSchedulerEnabled: false,
    BatchSchedulerEnabled: false,
    ServiceSchedulerEnabled: false,
  },
  MemoryOversubscriptionEnabled: false,
  RejectJobRegistration: false,
  PauseEvalBroker: false,
  CreateIndex: 0,
  ModifyIndex: 0,
}

export function isSchedulerAlgorithm(text: string): text is SchedulerAlgorithm {
  return SCHEDULER_ALGORITHMS.some((one) => one === text)
}

/** Returns the complete configuration, with defaults for fields absent in a request. */
export function canonicalSchedulerConfiguration(
  request: SchedulerConfigurationRequest,
): SchedulerConfiguration {
  const defaults = DEFAULT_SCHEDULER_CONFIGURATION
  const { PreemptionConfig: requested } = request
  const preemption = defaults.PreemptionConfig
  return {
    SchedulerAlgorithm: request.SchedulerAlgorithm || defaults.SchedulerAlgorithm,
    PreemptionConfig: {
      SystemSchedulerEnabled:
        requested?.SystemSchedulerEnabled ?? preemption.SystemSchedulerEnabled,
      SysBatchSchedulerEnabled:
        requested?.SysBatchSchedulerEnabled ?? preemption.SysBatchSchedulerEnabled,
      BatchSchedulerEnabled: requested?.BatchSchedulerEnabled ?? preemption.BatchSchedulerEnabled,
      ServiceSchedulerEnabled:
        requested?.ServiceSchedulerEnabled ?? preemption.ServiceSchedulerEnabled,
    },
    MemoryOversubscriptionEnabled: request.MemoryOversubscriptionEnabled ?? false,
    RejectJobRegistration: request.RejectJobRegistration ?? false,
    PauseEvalBroker: request.PauseEvalBroker ?? false,
    CreateIndex: 0,
    ModifyIndex: 0,
  }
}
