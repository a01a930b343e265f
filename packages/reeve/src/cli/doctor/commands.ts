import type { CommandSpec } from '../command.ts'

export const doctorCommands: readonly CommandSpec[] = [
  {
    path: 'doctor',
    summary: 'Look for what is wrong between here and running tasks, and say what to do.',
    details: 'Ends with 1 when something is wrong; warnings alone end with 0.',
    examples: [
      { line: 'reeve doctor', says: 'every check, with what to do about it' },
      { line: 'reeve doctor --json', says: 'the same for machines' },
    ],
    isRead: true,
    load: async () => (await import('./doctor.ts')).runDoctor,
  },
]
