import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { readAreas, type Areas } from './areas.ts'
import { formatFinding, sortFindings, type Finding } from './finding.ts'

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
