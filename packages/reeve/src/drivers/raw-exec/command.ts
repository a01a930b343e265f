import { access, constants, stat } from 'node:fs/promises'
import { delimiter, resolve } from 'node:path'
import { Fault } from '@reeve/kit/fault.ts'
import { errorCode } from '../../agent/index.ts'

interface CommandLookup {
  /** Relative commands are files of the task. */
  readonly taskDir: string
  /** The task's own search path; the agent's is not consulted. */
  readonly path: string
}

/**
 * The program file of a command. Looked for before anything is started, so that a misspelt command
 * is said to be just that. Fault `task-unstartable` when it is missing or no program.
 */
export async function findCommand(command: string, lookup: CommandLookup): Promise<string> {
  if (command.includes('/')) {
    const file = resolve(lookup.taskDir, command)
    const problem = await executableProblem(file)
    if (problem === undefined) return file
    throw new Fault('task-unstartable', `command ${JSON.stringify(command)} ${problem}`)
  }
  let problemInPath = 'was not found'
  for (const directory of lookup.path.split(delimiter)) {
    const file = resolve(lookup.taskDir, directory, command)
    const problem = await executableProblem(file)
    if (problem === undefined) return file
    if (problem !== 'was not found') problemInPath = `${problem} (${file})`
  }
  const name = JSON.stringify(command)
  throw new Fault('task-unstartable', `command ${name} ${problemInPath} in PATH ${lookup.path}`)
}

async function executableProblem(file: string): Promise<string | undefined> {
  try {
    const stats = await stat(file)
    if (!stats.isFile()) return 'is not a file'
    // root passes the access check of a file that nobody may execute.
    if ((stats.mode & 0o111) === 0) return 'is not executable'
    await access(file, constants.X_OK)
    return undefined
  } catch (thrown) {
    const code = errorCode(thrown)
    if (code === 'ENOENT' || code === 'ENOTDIR') return 'was not found'
    if (code === 'EACCES') return 'is not executable'
    return `cannot be used: ${code ?? String(thrown)}`
  }
}
