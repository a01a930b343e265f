import { spawn } from 'node:child_process'
import { REPOSITORY_ROOT } from '../source/finding.ts'

export const root = REPOSITORY_ROOT

/** Runs a script of the repository on this Node. */
export function runScript(
  script: readonly string[],
): Promise<{ readonly isOk: boolean; readonly output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, script, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
    const parts: Buffer[] = []
    child.stdout.on('data', (part: Buffer) => parts.push(part))
    child.stderr.on('data', (part: Buffer) => parts.push(part))
    child.once('error', reject)
    child.once('close', (code) =>
      resolve({ isOk: code === 0, output: Buffer.concat(parts).toString() }),
    )
  })
}

export function formatSeconds(sinceMs: number): string {
  return `${((performance.now() - sinceMs) / 1000).toFixed(1)} s`
}
