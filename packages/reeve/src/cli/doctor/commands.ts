import type { CommandSpec } from '../command.ts'

export const doctorCommands: readonly CommandSpec[] = [
  {
    path: 'doctor',
    summary: 'Diagnose connectivity, authentication and scheduling, and suggest fixes.',
    details: 'Exits with 1 if a check fails; warnings alone exit with 0.',
    examples: [
      { line: 'reeve doctor', says: 'every check, with the fix for each problem' },
      { line: 'reeve doctor --json', says: 'as JSON' },
    ],
    isRead: true,
    load: async () => (await import('./doctor.ts')).runDoctor,
  },
]
