import { isUpToDate } from './up-to-date.ts'

/** Where the program begins, seen from the root. */
export const SOURCE = 'packages/reeve/src/main/reeve.ts'
/** Where it is built, each build in a directory of its own. */
export const DIST = 'packages/reeve/dist'
/** Imports the newest build. */
export const PROGRAM = `${DIST}/reeve.js`

const PROGRAM_SOURCES = [
  ...['contract', 'sdk', 'kit', 'hcl', 'go-template', 'rego', 'native-policy'].map(
    (name) => `packages/${name}`,
  ),
  'packages/reeve/src',
  'packages/reeve/package.json',
  'package-lock.json',
  'tools/build',
]

export function isProgramUpToDate(root: string): boolean {
  return isUpToDate(root, PROGRAM, PROGRAM_SOURCES)
}
