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
  const standard = DEFAULT_SCHEDULER_CONFIGURATION
  const { PreemptionConfig: given } = request
  const preemption = standard.PreemptionConfig
  return {
    SchedulerAlgorithm: request.SchedulerAlgorithm || standard.SchedulerAlgorithm,
    PreemptionConfig: {
      SystemSchedulerEnabled: given?.SystemSchedulerEnabled ?? preemption.SystemSchedulerEnabled,
      SysBatchSchedulerEnabled:
        given?.SysBatchSchedulerEnabled ?? preemption.SysBatchSchedulerEnabled,
      BatchSchedulerEnabled: given?.BatchSchedulerEnabled ?? preemption.BatchSchedulerEnabled,
      ServiceSchedulerEnabled: given?.ServiceSchedulerEnabled ?? preemption.ServiceSchedulerEnabled,
    },
    MemoryOversubscriptionEnabled: request.MemoryOversubscriptionEnabled ?? false,
    RejectJobRegistration: request.RejectJobRegistration ?? false,
    PauseEvalBroker: request.PauseEvalBroker ?? false,
    CreateIndex: 0,
    ModifyIndex: 0,
  }
}
