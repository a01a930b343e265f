import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../errors.ts'
import { renderTable } from '../output/format.ts'

interface TableSpec<T> {
  readonly heading: readonly string[]
  readonly row: (one: T) => readonly string[]
  /** Text for an empty list, with the next step. */
  readonly empty: string
}

/** Prints all items: as a table, or as JSON with `--json`. */
export async function printList<T>(
  { output }: CommandContext,
  items: AsyncIterable<T>,
  { heading, row, empty }: TableSpec<T>,
): Promise<number> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  output.print(all, () => (all.length === 0 ? empty : renderTable(heading, all.map(row))))
  return EXIT_CODES.ok
}

/** Joins the names of the enabled permissions. */
export function enabledNames(switches: Readonly<Record<string, boolean>>): string {
  const enabled = Object.entries(switches).filter(([, isOn]) => isOn)
  return enabled.map(([name]) => name).join(', ')
}

/** Returns true for `--x`, false for `--no-x` and undefined for neither. */
export function booleanFlag({ flags }: CommandContext, name: string): boolean | undefined {
  if (flags.has(name)) return true
  return flags.isNegated(name) ? false : undefined
}

/** The same members, without `undefined` values. */
type DefinedMembers<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** Omits undefined attributes, so that an update leaves them unchanged. */
export function omitUndefined<T extends object>(attributes: T): DefinedMembers<T> {
  const known = Object.entries(attributes).filter(([, value]) => value !== undefined)
  // Proof: the remaining entries are members of the argument.
  return Object.fromEntries(known) as DefinedMembers<T>
}
