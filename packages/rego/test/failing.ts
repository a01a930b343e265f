import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readCases, type RegoCase } from './cases.ts'
import { runCase } from './run-case.ts'

/** Names of the cases that fail, one on each line. The list only shrinks. */
export const FAILING_FILE = join(import.meta.dirname, 'failing.txt')

export function failingNames(cases: readonly RegoCase[], version: 0 | 1): readonly string[] {
  const names = cases
    .filter((item) => runCase(item, version) !== undefined)
    .map(({ folder, note }) => `v${version}/${folder}/${note}`)
  return [...new Set(names)].toSorted()
}

/** The network is not promised. */
export function isCounted({ folder }: RegoCase): boolean {
  return folder !== 'netlookupipaddr'
}

// `node packages/rego/test/failing.ts` writes the list anew.
if (import.meta.main) {
  const names = ([0, 1] as const).flatMap((version) => failingNames(readCases(version), version))
  writeFileSync(FAILING_FILE, `${names.join('\n')}\n`)
}
