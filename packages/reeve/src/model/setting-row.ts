import type { SchedulerConfiguration } from '@reeve/contract'

/** Settings of the whole installation, one row each. */
export interface AclBootstrapRow {
  readonly Name: 'acl-bootstrap'
  /** Index of the last bootstrap, which the operator must write into the reset file. */
  readonly ResetIndex: number
  readonly CreateIndex: number
  readonly ModifyIndex: number
}

export interface SchedulerConfigurationRow extends SchedulerConfiguration {
  readonly Name: 'scheduler-configuration'
}

/** Written when an operator rotates the shared join token; replaces the configured one. */
export interface SharedJoinTokenRow {
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

export type SettingRow =
  | AclBootstrapRow
  | ClusterLevelRow
  | SchedulerConfigurationRow
  | SharedJoinTokenRow
