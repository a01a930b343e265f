import { spawn } from 'node:child_process'
import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { EXIT_CODES } from './errors.ts'
import type { CliHost, Environment } from './host.ts'

interface Plugin {
  readonly file: string
  /** The arguments after the words that name the plug-in. */
  readonly args: readonly string[]
}

/** Maximum number of words of a plug-in name: each costs a lookup in every PATH directory. */
const WORDS_MAX = 3

/**
 * The executable on PATH that a command line names: `reeve cost report` runs `reeve-cost-report`,
 * or else `reeve-cost` with the argument `report`. Built-in commands are never replaced.
 */
export async function findPlugin(
  args: readonly string[],
  environment: Environment,
): Promise<Plugin | undefined> {
  const firstNonWord = args.findIndex((word) => !/^[a-z0-9][a-z0-9_-]*$/.test(word))
  const words = (firstNonWord === -1 ? args : args.slice(0, firstNonWord)).slice(0, WORDS_MAX)
  const directories = (environment['PATH'] ?? '').split(delimiter).filter((path) => path !== '')
  for (let count = words.length; count > 0; count -= 1) {
    const name = `reeve-${words.slice(0, count).join('-')}`
    for (const directory of directories) {
      const file = join(directory, name)
      if (await isExecutable(file)) return { file, args: args.slice(count) }
    }
  }
  return undefined
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK)
    return (await stat(file)).isFile()
  } catch {
    // Missing, a directory that cannot be read, or not executable for this user.
    return false
  }
}

/** Runs a plug-in on this terminal; its exit code becomes ours. */
export async function runPlugin({ file, args }: Plugin, host: CliHost): Promise<number> {
  return await new Promise((resolve) => {
    const child = spawn(file, args, { stdio: 'inherit', env: { ...host.environment } })
    child.once('error', (thrown) => {
      host.err(`reeve: the plug-in ${file} could not be started: ${thrown.message}\n`)
      resolve(EXIT_CODES.failed)
    })
    child.once('exit', (code) => resolve(code ?? EXIT_CODES.failed))
  })
}
