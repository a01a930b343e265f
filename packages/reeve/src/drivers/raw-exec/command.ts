import { access, constants, stat } from 'node:fs/promises'
import { delimiter, resolve } from 'node:path'
import { Fault } from '@reeve/kit/fault.ts'
import { errorCode } from '../../agent/index.ts'

interface CommandPlace {
  /** Relative commands are files of the task. */
  readonly taskDir: string
  /** The task's own search path; the agent's is not consulted. */
  readonly path: string
}

/**
 * The program file of a command. Looked for before anything is started, so that a misspelt command
 * is said to be just that. Fault `task-unstartable` when it is missing or no program.
 */
export async function findCommand(command: string, place: CommandPlace): Promise<string> {
  if (command.includes('/')) {
    const file = resolve(place.taskDir, command)
    const problem = await problemWith(file)
    if (problem === undefined) return file
    throw new Fault('task-unstartable', `command ${JSON.stringify(command)} ${problem}`)
  }
  let worst = 'was not found'
  for (const directory of place.path.split(delimiter)) {
    const file = resolve(place.taskDir, directory, command)
    const problem = await problemWith(file)
    if (problem === undefined) return file
    if (problem !== 'was not found') worst = `${problem} (${file})`
  }
  const name = JSON.stringify(command)
  throw new Fault('task-unstartable', `command ${name} ${worst} in PATH ${place.path}`)
}

async function problemWith(file: string): Promise<string | undefined> {
  try {
    const found = await stat(file)
    if (!found.isFile()) return 'is not a file'
    // root passes the access check of a file that nobody may execute.
    if ((found.mode & 0o111) === 0) return 'is not executable'
    await access(file, constants.X_OK)
    return undefined
  } catch (thrown) {
    const code = errorCode(thrown)
    if (code === 'ENOENT' || code === 'ENOTDIR') return 'was not found'
    if (code === 'EACCES') return 'is not executable'
    return `cannot be used: ${code ?? String(thrown)}`
  }
}
