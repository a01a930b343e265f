import type { CommandSpec } from '../command.ts'

export const snapshotCommands: readonly CommandSpec[] = [
  {
    path: 'operator snapshot save',
    summary: 'Save a snapshot of the cluster state.',
    details:
      'The snapshot is consistent and is verified before the file appears. Secrets in it ' +
      'are encrypted: back up the sealing key (or server.cluster_key) of the servers as ' +
      'well.',
    examples: [
      { line: 'reeve operator snapshot save monday.snapshot', says: 'requires a management token' },
    ],
    args: [{ usage: '<FILE>', help: 'the file to write', completionKind: 'file' }],
    flags: [{ usage: '--force', help: 'overwrite an existing file' }],
    isRead: true,
    load: async () => (await import('./snapshot.ts')).runSnapshotSave,
  },
  {
    path: 'operator snapshot inspect',
    summary: 'Verify a snapshot and show its content.',
    examples: [{ line: 'reeve operator snapshot inspect monday.snapshot', says: 'works offline' }],
    args: [{ usage: '<FILE>', help: 'a snapshot', completionKind: 'file' }],
    isRead: true,
    load: async () => (await import('./snapshot.ts')).runSnapshotInspect,
  },
]
