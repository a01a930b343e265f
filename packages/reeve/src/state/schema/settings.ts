import type { SchedulerConfiguration } from '@reeve/contract'
import { DEFAULT_SCHEDULER_CONFIGURATION, type SettingRow } from '../../model/index.ts'
import type { Tables } from './tables.ts'

type SettingNamed<N extends SettingRow['Name']> = Extract<SettingRow, { readonly Name: N }>

/** Finds a cluster-wide setting; undefined until it is written. */
export function findSetting<N extends SettingRow['Name']>(
  tables: Pick<Tables, 'settings'>,
  name: N,
): SettingNamed<N> | undefined {
  // The table is keyed by Name, and Name tells the shapes apart.
  return tables.settings.find(name) as SettingNamed<N> | undefined
}

/** Current scheduler configuration. */
export function schedulerConfiguration(tables: Pick<Tables, 'settings'>): SchedulerConfiguration {
  const row = findSetting(tables, 'scheduler-configuration')
  if (row === undefined) return DEFAULT_SCHEDULER_CONFIGURATION
  const { Name: _name, ...configuration } = row
  return configuration
}

/**
 * True while the operator has paused the evaluation broker. The evaluation loop checks it before
 * each evaluation and when the settings change.
 */
export function isBrokerPaused(tables: Pick<Tables, 'settings'>): boolean {
  return schedulerConfiguration(tables).PauseEvalBroker
}

/** Level of a state without this setting: that of the first release. */
export const FIRST_LEVEL = '0.1'

/**
 * Minor version that all servers have reached. Rows or fields that the previous version cannot read
 * are written only from the level that introduces them (docs/how-to/upgrade.md).
 */
export function clusterLevel(tables: Pick<Tables, 'settings'>): string {
  return findSetting(tables, 'cluster-level')?.Level ?? FIRST_LEVEL
}
