import {
  SCHEDULER_ALGORITHMS,
  type SchedulerAlgorithm,
  type SchedulerConfiguration,
  type SchedulerConfigurationRequest,
} from '@reeve/contract'

/** What holds until an operator says otherwise. */
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

/** The settings in full: what a request leaves out has its default. */
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
