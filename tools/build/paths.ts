import * as fs from 'node:fs'
import { join } from 'node:path'

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

/** Folders whose content is not a source. */
const SKIPPED = new Set(['node_modules', 'dist'])

/**
 * Reports whether the output exists and no input is newer, like `make`. Folders count with their
 * content; their own modification time reflects removed files.
 */
export function isUpToDate(root: string, output: string, inputs: readonly string[]): boolean {
  const outputStats = fs.statSync(join(root, output), { throwIfNoEntry: false })
  if (outputStats === undefined) return false
  return inputs.every((input) => isOlder(`${root}/${input}`, outputStats.mtimeMs))
}

function isOlder(file: string, thanMs: number): boolean {
  const stats = fs.statSync(file, { throwIfNoEntry: false })
  if (stats === undefined) return true
  // The modification time of builds is their start time, in whole milliseconds.
  if (Math.floor(stats.mtimeMs) > thanMs) return false
  if (!stats.isDirectory()) return true
  return fs
    .readdirSync(file)
    .every(
      (name) =>
        SKIPPED.has(name) || name.endsWith('.test.ts') || isOlder(`${file}/${name}`, thanMs),
    )
}
