import type { SchedulerConfiguration } from '@reeve/contract'
import { DEFAULT_SCHEDULER_CONFIGURATION, type SettingRow } from '../model/index.ts'
import type { Tables } from './tables.ts'

type SettingNamed<N extends SettingRow['Name']> = Extract<SettingRow, { readonly Name: N }>

/** A fact about the installation as a whole; undefined until it is written. */
export function findSetting<N extends SettingRow['Name']>(
  tables: Pick<Tables, 'settings'>,
  name: N,
): SettingNamed<N> | undefined {
  // The table is keyed by Name, and Name tells the shapes apart.
  return tables.settings.find(name) as SettingNamed<N> | undefined
}

/** What the scheduler follows now. */
export function schedulerConfiguration(tables: Pick<Tables, 'settings'>): SchedulerConfiguration {
  const row = findSetting(tables, 'scheduler-configuration')
  if (row === undefined) return DEFAULT_SCHEDULER_CONFIGURATION
  const { Name: _name, ...configuration } = row
  return configuration
}

/**
 * Whether evaluations wait in the broker until an operator lets them go. The loop that carries them
 * out asks before each one, and again when the settings change.
 */
export function isBrokerPaused(tables: Pick<Tables, 'settings'>): boolean {
  return schedulerConfiguration(tables).PauseEvalBroker
}

/** The level of a state in which none is written yet: that of the first release. */
export const FIRST_LEVEL = '0.1'

/**
 * The minor version that all servers have reached. A row or field that the version before cannot
 * read is written only from the level that introduces it (docs/how-to/upgrade.md).
 */
export function clusterLevel(tables: Pick<Tables, 'settings'>): string {
  return findSetting(tables, 'cluster-level')?.Level ?? FIRST_LEVEL
}
