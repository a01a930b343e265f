import type { OptionName, Settings } from './options.ts'
import type { Origin } from './problem.ts'

/** The settings after all sources were put together, and who said each. */
export interface Resolved {
  readonly settings: Settings
  readonly originOf: (name: OptionName) => Origin
}
