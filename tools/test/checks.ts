import { existsSync } from 'node:fs'
import * as path from 'node:path'
import { formatSeconds, root, runScript } from './script.ts'

/** More checkers would each work out the types they share, and the other core is taken. */
const TYPES = ['node_modules/typescript/bin/tsc', '--checkers', '1', '-p'] as const

interface Check {
  readonly name: string
  readonly script: readonly [file: string, ...args: string[]]
  /** A path that exists if the check can run. */
  readonly needs?: string
}

/** Longest first, so that the short ones fill the second core. */
const checks: readonly Check[] = [
  { name: 'lint', script: ['node_modules/oxlint/bin/oxlint', '--type-aware', '--deny-warnings'] },
  { name: 'types', script: [...TYPES, 'tsconfig.json'] },
  { name: 'web types', script: [...TYPES, 'packages/web/tsconfig.json'] },
  { name: 'tidy', script: ['tools/tidy.ts'] },
  { name: 'arrows', script: ['tools/arrows.ts'] },
  { name: 'core types', script: [...TYPES, 'packages/reeve/tsconfig.core.json'] },
  { name: 'routes', script: ['tools/openapi.ts', '--check'] },
  {
    name: 'format',
    script: ['node_modules/oxfmt/bin/oxfmt', '--list-different'],
    // The registry lacks it for some platforms (decision 0009).
    needs: 'node_modules/@oxfmt',
  },
]

const CONCURRENCY = 2
const HEARTBEAT_MS = 15_000
/** A broken rule can have thousands of findings; the first ones tell what it is. */
const OUTPUT_LINES_MAX = 300

/** Runs every static check, prints a line for each, and returns the names of those that failed. */
export async function runChecks(): Promise<readonly string[]> {
  const waiting = checks
    .filter(({ script: [file] }) => existsSync(path.join(root, file)))
    .filter(canRun)
  const running = new Set<string>()
  const failed: string[] = []
  const heartbeat = setInterval(
    () => console.log(`… running ${[...running].join(', ')}`),
    HEARTBEAT_MS,
  )
  const work = async () => {
    for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
      running.add(check.name)
      if (!(await runCheck(check))) failed.push(check.name)
      running.delete(check.name)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, work))
  clearInterval(heartbeat)
  return failed
}

function canRun({ name, needs }: Check): boolean {
  if (needs === undefined || existsSync(path.join(root, needs))) return true
  console.log(`- ${name.padEnd(12)} left out: ${needs} has nothing for this platform`)
  return false
}

async function runCheck({ name, script }: Check): Promise<boolean> {
  const startedMs = performance.now()
  const { isOk, output } = await runScript(script)
  console.log(`${isOk ? '✓' : '✗'} ${name.padEnd(12)} ${formatSeconds(startedMs)}`)
  // Notes are shown on success too: a check that left something out says so.
  const text = shorten(output.trimEnd())
  if (text !== '') console.log(isOk ? text.replaceAll(/^/gm, '    ') : `${text}\n`)
  return isOk
}

function shorten(text: string): string {
  const lines = text.split('\n')
  const rest = lines.length - OUTPUT_LINES_MAX
  if (rest <= 0) return text
  return [...lines.slice(0, OUTPUT_LINES_MAX), `… and ${rest} more lines`].join('\n')
}
