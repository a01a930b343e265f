/** The form of a check, and what several of them use. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { REPOSITORY_ROOT as root } from '../../source/run.ts'
import { readTree, type Entry } from '../archive.ts'
import { run, type OpenedRelease } from '../opened.ts'

export interface Outcome {
  readonly kind: 'passed' | 'failed' | 'skipped'
  readonly says: string
}

export interface Check {
  readonly number: number
  readonly title: string
  readonly run: (release: OpenedRelease) => Outcome | Promise<Outcome>
}

export const MEGABYTE = 1_000_000

export function skipped(says: string): Outcome {
  return { kind: 'skipped', says }
}

export function when(isRight: boolean, says: string): Outcome {
  return { kind: isRight ? 'passed' : 'failed', says }
}

/** Passes where the text matches all patterns; else names those that it does not. */
export function whenSaid(said: string, wanted: readonly RegExp[], says: string): Outcome {
  const missing = wanted.filter((one) => !one.test(said))
  if (missing.length === 0) return when(true, says)
  return when(false, `${missing.join(' ')} not in: ${said.trim().slice(-800)}`)
}

/** The output of the installed program, without the settings of the caller. */
export function reeve({ installation }: OpenedRelease, ...args: string[]): string {
  return run(join(installation, 'bin/reeve'), args, {
    env: { HOME: '/nonexistent', PATH: '/usr/bin:/bin' },
  })
}

/** Names and contents of all files of the tarball. */
export function files({ installation }: OpenedRelease): Entry[] {
  return readTree(installation).filter(({ kind }) => kind === 'file')
}

export function isTool(name: string): boolean {
  return spawnSync(name, ['--version']).error === undefined
}

/** A check that tests of the repository make: it passes when all of them do. */
export function fromTests(...tests: readonly string[]): Outcome {
  const args = ['--test', '--test-reporter=tap', ...tests]
  const { stdout, status } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
  const count = (what: string): string =>
    new RegExp(`^# ${what} (\\d+)$`, 'm').exec(stdout)?.[1] ?? '?'
  const says = `${count('pass')} tests passed, ${count('fail')} failed, ${count('skipped')} skipped`
  return when(status === 0, `${says}: ${tests.join(' ')}`)
}
