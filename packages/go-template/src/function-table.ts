import type { Cost } from './budget.ts'
import type { Value } from './value.ts'

export interface TemplateFunction {
  /** Charged before the call; the renderer charges the result, whatever the function. */
  readonly cost: Cost
  /** Gets the values of its arguments; throws through `fail` when they are not valid. */
  readonly call: (...args: readonly Value[]) => Value
}

export type TemplateFunctions = ReadonlyMap<string, TemplateFunction>

export type FunctionEntry = readonly [
  name: string,
  cost: Cost,
  call: (...args: readonly Value[]) => Value,
]

export function functionTable(entries: readonly FunctionEntry[]): TemplateFunctions {
  return new Map(entries.map(([name, cost, call]) => [name, { cost, call }] as const))
}
