import type { CommandLine, TextOutput } from '../cli/index.ts'

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
      const { runPhaseOfEnvironment } = await import('./run-phase.ts')
      return await runPhaseOfEnvironment((text) => terminal.err(text))
    },
  })
}
