import type { CommandSpec } from '../command.ts'

export const snapshotCommands: readonly CommandSpec[] = [
  {
    path: 'operator snapshot save',
    summary: 'Copy the whole state of the servers into a file.',
    details:
      'The copy is of one moment, and is checked before the file is there. Secrets in it are ' +
      'sealed: keep the sealing key (or server.cluster_key) of the servers as well.',
    examples: [
      { line: 'reeve operator snapshot save monday.snapshot', says: 'needs a management token' },
    ],
    args: [{ usage: '<FILE>', help: 'where to', completes: 'file' }],
    flags: [{ usage: '--force', help: 'replace a file that is there' }],
    isRead: true,
    load: async () => (await import('./snapshot.ts')).runSnapshotSave,
  },
  {
    path: 'operator snapshot inspect',
    summary: 'Say whether a snapshot is whole, and what it holds.',
    examples: [{ line: 'reeve operator snapshot inspect monday.snapshot', says: 'asks no server' }],
    args: [{ usage: '<FILE>', help: 'a snapshot', completes: 'file' }],
    isRead: true,
    load: async () => (await import('./snapshot.ts')).runSnapshotInspect,
  },
]
