import type { SchedulerConfiguration } from '@reeve/contract'
import { DEFAULT_SCHEDULER_CONFIGURATION, type SettingRow } from '../../model/index.ts'
import { assert, Fault } from '@reeve/kit/fault.ts'
import { compareMinors, parseMinor } from '@reeve/kit/release.ts'
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

/** Minor version that all servers have reached (docs/how-to/upgrade.md). */
export function clusterLevel(tables: Pick<Tables, 'settings'>): string {
  return findSetting(tables, 'cluster-level')?.Level ?? FIRST_LEVEL
}

/**
 * Throws a Fault for a row of a table that the previous version cannot read while that version may
 * start again. The same applies to fields: the use case calls this before it writes one.
 */
export function assertLevelReached(tables: Pick<Tables, 'settings'>, since: string): void {
  const current = clusterLevel(tables)
  const [level, wanted] = [parseMinor(current), parseMinor(since)]
  assert(wanted !== undefined, `${since} is not a minor version`)
  if (level !== undefined && compareMinors(level, wanted) >= 0) return
  throw new Fault(
    'cluster-level',
    `This needs cluster level ${since}, and the level is ${current}: run "reeve operator upgrade finish" ` +
      `when all servers run Reeve ${since} or newer.`,
  )
}
