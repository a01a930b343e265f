import { resolve } from 'node:path'
import { EXIT_CODES, type CommandLine, type TextOutput } from '../cli/index.ts'
import { errorMessage } from '@reeve/kit/fault.ts'

/** `reeve run-phase`: the command that jobs of infrastructure runs execute on a node. */
export function addRunPhase(line: CommandLine, terminal: TextOutput): void {
  line.add(line.root, 'run-phase', {
    summary: 'Execute one phase of an infrastructure run; started by its job.',
    details:
      'The job of a phase says in the environment what to execute and where the server is. There ' +
      'is nothing to be gained from calling it by hand.',
    examples: [{ line: 'reeve run-phase', says: 'as the job of a phase does' }],
    isHidden: true,
    action: async () => {
      const { runPhase } = await import('../runner/index.ts')
      // Imported here, because the contract loads all schemas and no other command needs it.
      const { TASK_ENVIRONMENT_PREFIX } = await import('@reeve/contract')
      const settings = settingsOf(process.env, TASK_ENVIRONMENT_PREFIX)
      if (typeof settings === 'string') {
        terminal.err(`${settings}\n`)
        return EXIT_CODES.usage
      }
      try {
        return await runPhase(settings)
      } catch (thrown) {
        terminal.err(`${errorMessage(thrown)}\n`)
        return EXIT_CODES.failed
      }
    },
  })
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
