import type { OptionName, Settings } from './options.ts'
import type { Origin } from './problem.ts'

/** The merged settings and the source of each value. */
export interface ResolvedSettings {
  readonly settings: Settings
  readonly originOf: (name: OptionName) => Origin
}
