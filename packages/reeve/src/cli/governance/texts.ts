import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { table } from '../output/table.ts'

interface Listing<T> {
  readonly heading: readonly string[]
  readonly row: (one: T) => readonly string[]
  /** What is said where there is nothing, with the next step. */
  readonly empty: string
}

/** Shows everything of a list: a table for people, the resources for machines. */
export async function showList<T>(
  { output }: Invocation,
  items: AsyncIterable<T>,
  { heading, row, empty }: Listing<T>,
): Promise<number> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  output.show(all, () => (all.length === 0 ? empty : table(heading, all.map(row))))
  return EXIT_CODES.ok
}

/** The words of a list of switches that are on. */
export function onText(switches: Readonly<Record<string, boolean>>): string {
  const on = Object.entries(switches).filter(([, isOn]) => isOn)
  return on.map(([name]) => name).join(', ')
}

/** `--no-x` is false, `--x` true, neither leaves it as it is. */
export function switchOf({ flags }: Invocation, name: string): boolean | undefined {
  if (flags.has(name)) return true
  return flags.isOff(name) ? false : undefined
}

/** The members that are not undefined. */
type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** Without what was not said: an update changes only what it names. */
export function given<T extends object>(attributes: T): Given<T> {
  const known = Object.entries(attributes).filter(([, value]) => value !== undefined)
  // The entries that are left are those of the argument.
  return Object.fromEntries(known) as Given<T>
}
