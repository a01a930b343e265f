import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { readAreas, type Areas } from './areas.ts'

/** A violation that a tool reports. */
export interface Finding {
  readonly path: string
  readonly line: number
  readonly rule: string
  readonly message: string
}

/** Sorts by path and line, so that the output is equal on every machine. */
function sortFindings(findings: readonly Finding[]): Finding[] {
  return findings.toSorted(
    (a, b) => compare(a.path, b.path) || a.line - b.line || compare(a.message, b.message),
  )
}

function formatFinding({ path, line, rule, message }: Finding): string {
  return `${path}:${line}  ${rule}: ${message}`
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

export const REPOSITORY_ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

export async function loadAreas(): Promise<Areas> {
  const file = pathToFileURL(join(REPOSITORY_ROOT, 'arrows.config.mjs'))
  const config: unknown = await import(file.href)
  if (typeof config !== 'object' || config === null || !('areas' in config))
    throw new Error('arrows.config.mjs must export "areas"')
  return readAreas(config.areas)
}

/** Prints the findings and sets the exit code. */
export function report(tool: string, findings: readonly Finding[]): void {
  for (const finding of sortFindings(findings)) console.log(formatFinding(finding))
  if (findings.length === 0) return
  console.log(`\n${tool}: ${findings.length} ${findings.length === 1 ? 'finding' : 'findings'}`)
  process.exitCode = 1
}
