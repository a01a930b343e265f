import {
  SCHEDULER_ALGORITHMS,
  type SchedulerAlgorithm,
  type SchedulerConfiguration,
  type SchedulerConfigurationRequest,
} from '@reeve/contract'

/** Settings of the whole installation, one row each. */
interface AclBootstrapRow {
  readonly Name: 'acl-bootstrap'
  /** Index of the last bootstrap, which the operator must write into the reset file. */
  readonly ResetIndex: number
  readonly CreateIndex: number
  readonly ModifyIndex: number
}

interface SchedulerConfigurationRow extends SchedulerConfiguration {
  readonly Name: 'scheduler-configuration'
}

/** Written when an operator rotates the shared join token; replaces the configured one. */
interface SharedJoinTokenRow {
  readonly Name: 'shared-join-token'
  readonly SecretHash: string
  readonly RotatedAt: string
  readonly CreateIndex: number
  readonly ModifyIndex: number
}

/**
 * The minor version that all servers have reached. Rows, fields and formats that an older version
 * cannot read are written from their level on, and an older program does not start on this state.
 */
export interface ClusterLevelRow {
  readonly Name: 'cluster-level'
  /** Major and minor version, such as `1.4`. */
  readonly Level: string
  readonly CreateIndex: number
  readonly ModifyIndex: number
}

/**
 * The last restore of a snapshot by running servers. Its commit tells all servers that what they
 * derived from the previous rows is stale.
 */
interface LastRestoreRow {
  readonly Name: 'last-restore'
  /** When the snapshot was saved, and its index. */
  readonly SavedAt: string
  readonly SnapshotIndex: number
  readonly CreateIndex: number
  readonly ModifyIndex: number
}

export type SettingRow =
  | AclBootstrapRow
  | ClusterLevelRow
  | LastRestoreRow
  | SchedulerConfigurationRow
  | SharedJoinTokenRow

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
