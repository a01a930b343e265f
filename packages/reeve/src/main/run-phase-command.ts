import { resolve } from 'node:path'
import { EXIT_CODES, type CommandLine, type Terminal } from '../cli/index.ts'
import { errorMessage } from '@reeve/kit/fault.ts'

/** `reeve run-phase`: what the jobs of infrastructure runs start on a node. */
export function addRunPhase(line: CommandLine, terminal: Terminal): void {
  line.add(line.root, 'run-phase', {
    summary: 'Execute one phase of an infrastructure run; started by its job.',
    details:
      'The job of a phase says in the environment what to execute and where the server is. There ' +
      'is nothing to be gained from calling it by hand.',
    examples: [{ line: 'reeve run-phase', says: 'as the job of a phase does' }],
    isHidden: true,
    action: async () => {
      const { runPhase } = await import('../runner/index.ts')
      // The contract brings every schema: no other command waits for it.
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

/** A name is looked up in the PATH; a path may be relative to the directory of the task. */
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
