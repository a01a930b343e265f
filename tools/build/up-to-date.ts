import * as fs from 'node:fs'
import { join } from 'node:path'

/** Folders whose content is not a source. */
const SKIPPED = new Set(['node_modules', 'dist'])

/**
 * True when the output is there and no input is newer, as `make` decides it. A folder counts with
 * all below it; its own modification time reflects removed files.
 */
export function isUpToDate(root: string, output: string, inputs: readonly string[]): boolean {
  const made = fs.statSync(join(root, output), { throwIfNoEntry: false })
  if (made === undefined) return false
  return inputs.every((input) => isOlder(`${root}/${input}`, made.mtimeMs))
}

function isOlder(file: string, thanMs: number): boolean {
  const found = fs.statSync(file, { throwIfNoEntry: false })
  if (found === undefined) return true
  // Builds carry the time at which they began, in whole milliseconds.
  if (Math.floor(found.mtimeMs) > thanMs) return false
  if (!found.isDirectory()) return true
  return fs
    .readdirSync(file)
    .every(
      (name) =>
        SKIPPED.has(name) || name.endsWith('.test.ts') || isOlder(`${file}/${name}`, thanMs),
    )
}
