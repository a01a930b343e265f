/** The type of a check, and shared helpers. */
/** The type of a check, and shared helpers. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { REPOSITORY_ROOT as root } from '../../source/finding.ts'
import { readTree, type Entry } from '../archive.ts'
import { run, type OpenedRelease } from '../opened.ts'

export interface Outcome {
  readonly kind: 'passed' | 'failed' | 'skipped'
  readonly message: string
}

export interface Check {
  readonly number: number
  readonly title: string
  readonly run: (release: OpenedRelease) => Outcome | Promise<Outcome>
}

export const MEGABYTE = 1_000_000

export function skipped(message: string): Outcome {
  return { kind: 'skipped', message }
}

export function passIf(isRight: boolean, message: string): Outcome {
  return { kind: isRight ? 'passed' : 'failed', message }
}

/** Passes if the text matches all patterns; otherwise lists the missing ones. */
export function passIfMatches(
  output: string,
  patterns: readonly RegExp[],
  message: string,
): Outcome {
  const missing = patterns.filter((one) => !one.test(output))
  if (missing.length === 0) return passIf(true, message)
  return passIf(false, `${missing.join(' ')} not in: ${output.trim().slice(-800)}`)
}

/** The output of the installed program, without the settings of the caller. */
export function runInstalledProgram({ installation }: OpenedRelease, ...args: string[]): string {
  return run(join(installation, 'bin/reeve'), args, {
    env: { HOME: '/nonexistent', PATH: '/usr/bin:/bin' },
  })
}

/** Names and contents of all files of the tarball. */
export function installedFiles({ installation }: OpenedRelease): Entry[] {
  return readTree(installation).filter(({ kind }) => kind === 'file')
}

export function isTool(name: string): boolean {
  return spawnSync(name, ['--version']).error === undefined
}

/** A check by tests of the repository: it passes if all of them pass. */
export function fromTests(...tests: readonly string[]): Outcome {
  const args = ['--test', '--test-reporter=tap', ...tests]
  const { stdout, status } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
  const count = (what: string): string =>
    new RegExp(`^# ${what} (\\d+)$`, 'm').exec(stdout)?.[1] ?? '?'
  const message = `${count('pass')} tests passed, ${count('fail')} failed, ${count('skipped')} skipped`
  return passIf(status === 0, `${message}: ${tests.join(' ')}`)
}

// A first job in an empty root, from nothing to a healthy deployment.

/** The shell's part of a check: starts an agent, runs the example job, and stops the agent. */
export function firstJobScript(program: string): string {
  return `cd /root
${program} agent --dev --http-port 4996 >/root/agent.log 2>&1 &
agent=$!
export REEVE_ADDR=http://127.0.0.1:4996
tries=0
until ${program} node status >/dev/null 2>&1; do
  tries=$((tries + 1)); [ $tries -lt 100 ] || { cat /root/agent.log; exit 1; }; sleep 0.3
done
${program} job init --force >/dev/null
${program} job run example.hcl
kill $agent; wait $agent 2>/dev/null || :
`
}

export const HEALTHY = /Deployment \w+ is successful/
