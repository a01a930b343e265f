import { resolve } from 'node:path'
import { TASK_ENVIRONMENT_PREFIX } from '@reeve/contract/constants'
import { errorMessage } from '@reeve/kit/fault.ts'
import { runPhase } from '../runner/index.ts'

const EXIT_FAILED = 1
const EXIT_USAGE = 2

/**
 * Executes the phase that the environment of its job describes, and returns the exit code. Every
 * phase starts this program, so it loads neither the commands nor the schemas.
 */
export async function runPhaseOfEnvironment(printError: (text: string) => void): Promise<number> {
  const settings = settingsOf(process.env, TASK_ENVIRONMENT_PREFIX)
  if (typeof settings === 'string') {
    printError(`${settings}\n`)
    return EXIT_USAGE
  }
  try {
    return await runPhase(settings)
  } catch (thrown) {
    printError(`${errorMessage(thrown)}\n`)
    return EXIT_FAILED
  }
}

/** Resolves a name in the PATH, and a relative path in the directory of the task. */
function toolPath(tool: string, taskDirectory: string): string {
  return tool.includes('/') ? resolve(taskDirectory, tool) : tool
}

function settingsOf(environment: NodeJS.ProcessEnv, prefix: string) {
  const missing: string[] = []
  const text = (name: string): string => {
    const value = environment[name]
    if (value === undefined || value === '') missing.push(name)
    return value ?? ''
  }
  const taskDirectory = text(`${prefix}TASK_DIR`)
  const settings = {
    address: text('REEVE_PHASE_ADDRESS'),
    phaseId: text('REEVE_PHASE_ID'),
    tool: toolPath(text('REEVE_PHASE_TOOL'), taskDirectory),
    authorities: environment['REEVE_PHASE_AUTHORITIES'] ?? '',
    taskDirectory,
    secretsDirectory: text(`${prefix}SECRETS_DIR`),
    path: environment['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
  }
  if (missing.length === 0) return settings
  return `reeve run-phase is started by the job of a run: ${missing.join(', ')} not set`
}
